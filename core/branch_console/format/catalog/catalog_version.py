"""The files of a catalog branch's ledger: one version, and the whole state at one as a cache.

A version holds what changed against the version before it, and is never written again. Paimon
knows nothing of these files.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, Final, TypeVar

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.json_text import JsonObject, to_pretty_json, without_nulls
from branch_console.format.receipt import identity_from, identity_to
from branch_console.format.snapshot import SnapshotIdentity

T = TypeVar("T")
Change = TypeVar("Change", "DatabaseChange", "TableChange")

NEWEST_FORMAT: Final = 1
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class VersionKind(StrEnum):
    """The kinds of changes that make a version.

    Attributes:
        SIGHTED: An operation noted what the folders of main show.
        FORKED: The branch begins here; what was under its name before is over.
        CHANGED: A statement on the branch.
        MERGED: Another branch came in; the commit point of that merge.
        UNDONE: An operation was undone.
        TURNED_BACK: A merge was taken back while it was being published.
        VOID: Nothing; it keeps a runner that wakes up late from taking this number.
        DROPPED: The branch ends here.
    """

    SIGHTED = "sighted"
    FORKED = "forked"
    CHANGED = "changed"
    MERGED = "merged"
    UNDONE = "undone"
    TURNED_BACK = "turned-back"
    VOID = "void"
    DROPPED = "dropped"


class CreationMode(StrEnum):
    """Whether the table branches of a catalog branch are made at once or at their first write."""

    EAGER = "eager"
    LAZY = "lazy"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class VersionName:
    """A version of a branch, such as `dev@7`."""

    branch: str
    number: int

    @classmethod
    def parse(cls, text: str) -> "VersionName":
        """Parse `dev@7`; raises FormatError."""
        branch, at, number = text.rpartition("@")
        if not (at and branch and number.isascii() and number.isdigit()):
            raise FormatError(f"{text!r} names no version of a catalog branch, such as dev@7.")
        return cls(branch=branch, number=int(number))

    def __str__(self) -> str:
        return f"{self.branch}@{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogScope:
    """The objects that belong to a catalog branch: all, whole databases, or patterns of tables."""

    databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def is_whole_catalog(self) -> bool:
        """Whether every database and table of the warehouse belongs to it."""
        return not self.databases and not self.tables

    def holds_database(self, name: str) -> bool:
        """Whether a database belongs to it with all its tables, also with those to come."""
        return self.is_whole_catalog or name in self.databases

    def holds_table(self, database: str, name: str) -> bool:
        """Whether a table of this name belongs to it."""
        return self.holds_database(database) or any(
            fnmatchcase(f"{database}.{name}", pattern) for pattern in self.tables
        )

    def __str__(self) -> str:
        if self.is_whole_catalog:
            return "the catalog"
        names = [f"database {name}" for name in self.databases]
        return ", ".join([*names, *self.tables])

    def to_object(self) -> dict[str, object]:
        """Return JSON values; none of them for the whole catalog."""
        content = {"databases": list(self.databases), "tables": list(self.tables)}
        return {key: values for key, values in content.items() if values}

    @classmethod
    def from_object(cls, raw: JsonObject) -> "CatalogScope":
        """Read what `to_object` wrote; raises FormatError."""
        return cls(databases=raw.texts("databases"), tables=raw.texts("tables"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """The snapshot that a table stood at."""

    id: int
    identity: SnapshotIdentity

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {"id": self.id, **(identity_to(self.identity) or {})}

    @classmethod
    def from_object(cls, raw: JsonObject) -> "TableHead":
        """Read what `to_object` wrote; raises FormatError."""
        identity = identity_from(dict(raw.values), raw.what)
        assert identity is not None
        return cls(id=raw.get("id", int), identity=identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseChange:
    """A version's change of a database; None is as before.

    Attributes:
        properties: By key; None for a property that was unset.
        has_file: Whether main had a file of it: one without its file is another database then.
    """

    name: str | None = None
    properties: Mapping[str, str | None] = field(default_factory=lambda: _NOTHING)
    has_file: bool | None = None

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return without_nulls(
            {
                "name": self.name,
                "properties": dict(self.properties) or None,
                "hasFile": self.has_file,
            }
        )

    @classmethod
    def from_object(cls, raw: JsonObject) -> "DatabaseChange":
        """Read what `to_object` wrote; raises FormatError."""
        return cls(
            name=raw.find("name", str),
            properties=_properties(raw),
            has_file=raw.find("hasFile", bool),
        )

    def then(self, later: "DatabaseChange") -> "DatabaseChange":
        """Return both changes as one; what `later` does not mention stays."""
        return DatabaseChange(
            name=later.name or self.name,
            properties={**self.properties, **later.properties},
            has_file=self.has_file if later.has_file is None else later.has_file,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """A version's change of a table; None is as before.

    Attributes:
        database: The id of its database.
        folder: Below the warehouse, such as `air.db/flights`.
        birth: The SHA-256 of the bytes of its first schema file.
        schema: The id of its newest schema at the fork.
        head: Its head; a table that never had a commit has none.
        base_tag: The tag that keeps its fork, if that is not the usual `branch-base-<branch>`.
        adopted: Whether its table branch was there before the catalog branch.
        source: The table branch that its fork lies on; main's history if left out.
    """

    database: str | None = None
    name: str | None = None
    folder: str | None = None
    birth: str | None = None
    schema: int | None = None
    head: TableHead | None = None
    base_tag: str | None = None
    adopted: bool | None = None
    source: str | None = None

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return without_nulls(
            {
                "database": self.database,
                "name": self.name,
                "folder": self.folder,
                "birth": self.birth,
                "schema": self.schema,
                "head": None if self.head is None else self.head.to_object(),
                "baseTag": self.base_tag,
                "adopted": self.adopted,
                "source": self.source,
            }
        )

    @classmethod
    def from_object(cls, raw: JsonObject) -> "TableChange":
        """Read what `to_object` wrote; raises FormatError."""
        head = raw.find("head", dict)
        return cls(
            database=raw.find("database", str),
            name=raw.find("name", str),
            folder=raw.find("folder", str),
            birth=raw.find("birth", str),
            schema=raw.find("schema", int),
            head=None if head is None else TableHead.from_object(JsonObject(head, raw.what)),
            base_tag=raw.find("baseTag", str),
            adopted=raw.find("adopted", bool),
            source=raw.find("source", str),
        )

    def then(self, later: "TableChange") -> "TableChange":
        """Return both changes as one; what `later` does not mention stays."""
        return TableChange(
            database=later.database or self.database,
            name=later.name or self.name,
            folder=later.folder or self.folder,
            birth=later.birth or self.birth,
            schema=self.schema if later.schema is None else later.schema,
            head=later.head or self.head,
            base_tag=later.base_tag or self.base_tag,
            adopted=self.adopted if later.adopted is None else later.adopted,
            source=later.source or self.source,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedHead:
    """A table that a merge is to publish: by which step, and on top of which head."""

    step: str
    before: TableHead | None

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        before = None if self.before is None else self.before.to_object()
        return without_nulls({"step": self.step, "before": before})

    @classmethod
    def from_object(cls, raw: JsonObject) -> "ExpectedHead":
        """Read what `to_object` wrote; raises FormatError."""
        before = raw.find("before", dict)
        return cls(
            step=raw.get("step", str),
            before=None if before is None else TableHead.from_object(JsonObject(before, raw.what)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContent:
    """The content of a table on the source of a merge; writes of rows make no version of it."""

    head: SnapshotIdentity | None
    schema: int

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return without_nulls({"head": identity_to(self.head), "schema": self.schema})

    @classmethod
    def from_object(cls, raw: JsonObject) -> "SourceContent":
        """Read what `to_object` wrote; raises FormatError."""
        head = identity_from(raw.find("head", dict), raw.what)
        return cls(head=head, schema=raw.get("schema", int))


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogVersion:
    """One immutable version of a catalog branch, or of main.

    Attributes:
        number: Counts from 1 on each branch, also if its name is used again.
        parents: The versions it builds on, the one of its own branch first.
        covers: The ids of the objects for which a merged parent is an ancestor; None for all.
        voids: Versions whose merge no longer counts, for the objects that this one covers.
        scope: In a fork, the objects of the branch; in a version that adds some, all its objects.
        content: In a fork, the name of its table branches.
        from_tag: In a fork, the catalog tag it begins at.
        is_empty: In a fork, whether its tables begin with their schemas and no rows.
        expects: In a merge, the expected heads by table id.
        sources: In a merge, the contents of merged tables by table id, if they differ from the
            version of the source. Earlier releases recorded none.
        databases: By id; None for a database that was dropped.
        tables: By id; None for a table that was dropped.
        left_out: In a fork, tables that cannot be branched, by name, with the reason.
    """

    branch: str
    number: int
    kind: VersionKind
    operation: str
    actor: str
    time_millis: int
    parents: tuple[VersionName, ...] = ()
    covers: frozenset[str] | None = None
    voids: tuple[VersionName, ...] = ()
    statement: str | None = None
    scope: CatalogScope | None = None
    content: str | None = None
    mode: CreationMode | None = None
    from_tag: str | None = None
    is_empty: bool = False
    owner: str | None = None
    reason: str | None = None
    plan: str | None = None
    expects: Mapping[str, ExpectedHead] = field(default_factory=lambda: _NOTHING)
    sources: Mapping[str, SourceContent] = field(default_factory=lambda: _NOTHING)
    databases: Mapping[str, DatabaseChange | None] = field(default_factory=lambda: _NOTHING)
    tables: Mapping[str, TableChange | None] = field(default_factory=lambda: _NOTHING)
    left_out: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def name(self) -> VersionName:
        """The name of this version: its branch and its number."""
        return VersionName(branch=self.branch, number=self.number)

    @classmethod
    def from_json(cls, text: str | bytes) -> "CatalogVersion":
        """Decode a version file.

        Raises:
            FormatError: The text is not a version, or one of a newer format.
        """
        return cls.from_object(_parse(text, "version of a catalog branch"))

    @classmethod
    def from_object(cls, raw: JsonObject) -> "CatalogVersion":
        """Read what `to_object` wrote; raises FormatError."""
        scope = raw.find("scope", dict)
        return cls(
            branch=raw.get("branch", str),
            number=raw.get("version", int),
            kind=raw.choice("kind", VersionKind),
            parents=tuple(map(VersionName.parse, raw.texts("parents"))),
            covers=_covers(raw),
            voids=tuple(map(VersionName.parse, raw.texts("voids"))),
            operation=raw.get("operation", str),
            actor=raw.get("actor", str),
            time_millis=raw.get("timeMillis", int),
            statement=raw.find("statement", str),
            scope=None if scope is None else CatalogScope.from_object(JsonObject(scope, raw.what)),
            content=raw.find("content", str),
            mode=None if raw.find("mode", str) is None else raw.choice("mode", CreationMode),
            from_tag=raw.find("fromTag", str),
            is_empty=raw.find("isEmpty", bool) or False,
            owner=raw.find("owner", str),
            reason=raw.find("reason", str),
            plan=raw.find("plan", str),
            expects={
                key: ExpectedHead.from_object(each) for key, each in _each(raw, "expects").items()
            },
            sources={
                key: SourceContent.from_object(each) for key, each in _each(raw, "sources").items()
            },
            databases=_changes(raw, "databases", DatabaseChange.from_object),
            tables=_changes(raw, "tables", TableChange.from_object),
            left_out=raw.text_map("leftOut"),
        )

    def to_json(self) -> str:
        """Encode as JSON text; what has no value is left out."""
        return to_pretty_json({"format": NEWEST_FORMAT, **self.to_object()})

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        is_merge = self.kind is VersionKind.MERGED
        covers = "all" if self.covers is None else sorted(self.covers)
        return without_nulls(
            {
                "branch": self.branch,
                "version": self.number,
                "kind": str(self.kind),
                "parents": [str(parent) for parent in self.parents],
                "covers": covers if is_merge or self.covers is not None else None,
                "voids": [str(each) for each in self.voids] or None,
                "operation": self.operation,
                "actor": self.actor,
                "timeMillis": self.time_millis,
                "statement": self.statement,
                "scope": None if self.scope is None else self.scope.to_object(),
                "content": self.content,
                "mode": None if self.mode is None else str(self.mode),
                "fromTag": self.from_tag,
                "isEmpty": self.is_empty or None,
                "owner": self.owner,
                "reason": self.reason,
                "plan": self.plan,
                "expects": {key: each.to_object() for key, each in self.expects.items()} or None,
                "sources": {key: each.to_object() for key, each in self.sources.items()} or None,
                "databases": _to_objects(self.databases) or None,
                "tables": _to_objects(self.tables) or None,
                "leftOut": dict(self.left_out) or None,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCheckpoint:
    """All that the versions of a branch up to one say, so that nobody has to read them again.

    Attributes:
        number: The newest version in it.
        fork: The version that the branch begins with; None for main.
        is_dropped: Whether the branch had ended.
        databases: By id; a database that the versions drop and the fork had is None.
        tables: By id, as the databases.
        scope: The objects of the branch, if they are more than at its fork.
        added: The versions that added to its scope.
    """

    branch: str
    number: int
    fork: CatalogVersion | None = None
    is_dropped: bool = False
    scope: CatalogScope | None = None
    added: tuple[VersionName, ...] = ()
    databases: Mapping[str, DatabaseChange | None] = field(default_factory=lambda: _NOTHING)
    tables: Mapping[str, TableChange | None] = field(default_factory=lambda: _NOTHING)

    @classmethod
    def from_json(cls, text: str | bytes) -> "CatalogCheckpoint":
        """Decode a checkpoint; raises FormatError."""
        raw = _parse(text, "checkpoint of a catalog branch")
        fork, scope = raw.find("fork", dict), raw.find("scope", dict)
        return cls(
            branch=raw.get("branch", str),
            number=raw.get("version", int),
            fork=None if fork is None else CatalogVersion.from_object(JsonObject(fork, raw.what)),
            is_dropped=raw.find("isDropped", bool) or False,
            scope=None if scope is None else CatalogScope.from_object(JsonObject(scope, raw.what)),
            added=tuple(map(VersionName.parse, raw.texts("added"))),
            databases=_changes(raw, "databases", DatabaseChange.from_object),
            tables=_changes(raw, "tables", TableChange.from_object),
        )

    def then(self, version: CatalogVersion) -> "CatalogCheckpoint":
        """Return this with the next version; a fork begins anew, whatever stood there before."""
        if version.kind is VersionKind.FORKED:
            return CatalogCheckpoint(
                branch=self.branch,
                number=version.number,
                fork=version,
                databases=version.databases,
                tables=version.tables,
            )
        added = () if version.scope is None else (version.name,)
        return replace(
            self,
            number=version.number,
            is_dropped=_is_dropped_by(version, was=self.is_dropped),
            scope=version.scope or self.scope,
            added=(*self.added, *added),
            databases=_added_up(self.databases, version.databases),
            tables=_added_up(self.tables, version.tables),
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        return to_pretty_json(
            without_nulls(
                {
                    "format": NEWEST_FORMAT,
                    "branch": self.branch,
                    "version": self.number,
                    "fork": None if self.fork is None else self.fork.to_object(),
                    "isDropped": self.is_dropped or None,
                    "scope": None if self.scope is None else self.scope.to_object(),
                    "added": [str(each) for each in self.added] or None,
                    "databases": _to_objects(self.databases),
                    "tables": _to_objects(self.tables),
                }
            )
        )


def _is_dropped_by(version: CatalogVersion, *, was: bool) -> bool:
    """Whether a branch has ended with a version; an undo behind that brings it back."""
    if version.kind is VersionKind.DROPPED:
        return True
    return was and version.kind is not VersionKind.UNDONE


def check_format(raw: JsonObject) -> None:
    """Refuse a file of a later release; raises FormatError."""
    number = raw.get("format", int)
    if not 1 <= number <= NEWEST_FORMAT:
        raise FormatError(
            f"The {raw.what} has format {number}; {NEWEST_FORMAT} is the newest known. Upgrade "
            "Branch Console to read it.",
            kind=ErrorKind.UNKNOWN_VERSION,
            version=number,
        )


def _parse(text: str | bytes, what: str) -> JsonObject:
    raw = JsonObject.parse(text, what)
    check_format(raw)
    return raw


def _covers(raw: JsonObject) -> frozenset[str] | None:
    found = raw.values.get("covers")
    if found is None or found == "all":
        return None
    return frozenset(raw.texts("covers"))


def _properties(raw: JsonObject) -> dict[str, str | None]:
    values = raw.find("properties", dict) or {}
    if not all(value is None or isinstance(value, str) for value in values.values()):
        raise FormatError(f"The {raw.what} has a property that is not text.")
    return values


def _each(raw: JsonObject, key: str) -> dict[str, JsonObject]:
    found = _changes(raw, key, lambda each: each)
    return {name: each for name, each in found.items() if each is not None}


def _changes(raw: JsonObject, key: str, read: Callable[[JsonObject], T]) -> dict[str, T | None]:
    values = raw.find(key, dict) or {}
    if not all(value is None or isinstance(value, dict) for value in values.values()):
        raise FormatError(f"The {raw.what} has something other than objects in {key!r}.")
    return {
        name: None if value is None else read(JsonObject(value, raw.what))
        for name, value in values.items()
    }


def _added_up(
    before: Mapping[str, Change | None], later: Mapping[str, Change | None]
) -> Mapping[str, Change | None]:
    if not later:
        return before
    found = dict(before)
    for key, change in later.items():
        known = found.get(key)
        found[key] = change if known is None or change is None else known.then(change)
    return found


def _to_objects(
    changes: Mapping[str, DatabaseChange | None] | Mapping[str, TableChange | None],
) -> dict[str, object]:
    return {
        name: None if change is None else change.to_object() for name, change in changes.items()
    }
