"""How a merge of the catalog can be taken back: all of it or one object, as things stand.

Where every table still stands at the head that the merge made, each goes back to its earlier head.
Where somebody went on, each table gets a revert instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from branch_console.diff.catalog_state import CatalogState, TableState
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageEvent
from branch_console.merge.catalog.catalog_steps import StepKind, StepPlace
from branch_console.merge.plan import MergeVerdict, blocks_of, conflicts_of, verdict_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes, keeps
from branch_console.procedures.catalog.database_words import property_sentences
from branch_console.procedures.catalog.main_tables import is_kept
from branch_console.procedures.catalog.states import state_of_branch
from branch_console.procedures.catalog_merge.content_back import RULES_OF_REVERT
from branch_console.procedures.catalog_merge.publish_catalog import find_commit
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.catalog_merge.table_content import operations_of, target_of
from branch_console.procedures.catalog_merge.table_steps import drop_of_step
from branch_console.procedures.merge.inputs import DecidedMerge, decided_for
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.procedures.undo.undo_history import plan_way_back

UNDONE: Final = "undone"
"""The step of an operation that was taken back; it holds the id of the undo."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WayBack:
    """The part of a merge that can be taken back now.

    Attributes:
        steps: The steps to take back, in the order in which they were carried out.
        reverts: Whether tables get a revert, because somebody committed to one since.
        consequences: The consequences, with the obstacles.
        covers: The only objects that are taken back; None for all.
    """

    merge: MergeOperation
    committed: CatalogVersion
    steps: tuple[MergeStep, ...]
    reverts: bool
    consequences: tuple[Consequence, ...]
    covers: frozenset[str] | None


def way_back_of(merge: MergeOperation, call: ProcedureCall, part: str | None) -> WayBack:
    """Decide how a merge goes back, or the object of one step alone; raises CommitConflict."""
    committed = find_commit(merge)
    if committed is None or committed.kind is not VersionKind.MERGED:
        raise CommitConflict(
            f"Operation {merge.id} has no version in the ledger of {merge.noted.target!r} any "
            "more. Nothing was changed.",
            kind=ErrorKind.HEAD_MOVED,
        )
    state = state_of_branch(merge.warehouse, merge.noted.target)
    steps = _steps_back(merge, part)
    consequences = [
        _no_undo(reason)
        for reason in (
            *(_part_reasons(merge, steps) if part is not None else ()),
            *_object_reasons(merge, steps, state),
        )
    ]
    is_there = not consequences
    reverts = False
    if is_there:
        contents = list(contents_of(steps))
        found = [each for step in contents for each in _rollback_blocks(merge, step, call)]
        reverts = bool(found)
        if reverts:
            consequences += [each for step in contents for each in revert_blocks(merge, step)]
    consequences += _consequences(merge, steps, reverts=reverts)
    return WayBack(
        merge=merge,
        committed=committed,
        steps=steps,
        reverts=reverts,
        consequences=tuple(consequences),
        covers=None if part is None else frozenset(each.object_id for each in steps),
    )


def _steps_back(merge: MergeOperation, part: str | None) -> tuple[MergeStep, ...]:
    """The steps that are taken back: of one object, or all but those that went back alone."""
    if part is not None:
        object_id = next(each.object_id for each in merge.steps if each.name == part)
        return tuple(each for each in merge.steps if each.object_id == object_id)
    gone = objects_gone_alone(merge)
    return tuple(each for each in merge.steps if each.object_id not in gone)


def objects_gone_alone(merge: MergeOperation) -> set[str]:
    """The objects that went back alone before, by id."""
    return {
        each.object_id
        for each in merge.steps
        if merge.journal.has_reached(merge.step_id(each), UNDONE)
    }


def _part_reasons(merge: MergeOperation, steps: tuple[MergeStep, ...]) -> Iterator[str]:
    """Why one object cannot go back alone: the merge changed its database too."""
    moved = {each.object_id for each in merge.steps if each.kind in _WITH_TABLES}
    for step in steps:
        if step.kind is StepKind.MERGE_CONTENT:
            continue
        homes = {each.database for each in (step.step.before, step.step.after) if each is not None}
        inside = {
            each.object_id
            for each in merge.steps
            for place in (each.step.before, each.step.after)
            if place is not None and place.database == step.object_id
        }
        if homes & moved or (step.kind in _WITH_TABLES and inside):
            name = object_name(merge, list(steps))
            yield f"{name} came or went with its database; undo operation {merge.id} as a whole"
            return


def _object_reasons(
    merge: MergeOperation, steps: tuple[MergeStep, ...], state: CatalogState
) -> Iterator[str]:
    """Why objects cannot be where and what they were."""
    ids = {each.object_id for each in steps}
    for object_id in dict.fromkeys(each.object_id for each in steps):
        of_object = [each for each in steps if each.object_id == object_id]
        first, last = of_object[0].step.before, of_object[-1].step.after
        name = object_name(merge, of_object)
        if any(each.kind in _OF_DATABASES for each in of_object):
            yield from _database_reasons(merge, of_object, first, last, state, name)
        else:
            yield from _table_reasons(merge, of_object, first, last, state, name, ids)


