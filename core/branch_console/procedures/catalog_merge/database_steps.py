"""Databases that a merge of the catalog makes, drops, renames or gives other properties on main."""

from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.catalog.database_commit import (
    change_database,
    had_properties,
    holds_database,
    move_database,
    publish_database_file,
    rename_database,
    set_database_properties,
)
from branch_console.errors import CommitConflict, ErrorKind, NotFound, Refused
from branch_console.format.catalog.database_file import DatabaseFile, NumberedDatabaseFile
from branch_console.format.journals.catalog_merge import KNOWN_DATABASE, KnownDatabase
from branch_console.format.json_text import to_pretty_json
from branch_console.merge.catalog.catalog_steps import StepKind, StepPlace
from branch_console.procedures.catalog.database_words import listed, property_sentences
from branch_console.procedures.catalog.held_tables import holders_in
from branch_console.procedures.catalog.main_databases import (
    busy_tables,
    check_nothing_new,
    database_file_of,
    folder_that_came_back,
    hide_database,
    move_out,
    name_of_folder,
    tables_in,
)
from branch_console.procedures.catalog_merge.left_folders import bring_back, put_away
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.storage.catalog_paths import CatalogPaths
from branch_console.table.database_files import find_database_file


class CreateDatabase:
    """Has main show a database with its id: in a new folder, or in one that branches share."""

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that main has no database there; raises Refused."""
        self._find(merge, step)

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Note what the folder holds; raises Refused if main has a database there."""
        _note(merge, step, self._find(merge, step))

    def _find(self, merge: MergeOperation, step: MergeStep) -> NumberedDatabaseFile | None:
        folder = _after(merge, step)
        warehouse, paths = merge.operation.warehouse, merge.operation.paths
        found = find_database_file(warehouse.file_io, paths, folder)
        if found is not None and found.content.is_on_main:
            name = found.content.name
            raise Refused(
                f"Main has a database {name!r} by now. Nothing was merged; merge again.",
                kind=ErrorKind.HEAD_MOVED,
                database=name,
            )
        return found

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Nothing was made but a note in the journal."""

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether main has the database, here or at the place that it has after that."""
        places = (_after(merge, step), *_later_places(merge, step))
        return any(_is_on_main(merge, place, step.object_id) for place in places)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Add the file of the database; raises CommitConflict."""
        if not self.is_done(merge, step):
            operation = merge.operation
            file = _made_file(merge, step)
            folder = _after(merge, step)
            publish_database_file(operation.warehouse.store, operation.paths, folder, file)

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Have main show the database no more; raises CommitConflict if it holds a table."""
        folder = _after(merge, step)
        if not _is_on_main(merge, folder, step.object_id):
            return None
        operation, file = merge.operation, _made_file(merge, step)
        warehouse, paths = operation.warehouse, operation.paths
        is_aside = step.after.is_aside
        tables = () if is_aside else tables_in(warehouse, file.content.name)
        if tables:
            raise CommitConflict(
                f"Database {file.content.name!r} holds {listed(tables)} by now. It stays; drop or "
                "move them first.",
                kind=ErrorKind.DATABASE_NOT_EMPTY,
                database=file.content.name,
            )
        before = _known(merge, step)
        if before is not None:
            known = before.content
            change_database(warehouse.store, paths, folder, file, lambda _: known)
            return None
        kept = paths.dropped(f"{file.content.name}.db", merge.step_id(step))
        if is_aside:
            is_gone = move_database(warehouse.store, paths, folder, kept, file)
        else:
            is_gone = move_out(warehouse, folder, kept, file)
        if not is_gone:
            hide_database(warehouse, folder, file)
        return None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Tell the name."""
        return f"Database {merge.final_name(step.object_id)!r} was created."


class DropDatabase:
    """Lets a database go whose tables went before: its folder, unless a branch holds a table."""

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Note its file; raises Refused and CommitConflict."""
        self.check(merge, step)
        _note_of_main(merge, step)

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """Refuse one that holds what the merge does not take along; raises CommitConflict, too."""
        file = _file_of_main(merge, step)
        going = {
            each.step.before.name
            for each in merge.steps
            if each.step.before is not None and each.step.before.database == step.object_id
        }
        name = file.content.name
        strange = [each for each in tables_in(merge.operation.warehouse, name) if each not in going]
        if strange:
            raise Refused(
                f"Database {name!r} is not empty: it holds {listed(strange)}, which the merge does "
                "not drop. Nothing was merged; move or drop them first, then merge again.",
                kind=ErrorKind.DATABASE_NOT_EMPTY,
                database=name,
            )

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Nothing was made but a note in the journal."""

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether main shows the database no more."""
        if _holds(merge, self._kept(merge, step), step.object_id):
            return True
        return not _is_on_main(merge, _before(merge, step), step.object_id)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Move its folder among those that were dropped, or hide it; raises CommitConflict."""
        warehouse, file = merge.operation.warehouse, _known_of_main(merge, step)
        folder = _before(merge, step)
        if not move_out(warehouse, folder, self._kept(merge, step), file):
            check_nothing_new(warehouse, folder, ())
            hide_database(warehouse, folder, file)

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Bring the database back; raises CommitConflict if something has its name by now."""
        operation, file = merge.operation, _known_of_main(merge, step)
        store, paths = operation.warehouse.store, operation.paths
        folder, kept = _before(merge, step), self._kept(merge, step)
        if _holds(merge, kept, step.object_id):
            move_database(store, paths, kept, folder, file)
        elif not _holds(merge, folder, step.object_id):
            raise _gone(file.content.name)
        else:
            change_database(
                store, paths, folder, file, lambda found: replace(found, is_on_main=True)
            )
        return None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Tell whether its folder is kept."""
        kept, name = self._kept(merge, step), merge.noted.database_names[step.object_id]
        text = f"Database {name!r} was dropped."
        if not merge.operation.warehouse.file_io.exists(kept):
            return text
        return f"{text} Its folder is kept as {merge.operation.paths.relative(kept)}."

    def _kept(self, merge: MergeOperation, step: MergeStep) -> str:
        name = merge.noted.database_names[step.object_id]
        return merge.operation.paths.dropped(f"{name}.db", merge.id)


class RenameDatabase:
    """Gives a database of main another name, with all its tables, or its place aside."""

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Note its file; raises Refused if it cannot move."""
        self.check(merge, step)
        if not merge.is_made(step.object_id):
            _note_of_main(merge, step)

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """Refuse one that is at work or whose place is taken; raises CommitConflict, too."""
        warehouse, paths = merge.operation.warehouse, merge.operation.paths
        if not merge.is_made(step.object_id):
            name = _file_of_main(merge, step).content.name
            busy = busy_tables(
                warehouse, name, tables_in(warehouse, name), "renamed", but_of=merge.id
            )
            if busy:
                raise Refused(f"{busy[0].text} Nothing was merged.", kind=busy[0].kind)
        target = _after(merge, step)
        is_left = any(
            each.step.before is not None
            and each.object_id != step.object_id
            and each.kind in (StepKind.RENAME_DATABASE, StepKind.DROP_DATABASE)
            and _before(merge, each) == target
            for each in merge.steps
        )
        if warehouse.file_io.exists(target) and not is_left and not _is_nobodys(merge, target):
            raise Refused(
                f"The folder {paths.relative(target)} is taken: a catalog branch has a database of "
                "that name. Nothing was merged. Give the database another name on the source, then "
                "merge again.",
                kind=ErrorKind.NAME_TAKEN,
                path=target,
            )

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Nothing was made but a note in the journal."""

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether the database is at its new place, or at one that it has after that."""
        later = any(_holds(merge, place, step.object_id) for place in _later_places(merge, step))
        return later or self._is_at(merge, step, step.after)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Move the folder; raises CommitConflict if the database or its place is gone."""
        if not self.is_done(merge, step):
            target = _after(merge, step)
            if _is_nobodys(merge, target) and not _holds(merge, target, step.object_id):
                put_away(merge, step, target)
            self._move(merge, step, step.before, step.after)

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Move the folder back; raises CommitConflict if something has its place by now."""
        if self._is_at(merge, step, step.before):
            bring_back(merge, step, _after(merge, step))
            return None
        if not _holds(merge, _after(merge, step), step.object_id):
            before = _before(merge, step)
            if merge.warehouse.file_io.exists(before) and _file_in(merge, before) is None:
                return None  # it has its first file by the move, which did not begin
            earlier = _earlier_places(merge, step)
            is_made = merge.is_made(step.object_id)
            if is_made or any(_holds(merge, place, step.object_id) for place in earlier):
                return None
        self._move(merge, step, step.after, step.before)
        bring_back(merge, step, _after(merge, step))
        return None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Tell the names, once the database has its last one."""
        after = step.after
        if after.is_aside or merge.is_made(step.object_id):
            return None
        old = merge.noted.database_names[step.object_id]
        text = f"Database {old!r} is called {after.name!r} now."
        folder = merge.operation.paths.database(old)
        is_filled = any(
            each.step.after == StepPlace(name=old) for each in merge.steps if each is not step
        )
        came_back = None if is_filled else folder_that_came_back(merge.warehouse, folder)
        return text if came_back is None else f"{text} {came_back}"

    def _move(
        self,
        merge: MergeOperation,
        step: MergeStep,
        place: StepPlace,
        goal: StepPlace,
    ) -> None:
        rename_database(
            *_store_and_paths(merge),
            merge.folder_of(step.object_id, place),
            merge.folder_of(step.object_id, goal),
            goal.name,
            _known_of_main(merge, step),
        )

    def _is_at(self, merge: MergeOperation, step: MergeStep, place: StepPlace) -> bool:
        found = _file_in(merge, merge.folder_of(step.object_id, place))
        # A file that says the new name is what a move ends with.
        return (
            found is not None
            and found.content.id == step.object_id
            and found.content.name == place.name
        )


class SetProperties:
    """Gives a database of main other properties."""

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Note its file; raises CommitConflict if somebody changed it."""
        self.check(merge, step)
        _note_of_main(merge, step)

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that nobody changed the properties; raises CommitConflict."""
        file = _file_of_main(merge, step)
        if file.content.properties != step.step.properties_before:
            name = file.content.name
            raise CommitConflict(
                f"Properties of database {name!r} were changed in the meantime. Nothing was "
                "merged; merge again.",
                kind=ErrorKind.HEAD_MOVED,
                database=name,
            )

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Nothing was made but a note in the journal."""

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether it got the properties, and not the ones from before since."""
        file, found = _known_of_main(merge, step), _file_in(merge, _after(merge, step))
        if found is None or found.content.properties == step.step.properties_before:
            return False
        folder, properties = _after(merge, step), step.step.properties_after
        return had_properties(*_store_and_paths(merge), folder, file, properties)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Add a file with the properties; raises CommitConflict."""
        file, folder = _known_of_main(merge, step), _after(merge, step)
        set_database_properties(*_store_and_paths(merge), folder, file, step.step.properties_after)

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Add a file with the properties from before; raises CommitConflict."""
        found = _file_in(merge, _after(merge, step))
        if found is None or not self.is_done(merge, step):
            return None
        content = replace(found.content, properties=step.step.properties_after)
        set_database_properties(
            *_store_and_paths(merge),
            _after(merge, step),
            NumberedDatabaseFile(number=found.number, content=content),
            step.step.properties_before,
        )
        return None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Tell which properties got which values."""
        text = property_sentences(step.step.properties_before, step.step.properties_after)
        return f"Database {merge.final_name(step.object_id)!r}: {text}"


