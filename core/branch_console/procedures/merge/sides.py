"""Reading both sides of a merge: only what happened since the branches parted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from branch_console.diff.changes.file_history import FileHistory, fold_history
from branch_console.diff.changes.rewrite_graph import NO_REWRITES, RewriteGraph
from branch_console.diff.changes.table_changes import (
    base_with_hidden_rows,
    base_with_received_files,
    base_with_shared_files,
    changes_since,
    join,
)
from branch_console.diff.changes.virtual_base import Base, all_bases, each_base
from branch_console.diff.history_move import SnapshotSet
from branch_console.diff.lineage import (
    MERGE_FIELD_IDS,
    MERGE_SCHEMA_ID,
    field_ids_from,
    merge_source,
)
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.merge.plan_merge import BaseState, MergeSide, MergeSides
from branch_console.procedures.history.common_history import walk_history
from branch_console.procedures.history.merge_heads import BaseSnapshot, MergeHeads
from branch_console.procedures.merge.side_log import reverse_log, side_log
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState


def holds_schema(target: FileStoreTable, source: FileStoreTable, heads: MergeHeads) -> bool:
    """Whether a target that holds the head of the source has seen its newest schema too."""
    lines = heads.ours_history
    if heads.theirs.identity.same_as(heads.root.identity):
        seen = _noted_schema(source, heads.root, lines) or _shared_schema(
            target, source, heads.root
        )
    else:
        seen = _schema_at(source, heads.theirs, lines)
    return seen.id >= source.schema().id


def read_sides(
    target: FileStoreTable, source: FileStoreTable, heads: MergeHeads, *, is_pick: bool = False
) -> MergeSides:
    """Read what both sides did since the base.

    Args:
        target: The table on the branch that is merged into.
        source: The table on the branch that is merged.
        heads: Where both stand, and what they come from.
        is_pick: Whether one change is taken over, whatever the target took in before.

    Raises:
        FormatError: A manifest or a schema of either cannot be decoded.
        NotFound: A branch does not list a schema that its head needs.
    """
    root, both = heads.root, target.reader.both
    ours, theirs = both(
        lambda: side_log(target, root, heads.ours, heads.ours_history),
        lambda: side_log(source, root, heads.theirs, heads.theirs_history),
    )
    base_log, base = fold_history(()), root
    base_schema = _noted_schema(source, root, heads.ours_history) or _shared_schema(
        target, source, root
    )
    for each in heads.bases:
        if not each.history:
            continue
        holder = target.on(each.branch)
        base_log = join(base_log, side_log(holder, each.root, each.snapshot, each.history))
        if each.branch in (target.branch, source.branch):
            base = each.snapshot
            base_schema = _schema_at(holder, base, (*heads.ours_history, *heads.theirs_history))
    is_keyed, rewrites = bool(target.schema().primary_keys), NO_REWRITES
    if is_keyed or not is_pick:
        base_log = base_with_received_files(base_log, ours, theirs, is_pick=is_pick)
    if not is_keyed:
        # Where a side holds changes without what lies behind them, merges do not tell all.
        is_selective = is_pick or any(s.is_selective for s in (*ours.steps, *theirs.steps))
        others = _logs_of_others(target, source, heads, is_pick=is_pick) if is_selective else ()
        held = base_with_shared_files(base_log, ours, theirs, others)
        if is_pick:
            # Who holds a file, whatever is hidden of it, gets none of its rows once more.
            came = (held.added - base_log.added) | (base_log.removed - held.removed)
            held = base_with_hidden_rows(held, came, theirs)
        base_log = held
        if is_selective:
            rewrites = RewriteGraph((ours, theirs, base_log, *others))
    our_side, their_side = both(
        lambda: _side(target, heads.ours, base_log, ours),
        lambda: _side(source, heads.theirs, base_log, theirs, heads.ancestor_branches),
    )
    return MergeSides(
        table=target.identifier.table_name,
        base=base,
        base_of_rows=_row_base(target, source, heads.base),
        base_schema=base_schema,
        ours=our_side,
        theirs=their_side,
        known_field_ids=_known_field_ids(heads),
        rewrites=rewrites,
    )


def _logs_of_others(
    target: FileStoreTable, source: FileStoreTable, heads: MergeHeads, *, is_pick: bool
) -> tuple[FileHistory, ...]:
    """Return the histories of other branches that show which files theirs were made from.

    A branch that merged another one has rewrites of its files. The other side may have picked the
    same files as they were first written.
    """
    later = (_later_log(source, heads.theirs),) if is_pick else ()
    return (
        *later,
        *(_log_of(target.on(each.branch), each.snapshots) for each in heads.merged_histories),
    )


def _later_log(source: FileStoreTable, picked: Snapshot) -> FileHistory:
    """Return the file history of a branch after one of its snapshots."""
    later = (each for each in source.snapshots.ids() if each > picked.id)
    found = (source.snapshots.find(each) for each in later)
    return _log_of(source, (picked, *(each for each in found if each is not None)))


def _log_of(table: FileStoreTable, line: Sequence[Snapshot]) -> FileHistory:
    """Return the file history of snapshots, oldest first, without the changes of the first."""
    return side_log(table, line[0], line[-1], line[1:])


def read_reverse_sides(
    target: FileStoreTable, ours: Snapshot, undone: Snapshot, before: Snapshot
) -> MergeSides:
    """Read the sides of a revert: the base is what is undone, theirs what was there before it.

    The schema stays as it is.

    Raises:
        FormatError: A manifest or a schema cannot be decoded.
        NotFound: A snapshot since then has expired.
    """
    line = tuple(target.snapshots.get(each) for each in range(undone.id + 1, ours.id + 1))
    since, back = side_log(target, undone, ours, line), reverse_log(target, before, undone)
    schema, base_log, rewrites = target.schema(), fold_history(()), NO_REWRITES
    if not schema.primary_keys:
        # What the target itself has brought back since is there, perhaps as another copy.
        held = base_with_shared_files(base_log, since, back)
        base_log = base_with_hidden_rows(held, held.added, since, back)
        if any(step.is_selective or step.merges for step in since.steps):
            # Or as it was before it was written again, which was before what is undone.
            earlier = [each for each in walk_history(target, 0) if each.id <= undone.id]
            rewrites = RewriteGraph((_log_of(target, earlier[::-1]), since))
    return MergeSides(
        table=target.identifier.table_name,
        base=undone,
        base_of_rows=BaseState(snapshot=undone, in_target=True),
        base_schema=schema,
        ours=_side(target, ours, base_log, since),
        theirs=_side(target, before, base_log, back),
        rewrites=rewrites,
    )


def read_schemas(
    target: FileStoreTable, source: FileStoreTable
) -> tuple[ThreeWay[TableSchema], Mapping[int, TableSchema], Mapping[int, TableSchema]]:
    """Read the schemas of two branches of which the source has no snapshot.

    Returns:
        The newest that both share and the newest of either; all of the target; all of the source.
    """
    ours, theirs = (
        {schema.id: schema for schema in schemas}
        for schemas in target.reader.both(target.schemas.all, source.schemas.all)
    )
    base = _newest_shared(ours, theirs, ours[min(ours)])
    newest = ThreeWay(base=base, ours=target.schema(), theirs=source.schema())
    return newest, ours, theirs


def _row_base(
    target: FileStoreTable, source: FileStoreTable, base: Base[BaseSnapshot] | None
) -> Base[BaseState] | None:
    """Return the base of both sides' rows; None if it cannot be read."""
    if base is None:
        return None
    held = {id(each): _held(target, source, each) for each in all_bases(base)}
    found = {key: each for key, each in held.items() if each is not None}
    return each_base(base, lambda one: found[id(one)]) if len(found) == len(held) else None


