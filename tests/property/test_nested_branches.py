"""Merges between branches that were made from branches, against a model that knows no base.

Each file has a name of its own: a merged branch holds every file that either side has had and that
neither has removed.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from branch_console.diff.changes.file_history import original_name
from branch_console.format.identifier import Identifier
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import MergeVerdict, blocks_of, verdict_of
from branch_console.operations.isolation import Isolation
from branch_console.procedures.merge.inputs import preview_merge
from tests.property.walk_steps import nested
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import message

_TABLE: Final = Identifier(database="db", table="t")
_RULES: Final = MergeRules(isolation=Isolation.SNAPSHOT)
_MOST_BRANCHES: Final = 6

_steps = st.lists(
    st.tuples(
        st.sampled_from(("fork", "add", "add", "remove", "merge", "merge")),
        st.integers(0, 100),
        st.integers(0, 100),
    ),
    min_size=6,
    max_size=16,
)
# feat is made from dev, and dev from main; main takes in feat, then dev.
_FEAT_BEFORE_DEV: Final = [
    ("add", 0, 0),
    ("fork", 0, 0),
    ("add", 1, 0),
    ("fork", 1, 0),
    ("add", 2, 0),
    ("add", 0, 0),
    ("merge", 0, 2),
    ("add", 1, 0),
    ("merge", 0, 1),
]
# main takes in dev and removes of it, and then takes in what was made from dev before.
_REMOVED_BEFORE_FEAT: Final = [
    *(("fork", 0, 0), ("add", 1, 0), ("fork", 1, 0), ("add", 1, 0), ("merge", 0, 1)),
    *(("remove", 0, 1), ("remove", 0, 1), ("add", 2, 0), ("merge", 0, 2)),
]


@dataclass
class Side:
    """What a branch knows: every file it has had, and those that are gone."""

    had: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    @property
    def live(self) -> list[str]:
        return sorted(self.had - self.gone)


class Branches:
    """A table whose branches are made from each other, and the model of it."""

    def __init__(self, root: Path, options: dict[str, str]) -> None:
        self.bench = BranchBench(root, options=options)
        self.sides = {"main": Side()}
        self._numbers = itertools.count()
        self.add("main")

    def step(self, kind: str, first: int, second: int) -> None:
        names = list(self.sides)
        branch, other = names[first % len(names)], names[second % len(names)]
        match kind:
            case "fork" if len(names) < _MOST_BRANCHES:
                self.fork(branch)
            case "add":
                self.add(branch)
            case "remove" if len(self.sides[branch].live) > 1:
                self.remove(branch, second)
            case "merge" if branch != other:
                self.merge(branch, other)

    def fork(self, source: str) -> None:
        name, side = f"b{len(self.sides)}", self.sides[source]
        self.bench.call("create_branch", operation=f"make-{name}", branch=name, from_branch=source)
        self.sides[name] = Side(had=set(side.had), gone=set(side.gone))

    def add(self, branch: str) -> None:
        name = f"f{next(self._numbers)}"
        self.bench.append(name, branch=branch)
        # What is not shared is copied, and so has to be there.
        bucket = Path(self.bench.path, "bucket-0")
        bucket.mkdir(exist_ok=True)
        (bucket / _file(name)).write_text(name)
        self.sides[branch].had.add(name)

    def remove(self, branch: str, number: int) -> None:
        live = self.sides[branch].live
        name = live[number % len(live)]
        table = self.bench.table(branch)
        files = table.live_files(table.head())
        held = map(original_name, files["file_name"].to_pylist())
        gone = files.filter([each == _file(name) for each in held])
        self.bench.committer(branch).commit(
            [message(total_buckets=-1, deleted_files=gone)],
            user="bob",
            identifier=next(self._numbers),
        )
        self.sides[branch].gone.add(name)

    def merge(self, target: str, source: str) -> None:
        plan = preview_merge(self.bench.warehouse(), _TABLE, source, target, _RULES)
        assert verdict_of(plan) not in {MergeVerdict.REFUSED, MergeVerdict.CONFLICTS}, blocks_of(
            plan
        )
        self.bench.call(
            "merge_branch",
            operation=f"merge-{next(self._numbers)}",
            branch=source,
            target=target,
            isolation="snapshot",
        )
        mine, theirs = self.sides[target], self.sides[source]
        mine.had |= theirs.had
        mine.gone |= theirs.gone

    def check(self) -> None:
        for branch, side in self.sides.items():
            held = sorted(map(original_name, self.bench.live_names(branch)))
            assert held == sorted(map(_file, side.live)), branch


def _file(name: str) -> str:
    return f"data-{name}.parquet"


@pytest.fixture
def roots(tmp_path: Path) -> Callable[[], Path]:
    """Gives a folder for each example."""
    numbers = itertools.count()
    return lambda: tmp_path / str(next(numbers))


@nested
@given(steps=_steps, shares=st.booleans())
@example(steps=_FEAT_BEFORE_DEV, shares=True)
@example(steps=_REMOVED_BEFORE_FEAT, shares=True)
@example(steps=_REMOVED_BEFORE_FEAT, shares=False)
def test_branches_of_branches_merge_as_the_model_says(
    steps: list[tuple[str, int, int]], shares: bool, roots: Callable[[], Path]
) -> None:
    branches = Branches(roots(), {"write-only": "true"} if shares else {})
    for step in steps:
        branches.step(*step)
        branches.check()