def _note(merge: MergeOperation, step: MergeStep, file: NumberedDatabaseFile | None) -> None:
    """Note in the journal what was known of a database; what an earlier try noted stays."""
    known = KnownDatabase(
        number=0 if file is None else file.number,
        file=None if file is None else file.content.to_json(),
    )
    data = to_pretty_json(KNOWN_DATABASE.encode(known)).encode()
    merge.operation.journal.mark(merge.id, _mark(step), data)


def _note_of_main(merge: MergeOperation, step: MergeStep) -> None:
    """Note the file of a database that main has; raises CommitConflict."""
    _note(merge, step, _file_of_main(merge, step))


def _file_of_main(merge: MergeOperation, step: MergeStep) -> NumberedDatabaseFile:
    """Return the file of a database that main has; raises CommitConflict."""
    name = merge.noted.database_names[step.object_id]
    try:
        file = database_file_of(merge.operation.warehouse, name)
    except NotFound as error:
        raise _gone(name) from error
    if file.content.id != step.object_id:
        raise _gone(name)
    return file


def _known(merge: MergeOperation, step: MergeStep) -> NumberedDatabaseFile | None:
    """Return the file of a database that `prepare` recorded; None if there was no file."""
    journal, mark = merge.operation.journal, _mark(step)
    data = journal.find_step(merge.id, mark)
    if data is None:
        return None
    known = journal.decode_step(merge.id, mark, data, KNOWN_DATABASE)
    if known.file is None:
        return None
    return NumberedDatabaseFile(number=known.number, content=DatabaseFile.from_json(known.file))


