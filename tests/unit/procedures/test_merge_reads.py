"""What a merge of files reads: only what tells what the sides did since they parted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from branch_console.format.identifier import Identifier
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.storage.file_io import FileIO
from tests.support.branch_bench import BranchBench, opened

_TABLE = Identifier(database="db", table="t")
_MANAGED = {"write-only": "true"}


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table whose base lists five manifests, and a branch; both went on."""
    bench = BranchBench(tmp_path, options=dict(_MANAGED))
    for number in range(5):
        bench.append(f"base-{number}")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("ours")
    return bench


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Notes the name of every file that a store is asked for."""
    real = FileIO._ask

    @contextmanager
    def noting() -> Iterator[set[str]]:
        names: set[str] = set()

        def ask(self: FileIO, path: str, call: Callable[[], Any]) -> Any:
            names.add(path.rpartition("/")[2])
            return real(self, path, call)

        with monkeypatch.context() as patched:
            patched.setattr(FileIO, "_ask", ask)
            yield names

    return noting


def _shared_manifests(bench: BranchBench) -> set[str]:
    heads = [(table, table.head()) for table in (bench.table(), bench.table("dev"))]
    listed = [
        set(table.manifests(head)["file_name"].to_pylist())
        for table, head in heads
        if head is not None
    ]
    return listed[0] & listed[1]


@pytest.mark.parametrize("merges", [False, True], ids=["preview", "merge"])
def test_no_manifest_that_both_list_and_no_data_file_is_looked_at(
    merges: bool, bench: BranchBench, asked: Callable[[], Any]
) -> None:
    shared = _shared_manifests(bench)
    assert len(shared) == 5
    new = opened(Path(bench.path).parents[1])
    with asked() as names:
        if merges:
            new.call("merge_branch", operation="merge", branch="dev")
        else:
            preview_merge(new.warehouse(), _TABLE, "dev")
    assert any(name.startswith("manifest-list-") for name in names)
    assert not names & shared
    assert not [name for name in names if name.startswith("data-")]


def test_a_merge_that_is_done_reads_no_manifest_at_all(
    bench: BranchBench, asked: Callable[[], Any]
) -> None:
    bench.call("merge_branch", operation="merge", branch="dev")
    new = opened(Path(bench.path).parents[1])
    with asked() as names:
        new.call("merge_branch", operation="again", branch="dev")
    assert names
    assert not [name for name in names if name.startswith("manifest-")]
