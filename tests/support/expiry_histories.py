"""Histories of a table to which anything may happen, ours and what other engines do."""

import itertools
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Set
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.lifecycle.archive import archived_by
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.preview import preview_call
from branch_console.procedures.recover import recover_table
from branch_console.storage import durable
from branch_console.table import manifest_scan
from tests.support import expiry_oracle
from tests.support.branch_bench import store_of, tree
from tests.support.expiry_bench import AT_ONCE, DAYS, LATER, ExpiryBench
from tests.support.expiry_oracle import CHANGELOG, SNAPSHOT, Name, Oracle
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.foreign_expiry import expire_as_paimon

STEPS: Final = 16
FEW_STEPS: Final = 8
_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
_GRACE: Final = 600_000
# Of what fails and is left behind; the last two are the index of a data file, and a stranger.
_ORPHANS: Final = (
    "bucket-0/data-{}-0.parquet",
    "bucket-0/.data-{}-1.parquet.00000000-0000-0000-0000-0000000000aa.tmp",
    "manifest/manifest-{}-0",
    "manifest/manifest-list-{}-0",
    "index/index-{}-0",
    "statistics/stat-{}-0",
    "bucket-0/data-{}-0.parquet.index",
    "bucket-0/notes-{}.txt",
)
_TAGS_BY_THEMSELVES: Final = {
    "tag.automatic-creation": "watermark",
    "tag.num-retained-max": "2",
}
_RARE, _USUAL, _OFTEN = 1, 2, 4


def make_cheap(patch: pytest.MonkeyPatch) -> None:
    """Decode each manifest once, and wait for no disk: nobody cuts the power in a history."""
    for module in (manifest_scan, expiry_oracle):
        for name in ("decode_manifest", "decode_manifest_list"):
            patch.setattr(module, name, lru_cache(maxsize=2_000)(getattr(module, name)))
    patch.setattr(durable, "_sync_side_by_side", lambda _: None)


def begin(root: Path) -> Path:
    """Make the tables with which many histories begin, and return their folder."""
    root.mkdir()
    for has_days in (False, True):
        History(root / str(has_days), Random(0), has_days=has_days)
    return root


