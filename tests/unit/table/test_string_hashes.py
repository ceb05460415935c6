"""Prints of texts: equal exactly for equal texts, wherever in a column they stand."""

import numpy as np
import pyarrow as pa
import pytest

from branch_console.table.string_hashes import recurring, string_hashes

NAMES = [
    f"data-1b4e28ba-2fa1-11d2-883f-{number:012d}-{number % 12}.parquet" for number in range(999)
]


def column(*chunks: list[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())


@pytest.mark.parametrize(
    "texts",
    [
        NAMES,
        ["a", "b", "ab", "ba", "aa", "", "ü", "a\0", "a "],
        ["12345678", "123456789", "1234567", "23456789", "x" * 1000, "x" * 1001],
        ["12345678" * 2, "12345678" * 3, "1234567812345678x", "123456781234567"],
    ],
    ids=["names", "short", "around a word", "repeating"],
)
def test_different_texts_have_different_prints_and_equal_ones_the_same(texts: list[str]) -> None:
    once = string_hashes(column(texts))
    assert len(set(once.tolist())) == len(texts)
    shuffled = texts[::-1]
    assert string_hashes(column(shuffled[:3], [], shuffled[3:])).tolist() == once[::-1].tolist()


def test_a_slice_has_the_prints_of_its_texts() -> None:
    names = column(NAMES[:500], NAMES[500:])
    assert np.array_equal(string_hashes(names.slice(7, 600)), string_hashes(names)[7:607])


def test_short_texts_of_one_chunk_equal_those_of_another() -> None:
    mixed = column(["short", *NAMES[:5]], ["short", "x"])
    found = string_hashes(mixed)
    assert found[0] == found[6]


def test_no_texts_have_no_prints() -> None:
    assert len(string_hashes(column())) == 0
    assert len(string_hashes(column([]))) == 0


def test_what_recurs_is_found() -> None:
    numbers = np.array([5, 7, 5, 9, 2**64 - 1, 7, 7], dtype=np.uint64)
    assert recurring(numbers).tolist() == [True, True, True, False, False, True, True]
    assert recurring(numbers[:2]).tolist() == [False, False]
    assert recurring(numbers[:0]).tolist() == []
