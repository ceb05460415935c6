"""Readers of several tables never see a half of a catalog merge that is being published."""

import threading
from pathlib import Path

from branch_console.procedures.statement.query_sources import open_query
from branch_console.sql.query import parse_query
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import PLAIN, put
from tests.support.examples import Examples

_READERS = 4
_FEWEST_MERGES = 3
_TABLES = ("air.a", "air.b", "lab.c")
_QUERY = f"SELECT * FROM {', '.join(_TABLES)}"


def test_four_readers_never_see_a_half_of_a_merge(tmp_path: Path, examples: Examples) -> None:
    """Each merge brings one snapshot to each of three tables: their numbers stay equal."""
    sql = CatalogBench(root=tmp_path / "warehouse")
    sql("CREATE DATABASE air; CREATE DATABASE lab")
    for name in _TABLES:
        sql.now += 1
        sql(f"CREATE TABLE {name} {PLAIN}")
        put(sql, name, (0, "a"))
    sql("CREATE BRANCH dev ON CATALOG")
    wanted = examples(60, quick=12, long=2_500)
    found: list[tuple[int | None, ...]] = []
    notes: set[str] = set()
    left = threading.Semaphore(0)
    merges = 0

    def read() -> None:
        number = 0
        try:
            # On a machine at work all reads may be done before the first merge is.
            while number < wanted or merges < _FEWEST_MERGES:
                number += 1
                warehouse = sql.warehouse(read_only=True)
                opened = open_query(warehouse, parse_query(_QUERY), "main", f"read-{number}")
                found.append(tuple(each.snapshot_id for each in opened.reads))
                notes.update(opened.notes)
        finally:
            left.release()

    readers = [threading.Thread(target=read) for _ in range(_READERS)]
    for each in readers:
        each.start()
    ended = 0
    while ended < _READERS:
        for name in _TABLES:
            put(sql, name, (merges + 1, "dev"), branch="dev")
        sql.run("MERGE BRANCH dev TO main")
        merges += 1
        while left.acquire(blocking=False):
            ended += 1
    for each in readers:
        each.join()
    print(f"{len(found)} reads, {merges} merges, {len(set(found))} states seen")
    assert len(found) >= _READERS * wanted
    assert [each for each in found if len(set(each)) != 1] == []
    assert notes == set()
    assert len(set(found)) > 1
