"""What branches of the catalog name stays: a table that one has not made yet is read on main."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.catalog.catalog_references import LedgerReferences
from branch_console.commit.journal import Journal
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.diff.expiry.retention import HoldKind
from branch_console.errors import PaimonError, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.procedures.maintenance.table_holds import list_holds
from branch_console.storage.table_paths import TablePaths
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import PLAIN, put, rows_in
from tests.support.expiry_bench import AT_ONCE, LATER
from tests.support.faulty_store import At, FaultyStore, Killed

_DAY = 86_400_000
ON_SPRING = ((1, "a"), (2, "b"))


@pytest.fixture
def sql(tmp_path: Path) -> CatalogBench:
    """A table on main; tests give it a branch of the catalog, and then other rows."""
    made = CatalogBench(root=tmp_path / "warehouse")
    made("CREATE DATABASE air")
    made(f"CREATE TABLE air.t {PLAIN}")
    put(made, "air.t", *ON_SPRING)
    return made


def move_on(sql: CatalogBench) -> None:
    """Replace all rows of main."""
    warehouse = sql.warehouse()
    FileStoreCommit(warehouse.table("air.t"), warehouse.store).overwrite([], user="ann")
    put(sql, "air.t", (9, "main"))
    sql.now = LATER


def expire(sql: CatalogBench, **arguments: Any) -> Receipt:
    limits = {"retain_max": 1, "options": AT_ONCE, "grace": "0 s", **arguments}
    return sql.do("expire_snapshots", table="air.t", **limits)


def on_spring(sql: CatalogBench) -> tuple[tuple[Any, ...], ...]:
    return rows_in(
        sql.warehouse().table(replace(Identifier.parse("air.t"), catalog_branch="spring"))
    )


def tag_of(sql: CatalogBench, name: str = "branch-base-spring") -> Path:
    return sql.root / "air.db/t/tag" / f"tag-{name}"


@pytest.mark.parametrize("asks", [True, False], ids=["asked", "not asked"])
def test_an_expiry_keeps_what_a_lazy_branch_reads_when_its_tag_is_gone(
    sql: CatalogBench, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql("CREATE BRANCH spring ON CATALOG LAZY")
    move_on(sql)
    tag_of(sql).unlink()  # another engine deleted it
    if not asks:
        monkeypatch.setattr(LedgerReferences, "snapshots", lambda _: ())
    done = expire(sql)
    if not asks:
        with pytest.raises(PaimonError, match="is lost on catalog branch 'spring'"):
            on_spring(sql)
        return
    assert done.notes[-1] == (
        "Snapshot 1 of 'main' and later ones stay: catalog branch or tag 'spring' reads snapshot "
        "1, and no tag keeps it."
    )
    assert on_spring(sql) == ON_SPRING
    holds = list_holds(sql.warehouse(), Identifier.parse("air.t"))
    assert (HoldKind.CATALOG, "spring", 1) in {
        (each.kind, each.owner, each.since_snapshot) for each in holds
    }
    # A branch of its own, or none any more, holds nothing on main.
    put(sql, "air.t", (3, "spring"), branch="spring")
    assert expire(sql).counts.snapshots_removed == 0  # a merge with it starts from there
    sql.do("drop_catalog_branch", branch="spring")
    assert expire(sql).counts.snapshots_removed == 2


def test_a_tag_that_keeps_it_is_enough(sql: CatalogBench) -> None:
    sql("CREATE BRANCH spring ON CATALOG LAZY")
    move_on(sql)
    assert expire(sql).counts.snapshots_removed == 2
    assert on_spring(sql) == ON_SPRING


@pytest.mark.parametrize("name", ["delete_tag", "rename_tag"])
def test_its_tag_is_neither_deleted_nor_renamed(sql: CatalogBench, name: str) -> None:
    sql("CREATE BRANCH spring ON CATALOG LAZY")
    given = {"tag": "branch-base-spring", **({"target_tag": "t"} if name == "rename_tag" else {})}
    with pytest.raises(Refused, match="catalog branch or tag 'spring' reads there what only"):
        sql.do(name, table="air.t", **given)
    put(sql, "air.t", (3, "spring"), branch="spring")
    with pytest.raises(Refused, match="base tag of branch 'spring'"):
        sql.do(name, table="air.t", **given)


def kept_branch(sql: CatalogBench) -> None:
    """Leave a rescue branch, and then make a branch of the catalog that has the same base tag."""
    sql.do("create_branch", table="air.t", branch="spring")
    sql.do("drop_branch", table="air.t", branch="spring")
    sql("CREATE BRANCH spring ON CATALOG LAZY")
    move_on(sql)


@pytest.mark.parametrize("asks", [True, False], ids=["asked", "not asked"])
def test_a_release_leaves_the_tag_that_a_lazy_branch_reads_by(
    sql: CatalogBench, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_branch(sql)
    (rescue,) = (each.name for each in (sql.root / "air.db/t/branch").iterdir())
    rescue = rescue.removeprefix("branch-")
    sql.now = LATER + 8 * _DAY
    release = {"table": "air.t", "branch": rescue, "grace": "0 s"}
    if not asks:
        monkeypatch.setattr(LedgerReferences, "snapshots", lambda _: ())
        sql.do("release_branch", **release)
        expire(sql)
        with pytest.raises(PaimonError, match="is lost on catalog branch 'spring'"):
            on_spring(sql)
        return
    with pytest.raises(Refused, match="catalog branch or tag 'spring' reads there what only"):
        sql.do("release_branch", **release)
    assert tag_of(sql).exists()
    expire(sql)
    assert on_spring(sql) == ON_SPRING


def test_a_tag_that_a_lazy_branch_came_to_read_by_stays_after_the_grace(sql: CatalogBench) -> None:
    sql.do("create_branch", table="air.t", branch="spring")
    sql.do("drop_branch", table="air.t", branch="spring", reclaim=True)
    sql("CREATE BRANCH spring ON CATALOG LAZY")
    move_on(sql)
    expire(sql)
    assert tag_of(sql).exists()
    assert on_spring(sql) == ON_SPRING


def test_an_open_merge_of_the_catalog_holds_its_tables(sql: CatalogBench, tmp_path: Path) -> None:
    sql(f"CREATE TABLE air.u {PLAIN}")
    put(sql, "air.u", (1, "u"))
    put(sql, "air.u", (2, "u"))
    put(sql, "air.t", (0, "z"))
    sql("CREATE BRANCH spring ON CATALOG")
    put(sql, "air.t", (3, "spring"), branch="spring")
    for number in range(1, 20):
        cut = CatalogBench(root=shutil.copytree(sql.root, tmp_path / f"{number}"))
        cut.store = FaultyStore(inner=store_of(cut.root), fault=At(call=number)).store
        with pytest.raises(Killed):
            cut("MERGE BRANCH spring")
        cut.store = None
        warehouse = cut.warehouse()
        of_table = Journal(warehouse.store, TablePaths(table=f"{cut.root}/air.db/t"))
        has_begun = Journal(warehouse.store, warehouse.ledger.paths).unfinished()
        if has_begun and not of_table.unfinished():
            break
    else:
        raise AssertionError("no merge was cut off before it reached the table")
    cut.now = LATER
    call = f"CALL sys.expire_snapshots('air.t', 1, options => '{AT_ONCE}')"
    texts = [each.text for each in cut.preview(call).blocks]
    assert len(texts) == 1
    assert f"Operation {has_begun[0].operation_id} is at work on air.t, or was cut off" in texts[0]
    # What the merge does not publish is free.
    assert cut.preview(call.replace("air.t", "air.u")).can_run
    cut.recover()
    assert cut.preview(call).can_run