def _held(target: FileStoreTable, source: FileStoreTable, base: BaseSnapshot) -> BaseState | None:
    """By whose schemas the files of a base are read; None if those of neither side fit."""
    wanted = ReadState.as_it_was(target.on(base.branch), base.snapshot).schema
    for table in (target, source):
        if table.branch == base.branch:
            return BaseState(snapshot=base.snapshot, in_target=table is target)
    for table in (target, source):
        same = next((each for each in table.schemas.all() if each.id == wanted.id), None)
        if same is not None and same.fields == wanted.fields:
            return BaseState(snapshot=base.snapshot, in_target=table is target)
    return None


def _side(
    table: FileStoreTable,
    head: Snapshot,
    base_log: FileHistory,
    log: FileHistory,
    ancestor_branches: Sequence[FileStoreTable] = (),
) -> MergeSide:
    schema, known = table.reader.both(table.schema, table.schemas.all)
    schemas = {each.id: each for each in known}
    missing = sorted({schema.id, head.schema_id} - schemas.keys())
    if missing:
        # A plan without them would leave columns of the branch behind and not say so.
        raise NotFound(
            f"Branch {table.branch!r} does not list its schema {missing[0]}, which snapshot "
            f"{head.id} needs. If the file is there, try again; else restore it.",
            kind=ErrorKind.SCHEMA_NOT_FOUND,
            schema_id=missing[0],
            branch=table.branch,
        )
    return MergeSide(
        branch=table.branch,
        head=head,
        schema=schema,
        schemas=schemas,
        changes=changes_since(base_log, log),
        ancestor_branches={each.branch: each.schema() for each in ancestor_branches},
    )