def _database_reasons(
    merge: MergeOperation,
    steps: list[MergeStep],
    first: StepPlace | None,
    last: StepPlace | None,
    state: CatalogState,
    name: str,
) -> Iterator[str]:
    object_id = steps[0].object_id
    now = state.databases.get(object_id)
    if last is not None and (now is None or now.name != last.name):
        yield f"database {last.name!r} was dropped or renamed since"
    elif last is not None and now is not None:
        for step in steps:
            if step.kind is StepKind.SET_PROPERTIES and (
                now.properties != step.step.properties_after
            ):
                yield f"properties of database {now.name!r} changed since"
    if first is None:
        going = {each.object_id for each in merge.steps}
        inside = [
            each.name
            for each in state.tables.values()
            if each.database == object_id and each.id not in going
        ]
        if inside:
            yield f"database {name!r} holds table {inside[0]!r} by now; drop or move it first"
    elif any(
        each.name == first.name and each.id not in {step.object_id for step in merge.steps}
        for each in state.databases.values()
    ):
        yield f"another database has the name {first.name!r} by now; rename it first"


def _table_reasons(
    merge: MergeOperation,
    steps: list[MergeStep],
    first: StepPlace | None,
    last: StepPlace | None,
    state: CatalogState,
    name: str,
    ids: set[str],
) -> Iterator[str]:
    now = state.tables.get(steps[0].object_id)
    if last is not None and (now is None or (now.database, now.name) != (last.database, last.name)):
        yield f"table {_last_name(merge, last)} was dropped or renamed since"
    if first is None:
        return
    dropped = next((each for each in steps if each.kind is StepKind.DROP_TABLE), None)
    if dropped is not None and now is not None:
        yield f"table {name} is there again"
    elif (
        dropped is not None
        and merge.is_into_main
        and not is_kept(merge.warehouse, drop_of_step(merge, dropped))
    ):
        yield f"nothing is left of table {name}"
    taker = _holder(state, first, ids)
    if taker is not None:
        yield f"another table has the name {name} by now; rename it first"
    if first.database not in state.databases and not _is_database_back(merge, first.database):
        yield f"the database of table {name} is gone"


def _holder(state: CatalogState, place: StepPlace, ids: set[str]) -> TableState | None:
    """Another table at a place, which stays there."""
    for each in state.tables.values():
        if (each.database, each.name) == (place.database, place.name) and each.id not in ids:
            return each
    return None


def _is_database_back(merge: MergeOperation, database_id: str) -> bool:
    """Whether the merge dropped a database, which comes back first."""
    return any(
        each.kind is StepKind.DROP_DATABASE and each.object_id == database_id
        for each in merge.steps
    )


def _rollback_blocks(
    merge: MergeOperation, step: MergeStep, call: ProcedureCall
) -> tuple[Consequence, ...]:
    """Return the obstacles that keep a table from going back to its earlier head."""
    event = event_of_step(merge, step)
    if event is None:
        return (_no_undo(f"the ledger of {table_name(merge, step)} has nothing of the merge"),)
    table = target_of(merge, step)
    return plan_way_back(
        merge.warehouse, call_for_table(call, merge, step), table.on(MAIN_BRANCH), event
    ).preview.blocks


def revert_blocks(merge: MergeOperation, step: MergeStep) -> Iterator[Consequence]:
    """Yield the obstacles that keep a table from a revert of the merge."""
    name = table_name(merge, step)
    try:
        decided = revert_of(merge, step)
    except PaimonError as error:
        yield _no_undo(f"{name}: {error.message}")
        return
    texts = [
        *(each.text for each in blocks_of(decided.plan)),
        *(f"{each.subject} is a conflict" for each in conflicts_of(decided.plan)),
    ]
    if not texts and verdict_of(decided.plan) not in (MergeVerdict.CLEAN, MergeVerdict.UP_TO_DATE):
        texts.append("its rows would have to be compared")
    for text in texts:
        yield _no_undo(
            f"{name} got commits since, and what came cannot be reverted by itself: {text}"
        )


def revert_of(merge: MergeOperation, step: MergeStep) -> DecidedMerge:
    """Decide on the revert of what a merge brought to a table."""
    event, table = event_of_step(merge, step), target_of(merge, step)
    landed = None if event is None or event.receipt is None else event.receipt.moves[0].after_id
    spec = MergeSpec(
        kind=MergeKind.REVERT,
        source=table.branch,
        target=table.branch,
        snapshot_id=landed,
        reverts=merge.step_id(step),
        one_version=True,
    )
    return decided_for(merge.warehouse, table, spec, RULES_OF_REVERT)


