"""The branches of a table: where each stands, where it left, what may break it."""

import functools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from branch_console.diff.branch_overview import SnapshotDistance as OneSide
from branch_console.diff.branch_overview import compare_branches
from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.fork_inference import ForkCandidate, best_forks
from branch_console.diff.health.facts import BranchFacts, HazardFork, TableFacts
from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.diff.health.hazards import Hazards
from branch_console.diff.lifecycle.quiet import find_quiet_since
from branch_console.diff.lineage import Lineage, build_lineage
from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure, is_row_per_record
from branch_console.errors import PaimonError
from branch_console.format import options as table_options
from branch_console.format.branch_ref import BranchRef
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import (
    LineageEvent,
    LineageKind,
    is_fenced_by,
    under_present_names,
)
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.procedures.browse.health_facts import (
    Unchecked,
    began_empty,
    lost_commits,
    older_lists,
    read_guards,
)
from branch_console.procedures.browse.page_values import (
    BranchDistance,
    BranchItem,
    DroppedBranch,
    ForkView,
    Health,
)
from branch_console.procedures.browse.tables import branch_options, unfinished_branches
from branch_console.procedures.call.row_figures import counted_figure, head_figure
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.lost_histories import read_lost_histories
from branch_console.procedures.history.protection import protection_of
from branch_console.procedures.history.rescue_fork import rescued_fork
from branch_console.table.branch_manager import BranchState
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.lineage_ledger import errors_of, in_order
from branch_console.table.missing_branch import no_branch
from branch_console.table.missing_schemas import missing_schemas
from branch_console.table.unshared_manifests import unshared_entries
from branch_console.table.versioned_files import FileState

_MAKES_BRANCHES: Final = {LineageKind.CREATED, LineageKind.FORKED, LineageKind.RESCUED}


def list_branches(
    warehouse: Warehouse, table: Identifier, versus: str = MAIN_BRANCH
) -> tuple[BranchItem, ...]:
    """Return the branches of a table, main first, broken ones with their error.

    Args:
        warehouse: The warehouse.
        table: The table, on any branch.
        versus: The branch that each is compared with.

    Raises:
        NotFound: There is no such table.
    """
    return read_branches(warehouse, table).items(versus)


def read_branches(warehouse: Warehouse, table: Identifier) -> "BranchReader":
    """Read the branches of a table, to be asked for more than their list.

    Raises:
        NotFound: There is no such table.
    """
    return BranchReader(warehouse, warehouse.table(table))


