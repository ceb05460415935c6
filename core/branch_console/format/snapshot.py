"""A snapshot file: one committed state of a table on one branch.

Source: Paimon Snapshot. Fields that a release does not write are None.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from branch_console.errors import FormatError
from branch_console.format.json_text import JsonObject, to_pretty_json, without_nulls
from branch_console.format.options import Options

CURRENT_VERSION: Final = 3
BATCH_COMMIT_IDENTIFIER: Final = 2**63 - 1


class CommitKind(StrEnum):
    """The kinds of commits [Paimon Snapshot.CommitKind]."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotIdentity:
    """The identity of a snapshot, the same on every branch; ids repeat, so they are no part of it.

    `manifest_lists` are the names of the base and the delta manifest list: both hold random UUIDs.
    """

    uuid: str | None
    manifest_lists: tuple[str, str]

    def same_as(self, other: "SnapshotIdentity") -> bool:
        """Whether both are one snapshot: by uuid where both have one, else by manifest lists."""
        # Paimon writes a uuid since 2.0; snapshots of older releases have only their list names.
        if self.uuid is not None and other.uuid is not None:
            return self.uuid == other.uuid
        return self.manifest_lists == other.manifest_lists

    @property
    def text(self) -> str:
        """One text that no other snapshot has, to be kept beside what was found for it."""
        return self.uuid or self.manifest_lists[1]

    @property
    def short(self) -> str:
        """Eight characters for people and links."""
        text = self.uuid or self.manifest_lists[1].removeprefix("manifest-list-")
        # The end of a list name is its counter, alike in most commits of one writer: keep both.
        name, _, counter = text.rpartition("-")
        return text[:8] if self.uuid else f"{name[: 8 - len(counter)]}{counter}"


NO_SNAPSHOT: Final = SnapshotIdentity(uuid=None, manifest_lists=("", ""))
"""Stands for the head of a branch that has none, if a commit asks for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One committed state of a table on one branch."""

    version: int = CURRENT_VERSION
    uuid: str | None = None
    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    writer_version: str | None = None
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int | None = None
    delta_record_count: int | None = None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Options = field(default_factory=Options)
    next_row_id: int | None = None
    operation: str | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> "Snapshot":
        """Decode a snapshot file.

        Raises:
            FormatError: The text is not a snapshot, or one of a newer format.
        """
        return cls.from_object(JsonObject.parse(text, "snapshot file"))

    @classmethod
    def from_object(cls, raw: JsonObject) -> "Snapshot":
        """Decode the fields of a snapshot from a parsed snapshot or tag file."""
        version = raw.check_version(CURRENT_VERSION, absent=1)
        return cls(
            version=version,
            uuid=raw.find("uuid", str),
            id=raw.get("id", int),
            schema_id=raw.get("schemaId", int),
            base_manifest_list=_file_name(raw, "baseManifestList"),
            base_manifest_list_size=raw.find("baseManifestListSize", int),
            delta_manifest_list=_file_name(raw, "deltaManifestList"),
            delta_manifest_list_size=raw.find("deltaManifestListSize", int),
            changelog_manifest_list=_find_file_name(raw, "changelogManifestList"),
            changelog_manifest_list_size=raw.find("changelogManifestListSize", int),
            index_manifest=_find_file_name(raw, "indexManifest"),
            commit_user=raw.get("commitUser", str),
            writer_version=raw.find("writerVersion", str),
            commit_identifier=raw.get("commitIdentifier", int),
            commit_kind=raw.choice("commitKind", CommitKind),
            time_millis=raw.get("timeMillis", int),
            total_record_count=raw.find("totalRecordCount", int),
            delta_record_count=raw.find("deltaRecordCount", int),
            changelog_record_count=raw.find("changelogRecordCount", int),
            watermark=raw.find("watermark", int),
            statistics=_find_file_name(raw, "statistics"),
            properties=Options(raw.text_map("properties")),
            next_row_id=raw.find("nextRowId", int),
            operation=raw.find("operation", str),
        )

    def to_json(self) -> str:
        """Encode as Paimon writes it; fields without a value are left out."""
        return to_pretty_json(self.to_object())

    def to_object(self) -> dict[str, object]:
        """Return the JSON object, in Paimon's field order."""
        return without_nulls(
            {
                "version": self.version,
                "uuid": self.uuid,
                "id": self.id,
                "schemaId": self.schema_id,
                "baseManifestList": self.base_manifest_list,
                "baseManifestListSize": self.base_manifest_list_size,
                "deltaManifestList": self.delta_manifest_list,
                "deltaManifestListSize": self.delta_manifest_list_size,
                "changelogManifestList": self.changelog_manifest_list,
                "changelogManifestListSize": self.changelog_manifest_list_size,
                "indexManifest": self.index_manifest,
                "commitUser": self.commit_user,
                "writerVersion": self.writer_version,
                "commitIdentifier": self.commit_identifier,
                "commitKind": str(self.commit_kind),
                "timeMillis": self.time_millis,
                "totalRecordCount": self.total_record_count,
                "deltaRecordCount": self.delta_record_count,
                "changelogRecordCount": self.changelog_record_count,
                "watermark": self.watermark,
                "statistics": self.statistics,
                "properties": dict(self.properties) or None,
                "nextRowId": self.next_row_id,
                "operation": self.operation,
            }
        )

    @property
    def identity(self) -> SnapshotIdentity:
        """The identity of this snapshot, the same on every branch that has it."""
        lists = (self.base_manifest_list, self.delta_manifest_list)
        return SnapshotIdentity(uuid=self.uuid, manifest_lists=lists)


def _find_file_name(raw: JsonObject, key: str) -> str | None:
    return None if raw.find(key, str) is None else _file_name(raw, key)


def _file_name(raw: JsonObject, key: str) -> str:
    name = raw.get(key, str)
    # The name is joined to a path; a separator in it would leave the folder.
    if not name or "/" in name or "\\" in name:
        raise FormatError(f"The {raw.what} has a {key!r} that is not a file name: {name!r}.")
    return name