def _known_field_ids(heads: MergeHeads) -> dict[int, int]:
    """How earlier merges of the two sides numbered columns of the source on the target."""
    known: dict[int, int] = {}
    for each in _merges(heads.ours_history, heads.theirs_history):
        known |= field_ids_from(each.properties.get(MERGE_FIELD_IDS, "{}"))
    # A merge the other way round numbered them the other way round.
    for each in _merges(heads.theirs_history, heads.ours_history):
        noted = field_ids_from(each.properties.get(MERGE_FIELD_IDS, "{}"))
        known |= {theirs: ours for ours, theirs in noted.items()}
    return known


def _merges(line: Sequence[Snapshot], other: Sequence[Snapshot]) -> Iterator[Snapshot]:
    """The commits of one side that merged the other; names of branches may be given again."""
    known = SnapshotSet(other)
    for each in line:
        source = merge_source(each)
        if source is not None and source in known:
            yield each


def _shared_schema(target: FileStoreTable, source: FileStoreTable, root: Snapshot) -> TableSchema:
    """The newest schema that both branches had when they parted.

    It may be newer than the one that the root was committed with: a table can be altered without
    a commit, and a branch takes the newest schema along.
    """
    ours, theirs = (
        {schema.id: schema for schema in schemas}
        for schemas in target.reader.both(target.schemas.all, source.schemas.all)
    )
    found = (
        ours.get(root.schema_id)
        or theirs.get(root.schema_id)
        or ReadState.as_it_was(target, root).schema
    )
    return _newest_shared(ours, theirs, found)


def _newest_shared(
    ours: Mapping[int, TableSchema], theirs: Mapping[int, TableSchema], found: TableSchema
) -> TableSchema:
    """The newest schema that both still share, after one that both have."""
    while (mine := ours.get(found.id + 1)) is not None:
        other = theirs.get(mine.id)
        if other is None or other.fingerprint != mine.fingerprint:
            break
        found = mine
    return found


def _schema_at(holder: FileStoreTable, base: Snapshot, lines: Iterable[Snapshot]) -> TableSchema:
    """The newest schema that a merged branch had when it was merged."""
    return _noted_schema(holder, base, lines) or ReadState.as_it_was(holder, base).schema


def _noted_schema(
    holder: FileStoreTable, base: Snapshot, lines: Iterable[Snapshot]
) -> TableSchema | None:
    """The newest schema that merges of a snapshot noted; a branch is altered without a commit."""
    noted = [
        int(each.properties[MERGE_SCHEMA_ID])
        for each in lines
        if each.properties.get(MERGE_SCHEMA_ID, "").isdigit()
        and (source := merge_source(each)) is not None
        and source.same_as(base.identity)
    ]
    return holder.schemas.get(max(noted)) if noted else None
