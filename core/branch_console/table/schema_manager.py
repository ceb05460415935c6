"""The schemas of a branch. The newest one counts; older ones decode older files."""

from __future__ import annotations

from branch_console.errors import ErrorKind, NotFound
from branch_console.format.table_schema import TableSchema
from branch_console.storage.file_io import FileStatus
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import SCHEMA_PREFIX, TablePaths
from branch_console.table.versioned_files import (
    FileState,
    decode,
    decode_states,
    list_numbered,
    list_numbers,
    newest_numbered,
    values_of,
)


class SchemaManager:
    """Reads the schema files of one branch [Paimon SchemaManager]."""

    def __init__(self, reader: MetadataReader, paths: TablePaths) -> None:
        self._reader = reader
        self._paths = paths
        self._seen: TableSchema | None = None

    def ids(self) -> tuple[int, ...]:
        """The ids of all schemas, rising."""
        return list_numbers(self._reader, self._paths.schema_dir, SCHEMA_PREFIX)

    def find_latest(self) -> TableSchema | None:
        """The newest schema, or None if the branch has none.

        Raises:
            FormatError: It cannot be decoded.
        """
        newest = newest_numbered(self._reader, self._paths.schema_dir, SCHEMA_PREFIX)
        if newest is None:
            return None
        self._seen = decode(self._reader, newest, TableSchema.from_json)
        return self._seen

    def last_seen(self) -> TableSchema:
        """The newest schema when it was last read here; there may be a newer one by now.

        For what is prepared before the newest one must be known. Raises as `latest` does.
        """
        return self._seen or self.latest()

    def latest(self) -> TableSchema:
        """The newest schema.

        Raises:
            NotFound: The branch has no schema.
            FormatError: It cannot be decoded.
        """
        schema = self.find_latest()
        if schema is None:
            raise NotFound(
                f"Branch {self._paths.branch!r} has no schema: {self._paths.schema_dir} is empty "
                "or missing. Drop the branch or restore its schema files.",
                kind=ErrorKind.SCHEMA_NOT_FOUND,
                path=self._paths.schema_dir,
                branch=self._paths.branch,
            )
        return schema

    def get(self, schema_id: int) -> TableSchema:
        """A schema by its id.

        Raises:
            NotFound: The branch has no such schema.
            FormatError: It cannot be decoded.
        """
        path = self._paths.schema(schema_id)
        status = self._reader.find_status(path)
        if status is None:
            raise NotFound(
                f"Branch {self._paths.branch!r} has no schema {schema_id}: {path} is missing.",
                kind=ErrorKind.SCHEMA_NOT_FOUND,
                path=path,
                schema_id=schema_id,
            )
        return decode(self._reader, status, TableSchema.from_json)

    def all(self) -> tuple[TableSchema, ...]:
        """All schemas by rising id; raises FormatError at the first broken one."""
        return tuple(values_of(self.states()))

    def states(self) -> tuple[FileState[TableSchema], ...]:
        """All schema files by rising id, broken ones with their error."""
        listing = {str(number): status for number, status in self._listing().items()}
        return decode_states(self._reader, listing, TableSchema.from_json)

    def _listing(self) -> dict[int, FileStatus]:
        return list_numbered(self._reader, self._paths.schema_dir, SCHEMA_PREFIX)
