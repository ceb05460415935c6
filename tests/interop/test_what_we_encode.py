"""Java reads the metadata that we encode, and finds in it what it wrote."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)
from tests.support.build_warehouses import describe
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon
from tests.support.java_vm import java_class, set_java_time_zone
from tests.support.our_answers import in_micros
from tests.support.reencode import reencode_warehouse
from tests.support.warehouses import FixtureWarehouse, read_expected

# What depends on how many bytes a codec makes of the same content.
_SIZES = {
    *("baseManifestListSize", "deltaManifestListSize", "changelogManifestListSize"),
    *("file_size", "deletion_vectors"),
}
_SIZED_COLUMNS = {"file_size", "dv_ranges"}


@pytest.fixture
def _utc(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Iterator[None]:
    open_java(tmp_path)
    set_java_time_zone("UTC")
    yield
    set_java_time_zone("")


@pytest.mark.shared_cells
@pytest.mark.depth("full")
@pytest.mark.usefixtures("_utc")
def test_java_says_the_same_of_a_warehouse_whose_metadata_we_encoded_anew(
    same_version: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(same_version.path, tmp_path / "copy"))
    assert reencode_warehouse(copy) > 800
    described = describe(open_java(copy), copy)["tables"]
    expected = read_expected(same_version.version)
    assert list(described) == list(expected)
    for name, table in expected.items():
        assert described[name]["branches"] == table["branches"]
        for branch, answers in table["on"].items():
            for key, answer in answers.items():
                ours = _without_sizes(described[name]["on"][branch][key])
                assert ours == _without_sizes(answer), f"{key} of {name} on {branch}"


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard"])
def test_java_reads_manifests_of_every_codec_it_brings(
    codec: str,
    same_version: FixtureWarehouse,
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
) -> None:
    source = same_version.table_path("fixtures.vectors_key")
    shutil.copytree(source, tmp_path / "fixtures.db" / "vectors_key")
    before = open_java(tmp_path).table("fixtures.vectors_key").rows()
    assert reencode_warehouse(tmp_path, codec) > 10
    table = open_java(tmp_path).table("fixtures.vectors_key")
    assert table.rows() == before
    table.write([(-1, "written on", 1)])
    table.compact()
    assert len(table.rows()) == len(before) + 1


@pytest.mark.parametrize("bitmap64", [False, True], ids=["32 bit", "64 bit"])
def test_java_reads_the_deletion_vectors_that_we_write(
    bitmap64: bool,
    java: JavaPaimon,
    tmp_path: Path,
    rng: Random,
    examples: Examples,
) -> None:
    vectors = {f"data-{number}": _positions(rng, bitmap64) for number in range(examples(200))}
    data, ranges = write_deletion_vectors(vectors, bitmap64=bitmap64)
    (tmp_path / "index").write_bytes(data)
    for item in ranges:
        vector = _read_with_java(tmp_path / "index", item)
        assert vector.getCardinality() == len(vectors[item.data_file])
        assert all(vector.isDeleted(position) for position in vectors[item.data_file])


@pytest.mark.parametrize("bitmap64", [False, True], ids=["32 bit", "64 bit"])
def test_we_read_the_deletion_vectors_that_java_writes(
    bitmap64: bool,
    java: JavaPaimon,
    tmp_path: Path,
    rng: Random,
    examples: Examples,
) -> None:
    options = {"deletion-vectors.enabled": "true", "bucket": "-1"}
    options["deletion-vectors.bitmap64"] = str(bitmap64).lower()
    table = java.create_table("db.t", {"id": "INT"}, options=options).load()
    vectors = {f"data-{number}": _positions(rng, bitmap64) for number in range(examples(200))}
    meta = _write_with_java(table, vectors, bitmap64)
    path = tmp_path / "java" / "db.db" / "t" / "index" / str(meta.fileName())
    ranges = [
        DeletionVectorRange(
            data_file=str(item.dataFileName()),
            offset=int(item.offset()),
            length=int(item.length()),
            cardinality=int(item.cardinality()),
        )
        for item in meta.dvRanges().values()
    ]
    found = read_deletion_vectors(path.read_bytes(), ranges, str(path))
    assert {name: list(positions) for name, positions in found.items()} == {
        name: sorted(positions) for name, positions in vectors.items()
    }


def _positions(rng: Random, bitmap64: bool) -> set[int]:
    highest = (1 << 40 if bitmap64 else 1 << 31) - 2
    scattered = {
        rng.randint(0, rng.choice((100, 70_000, highest))) for _ in range(rng.randint(1, 50))
    }
    start = rng.randint(0, 200_000)
    return scattered | set(range(start, start + rng.choice((0, 0, 5_000))))


def _read_with_java(path: Path, item: DeletionVectorRange) -> Any:
    file = java_class("table.source.DeletionFile")(
        str(path), item.offset, item.length, java_class("java.lang.Long")(item.cardinality)
    )
    local = java_class("fs.local.LocalFileIO").create()
    return java_class("deletionvectors.DeletionVector").read(local, file)


def _write_with_java(table: Any, vectors: dict[str, set[int]], bitmap64: bool) -> Any:
    kind = "Bitmap64DeletionVector" if bitmap64 else "BitmapDeletionVector"
    content = java_class("java.util.LinkedHashMap")()
    for name, positions in vectors.items():
        vector = java_class(f"deletionvectors.{kind}")()
        for position in positions:
            vector.delete(position)
        content.put(name, vector)
    row = java_class("data.BinaryRow").EMPTY_ROW
    return table.store().newIndexFileHandler().dvIndex(row, 0).writeSingleFile(content)


def _without_sizes(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_sizes(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    if "columns" in answer and "rows" in answer:
        kept = [i for i, column in enumerate(answer["columns"]) if column not in _SIZED_COLUMNS]
        return sorted(([row[i] for i in kept] for row in answer["rows"]), key=repr)
    kept_items = {key: item for key, item in answer.items() if key not in _SIZES}
    return {key: _without_sizes(item) for key, item in in_micros(kept_items).items()}