def event_of_step(merge: MergeOperation, step: MergeStep) -> LineageEvent | None:
    """The event that the merge left in the ledger of a table."""
    wanted = {each.intent.operation_id for each in operations_of(merge, step)}
    events = target_of(merge, step).ledger.whole_as_written()
    return next((each for each in events if each.operation_id in wanted and each.receipt), None)


def _consequences(
    merge: MergeOperation, steps: tuple[MergeStep, ...], *, reverts: bool
) -> Iterator[Consequence]:
    contents = [table_name(merge, each) for each in contents_of(steps)]
    if contents:
        what = "get a revert of what came" if reverts else "go back to their earlier heads"
        yield changes(f"{count(len(contents), 'table')}: {what}.", tuple(contents))
    for step in reversed(steps):
        text = _step_words(merge, step)
        if text is not None:
            yield changes(text)
    if reverts:
        yield keeps(
            f"The merge stays part of the history: merging {merge.noted.source!r} again brings "
            "nothing of it until the reverts are reverted."
        )
    else:
        if contents:
            each = "the table" if len(contents) == 1 else "each of these tables"
            text = f"A rescue branch of {each} keeps the snapshots that leave."
            yield keeps(text, tuple(contents))
        yield keeps(f"{merge.noted.source!r} stays as it is, and can be merged again.")


def _step_words(merge: MergeOperation, step: MergeStep) -> str | None:
    """Return the sentence on taking a step back; None for objects that were only set aside."""
    places = (step.step.before, step.step.after)
    if any(each is not None and each.is_aside for each in places):
        return None
    name = object_name(merge, [step])
    match step.kind:
        case StepKind.CREATE_DATABASE:
            return f"Database {name!r} is dropped again."
        case StepKind.DROP_DATABASE:
            return f"Database {name!r} comes back."
        case StepKind.RENAME_DATABASE:
            return f"Database {step.after.name!r} is called {step.before.name!r} again."
        case StepKind.SET_PROPERTIES:
            text = property_sentences(step.step.properties_after, step.step.properties_before)
            return f"Database {name!r}: {text}"
        case StepKind.CREATE_TABLE:
            return f"Table {name} is dropped again."
        case StepKind.DROP_TABLE:
            return f"Table {name} comes back with all its branches."
        case StepKind.MOVE_TABLE:
            return f"Table {_place_name(merge, step.after)} is called {name} again."
        case _:
            return None


_WITH_TABLES: Final = frozenset(
    {StepKind.CREATE_DATABASE, StepKind.DROP_DATABASE, StepKind.RENAME_DATABASE}
)
"""The steps that change where the tables of a database are."""
_OF_DATABASES: Final = frozenset(
    {
        StepKind.CREATE_DATABASE,
        StepKind.DROP_DATABASE,
        StepKind.RENAME_DATABASE,
        StepKind.SET_PROPERTIES,
    }
)


def takes_tables(steps: tuple[MergeStep, ...]) -> bool:
    """Whether tables or databases go or come back, as only an operator may do."""
    kinds = {StepKind.CREATE_TABLE, StepKind.CREATE_DATABASE, StepKind.DROP_TABLE}
    return any(each.kind in kinds | {StepKind.DROP_DATABASE} for each in steps)


def contents_of(steps: tuple[MergeStep, ...]) -> Iterator[MergeStep]:
    """The steps that brought a snapshot to a table that was there."""
    return (each for each in steps if each.kind is StepKind.MERGE_CONTENT and not each.schemas)


def call_for_table(call: ProcedureCall, merge: MergeOperation, step: MergeStep) -> ProcedureCall:
    """The call by which the content of one table goes back."""
    return replace(
        call,
        name="undo",
        arguments={"table": table_name(merge, step), "operation": merge.step_id(step)},
        operation_id=f"{call.operation_id}-{step.name}",
    )


def table_name(merge: MergeOperation, step: MergeStep) -> str:
    """Return the current name of the table of a step."""
    return target_of(merge, step).identifier.table_name


def object_name(merge: MergeOperation, steps: list[MergeStep]) -> str:
    """Return the name of an object before the merge, or after it if the merge made the object."""
    first = steps[0].step.before or steps[-1].step.after
    return "" if first is None else _place_name(merge, first)


def _last_name(merge: MergeOperation, place: StepPlace) -> str:
    """Return the name of a table after the merge."""
    return f"{merge.final_name(place.database)}.{place.name}"


def _place_name(merge: MergeOperation, place: StepPlace) -> str:
    if not place.database:
        return place.name
    names = merge.noted.database_names
    return f"{names.get(place.database, place.database)}.{place.name}"


def _no_undo(reason: str) -> Consequence:
    return blocks(f"Undo is not possible: {reason}.", ErrorKind.UNDO_BLOCKED)
