"""The consumers of a branch: streaming readers that keep snapshots from expiring."""

from __future__ import annotations

from dataclasses import dataclass, replace

from branch_console.format.json_text import JsonObject, to_pretty_json
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import CONSUMER_PREFIX, FENCE_ID, TablePaths
from branch_console.table.versioned_files import FileState, decode_states, list_prefixed, values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """A streaming reader and the snapshot it reads next."""

    id: str
    next_snapshot_id: int

    @classmethod
    def from_json(cls, consumer_id: str, data: bytes) -> Consumer:
        """Read a consumer file; raises FormatError."""
        raw = JsonObject.parse(data, "consumer file")
        return cls(id=consumer_id, next_snapshot_id=raw.get("nextSnapshot", int))

    def to_json(self) -> str:
        """Return the file, as Paimon writes it."""
        return to_pretty_json({"nextSnapshot": self.next_snapshot_id})


class ConsumerManager:
    """Reads the consumer files of one branch [Paimon ConsumerManager]."""

    def __init__(self, reader: MetadataReader, paths: TablePaths) -> None:
        self._reader = reader
        self._paths = paths

    def all(self) -> tuple[Consumer, ...]:
        """All readers by id; raises FormatError at the first broken one."""
        return tuple(values_of(self.states()))

    def states(self) -> tuple[FileState[Consumer], ...]:
        """All files of readers by id, broken ones with their error; the fence is no reader."""
        return tuple(state for state in self.states_with_fence() if state.name != FENCE_ID)

    def states_with_fence(self) -> tuple[FileState[Consumer], ...]:
        """All consumer files by id, as Paimon lists them."""
        listing = list_prefixed(self._reader, self._paths.consumer_dir, CONSUMER_PREFIX)
        return tuple(
            replace(state, value=state.value and replace(state.value, id=state.name))
            for state in decode_states(
                self._reader, listing, lambda data: Consumer.from_json("", data)
            )
        )
