"""The ledger of a table: what happened to its branches, one immutable file an event.

An event that cannot be read is left out of what pages show. Whoever decides by the ledger must not
go on without it, as it may be what protects a branch.
"""

from __future__ import annotations

from collections.abc import Iterable

from branch_console.errors import PaimonError, Refused
from branch_console.format.lineage_event import LineageEvent, under_present_names
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import EVENT_PREFIX, TablePaths
from branch_console.table.versioned_files import FileState, states_of_immutable


class LineageLedger:
    """Reads `branch-lineage/`, which all branches of a table share."""

    def __init__(self, reader: MetadataReader, paths: TablePaths) -> None:
        self._reader = reader
        self._paths = paths

    def events(self) -> tuple[LineageEvent, ...]:
        """The events in the order they happened, with branches under their names of today.

        Those that cannot be decoded are left out.
        """
        return under_present_names(in_order(self.states()))

    def whole(self) -> tuple[LineageEvent, ...]:
        """The same events, for whoever decides by them; raises Refused if one is broken."""
        return under_present_names(self.whole_as_written())

    def whole_as_written(self) -> tuple[LineageEvent, ...]:
        """The events as they were written; raises Refused if one cannot be decoded."""
        states = self.states()
        for error in errors_of(states):
            raise Refused(
                f"{error.message} The history of operations is incomplete without this file, so "
                "what is protected cannot be told. Nothing was changed. Put the file back from a "
                "copy. Where there is no copy, remove it and protect again what it may have "
                "protected.",
                kind=error.kind,
                **error.facts,
            )
        return in_order(states)

    def states(self) -> tuple[FileState[LineageEvent], ...]:
        """All event files by name, broken ones with their error."""
        return states_of_immutable(
            self._reader, self._paths.lineage_dir, EVENT_PREFIX, LineageEvent.from_json
        )


def in_order(states: Iterable[FileState[LineageEvent]]) -> tuple[LineageEvent, ...]:
    """The events that could be decoded, in the order they happened."""
    found = [state.value for state in states if state.value is not None]
    return tuple(sorted(found, key=lambda event: (event.time_millis, event.id)))


def errors_of(states: Iterable[FileState[LineageEvent]]) -> tuple[PaimonError, ...]:
    """Why the others could not be decoded, each error naming its file."""
    return tuple(state.error for state in states if state.error is not None)