def _known_of_main(merge: MergeOperation, step: MergeStep) -> NumberedDatabaseFile:
    """Return the recorded file of a main database, or the file that this merge makes for it."""
    found = _known(merge, step)
    if found is not None:
        return found
    for each in merge.steps_of(step.object_id):
        if each.kind is StepKind.CREATE_DATABASE:
            return _made_file(merge, each)
    name = merge.noted.database_names[step.object_id]
    return NumberedDatabaseFile(number=0, content=DatabaseFile(id=step.object_id, name=name))


def _made_file(merge: MergeOperation, step: MergeStep) -> NumberedDatabaseFile:
    """The file by which main gets a database that the merge makes."""
    before = _known(merge, step)
    content = DatabaseFile(
        id=step.object_id, name=step.after.name, properties=step.step.properties_after
    )
    return NumberedDatabaseFile(number=1 if before is None else before.number + 1, content=content)


def _mark(step: MergeStep) -> str:
    return f"{step.name}-database"


def _before(merge: MergeOperation, step: MergeStep) -> str:
    return merge.folder_of(step.object_id, step.before)


def _after(merge: MergeOperation, step: MergeStep) -> str:
    return merge.folder_of(step.object_id, step.after)


def _later_places(merge: MergeOperation, step: MergeStep) -> list[str]:
    """Return the later places of a database after a step that moves it from a place aside."""
    renames = _renames_of(merge, step)
    later = renames[renames.index(step) + 1 :] if step in renames else renames
    return [_after(merge, each) for each in later]


