"""The laws of merging, on tables of files that exist as entries only, against plain models.

Neither model knows a merge base. Of a table without keys, each row has a name of its own, and a
merged branch must hold every row that either side has seen and neither has deleted. Of a table with
keys, each write knows the writes it was made on top of: of two writes of a key the later one stands
if it knew the other, and where none knew the other no merge may call itself clean.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.commit.commit_message import CommitMessage
from core.diff.file_masks import HiddenRows, MaskKey
from core.diff.logical_log import keys_of, original_name
from core.diff.masks import masks_of
from core.diff.three_way import each_side
from core.errors import Refused
from core.format.identifier import Identifier
from core.format.manifest_entry import MANIFEST_ENTRY
from core.merge.file_moves import FileMoves, Isolation, MergeRules
from core.merge.joined_deletes import HeldFiles, JoinedDeletes, kept_by_both
from core.merge.merge_plan import MergePlan, MergeVerdict
from core.merge.row_work import JoinedRows, RowScope
from core.procedures.merge_logs import read_masks
from core.procedures.merge_masks import write_masks
from core.procedures.preview_merge import preview_merge
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable
from tests.support.branch_bench import BranchBench, TrustingRows, tree
from tests.support.commit_tables import data_files, message
from tests.support.lifecycle import run

Roots: TypeAlias = Callable[[], Path]

_TABLE: Final = Identifier(database="db", table="t")
_BRANCHES: Final = ("main", "dev", "exp")
_RULES: Final = MergeRules(isolation=Isolation.SNAPSHOT)
_BUCKETS: Final = 2
_KEYS: Final = 12

# A branch or two, what is done there, and numbers to choose files or keys with.
_steps = st.lists(
    st.tuples(
        st.sampled_from(_BRANCHES),
        st.sampled_from(("write", "write", "change", "hide", "compact", "merge", "merge")),
        st.integers(0, 1000),
        st.integers(0, 1000),
    ),
    min_size=4,
    max_size=10,
)
# An example commits, merges and reads a dozen times over.
_examples = settings(
    max_examples=max(10, settings.default.max_examples // 4),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    """Gives a folder for each example."""
    numbers = itertools.count()
    return lambda: tmp_path / str(next(numbers))


# What exp wrote comes to main by dev, is compacted there, and must not come again from exp.
_THROUGH_A_THIRD: Final = [
    ("main", "write", 0, 0),
    ("exp", "write", 0, 0),
    ("dev", "merge", 281, 0),
    ("main", "write", 0, 0),
    ("dev", "write", 0, 0),
    ("main", "write", 0, 0),
    ("main", "merge", 0, 0),
    ("main", "compact", 999, 0),
    ("main", "merge", 47, 0),
]

# dev compacts what main has too, is merged, and then hides a row of what it compacted.
_HIDDEN_IN_COMPACTED: Final = {
    "steps": [*[("main", "write", 0, 0)] * 3, ("dev", "compact", 1, 0)],
    "later": [*[("main", "write", 0, 0)] * 2, ("dev", "hide", 0, 0), ("main", "merge", 0, 0)],
}

# dev deletes of a file that it compacted twice, and of which main had deleted too.
_OF_WHAT_WAS_COMPACTED_TWICE: Final = [
    ("main", "hide", 0, 0),
    *[("dev", "compact", 0, 0)] * 2,
    ("dev", "hide", 0, 0),
    ("main", "merge", 0, 0),
]
# The head that main merged first was a compaction.
_AFTER_A_COMPACTED_HEAD: Final = [
    ("main", "hide", 0, 0),
    ("dev", "hide", 0, 0),
    ("dev", "compact", 0, 0),
    ("main", "merge", 0, 0),
    ("dev", "hide", 0, 0),
    ("main", "merge", 0, 0),
]

# main takes a compaction of its own back for what dev deleted, which is no overwrite.
_AFTER_A_COMPACTION_TAKEN_BACK: Final = [
    ("main", "compact", 1, 0),
    ("dev", "hide", 0, 0),
    ("dev", "write", 0, 0),
    ("main", "merge", 0, 0),
    ("dev", "hide", 0, 0),
    ("main", "hide", 0, 0),
    ("dev", "merge", 0, 5),
]
# main deletes what it and dev both took in of exp.
_TAKEN_IN_BY_BOTH: Final = [
    *((branch, "write", 0, 0) for branch in _BRANCHES),
    ("dev", "merge", 1, 0),
    ("main", "merge", 1, 0),
    ("main", "change", 4, 0),
    ("main", "merge", 0, 0),
]
# dev has joined what both deleted, of a file of which main hides more.
_AFTER_A_JOIN: Final = [
    ("main", "hide", 0, 0),
    ("dev", "hide", 1, 0),
    ("dev", "merge", 0, 0),
    ("main", "hide", 0, 0),
    ("main", "merge", 0, 0),
]


@dataclass
class Walk:
    """A table whose branches are written and merged; a kind of table says what rows are."""

    root: Path
    bench: BranchBench = field(init=False)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    read: dict[str, pa.Table] = field(default_factory=dict)
    refused: int = 0

    @cached_property
    def console(self) -> Warehouse:
        """Who looks on all the while, and remembers what it has read."""
        return self.bench.warehouse()

    def start(self) -> None:
        for branch in _BRANCHES[1:]:
            self.bench.branch(branch)

    def twin(self, root: Path) -> Self:
        """The same walk so far, in another folder: a copy of links, as no file is ever changed."""
        shutil.copytree(self.root, root, copy_function=os.link)
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        own = {name: dict(value) for name, value in known.items() if isinstance(value, dict)}
        other = replace(self, root=root, numbers=copy(self.numbers), **own)
        other.bench = BranchBench(root)
        return other

    def play(self, steps: list[tuple[str, str, int, int]]) -> None:
        """Do the steps, each merge with all that must hold of it."""
        for branch, action, first, second in steps:
            if action == "merge":
                others = [each for each in _BRANCHES if each != branch]
                self.merge(others[first % 2], branch)
            else:
                getattr(self, action)(branch, first, second)

    def merge(self, source: str, target: str) -> None:
        """Merge, and see that the outcome is what the model says."""
        plan = self.plan(source, target)
        before = tree(self.root)
        if plan.verdict is MergeVerdict.UNDECIDED:
            self.refused += 1
            assert self.may_be_refused(source, target)
            return
        if not plan.can_run and plan.verdict is not MergeVerdict.UP_TO_DATE:
            self.refused += 1
            with pytest.raises(Refused):
                self.run(source, target, plan)
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            assert self.may_be_refused(source, target), plan.conflicts
            return
        head = self.bench.table(target).head()
        self.run(source, target, plan)
        if plan.verdict is MergeVerdict.UP_TO_DATE:
            assert tree(self.root) == before, "I1"
            assert self.merged(source, target) == self.model(target), "I9"
            return
        expected = self.merged(source, target)
        assert self.content(target) == expected, f"I9: {plan.verdict} {source} to {target}"
        self.take_over(source, target)
        if plan.verdict is MergeVerdict.FAST_FORWARD:
            assert self.content(target) == self.content(source), "I3"
        else:
            new = self.bench.table(target).head()
            assert head is not None
            assert new is not None
            assert new.id == head.id + 1
            rows = new.delta_record_count or 0
            # Both may have deleted one row, which files do not tell.
            is_as_told = rows >= plan.cost.rows_added if plan.cost.files_joined else False
            assert is_as_told or rows == plan.cost.rows_added, "I11"
        assert self.plan(source, target).verdict is MergeVerdict.UP_TO_DATE, "I2"
        after = tree(self.root)
        assert {name: after.get(name) for name in _lasting(before)} == _lasting(before), "I12"

    def plan(self, source: str, target: str) -> MergePlan:
        return preview_merge(self.console, _TABLE, source, target, _RULES)

    def run(self, source: str, target: str, plan: MergePlan) -> None:
        self.bench.call(
            "merge_branch",
            operation=f"merge-{next(self.numbers)}",
            branch=source,
            target=target,
            isolation="snapshot",
            plan_id=plan.id,
            rows=self.engine(),
        )

    def engine(self) -> TrustingRows:
        return TrustingRows()

    def commit(self, branch: str, part: CommitMessage) -> None:
        self.bench.committer(branch).commit([part], user="bob", identifier=next(self.numbers))
        assert self.content(branch) == self.model(branch)

    def live(self, branch: str) -> pa.Table:
        table = self.console.table(_TABLE).on(branch)
        head = table.head()
        if head is None:
            return MANIFEST_ENTRY.empty_table()
        # The name of its list tells a snapshot from all others, whichever branches hold it.
        if head.delta_manifest_list not in self.read:
            self.read[head.delta_manifest_list] = table.live_files(head)
        return self.read[head.delta_manifest_list]

    def without_ledger(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        return {name: data for name, data in files.items() if "/branch-lineage/" not in name}

    def content(self, branch: str) -> object:
        raise NotImplementedError

    def model(self, branch: str) -> object:
        raise NotImplementedError

    def merged(self, source: str, target: str) -> object:
        raise NotImplementedError

    def take_over(self, source: str, target: str) -> None:
        raise NotImplementedError

    def may_be_refused(self, source: str, target: str) -> bool:
        raise NotImplementedError


@dataclass
class KeylessWalk(Walk):
    """Rows have names; a file holds some of them."""

    options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"write-only": "true", "deletion-vectors.enabled": "true"}
    )
    rows: dict[str, frozenset[str]] = field(default_factory=dict)
    seen: dict[str, frozenset[str]] = field(default_factory=dict)
    dead: dict[str, frozenset[str]] = field(default_factory=dict)

    def engine(self) -> TrustingRows:
        return NamedRows(self)

    def start(self) -> None:
        self.bench = BranchBench(self.root, options=dict(self.options))
        self.seen = dict.fromkeys(_BRANCHES, frozenset())
        self.dead = dict.fromkeys(_BRANCHES, frozenset())
        for _ in range(3):
            self.write("main", 0, 0)
        super().start()
        self.seen = dict.fromkeys(_BRANCHES, self.seen["main"])

    def write(self, branch: str, *_: int) -> None:
        name = self.new_file(frozenset(f"row-{next(self.numbers)}" for _ in range(2)))
        self.seen[branch] |= self.rows[name]
        self.commit(branch, message(total_buckets=-1, new_files=self.entries(name)))

    def change(self, branch: str, first: int, second: int) -> None:
        """Delete the rows of a file, or update them."""
        live = self.live(branch)
        if not live.num_rows:
            return
        old = live.slice(first % live.num_rows, 1)
        held = self.rows[old["file_name"][0].as_py()]
        gone = frozenset(self.shown(branch, old))
        parts = {"deleted_files": old} | self.without_vectors(branch, old, "")
        # Fewer rows in another file would be what a delete has left of this one.
        if second % 2 and gone == held:
            name = self.new_file(frozenset(f"row-{next(self.numbers)}" for _ in gone))
            self.seen[branch] |= self.rows[name]
            parts["new_files"] = self.entries(name)
        self.dead[branch] |= gone
        self.commit(branch, message(total_buckets=-1, **parts))

    def compact(self, branch: str, first: int, second: int) -> None:
        live = self.live(branch)
        if live.num_rows < 2:
            return
        size = 2 + first % (live.num_rows - 1)
        start = second % (live.num_rows - size + 1)
        old = live.slice(start, size)
        left = frozenset(self.shown(branch, old))
        vectors = self.without_vectors(branch, old, "compact_")
        new = {} if not left else {"compact_after": self.entries(self.new_file(left))}
        self.commit(branch, message(total_buckets=-1, compact_before=old, **new, **vectors))

    def hide(self, branch: str, first: int, second: int) -> None:
        """Delete a row by a deletion vector."""
        live = self.live(branch)
        if not live.num_rows:
            return
        file = live.slice(first % live.num_rows, 1)
        left = self.shown(branch, file)
        if not left:
            return
        gone = left[second % len(left)]
        (key,) = (each for _, each in keys_of(file))
        at = sorted(self.rows[key[2]]).index(gone)
        hidden = self.vectors(branch).get(key, HiddenRows()) | HiddenRows([at])
        self.dead[branch] |= {gone}
        self.commit(branch, message(total_buckets=-1, **self.index(branch, {key: hidden})))

    def vectors(self, branch: str) -> Mapping[MaskKey, HiddenRows]:
        table = self.console.table(_TABLE).on(branch)
        head = table.head()
        return {} if head is None else read_masks(table, masks_of(table.index_entries(head)))

    def without_vectors(self, branch: str, files: pa.Table, prefix: str) -> dict[str, pa.Table]:
        """What takes the vectors of files that go along with them."""
        gone = {key: HiddenRows() for _, key in keys_of(files)}
        return self.index(branch, gone, prefix)

    def index(
        self, branch: str, vectors: Mapping[MaskKey, HiddenRows], prefix: str = ""
    ) -> dict[str, pa.Table]:
        table = self.bench.table(branch)
        head = table.head()
        assert head is not None
        none = MANIFEST_ENTRY.empty_table()
        moves = FileMoves(add=none, restore=none, remove=none, masks=vectors)
        parts = {}
        for each in write_masks(self.bench.store, table, head, moves):
            for name in ("new_index_files", "deleted_index_files"):
                parts[f"{prefix}{name}"] = getattr(each, name)
        return parts

    def shown(self, branch: str, files: pa.Table) -> list[str]:
        """The rows of files that no vector hides."""
        vectors = self.vectors(branch)
        return sorted(
            row
            for _, key in keys_of(files)
            for at, row in enumerate(sorted(self.rows[key[2]]))
            if at not in vectors.get(key, ())
        )

    def new_file(self, rows: frozenset[str]) -> str:
        name = f"data-f{next(self.numbers)}.parquet"
        self.rows[name] = rows
        return name

    def entries(self, name: str) -> pa.Table:
        short = name.removeprefix("data-").removesuffix(".parquet")
        return data_files([short], rows=len(self.rows[name]), total_buckets=-1)

    def content(self, branch: str) -> object:
        return self.shown(branch, self.live(branch))

    def model(self, branch: str) -> object:
        return sorted(self.seen[branch] - self.dead[branch])

    def merged(self, source: str, target: str) -> object:
        seen = self.seen[source] | self.seen[target]
        return sorted(seen - self.dead[source] - self.dead[target])

    def take_over(self, source: str, target: str) -> None:
        self.seen[target] |= self.seen[source]
        self.dead[target] |= self.dead[source]

    def may_be_refused(self, source: str, target: str) -> bool:
        return bool(
            self.dead[source] - self.dead[target] or self.seen[source] & self.dead[target]
        ) and bool(self.dead[source])


@dataclass
class RewritingWalk(KeylessWalk):
    """No deletion vectors: what is left of a file, or of two, is written as another one."""

    options: ClassVar[Mapping[str, str]] = MappingProxyType({"write-only": "true"})

    def hide(self, branch: str, first: int, second: int) -> None:
        """Delete a row by writing its file again, every third time together with another."""
        live = self.live(branch)
        if not live.num_rows:
            return
        at = {first % live.num_rows, (first + second % 3 // 2) % live.num_rows}
        old = live.take(pa.array(sorted(at)))
        held = self.shown(branch, old)
        if not held:
            return
        gone = held[second % len(held)]
        left = frozenset(held) - {gone}
        parts = {"deleted_files": old} | self.without_vectors(branch, old, "")
        if left:
            parts["new_files"] = self.entries(self.new_file(left))
        self.dead[branch] |= {gone}
        self.commit(branch, message(total_buckets=-1, **parts))


@dataclass
class MixedWalk(RewritingWalk):
    """Rows are deleted by vectors, or by writing what is left of their files again."""

    options: ClassVar[Mapping[str, str]] = KeylessWalk.options

    def hide(self, branch: str, first: int, second: int) -> None:
        hide = RewritingWalk.hide if first % 2 else KeylessWalk.hide
        hide(self, branch, first // 2, second)


class NamedRows(TrustingRows):
    """Joins deletes of files whose rows have names."""

    def __init__(self, walk: KeylessWalk) -> None:
        super().__init__()
        self.walk = walk

    def join_deletes(
        self, _: FileStoreTable, scope: RowScope, work: Sequence[JoinedDeletes], *__: object
    ) -> JoinedRows[CommitMessage]:
        messages, changed = [], []
        for each in work:
            files = pa.concat_tables([each.ours, each.theirs])
            names = dict(
                zip(*(files[n].to_pylist() for n in ("identity", "file_name")), strict=True)
            )
            rows = {
                identity: self.walk.rows[original_name(name)] for identity, name in names.items()
            }
            sides = each_side(each.held, lambda held, rows=rows: sorted(joined(held, rows)))
            new = tuple(packed(joined(dict.fromkeys(held), rows)) for held in each.inserted)
            kept = kept_by_both(each_side(sides, packed), new)
            if kept is None:
                changed.append(str(each.place))
                continue
            left = frozenset(itertools.compress(sides.ours, kept[0]))
            left |= frozenset(itertools.compress(sides.theirs, kept[1]))
            new = {} if not left else {"new_files": self.walk.entries(self.walk.new_file(left))}
            messages.append(message(total_buckets=-1, **new))
        return JoinedRows(messages=tuple(messages), changed=tuple(changed))


def joined(held: HeldFiles, rows: Mapping[str, frozenset[str]]) -> list[str]:
    return [
        row
        for each, hidden in held.items()
        for at, row in enumerate(sorted(rows[each]))
        if at not in (hidden or ())
    ]


def packed(rows: Iterable[str]) -> pa.ChunkedArray:
    return pa.chunked_array([[row.encode() for row in rows]], pa.large_binary())


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
        options = {"write-only": "true", "bucket": str(_BUCKETS)}
        self.bench = BranchBench(self.root, primary_keys=["id"], options=options)
        self.heads = {branch: {} for branch in _BRANCHES}
        self.known = dict.fromkeys(_BRANCHES, frozenset())
        self.put("main", range(0, _KEYS, _BUCKETS))
        self.put("main", range(1, _KEYS, _BUCKETS))
        super().start()
        self.heads = {branch: dict(self.heads["main"]) for branch in _BRANCHES}
        self.known = dict.fromkeys(_BRANCHES, self.known["main"])

    def write(self, branch: str, first: int, second: int) -> None:
        low = first % _KEYS
        self.put(branch, range(low, min(low + 1 + second % 4, _KEYS), _BUCKETS))

    def change(self, branch: str, first: int, second: int) -> None:
        """A writer with a backlog commits two files of a bucket at once."""
        self.write(branch, first, second)

    def hide(self, branch: str, first: int, second: int) -> None:
        """Tables with keys have their vectors from compactions alone."""
        self.write(branch, first, second)

    def put(self, branch: str, keys: range) -> None:
        bucket = keys[0] % _BUCKETS
        number = next(self.numbers)
        self.writes[number] = Write(number, self.known[branch])
        live = self.in_bucket(branch, bucket)
        last = pc.max(live["max_sequence_number"]).as_py()
        start = 0 if last is None else last + 1
        versions = {key: (start + place, number) for place, key in enumerate(keys)}
        self.heads[branch] |= dict.fromkeys(keys, number)
        self.known[branch] |= {number}
        self.commit(branch, self.message(bucket, new_files=self.entry(versions, bucket, 0)))

    def compact(self, branch: str, first: int, _: int) -> None:
        bucket = first % _BUCKETS
        old = self.in_bucket(branch, bucket)
        if old.num_rows < 2:
            return
        new = self.entry(self.versions(old), bucket, 5)
        self.commit(branch, self.message(bucket, compact_before=old, compact_after=new))

    def message(self, bucket: int, **files: pa.Table) -> CommitMessage:
        return message(bucket=bucket, total_buckets=_BUCKETS, **files)

    def entry(self, versions: dict[int, tuple[int, int]], bucket: int, level: int) -> pa.Table:
        name = f"f{next(self.numbers)}"
        self.rows[f"data-{name}.parquet"] = versions
        entry = data_files(
            [name],
            rows=len(versions),
            keys=(min(versions), max(versions)),
            bucket=bucket,
            level=level,
            total_buckets=_BUCKETS,
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
                key % _BUCKETS
                for key, number in self.heads[one].items()
                if number not in self.known[two]
            }
            for one, two in ((source, target), (target, source))
        ]
        return bool(new[0] & new[1])


@pytest.mark.parametrize("kind", [KeylessWalk, RewritingWalk, MixedWalk])
@_examples
@given(steps=_steps)
@example(steps=_THROUGH_A_THIRD)
@example(steps=_TAKEN_IN_BY_BOTH)
def test_merges_of_rows_without_keys_follow_the_model(
    kind: type[KeylessWalk], steps: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = kind(roots())
    walk.start()
    walk.play(steps)


@_examples
@given(steps=_steps)
@example(steps=_THROUGH_A_THIRD)
def test_merges_of_keys_follow_the_model(
    steps: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = KeyedWalk(roots())
    walk.start()
    walk.play(steps)


@_examples
@given(steps=_steps)
def test_inserts_and_compactions_always_merge(
    steps: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = KeylessWalk(roots())
    walk.start()
    walk.play([each for each in steps if each[1] not in ("change", "hide")])
    assert walk.refused == 0, "I7"


@pytest.mark.parametrize("kind", [RewritingWalk, MixedWalk])
@_examples
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(("main", "dev")),
            st.sampled_from(("hide", "hide", "merge", "merge", "compact", "write")),
            st.integers(0, 11),
            st.integers(0, 5),
        ),
        min_size=4,
        max_size=12,
    )
)
@example(steps=_OF_WHAT_WAS_COMPACTED_TWICE)
@example(steps=_AFTER_A_COMPACTED_HEAD)
@example(steps=_AFTER_A_COMPACTION_TAKEN_BACK)
@example(steps=_AFTER_A_JOIN)
def test_deletes_of_rows_always_merge(
    kind: type[Walk], steps: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = kind(roots())
    walk.start()
    # The first of the other branches is main or dev, never the third.
    walk.play([(on, act, 0 if act == "merge" else one, two) for on, act, one, two in steps])
    assert walk.refused == 0, "A2"


@_examples
@given(steps=_steps)
def test_the_order_of_two_merges_does_not_matter(
    steps: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = KeylessWalk(roots())
    walk.start()
    walk.play([each for each in steps if each[1] != "merge"])
    ends = []
    for each, order in ((walk.twin(roots()), ("dev", "exp")), (walk, ("exp", "dev"))):
        for source in order:
            each.merge(source, "main")
        ends.append((each.refused, each.content("main")))
    assert any(refused for refused, _ in ends) or ends[0] == ends[1], "I5"


@pytest.mark.parametrize("kind", [KeylessWalk, RewritingWalk, MixedWalk, KeyedWalk])
@settings(_examples, max_examples=max(5, _examples.max_examples // 3))
@given(steps=_steps)
def test_merges_of_either_branch_into_the_other_hold_the_same_rows(
    kind: type[Walk], steps: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = kind(roots())
    walk.start()
    walk.play(steps)
    twin, before = walk.twin(roots()), walk.refused
    walk.merge("dev", "main")
    twin.merge("main", "dev")
    refused = (walk.refused > before, twin.refused > before)
    # The rules for tables without keys speak of source and target, and refuse one way alone.
    assert kind is not KeyedWalk or refused in ((True, True), (False, False)), "I4"
    assert any(refused) or walk.content("main") == twin.content("dev"), "I4"


@_examples
@given(steps=_steps, later=_steps)
@example(**_HIDDEN_IN_COMPACTED)
def test_undo_brings_back_every_byte_and_the_source_merges_again(
    steps: list[tuple[str, str, int, int]], later: list[tuple[str, str, int, int]], roots: Roots
) -> None:
    walk = KeylessWalk(roots())
    walk.start()
    walk.play(steps)
    walk.write("dev")
    walk.write("main")
    plan = walk.plan("dev", "main")
    if plan.verdict is not MergeVerdict.CLEAN:
        return
    before = _metadata(walk)
    walk.bench.call(
        "merge_branch", operation="undone", branch="dev", isolation="snapshot", plan_id=plan.id
    )
    run(walk.bench, "undo", "undo", operation="undone")
    assert _metadata(walk) == before, "I8"
    walk.play([("main", "merge", 0, 0), *later])


def _lasting(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What is never changed once it is written: all metadata but hints and the ledger."""
    kinds = ("/snapshot-", "/schema-", "/tag-", "/manifest/")
    return {name: data for name, data in files.items() if any(kind in name for kind in kinds)}


def _metadata(walk: Walk) -> dict[str, bytes]:
    """What readers of its branches go by; what an undo takes off lives on in a rescue branch."""
    kept = _lasting(tree(walk.root))
    gone = ("/manifest/", "/branch-rescue-")
    return {name: data for name, data in kept.items() if not any(each in name for each in gone)}
