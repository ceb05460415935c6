"""Everything in a table that leads to files: snapshots, tags and changelogs of all branches.

Retired names count too. A reference that cannot be read stops whoever asks: what it leads to is not
known, so nothing may leave the table.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final, Protocol, TypeVar

from branch_console.errors import ErrorKind, FormatError, NotFound, PaimonError
from branch_console.format.catalog.named_snapshot import NamedSnapshot
from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES
from branch_console.format.options import CHANGELOG_PRODUCER
from branch_console.format.snapshot import Snapshot
from branch_console.storage.table_paths import BRANCH_PREFIX, CHANGELOG_PREFIX, SNAPSHOT_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import (
    FileState,
    decode_states,
    list_numbered,
    list_prefixed,
    values_of,
)

_NO_CHANGELOGS: Final = "none"
_IS_NAMED: Final = "broken_branch"
"""The fact of an error that says which branch is broken."""
TAKEN_BY: Final = "taken_by"
"""The fact of an error that says which operation took the names that are broken."""

T = TypeVar("T")


class ReferenceKind(StrEnum):
    """The kind of a reference that leads to files."""

    SNAPSHOT = "snapshot"
    TAG = "tag"
    CHANGELOG = "changelog"
    RETIRED = "retired name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One name that leads to files.

    Attributes:
        branch: The branch that has it, or had it.
        name: A number, or the name of a tag.
        snapshot: The snapshot that it names.
        expiry: The operation that retired it, be it an expiry or a drop; None for others.
        has_changelog_files: Whether a changelog is read from files of its own, or else from the
            files of its delta.
    """

    kind: ReferenceKind
    branch: str
    name: str
    snapshot: Snapshot
    expiry: str | None = None
    has_changelog_files: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadReferences:
    """References of one branch that could not be read.

    Attributes:
        branch: The branch that has them, or had them.
        expiry: The operation that retired them; None for others.
    """

    branch: str
    expiry: str | None
    error: PaimonError


class CatalogReferences(Protocol):
    """The snapshots that the catalog refers to, of the tables of a warehouse."""

    def snapshots(self) -> tuple[NamedSnapshot, ...]:
        """Return the snapshots; raises FormatError or NotFound if they are not known."""


def unkept_names(
    table: FileStoreTable, catalog: CatalogReferences, going: Collection[str] = ()
) -> tuple[NamedSnapshot, ...]:
    """Return the snapshots of a branch that the catalog names and that no tag of it keeps.

    Args:
        table: The table on the branch.
        catalog: The snapshots that the catalog refers to.
        going: Tags of the branch that are about to go.

    Raises:
        FormatError: A tag of the branch cannot be decoded, or a version of the catalog.
        NotFound: A version of the catalog is missing.
    """
    named = [each for each in catalog.snapshots() if each.branch == table.branch]
    if not named:
        return ()
    kept = [tag.snapshot.identity for tag in table.tags.all() if tag.name not in going]
    made = {each.content for each in named if each.content and table.branches.exists(each.content)}
    return tuple(
        each
        for each in named
        if each.content not in made and not any(each.identity.same_as(tag) for tag in kept)
    )


def list_references(
    table: FileStoreTable, *, expiries: Collection[str] = ()
) -> tuple[Reference, ...]:
    """Return every reference of a table.

    What a listing names and is gone by the time that it is read is left out.

    Args:
        table: The table on any branch.
        expiries: Operations whose names go for good now. Those that cannot be read are left out.

    Raises:
        FormatError: One cannot be decoded, or lies if no listing shows it.
        StorageError: The store did not answer.
    """
    references, unread = find_references(table)
    check_read(table, [each for each in unread if each.expiry not in expiries])
    return references


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesWithout:
    """The references of a table one of whose branches is about to go.

    Attributes:
        found: Those that can be read.
        own_error: Why those of the branch are not among them; None if they are. It needs nothing
            once it is gone.
        others: The references of all others that could not be read. These may need any file.
    """

    found: tuple[Reference, ...]
    own_error: PaimonError | None
    others: tuple[UnreadReferences, ...]


