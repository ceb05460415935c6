"""A merge that is cancelled before it publishes leaves its target as it was, wherever it was.

Rows that it settled by then wait for a job that is taken up again, or for recovery to remove them.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from branch_console.errors import CommitConflict, ErrorKind, PaimonError
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.stages import Facts, InlineStages, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.branch_bench import tree
from tests.support.large_keys import TABLE, call_of, make_branch, make_table, rows_of
from tests.support.local_row_engine import LocalRows

_STAGES: Final = 3
"""Those before the one that publishes: heads, files, rows."""

_POLICY: Final = f"version: 1\ntables: {{{TABLE}: {{take: base}}}}"


class _Cancelled(InlineStages):
    """Stages of which one is cancelled at its end, once its work is done."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self._left = last

    def run(
        self,
        name: str,
        work: Callable[[Progress], Facts],
        *,
        message: str,
        publishes: bool = False,
    ) -> Facts:
        facts = super().run(name, work, message=message, publishes=publishes)
        self._left -= 1
        if self._left < 0 and not publishes:
            raise _cancelled()
        return facts


class _Job(InlineStages):
    """The stages of a job: what they left is kept; `stop` is asked before each that is to run."""

    def __init__(self) -> None:
        super().__init__()
        self._left: dict[str, Facts] = {}
        self.stop: Callable[[str], None] = lambda _: None

    def run(
        self,
        name: str,
        work: Callable[[Progress], Facts],
        *,
        message: str,
        publishes: bool = False,
    ) -> Facts:
        if name not in self._left:
            self.stop(name)
            self._left[name] = super().run(name, work, message=message, publishes=publishes)
        return self._left[name]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose branches `ours` and `theirs` changed the same rows in all of its buckets."""
    root = tmp_path_factory.mktemp("cancelled") / "origin"
    warehouse = make_table(root, 100)
    for number, name in enumerate(("ours", "theirs"), 1):
        make_branch(warehouse, name, rows_of(np.arange(10 * number, 60), more=number))
    return root


@pytest.fixture
def root(origin: Path, tmp_path: Path) -> Path:
    """A copy of that table."""
    return Path(shutil.copytree(origin, tmp_path / "table"))


def test_a_merge_cancelled_at_any_stage_changes_nothing(origin: Path, tmp_path: Path) -> None:
    for last in range(_STAGES + 1):
        root = Path(shutil.copytree(origin, tmp_path / str(last)))
        before, merge = _seen(root), _merge()
        if last < _STAGES:
            with pytest.raises(PaimonError) as cancelled:
                _run(root, merge, _Cancelled(last))
            assert cancelled.value.kind is ErrorKind.CANCELLED
            after = _seen(root)
            assert {name: after.get(name) for name in before} == before, f"stage {last}"
            others = {Path(name).name.split("-")[0] for name in after.keys() - before.keys()}
            assert others == ({"data"} if last == _STAGES - 1 else set()), f"stage {last}"
            _recover(root)
            assert _seen(root) == before, f"stage {last}"
        # What was cancelled can be done once more, and what publishes is not cancelled.
        _run(root, merge, _Cancelled(_STAGES))
        assert any("/snapshot-3" in name for name in _seen(root))


def test_a_cancelled_job_goes_on_with_the_rows_that_it_settled(root: Path) -> None:
    job, merge, before = _Job(), _merge(), _seen(root)
    settled = _cancel_before_publishing(root, job, merge)
    _run(root, merge, job)
    added = _seen(root).keys() - before.keys()
    assert {name for name in added if "/bucket-" in name} == settled
    _recover(root)
    assert settled <= _seen(root).keys()


def test_a_job_whose_rows_were_swept_is_refused_and_merges_anew(root: Path) -> None:
    job, merge, before = _Job(), _merge(), _seen(root)
    _cancel_before_publishing(root, job, merge)
    _recover(root)
    with pytest.raises(CommitConflict, match="recovery removed them") as gone:
        _run(root, merge, job)
    assert gone.value.kind is ErrorKind.INTERRUPTED
    assert _seen(root) == before
    _run(root, _merge(), InlineStages())
    assert any("/snapshot-3" in name for name in _seen(root))


def test_recovery_leaves_the_rows_of_a_run_at_work_alone(root: Path) -> None:
    job = _Job()
    job.stop = lambda stage: _recover(root) if stage == "merge branch" else None
    receipt = _run(root, _merge(), job)
    assert receipt.counts.snapshots_added == 1
    assert any("/snapshot-3" in name for name in _seen(root))


def test_two_runs_of_one_operation_publish_once_and_leave_no_rows_behind(root: Path) -> None:
    merge, before, receipts = _merge(), _seen(root), []

    def overtaken(stage: str) -> None:
        if stage == "merge branch":
            receipts.append(_run(root, merge, InlineStages()))

    job = _Job()
    job.stop = overtaken
    receipts.append(_run(root, merge, job))
    assert receipts[0] == receipts[1]
    added = _seen(root).keys() - before.keys()
    assert len({name for name in added if "/snapshot-" in name}) == 1
    # As many as one run writes: a file for each bucket.
    assert len({name for name in added if "/bucket-" in name}) == 4


def test_of_two_dry_runs_the_rows_of_one_are_kept(root: Path) -> None:
    trial, before = replace(_merge(), name="dry_run_merge"), _seen(root)

    def overtaken(stage: str) -> None:
        if stage == "keep the result":
            _run(root, replace(trial, operation_id="other"), InlineStages())

    job = _Job()
    job.stop = overtaken
    _run(root, trial, job)
    assert len(_seen(root).keys() - before.keys()) == 4
    kept = _seen(root)
    _recover(root)
    assert _seen(root) == kept
    _run(root, _merge(), InlineStages())
    assert len({name for name in _seen(root).keys() - before.keys() if "/bucket-" in name}) == 4


def _cancel_before_publishing(root: Path, job: _Job, merge: ProcedureCall) -> set[str]:
    """Cancel a job when its rows are settled; return the files of these."""
    before = _seen(root)

    def stop(stage: str) -> None:
        if stage == "merge branch":
            raise _cancelled()

    job.stop = stop
    with pytest.raises(PaimonError):
        _run(root, merge, job)
    job.stop = lambda _: None
    settled = _seen(root).keys() - before.keys()
    assert len(settled) == 4
    return set(settled)


def _cancelled() -> PaimonError:
    return PaimonError("Somebody cancelled it.", kind=ErrorKind.CANCELLED)


def _merge() -> ProcedureCall:
    return call_of("merge_branch", branch="theirs", target="ours", policy=_POLICY)


def _run(root: Path, call: ProcedureCall, stages: Stages) -> Receipt:
    warehouse = Warehouse.open(str(root))
    return run_call(warehouse, LocalRows(warehouse.file_io), call, stages)


def _recover(root: Path) -> None:
    _run(root, replace(call_of("recover"), role="operator"), InlineStages())


def _seen(root: Path) -> dict[str, bytes]:
    """All that the table consists of; the ledger and what is kept of conflicts are beside it."""
    return {name: data for name, data in tree(root).items() if "/branch-lineage/" not in name}
