"""K4, read by Paimon: a catalog merge that was cut off, taken up and woken again.

The sweeps are those of `tests/reliability/test_catalog_merge_kills.py`. Of each end Java lists the
databases and tables of main with their rows, and what it finds of the branch in the same folders:
all of the merge, or nothing of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from tests.support.catalog_kill_sweeps import (
    sweep_kills,
    sweep_late_preparations,
    sweep_recoverers,
    sweep_recoveries,
    sweep_sleepers,
)
from tests.support.catalog_kills import MergeKills, spring_cleaning
from tests.support.catalog_rows import Content, SeenCatalog
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon, JavaTable

Tell: TypeAlias = Callable[[Mapping[bool, int]], None]

_ON_DEV = {
    False: {"air.flights": "air.flights", "air.planes": "air.planes", "air.old": "lab.legs"},
    True: {name: name for name in ("air.flights", "air.planes", "lab.legs", "lab.routes")},
}
"""Tables that the branch holds: what main calls them without the merge and with it, and dev."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownByJava:
    """What Paimon shows: the databases, their tables with columns and rows, and rows on dev."""

    databases: tuple[str, ...]
    tables: Mapping[str, tuple[tuple[str, ...], Content]]
    on_dev: Mapping[str, Content]


def shown_by_java(open_java: Callable[[Path], JavaPaimon], root: Path) -> ShownByJava:
    java = open_java(root)
    tables = [
        java.table(f"{database}.{name}")
        for database in java.databases()
        for name in java.tables(database)
    ]
    return ShownByJava(
        databases=tuple(java.databases()),
        tables={each.name: (columns_of(each), rows_of(each)) for each in tables},
        on_dev={each.name: rows_of(each.on("dev")) for each in tables if "dev" in each.branches()},
    )


def columns_of(table: JavaTable) -> tuple[str, ...]:
    return tuple(map(str, table.load().rowType().getFieldNames()))


def rows_of(table: JavaTable) -> Content:
    return tuple(sorted(table.rows(), key=repr))


@pytest.fixture(scope="module")
def kills(
    open_java: Callable[[Path], JavaPaimon], tmp_path_factory: pytest.TempPathFactory
) -> MergeKills:
    """A merge of five tables and two databases, which Paimon reads as we do before and after."""
    root = tmp_path_factory.mktemp("kills") / "origin"
    spring_cleaning(root)
    found = MergeKills(origin=root, judge=partial(shown_by_java, open_java))
    see_it_reads_as_we_do(found, found.old, is_new=False)
    see_it_reads_as_we_do(found, found.new, is_new=True)
    return found


def see_it_reads_as_we_do(kills: MergeKills, seen: SeenCatalog, *, is_new: bool) -> None:
    shown = kills.judged[is_new]
    assert isinstance(shown, ShownByJava)
    assert shown.databases == tuple(sorted(seen.databases))
    assert shown.tables == seen.tables
    for name, of_branch in _ON_DEV[is_new].items():
        assert shown.on_dev[name] == kills.dev.tables[of_branch][1], name


@pytest.fixture
def told(kills: MergeKills, paimon_version: str) -> Tell:
    """Says what a sweep came to."""
    before = kills.read

    def tell(ends: Mapping[bool, int]) -> None:
        print(
            f"Paimon {paimon_version}: {kills.read - before} catalogs read; "
            f"of {sum(ends.values())} ends {ends[True]} hold all, {ends[False]} nothing"
        )

    return tell


@pytest.mark.depth("full")
def test_a_kill_at_any_change_leaves_all_of_a_merge_or_nothing(
    kills: MergeKills, examples: Examples, told: Tell
) -> None:
    ends = sweep_kills(kills, every(kills) if examples.depth == "long" else [kills.decides])
    told(ends)
    assert ends.keys() == {True, False}


@pytest.mark.depth("long")
def test_a_kill_of_its_recovery_leaves_all_of_a_merge_or_nothing(
    kills: MergeKills, rng: Random, told: Tell
) -> None:
    told(sweep_recoveries(kills, every(kills), rng, most=8))


@pytest.mark.depth("long")
def test_two_that_recover_at_once_leave_all_of_a_merge_or_nothing(
    kills: MergeKills,
    rng: Random,
    monkeypatch: pytest.MonkeyPatch,
    told: Tell,
) -> None:
    told(sweep_recoverers(kills, every(kills), rng, monkeypatch))


@pytest.mark.depth("long")
def test_a_runner_that_wakes_up_after_its_recovery_changes_nothing_of_it(
    kills: MergeKills,
    monkeypatch: pytest.MonkeyPatch,
    told: Tell,
) -> None:
    ends = sweep_sleepers(kills, every(kills), monkeypatch)
    told(ends)
    assert ends.keys() == {True, False}


@pytest.mark.depth("long")
def test_what_a_runner_prepares_after_its_recovery_is_ended_though_it_dies(
    kills: MergeKills,
    monkeypatch: pytest.MonkeyPatch,
    told: Tell,
) -> None:
    ends = sweep_late_preparations(kills, kills.begins, monkeypatch)
    told(ends)
    assert ends.keys() == {False}


def every(kills: MergeKills) -> range:
    """The number of each change."""
    return range(1, len(kills.changes) + 1)
