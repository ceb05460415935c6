"""The documents' table of rules and oracles names tests that are there, at the depths it says.

What the table lacks, or the tests lack, fails here: no rule loses its test unseen.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

# One worker asks pytest for all of them.
pytestmark = pytest.mark.xdist_group("statements")

_ROOT: Final = Path(__file__).parents[2]
_DOCUMENT: Final = _ROOT / "assets" / "docs" / "statements.md"
_DEPTHS: Final = ("quick", "full", "long")
_NOT_AT_ALL: Final = "none"
_LINK: Final = re.compile(r"\[(\w+)\]\((?:\.\./){2}(tests/[\w/]+\.py)\)")
_ORACLES: Final = {
    "Paimon Java 1.4.2", "Paimon Java 2.0.0", "pypaimon", "doltlite", "Spark", "Spark Connect",
    "Chromium", "S3, GCS, Azure, HDFS", "PostgreSQL",
}  # fmt: skip
_IDS: Final = (
    {f"C{number:02}" for number in range(1, 29)}
    | {f"I{number}" for number in range(1, 13)}
    | {f"R{number}" for number in range(1, 16)}
    | {f"K{number}" for number in range(1, 19)}
    | {f"L{number}" for number in range(1, 9)}
    | {f"M{number}" for number in (*range(1, 11), 6.1, 6.2)}
)


@dataclass(frozen=True, slots=True)
class Row:
    """A rule or an oracle: what a run of each depth tries, and the tests by file and name."""

    id: str
    tried: tuple[str, str, str]
    tests: tuple[str, ...]


def rows_of(document: str) -> list[Row]:
    """Return the rows of all tables of the document."""
    lines = [line for line in document.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [
        Row(
            id=row[0],
            tried=(row[2], row[3], row[4]),
            tests=tuple(f"{file}::{name}" for name, file in _LINK.findall(row[5])),
        )
        for row in cells
        if row[0] not in ("id", "oracle") and not row[0].startswith("---")
    ]


def faults_of(rows: list[Row], depths: Mapping[str, str]) -> Iterator[str]:
    """Tell where the table and the tests, by the lowest depth that runs each, do not agree."""
    for row in rows:
        if missing := [test for test in row.tests if test not in depths]:
            yield f"{row.id}: no such test: {', '.join(missing)}"
        found = [_DEPTHS.index(depths[test]) for test in row.tests if test in depths]
        if not found:
            yield f"{row.id}: no test"
            continue
        for number, (depth, tried) in enumerate(zip(_DEPTHS, row.tried, strict=True)):
            if (tried != _NOT_AT_ALL) != (min(found) <= number):
                runs = "none of its tests runs" if tried != _NOT_AT_ALL else "a test of it runs"
                yield f"{row.id}: {runs} at depth {depth}, where the table says {tried!r}"


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(_DOCUMENT.read_text())


@pytest.fixture(scope="module")
def depths(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The lowest depth of each test in the files that the document names, as pytest collects it."""
    written = tmp_path_factory.mktemp("depths") / "depths.json"
    files = sorted({test.partition("::")[0] for row in rows for test in row.tests})
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--collect-only", "--depth", "long")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--write-depths={written}", *files],
        cwd=_ROOT,
        # The workers of xdist say here who they are; the child is none.
        env={name: os.environ[name] for name in os.environ if "XDIST" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    found: dict[str, str] = json.loads(written.read_text())
    return found


def test_each_rule_and_each_oracle_has_its_row(rows: list[Row]) -> None:
    ids = [row.id for row in rows]
    assert sorted(ids) == sorted(_IDS | _ORACLES)


def test_each_row_has_tests_at_the_depths_that_it_claims(
    rows: list[Row], depths: dict[str, str]
) -> None:
    assert list(faults_of(rows, depths)) == []


def test_a_test_that_bears_the_id_of_a_statement_is_in_its_row(
    rows: list[Row], depths: dict[str, str]
) -> None:
    named = {row.id: set(row.tests) for row in rows}
    left_out = [
        test
        for test in depths
        for number in re.findall(r"(?<=_)c(\d\d)(?=_)", test.rpartition("::")[2])
        if test not in named[f"C{number}"]
    ]
    assert left_out == []


@pytest.mark.parametrize(
    ("tried", "depth", "fault"),
    [
        (("yes", "yes", "yes"), "full", "C01: none of its tests runs at depth quick, where"),
        (
            ("none", "8", "9"),
            "quick",
            "C01: a test of it runs at depth quick, where",
        ),
        (
            ("none", "none", "none"),
            "long",
            "C01: a test of it runs at depth long, where",
        ),
        (("none", "8", "9"), None, "C01: no such test: tests/a.py::test_a"),
    ],
)
def test_a_row_that_says_other_than_the_tests_is_found(
    tried: tuple[str, str, str], depth: str | None, fault: str
) -> None:
    line = f"| C01 | It holds | {' | '.join(tried)} | [test_a](../../tests/a.py) |"
    depths = {} if depth is None else {"tests/a.py::test_a": depth}
    assert next(faults_of(rows_of(line), depths)).startswith(fault)
