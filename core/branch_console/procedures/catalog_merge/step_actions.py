"""How the steps of a merge of the catalog are carried out, whatever objects they are about.

A step is prepared before the commit point, if nobody sees it and all of it can be removed.
Behind the commit point it is carried out, or taken back where the merge turns back. Each of these
may be cut off anywhere and done again, also by another process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from branch_console.commit.journal import Journal
from branch_console.errors import FormatError
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.catalog_merge import (
    CATALOG_MERGE_JOURNAL,
    CatalogMergeJournal,
    JournalledPlace,
    JournalledStep,
)
from branch_console.format.journals.written import NOTHING_WRITTEN, JudgedResult, WrittenRows
from branch_console.format.json_text import JsonObject
from branch_console.merge.catalog.catalog_steps import CatalogStep, StepKind, StepPlace
from branch_console.merge.file_moves import MergeRules
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.merge.inputs import DecidedMerge
from branch_console.table.database_files import find_database_file

_NOTHING_STAGED: Final[Mapping[str, "StagedContent"]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStep:
    """A step with its number, and what tells its object from others.

    Attributes:
        name: Such as `t1`.
        step: The step of the journal.
        folder: Below the warehouse: where a table lies as the merge begins, on the target, or on
            the source where it is new. None for a database.
        birth: The SHA-256 of the bytes of the table's first schema file.
        schemas: The schemas added to a table whose source has no snapshot, as JSON texts.
    """

    name: str
    step: CatalogStep
    folder: str | None = None
    birth: str | None = None
    schemas: tuple[str, ...] = ()

    @property
    def kind(self) -> StepKind:
        """The kind of the step."""
        return self.step.kind

    @property
    def object_id(self) -> str:
        """The database or the table."""
        return self.step.id

    @property
    def before(self) -> StepPlace:
        """The place of the object before the step; raises FormatError if it is not there."""
        return self._place(self.step.before)

    @property
    def after(self) -> StepPlace:
        """The place of the object after the step; raises FormatError if it is gone."""
        return self._place(self.step.after)

    def _place(self, place: StepPlace | None) -> StepPlace:
        if place is None:
            raise FormatError(f"Step {self.name} of a merge, {self.kind}, names no place.")
        return place

    @classmethod
    def of(cls, journalled: JournalledStep) -> "MergeStep":
        """Read a step of a journal."""
        step = CatalogStep(
            kind=StepKind(journalled.kind),
            id=journalled.object_id,
            before=_place(journalled.before),
            after=_place(journalled.after),
            properties_before=journalled.properties_before,
            properties_after=journalled.properties_after,
        )
        return cls(
            name=journalled.name,
            step=step,
            folder=journalled.folder,
            birth=journalled.birth,
            schemas=journalled.schemas,
        )

    @property
    def journalled(self) -> JournalledStep:
        """The step as a journal has it."""
        return JournalledStep(
            name=self.name,
            kind=str(self.kind),
            object_id=self.object_id,
            before=_journalled_place(self.step.before),
            after=_journalled_place(self.step.after),
            properties_before=self.step.properties_before,
            properties_after=self.step.properties_after,
            folder=self.folder,
            birth=self.birth,
            schemas=self.schemas,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagedContent:
    """The content of a table that a run is about to publish.

    Attributes:
        decided: The merge of the table.
        written: The rows that were written for it.
        judged: The verdict of its rules; None if it has none.
    """

    decided: DecidedMerge
    written: WrittenRows = NOTHING_WRITTEN
    judged: JudgedResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeOperation:
    """A merge of the catalog that has begun.

    Attributes:
        operation: Its operation in the journal of the catalog.
        noted: The journal of the merge.
        staged: The content of tables by their ids, until it is prepared; recovery has none.
        rules: The rules of the merge, for tables that are planned when they are prepared.
        role: Of who merges.
        progress: Told how many of the steps were carried out, and of how many.
        steps: All steps, in their order.
    """

    operation: CatalogOperation
    noted: CatalogMergeJournal
    staged: Mapping[str, StagedContent] = field(default_factory=lambda: _NOTHING_STAGED)
    rules: MergeRules | None = None
    role: str = ""
    progress: Progress = lambda _done, _total: None
    steps: tuple[MergeStep, ...] = field(init=False)
    _of_objects: Mapping[str, tuple[MergeStep, ...]] = field(init=False)
    _versions: list[CatalogVersion] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        # There may be thousands, and each step asks for those of its object.
        steps = tuple(map(MergeStep.of, self.noted.steps))
        found: dict[str, list[MergeStep]] = {}
        for step in steps:
            found.setdefault(step.object_id, []).append(step)
        of_objects = MappingProxyType({key: tuple(each) for key, each in found.items()})
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "_of_objects", of_objects)

    @classmethod
    def of(cls, operation: CatalogOperation) -> "MergeOperation":
        """Read what an operation set out to do; raises FormatError, which names the file."""
        return cls(operation=operation, noted=operation.read(CATALOG_MERGE_JOURNAL))

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the catalog."""
        return self.operation.warehouse

    @property
    def journal(self) -> Journal:
        """The journal of the catalog."""
        return self.operation.journal

    @property
    def id(self) -> str:
        """The id of the operation."""
        return self.operation.intent.operation_id

    @property
    def is_into_main(self) -> bool:
        """Whether folders change; else names and properties are in the version alone."""
        return self.noted.target == MAIN_BRANCH

    @property
    def version(self) -> CatalogVersion:
        """The version whose creation is the commit point."""
        if not self._versions:
            what = "journal of a merge of the catalog"
            raw = JsonObject(dict(self.noted.catalog_version), what)
            self._versions.append(CatalogVersion.from_object(raw))
        return self._versions[0]

    def steps_of(self, object_id: str) -> tuple[MergeStep, ...]:
        """The steps of one database or table, in their order."""
        return self._of_objects.get(object_id, ())

    def is_made(self, object_id: str) -> bool:
        """Whether the merge makes a database or a table that the target does not have."""
        makes = (StepKind.CREATE_DATABASE, StepKind.CREATE_TABLE)
        return any(each.kind in makes for each in self.steps_of(object_id))

    def step_id(self, step: MergeStep) -> str:
        """The id of what a step does in the ledger of a table, such as `op-91-t1`."""
        return f"{self.id}-{step.name}"

    def folder_of(self, object_id: str, place: StepPlace) -> str:
        """The folder of an object at a place, while the steps go on.

        Until databases are renamed, each is called as before the merge.
        """
        paths = self.operation.paths
        if place.is_aside:
            return paths.new_table(object_id)
        if not place.database:
            return paths.database(place.name)
        made = self._made_database(place.database)
        if made is not None and made.is_aside:
            return f"{paths.new_table(place.database)}/{place.name}"
        return paths.table(self.noted.database_names[place.database], place.name)

    def present_folder(self, table_id: str, place: StepPlace) -> str:
        """The folder of a table at a place by now: its database may have been renamed since."""
        expected = self.folder_of(table_id, place)
        paths, files = self.operation.paths, self.operation.warehouse.file_io
        for each in self.steps_of(place.database) if not place.is_aside else ():
            if each.kind is StepKind.RENAME_DATABASE and each.step.after is not None:
                folder = self.folder_of(place.database, each.step.after)
                found = find_database_file(files, paths, folder)
                if found is not None and found.content.id == place.database:
                    return f"{folder}/{place.name}"
        return expected

    def final_name(self, database_id: str) -> str:
        """Return the name of a database after all steps."""
        names = (
            each.step.after.name
            for each in reversed(self.steps_of(database_id))
            if each.step.after is not None
        )
        return next(names, self.noted.database_names[database_id])

    def _made_database(self, database_id: str) -> StepPlace | None:
        """Return the place at which the merge makes a database; None if it was there before."""
        for each in self.steps_of(database_id):
            if each.kind is StepKind.CREATE_DATABASE:
                return each.step.after
        return None

    def folders_of(self, step: MergeStep) -> tuple[str, ...]:
        """Return the folders that a step's table may have while the merge runs."""
        paths = self.operation.paths
        places = [
            place
            for each in self.steps_of(step.object_id)
            for place in (each.step.before, each.step.after)
            if place is not None
        ]
        found = [] if step.folder is None else [paths.folder(step.folder)]
        for place in places:
            found.append(self.folder_of(step.object_id, place))
            final = self.final_name(place.database) if place.database else None
            if final is not None:
                found.append(paths.table(final, place.name))
        return tuple(dict.fromkeys(found))


