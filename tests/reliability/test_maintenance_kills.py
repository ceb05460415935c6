"""R11: what expires and cleans a table dies, reads short listings, and meets others at every step.

Nothing that a name leads to is removed. Recovery and another try end as one that nobody disturbed,
and what undo promised it brings back to the byte.
"""

import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import PaimonError
from branch_console.format.receipt import Receipt
from branch_console.maintenance import release
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.preview import preview_call
from branch_console.procedures.recover import recover_table
from tests.reliability.worlds import World, copy_world
from tests.support.branch_bench import store_of, tree
from tests.support.examples import Examples
from tests.support.expiry_bench import AT_ONCE, LATER, ExpiryBench
from tests.support.expiry_oracle import SNAPSHOT, Oracle
from tests.support.faulty_store import At, Fault, FaultyStore, Killed, What, When

_OVER: Final = 700_000
"""Milliseconds after which a grace is over."""
_WEEKS: Final = 20 * 86_400_000
_LONG_AFTER: Final = 3_600_000
_ORPHANS: Final = (
    "bucket-0/data-{}-0.parquet",
    "bucket-0/data-{}-0.parquet.index",
    "manifest/manifest-{}-0",
    "statistics/stat-{}-0",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call on the table.

    Attributes:
        by: The operation.
        after: Milliseconds after LATER.
    """

    name: str
    by: str
    arguments: Mapping[str, Argument]
    after: int = 0

    def run(self, root: Path, store: CommitStore | None = None) -> Receipt:
        """Run it, or finish it."""
        bench, arguments = ExpiryBench(root), dict(self.arguments)
        return bench.run(self.name, self.by, LATER + self.after, arguments, store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call that takes names or files from a table, and the calls that came before it."""

    name: str
    step: Step
    before: tuple[Step, ...] = ()


def _expiry(by: str, after: int = 0, **arguments: Argument) -> Step:
    given = {"retain_max": 1, "options": AT_ONCE, "branches": "all", **arguments}
    return Step(name="expire_snapshots", by=by, arguments=given, after=after)


def _cleaning(by: str, grace: str, after: int = 0) -> Step:
    return Step(name="remove_orphan_files", by=by, arguments={"grace": grace}, after=after)


_CHANGELOGS: Final = f"{AT_ONCE},changelog.num-retained.max=50"
CASES: Final = (
    Case(name="expire at once", step=_expiry("op", grace="0 s")),
    Case(name="expire", step=_expiry("op", grace="10 min")),
    Case(name="keep changelogs", step=_expiry("op", grace="0 s", options=_CHANGELOGS)),
    Case(
        name="release what expired",
        before=(_expiry("old", grace="10 min"),),
        step=_expiry("op", _OVER, grace="10 min"),
    ),
    Case(
        name="undo an expiry",
        before=(_expiry("old", grace="10 min", options=_CHANGELOGS),),
        step=Step(name="undo", by="op", arguments={"operation": "old"}),
    ),
    Case(name="clean at once", step=_cleaning("op", "0 s")),
    Case(name="clean", step=_cleaning("op", "10 min")),
    Case(
        name="remove noted orphans",
        before=(_cleaning("old", "10 min"),),
        step=_cleaning("op", "10 min", _OVER),
    ),
    Case(
        name="undo a cleaning",
        before=(_cleaning("old", "10 min"),),
        step=Step(name="undo", by="op", arguments={"operation": "old"}),
    ),
    Case(
        name="undo a cleaning from the trash",
        before=(_cleaning("old", "0 s"),),
        step=Step(name="undo", by="op", arguments={"operation": "old"}),
    ),
    Case(
        name="empty the trash",
        before=(_cleaning("old", "0 s"),),
        step=_cleaning("op", "0 s", _WEEKS),
    ),
)
on_each_case = pytest.mark.parametrize("case", CASES, ids=lambda each: each.name)


def world(root: Path) -> None:
    """Two branches that replaced their files since they parted, and files that nothing names."""
    bench = ExpiryBench(root)
    bench.add("a")
    bench.branch("dev")
    bench.tag("kept")
    for number, name in enumerate("bcd"):
        bench.replace(name, f"{name}2", branch="dev" if number < 2 else "main")
    bench.tag("theirs", branch="dev")
    bench.replace("e", branch="dev")
    bench.replace("f")
    for name in bench.table().tags.names():
        if name != "kept":
            Path(bench.table().paths.tag(name)).unlink()
    Path(bench.table().paths.snapshot(1)).unlink()  # so that no merge starts from there
    for number, name in enumerate(_ORPHANS):
        path = Path(bench.path) / name.format(UUID(int=number))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"0123456789")


