"""No value changes on its way from a file of Java's through ours and back.

Every type, on every level, with its extremes, in each format: Java writes the rows, a DELETE and a
merge write their files again, and Java holds the same bits as before. But for long runs, each
format gets a part of the types.
"""

from pathlib import Path

import pytest

from branch_console.spark.session.session import WarmSession
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import MergeBench
from tests.support.requirements import need_java_paimon
from tests.support.type_matrix import ALL_KINDS, FORMATS, exact_rows, matrix
from tests.support.write_bench import WriteBench

pytestmark = pytest.mark.depth("full")


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> WriteBench:
    return WriteBench(folder=tmp_path, session=session)


@pytest.fixture
def kinds(file_format: str, pytestconfig: pytest.Config) -> slice:
    """Which types a run tries in a format."""
    is_long = pytestconfig.getoption("--depth") == "long"
    return ALL_KINDS if is_long else slice(FORMATS.index(file_format), None, len(FORMATS))


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_a_delete_leaves_is_as_it_was(
    file_format: str, kinds: slice, bench: WriteBench, paimon_version: str
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(bench.folder, paimon_version)
    tried = matrix(file_format, paimon_version, kinds)
    table = java.create_table(
        "db.matrix",
        {"k": "INT", **tried.columns},
        options={"file.format": file_format, "bucket": "-1"},
    )
    held = tried.rows
    table.write([(number, *row) for number, row in enumerate([held[0], *held])])
    before = exact_rows(table)
    assert len(before) == len(held) + 1
    bench.delete("matrix", "k = 0")
    _check(exact_rows(table), {k: row for k, row in before.items() if k}, list(tried.columns))


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_a_merge_leaves_is_as_it_was(
    file_format: str, kinds: slice, tmp_path: Path, paimon_version: str
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(tmp_path, paimon_version)
    tried = matrix(file_format, paimon_version, kinds, has_key=True)
    table = java.create_table(
        "db.t",
        {"k": "INT NOT NULL", **tried.columns, "v": "INT"},
        primary_keys=("k",),
        options={
            "file.format": file_format,
            "bucket": "1",
            "deletion-vectors.enabled": "true",
            "snapshot.num-retained.min": "100",
        },
    )
    held = tried.rows
    nothing = (None,) * len(held[0])
    table.write(
        [(0, *nothing, 0), (1, *nothing, 0), *((k, *row, 0) for k, row in enumerate(held, 2))]
    )
    table.compact()
    table.create_tag("base")
    table.create_branch("dev", "base")
    for side, key in (("dev", 0), ("main", 1)):
        table.on(side).write([(key, *nothing, 1)])
        table.on(side).compact()
    before = exact_rows(table)
    merged = MergeBench.__new__(MergeBench)
    merged.folder = tmp_path
    merged.call("merge_branch", branch="dev", target="main")
    after = exact_rows(table)
    assert (after.pop(0)[-1], before.pop(0)[-1]) == (1, 0)
    _check(after, before, list(tried.columns))


def _check(after: dict[int, tuple[object, ...]], before: object, columns: list[str]) -> None:
    assert isinstance(before, dict)
    assert after.keys() == before.keys()
    wrong = [
        f"{columns[at]} of row {key}: {str(was)[:200]} became {str(now)[:200]}"
        for key in before
        for at, (was, now) in enumerate(zip(before[key], after[key], strict=True))
        if was != now
    ]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:40])
