"""The branches of a table. A broken one is shown with its error and spoils no other."""

from __future__ import annotations

from dataclasses import dataclass

from branch_console.errors import ErrorKind, FormatError, NotFound, PaimonError
from branch_console.format.branch_ref import BranchRef
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent, base_tag_of, under_present_names
from branch_console.storage.file_io import FileStatus
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import BRANCH_PREFIX, TablePaths
from branch_console.table.lineage_ledger import LineageLedger, in_order
from branch_console.table.schema_manager import SchemaManager
from branch_console.table.snapshot_manager import SnapshotManager
from branch_console.table.versioned_files import FileState

_SEPARATORS = frozenset("/\\$\0")
_OWN_FOLDERS = frozenset({"schema", "snapshot", "tag", "changelog", "consumer"})


def is_openable(branch: str) -> bool:
    """Whether a branch of that name can be opened: it is one folder, and a table's name holds it.

    A listing may hold others, as Paimon makes branches under almost any name.
    """
    is_dots = branch in {".", ".."}
    return bool(branch.strip()) and not is_dots and _SEPARATORS.isdisjoint(branch)


def name_error(branch: str, path: str) -> FormatError | None:
    """The reason why a branch of a listing cannot be opened by its name, None if it can."""
    if is_openable(branch):
        return None
    return FormatError(
        f"{path} was made by other software under the name {branch!r}, which cannot be opened: a "
        "branch name must not be blank or hold '/', '\\' or '$'. Rename the branch with the "
        "software that made it. The other branches are not affected.",
        kind=ErrorKind.INVALID_NAME,
        branch=branch,
        path=path,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchState:
    """A branch as a listing found it: what it points at, or why that cannot be told.

    `created_millis` is the time of the branch's directory, which is what Paimon shows.
    """

    name: str
    path: str
    created_millis: int
    ref: BranchRef | None = None
    error: PaimonError | None = None


class BranchManager:
    """Reads the branches of a table [Paimon BranchManager]."""

    def __init__(self, reader: MetadataReader, paths: TablePaths, table: Identifier) -> None:
        self._reader = reader
        self._paths = paths.on(MAIN_BRANCH)
        self._table = table.on_branch(MAIN_BRANCH)

    def names(self) -> tuple[str, ...]:
        """The names of all branches but main, sorted."""
        found = self._reader.files.folder_names(self._paths.branch_dir)
        start = len(BRANCH_PREFIX)
        return tuple(sorted([name[start:] for name in found if name.startswith(BRANCH_PREFIX)]))

    def exists(self, name: str) -> bool:
        """Whether the table has the branch; main exists where the table has a main schema."""
        if name == MAIN_BRANCH:
            return bool(self._reader.files.names(self._paths.schema_dir))
        # Not by a listing: a table may have thousands.
        found = self._reader.files.status(self._paths.on(name).root)
        return found is not None and found.is_directory

    def unlisted(self, name: str) -> tuple[str, ...]:
        """Paths below a branch of the listing of what was made under names with a slash."""
        root = self._paths.on(name).root
        return tuple(f"{root}/{each}" for each in self._inner_folders(root))

    def created(self) -> tuple[tuple[str, int], ...]:
        """Name and time of the directory, in milliseconds, of each branch but main."""
        return tuple((name, found.modified_millis) for name, found in self._listing().items())

    def all(self) -> tuple[BranchRef, ...]:
        """The branches that can be read, main first."""
        return tuple(state.ref for state in self.states() if state.ref is not None)

    def get(self, name: str) -> BranchRef:
        """One branch.

        Raises:
            NotFound: It has no schema.
            FormatError: Its head or schema cannot be decoded.
        """
        return self._ref(name, LineageLedger(self._reader, self._paths).events())

    def states(self) -> tuple[BranchState, ...]:
        """Main, where the table has one, then the branches by name; broken ones with an error."""
        return self.states_with_ledger()[0]

    def states_with_ledger(
        self,
    ) -> tuple[tuple[BranchState, ...], tuple[FileState[LineageEvent], ...]]:
        """The same, and the states of the ledger, which is read for their base tags anyway."""
        with self._reader.asking() as ask:
            read_events = ask(LineageLedger(self._reader, self._paths).states)
            found, listed = ask(self._main_folder), ask(self._listing)
        events, main = under_present_names(in_order(read_events.result())), found.result()
        folders = list(listed.result().items())
        if main is not None:
            folders = [(MAIN_BRANCH, main), *folders]
        states = self._reader.map_parallel(lambda item: self._state(*item, events), folders)
        return tuple(states), read_events.result()

    def _main_folder(self) -> FileStatus | None:
        is_there = self.exists(MAIN_BRANCH)
        return self._reader.files.status(self._paths.table) if is_there else None

    def _state(
        self, name: str, folder: FileStatus, events: tuple[LineageEvent, ...]
    ) -> BranchState:
        ref: BranchRef | None = None
        error: PaimonError | None = name_error(name, folder.path)
        try:
            ref = self._ref(name, events) if error is None else None
        except PaimonError as caught:
            error = self._explain(folder, caught)
        return BranchState(
            name=name,
            path=folder.path,
            created_millis=folder.modified_millis,
            ref=ref,
            error=error,
        )

    def _ref(self, name: str, events: tuple[LineageEvent, ...]) -> BranchRef:
        paths = self._paths.on(name)
        schema, head = self._reader.both(
            SchemaManager(self._reader, paths).latest, SnapshotManager(self._reader, paths).latest
        )
        return BranchRef(
            table=self._table,
            branch=name,
            schema=schema,
            head=head,
            base_tag=base_tag_of(events, name),
        )

    def _explain(self, folder: FileStatus, error: PaimonError) -> PaimonError:
        """Say so where the branch was made under a name with a slash, which Paimon lets through."""
        if not isinstance(error, NotFound):
            return error
        inner = self._inner_folders(folder.path)
        if not inner:
            return error
        shown = folder.name.removeprefix(BRANCH_PREFIX)
        return FormatError(
            f"{folder.path} holds no branch of its own but {list(inner)}: it was made under the "
            f"name {shown + '/' + inner[0]!r}, which Paimon lists as {shown!r}. Make it again "
            "under a name without '/'.",
            path=folder.path,
            branch=shown,
        )

    def _inner_folders(self, path: str) -> tuple[str, ...]:
        names = self._reader.files.folder_names(path)
        return tuple(sorted(name for name in names if name not in _OWN_FOLDERS))

    def _listing(self) -> dict[str, FileStatus]:
        return {
            status.name.removeprefix(BRANCH_PREFIX): status
            for status in self._reader.files.list(self._paths.branch_dir)
            if status.is_directory and status.name.startswith(BRANCH_PREFIX)
        }