def references_without(table: FileStoreTable) -> ReferencesWithout:
    """Return every reference of a table one of whose branches is about to go.

    Args:
        table: The table on that branch.

    Raises:
        StorageError: The store did not answer.
    """
    references, unread = find_references(table)
    own = [
        each
        for each in unread
        # A branch with '/' in its name that lies in the folder of this one is not read here.
        if (each.branch, each.expiry) == (table.branch, None)
        and each.error.kind is not ErrorKind.INVALID_NAME
    ]
    return ReferencesWithout(
        found=references,
        own_error=own[0].error if own else None,
        others=tuple(each for each in unread if each not in own),
    )


def check_read(table: FileStoreTable, unread: Iterable[UnreadReferences]) -> None:
    """Refuse to take a file from a table of which some references cannot be read.

    Raises:
        FormatError: There are some.
    """
    for each in unread:
        raise broken_branch(table, each.branch, each.error, expiry=each.expiry)


def broken_branch(
    table: FileStoreTable, branch: str, error: PaimonError, *, expiry: str | None = None
) -> PaimonError:
    """Return the error of a branch that may need any file, so that none may leave its table.

    Args:
        table: The table on any branch.
        branch: The branch that was read, unless the error names a file in the folder of another.
        error: What is wrong with it.
        expiry: The operation that took names from the branch, if these are broken.
    """
    if _IS_NAMED in error.facts or error.kind is ErrorKind.INVALID_NAME:
        return error
    name, branch = table.identifier.table_name, branch_of_error(table, error) or branch
    advice = f"restore it from a copy, or run {_removal(name, branch)}"
    if branch == MAIN_BRANCH:
        advice = f"run branch-console doctor {name} --deep, which says how to go on"
    if expiry is not None:
        advice = (
            f"wait until undo of operation {expiry}, which took it, ends; the next expiry of "
            f"snapshots then lets go of it. To wait no longer, undo operation {expiry}, and run it "
            "again with the grace '0 s'"
        )
    return FormatError(
        f"Branch {branch!r} of {name} is broken and may need any file, so no file may leave the "
        f"table: {advice}. {error.message}",
        kind=error.kind,
        **{**error.facts, _IS_NAMED: branch, **({} if expiry is None else {TAKEN_BY: expiry})},
    )


def branch_of_error(table: FileStoreTable, error: PaimonError) -> str | None:
    """Return the branch in whose folder the file of an error lies, None for any other file."""
    folder = f"{table.paths.branch_dir}/{BRANCH_PREFIX}"
    path = str(error.facts.get("path", ""))
    return path.removeprefix(folder).partition("/")[0] if path.startswith(folder) else None


def _removal(table: str, branch: str) -> str:
    if branch.startswith(RESERVED_PREFIXES):
        return shlex.join(("branch-console", "release", table, branch))
    return shlex.join(("branch-console", "drop-branch", table, branch, "--reclaim"))


def find_references(
    table: FileStoreTable,
) -> tuple[tuple[Reference, ...], tuple[UnreadReferences, ...]]:
    """Return the references that can be read, and what is wrong with the others.

    A branch counts whole or not at all. Only a reader may go on without one; nothing may leave the
    table.

    Raises:
        StorageError: The store did not answer.
    """
    found: list[Reference] = []
    unread: list[UnreadReferences] = []
    for name in (MAIN_BRANCH, *table.branches.names()):
        of_branch = partial(_of_listed, table.on_listed(name))
        _read_into(found, unread, branch=name, expiry=None, read=of_branch)
    # Retired names come last: what is retired meanwhile is then seen here or there.
    for operation_id in retired_operations(table):
        retired, broken = find_retired_references(table, operation_id)
        found += retired
        unread += broken
    return tuple(found), tuple(unread)


def find_retired_references(
    table: FileStoreTable, operation_id: str
) -> tuple[tuple[Reference, ...], tuple[UnreadReferences, ...]]:
    """Return the references that one operation took, and what is wrong with the others.

    Raises:
        StorageError: The store did not answer.
    """
    found: list[Reference] = []
    unread: list[UnreadReferences] = []
    for branch in retired_branches(table, operation_id):
        of_branch = partial(_of_retired, table.retired(operation_id, branch), operation_id)
        _read_into(found, unread, branch=branch, expiry=operation_id, read=of_branch)
    return tuple(found), tuple(unread)


