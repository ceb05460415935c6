"""Tables that a merge of the catalog drops from main, or moves to another name or database."""

from branch_console.catalog.sightings import find_birth
from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.identifier import Identifier, rescue_name
from branch_console.format.journals.objects import TableDrop
from branch_console.merge.catalog.catalog_steps import StepKind, StepPlace
from branch_console.procedures.catalog.database_words import holding
from branch_console.procedures.catalog.held_tables import holders_of, make_held
from branch_console.procedures.catalog.main_databases import busy_tables, folder_that_came_back
from branch_console.procedures.catalog.main_tables import (
    drop_table,
    move_folder,
    restore_table,
)
from branch_console.procedures.catalog_merge.left_folders import bring_back, put_away
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.storage.table_paths import TablePaths


class DropTable:
    """Lets a table go from main: with its folder, or main alone where a branch holds it."""

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that the table can go; raises Refused and CommitConflict."""
        _check_is_there(merge, step, _source(merge, step))
        _check_not_busy(merge, step, "dropped")

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Make the branches that read the table on main; raises Refused and CommitConflict."""
        self.check(merge, step)
        operation, folder = merge.operation, _source(merge, step)
        make_held(operation.warehouse, operation.paths.relative(folder), operation.intent)

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Leave the branches that were made: they hold what they held before."""

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether the table went, and did not come back since."""
        files, drop = merge.operation.warehouse.file_io, drop_of_step(merge, step)
        if files.exists(drop.kept):
            return True
        main = TablePaths(table=merge.present_folder(step.object_id, step.before))
        return files.exists(main.on(drop.rescue).root) and not files.exists(main.schema_dir)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Let the table go, or finish what was cut off; raises CommitConflict."""
        drop_table(merge.operation, drop_of_step(merge, step))

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Bring the table back; raises CommitConflict if something has its name by now."""
        restore_table(merge.operation, drop_of_step(merge, step))
        return None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Tell where the table is kept."""
        drop = drop_of_step(merge, step)
        if not merge.operation.warehouse.file_io.exists(drop.kept):
            return drop.stays
        text = drop.went(merge.operation.paths.relative(drop.kept))
        return _with_what_came_back(merge, step, text)


class MoveTable:
    """Gives a table of main another name, another database, or its place aside."""

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that the table can move; raises Refused and CommitConflict."""
        self.check(merge, step)

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that the table is there and its place is free; raises Refused and CommitConflict."""
        if not step.before.is_aside and not merge.is_made(step.object_id):
            _check_is_there(merge, step, _source(merge, step))
            _check_not_busy(merge, step, "renamed")
        _check_place_is_free(merge, step)
        _check_no_twin_swaps(merge, step)

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Nothing was made."""

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether the table is at its new place, or at one that it has after that."""
        moves = _moves_of(merge, step)
        later = moves[moves.index(step) :]
        if not any(_is_at(merge, step, each.after) for each in later):
            return False
        is_left = not _is_at(merge, step, step.before)
        return is_left or _is_filled_later(merge, step)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Move the folder; raises CommitConflict if the table or its place is gone."""
        if not self.is_done(merge, step):
            source, target = _source(merge, step), _target(merge, step)
            if _is_nobodys(merge, target):
                put_away(merge, step, target)
            move_folder(merge.operation.warehouse, source, target, step.birth, "renamed")

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Move the folder back; raises CommitConflict if something has its place by now."""
        moves = _moves_of(merge, step)
        target = _target(merge, step)
        if _is_at(merge, step, step.before):
            bring_back(merge, step, target)
            return None
        if not _is_at(merge, step, step.after):
            earlier = moves[: moves.index(step)]
            if merge.is_made(step.object_id) or any(
                _is_at(merge, step, each.before) for each in earlier
            ):
                return None
        source = _source(merge, step)
        move_folder(merge.operation.warehouse, target, source, step.birth, "brought back")
        bring_back(merge, step, target)
        return None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Tell the names, once the table has its last one."""
        before, after = _first_place(merge, step), step.after
        if after.is_aside or before is None:
            return None
        old = f"{merge.noted.database_names[before.database]}.{before.name}"
        new = f"{merge.final_name(after.database)}.{after.name}"
        if old == new:
            return None
        first = _moves_of(merge, step)[0]
        return _with_what_came_back(merge, first, f"Table {old} is called {new} now.")


def drop_of_step(merge: MergeOperation, step: MergeStep) -> TableDrop:
    """Return how a table goes by a step."""
    name = _name(merge, step)
    return TableDrop(
        name=name,
        birth=step.birth,
        kept=merge.operation.paths.dropped(name, merge.id),
        rescue=rescue_name(merge.id),
        is_held=False,
    )


def _name(merge: MergeOperation, step: MergeStep) -> str:
    """Return the name of a table before the merge, as `database.table`."""
    return f"{merge.noted.database_names[step.before.database]}.{step.before.name}"


