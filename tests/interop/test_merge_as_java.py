"""Where the merge of Paimon 2.0 accepts two branches, ours ends with the same rows."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from branch_console.merge.plan import MergeVerdict, verdict_of
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import SHARED, MergeBench, put

Act: TypeAlias = Callable[[MergeBench], None]


def _only_the_branch(bench: MergeBench) -> None:
    bench.insert("dev", 11, 12)


def _both(bench: MergeBench) -> None:
    bench.insert("dev", 11, 12)
    bench.insert("main", 21)


def _several_commits(bench: MergeBench) -> None:
    _both(bench)
    bench.insert("dev", 13)
    bench.insert("main", 23)
    bench.insert("dev", 15)


def _equal_rows(bench: MergeBench) -> None:
    bench.insert("dev", 11)
    bench.table().write([bench.rows["dev"][11]])


def _nothing(bench: MergeBench) -> None:
    bench.insert("main", 21)


_ACCEPTED: Final[Mapping[str, Act]] = {
    "only the branch wrote": _only_the_branch,
    "both wrote": _both,
    "both wrote several times": _several_commits,
    "both wrote equal rows": _equal_rows,
    "the branch wrote nothing": _nothing,
}
_REFUSED: Final[Mapping[str, Act]] = {
    "the branch compacted": lambda bench: bench.compact("dev"),
    "main compacted": lambda bench: bench.compact("main"),
    "the branch expired": lambda bench: bench.expire("dev"),
}


@pytest.fixture(autouse=True)
def _newest_only(paimon_version: str) -> None:
    if paimon_version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no merge; the run with the newest one has")


@pytest.fixture
def bench(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> MergeBench:
    """A table that Java branched at its first snapshot, as its own merge asks for."""
    made = MergeBench(open_java(tmp_path / "ours"), tmp_path / "ours", options=SHARED)
    made.insert("main", 1, 2, 3)
    made.java_branch("dev")
    return made


@pytest.mark.parametrize("act", list(_ACCEPTED.values()), ids=list(_ACCEPTED))
def test_what_java_merges_we_merge_to_the_same_rows(
    act: Act, bench: MergeBench, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    act(bench)
    theirs = open_java(shutil.copytree(tmp_path / "ours", tmp_path / "theirs")).table("db.t")
    theirs.merge_branch("dev")
    bench.call("merge_branch", branch="dev")
    assert sorted(bench.table().rows()) == sorted(theirs.rows())
    theirs.merge_branch("dev")
    bench.call("merge_branch", branch="dev")
    assert sorted(bench.table().rows()) == sorted(theirs.rows())
    for table in (theirs, bench.table()):
        table.on("dev").write([(31, "d1", 1)])
    theirs.merge_branch("dev")
    bench.call("merge_branch", branch="dev")
    assert sorted(bench.table().rows()) == sorted(theirs.rows())


@pytest.mark.parametrize("act", list(_REFUSED.values()), ids=list(_REFUSED))
def test_what_java_refuses_for_its_history_we_merge(
    act: Act, bench: MergeBench, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    _both(bench)
    act(bench)
    theirs = open_java(shutil.copytree(tmp_path / "ours", tmp_path / "theirs")).table("db.t")
    with pytest.raises(Exception, match="append-only snapshot history"):
        theirs.merge_branch("dev")
    bench.merge(rows=bench.rows["main"] | bench.rows["dev"])
    bench.check()


def test_what_java_merged_we_know_and_do_not_merge_again(bench: MergeBench) -> None:
    _both(bench)
    bench.table().merge_branch("dev")
    bench.rows["main"] |= bench.rows["dev"]
    bench.check()
    bench.call("merge_branch", branch="dev")
    bench.check()
    bench.insert("dev", 13)
    bench.merge(rows=bench.rows["main"] | put([13]))
    bench.check()
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
