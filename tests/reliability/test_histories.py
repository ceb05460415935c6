"""R5 for merges: random histories of branches, with real rows, against a model of states.

Merges, picks, reverts and rollbacks follow each other on branches that fork, move and go. Whatever
was refused changed nothing; whatever ran left the rows that the model has.
"""

import itertools
import random
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.errors import PaimonError, Refused
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from tests.reliability import states
from tests.reliability.worlds import TABLE, RowBench
from tests.support.examples import Examples
from tests.support.history_model import HistoryModel, Rows
from tests.support.local_row_engine import LocalRows
from tests.support.our_rows import OurRows

_WALKS, _WALKS_AT_NIGHT, _STEPS = 1, 600, 40
_SHARES: Final = {"write-only": "true"}
_HIDES: Final = {"deletion-vectors.enabled": "true"}
_KINDS: Final[Mapping[str, tuple[bool, Mapping[str, str]]]] = {
    "rows, copied": (False, {}),
    "rows, shared": (False, _SHARES),
    "hidden rows, copied": (False, _HIDES),
    "hidden rows, shared": (False, {**_HIDES, **_SHARES}),
    "keys, copied": (True, {}),
    "keys, shared": (True, _SHARES),
}
"""Tables: whether they have keys, and their options."""
_IN_QUICK: Final = {"hidden rows, shared", "keys, copied"}
_BRANCHES: Final = ("b0", "b1", "b2", "b3")
# A bare rollback, a revert of what came by a merge, a pick of a revert: what lineage is silent on.
_WEIGHTS: Final[Mapping[str, float]] = {
    "write": 8,
    "rewrite": 4,
    "alter": 0.5,
    "create": 3,
    "drop": 0.7,
    "fast_forward": 1.5,
    "merge": 6,
    "pick": 7,
    "revert": 6,
    "roll_back": 3,
    "undo": 2,
}