def _source(merge: MergeOperation, step: MergeStep) -> str:
    return merge.folder_of(step.object_id, step.before)


def _target(merge: MergeOperation, step: MergeStep) -> str:
    return merge.folder_of(step.object_id, step.after)


def _moves(merge: MergeOperation) -> list[MergeStep]:
    return [each for each in merge.steps if each.kind is StepKind.MOVE_TABLE]


def _moves_of(merge: MergeOperation, step: MergeStep) -> list[MergeStep]:
    """The moves of one table, in their order."""
    return [each for each in merge.steps_of(step.object_id) if each.kind is StepKind.MOVE_TABLE]


def _is_at(merge: MergeOperation, step: MergeStep, place: StepPlace) -> bool:
    """Whether a table is at a place, also if its database was renamed since."""
    folder = merge.present_folder(step.object_id, place)
    return find_birth(merge.operation.warehouse.catalog.reader, folder) == step.birth


def _is_filled_later(merge: MergeOperation, step: MergeStep) -> bool:
    """Whether another table gets the place that one leaves."""
    return any(
        each.kind is StepKind.MOVE_TABLE
        and each.object_id != step.object_id
        and each.step.after == step.step.before
        for each in merge.steps
    )


def _with_what_came_back(merge: MergeOperation, step: MergeStep, text: str) -> str:
    """Add that something is at the place that a table left, and that no step put there."""
    if any(each.step.after == step.before for each in merge.steps):
        return text
    came_back = folder_that_came_back(merge.operation.warehouse, _source(merge, step))
    return text if came_back is None else f"{text} {came_back}"


def _first_place(merge: MergeOperation, step: MergeStep) -> StepPlace | None:
    """Return the place of a table before the merge; None if the merge made the table."""
    return None if merge.is_made(step.object_id) else _moves_of(merge, step)[0].step.before


def _check_is_there(merge: MergeOperation, step: MergeStep, folder: str) -> None:
    if find_birth(merge.operation.warehouse.catalog.reader, folder) != step.birth:
        name = _name(merge, step)
        raise CommitConflict(
            f"Table {name} is gone or was replaced. Nothing was merged; look at the "
            "tables, then merge again.",
            kind=ErrorKind.HEAD_MOVED,
            table=name,
        )


def _check_not_busy(merge: MergeOperation, step: MergeStep, what: str) -> None:
    """Refuse what the statement would refuse: protected branches, operations at work."""
    table = Identifier.parse(_name(merge, step))
    found = busy_tables(
        merge.operation.warehouse, table.database, [table.table], what, but_of=merge.id
    )
    if found:
        raise Refused(f"{found[0].text} Nothing was merged.", kind=found[0].kind)


def _check_place_is_free(merge: MergeOperation, step: MergeStep) -> None:
    """Refuse a move onto a folder that stays, in which others have something."""
    warehouse, target = merge.operation.warehouse, _target(merge, step)
    if not warehouse.file_io.exists(target):
        return
    holders = holders_of(warehouse, merge.operation.paths.relative(target))
    is_left = any(
        each.step.before is not None
        and each.object_id != step.object_id
        and each.kind in (StepKind.MOVE_TABLE, StepKind.DROP_TABLE)
        and _source(merge, each) == target
        and not (each.kind is StepKind.DROP_TABLE and holders)
        for each in merge.steps
    )
    if not is_left and not _is_nobodys(merge, target):
        held = f"{holding(holders)} a table in it" if holders else "something else is in it"
        raise Refused(
            f"The folder {merge.operation.paths.relative(target)} is taken: {held}. Nothing was "
            "merged. Give the table another name on the source, then merge again.",
            kind=ErrorKind.NAME_TAKEN,
            path=target,
        )


def _check_no_twin_swaps(merge: MergeOperation, step: MergeStep) -> None:
    """Refuse a swap of names between tables that began alike: their births tell what is done."""
    twins = [each for each in _moves(merge) if each.birth == step.birth]
    others = (each for each in twins if each.object_id != step.object_id)
    other = next(others, None) if step.after.is_aside else None
    if other is not None:
        raise Refused(
            f"{_name(merge, step)} and {_name(merge, other)} began with the same columns in the "
            "same millisecond, so that nothing would tell which is which while a merge swaps "
            "their names. Nothing was merged. Give one of them another name on "
            f"{merge.noted.target!r}, then merge again.",
            kind=ErrorKind.UNSUPPORTED,
        )


def _is_nobodys(merge: MergeOperation, folder: str) -> bool:
    """Whether main has no table in a folder, and no branch holds one there."""
    warehouse = merge.operation.warehouse
    if not warehouse.file_io.exists(folder) or find_birth(warehouse.catalog.reader, folder):
        return False
    return not holders_of(warehouse, merge.operation.paths.relative(folder))