@dataclass(frozen=True, slots=True)
class Scene:
    """A copy of the world of a case."""

    root: Path
    case: Case

    @property
    def oracle(self) -> Oracle:
        """Tells what its names lead to."""
        return Oracle(self.root / "db.db" / "t")

    def broken(self, *, retired: bool = True) -> frozenset[str]:
        """What a name must find and is not there, be it one that undo may bring back."""
        oracle = self.oracle
        names = (each for each in oracle.names() if retired or not each.is_retired)
        return oracle.broken(frozenset(names))

    def finish(self) -> None:
        """Recover what was cut off, and try again."""
        bench, now = ExpiryBench(self.root), LATER + self.case.step.after
        recover_table(bench.warehouse(clock=lambda: now + _LONG_AFTER), bench.table())
        assert self.broken() == frozenset()
        self.case.step.run(self.root)

    def content(self) -> Mapping[str, bytes]:
        """All files but ours, and the hints: they are never needed."""
        return {
            path: data
            for path, data in tree(self.root).items()
            if "branch-lineage" not in path and not path.endswith(("EARLIEST", "LATEST"))
        }


@pytest.fixture
def origin(case: Case, built: Callable[[World], Path]) -> Path:
    return _before(case, built)


@pytest.fixture
def scene(case: Case, origin: Path) -> Callable[[], Scene]:
    return lambda: Scene(copy_world(origin, origin.parent / "scene"), case)


@on_each_case
def test_killed_at_any_change_it_loses_nothing_and_ends_as_one_that_was_not(
    case: Case,
    scene: Callable[[], Scene],
    built: Callable[[World], Path],
    rng: random.Random,
    examples: Examples,
) -> None:
    planned = _preview(scene())
    undisturbed = scene()
    counter = FaultyStore(inner=store_of(undisturbed.root))
    receipt = case.step.run(undisturbed.root, counter.store)
    after = undisturbed.content()
    assert receipt.plan_id == planned
    assert undisturbed.broken() == frozenset()
    if case.step.name == "undo":
        assert after == Scene(built(world), case).content()
    for number in _some(len(counter.changes), rng, examples):
        for when in (When.BEFORE, When.AFTER) if examples.depth == "long" else (_met(number),):
            cut = scene()
            faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
            with pytest.raises(Killed):
                case.step.run(cut.root, faulty.store)
            where = f"killed {when} {counter.changes[number - 1]}"
            assert cut.broken(retired=False) == frozenset(), where
            cut.finish()
            assert cut.broken() == frozenset(), where
            assert cut.content() == after, where


@on_each_case
@pytest.mark.parametrize("lie", [What.PARTIAL, What.STALE])
def test_a_listing_that_is_short_once_costs_no_file_that_is_needed(
    case: Case, lie: What, scene: Callable[[], Scene], rng: random.Random, examples: Examples
) -> None:
    undisturbed = scene()
    counter = _Liar(inner=store_of(undisturbed.root))
    case.step.run(undisturbed.root, counter.store)
    after = undisturbed.content()
    for number in _some(counter.listings, rng, examples):
        told = scene()
        liar = _Liar(inner=store_of(told.root), at=number, lie=lie)
        with suppress(PaimonError):
            case.step.run(told.root, liar.store)
        assert told.broken(retired=False) == frozenset(), liar.faults
        with suppress(PaimonError):
            told.finish()
        assert told.broken() == frozenset(), liar.faults
        if case.step.name == "undo":
            assert told.content() == after, liar.faults


@on_each_case
@pytest.mark.parametrize("made", ["a tag", "a branch"])
def test_what_another_engine_names_meanwhile_is_kept(
    case: Case, made: str, scene: Callable[[], Scene], rng: random.Random, examples: Examples
) -> None:
    undisturbed = scene()
    counter = FaultyStore(inner=store_of(undisturbed.root))
    case.step.run(undisturbed.root, counter.store)
    for number in _some(len(counter.changes), rng, examples):
        met = scene()
        meddler = _Meddler(met.root, is_branch=made == "a branch", rng=rng)
        faulty = FaultyStore(inner=store_of(met.root), meanwhile={number: meddler})
        with suppress(PaimonError):
            case.step.run(met.root, faulty.store)
        where = f"{made} before {counter.changes[number - 1]}"
        assert met.broken(retired=False) == frozenset(), where
        with suppress(PaimonError):
            met.finish()
        assert met.broken() == frozenset(), where
        assert meddler.made.exists(), where


