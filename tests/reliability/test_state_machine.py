"""R5: random operations on branches, with crashes, against a model that has no files.

Each row is part of the name of the data file that holds it, so that our reader needs no engine;
the files exist, and Java and pypaimon read samples of what was reached.
"""

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import Refused
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from tests.reliability import states
from tests.reliability.operations import Run, call, recovered_twice
from tests.reliability.worlds import TABLE, RowBench, copy_world
from tests.support.branch_bench import store_of
from tests.support.commit_tables import data_files
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.java_child import Read, read_with_java
from tests.support.pypaimon_peer import Pypaimon
from tests.support.truth_model import ModelBranch, Rows, State, TruthModel

# A night runs them in parts, so that every lane has some.
_PARTS, _STEPS, _SAMPLE_EVERY = 2, 40, 20
_RUNS, _RUNS_IN_QUICK, _RUNS_AT_NIGHT = 60, 20, 100_000
_NAMES = ("b0", "b1", "b2", "b3")
_numbers = itertools.count(1)

_pick = st.integers(0, 99)
_key = st.integers(0, 5)
_crash = st.one_of(st.none(), st.none(), st.tuples(st.integers(1, 20), st.sampled_from(list(When))))
Crash: TypeAlias = tuple[int, When] | None


class Branching(RuleBasedStateMachine):
    """One table, changed at random, and what it should hold."""

    memory: ClassVar[Path]
    museum: ClassVar[dict[str, dict[str, list[tuple[int, str]]]]]
    steps: ClassVar[int]

    @initialize()
    def start(self) -> None:
        origin = self.memory / "empty"
        if not origin.exists():
            origin.mkdir()
            RowBench(origin)
        self.root = copy_world(origin, self.memory / "machine")
        self.model = TruthModel(branches={"main": ModelBranch()})
        self.undoable: tuple[str, TruthModel] | None = None

    # ---- rows ----------------------------------------------------------------------------------

    @rule(where=_pick, key=_key, crash=_crash)
    def upsert(self, where: int, key: int, crash: Crash) -> None:
        branch, rows = self._some_branch(where)
        self._rewrite(branch, {**rows, key: next(_numbers)}, touching=key, crash=crash)

    @rule(where=_pick, key=_key, crash=_crash)
    def delete(self, where: int, key: int, crash: Crash) -> None:
        branch, rows = self._some_branch(where)
        if key in rows:
            left = {each: version for each, version in rows.items() if each != key}
            self._rewrite(branch, left, touching=key, crash=crash)

    @rule(where=_pick, keys=st.sets(_key, min_size=1, max_size=3), crash=_crash)
    def overwrite(self, where: int, keys: set[int], crash: Crash) -> None:
        branch, _ = self._some_branch(where)
        rows = {key: next(_numbers) for key in sorted(keys)}
        bench = RowBench(self.root)
        new, user, seen = self._file(rows), f"u{next(_numbers)}", self._head_id(branch)
        message = bench.message(new_files=new)

        def run(root: Path, store: CommitStore | None) -> object:
            commit = bench.commit_through(store, branch)
            return commit.overwrite([message], user=user, seen_id=seen)

        self._do(run, crash)
        self._committed(branch, rows)

    @rule(where=_pick, crash=_crash)
    def compact(self, where: int, crash: Crash) -> None:
        branch, rows = self._some_branch(where)
        names = states.live(self.root / TABLE, branch)
        if len(names) > 1:
            self._commit(branch, rows, crash, compact_before=names, compact_after=rows)

    # ---- schema, tags, branches ----------------------------------------------------------------

    @rule(where=_pick)
    def alter(self, where: int) -> None:
        branch, _ = self._some_branch(where)
        column = f"c{next(_numbers)}"
        RowBench(self.root).alter(branch, column)
        held = self.model.branches[branch]
        self._becomes(self._with(branch, columns=(*held.columns, column)))

    @rule(where=_pick, crash=_crash)
    def tag(self, where: int, crash: Crash) -> None:
        branch, _ = self._some_branch(where)
        held = self.model.branches[branch]
        if held.head_id is not None:
            name = f"t{next(_numbers)}"
            self._call("create_tag", crash, tag=name, table=self._named(branch))
            state = held.history[held.head_id]
            self._becomes(self._with(branch, tags={**held.tags, name: state}))

    @rule(where=_pick, name=st.sampled_from(_NAMES), empty=st.booleans(), crash=_crash)
    def create(self, where: int, name: str, empty: bool, crash: Crash) -> None:
        source, _ = self._some_branch(where)
        if name in self.model.branches:
            return
        fork = None if empty else self.model.branches[source].head_id
        arguments: dict[str, Any] = {"branch": name, "from_branch": source}
        if fork is None:
            arguments["empty"] = True
        self._call("create_branch", crash, **arguments)
        self._becomes(self.model.branched(name, source, fork))

    @rule(ahead=_pick, behind=_pick, crash=_crash)
    def fast_forward(self, ahead: int, behind: int, crash: Crash) -> None:
        theirs, ours = self._some_branch(ahead)[0], self._some_branch(behind)[0]
        legal = None if theirs == ours else self.model.can_forward(theirs, ours)
        if legal is None:
            return
        before = self.model
        done = self._call("fast_forward", crash, may_refuse=not legal, branch=theirs, target=ours)
        assert done is None or legal, f"{theirs} was put onto {ours}, which had moved"
        if done is not None:
            self._becomes(self.model.forwarded(theirs, ours), undoable=(done, before))

    @precondition(lambda self: len(self.model.branches) > 1)
    @rule(where=_pick, crash=_crash)
    def drop(self, where: int, crash: Crash) -> None:
        branch = self._other_branch(where)
        before, needed = self.model, self.model.has_dependents(branch)
        done = self._call("drop_branch", crash, may_refuse=needed, branch=branch)
        if done is not None:
            self._becomes(self.model.without(branch), undoable=(done, before))

    @precondition(lambda self: len(self.model.branches) > 1)
    @rule(where=_pick, to=st.sampled_from(_NAMES), crash=_crash)
    def rename(self, where: int, to: str, crash: Crash) -> None:
        branch, before = self._other_branch(where), self.model
        if to in before.branches:
            return
        done = self._call("rename_branch", crash, branch=branch, to=to)
        assert done is not None
        self._becomes(before.renamed(branch, to), undoable=(done, before))

    @rule(where=_pick, back=_pick, crash=_crash)
    def roll_back(self, where: int, back: int, crash: Crash) -> None:
        branch, _ = self._some_branch(where)
        held, before = self.model.branches[branch], self.model
        earlier = sorted(held.history)[:-1]
        if not earlier:
            return
        number = earlier[back % len(earlier)]
        if not _is_other(held, number):
            return
        done = self._call("rollback", crash, table=self._named(branch), snapshot=number)
        assert done is not None
        self._committed(branch, held.history[number].rows)
        self.undoable = (done, before)

    @precondition(lambda self: self.undoable is not None)
    @rule(crash=_crash)
    def undo(self, crash: Crash) -> None:
        assert self.undoable is not None
        operation, before = self.undoable
        self._call("undo", crash, operation=operation)
        self._becomes(before)

    # ---- what must hold ------------------------------------------------------------------------

    @invariant()
    def nothing_is_broken_and_every_branch_holds_its_rows(self) -> None:
        table, bench = self.root / TABLE, RowBench(self.root)
        seen = states.look_at(table)
        assert states.problems(table, seen) == []
        found = seen.branches
        assert {each for each in found if not each.startswith("rescue-")} == set(
            self.model.branches
        )
        for name, held in self.model.branches.items():
            snapshots, tags = found[name].snapshots, found[name].tags
            for number, state in held.history.items():
                assert number in snapshots, f"snapshot {number} of {name} is gone (I12)"
                rows = _rows(table, snapshots[number], seen)
                assert rows == state.rows, f"{name} at {number}"
            assert max(snapshots, default=None) == held.head_id, name
            for tag, state in held.tags.items():
                assert _rows(table, tags[tag], seen) == state.rows, f"tag {tag} of {name}"
            columns = [each.name for each in bench.table(name).schema().fields]
            assert tuple(columns[3:]) == held.columns, name
        type(self).steps += 1
        if self.steps % _SAMPLE_EVERY == 0 and len(self.museum) < 40:
            self._keep()

    def _keep(self) -> None:
        name = f"m{len(self.museum)}"
        copy_world(self.root / TABLE, self.memory / "museum" / "db.db" / name)
        self.museum[name] = {
            branch: sorted((key, str(version)) for key, version in held.rows.items())
            for branch, held in self.model.branches.items()
        }

    # ---- how it is done ------------------------------------------------------------------------

    def _some_branch(self, number: int) -> tuple[str, Rows]:
        names = sorted(self.model.branches)
        name = names[number % len(names)]
        return name, self.model.branches[name].rows

    def _other_branch(self, number: int) -> str:
        names = sorted(self.model.branches.keys() - {"main"})
        return names[number % len(names)]

    def _named(self, branch: str) -> str:
        return "db.t" if branch == "main" else f"db.t$branch_{branch}"

    def _head_id(self, branch: str) -> int:
        return self.model.branches[branch].head_id or 0

    def _rewrite(self, branch: str, rows: Rows, *, touching: int, crash: Crash) -> None:
        """Replace the file that holds a key by what is left of it."""
        live = states.live(self.root / TABLE, branch)
        gone = {name for name in live if touching in _rows_of(name)}
        kept = {key for name in live - gone for key in _rows_of(name)}
        new = {key: version for key, version in rows.items() if key not in kept}
        self._commit(branch, rows, crash, deleted_files=gone, new_files=new)

    def _commit(
        self, branch: str, rows: Rows, crash: Crash, **files: Mapping[int, int] | frozenset[str]
    ) -> None:
        bench = RowBench(self.root)
        tables = {
            what: self._file(given) if isinstance(given, Mapping) else self._entries(branch, given)
            for what, given in files.items()
        }
        message = bench.message(**{what: each for what, each in tables.items() if each.num_rows})
        user, seen = f"u{next(_numbers)}", self._head_id(branch)

        def run(root: Path, store: CommitStore | None) -> object:
            return bench.commit_through(store, branch).commit([message], user=user, seen_id=seen)

        self._do(run, crash)
        self._committed(branch, rows)

    def _committed(self, branch: str, rows: Rows) -> None:
        held = self.model.branches[branch]
        self._becomes(self.model.with_branch(branch, held.with_commit(next(_numbers), rows)))

    def _with(self, branch: str, **changed: Any) -> TruthModel:
        held = self.model.branches[branch]
        fields = ("history", "inherited", "tags", "columns", "stands_on")
        values = {name: changed.get(name, getattr(held, name)) for name in fields}
        return self.model.with_branch(branch, ModelBranch(**values))

    def _becomes(self, model: TruthModel, undoable: tuple[str, TruthModel] | None = None) -> None:
        self.model, self.undoable = model, undoable

    def _call(
        self, name: str, crash: Crash, *, may_refuse: bool = False, **arguments: Any
    ) -> str | None:
        """Run a procedure; its operation id, or None where it was refused as it may be."""
        operation = f"op{next(_numbers)}"
        before = states.exact(self.root / TABLE)
        try:
            self._do(call(name, by=operation, **arguments), crash)
        except Refused:
            assert may_refuse, f"{name} {arguments} was refused"
            assert states.exact(self.root / TABLE) == before, "refused, and yet changed (I10)"
            return None
        return operation

    def _do(self, run: Run, crash: Crash) -> None:
        """Do it; with a crash, die on the way, recover, and do it again."""
        if crash is not None:
            number, when = crash
            store = FaultyStore(inner=store_of(self.root), fault=At(call=number, when=when))
            try:
                run(self.root, store.store)
            except Killed:
                recovered_twice(self.root)
            else:
                return
        run(self.root, None)

    def _file(self, rows: Rows) -> pa.Table:
        """Write one data file that holds these rows; its entry, or none without rows."""
        if not rows:
            return MANIFEST_ENTRY.empty_table()
        text = "_".join(f"{key}.{version}" for key, version in sorted(rows.items()))
        name = f"{next(_numbers)}-{text}"
        path = self.root / TABLE / "bucket-0" / f"data-{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "id": pa.array(sorted(rows), pa.int64()),
            "name": pa.array([str(rows[key]) for key in sorted(rows)]),
            "pt": pa.array([0] * len(rows), pa.int32()),
        }
        pq.write_table(pa.table(content), path, compression="zstd")
        entry = data_files([name], rows=len(rows), total_buckets=-1)
        at = MANIFEST_ENTRY.get_field_index("file_size")
        size = pa.array([path.stat().st_size], pa.int64())
        return entry.set_column(at, MANIFEST_ENTRY.field("file_size"), size)

    def _entries(self, branch: str, names: frozenset[str] | set[str]) -> pa.Table:
        table = RowBench(self.root).table(branch)
        head = table.head()
        if head is None or not names:
            return MANIFEST_ENTRY.empty_table()
        files = table.live_files(head)
        return files.filter(pa.array([each in names for each in files["file_name"].to_pylist()]))