class History:
    """One table, changed at random, and what it should hold."""

    def __init__(self, root: Path, rng: random.Random, *, keyed: bool, **options: str) -> None:
        self._bench = RowBench(root, keyed=keyed, **options)
        self._table = root / TABLE
        self._rng = rng
        self._keyed = keyed
        self._hides = "deletion-vectors.enabled" in options
        self._numbers = itertools.count(1)
        self._clock = itertools.count(1_700_000_000_000, 1000)
        self._model = HistoryModel()
        self._heads: dict[str, str] = {}
        self._undoable: tuple[str, dict[str, str]] | None = None
        self._compared = False
        self.told: list[str] = []
        self.merged = 0
        self._bench.put("origin", {1: "0", 2: "0"})
        self._commit("main", {1: 0, 2: 0})

    def step(self) -> None:
        """Do something, and look at every branch."""
        what = self._rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        getattr(self, f"_{what}")()
        for branch, head in self._heads.items():
            assert self._head(branch) == head, f"{branch} is at another snapshot"
            assert self._rows(branch) == dict(self._model.states[head].rows), branch

    def end(self) -> None:
        """Nothing that a branch needs is missing."""
        told = states.problems(self._table)
        # A schema that both sides have may come to a branch by its name on the other one.
        assert not [each for each in told if "lacks schema" not in each]

    # ---- rows ----------------------------------------------------------------------------------

    def _write(self) -> None:
        branch, rows = self._some_branch()
        if self._keyed:
            keys = self._rng.sample(range(1, 8), self._rng.randrange(1, 3))
            gone = [each for each in keys if each in rows and self._rng.random() < 0.3]
            new = {each: next(self._numbers) for each in keys if each not in gone}
        else:
            new = {100 + next(self._numbers): next(self._numbers) for _ in range(2)}
            gone = []
        self._put(branch, new, gone)
        self._commit(branch, {**{k: v for k, v in rows.items() if k not in gone}, **new})

    def _rewrite(self) -> None:
        """Compact; without keys also delete a file, or a row of it by writing the rest again."""
        branch, rows = self._some_branch()
        if self._keyed:
            OurRows(self._warehouse(), self._named(branch)).compact()
            if self._head(branch) != self._heads[branch]:
                self._commit(branch, rows)
            return
        head = self._bench.table(branch).head()
        assert head is not None
        live = self._bench.table(branch).live_files(head)
        hide = ["hide"] * 3 if self._hides else []
        how = self._rng.choice(["delete", "delete some", "compact", *hide])
        some = live.slice(self._rng.randrange(max(1, live.num_rows)), 2 if how == "compact" else 1)
        if not some.num_rows:
            return
        places = self._places_of(branch, some)
        held = {key: version for key, version in rows.items() if key in places}
        left = {} if how == "delete" else dict(list(held.items())[how != "compact" :])
        if how == "hide":
            for key in held.keys() - left.keys():
                file, place = places[key]
                self._bench.hide_in({file: [place]}, branch=branch)
        else:
            self._put(branch, left, instead_of=some, compacts=how == "compact")
        if self._head(branch) != self._heads[branch]:
            gone = held.keys() - left.keys()
            self._commit(branch, {key: version for key, version in rows.items() if key not in gone})

    def _alter(self) -> None:
        self._bench.alter(self._some_branch()[0], f"c{next(self._numbers)}")

    # ---- branches ------------------------------------------------------------------------------

    def _create(self) -> None:
        free = [each for each in _BRANCHES if each not in self._heads]
        if not free:
            return
        source, name = self._some_branch()[0], self._rng.choice(free)
        number, state = self._rng.choice(self._history(source)[-3:])
        if self._call("create_branch", branch=name, from_branch=source, snapshot=number):
            self._heads[name] = state

    def _drop(self) -> None:
        others = sorted(self._heads.keys() - {"main"})
        if others and self._call("drop_branch", branch=(name := self._rng.choice(others))):
            del self._heads[name]

    def _fast_forward(self) -> None:
        source, target = self._two_branches()
        if source == target or not self._call("fast_forward", branch=source, target=target):
            return
        ours, theirs = self._heads[target], self._heads[source]
        if self._head(target) != ours:
            assert ours in self._model.ancestors(theirs), "commits are lost"
            self._heads[target] = theirs

    # ---- what takes in and takes back ----------------------------------------------------------

    def _merge(self) -> None:
        source, target = self._two_branches()
        ours, theirs = self._heads[target], self._heads[source]
        isolation = {"isolation": "snapshot"}
        if source == target or not self._call(
            "merge_branch", branch=source, target=target, **isolation
        ):
            return
        head = self._head(target)
        if head == theirs and ours in self._model.ancestors(theirs):
            self._heads[target] = theirs
            return
        found, bases = self._rows(target), self._model.bases(ours, theirs)
        if len(bases) == 1:  # what several come to is a law of its own
            self._check_merged(found, bases[0], ours, theirs)
        self.merged += 1
        if head == ours:
            return
        self._model.merge(head, found, ours, theirs)
        self._heads[target] = head

    def _check_merged(self, found: Rows, base: str, ours: str, theirs: str) -> None:
        views = [self._model.merged(base, ours, theirs, again=again) for again in (False, True)]
        if self._compared:
            # Rows are compared from those of the base on, which lack what both have picked.
            views.append(self._model.merged(base, ours, theirs, knows=False))
        open_keys = frozenset.intersection(*(each.conflicts for each in views))
        assert not open_keys, f"merged without a word: {open_keys}"
        for key in found.keys() | {key for each in views for key in each.rows}:
            allowed = {each.rows.get(key) for each in views if key not in each.conflicts}
            assert found.get(key) in allowed, f"row {key}"

    def _pick(self) -> None:
        source, target = self._two_branches()
        history = self._history(source)
        if source == target or len(history) < 2:
            return
        at, ours = self._rng.randrange(1, len(history)), self._heads[target]
        (_, before), (number, theirs) = history[at - 1], history[at]
        if not self._call(
            "cherry_pick", branch=source, target=target, snapshot=number, isolation="snapshot"
        ):
            return
        by_states, by_known = (
            self._model.merged(before, ours, theirs, knows=knows) for knows in (False, True)
        )
        found, head, state = self._rows(target), self._head(target), self._model.states[ours]
        if head == ours and self._model.has_taken(ours, before, theirs):
            return  # what it holds already, and perhaps changed since
        assert not by_known.conflicts, f"picked without a word: {by_known.conflicts}"
        for key in by_states.rows.keys() | by_known.rows.keys() | found.keys():
            allowed = {by_known.rows.get(key)}
            if key not in by_states.conflicts:
                allowed.add(by_states.rows.get(key))
            picked = self._model.states[theirs].rows.get(key)
            if (key, picked) in state.known and not self._keyed:
                # A row that the target had and deleted may come again: files tell, rows do not.
                allowed.add(state.rows.get(key))
            assert found.get(key) in allowed, f"row {key} of {target}"
        if head != ours:
            self._model.pick(head, found, ours, before, theirs)
            self._heads[target] = head

    def _revert(self) -> None:
        target, _ = self._some_branch()
        history = self._history(target)
        if len(history) < 2:
            return
        at = self._rng.randrange(max(1, len(history) - 4), len(history))
        (_, before), (number, undone) = history[at - 1], history[at]
        ours = self._heads[target]
        if not self._call("revert", table=self._named(target), snapshot=number):
            return
        expected = self._model.merged(undone, ours, before, knows=False)
        assert not expected.conflicts, f"reverted without a word: {expected.conflicts}"
        head, state = self._head(target), self._model.states[ours]
        if head == ours:
            missing = expected.rows.items() - state.rows.items()
            # What came back once and was deleted since does not come back a second time.
            assert not missing or (not self._keyed and missing <= state.known)
            assert state.rows.items() <= expected.rows.items()
            return
        self._model.revert(head, expected.rows, ours, undone, before)
        self._heads[target] = head

    def _roll_back(self) -> None:
        target, _ = self._some_branch()
        earlier = self._history(target)[:-1]
        if not earlier:
            return
        (number, then), cut = self._rng.choice(earlier), self._rng.random() < 0.5
        ours = self._heads[target]
        if not self._call("rollback", table=self._named(target), snapshot=number, cut=cut):
            return
        if cut:
            self._heads[target] = then
        else:
            self._model.roll_back(self._head(target), ours, then)
            self._heads[target] = self._head(target)

    def _undo(self) -> None:
        if self._undoable is not None:
            operation, heads = self._undoable
            if self._call("undo", operation=operation):
                self._heads = heads

    # ---- how it is done ------------------------------------------------------------------------

    def _call(self, name: str, **arguments: Any) -> bool:
        """Preview a procedure and run it; False where it was refused, and changed nothing."""
        self._undoable = None
        operation = f"op{next(self._numbers)}"
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=operation,
            role="operator",
        )
        self.told.append(f"{operation} {name} {arguments}")
        before, heads = states.exact(self._table), dict(self._heads)
        try:
            preview = preview_call(self._warehouse(), call)
        except PaimonError:
            return False
        if not preview.can_run:
            assert states.exact(self._table) == before, "I10"
            return False
        told = " ".join(each.text for each in preview.consequences)
        self._compared = "compared first" in told
        planned = {**call.arguments, "plan_id": preview.plan_id}
        try:
            run_call(
                self._warehouse(),
                LocalRows(self._bench.file_io),
                replace(call, arguments=planned),
                InlineStages(),
            )
        except Refused:
            assert self._compared or "Rows tell" in told, "the preview had said yes"
            assert states.exact(self._table) == before, "I10"
            return False
        if name in ("merge_branch", "cherry_pick", "fast_forward", "revert", "rollback"):
            self._undoable = (operation, heads)
        return True

    def _commit(self, branch: str, rows: Rows) -> None:
        self._undoable = None
        self._model.commit(self._head(branch), rows, self._heads.get(branch))
        self._heads[branch] = self._head(branch)

    def _put(
        self,
        branch: str,
        rows: Rows,
        gone: Iterable[int] = (),
        *,
        instead_of: pa.Table | None = None,
        compacts: bool = False,
    ) -> None:
        """Commit a file of rows, perhaps in the place of others."""
        names = {key: str(version) for key, version in rows.items()}
        file = f"f{next(self._numbers)}"
        if instead_of is None:
            self._bench.put(file, names, branch=branch, gone=list(gone))
        else:
            self._bench.replace(file, names, instead_of, branch=branch, compacts=compacts)

    def _some_branch(self) -> tuple[str, Rows]:
        branch = self._rng.choice(sorted(self._heads))
        return branch, self._model.states[self._heads[branch]].rows

    def _two_branches(self) -> tuple[str, str]:
        names = sorted(self._heads)
        return self._rng.choice(names), self._rng.choice(names)

    def _history(self, branch: str) -> list[tuple[int, str]]:
        snapshots = self._bench.table(branch).snapshots.all()
        return [(each.id, each.delta_manifest_list) for each in snapshots]

    def _head(self, branch: str) -> str:
        head = self._bench.table(branch).head()
        assert head is not None
        return head.delta_manifest_list

    def _rows(self, branch: str) -> dict[int, int]:
        found = states.rows(self._table, branch)
        rows = {key: int(name) for key, name, _ in found}
        assert len(rows) == len(found), f"rows of {branch} came twice"
        return rows

    def _places_of(self, branch: str, files: pa.Table) -> dict[int, tuple[str, int]]:
        """Where in which file the rows are that readers see."""
        hidden = states.hidden(self._table, branch)
        found = {}
        for name in files["file_name"].to_pylist():
            rows = pq.read_table(next(self._table.rglob(name)), partitioning=None)
            for place, key in enumerate(rows["id"].to_pylist()):
                if place not in hidden.get(name, ()):
                    found[key] = (name, place)
        return found

    def _warehouse(self) -> Any:
        return self._bench.warehouse(None, lambda: next(self._clock))

    @staticmethod
    def _named(branch: str) -> str:
        return "db.t" if branch == "main" else f"db.t$branch_{branch}"


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind in _IN_QUICK else pytest.mark.depth("full"))
        for kind in _KINDS
    ],
)
def test_histories_leave_the_rows_that_the_model_has(
    memory_path: Path, examples: Examples, seed: int, kind: str
) -> None:
    keyed, options = _KINDS[kind]
    root, merged = memory_path / "history", 0
    for walk in range(examples(_WALKS, long=_WALKS_AT_NIGHT)):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        history = History(root, random.Random(f"{seed} {kind} {walk}"), keyed=keyed, **options)
        try:
            for _ in range(_STEPS):
                history.step()
            history.end()
        except Exception:
            print("\n".join(("", f"walk {walk} of {kind}", *history.told)))
            raise
        merged += history.merged
    print(f"{merged} merges")
