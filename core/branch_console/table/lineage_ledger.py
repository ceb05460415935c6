"""The ledger of a table: what happened to its branches, one immutable file an event.

An event that cannot be read is left out of what pages show. Whoever decides by the ledger must not
go on without it, as it may be what protects a branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

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
        return self._present(self.states())

    def as_written(self) -> tuple[LineageEvent, ...]:
        """The same events, with branches under the names they had at the time."""
        return in_order(self.states())

    def whole(self) -> tuple[LineageEvent, ...]:
        """The same events, for whoever decides by them; raises Refused if one is broken."""
        return self._present(self._whole_states())

    def whole_as_written(self) -> tuple[LineageEvent, ...]:
        """The events as they were written; raises Refused if one cannot be decoded."""
        return in_order(self._whole_states())

    def states(self) -> tuple[FileState[LineageEvent], ...]:
        """All event files by name, broken ones with their error."""
        return states_of_immutable(
            self._reader, self._paths.lineage_dir, EVENT_PREFIX, LineageEvent.from_json
        )

    def _whole_states(self) -> tuple[FileState[LineageEvent], ...]:
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
        return states

    def _present(self, states: tuple[FileState[LineageEvent], ...]) -> tuple[LineageEvent, ...]:
        """Return the events under their names of today, worked out again if an event came."""
        ledger = self._paths.lineage_dir
        known = self._reader.known(ledger, under_present_names)
        if isinstance(known, _UnderPresentNames) and known.states is states:
            return known.events
        events = under_present_names(in_order(states))
        self._reader.keep(
            ledger, under_present_names, _UnderPresentNames(states=states, events=events)
        )
        return events


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnderPresentNames:
    """The events of a ledger, and the files that they were read from."""

    states: tuple[FileState[LineageEvent], ...]
    events: tuple[LineageEvent, ...]


def in_order(states: Iterable[FileState[LineageEvent]]) -> tuple[LineageEvent, ...]:
    """The events that could be decoded, in the order they happened."""
    found = [state.value for state in states if state.value is not None]
    return tuple(sorted(found, key=attrgetter("time_millis", "id")))


def errors_of(states: Iterable[FileState[LineageEvent]]) -> tuple[PaimonError, ...]:
    """Why the others could not be decoded, each error naming its file."""
    return tuple(state.error for state in states if state.error is not None)