class History:
    """A table to which anything may happen, and of which nothing that is named may go missing.

    Attributes:
        log: What happened, a line each.
        done: How often each step came to something.
        lost: What another engine took from names of ours.
        marks: The marks of partitions that are done.
    """

    def __init__(
        self, root: Path, rng: Random, begun: Path | None = None, *, has_days: bool = False
    ) -> None:
        if begun is not None:
            has_days = rng.random() < 0.5
            shutil.copytree(begun / str(has_days), root)
        self.bench = ExpiryBench(root, has_days=has_days)
        self.oracle = Oracle(Path(self.bench.path))
        self.rng = rng
        self.numbers = itertools.count(1)
        self.now = LATER
        self.log: list[str] = []
        self.done: Counter[str] = Counter()
        self.lost: frozenset[str] = frozenset()
        self.marks: set[Path] = set()
        self.waiting: dict[str, tuple[int, frozenset[str]]] = {}
        self.undoable: list[str] = []
        self._steps: dict[Callable[[], bool], int] = {
            self.write: _OFTEN,
            self.rewrite: _OFTEN,
            self.compact: _RARE,
            self.branch: _USUAL,
            self.branch_off: _RARE,
            self.rename: _RARE,
            self.tag: _USUAL,
            self.untag: _RARE,
            self.retag: _RARE,
            self.tag_by_itself: _USUAL,
            self.consume: _RARE,
            self.merge: _USUAL,
            self.fast_forward: _RARE,
            self.replace_main: _RARE,
            self.roll_back: _RARE,
            self.go_back_to: _RARE,
            self.pick: _RARE,
            self.revert: _RARE,
            self.pin: _RARE,
            self.fence: _RARE,
            self.compact_manifests: _RARE,
            self.archive: _RARE,
            self.purge: _RARE,
            self.drop: _RARE,
            self.reclaim: _RARE,
            self.release_rescue: _RARE,
            self.undo: _RARE,
            self.leave_orphans: _USUAL,
            self.expire: _OFTEN,
            self.expire_all: _RARE,
            self.expire_killed: _USUAL,
            self.expire_beside: _USUAL,
            self.expire_and_undo: _USUAL,
            self.expire_tags: _USUAL,
            self.expire_changelogs: _USUAL,
            self.expire_partitions: _USUAL,
            self.expire_partitions_killed: _RARE,
            self.mark_done: _RARE,
            self.lose_files: _RARE,
            self.names_killed: _RARE,
            self.names_and_undo: _RARE,
            self.repair_gap: _USUAL,
            self.clean: _USUAL,
            self.clean_killed: _RARE,
            self.clean_beside: _RARE,
            self.clean_and_undo: _RARE,
            self.expire_as_paimon: _USUAL,
            self.drop_as_paimon: _RARE,
            self.untag_as_paimon: _RARE,
        }
        if begun is None:
            self._write(2)

    def run(self, steps: int = STEPS) -> None:
        """Let things happen, one after the other."""
        acts, weights = list(self._steps), list(self._steps.values())
        for _ in range(steps):
            self.step(self.rng.choices(acts, weights)[0])

    def step(self, act: Callable[[], bool]) -> None:
        """Let one thing happen, and look whether all that is named is there."""
        name = act.__name__
        self.log.append(name)
        try:
            came_to_something = act()
        except PaimonError as error:
            # Where somebody broke something, ours removes nothing at all; else nothing fails.
            if not self.lost:
                raise AssertionError([*self.log, error.message]) from error
            came_to_something = False
        self.done[name] += came_to_something
        broken = self.oracle.broken(self.oracle.names())
        if act == self.expire_as_paimon:
            self.lost |= broken
        assert broken <= self.lost, (self.log, sorted(broken - self.lost))
        assert all(mark.exists() for mark in self.marks), self.log

    def write(self) -> bool:
        return self._write(1, self.any_branch())

    def rewrite(self) -> bool:
        branch = self.any_branch()
        self.bench.swap(self._some_live(branch), (self._name(),), branch=branch)
        return True

    def compact(self) -> bool:
        branch = self.any_branch()
        return self.bench.compact(self._some_live(branch), self._name(), branch=branch)

    def branch(self) -> bool:
        return self.call("create_branch", branch=self._number("b"))

    def branch_off(self) -> bool:
        """A branch of a branch, or at an earlier snapshot, a tag or nothing."""
        name, branch = self._number("b"), self.any_branch()
        begins: list[dict[str, Argument]] = [{"from_branch": branch}, {"empty": True}]
        tags = self._tags(MAIN_BRANCH)
        ids = self.bench.snapshot_ids(branch)
        if tags:
            begins.append({"tag": self.rng.choice(tags)})
        if ids:
            begins.append({"from_branch": branch, "snapshot": self.rng.choice(ids)})
        return self.call("create_branch", branch=name, **self.rng.choice(begins))

    def rename(self) -> bool:
        others = self.branches()[1:]
        return bool(others) and self.call(
            "rename_branch", branch=self.rng.choice(others), to=self._number("r")
        )

    def tag(self) -> bool:
        """A tag of a snapshot by its id, or of the first one from a time or a watermark on."""
        branch = self.any_branch()
        snapshots = self.bench.table(branch).snapshots.all()
        if not snapshots:
            return False
        chosen = self.rng.choice(snapshots)
        ways: list[tuple[str, dict[str, Argument]]] = [
            ("create_tag", {"snapshot": chosen.id}),
            ("create_tag", {"snapshot": chosen.id}),
            ("create_tag_from_timestamp", {"timestamp": chosen.time_millis}),
        ]
        if chosen.watermark is not None:
            ways.append(("create_tag_from_watermark", {"watermark": chosen.watermark}))
        name, given = self.rng.choice(ways)
        kept: dict[str, Argument] = self.rng.choice(({}, {"time_retained": "1 h"}))
        return self.call(name, table=_on(branch), tag=self._number("t"), **given, **kept)

    def retag(self) -> bool:
        """A tag gets another name, or names another snapshot."""
        branch = self.any_branch()
        tags, ids = self._tags(branch), self.bench.snapshot_ids(branch)
        if not tags or not ids:
            return False
        given: dict[str, Argument] = {"table": _on(branch), "tag": self.rng.choice(tags)}
        if self.rng.random() < 0.5:
            return self.call("rename_tag", target_tag=self._number("t"), **given)
        return self.call("replace_tag", snapshot=self.rng.choice(ids), **given)

    def tag_by_itself(self) -> bool:
        """A day begins on a branch: it gets a tag, and loses the oldest of more than two (L4)."""
        branch, before = self.any_branch(), self.oracle.names()
        table = self.bench.table(branch)
        options = table.schema().options
        if any(key not in options for key in _TAGS_BY_THEMSELVES):
            change_schema(
                table, self.bench.store, [set_options(_TAGS_BY_THEMSELVES)], now_millis=self.now
            )
        day = next(self.numbers)
        self.bench.add(self._name(), branch=branch, watermark=day * _DAY)
        self._remove(
            "trigger_tag_automatic_creation",
            _nothing_removed,
            table=_on(branch),
            grace=self.rng.choice(("0 s", "10 min")),
        )
        return self.oracle.names() != before

    def consume(self) -> bool:
        """A reader begins somewhere on a branch, reads on elsewhere, or ends."""
        branch = self.any_branch()
        path = Path(self.bench.table(branch).paths.consumer("reader"))
        ids = self.bench.snapshot_ids(branch)
        if path.exists():
            now = json.loads(path.read_text())["nextSnapshot"]
            # No consumer gets a snapshot back that has expired.
            undo = now in ids and self.rng.random() < 0.5
            if self.rng.random() < 0.5:
                return self._run_whole("clear_consumers", undo=undo, table=_on(branch))
            on = self.rng.choice((None, *(each for each in ids if each != now)))
            given: dict[str, Argument] = {} if on is None else {"next": on}
            return self._run_whole(
                "reset_consumer", undo=undo, table=_on(branch), consumer="reader", **given
            )
        if ids:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({"nextSnapshot": self.rng.choice(ids)}))
        return bool(ids)

    def untag(self) -> bool:
        branch = self.any_branch()
        tags = self._tags(branch)
        return bool(tags) and self.call("delete_tag", table=_on(branch), tag=self.rng.choice(tags))

    def merge(self) -> bool:
        source, target = self._two_branches()
        return source != target and self.call("merge_branch", branch=source, target=target)

    def fast_forward(self) -> bool:
        source, target = self._two_branches()
        return source != target and self.call(
            "fast_forward", branch=source, target=target, force=self.rng.random() < 0.3
        )

    def replace_main(self) -> bool:
        others = self.branches()[1:]
        return bool(others) and self.call("replace_main", branch=self.rng.choice(others))

    def roll_back(self) -> bool:
        branch = self.any_branch()
        ids = self.bench.snapshot_ids(branch)
        return bool(ids) and self.call(
            "rollback",
            table=_on(branch),
            snapshot=self.rng.choice(ids),
            cut=self.rng.random() < 0.5,
        )

    def go_back_to(self) -> bool:
        """A rollback to a tag, or to what a branch was at a time or a watermark."""
        branch = self.any_branch()
        table = self.bench.table(branch)
        ways: list[dict[str, Argument]] = [{"tag": each} for each in self._tags(branch)]
        for each in table.snapshots.all():
            ways.append({"timestamp": each.time_millis})
            if each.watermark is not None:
                ways.append({"watermark": each.watermark})
        return bool(ways) and self.call(
            "rollback",
            table=_on(branch),
            cut=self.rng.random() < 0.5,
            **self.rng.choice(ways),
        )

    def pick(self) -> bool:
        """One commit of a branch lands on another one."""
        source, target = self._two_branches()
        ids = self.bench.snapshot_ids(source)
        return (
            source != target
            and bool(ids)
            and self.call(
                "cherry_pick", branch=source, target=target, snapshot=self.rng.choice(ids)
            )
        )

    def revert(self) -> bool:
        """What one commit did is taken back by a new one."""
        branch = self.any_branch()
        ids = self.bench.snapshot_ids(branch)
        return bool(ids) and self.call("revert", target=branch, snapshot=self.rng.choice(ids))

    def pin(self) -> bool:
        """What a branch shares with main gets a tag, or two of them."""
        others = self.branches()[1:]
        return bool(others) and self.call(
            "pin_branch", branch=self.rng.choice(others), twin=self.rng.random() < 0.5
        )

    def fence(self) -> bool:
        """Main, too, is kept from the expiry of other engines, or no more."""
        return self.call("fence_branch", branch=MAIN_BRANCH, fenced=self.rng.random() < 0.7)

    def compact_manifests(self) -> bool:
        return self.call("compact_manifest", table=_on(self.any_branch()))

    def archive(self) -> bool:
        """A branch that nobody uses takes no writes from here, or takes them again."""
        others = self.branches()[1:]
        return bool(others) and self.call(
            "archive_branch",
            branch=self.rng.choice(others),
            archived=self.rng.random() < 0.7,
        )

    def purge(self) -> bool:
        """Main is emptied, if nothing but main is there; a rescue branch keeps what it held."""
        return self.call("purge_files")

    def drop(self) -> bool:
        others = self.branches()[1:]
        return bool(others) and self.call("drop_branch", branch=self.rng.choice(others))

    def reclaim(self) -> bool:
        """Drop a branch, and let what it alone needs go, at once or after a grace."""
        others = self.branches()[1:]
        return bool(others) and self.call(
            "drop_branch",
            branch=self.rng.choice(others),
            reclaim=True,
            grace=self.rng.choice(("0 s", "10 min")),
        )

    def release_rescue(self) -> bool:
        """Let go what an earlier drop or a forced move kept, once nobody may undo that."""
        self.now += self.rng.choice((0, 31 * _DAY))
        names = self.bench.table().branches.names()
        rescues = [name for name in names if name.startswith("rescue-")]
        return bool(rescues) and self.call(
            "release_branch",
            branch=self.rng.choice(rescues),
            grace=self.rng.choice(("0 s", "10 min")),
        )

    def undo(self) -> bool:
        """Take back one of the last things that was done."""
        return bool(self.undoable) and self.call(
            "undo", operation=self.rng.choice(self.undoable[-3:])
        )

    def leave_orphans(self) -> bool:
        """Files of a commit that failed: old ones, young ones, one that lies beside a live one."""
        for name in self.rng.sample(_ORPHANS, self.rng.randint(1, 4)):
            folder, _, file = name.format(UUID(int=self.rng.getrandbits(128))).partition("/")
            path = Path(self.bench.path) / folder / file
            if folder == "bucket-0" and self.bench.has_days:
                path = self.bench.folder(self.rng.choice(DAYS)) / file
            live = sorted(self.bench.live_names(MAIN_BRANCH))
            if name.endswith(".index") and live and self.rng.random() < 0.5:
                path = self.bench.data_path(f"{self.rng.choice(live)}")
                path = path.with_name(f"{path.name}.index")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"0123456789")
            age = self.rng.choice((_HOUR // 2, 2 * _HOUR, _DAY - 1_000, _DAY + 1_000, 9 * _DAY))
            os.utime(path, ns=((self.now - age) * 1_000_000,) * 2)
        return True

    def expire(self) -> bool:
        """What a preview says is what a run does, and a second run finds nothing (L4, L5)."""
        self.now += self.rng.choice((0, _GRACE // 2, 2 * _GRACE, 8 * _DAY))
        return self._expire(
            table=_on(self.any_branch()),
            retain_max=self.rng.randint(1, 3),
            grace=self.rng.choice(("0 s", "10 min")),
            options=self._options(),
        )

    def expire_all(self) -> bool:
        return self._expire(
            table="db.t",
            retain_max=self.rng.randint(1, 2),
            grace=self.rng.choice(("0 s", "10 min")),
            options=self._options(),
            branches=self.rng.choice(("all", "*", "[bm]*", "main")),
        )

    def expire_killed(self) -> bool:
        """An expiry that dies anywhere is finished by recovery (L2)."""
        given = {"retain_max": 1, "grace": self.rng.choice(("0 s", "10 min"))}
        return self._killed(
            "expire_snapshots", table=_on(self.any_branch()), options=self._options(), **given
        )

    def expire_beside(self) -> bool:
        """Somebody makes a name while an expiry is at work."""
        return self._beside(
            "expire_snapshots",
            table=_on(self.any_branch()),
            retain_max=1,
            options=self._options(),
            grace="0 s",
        )

    def expire_and_undo(self) -> bool:
        """Undo within the grace brings back every byte (L7)."""
        table = _on(self.any_branch())
        # What is over from before goes first; a limit of so many takes nothing more.
        self._run(
            "expire_snapshots", table=table, options="snapshot.num-retained.min=90", grace="0 s"
        )
        before = self._bytes()
        done = self._run(
            "expire_snapshots", table=table, retain_max=1, options=AT_ONCE, grace="10 min"
        )
        if not done.counts.snapshots_removed:
            return False
        self._run("undo", operation=done.operation_id)
        assert self._bytes() == before, self.log
        return True

    def expire_tags(self) -> bool:
        """Tags past their time go, or all that are older than a time; files as with snapshots."""
        self.now += self.rng.choice((0, 2 * _GRACE, 8 * _DAY))
        return self._remove("expire_tags", _tags_removed, **self._tag_expiry())

    def expire_changelogs(self) -> bool:
        """Changelogs that outlived their snapshots go, and what only they need."""
        self.now += self.rng.choice((0, 2 * _GRACE, 8 * _DAY))
        before = len(self._changelogs())
        self._remove("expire_changelogs", lambda _: 0, **self._changelog_expiry())
        return len(self._changelogs()) < before

    def expire_partitions(self) -> bool:
        """Exactly the days go that are too old, with no byte; undo brings them back (L4, L5)."""
        branch = self.any_branch()
        if not self.bench.has_days or self._is_archived(branch):
            return False
        given = self._partition_expiry(branch)
        days, goes = self.bench.live_by_day(branch), self._days_past(branch, given)
        due = self._days_past(branch, {**given, "max_expires": len(DAYS)})
        before = self._bytes()
        planned = self._preview("expire_partitions", **given)
        done = self._run("expire_partitions", **given)
        assert done.plan_id == planned.plan_id, self.log
        assert planned.expected is not None
        assert planned.expected.answer == done.answer, self.log
        told = [each["expired_partitions"] for each in done.answer]
        assert told == [f"name={day}" for day in goes], (self.log, told, goes)
        left = {day: files for day, files in days.items() if day not in goes}
        assert self.bench.live_by_day(branch) == left, self.log
        assert before.items() <= self._bytes().items(), self.log
        if not goes:
            return False
        if self.rng.random() < 0.5:
            self._run("undo", operation=done.operation_id)
            assert self.bench.live_by_day(branch) == days, self.log
            assert before.items() <= self._bytes().items(), self.log
            return True
        self.undoable.append(done.operation_id)
        again = self._run("expire_partitions", **{**given, "max_expires": len(DAYS)})
        assert not self._days_past(branch, given), self.log
        assert len(again.answer) == max(0, len(due) - len(goes)), self.log
        return True

    def expire_partitions_killed(self) -> bool:
        """An expiry of partitions that dies anywhere is finished, or never was (L2)."""
        branch = self.any_branch()
        if not self.bench.has_days or self._is_archived(branch):
            return False
        given = self._partition_expiry(branch)
        days, goes = self.bench.live_by_day(branch), self._days_past(branch, given)
        was_killed = self._killed("expire_partitions", **given)
        left = {day: files for day, files in days.items() if day not in goes}
        assert self.bench.live_by_day(branch) in (days, left), self.log
        return was_killed

    def mark_done(self) -> bool:
        """A day gets its mark, which no expiry and no cleaning takes; undo takes it back (L7)."""
        branch = self.any_branch()
        days = sorted(self.bench.live_by_day(branch))
        if not self.bench.has_days or not days:
            return False
        day, before = self.rng.choice(days), self._bytes()
        mark = self.bench.folder(day).parent / "_SUCCESS"
        done = self._run("mark_partition_done", table=_on(branch), partitions=f"name={day}")
        assert mark.exists(), self.log
        if self.rng.random() < 0.5:
            self._run("undo", operation=done.operation_id)
            assert self._bytes() == before, self.log
        else:
            self.marks.add(mark)
        return True

    def lose_files(self) -> bool:
        """Somebody loses data files; a branch names them no longer, others that do stay (L4)."""
        branch = self.any_branch()
        live = self.bench.live_names(branch)
        gone = {each for each in self._some_live(branch) if self.bench.data_path(each).exists()}
        if not gone or self._is_archived(branch):
            return False
        for each in gone:
            self.bench.data_path(each).unlink()
        self.lost |= self.oracle.broken(self.oracle.names())
        missing = sorted(str(path) for path in map(self.bench.data_path, live) if not path.exists())
        given: dict[str, Argument] = {"table": _on(branch)}
        planned = self._preview("remove_unexisting_files", **given)
        done = self._run("remove_unexisting_files", **given)
        assert planned.expected is not None
        assert planned.expected.answer == done.answer, self.log
        assert [each["fileName"] for each in done.answer] == missing, self.log
        left = {each for each in live if self.bench.data_path(each).exists()}
        assert self.bench.live_names(branch) == left, self.log
        again = self._run("remove_unexisting_files", **given)
        assert not again.answer, self.log
        return True

    def names_killed(self) -> bool:
        """An expiry of tags or changelogs that dies anywhere is finished by recovery (L2)."""
        if self.rng.random() < 0.5:
            return self._killed("expire_tags", **self._tag_expiry())
        return self._killed("expire_changelogs", **self._changelog_expiry())

    def names_and_undo(self) -> bool:
        """Undo within the grace brings back every tag and every changelog (L7)."""
        name, given = self.rng.choice(
            (("expire_tags", self._tag_expiry()), ("expire_changelogs", self._changelog_expiry()))
        )
        # What is over from before goes first.
        table = {"table": given["table"]}
        keeping = "snapshot.num-retained.min=90"
        self._run("expire_snapshots", options=keeping, grace="0 s", **table)
        before, names = self._bytes(), self.oracle.names()
        done = self._run(name, **{**given, "grace": "10 min"})
        if self.oracle.names() == names:
            return False
        self._run("undo", operation=done.operation_id)
        assert self._bytes() == before, self.log
        return True

    def repair_gap(self) -> bool:
        """Somebody loses a snapshot; the history begins behind it, or undo brings it back (L7)."""
        branch = self.any_branch()
        ids = self.bench.snapshot_ids(branch)
        if len(ids) < 3:
            return False
        place = self.rng.randrange(1, len(ids) - 1)
        Path(self.bench.table(branch).paths.snapshot(ids[place])).unlink()
        before = self._bytes()
        grace = self.rng.choice(("0 s", "10 min"))
        done = self._run(
            "repair_earliest_snapshot", table=_on(branch), snapshot=ids[place + 1], grace=grace
        )
        assert self.bench.snapshot_ids(branch) == ids[place + 1 :], self.log
        if grace != "0 s" and self.rng.random() < 0.5:
            self._run("undo", operation=done.operation_id)
            assert self._bytes() == before, self.log
            # A gap that stays would stop most of what comes later.
            self._run(
                "repair_earliest_snapshot", table=_on(branch), snapshot=ids[place + 1], grace="0 s"
            )
        return True

    def clean(self) -> bool:
        """Exactly what nothing names goes, once it is old enough (L4, L6)."""
        self.now += self.rng.choice((0, _GRACE // 2, 2 * _GRACE, _DAY))
        grace = self.rng.choice(("0 s", "10 min"))
        hours = self.rng.choice((None, 2, 30))
        given: dict[str, Argument] = {"grace": grace}
        before = self.now - _DAY
        if hours is not None:
            before = self.now - hours * _HOUR
            given["older_than"] = _time(before)
        due = {each for each, (until, _) in self.waiting.items() if until <= self.now}
        noted = self._noted(self.waiting)
        fresh = self._orphans(before) - noted
        over = self._noted(due) - self.oracle.named(self.oracle.names())
        goes = over | (fresh if grace == "0 s" else frozenset())
        files = self.oracle.files()
        planned = self._preview("remove_orphan_files", **given)
        done = self._run("remove_orphan_files", **given)
        assert done.plan_id == planned.plan_id, self.log
        went = files.keys() - self.oracle.files().keys()
        assert went == goes & files.keys(), (self.log, sorted(went ^ (goes & files.keys())))
        assert done.counts.files_removed == len(went), (self.log, done.notes)
        self.waiting = {key: each for key, each in self.waiting.items() if key not in due}
        if grace != "0 s" and fresh:
            self.waiting[done.operation_id] = (self.now + _GRACE, fresh)
        again = self._run("remove_orphan_files", **{**given, "grace": "0 s"})
        assert grace != "0 s" or not again.counts.files_removed, (self.log, again.notes)
        return bool(went or fresh)

    def clean_killed(self) -> bool:
        """A cleaning that dies anywhere is finished by recovery, and loses nothing."""
        was_killed = self._killed("remove_orphan_files", grace="0 s")
        self._clean_all()
        return was_killed

    def clean_beside(self) -> bool:
        """Somebody makes a name while a cleaning is at work."""
        came = self._beside("remove_orphan_files", grace="0 s")
        self._clean_all()
        return came

    def clean_and_undo(self) -> bool:
        """Undo keeps every orphan within the grace, and brings it back from the trash (L7)."""
        self._clean_all()
        self.leave_orphans()
        before = self._bytes()
        grace = self.rng.choice(("0 s", "10 min"))
        done = self._run("remove_orphan_files", grace=grace)
        if done.notes[0].startswith("No file is an orphan"):
            return False
        self._run("undo", operation=done.operation_id)
        assert self._bytes() == before, self.log
        return True

    def expire_as_paimon(self) -> bool:
        return expire_as_paimon(self.bench.table(self.any_branch())) > 0

    def drop_as_paimon(self) -> bool:
        """Paimon removes the folder of a branch; only its tags on main stay."""
        others = self.branches()[1:]
        if others:
            shutil.rmtree(self.bench.table(self.rng.choice(others)).paths.root)
        return bool(others)

    def untag_as_paimon(self) -> bool:
        """A tag goes, and its files stay, as where the engine died in between."""
        branch = self.any_branch()
        tags = self._tags(branch)
        if tags:
            Path(self.bench.table(branch).paths.tag(self.rng.choice(tags))).unlink()
        return bool(tags)

    def branches(self) -> list[str]:
        names = self.bench.table().branches.names()
        return [MAIN_BRANCH, *(name for name in names if not name.startswith("rescue-"))]

    def any_branch(self) -> str:
        return self.rng.choice(self.branches())

    def call(self, name: str, **arguments: Argument) -> bool:
        """Call a procedure, which may refuse, or need rows that nobody wrote."""
        operation = self._number("op-")
        try:
            done = self.bench.run(name, operation, self.now, arguments)
        except (PaimonError, AttributeError, NotImplementedError) as error:
            self.log.append(f"  {type(error).__name__}")
            return False
        if name != "undo" and done.moves:
            self.undoable.append(operation)
        return True

    def _expire(self, **given: Argument) -> bool:
        return self._remove("expire_snapshots", _snapshots_removed, **given)

    def _remove(self, name: str, removed: Callable[[Receipt], int], **given: Argument) -> bool:
        """What a preview says is what a run does, and a second run finds nothing (L4, L5)."""
        names, files = self.oracle.names(), self.oracle.files()
        planned = self._preview(name, **given)
        done = self._run(name, **given)
        assert done.plan_id == planned.plan_id, self.log
        left = self.oracle.names()
        # Exactly what only gone names need goes, no more and no less; what only a name needs of
        # which another engine took metadata may stay, as an orphan.
        gone, needed = names - left, self.oracle.needed(left)
        read = frozenset(each for each in gone if self._can_be_read(each, files.keys()))
        must_go = (self.oracle.needed(read) - needed) & files.keys()
        may_go = self.oracle.needed(gone) - needed
        went = files.keys() - self.oracle.files().keys()
        assert must_go <= went <= may_go, (self.log, sorted(must_go - went), sorted(went - may_go))
        again = self._run(name, **given)
        assert not removed(again), (self.log, again.notes)
        return removed(done) > 0

    def _can_be_read(self, name: Name, there: Set[str]) -> bool:
        """Whether all lists and manifests of a name are there."""
        held = self.oracle.led(name).held
        return all(each in there for each in held if each.startswith("manifest/"))

    def _tag_expiry(self) -> dict[str, Argument]:
        # Of a tag without a time of its own the time of its file counts.
        later = datetime.fromtimestamp(LATER / 1_000, UTC).isoformat()
        return {
            "table": _on(self.any_branch()),
            "older_than": self.rng.choice((None, later)),
            "grace": self.rng.choice(("0 s", "10 min")),
        }

    def _changelog_expiry(self) -> dict[str, Argument]:
        branch = self.rng.choice([each.branch for each in self._changelogs()] or [MAIN_BRANCH])
        limits: dict[str, Argument] = (
            {"delete_all": True}
            if self.rng.random() < 0.5
            else {"retain_max": self.rng.randint(1, 4), "retain_min": 1}
        )
        return {
            "table": _on(branch),
            "grace": self.rng.choice(("0 s", "10 min")),
            **limits,
        }

    def _partition_expiry(self, branch: str) -> dict[str, Argument]:
        """The arguments by which some of the days of a table are too old."""
        newest = datetime.fromisoformat(DAYS[0])
        ago = (self._wall() - newest).days - self.rng.randint(-1, len(DAYS))
        most: dict[str, Argument] = self.rng.choice(({}, {"max_expires": 1}, {"max_expires": 2}))
        return {"table": _on(branch), "expiration_time": f"{max(ago, 1)} d", **most}

    def _days_past(self, branch: str, given: dict[str, Argument]) -> list[str]:
        """The days of a branch that are older than an expiry says, as many as may go at once."""
        kept = timedelta(days=int(str(given["expiration_time"]).removesuffix(" d")))
        live = self.bench.live_by_day(branch)
        old = sorted(day for day in live if datetime.fromisoformat(day) < self._wall() - kept)
        return old[: int(str(given.get("max_expires", 100)))]

    def _wall(self) -> datetime:
        """The time on the wall, as Paimon compares it with that of partitions."""
        return datetime.fromtimestamp(self.now / 1_000)

    def _is_archived(self, branch: str) -> bool:
        return archived_by(self.bench.table().ledger.whole(), branch) is not None

    def _changelogs(self) -> list[Name]:
        """The decoupled changelogs of all branches."""
        found = (each for each in self.oracle.names() if each.kind == CHANGELOG)
        return sorted(found, key=lambda each: (each.branch, each.name))

    def _run_whole(self, name: str, *, undo: bool, **given: Argument) -> bool:
        """Undo brings back every byte that a call took (L7)."""
        before = self._bytes()
        done = self._run(name, **given)
        if self._bytes() == before:
            return False
        if undo:
            self._run("undo", operation=done.operation_id)
            assert self._bytes() == before, self.log
        return True

    def _killed(self, name: str, **given: Argument) -> bool:
        at = At(call=self.rng.randint(1, 40), when=self.rng.choice((When.BEFORE, When.AFTER)))
        faulty = FaultyStore(inner=store_of(self.bench.root), fault=at)
        was_killed = False
        try:
            self._run(name, store=faulty.store, **given)
        except Killed:
            was_killed = True
            names = frozenset(each for each in self.oracle.names() if not each.is_retired)
            broken = self.oracle.broken(names)
            assert broken <= self.lost, (self.log, at, sorted(broken - self.lost))
        self.now += _HOUR  # a young one might be at work yet
        recover_table(self.bench.warehouse(clock=lambda: self.now), self.bench.table())
        return was_killed

    def _beside(self, name: str, **given: Argument) -> bool:
        listed = [(each.branch, each.name) for each in self.oracle.names() if each.kind == SNAPSHOT]
        if not listed:
            return False  # a purge emptied the table
        branch, number = self.rng.choice(sorted(listed))
        is_branch = self.rng.random() < 0.5
        made: list[Path] = []

        def act() -> None:
            source = Path(self.bench.table(branch).paths.root)
            snapshot = source / "snapshot" / f"snapshot-{number}"
            if not snapshot.exists():
                return  # whoever comes so late finds nothing to name
            made.append(self._foreign_branch(source, snapshot) if is_branch else snapshot)
            tags = made[-1] if is_branch else source
            tag = tags / "tag" / f"tag-{self._number('t')}"
            tag.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(snapshot, tag)

        faulty = FaultyStore(
            inner=store_of(self.bench.root), meanwhile={self.rng.randint(1, 40): act}
        )
        try:
            self._run(name, store=faulty.store, **given)
        except PaimonError as error:
            self.log.append(f"  {type(error).__name__}")
        return bool(made)

    def _foreign_branch(self, source: Path, snapshot: Path) -> Path:
        """A branch as Paimon makes it: the snapshot first, then the schemas."""
        root = Path(self.bench.path) / "branch" / f"branch-{self._number('f')}"
        shutil.copytree(source / "schema", root / "schema")
        (root / "snapshot").mkdir()
        shutil.copy(snapshot, root / "snapshot")
        return root

    def _preview(self, name: str, **given: Argument) -> Preview:
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **given},
            actor="ann",
            operation_id="preview",
            role="operator",
        )
        return preview_call(self.bench.warehouse(clock=lambda: self.now), call)

    def _run(self, name: str, *, store: CommitStore | None = None, **given: Argument) -> Receipt:
        return self.bench.run(name, self._number("op-"), self.now, given, store)

    def _write(self, count: int, branch: str = MAIN_BRANCH) -> bool:
        for _ in range(count):
            self.bench.add(self._name(), branch=branch)
        return True

    def _some_live(self, branch: str) -> set[str]:
        live = sorted(self.bench.live_names(branch))
        return set(self.rng.sample(live, self.rng.randint(0, len(live))))

    def _two_branches(self) -> tuple[str, str]:
        return self.any_branch(), self.any_branch()

    def _tags(self, branch: str) -> list[str]:
        """The tags of a branch that are no base tags: people made them."""
        return [name for name in self.bench.table(branch).tags.names() if name.startswith("t")]

    def _options(self) -> str:
        """Options of an expiry, under which changelogs may outlive their snapshots."""
        return self.rng.choice((AT_ONCE, AT_ONCE, f"{AT_ONCE},changelog.num-retained.max=50"))

    def _orphans(self, before: int) -> frozenset[str]:
        """The files that are old enough, and that nothing names."""
        named = self.oracle.named(self.oracle.names())
        return frozenset(
            name
            for name, written in self.oracle.files().items()
            if written < before and not name.endswith(".txt")
            if name.removesuffix(".index") not in named and name not in named
        )

    def _noted(self, operations: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self.waiting[each][1] for each in operations))

    def _clean_all(self) -> None:
        """Have all go that may, so that no list is left whose grace is over."""
        self._run("remove_orphan_files", grace="0 s")
        self.waiting = {key: each for key, each in self.waiting.items() if each[0] > self.now}

    def _bytes(self) -> dict[str, bytes]:
        return {
            path: data
            for path, data in tree(self.bench.root).items()
            if "branch-lineage" not in path and not path.endswith(("EARLIEST", "LATEST"))
        }

    def _number(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers)}"

    def _name(self) -> str:
        """The name of a file, as writers make it."""
        return f"{UUID(int=self.rng.getrandbits(128))}-0"


def _nothing_removed(_: Receipt) -> int:
    return 0


def _snapshots_removed(receipt: Receipt) -> int:
    return receipt.counts.snapshots_removed


def _tags_removed(receipt: Receipt) -> int:
    # A rollback needs its pin while there are older tags, so the pin goes with the next run.
    is_pin = any("Tag 'rollback-" in each for each in receipt.notes)
    return 0 if is_pin else receipt.counts.tags_removed


def _time(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1_000, UTC).isoformat()


def _on(branch: str) -> str:
    return "db.t" if branch == MAIN_BRANCH else f"db.t$branch_{branch}"
