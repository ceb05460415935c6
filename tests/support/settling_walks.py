"""Walks of keys whose rows are merged, and settled by a policy: real files, read back each time.

The model knows which states a branch came from, and merges rows by hand: each cell follows the side
that changed it since the newest state that both came from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from branch_console.errors import Refused
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import MergeVerdict, Plan, verdict_of
from branch_console.merge.policy import Policy
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.branch_bench import tree
from tests.support.lifecycle import run
from tests.support.local_row_engine import LocalRows
from tests.support.local_tables import rows_of
from tests.support.merge_walk import BRANCHES, Walk, WalkBench, lasting
from tests.support.our_rows import OurRows

Row: TypeAlias = tuple[str | None, int | None]
Rows: TypeAlias = Mapping[int, Row]

_KEYS: Final = 6
_TEXTS: Final = ("x", "y", None)


@dataclass(frozen=True, eq=False)
class State:
    """What a branch held once; `before` is every state that it came from, itself too."""

    rows: Rows
    before: frozenset["State"]

    @property
    def line(self) -> frozenset["State"]:
        return self.before | {self}


@dataclass
class SettlingWalk(Walk):
    """Branches of a table with a key and two columns."""

    options: ClassVar[Mapping[str, str]] = {"write-only": "true", "bucket": "2"}
    states: dict[str, State] = field(default_factory=dict)
    held: dict[str, State] = field(default_factory=dict)
    merges: dict[str, tuple[str, State, dict[str, bytes]]] = field(default_factory=dict)
    settled: int = 0
    reverted: int = 0
    undone: int = 0

    def start(self) -> None:
        self.bench = WalkBench(self.root, primary_keys=["id"], options=dict(self.options))
        self.states["main"] = State({}, frozenset())
        self.put("main", dict.fromkeys(range(_KEYS - 1), ("x", 0)))
        super().start()
        self.states = dict.fromkeys(BRANCHES, self.states["main"])

    # ---- what branches do ------------------------------------------------------------------------

    def write(self, branch: str, first: int, second: int) -> None:
        """Put a row or two: each has one value of a few, so that sides agree now and then."""
        old = self.states[branch].rows
        rows = {}
        for key in {first % _KEYS, (first // _KEYS) % _KEYS}:
            text, number = old.get(key, ("x", 0))
            rows[key] = (text, second % 3) if second % 2 else (_TEXTS[second % 3], number)
        self.put(branch, rows)

    def change(self, branch: str, first: int, second: int) -> None:
        """Put a row that is new in both columns."""
        self.put(branch, {first % _KEYS: (_TEXTS[second % 3], second % 5)})

    def hide(self, branch: str, first: int, _: int) -> None:
        """Delete a row."""
        key, rows = first % _KEYS, self.states[branch].rows
        if key in rows:
            self.rows_on(branch).delete([(key, *rows[key])])
            self.goes_on(branch, {each: row for each, row in rows.items() if each != key})

    def compact(self, branch: str, *_: int) -> None:
        before = self.bench.table(branch).head()
        self.rows_on(branch).compact()
        if self.bench.table(branch).head() != before:
            self.goes_on(branch, self.states[branch].rows)

    def settle(self, branch: str, first: int, second: int) -> None:
        """Merge; one side or the other has it where both changed a cell."""
        others = [each for each in BRANCHES if each != branch]
        self.merge(others[first % 2], branch, ("ours", "theirs")[second % 2])

    def undo(self, branch: str, *_: int) -> None:
        """Undo the merge that the head came by."""
        if branch not in self.merges:
            return
        operation, state, files = self.merges.pop(branch)
        head, before = self.bench.table(branch).head(), tree(self.root)
        try:
            run(self.bench, "undo", f"undo-{next(self.numbers)}", operation=operation)
        except Refused:
            assert head is not None
            if self.has_expired:
                return
            others = (self.bench.table(each) for each in BRANCHES if each != branch)
            held = (one.snapshots.find(head.id) for one in others)
            assert any(one is not None and one.identity.same_as(head.identity) for one in held)
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            return
        self.undone += 1
        self.states[branch] = state
        assert self.content(branch) == self.model(branch), "I8"
        assert self.branch_files(branch) == files, "I8"

    def revert(self, branch: str, first: int, second: int) -> None:
        """Revert one of the newest snapshots, as a merge of the state before it."""
        snapshots = list(self.bench.table(branch).snapshots.walk())[:3]
        at = first % len(snapshots)
        if at + 1 >= len(snapshots):
            return
        undone, earlier = (
            self.held[each.delta_manifest_list].rows for each in snapshots[at : at + 2]
        )
        take = (None, "ours", "theirs")[second % 3]
        expected, is_open = merged_rows(undone, self.states[branch].rows, earlier, take)
        before = tree(self.root)
        try:
            self.call("revert", take, table=_named(branch), snapshot=snapshots[at].id)
        except Refused:
            assert is_open, "nothing stands in the way"
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            return
        assert not is_open
        self.reverted += 1
        if self.bench.table(branch).head() != snapshots[0]:
            self.goes_on(branch, expected)
        assert self.content(branch) == self.model(branch)

    # ---- merging ---------------------------------------------------------------------------------

    def merge(self, source: str, target: str, take: str | None = None) -> None:
        """Merge, and see that each row is what the model says."""
        ours, theirs = self.states[target], self.states[source]
        plan = self.plan_with(source, target, take)
        before, files = tree(self.root), self.branch_files(target)
        outcomes = [
            merged_rows(base.rows, ours.rows, theirs.rows, take) for base in bases(ours, theirs)
        ]
        try:
            receipt = self.call("merge_branch", take, branch=source, target=target, plan_id=plan.id)
        except Refused:
            self.refused += 1
            assert self.has_expired or any(is_open for _, is_open in outcomes), "all is clear"
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            return
        del receipt
        if verdict_of(plan) is MergeVerdict.UP_TO_DATE:
            assert theirs in ours.line or self.content(target) == outcomes[0][0]
            assert tree(self.root) == before, "I1"
            return
        assert not all(is_open for _, is_open in outcomes), "a conflict was not found"
        found = self.content(target)
        assert isinstance(found, dict)
        for key in range(_KEYS):
            # Of several bases what they come to is the base, where they agree that is each of them.
            possible = [rows.get(key) for rows, _ in outcomes]
            if len(outcomes) == 1 or all(each == possible[0] for each in possible):
                assert found.get(key) == possible[0], (
                    f"I9: {key} of {source} to {target}: {verdict_of(plan)}"
                )
        if verdict_of(plan) is MergeVerdict.FAST_FORWARD:
            self.states[target] = theirs
        else:
            self.settled += take is not None and any(
                merged_rows(base.rows, ours.rows, theirs.rows, None)[1]
                for base in bases(ours, theirs)
            )
            self.states[target] = State(found, ours.line | theirs.line)
            self.hold(target)
        self.merges[target] = (self.last_operation, ours, files)
        assert verdict_of(self.plan_with(source, target, take)) is MergeVerdict.UP_TO_DATE, "I2"
        after = tree(self.root)
        assert {name: after.get(name) for name in lasting(before)} == lasting(before), "I12"

    def plan_with(self, source: str, target: str, take: str | None) -> Plan:
        policy = "" if take is None else Policy.from_yaml(_policy(take)).digest
        rules = MergeRules(policy=policy)
        return preview_merge(self.console, self.bench.identifier, source, target, rules)

    def call(self, name: str, take: str | None, **arguments: object) -> object:
        self.last_operation = f"{name}-{next(self.numbers)}"
        if take is not None:
            arguments["policy"] = _policy(take)
        rows = LocalRows(self.bench.file_io)
        return self.bench.call(name, operation=self.last_operation, rows=rows, **arguments)

    # ---- states ----------------------------------------------------------------------------------

    def put(self, branch: str, rows: Rows) -> None:
        self.rows_on(branch).write([(key, *row) for key, row in rows.items()])
        self.goes_on(branch, {**self.states[branch].rows, **rows})

    def rows_on(self, branch: str) -> OurRows:
        return OurRows(self.bench.warehouse(), _named(branch))

    def goes_on(self, branch: str, rows: Rows) -> None:
        """The branch has a new head."""
        self.merges.pop(branch, None)
        self.states[branch] = State(rows, self.states[branch].line)
        self.hold(branch)
        assert self.content(branch) == self.model(branch)

    def hold(self, branch: str) -> None:
        head = self.bench.table(branch).head()
        assert head is not None
        self.held[head.delta_manifest_list] = self.states[branch]

    def content(self, branch: str) -> object:
        table = self.bench.table(branch)
        found = rows_of(plan_table(self.bench.file_io, ReadState.as_it_is(table))).to_pylist()
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: (row["name"], row["pt"]) for row in found}

    def model(self, branch: str) -> object:
        return self.states[branch].rows


def bases(ours: State, theirs: State) -> list[State]:
    """The newest states that both came from."""
    both = ours.line & theirs.line
    return [each for each in both if not any(each in other.before for other in both)]


def merged_rows(
    base: Rows, ours: Rows, theirs: Rows, take: str | None
) -> tuple[dict[int, Row], bool]:
    """Merge rows by hand: what is there then, and whether anything is left open."""
    found: dict[int, Row] = {}
    is_open = False
    for key in sorted({*base, *ours, *theirs}):
        old, mine, other = base.get(key), ours.get(key), theirs.get(key)
        chosen = {"ours": mine, "theirs": other, None: None}[take]
        if other in (mine, old):
            row = mine
        elif mine == old:
            row = other
        elif mine is None or other is None:
            row, is_open = chosen, is_open or take is None
        else:
            cells = list(_cells(old, mine, other, chosen))
            is_open = is_open or ... in cells
            row = None if ... in cells else (cells[0], cells[1])
        if row is not None:
            found[key] = row
    return found, is_open


def _cells(old: Row | None, mine: Row, other: Row, chosen: Row | None) -> Iterable[object]:
    for at in range(2):
        if mine[at] == other[at] or (old is not None and other[at] == old[at]):
            yield mine[at]
        elif old is not None and mine[at] == old[at]:
            yield other[at]
        else:
            yield ... if chosen is None else chosen[at]


def _named(branch: str) -> str:
    return "db.t" if branch == "main" else f"db.t$branch_{branch}"


def _policy(take: str) -> str:
    return f"version: 1\ntables: {{db.t: {{take: {take}}}}}"
