"""What each name of a table leads to, told from the bytes of its files, one name after another."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from branch_console.errors import PaimonError
from branch_console.format.data_types import STRING
from branch_console.format.manifest_entry import FileKind, FileSource, decode_manifest
from branch_console.format.manifest_list import decode_manifest_list
from branch_console.format.values.binary_row import decode_row

SNAPSHOT, TAG, CHANGELOG = "snapshot", "tag", "changelog"
RETIRED, RETIRED_CHANGELOG = "retired", "retired changelog"
_COMPACTED: Final = int(FileSource.COMPACT)
_FOLDERS: Final = ("bucket-0", "index", "manifest", "statistics")


@dataclass(frozen=True, slots=True)
class Name:
    """What leads to files: what it is, whose it is, how it is called, and the lists it names."""

    kind: str
    branch: str
    name: str
    base: str
    delta: str

    @property
    def is_retired(self) -> bool:
        """Whether only an undo needs it."""
        return self.kind in (RETIRED, RETIRED_CHANGELOG)

    @property
    def is_changelog(self) -> bool:
        """Whether it leads to what a commit changed, and to no state."""
        return self.kind in (CHANGELOG, RETIRED_CHANGELOG)


@dataclass(frozen=True, slots=True)
class Led:
    """The files that a name leads to, below the folder of the table.

    Attributes:
        held: Must be there.
        needed: May not go because of it.
        named: No orphan, be it as deleted.
    """

    held: frozenset[str]
    needed: frozenset[str]
    named: frozenset[str]


class Oracle:
    """Knows what names of one table lead to; no manifest is ever written twice."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self._read: dict[bytes, tuple[str, str]] = {}
        self._lists: dict[str, tuple[str, ...]] = {}
        self._manifests: dict[str, tuple[tuple[str, str, bool, bool], ...]] = {}
        self._led: dict[tuple[bool, str, str], Led] = {}

    def names(self) -> frozenset[Name]:
        """All names of all branches, and what expiries keep for their undo."""
        return frozenset(self._all_names())

    def led(self, name: Name) -> Led:
        """What a name leads to; of what is missing itself nobody knows more."""
        key = (name.is_changelog, name.base, name.delta)
        found = self._led.get(key)
        if found is None:
            found, is_whole = self._follow(*key)
            if is_whole:
                self._led[key] = found
        return found

    def broken(self, names: frozenset[Name]) -> frozenset[str]:
        """What names must find and is not there."""
        there = self.files().keys()
        return frozenset().union(*(self.led(each).held - there for each in names))

    def needed(self, names: frozenset[Name]) -> frozenset[str]:
        """What may not go because of some names."""
        return frozenset().union(*(self.led(each).needed for each in names))

    def named(self, names: frozenset[Name]) -> frozenset[str]:
        """What some names name at all."""
        return frozenset().union(*(self.led(each).named for each in names))

    def files(self) -> Mapping[str, int]:
        """When each file in the folders of the table was written, in milliseconds."""
        found = {}
        days = (each.name for each in self._table.glob("name=*"))
        for folder in (*_FOLDERS, *(f"{day}/bucket-0" for day in days)):
            path = f"{self._table}/{folder}"
            if os.path.isdir(path):  # noqa: PTH112 - thousands of looks a history
                with os.scandir(path) as entries:
                    for entry in entries:
                        written = entry.stat().st_mtime_ns // 1_000_000
                        found[f"{folder}/{entry.name}"] = written
        return found

    def _all_names(self) -> Iterator[Name]:
        roots = [("main", self._table)]
        branches = self._table / "branch"
        if branches.is_dir():
            roots += [(each.name[len("branch-") :], each) for each in branches.iterdir()]
        for branch, root in roots:
            for kind in (SNAPSHOT, TAG, CHANGELOG):
                yield from self._in(root / kind, kind, branch)
        retired = self._table / "branch-lineage" / "retired"
        for kind in (SNAPSHOT, TAG, CHANGELOG):
            gone = RETIRED_CHANGELOG if kind == CHANGELOG else RETIRED
            for path in retired.rglob(f"{kind}-*"):
                operation, branch = path.relative_to(retired).parts[:2]
                yield self._name(path, gone, branch, f"{operation} {path.name}")

    def _in(self, folder: Path, kind: str, branch: str) -> Iterator[Name]:
        prefix = f"{kind}-"
        for name in os.listdir(folder) if folder.is_dir() else ():  # noqa: PTH208
            if name.startswith(prefix):
                yield self._name(folder / name, kind, branch, name[len(prefix) :])

    def _name(self, path: Path, kind: str, branch: str, name: str) -> Name:
        data = path.read_bytes()
        lists = self._read.get(data)
        if lists is None:
            raw = json.loads(data)
            assert not any(raw.get(each) for each in ("changelogManifestList", "indexManifest"))
            lists = self._read[data] = (raw["baseManifestList"], raw["deltaManifestList"])
        return Name(kind, branch, name, *lists)

    def _follow(self, is_changelog: bool, base: str, delta: str) -> tuple[Led, bool]:
        lists = {f"manifest/{base}", f"manifest/{delta}"}
        manifests: set[str] = set()
        is_whole = True
        balance: Counter[str] = Counter()
        files: dict[str, str] = {}
        written: set[str] = set()
        deleted: set[str] = set()
        for number, name in enumerate((base, delta)):
            for manifest in self._manifests_of(name) or ():
                manifests.add(f"manifest/{manifest}")
                entries = self._entries_of(manifest)
                is_whole &= entries is not None
                for identity, path, is_added, is_compacted in entries or ():
                    files[identity] = path
                    balance[identity] += 1 if is_added else -1
                    if number == 1 and not is_compacted:
                        (written if is_added else deleted).add(path)
            is_whole &= name in self._lists
        own = frozenset(lists | manifests)
        named = own | frozenset(files.values())
        if is_changelog:
            # What it says was deleted may have gone before it became a changelog.
            led = Led(own | written, own | written | deleted, named)
        else:
            live = {files[each] for each, count in balance.items() if count}
            led = Led(own | live, own | live, named)
        return led, is_whole

    def _manifests_of(self, name: str) -> tuple[str, ...] | None:
        if name not in self._lists:
            try:
                data = (self._table / "manifest" / name).read_bytes()
                rows = decode_manifest_list(data, name)
            except (OSError, PaimonError):
                return None
            self._lists[name] = tuple(rows["file_name"].to_pylist())
        return self._lists[name]

    def _entries_of(self, name: str) -> tuple[tuple[str, str, bool, bool], ...] | None:
        if name not in self._manifests:
            try:
                data = (self._table / "manifest" / name).read_bytes()
                rows = decode_manifest(data, name)
            except (OSError, PaimonError):
                return None
            columns = ("identity", "file_name", "kind", "file_source", "partition")
            self._manifests[name] = tuple(
                (identity, _folder(partition) + file, kind == FileKind.ADD, how == _COMPACTED)
                for identity, file, kind, how, partition in zip(
                    *(rows[each].to_pylist() for each in columns), strict=True
                )
            )
        return self._manifests[name]


@lru_cache(maxsize=100)
def _folder(partition: bytes) -> str:
    """The folder of the bucket of a partition, which is a day, or of a table without any."""
    is_day = int.from_bytes(partition[:4], "big") == 1
    return f"name={decode_row(partition, [STRING])[0]}/bucket-0/" if is_day else "bucket-0/"
