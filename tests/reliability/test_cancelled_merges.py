"""A merge that is cancelled before it publishes leaves its target as it was, wherever it was."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from core.errors import ErrorKind, PaimonError
from core.procedures.registry import run_call
from core.procedures.row_engine import Progress
from core.procedures.stages import Facts, InlineStages
from core.procedures.warehouse import Warehouse
from tests.support.branch_bench import tree
from tests.support.large_keys import TABLE, call_of, make_branch, make_table, rows_of
from tests.support.local_row_engine import LocalRows

_STAGES: Final = 3
"""Those before the one that publishes: heads, files, rows."""


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
            raise PaimonError("Somebody cancelled it.", kind=ErrorKind.CANCELLED)
        return facts


def test_a_merge_cancelled_at_any_stage_changes_nothing(tmp_path: Path) -> None:
    origin = make_table(tmp_path / "origin", 100)
    for number, name in enumerate(("ours", "theirs"), 1):
        make_branch(origin, name, rows_of(np.arange(10 * number, 60), more=number))
    policy = f"version: 1\ntables: {{{TABLE}: {{take: base}}}}"
    call = call_of("merge_branch", branch="theirs", target="ours", policy=policy)
    for last in range(_STAGES + 1):
        root = tmp_path / str(last)
        shutil.copytree(tmp_path / "origin", root)
        warehouse = Warehouse.open(str(root))
        engine, before = LocalRows(warehouse.file_io), _seen(root)
        if last < _STAGES:
            with pytest.raises(PaimonError) as cancelled:
                run_call(warehouse, engine, call, _Cancelled(last))
            assert cancelled.value.kind is ErrorKind.CANCELLED
            after = _seen(root)
            assert {name: after.get(name) for name in before} == before, f"stage {last}"
            # Files of settled rows, which nothing refers to, wait for a job that is resumed.
            others = {Path(name).name.split("-")[0] for name in after.keys() - before.keys()}
            assert others == ({"data"} if last == _STAGES - 1 else set()), f"stage {last}"
        # What was cancelled can be done once more, and what publishes is not cancelled.
        run_call(warehouse, engine, call, _Cancelled(_STAGES))
        assert any("/snapshot-3" in name for name in _seen(root))


def _seen(root: Path) -> dict[str, bytes]:
    """All that the table consists of; the ledger and what is kept of conflicts are beside it."""
    return {name: data for name, data in tree(root).items() if "/branch-lineage/" not in name}
