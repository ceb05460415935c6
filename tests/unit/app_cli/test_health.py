"""`lost-commits` against a history that a writer renamed over."""

import os
from pathlib import Path

import pytest

from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine

_LONG_AGO = 1_600_000_000


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    for name in ("first", "second"):
        bench.append(name)
    make_old(bench)
    return bench


def make_old(bench: BranchBench) -> None:
    for each in Path(bench.table().paths.manifest_dir).iterdir():
        os.utime(each, (_LONG_AGO, _LONG_AGO))


def test_a_whole_history_has_no_lost_commit(
    bench: BranchBench, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = CommandLine(bench.file_io.root, capsys)("lost-commits", "db.t")
    assert answer.code == 0
    assert answer.out == "No commit to db.t is lost.\n"


def test_a_commit_that_was_replaced_is_told(
    bench: BranchBench, capsys: pytest.CaptureFixture[str]
) -> None:
    # What a writer does that looked before the last commit and renames after it.
    head = Path(bench.table().paths.snapshot(2))
    lost = head.read_bytes()
    head.unlink()
    bench.append("other")
    assert head.read_bytes() != lost
    run = CommandLine(bench.file_io.root, capsys)
    answer = run("lost-commits", "db.t")
    assert answer.code == 1
    assert "is in no snapshot" in answer.out
    (found,) = run("lost-commits", "db.t", "--json").document["lost_commits"]
    assert found["files"] == ["data-second.parquet"]


@pytest.mark.parametrize("broken", ["manifest list", "snapshot"])
def test_a_broken_branch_hides_no_lost_commit_of_another(
    bench: BranchBench, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    run = CommandLine(bench.file_io.root, capsys)
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("third")
    make_old(bench)
    head = bench.table("dev").head()
    assert head is not None
    path = {
        "manifest list": bench.table().paths.manifest(head.delta_manifest_list),
        "snapshot": bench.table("dev").paths.snapshot(head.id),
    }[broken]
    Path(path).write_text("{")
    told = f"Not all of branch 'dev' can be read: {path}"
    answer = run("lost-commits", "db.t")
    if broken == "manifest list":  # its name is known, that of a broken snapshot's is not
        assert (answer.code, answer.out) == (0, "No commit to db.t is lost.\n")
    assert told in answer.err
    Path(bench.table().paths.snapshot(3)).unlink()
    bench.append("other")
    answer = run("lost-commits", "db.t")
    assert answer.code == 1
    assert "is in no snapshot that can be read: a branch that cannot be holds it, or" in answer.out
    assert told in answer.err
    found = run("lost-commits", "db.t", "--json").document
    assert [each["branch"] for each in found["unread"]] == ["dev"]
    assert "data-third.parquet" in [each["files"][0] for each in found["lost_commits"]]


def test_every_command_names_the_same_missing_files_of_a_snapshot(
    bench: BranchBench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(bench.file_io.root, capsys)
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("third")
    head = bench.table("dev").head()
    assert head is not None
    paths = bench.table().paths
    Path(paths.manifest(head.delta_manifest_list)).unlink()
    commands = (
        ("branches", "db.t"),
        ("merge", "dev", "--table", "db.t", "--preview"),
        ("compare", "db.t", "main", "dev"),
        ("files", "db.t", "--branch", "dev"),
        ("graph", "db.t"),
    )
    for names, words in (
        # A merge begins with the files that commits added, a comparison with the state before.
        ((head.delta_manifest_list,), "is missing, though the snapshot needs it."),
        (
            (head.base_manifest_list, head.delta_manifest_list),
            "and 1 more are missing, though the snapshot needs them.",
        ),
    ):
        for name in names:
            Path(paths.manifest(name)).unlink(missing_ok=True)
        told = f"{paths.manifest(names[0])} {words}"
        for command in commands:
            answer = run(*command)
            assert told in answer.out + answer.err, command