def _read_into(
    found: list[Reference],
    unread: list[UnreadReferences],
    *,
    branch: str,
    expiry: str | None,
    read: Callable[[], Iterable[Reference]],
) -> None:
    """Add the references of one branch to the others, or what is wrong with them."""
    try:
        found.extend(tuple(read()))
    except (FormatError, NotFound) as error:
        unread.append(UnreadReferences(branch=branch, expiry=expiry, error=error))


def retired_operations(table: FileStoreTable) -> tuple[str, ...]:
    """Return the operations whose names can still be brought back."""
    return tuple(sorted(table.reader.files.folder_names(table.paths.retired_dir)))


def retired_branches(table: FileStoreTable, operation_id: str) -> tuple[str, ...]:
    """Return the branches that one operation took names from."""
    names = table.reader.files.folder_names(f"{table.paths.retired_dir}/{operation_id}")
    return tuple(sorted(name.removeprefix(BRANCH_PREFIX) for name in names))


def _of_branch(table: FileStoreTable) -> Iterator[Reference]:
    # Also what stands before a gap, which no history shows: it may become one again.
    listed = list_numbered(table.reader, table.paths.snapshot_dir, SNAPSHOT_PREFIX)
    beyond = {str(number): status for number, status in listed.items()}
    states = decode_states(table.reader, beyond, Snapshot.from_json)
    for state in _readable(states):
        yield Reference(
            kind=ReferenceKind.SNAPSHOT,
            branch=table.branch,
            name=state.name,
            snapshot=_value(state),
        )
    for tag in values_of(table.tags.states()):
        yield Reference(
            kind=ReferenceKind.TAG, branch=table.branch, name=tag.name, snapshot=tag.snapshot
        )
    changelogs = list_prefixed(table.reader, table.paths.changelog_dir, CHANGELOG_PREFIX)
    if changelogs:
        has_files = has_changelog_files(table)
        for state in _readable(decode_states(table.reader, changelogs, Snapshot.from_json)):
            yield Reference(
                kind=ReferenceKind.CHANGELOG,
                branch=table.branch,
                name=state.name,
                snapshot=_value(state),
                has_changelog_files=has_files,
            )


def _check_all_listed(table: FileStoreTable) -> None:
    """Refuse what no listing shows; raises FormatError.

    Paimon makes `x/y` as `y` in the folder of `x`, and opens it by its name.
    """
    below = () if table.branch == MAIN_BRANCH else table.branches.unlisted(table.branch)
    for path in (*below, *table.tags.unlisted()):
        raise FormatError(
            f"{path} was made under a name with '/', so no listing shows which files it needs. No "
            "file of the table may go. Rename that branch or tag with the software that made it, "
            "then try again.",
            kind=ErrorKind.INVALID_NAME,
            path=path,
        )


def has_changelog_files(table: FileStoreTable) -> bool:
    """Whether writers of a branch write changelogs as files of their own.

    Args:
        table: The table on the branch, or what an operation took from it.

    Raises:
        NotFound: The branch has no schema.
        FormatError: Its newest schema cannot be decoded.
    """
    schema = table.schemas.find_latest()
    if schema is None and table.paths.retired_by:
        # An expiry takes no schemas. If the branch has another name now, more files stay.
        schema = table.on_listed(table.branch).schemas.find_latest()
        if schema is None:
            return False
    return (schema or table.schema()).options.read(CHANGELOG_PRODUCER) != _NO_CHANGELOGS


def _of_listed(table: FileStoreTable) -> Iterator[Reference]:
    _check_all_listed(table)
    return _of_branch(table)


def _of_retired(table: FileStoreTable, operation_id: str) -> Iterator[Reference]:
    for reference in _of_branch(table):
        is_changelog = reference.kind is ReferenceKind.CHANGELOG
        kind = reference.kind if is_changelog else ReferenceKind.RETIRED
        yield replace(reference, kind=kind, expiry=operation_id)


def _readable(states: Sequence[FileState[T]]) -> Sequence[FileState[T]]:
    """Return the states; raises the error of the first that cannot be decoded."""
    for _ in values_of(tuple(states)):
        pass
    return states


def _value(state: FileState[T]) -> T:
    assert state.value is not None
    return state.value
