"""Walks of commits that record no operation: files alone suggest what became of which rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import ClassVar, Final, TypeAlias

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.changes.file_history import Place, keys_of
from branch_console.diff.file_masks import HiddenRows, MaskKey
from branch_console.format.data_types import INT
from branch_console.format.values.binary_row import encode_row
from branch_console.merge.conflict import Conflict, Take
from branch_console.merge.plan import Plan, conflicts_of
from tests.support.commit_tables import UNPARTITIONED, data_files, message
from tests.support.keyless_walks import KeylessWalk
from tests.support.merge_walk import BRANCHES

Fates: TypeAlias = Mapping[str, tuple[int, int, int, int]]
"""How many of ten rows stay, go, change, and change their partition or bucket."""

_KINDS: Final[Fates] = MappingProxyType(
    {
        "insert": (10, 0, 0, 0),
        "delete": (6, 4, 0, 0),
        "update": (6, 0, 4, 0),
        "overwrite": (0, 10, 0, 0),
        "merge into": (5, 2, 2, 1),
        "move": (7, 0, 0, 3),
        "rewrite": (10, 0, 0, 0),
    }
)
_SETTLED_BY: Final = (Take.OURS, Take.THEIRS)


@dataclass
class UnrecordedWalk(KeylessWalk):
    """Every commit is a random one: rows of whole or part partitions stay, go, change and come.

    A merge must leave what both sides left, and all that either added, or be refused.
    """

    partition_keys: ClassVar[tuple[str, ...]] = ("pt",)
    buckets: ClassVar[int] = 1
    bucket_of: dict[str, int] = field(default_factory=dict)
    rewrites: dict[str, frozenset[int]] = field(default_factory=dict)
    settled: int = 0

    def start(self) -> None:
        self.rewrites = dict.fromkeys(BRANCHES, frozenset())
        super().start()

    def write(self, branch: str, first: int = 0, second: int = 0) -> None:
        self.change(branch, first, second, kind="insert")

    def change(self, branch: str, first: int, second: int, kind: str = "") -> None:
        """Commit something random, a little of everything if no kind is given."""
        random = Random(f"{first} {second} {kind}")
        kind = kind or random.choice(sorted(_KINDS))
        live = self.live(branch)
        chosen = [] if kind == "insert" else self.choose(live, random, is_whole=kind == "overwrite")
        hides = self.has_vectors and kind != "overwrite" and random.random() < 0.4
        files = {place: live.take(rows) for place, rows in by_place(live, chosen).items()}
        kept: dict[Place, list[str]] = {}
        new: dict[Place, int] = {}
        vectors: dict[Place, dict[MaskKey, HiddenRows]] = {}
        gone: list[str] = []
        hidden = self.vectors(branch)
        for place, some in sorted(files.items()):
            for _, key in keys_of(some):
                stay = []
                for at, row in enumerate(sorted(self.rows[key[2]])):
                    if at in hidden.get(key, ()):
                        continue
                    fate = random.choices(("stay", "go", "change", "move"), _KINDS[kind])[0]
                    if fate == "stay":
                        stay.append(row)
                        continue
                    gone.append(row)
                    if hides:
                        known = vectors.setdefault(place, {}).get(
                            key, hidden.get(key, HiddenRows())
                        )
                        vectors[place][key] = known | HiddenRows([at])
                    if fate != "go":
                        goal = place if fate == "change" else self.a_place(random)
                        new[goal] = new.get(goal, 0) + 1
                if not hides:
                    kept.setdefault(place, []).extend(stay)
                    vectors.setdefault(place, {})[key] = HiddenRows()
        if kind in ("insert", "overwrite", "merge into"):
            for _ in range(random.randint(1, 6)):
                goal = random.choice(sorted(files)) if kind == "overwrite" and files else None
                goal = goal or self.a_place(random)
                new[goal] = new.get(goal, 0) + 1
        parts = []
        for place in sorted({*kept, *new, *vectors}):
            tables = self.index(branch, vectors[place]) if place in vectors else {}
            made = self.written(branch, place, kept.get(place, ()), new.get(place, 0), random)
            if made:
                tables["new_files"] = pa.concat_tables([self.entries(name) for name in made])
            if place in files and not hides:
                tables["deleted_files"] = files[place]
            if tables:
                parts.append(self.part(place, **tables))
        if not parts:
            return
        self.kill(branch, gone)
        if files:
            self.rewrites[branch] |= {next(self.numbers)}
        self.bench.committer(branch).commit(parts, user="bob", identifier=next(self.numbers))
        assert self.content(branch) == self.model(branch)

    @property
    def has_vectors(self) -> bool:
        return "deletion-vectors.enabled" in self.options

    def choose(self, live: pa.Table, random: Random, *, is_whole: bool) -> list[int]:
        """Some of the live files, often all of one partition, or of the table."""
        if not live.num_rows:
            return []
        partitions = live["partition"].to_pylist()
        wanted = random.choice(sorted(set(partitions)))
        rows = range(live.num_rows)
        here = [row for row in rows if partitions[row] == wanted or random.random() < 0.25]
        if is_whole or random.random() < 0.5:
            touched = {partitions[row] for row in here} if random.random() < 0.5 else {wanted}
            return [row for row in rows if partitions[row] in touched]
        return sorted(random.sample(here, random.randint(1, len(here))))

    def written(
        self, branch: str, place: Place, kept: Sequence[str], count: int, random: Random
    ) -> list[str]:
        """Files of rows that stay and of new ones, in one file or apart."""
        rows = [f"row-{next(self.numbers)}" for _ in range(count)]
        self.seen[branch] |= frozenset(rows)
        together = [*kept, *rows]
        random.shuffle(together)
        cut = random.randint(0, len(together))
        groups = random.choice([[kept, rows], [together], [together[:cut], together[cut:]]])
        return [self.placed(frozenset(each), place) for each in groups if each]

    def placed(self, rows: frozenset[str], place: Place) -> str:
        name = self.new_file(rows)
        self.lies_in[name], self.bucket_of[name] = place
        return name

    def a_place(self, random: Random) -> Place:
        partition = encode_row([random.randrange(2)], [INT])
        return partition if self.partition_keys else UNPARTITIONED, random.randrange(self.buckets)

    def entries(self, name: str) -> pa.Table:
        short = name.removeprefix("data-").removesuffix(".parquet")
        return data_files(
            [short],
            rows=len(self.rows[name]),
            partition=self.lies_in[name],
            bucket=self.bucket_of[name],
            total_buckets=self.total_buckets,
        )

    @property
    def total_buckets(self) -> int:
        return -1 if self.buckets == 1 else self.buckets

    def part(self, place: Place, **files: pa.Table) -> CommitMessage:
        return message(*place, total_buckets=self.total_buckets, **files)

    def compact(self, branch: str, first: int, second: int) -> None:
        """Write files of one bucket as one."""
        live = self.live(branch)
        if not live.num_rows:
            return
        places = by_place(live, range(live.num_rows))
        place = sorted(places)[first % len(places)]
        old = live.take(places[place])
        if old.num_rows < 2:
            return
        old = old.slice(second % (old.num_rows - 1))
        left = frozenset(self.shown(branch, old))
        parts = self.without_vectors(branch, old, "compact_") | {"compact_before": old}
        if left:
            parts["compact_after"] = self.entries(self.placed(left, place))
        self.commit(branch, self.part(place, **parts))

    def new_file(self, rows: frozenset[str], old: pa.Table | None = None) -> str:
        name = super().new_file(rows, old)
        self.bucket_of[name] = 0 if old is None else old["bucket"][0].as_py()
        return name

    def take_over(self, source: str, target: str) -> None:
        super().take_over(source, target)
        self.rewrites[target] |= self.rewrites[source]

    def may_be_refused(self, source: str, target: str) -> bool:
        """Whether the source did more than insert and compact: it may have changed anything."""
        return bool(self.rewrites[source] - self.rewrites[target])

    def run(self, source: str, target: str, plan: Plan) -> None:
        if conflicts_of(plan):
            self.settle(source, target, conflicts_of(plan))
        super().run(source, target, plan)

    def settle(self, source: str, target: str, conflicts: Iterable[Conflict]) -> None:
        """Settle a copy by each side: only that side's version of rows may stand instead."""
        for take in _SETTLED_BY:
            if not all(take in each.settle_with for each in conflicts):
                continue
            copy = self.twin(self.root.with_name(f"{self.root.name}-{next(self.numbers)}"))
            other, kept = (source, target) if take is Take.OURS else (target, source)
            shown = {branch: frozenset(self.content(branch)) for branch in (source, target)}
            copy.bench.call(
                "merge_branch",
                operation=f"settle-{next(self.numbers)}",
                branch=source,
                target=target,
                isolation="snapshot",
                policy=f"version: 1\nkinds: {{whole files: {take}}}",
                rows=copy.engine(),
            )
            found, both = frozenset(copy.content(target)), frozenset(self.merged(source, target))
            assert both - found <= shown[other] - shown[kept], f"{take} loses rows of its own"
            assert found - both <= shown[kept], f"{take} brings rows back"
            self.settled += 1


@dataclass
class RewritingUnrecordedWalk(UnrecordedWalk):
    """The same without deletion vectors."""

    options: ClassVar[Mapping[str, str]] = MappingProxyType({"write-only": "true"})


@dataclass
class UnpartitionedUnrecordedWalk(UnrecordedWalk):
    """The same in one partition."""

    partition_keys: ClassVar[tuple[str, ...]] = ()


@dataclass
class BucketedUnrecordedWalk(UnrecordedWalk):
    """The same in fixed buckets."""

    buckets: ClassVar[int] = 2
    options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {**KeylessWalk.options, "bucket": "2", "bucket-key": "id"}
    )


def by_place(files: pa.Table, rows: Iterable[int]) -> dict[Place, list[int]]:
    """Rows of a table of files, by partition and bucket."""
    found: dict[Place, list[int]] = {}
    columns = [files[name].to_pylist() for name in ("partition", "bucket")]
    for row in rows:
        found.setdefault((columns[0][row], columns[1][row]), []).append(row)
    return found
