"""Walks: a table whose branches are written and merged, beside a model that knows no merge base."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Self, TypeAlias

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import CommitConflict, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import (
    MergeVerdict,
    Plan,
    can_run,
    conflicts_of,
    cost_of,
    found_by,
    verdict_of,
)
from branch_console.operations.isolation import Isolation
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.table.file_store_table import FileStoreTable
from tests.support.branch_bench import BranchBench, TrustingRows, tree

BRANCHES: Final = ("main", "dev", "exp")

Steps: TypeAlias = list[tuple[str, str, int, int]]
"""A branch or two, what is done there, and numbers to choose files or keys with."""

_TABLE: Final = Identifier(database="db", table="t")
_MEANWHILE: Final = ("write", "compact", "write", "hide", "change")
_RULES: Final = MergeRules(isolation=Isolation.SNAPSHOT)


class WalkBench(BranchBench):
    """Where a walk is made: by one process, which remembers what it has read."""

    @cached_property
    def process(self) -> Warehouse:
        return super().warehouse()

    def warehouse(
        self, store: CommitStore | None = None, clock: Callable[[], int] | None = None
    ) -> Warehouse:
        return self.process

    def table(self, branch: str = "main") -> FileStoreTable:
        return self.process.table(self.identifier).on(branch)


@dataclass
class Walk:
    """A table whose branches are written and merged; a kind of table says what rows are."""

    root: Path
    bench: WalkBench = field(init=False)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    read: dict[str, pa.Table] = field(default_factory=dict)
    refused: int = 0
    carried: int = 0
    stopped: int = 0
    last_operation: str = ""
    has_expired: bool = False

    @cached_property
    def console(self) -> Warehouse:
        """Who looks on all the while, and remembers what it has read."""
        return BranchBench.warehouse(self.bench)

    def start(self) -> None:
        for branch in BRANCHES[1:]:
            self.bench.branch(branch)
        # Data files exist only as entries here, so none may have to be copied.
        self.bench.fence()

    def twin(self, root: Path) -> Self:
        """The same walk so far, in another folder: a copy of links, as no file is ever changed."""
        shutil.copytree(self.root, root, copy_function=os.link)
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        own = {name: dict(value) for name, value in known.items() if isinstance(value, dict)}
        other = replace(self, root=root, numbers=copy(self.numbers), **own)
        other.bench = WalkBench(root)
        return other

    def play(self, steps: Steps) -> None:
        """Do the steps, each merge with all that must hold of it."""
        for branch, action, first, second in steps:
            if action == "merge":
                others = [each for each in BRANCHES if each != branch]
                self.merge(others[first % 2], branch)
            else:
                getattr(self, action)(branch, first, second)
        self.look_again()

    def look_again(self) -> None:
        """See that who knows nothing yet reads the same of every branch."""
        self.bench, self.read = WalkBench(self.root), {}
        self.__dict__.pop("console", None)
        for branch in BRANCHES:
            assert self.content(branch) == self.model(branch), branch

    def merge(self, source: str, target: str) -> None:
        """Merge, and see that the outcome is what the model says."""
        plan = self.plan(source, target)
        before = tree(self.root)
        is_open = verdict_of(plan) is MergeVerdict.UNDECIDED
        found = found_by(plan)
        if is_open and found is not None and found.moves.row_places:
            self.refused += 1
            assert self.may_be_refused(source, target)
            return
        if not can_run(plan) and verdict_of(plan) is not MergeVerdict.UP_TO_DATE:
            self.refused += 1
            with pytest.raises(Refused):
                self.run(source, target, plan)
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            assert self.may_be_refused(source, target) or self.has_expired, conflicts_of(plan)
            return
        head = self.bench.table(target).head()
        try:
            self.run(source, target, plan)
        except Refused:
            # Rows told what files could not; a preview that says clean is never refused.
            assert is_open
            assert self.may_be_refused(source, target) or self.has_expired
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            self.refused += 1
            return
        if verdict_of(plan) is MergeVerdict.UP_TO_DATE:
            assert tree(self.root) == before, "I1"
            assert self.merged(source, target) == self.model(target), "I9"
            return
        expected = self.merged(source, target)
        assert self.content(target) == expected, f"I9: {verdict_of(plan)} {source} to {target}"
        self.take_over(source, target)
        if verdict_of(plan) is MergeVerdict.FAST_FORWARD:
            assert self.content(target) == self.content(source), "I3"
        else:
            new = self.bench.table(target).head()
            assert head is not None
            assert new is not None
            assert new.id == head.id + 1
            rows = new.delta_record_count or 0
            # Both may have deleted one row, which files do not tell.
            found = found_by(plan)
            is_joined = found is not None and bool(found.moves.joins)
            is_as_told = is_joined and rows >= cost_of(plan).records_added
            assert is_as_told or rows == cost_of(plan).records_added, "I11"
        assert verdict_of(self.plan(source, target)) is MergeVerdict.UP_TO_DATE, "I2"
        after = tree(self.root)
        assert {name: after.get(name) for name in lasting(before)} == lasting(before), "I12"

    def merge_late(self, target: str, first: int, second: int) -> None:
        """Merge as planned before the target got another commit: as if planned anew, or not."""
        source = [each for each in BRANCHES if each != target][first % 2]
        seen = self.plan(source, target)
        heads = PlannedHeads.of_plan(seen)
        getattr(self, _MEANWHILE[second % len(_MEANWHILE)])(target, first, second)
        if heads is None or (seen.moves is not None and seen.moves.row_places):
            return
        before = tree(self.root)
        try:
            self.run(source, target, seen, heads=heads.to_text())
        except (Refused, CommitConflict):
            self.stopped += 1
            assert self.without_ledger(tree(self.root)) == self.without_ledger(before), "I10"
            return
        self.carried += 1
        expected = self.merged(source, target)
        assert self.content(target) == expected, f"I11: {verdict_of(seen)} {source} to {target}"
        self.take_over(source, target)
        assert verdict_of(self.plan(source, target)) is MergeVerdict.UP_TO_DATE, "I2"

    def expire(self, branch: str, first: int, _: int) -> None:
        """Remove old snapshots of a branch, and metadata that nothing names any more."""
        table = self.bench.table(branch)
        held = [each.id for each in table.snapshots.walk()]
        for number in held[1 + first % 2 :]:
            Path(table.paths.snapshot(number)).unlink()
            self.has_expired = True
        named = self.named_metadata()
        for path in Path(table.paths.manifest_dir).iterdir():
            if path.name not in named:
                path.unlink()

    def named_metadata(self) -> set[str]:
        """The manifests, their lists and the index manifests of all snapshots and tags."""
        named: set[str] = set()
        for branch in ("main", *self.bench.table().branches.names()):
            table = self.bench.table(branch)
            tagged = (tag.snapshot for tag in table.tags.all())
            for snapshot in itertools.chain(table.snapshots.walk(), tagged):
                lists = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
                for each in lists - named:
                    listed = table.scan.read_list(table.paths, each)
                    named |= {each, *listed["file_name"].to_pylist()}
                named |= {snapshot.index_manifest or ""}
        return named

    def plan(self, source: str, target: str) -> Plan:
        return preview_merge(self.console, _TABLE, source, target, _RULES)

    def run(self, source: str, target: str, plan: Plan, *, heads: str | None = None) -> None:
        self.last_operation = f"merge-{next(self.numbers)}"
        self.bench.call(
            "merge_branch",
            operation=self.last_operation,
            branch=source,
            target=target,
            isolation="snapshot",
            plan_id=plan.id,
            heads=heads,
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

    def branch_files(self, branch: str) -> dict[str, bytes]:
        """What only this branch holds."""
        paths = self.bench.table(branch).paths
        folders = [Path(each) for each in (paths.snapshot_dir, paths.schema_dir, paths.tag_dir)]
        return lasting(
            {str(path): path.read_bytes() for each in folders for path in each.glob("*-*")}
        )

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


def lasting(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What is never changed once it is written: all metadata but hints and the ledger."""
    kinds = ("/snapshot-", "/schema-", "/tag-", "/manifest/")
    return {name: data for name, data in files.items() if any(kind in name for kind in kinds)}
