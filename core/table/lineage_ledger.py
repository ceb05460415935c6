"""The ledger of a table: what happened to its branches, one immutable file an event."""

from __future__ import annotations

from core.format.lineage_event import LineageEvent, under_present_names
from core.storage.metadata_cache import MetadataReader
from core.storage.table_paths import EVENT_PREFIX, TablePaths
from core.table.versioned_files import FileState, decode_states, list_prefixed


class LineageLedger:
    """Reads `branch-lineage/`, which all branches of a table share."""

    def __init__(self, reader: MetadataReader, paths: TablePaths) -> None:
        self._reader = reader
        self._paths = paths

    def events(self) -> tuple[LineageEvent, ...]:
        """The events in the order they happened, with branches under their names of today."""
        return under_present_names(self.written())

    def written(self) -> tuple[LineageEvent, ...]:
        """The events as they were written, without those that cannot be decoded."""
        found = [state.value for state in self.states() if state.value is not None]
        return tuple(sorted(found, key=lambda event: (event.time_millis, event.id)))

    def states(self) -> tuple[FileState[LineageEvent], ...]:
        """All event files by name, broken ones with their error."""
        listing = list_prefixed(self._reader, self._paths.lineage_dir, EVENT_PREFIX)
        return decode_states(self._reader, listing, LineageEvent.from_json)