class BranchReader:
    """Reads the branches of one table once, and answers what lists and graphs ask of them.

    Attributes:
        events: The ledger under the names of today.
        broken_events: Why other events cannot be read: the history is incomplete.
    """

    def __init__(self, warehouse: Warehouse, table: FileStoreTable) -> None:
        self._warehouse = warehouse
        self._table = table
        hidden, (states, event_states) = table.reader.both(
            lambda: unfinished_branches(warehouse, table), table.branches.states_with_ledger
        )
        self.events = under_present_names(in_order(event_states))
        self.broken_events = errors_of(event_states)
        self._states = [state for state in states if state.name not in hidden]
        self._unchecked: list[Unchecked] = []
        self._histories: dict[str, tuple[Snapshot, ...]] = {}
        self._broken_ids: dict[str, frozenset[int]] = {}
        self._tags: dict[str, tuple[FileState[Tag], ...]] = {}

    @property
    def identifier(self) -> Identifier:
        """The table, on the branch that it was asked for."""
        return self._table.identifier

    def items(self, versus: str | None = None) -> tuple[BranchItem, ...]:
        """The branches, main first, each compared with one of them.

        Args:
            versus: The other branch; None takes the first readable one.

        Raises:
            NotFound: The table has no branch of that name.
        """
        against = self._first_readable() if versus is None else versus
        self.check_exists(against)
        return tuple(self._item(state, against) for state in self._states)

    def health(self) -> dict[str, tuple[HealthFinding, ...]]:
        """The findings of each branch that can be read, main first, the worst first."""
        return {name: self._hazards.of(name) for name in self._hazards.branches}

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        """The files that could not be read while rules ran, so that some rules did not run."""
        broken = (
            Unchecked(branch=state.name, error=state.error)
            for state in self._states
            if state.error is not None
        )
        ledger = (Unchecked(branch=None, error=error) for error in self.broken_events)
        lists = (
            Unchecked(branch=name, error=error)
            for name, error in self._missing_lists.items()
            if error is not None
        )
        return (*broken, *lists, *ledger, *self._unchecked)

    @property
    def states(self) -> tuple[BranchState, ...]:
        """The branches, main first, those that cannot be read with their error."""
        return tuple(self._states)

    def made(self, branch: str) -> LineageEvent | None:
        """The event that made a branch, None if other software did."""
        return self._made.get(branch)

    def parent(self, branch: str) -> str | None:
        """The branch that one was made from, None if that is not known."""
        fork = self._fork(branch)
        return None if fork is None else fork.parent

    def ahead(self, branch: str, versus: str) -> int | None:
        """How many commits a branch has that another one lacks; None without common history."""
        distance = self._distance(branch, versus)
        return None if distance is None else distance.ahead

    def users(self, branch: str) -> tuple[str, ...]:
        """The options of branches that name a branch, each such as `scan.fallback of 'main'`."""
        return tuple(self._users.get(branch, ()))

    def dropped(self) -> tuple[DroppedBranch, ...]:
        """The branches that can be restored, the last dropped first."""
        alive = {state.name for state in self._states}
        return tuple(
            DroppedBranch(
                name=event.branch,
                rescue_branch=event.receipt.rescue_branch,
                operation_id=event.operation_id,
                actor=event.actor,
                reason=event.reason,
                time_millis=event.time_millis,
            )
            for event in reversed(self.events)
            if event.kind is LineageKind.DROPPED
            and event.receipt is not None
            and event.receipt.rescue_branch in alive
        )

    def history(self, branch: str) -> tuple[Snapshot, ...]:
        """The readable snapshots of a branch, oldest first."""
        if branch not in self._histories:
            states = self._table.on_listed(branch).snapshots.states()
            self._histories[branch] = tuple(
                state.value for state in states if state.value is not None
            )
            self._broken_ids[branch] = frozenset(
                int(state.name) for state in states if state.error is not None
            )
            self._note_broken(branch, states)
        return self._histories[branch]

    def line(self, snapshot: Snapshot) -> Iterator[Snapshot]:
        """The history of a snapshot from itself back, on whatever branches it lies."""
        return self._lineage.history(snapshot.identity)

    def tags(self, branch: str) -> tuple[Tag, ...]:
        """The readable tags of a branch by name."""
        return tuple(state.value for state in self._tag_states(branch) if state.value is not None)

    def _item(self, state: BranchState, versus: str) -> BranchItem:
        made = self._made.get(state.name)
        item = BranchItem(
            name=state.name,
            health=Health.BROKEN,
            findings=(),
            created_millis=made.time_millis if made else state.created_millis,
            is_recorded=made is not None,
            owner=made.owner if made else None,
            reason=made.reason if made else None,
            protection=protection_of(self.events, state.name),
            used_by=self.users(state.name),
            error=state.error,
        )
        if state.ref is None:
            return item
        head, schema, there = state.ref.head, state.ref.schema, self._table.on(state.name)
        figure = head_figure(there, head, schema)
        item = replace(
            item,
            head=head,
            figure=counted_figure(self._warehouse, there, head, schema, figure),
            schema=schema,
            base_tag=state.ref.base_tag,
            branch_options=branch_options(schema),
        )
        try:
            fork = self._fork(state.name)
            item = replace(item, fork=fork)
            missing = self._missing_lists[state.name]
            if missing is not None:
                raise missing
            self._check_base_tag(state.ref)
            findings = self._hazards.of(state.name)
            distance = self._distance(state.name, versus)
        except PaimonError as error:
            return replace(item, error=error)
        quiet_since = find_quiet_since(
            state.name,
            committed_millis=None if head is None else head.time_millis,
            created_millis=item.created_millis,
            events=self.events,
            now_millis=self._warehouse.clock(),
        )
        return replace(
            item,
            health=self._health(state.name, fork, findings),
            findings=findings,
            versus=distance,
            quiet_since_millis=None if state.name == MAIN_BRANCH else quiet_since,
        )

    def _fork(self, branch: str) -> ForkView | None:
        """Return the fork of the branch: as recorded, else inferred from shared snapshots."""
        made = self._made.get(branch)
        if made is not None and made.kind is LineageKind.RESCUED:
            return self._rescued_fork(made)
        found = self._forks.get(branch)
        if found is None:
            return None
        ids = (found.target_id, found.source_id, found.snapshot.id if found.snapshot else None)
        return ForkView(
            parent=found.parent,
            snapshot_id=next((each for each in ids if each is not None), None),
            identity=found.identity,
            evidence=found.evidence,
            confidence=str(found.confidence),
        )

    def _rescued_fork(self, made: LineageEvent) -> ForkView | None:
        """A rescue branch holds a whole history: it forks where the replaced branch left it."""
        parent = made.source_branch or MAIN_BRANCH
        tagged = (tag.snapshot for tag in self.tags(made.branch))
        held = (*self.history(made.branch), *tagged)
        fork = rescued_fork(made, self.events, held, self.history(parent))
        if fork is None:
            return None
        return ForkView(
            parent=parent,
            snapshot_id=fork.id,
            identity=fork.identity,
            evidence=(f"It keeps what {parent!r} was before {made.actor} replaced it.",),
            confidence="recorded",
        )

    def _check_base_tag(self, ref: BranchRef) -> None:
        """Raise the error of a base tag that cannot be decoded."""
        if ref.base_tag is not None and not ref.is_main:
            self._has_tag(MAIN_BRANCH, ref.base_tag)

    def _health(
        self, branch: str, fork: ForkView | None, findings: tuple[HealthFinding, ...]
    ) -> Health:
        """Healthy only if all rules ran."""
        if any(each.severity is not HazardSeverity.INFO for each in findings):
            return Health.AT_RISK
        needed = {None, branch, MAIN_BRANCH, None if fork is None else fork.parent}
        is_checked = all(each.branch not in needed for each in self.unchecked)
        return Health.HEALTHY if is_checked else Health.UNCHECKED

    def _distance(self, branch: str, versus: str) -> BranchDistance | None:
        if branch == versus:
            return None
        found = compare_branches(self._traces[branch], self._traces[versus], self._lineage)
        ahead, behind = found.ahead, found.behind
        return BranchDistance(
            ahead=None if ahead is None else ahead.snapshots,
            behind=None if behind is None else behind.snapshots,
            figure_ahead=self._figure(ahead, branch),
            figure_behind=self._figure(behind, versus),
        )

    def _figure(self, distance: OneSide | None, branch: str) -> RowFigure:
        """Return the changes by the commits that only one of two branches has."""
        schema = self._schemas.get(branch)
        if distance is None:
            return NOTHING_COUNTED
        is_of_rows = (
            schema is not None
            and not distance.hides_rows
            and not schema.options.read(table_options.DELETION_VECTORS_ENABLED)
            and is_row_per_record(schema, branch)
        )
        return RowFigure(rows=distance.records if is_of_rows else None, records=distance.records)

    @functools.cached_property
    def _schemas(self) -> dict[str, TableSchema]:
        refs = ((state.name, state.ref) for state in self._states)
        return {name: ref.schema for name, ref in refs if ref is not None}

    @functools.cached_property
    def _traces(self) -> dict[str, BranchTrace]:
        traces = self._table.reader.map_parallel(self._trace, self._states)
        return {trace.branch: trace for trace in traces}

    @functools.cached_property
    def _missing_lists(self) -> dict[str, PaimonError | None]:
        """The error of each head with missing manifest lists, by branch; None without one."""

        def missing(state: BranchState) -> PaimonError | None:
            try:
                if state.ref is not None and state.ref.head is not None:
                    self._table.check_lists(state.ref.head)
            except PaimonError as error:
                return error
            return None

        found = self._table.reader.map_parallel(missing, self._states)
        return {state.name: error for state, error in zip(self._states, found, strict=True)}

    @functools.cached_property
    def _forks(self) -> dict[str, ForkCandidate]:
        """The most likely fork of each branch; the recorded parent alone is asked where known."""
        made = {name: self._made.get(name) for name in self._traces}
        known = {
            name: self._traces.get(event.source_branch or "")
            for name, event in made.items()
            if event is not None
        }
        parents = {name: parent for name, parent in known.items() if parent is not None}
        found = best_forks(list(self._traces.values()), self.events, parents)
        # What began with nothing forked off nowhere.
        begun = {
            name for name, event in made.items() if event and event.kind is LineageKind.CREATED
        }
        return {name: fork for name, fork in found.items() if name not in begun}

    @functools.cached_property
    def _lineage(self) -> Lineage:
        return build_lineage(list(self._traces.values()), self.events, self._forks)

    @functools.cached_property
    def _hazards(self) -> Hazards:
        readable = [each.ref for each in self._states if each.ref is not None]
        facts = self._table.reader.map_parallel(self._facts, readable)
        return Hazards(
            TableFacts(
                table=self.identifier.table_name,
                branches={each.trace.branch: each for each in facts if each is not None},
                lineage=self._lineage,
                count_taken=self._count_taken,
                lost_commits=self._lost_commits,
                older_lists=lambda: older_lists(self._table, self._traces),
                lost_tips=self._lost_tips,
                unreadable=frozenset(each.name for each in self._states if each.ref is None),
            )
        )

    def _facts(self, ref: BranchRef) -> BranchFacts | None:
        """Return the facts that the rules need about a branch; None if it cannot be read."""
        name, trace = ref.branch, self._traces[ref.branch]
        try:
            fork = None if ref.is_main else self._fork(name)
            table = self._table.on_listed(name)
            guards = read_guards(table, ref.schema, trace.snapshots)
            is_empty = not ref.is_main and began_empty(table, trace, self.events)
            missing = missing_schemas(table, ref.schema.id, trace.snapshots)
        except PaimonError as error:
            self._unchecked.append(Unchecked(branch=name, error=error))
            return None
        return BranchFacts(
            trace=trace,
            # What began with nothing only looks like it left main where a tag there names it.
            fork=None
            if fork is None or is_empty
            else HazardFork(
                parent=fork.parent, identity=fork.identity, snapshot_id=fork.snapshot_id
            ),
            base_tag=ref.base_tag,
            has_fence=guards.fence.is_there,
            is_fenced=guards.fence.is_effective,
            fence_obstacles=guards.fence.obstacles,
            was_fenced=is_fenced_by(self.events, name),
            kept_by=guards.kept_by,
            tag_option=None if ref.is_main else guards.tag_option,
            below_earliest=guards.below_earliest,
            began_empty=is_empty,
            broken_ids=self._broken_ids[name],
            missing_schemas=missing,
            named_branches=branch_options(ref.schema),
        )

    def _lost_commits(self, snapshot: Snapshot) -> tuple[str, ...]:
        try:
            return lost_commits(self._table.on(MAIN_BRANCH), snapshot)
        except PaimonError as error:
            self._unchecked.append(Unchecked(branch=MAIN_BRANCH, error=error))
            return ()

    def _lost_tips(self, lists: Collection[str]) -> tuple[str, ...]:
        try:
            read = read_lost_histories(self._table)
        except PaimonError as error:
            self._unchecked.append(Unchecked(branch=MAIN_BRANCH, error=error))
            return ()
        if read.hidden_by:
            return ()  # nothing tells their rows, so none can be brought back
        return tuple(
            each.tip
            for each in read.found
            if any({one.base.name, one.delta.name} & set(lists) for one in each.commits)
        )

    def _count_taken(self, commit: Snapshot, state: Snapshot) -> int:
        """How many data files a commit added that another state holds too."""
        table = self._table
        try:
            delta = table.scan.read_list(table.paths, commit.delta_manifest_list)
            added = table.read_manifests(delta)["file_name"]
            _, held = unshared_entries(table.scan, table.paths, (commit, state)).sides
        except PaimonError as error:
            self._unchecked.append(Unchecked(branch=MAIN_BRANCH, error=error))
            return 0
        return len(set(added.to_pylist()).intersection(held["file_name"].to_pylist()))

    def _trace(self, state: BranchState) -> BranchTrace:
        snapshots, tags = self._table.reader.both(
            lambda: self.history(state.name), lambda: self.tags(state.name)
        )
        return BranchTrace(
            branch=state.name,
            snapshots=snapshots,
            tags=tags,
            created_millis=state.created_millis,
        )

    def _note_broken(self, branch: str, states: Iterable[FileState[Any]]) -> None:
        self._unchecked += [
            Unchecked(branch=branch, error=state.error)
            for state in states
            if state.error is not None
        ]

    def _has_tag(self, branch: str, name: str) -> bool:
        """Whether a branch has a tag; raises the error of one that cannot be decoded."""
        found = next((state for state in self._tag_states(branch) if state.name == name), None)
        if found is not None and found.error is not None:
            raise found.error
        return found is not None

    def _tag_states(self, branch: str) -> tuple[FileState[Tag], ...]:
        if branch not in self._tags:
            self._tags[branch] = self._table.on_listed(branch).tags.states()
            self._note_broken(branch, self._tags[branch])
        return self._tags[branch]

    @functools.cached_property
    def _made(self) -> dict[str, LineageEvent]:
        """The newest event that made each branch."""
        return {event.branch: event for event in self.events if event.kind in _MAKES_BRANCHES}

    @functools.cached_property
    def _users(self) -> dict[str, list[str]]:
        """Options of branches' schemas that name a branch, by that name."""
        found: dict[str, list[str]] = {}
        for state in self._states:
            for key, value in () if state.ref is None else branch_options(state.ref.schema):
                found.setdefault(value, []).append(f"{key} of {state.name!r}")
        return found

    def check_exists(self, branch: str) -> None:
        """Raise NotFound if the table has no such branch."""
        if branch not in {state.name for state in self._states}:
            raise no_branch(self._table, branch)

    def _first_readable(self) -> str:
        readable = [state.name for state in self._states if state.ref is not None]
        return readable[0] if readable else MAIN_BRANCH


def key_of(snapshot: Snapshot) -> str:
    """Return a text that is equal for one snapshot on two branches: its bytes were copied."""
    return snapshot.uuid or "|".join(snapshot.identity.manifest_lists)
