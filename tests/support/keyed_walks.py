"""Walks of tables with keys: each write knows the writes it was made on top of.

Of two writes of a key the later one stands if it knew the other, and where none knew the other no
merge may call itself clean.
"""

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from tests.support.commit_tables import data_files, message
from tests.support.merge_walk import BRANCHES, Walk, WalkBench

BUCKETS: Final = 2
KEYS: Final = 12


@dataclass(frozen=True)
class Write:
    """A write of some keys; `knew` are the writes that its branch held then."""

    number: int
    knew: frozenset[int]


@dataclass
class KeyedWalk(Walk):
    """Files hold versions of keys; a reader takes the version with the highest sequence number."""

    rows: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    heads: dict[str, dict[int, int]] = field(default_factory=dict)
    known: dict[str, frozenset[int]] = field(default_factory=dict)
    writes: dict[int, Write] = field(default_factory=dict)

    def start(self) -> None:
        options = {"write-only": "true", "bucket": str(BUCKETS)}
        self.bench = WalkBench(self.root, primary_keys=["id"], options=options)
        self.heads = {branch: {} for branch in BRANCHES}
        self.known = dict.fromkeys(BRANCHES, frozenset())
        self.put("main", range(0, KEYS, BUCKETS))
        self.put("main", range(1, KEYS, BUCKETS))
        super().start()
        self.heads = {branch: dict(self.heads["main"]) for branch in BRANCHES}
        self.known = dict.fromkeys(BRANCHES, self.known["main"])

    def write(self, branch: str, first: int, second: int) -> None:
        low = first % KEYS
        self.put(branch, range(low, min(low + 1 + second % 4, KEYS), BUCKETS))

    def change(self, branch: str, first: int, second: int) -> None:
        """A writer with a backlog commits two files of a bucket at once."""
        self.write(branch, first, second)

    def hide(self, branch: str, first: int, second: int) -> None:
        """Tables with keys have their vectors from compactions alone."""
        self.write(branch, first, second)

    def put(self, branch: str, keys: range) -> None:
        bucket = keys[0] % BUCKETS
        number = next(self.numbers)
        self.writes[number] = Write(number, self.known[branch])
        live = self.in_bucket(branch, bucket)
        last = pc.max(live["max_sequence_number"]).as_py()
        start = 0 if last is None else last + 1
        versions = {key: (start + place, number) for place, key in enumerate(keys)}
        # Another dictionary, as walks that began together share the old one.
        self.heads[branch] = self.heads[branch] | dict.fromkeys(keys, number)
        self.known[branch] |= {number}
        self.commit(branch, self.message(bucket, new_files=self.entry(versions, bucket, 0)))

    def compact(self, branch: str, first: int, _: int) -> None:
        bucket = first % BUCKETS
        old = self.in_bucket(branch, bucket)
        if old.num_rows < 2:
            return
        new = self.entry(self.versions(old), bucket, 5)
        self.commit(branch, self.message(bucket, compact_before=old, compact_after=new))

    def message(self, bucket: int, **files: pa.Table) -> CommitMessage:
        return message(bucket=bucket, total_buckets=BUCKETS, **files)

    def entry(self, versions: dict[int, tuple[int, int]], bucket: int, level: int) -> pa.Table:
        name = f"f{next(self.numbers)}"
        self.rows[f"data-{name}.parquet"] = versions
        entry = data_files(
            [name],
            rows=len(versions),
            keys=(min(versions), max(versions)),
            bucket=bucket,
            level=level,
            total_buckets=BUCKETS,
        )
        numbers = [sequence for sequence, _ in versions.values()]
        for column, value in (("min", min(numbers)), ("max", max(numbers))):
            at = MANIFEST_ENTRY.get_field_index(f"{column}_sequence_number")
            entry = entry.set_column(at, MANIFEST_ENTRY.field(at), pa.array([value], pa.int64()))
        return entry

    def in_bucket(self, branch: str, bucket: int) -> pa.Table:
        live = self.live(branch)
        return live.filter(pc.equal(live["bucket"], bucket))

    def versions(self, files: pa.Table) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        for name in files["file_name"].to_pylist():
            for key, version in self.rows[name].items():
                found[key] = max(found.get(key, version), version)
        return found

    def content(self, branch: str) -> object:
        found = self.versions(self.live(branch))
        return {key: number for key, (_, number) in found.items()}

    def model(self, branch: str) -> object:
        return self.heads[branch]

    def merged(self, source: str, target: str) -> object:
        found = {}
        for key in sorted(self.heads[source].keys() | self.heads[target].keys()):
            theirs, ours = self.heads[source][key], self.heads[target][key]
            if theirs == ours or theirs in self.writes[ours].knew:
                found[key] = ours
            else:
                assert ours in self.writes[theirs].knew, f"no conflict was found for key {key}"
                found[key] = theirs
        return found

    def take_over(self, source: str, target: str) -> None:
        merged = self.merged(source, target)
        assert isinstance(merged, dict)
        self.heads[target] = merged
        self.known[target] |= self.known[source]

    def may_be_refused(self, source: str, target: str) -> bool:
        """Whether both sides wrote to one bucket."""
        new = [
            {
                key % BUCKETS
                for key, number in self.heads[one].items()
                if number not in self.known[two]
            }
            for one, two in ((source, target), (target, source))
        ]
        return bool(new[0] & new[1])
