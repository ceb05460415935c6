"""Looking at every file of a table: whether what its snapshots and tags need is there, and whole.

Metadata is read, of data files and index files the size is compared with a listing; what the
listing leaves out is asked for by its name.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.expiry.reachability import reach, unbalanced
from branch_console.diff.health.damage_rules import BranchDamage, DamagedState, TrashPlace
from branch_console.errors import ErrorKind, FormatError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.manifest_entry import MANIFEST_ENTRY, FileKind
from branch_console.format.snapshot import Snapshot
from branch_console.maintenance.file_lister import LocalLister, Wanted, folders_of
from branch_console.maintenance.named_files import (
    NamedFiles,
    NamedLists,
    lists_of,
    read_named_files,
    released_data_files,
)
from branch_console.maintenance.references import (
    Reference,
    ReferenceKind,
    has_changelog_files,
)
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.share_pins import SHARE_PIN_PREFIX
from branch_console.procedures.maintenance.missing_files import TrashedFiles, find_trashed
from branch_console.procedures.maintenance.release_files import referred_manifests
from branch_console.storage.table_paths import BASE_TAG_PREFIX, CHANGELOG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import entry_counts
from branch_console.table.versioned_files import FileState, decode_states, list_prefixed


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A reference, or why it cannot be decoded."""

    name: str
    branch: str
    reference: Reference | None
    snapshot_id: int | None = None
    tag: str | None = None
    tagged_id: int | None = None
    error: str | None = None


_Named: TypeAlias = tuple[_State, NamedLists]