def test_a_late_tag_of_what_expired_loses_the_batch_that_goes_at_most(
    built: Callable[[World], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever made it had read the snapshot before it went; between two batches it is seen."""
    monkeypatch.setattr(release, "_BATCH", 1)
    monkeypatch.setattr(release, "_BATCHES_BETWEEN_LOOKS", 1)
    case = CASES[0]
    origin = _before(case, built)
    scene = Scene(origin.parent / "late", case)
    counter = FaultyStore(inner=store_of(copy_world(origin, scene.root)))
    case.step.run(scene.root, counter.store)
    removals = [n for n, each in enumerate(counter.changes, 1) if "/bucket-0/" in each]
    assert len(removals) > 1
    for number in removals:
        copy_world(origin, scene.root)
        tagger = _LateTagger(scene.root / "db.db" / "t")
        faulty = FaultyStore(inner=store_of(scene.root), meanwhile={number: tagger})
        case.step.run(scene.root, faulty.store)
        assert len(scene.broken() & tagger.there) <= 1


class _Liar(FaultyStore):
    """Tells a lie at one listing."""

    def __init__(self, *, inner: CommitStore, at: int = 0, lie: What = What.PARTIAL) -> None:
        super().__init__(inner=inner, draw=self._lie_at)
        self.listings = 0
        self._at, self._lie = at, lie

    def _lie_at(self, kind: str) -> Fault | None:
        if kind != "list":
            return None
        self.listings += 1
        return Fault(what=self._lie) if self.listings == self._at else None


class _Meddler:
    """Makes a tag or a branch of a snapshot that is listed, as Paimon does."""

    def __init__(self, root: Path, *, is_branch: bool, rng: random.Random) -> None:
        self._table = root / "db.db" / "t"
        self._is_branch, self._rng = is_branch, rng
        self.made = self._table / ("branch/branch-new" if is_branch else "tag/tag-new")

    def __call__(self) -> None:
        names = sorted(
            (each.branch, each.name)
            for each in Oracle(self._table).names()
            if each.kind == SNAPSHOT
        )
        branch, number = self._rng.choice(names)
        root = self._table if branch == "main" else self._table / "branch" / f"branch-{branch}"
        snapshot = root / "snapshot" / f"snapshot-{number}"
        if self._is_branch:
            (self.made / "snapshot").mkdir(parents=True)
            shutil.copytree(root / "schema", self.made / "schema")
            shutil.copy(snapshot, self.made / "snapshot")
        else:
            self.made.parent.mkdir(exist_ok=True)
            shutil.copy(snapshot, self.made)


class _LateTagger:
    """Makes a tag of a snapshot that it read before that one expired."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self._snapshot = (table / "snapshot" / "snapshot-2").read_bytes()
        self.there: set[str] = set()

    def __call__(self) -> None:
        self.there.update(Oracle(self._table).files())
        (self._table / "tag" / "tag-late").write_bytes(self._snapshot)


def _before(case: Case, built: Callable[[World], Path]) -> Path:
    """The table as it is before the call of a case."""
    base = built(world)

    def build(root: Path) -> None:
        copy_world(base, root)
        for step in case.before:
            step.run(root)

    build.__name__ = f"before_{case.name.replace(' ', '_')}"
    return built(build)


def _preview(scene: Scene) -> str:
    step = scene.case.step
    call = ProcedureCall(
        name=step.name,
        arguments={"table": "db.t", **step.arguments},
        actor="ann",
        operation_id="preview",
        role="operator",
    )
    warehouse = ExpiryBench(scene.root).warehouse(clock=lambda: LATER + step.after)
    return preview_call(warehouse, call).plan_id


def _met(number: int) -> When:
    return When.BEFORE if number % 2 else When.AFTER


def _some(last: int, rng: random.Random, examples: Examples) -> list[int]:
    """All of some numbers from 1 on at night, else a few of them."""
    most = examples(1, quick=1, long=last)
    return sorted(rng.sample(range(1, last + 1), min(most, last)))