class StepAction(Protocol):
    """How steps of one kind are carried out; each method may be called again after a crash."""

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """See that the step can be prepared, also for a preview: nothing is written.

        Raises:
            Refused: The step cannot be carried out.
            CommitConflict: Somebody else came in between.
        """
        ...

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """Do what must be there before the commit point, and what no reader sees.

        Raises:
            Refused: The step cannot be carried out; nothing was changed.
            CommitConflict: Somebody else came in between.
        """
        ...

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """Remove what `prepare` made of a merge that was not committed, also if it made none."""
        ...

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """Whether the step was carried out, and not taken back since."""
        ...

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """Carry the step out, or what is left of it.

        Raises:
            CommitConflict: Somebody else came in between, and the step was not carried out.
        """
        ...

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Take the step back, or what was done of it; one that was not carried out stays so.

        Returns:
            What the receipt tells of it beyond that all is as before; None if there is nothing.

        Raises:
            CommitConflict: Later changes of others prevent it; the step stays as it was.
        """
        ...

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """Record the step in the ledger of its table, and end what `prepare` began.

        Returns:
            What the receipt tells of it; None if there is nothing.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OnMain:
    """Carries out steps on folders and files of main; a branch has all of it in its version."""

    action: StepAction

    def check(self, merge: MergeOperation, step: MergeStep) -> None:
        """As the action does."""
        if merge.is_into_main:
            self.action.check(merge, step)

    def prepare(self, merge: MergeOperation, step: MergeStep) -> None:
        """As the action does."""
        if merge.is_into_main:
            self.action.prepare(merge, step)

    def forget(self, merge: MergeOperation, step: MergeStep) -> None:
        """As the action does."""
        if merge.is_into_main:
            self.action.forget(merge, step)

    def is_done(self, merge: MergeOperation, step: MergeStep) -> bool:
        """As the action does; on a branch the version has done it."""
        return not merge.is_into_main or self.action.is_done(merge, step)

    def carry_out(self, merge: MergeOperation, step: MergeStep) -> None:
        """As the action does."""
        if merge.is_into_main:
            self.action.carry_out(merge, step)

    def take_back(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """As the action does; on a branch the next version takes it back."""
        return self.action.take_back(merge, step) if merge.is_into_main else None

    def complete(self, merge: MergeOperation, step: MergeStep) -> str | None:
        """As the action does."""
        return self.action.complete(merge, step) if merge.is_into_main else None


def _place(place: JournalledPlace | None) -> StepPlace | None:
    if place is None:
        return None
    return StepPlace(name=place.name, database=place.database, is_aside=place.is_aside)


def _journalled_place(place: StepPlace | None) -> JournalledPlace | None:
    if place is None:
        return None
    return JournalledPlace(name=place.name, database=place.database, is_aside=place.is_aside)