class _Damage:
    """The damage of each state, as it is found."""

    def __init__(self) -> None:
        self.data: dict[str, set[str]] = defaultdict(set)
        self.lost: dict[str, set[str]] = defaultdict(set)
        self.metadata: dict[str, set[str]] = defaultdict(set)
        self.missing: dict[str, str] = {}  # the path of each file that is gone, by its problem

    def of(self, state: _State) -> DamagedState | None:
        """Return the damage of a state; None without any."""
        key = _key(state)
        data, metadata = self.data.get(key, ()), self.metadata.get(key, ())
        if not data and not metadata:
            return None
        return DamagedState(
            name=state.name,
            snapshot_id=state.snapshot_id,
            tag=state.tag,
            tagged_id=state.tagged_id,
            data=tuple(sorted(data)),
            lost=tuple(sorted(self.lost.get(key, ()))),
            metadata=tuple(sorted(metadata)),
            is_torn=state.reference is None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDamage:
    """The damage of all branches of a table.

    Attributes:
        branches: The damage of each branch, main first, without those that lack nothing.
        unchecked: Lists of the trash that cannot be read.
    """

    branches: tuple[BranchDamage, ...]
    unchecked: tuple[Unchecked, ...]


def find_damage(warehouse: Warehouse, table: FileStoreTable) -> TableDamage:
    """Return what each branch of a table lacks.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.

    Raises:
        StorageError: The store did not answer, so nothing is known.
    """
    names = [
        name
        for name in (MAIN_BRANCH, *table.branches.names())
        if _has_schema(table.on_listed(name))
    ]
    states = [state for name in names for state in _states(table.on_listed(name))]
    damage = _Damage()
    for state in states:
        if state.error is not None:
            damage.metadata[_key(state)].add(state.error)
    readable = [(each, lists_of(each.reference)) for each in states if each.reference is not None]
    whole = _without_broken(table, readable, damage)
    _look_at_files(table, names, whole, damage)
    trashed = _trashed(warehouse, table, damage.missing)
    cleanings = _cleanings(trashed, damage.missing)
    unlisted = {
        problem: trashed.unlisted[path]
        for problem, path in damage.missing.items()
        if path in trashed.unlisted
    }
    return TableDamage(
        branches=tuple(
            found
            for name in names
            if (found := _of_branch(table, name, states, damage, cleanings, unlisted)) is not None
        ),
        unchecked=tuple(Unchecked(branch=MAIN_BRANCH, error=error) for error in trashed.errors),
    )


def undecoded(table: FileStoreTable) -> Iterator[Unchecked]:
    """Yield every schema, snapshot, tag and changelog of a table that cannot be decoded.

    Args:
        table: The table on any branch.

    Raises:
        StorageError: The store did not answer.
    """
    for name in (MAIN_BRANCH, *table.branches.names()):
        branch = table.on_listed(name)
        changelogs = list_prefixed(table.reader, branch.paths.changelog_dir, CHANGELOG_PREFIX)
        states: Iterable[FileState[Any]] = (
            *branch.schemas.states(),
            *branch.snapshots.states(),
            *branch.tags.states(),
            *decode_states(table.reader, changelogs, Snapshot.from_json),
        )
        for state in states:
            if state.error is not None:
                yield Unchecked(branch=name, error=state.error)


def _has_schema(branch: FileStoreTable) -> bool:
    """Whether the newest schema of a branch can be decoded; without it nothing is looked at."""
    try:
        return branch.schemas.find_latest() is not None
    except FormatError:
        return False


def _states(table: FileStoreTable) -> Iterator[_State]:
    """Everything of a branch that leads to files."""
    for snapshot in table.snapshots.states():
        number = int(snapshot.name)
        yield _State(
            name=f"snapshot {number}",
            branch=table.branch,
            snapshot_id=number,
            reference=_reference(ReferenceKind.SNAPSHOT, table, snapshot.name, snapshot.value),
            error=None if snapshot.error is None else snapshot.error.message,
        )
    for tag in table.tags.states():
        named = None if tag.value is None else tag.value.snapshot
        yield _State(
            name=f"tag {tag.name}",
            branch=table.branch,
            # What a branch stands on, or shares, is nothing to delete.
            tag=None if tag.name.startswith((BASE_TAG_PREFIX, SHARE_PIN_PREFIX)) else tag.name,
            tagged_id=None if named is None else named.id,
            reference=_reference(ReferenceKind.TAG, table, tag.name, named),
            error=None if tag.error is None else tag.error.message,
        )
    listed = list_prefixed(table.reader, table.paths.changelog_dir, CHANGELOG_PREFIX)
    for changelog in decode_states(table.reader, listed, Snapshot.from_json):
        yield _State(
            name=f"changelog {changelog.name}",
            branch=table.branch,
            reference=_reference(ReferenceKind.CHANGELOG, table, changelog.name, changelog.value),
            error=None if changelog.error is None else changelog.error.message,
        )


def _reference(
    kind: ReferenceKind, table: FileStoreTable, name: str, snapshot: Snapshot | None
) -> Reference | None:
    if snapshot is None:
        return None
    has_files = kind is not ReferenceKind.CHANGELOG or has_changelog_files(table)
    return Reference(
        kind=kind,
        branch=table.branch,
        name=name,
        snapshot=snapshot,
        has_changelog_files=has_files,
    )


def _without_broken(
    table: FileStoreTable, states: Sequence[_Named], damage: _Damage
) -> list[_Named]:
    """Leave out the states of which metadata is missing or broken, and note what is."""
    try:
        read_named_files(table, [named for _, named in states])
    except FormatError:
        pass
    else:
        return list(states)
    # Only a broken table is worth looking at piece by piece.
    looked = _PieceByPiece(table)
    left = []
    for state, named in states:
        wrong = looked.problems_of(named)
        if wrong:
            damage.metadata[_key(state)].update(wrong)
        else:
            left.append((state, named))
    damage.missing |= looked.missing
    return left


class _PieceByPiece:
    """Reads metadata of a broken table, each file once, and remembers what is wrong with it.

    Attributes:
        missing: The path of each file that is gone, by its problem.
    """

    def __init__(self, table: FileStoreTable) -> None:
        self.missing: dict[str, str] = {}
        self._table = table
        self._found: dict[str, tuple[str, ...]] = {}
        self._counts: dict[str, int] = {}

    def problems_of(self, named: NamedLists) -> tuple[str, ...]:
        """Return the problems of the metadata that a reference leads to."""
        found = [each for name in named.all for each in self._once(name, self._of_list)]
        if named.index_manifest is not None:
            found += self._once(named.index_manifest, self._of_index)
        return tuple(dict.fromkeys(found))

    def _once(self, name: str, check: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
        if name not in self._found:
            try:
                self._found[name] = tuple(check(name))
            except FormatError as error:
                self._found[name] = (error.message,)
                if error.kind is ErrorKind.FILES_MISSING:
                    self.missing[error.message] = str(error.facts["path"])
        return self._found[name]

    def _of_list(self, name: str) -> Iterator[str]:
        listed = self._table.scan.read_list(self._table.paths, name)
        counts = dict(zip(listed["file_name"].to_pylist(), entry_counts(listed), strict=True))
        self._counts |= counts
        for manifest in counts:
            yield from self._once(manifest, self._of_manifest)

    def _of_manifest(self, name: str) -> tuple[str, ...]:
        manifest = (name, self._counts[name])
        self._table.scan.read_past(self._table.paths, [manifest], MANIFEST_ENTRY)
        return ()

    def _of_index(self, name: str) -> tuple[str, ...]:
        self._table.scan.read_index(self._table.paths, name)
        return ()


def _look_at_files(
    table: FileStoreTable, branches: Sequence[str], whole: Sequence[_Named], damage: _Damage
) -> None:
    """Note the files that states need and that are missing, of another size or contradictory."""
    if not whole:
        return
    states, named = zip(*whole, strict=True)
    files = read_named_files(table, named)
    referred = [referred_manifests(files, each, number) for number, each in enumerate(named)]
    needed = reach(files.columns, referred)
    wrong = unbalanced(files.columns, referred, needed.names)
    for state, each in zip(states, referred, strict=True) if len(wrong) else ():
        in_state = unbalanced(files.columns, [each], wrong)
        for manifest in _manifests_of(files, in_state):
            if manifest in each.live:
                name = list(files.manifests)[manifest]
                text = f"{table.paths.manifest(name)} contradicts others: it adds a file twice, or "
                damage.metadata[_key(state)].add(f"{text}deletes one that was not there")
    schemas = [
        state.value
        for name in branches
        for state in table.on_listed(name).schemas.states()
        if state.value is not None
    ]
    # Files come before a second look at them: one that expired in between is asked for by name.
    listed = LocalLister().list(table.reader.files, folders_of(table, schemas), Wanted.everything())
    sizes = dict(zip(listed["path"].to_pylist(), listed["file_size"].to_pylist(), strict=True))
    for branch in branches:
        theirs = [number for number, state in enumerate(states) if state.branch == branch]
        numbers = {
            manifest
            for number in theirs
            for manifest in (*referred[number].live, *referred[number].added)
        }
        chosen = files.columns.filter(_is_needed(files, numbers, needed.names))
        in_states = {manifest for number in theirs for manifest in referred[number].live}
        rows = files.columns.filter(_is_needed(files, in_states, needed.names))
        # A branch can do without a file of rows, but names index files beside it, and changelogs.
        of_rows = set(rows["name"].to_pylist())
        placed = released_data_files(table.on_listed(branch), files, chosen)
        for row in placed.to_pylist():
            problem = _problem(table, sizes, row["path"], row["file_size"])
            if problem is None:
                continue
            at = int(np.searchsorted(needed.names, np.uint64(row["name"])))
            is_lost = problem == _missing(row["path"])
            if is_lost:
                damage.missing[problem] = row["path"]
            is_lost = is_lost and row["file_size"] > 0 and row["name"] in of_rows
            for number in theirs:
                if needed.needed_by(number)[at]:
                    damage.data[_key(states[number])].add(problem)
                    if is_lost:
                        damage.lost[_key(states[number])].add(problem)
    for state, lists in zip(states, named, strict=True):
        beside = {} if lists.index_manifest is None else {**files.index_files[lists.index_manifest]}
        if lists.statistics is not None:
            beside[table.paths.statistics(lists.statistics)] = 0
        for path, size in beside.items():
            problem = _problem(table, sizes, path, size)
            if problem is None:
                continue
            damage.data[_key(state)].add(problem)
            if problem == _missing(path):
                damage.missing[problem] = path


def _is_needed(
    files: NamedFiles,
    manifests: Iterable[int],
    names: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
) -> pa.ChunkedArray:
    """Whether each entry adds a file that something needs, in one of some manifests."""
    columns = files.columns
    is_theirs = pc.is_in(columns["manifest"], value_set=pa.array(sorted(manifests), pa.int32()))
    is_added = pc.equal(columns["kind"], int(FileKind.ADD))
    is_named = pc.is_in(columns["name"], value_set=pa.array(names))
    return pc.and_(pc.and_(is_theirs, is_added), is_named)


def _problem(table: FileStoreTable, sizes: Mapping[str, int], path: str, size: int) -> str | None:
    """Return the problem of a file, or None; an expected size of 0 means unknown."""
    found = sizes.get(path)
    if found is None:
        # At an external path, or a listing left it out.
        status = table.reader.files.status(path)
        if status is None:
            return _missing(path)
        found = status.size
    if size and found != size:
        return f"{path} has {found:,} bytes, not {size:,}"
    return None


def _missing(path: str) -> str:
    return f"{path} is missing"


def _manifests_of(
    files: NamedFiles, names: "np.ndarray[tuple[int], np.dtype[np.uint64]]"
) -> list[int]:
    is_wrong = pc.is_in(files.columns["name"], value_set=pa.array(names))
    return sorted(pc.unique(files.columns["manifest"].filter(is_wrong)).to_pylist())


def _trashed(
    warehouse: Warehouse, table: FileStoreTable, missing: Mapping[str, str]
) -> TrashedFiles:
    if not missing:
        return TrashedFiles(paths={}, unlisted={}, errors=())
    return find_trashed(warehouse, table, missing.values())


def _cleanings(trashed: TrashedFiles, missing: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the cleanings that put missing files into the trash, by the problem of each file."""
    held: dict[str, list[str]] = defaultdict(list)
    for cleaning, paths in trashed.paths.items():
        for path in paths:
            held[path].append(cleaning)
    return {problem: held[path] for problem, path in missing.items() if path in held}


def _of_branch(
    table: FileStoreTable,
    branch: str,
    states: Sequence[_State],
    damage: _Damage,
    cleanings: Mapping[str, Sequence[str]],
    unlisted: Mapping[str, TrashPlace],
) -> BranchDamage | None:
    theirs = [each for each in states if each.branch == branch]
    damaged = [found for each in theirs if (found := damage.of(each)) is not None]
    if not damaged:
        return None
    names = {each.name for each in damaged}
    whole = [
        each.snapshot_id
        for each in theirs
        if each.snapshot_id is not None and each.name not in names
    ]
    return BranchDamage(
        branch=branch,
        head_id=table.on_listed(branch).snapshots.latest_id(),
        whole_ids=tuple(whole),
        damaged=damaged,
        cleanings=cleanings,
        unlisted=unlisted,
    )


def _key(state: _State) -> str:
    return f"{state.branch}/{state.name}"