def _earlier_places(merge: MergeOperation, step: MergeStep) -> list[str]:
    """Return the earlier places of a database before a step that moves it from a place aside."""
    renames = _renames_of(merge, step)
    return [_before(merge, each) for each in renames[: renames.index(step)]]


def _renames_of(merge: MergeOperation, step: MergeStep) -> list[MergeStep]:
    """The renames of one database, in their order."""
    return [
        each for each in merge.steps_of(step.object_id) if each.kind is StepKind.RENAME_DATABASE
    ]


def _store_and_paths(merge: MergeOperation) -> tuple[CommitStore, CatalogPaths]:
    return merge.operation.warehouse.store, merge.operation.paths


def _file_in(merge: MergeOperation, folder: str) -> NumberedDatabaseFile | None:
    return find_database_file(merge.operation.warehouse.file_io, merge.operation.paths, folder)


def _holds(merge: MergeOperation, folder: str, database_id: str) -> bool:
    return holds_database(*_store_and_paths(merge), folder, database_id)


def _is_on_main(merge: MergeOperation, folder: str, database_id: str) -> bool:
    found = _file_in(merge, folder)
    return found is not None and found.content.id == database_id and found.content.is_on_main


def _is_nobodys(merge: MergeOperation, folder: str) -> bool:
    """Whether main hides the database of a folder, and no branch holds a table there."""
    found = _file_in(merge, folder)
    if found is None or found.content.is_on_main:
        return False
    warehouse, name = merge.operation.warehouse, name_of_folder(folder)
    return not holders_in(warehouse, name) and not tables_in(warehouse, name)


def _gone(name: str) -> CommitConflict:
    return CommitConflict(
        f"Database {name!r} is gone or was replaced. Nothing was merged; look at the "
        "databases, then merge again.",
        kind=ErrorKind.HEAD_MOVED,
        database=name,
    )