def _is_other(branch: ModelBranch, number: int) -> bool:
    """Whether a snapshot is not the head under another id."""
    assert branch.head_id is not None
    head: State = branch.history[branch.head_id]
    return branch.history[number].token != head.token


def _rows(table: Path, data: bytes, seen: states.Seen) -> Rows:
    found: dict[int, int] = {}
    for name in states.reading(table, data, seen.manifests).point.files:
        rows = _rows_of(name)
        assert not found.keys() & rows.keys(), f"a key is there twice: {name}"
        found |= rows
    return found


def _rows_of(name: str) -> dict[int, int]:
    text = name.removesuffix(".parquet").rpartition("-")[2]
    pairs = (each.split(".") for each in text.split("_"))
    return {int(key): int(version) for key, version in pairs}


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=pytest.mark.depth("long") if part else ()) for part in range(_PARTS)],
)
def test_branches_hold_what_the_model_says_whatever_is_done_to_them(
    memory_path: Path, examples: Examples, seed: int, part: int
) -> None:
    museum = memory_path / "museum"
    shutil.rmtree(museum, ignore_errors=True)
    (museum / "db.db").mkdir(parents=True)
    Branching.memory, Branching.museum, Branching.steps = memory_path, {}, 0
    run_state_machine_as_test(
        hypothesis_seed(_PARTS * seed + part)(Branching),
        settings=settings(
            max_examples=examples(_RUNS, quick=_RUNS_IN_QUICK, long=_RUNS_AT_NIGHT // _PARTS),
            stateful_step_count=50 if examples.depth == "long" else _STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(f"{Branching.steps} steps")
    assert Branching.museum
    reads = [
        Read(table=_table_name(name, branch))
        for name, branches in Branching.museum.items()
        for branch in branches
    ]
    # The newest Paimon takes as long to start again; a quick run does without.
    versions = ("1.4.2",) if examples.depth == "quick" else ("1.4.2", "2.0.0")
    answers = {version: read_with_java(version, museum, reads) for version in versions}
    with Pypaimon(museum) as peer:
        for name, branches in Branching.museum.items():
            for branch, expected in branches.items():
                table = _table_name(name, branch)
                theirs = {v: answers[v][Read(table=table)] for v in answers}
                theirs["pypaimon"] = [tuple(row) for row in peer.rows(table)]
                for who, rows in theirs.items():
                    assert isinstance(rows, list), (who, rows)
                    assert sorted(row[:2] for row in rows) == expected, (who, table)


def _table_name(name: str, branch: str) -> str:
    return f"db.{name}" if branch == "main" else f"db.{name}$branch_{branch}"
