"""Statements that write, read back by both versions of Paimon."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.schema.schema_commit import add_column, change_schema, retype_column
from branch_console.errors import PaimonError
from branch_console.format.data_types import BIGINT, parse_data_type
from branch_console.spark.session.session import WarmSession
from tests.support.java_child import read_with_java
from tests.support.warehouses import each_version
from tests.support.write_bench import WriteBench

_COLUMNS = {"id": "INT", "name": "STRING", "day": "STRING"}
_KEYED = {"id": "INT NOT NULL", "name": "STRING", "day": "STRING NOT NULL"}
_ROWS = [(i, f"n{i}", f"d{i % 3}") for i in range(30)]


def appended_rows(bench: WriteBench) -> None:
    bench.create("appended", _COLUMNS, partition_keys=("day",))
    assert bench.insert("appended", _ROWS).rows == 30
    frame = bench.session.spark.sql("select 'x' as name, 100 as id, 'd9' as day")
    bench.insert("appended", frame)
    bench.insert("appended", bench.session.spark.sql("select 101, 'y', 'd9'"), by_position=True)
    bench.expect("appended", [*_ROWS, (100, "x", "d9"), (101, "y", "d9")])


def overwritten_partitions(bench: WriteBench) -> None:
    for name, settings in (
        ("over_append", {}),
        ("over_keyed", {"primary_keys": ("id", "day"), "options": {"bucket": "2"}}),
        ("over_dynamic", {"primary_keys": ("id", "day")}),
    ):
        columns = _COLUMNS if name == "over_append" else _KEYED
        bench.create(name, columns, partition_keys=("day",), **settings)
        bench.insert(name, _ROWS)
        bench.overwrite(name, [(1000, "dynamic", "d0")])
        first = [(1000, "dynamic", "d0"), *(row for row in _ROWS if row[2] != "d0")]
        bench.expect(name, first, snapshot=2)
        bench.overwrite(name, [(2000, "static")], partition={"day": "d1"})
        second = [(2000, "static", "d1"), *(row for row in first if row[2] != "d1")]
        bench.expect(name, second, snapshot=3)
        bench.overwrite(name, [], partition={"day": "d2"})
        bench.expect(name, [row for row in second if row[2] != "d2"], snapshot=4)
        bench.overwrite(name, [(3000, "all", "d5")], partition={})
        bench.insert(name, [(3001, "more", "d0")])
        bench.expect(name, [(3000, "all", "d5"), (3001, "more", "d0")])


def lives_of_tables(bench: WriteBench) -> None:
    """Insert, delete, update, compact, and go on writing, each kind of table."""
    for name, columns, settings in _KINDS:
        bench.create(name, columns, **settings)

        def expect(rows: list[tuple[Any, ...]], name: str = name) -> None:
            head = bench.open(name).head()
            assert head is not None
            bench.expect(name, rows, snapshot=head.id)

        bench.insert(name, _ROWS[:20])
        bench.insert(name, _ROWS[20:])
        assert bench.delete(name, "t.id % 4 = 0 and name <> 'n8'", alias="t").rows == 7, name
        rows = [row for row in _ROWS if row[0] % 4 or row[0] == 8]
        expect(rows)
        assert bench.delete(name, "id < 0").snapshot_id is None, name
        changed = bench.update(
            name, {"name": "if(id = 29, null, concat(name, '!', id))"}, "id > 25"
        )
        assert changed.rows == 3, name
        rows = [(i, None if i == 29 else f"n{i}!{i}" if i > 25 else n, d) for i, n, d in rows]
        expect(rows)
        # Where readers wait for compactions, each write has brought its own.
        assert (bench.compact(name).snapshot_id is None) is (name == "key_vectors"), name
        assert bench.compact(name).snapshot_id is None, name
        expect(rows)
        bench.insert(name, [(7, "newest", "d1"), (500, "n", "d1")])
        bench.delete(name, "id = 26")
        keyed = "primary_keys" in settings
        rows = [row for row in rows if row[0] != 26 and not (keyed and row[0] == 7)]
        bench.expect(name, [*rows, (7, "newest", "d1"), (500, "n", "d1")])


def sequences_and_changelogs(bench: WriteBench) -> None:
    options = {"bucket": "1", "sequence.field": "id", "changelog-producer": "input"}
    columns = {"k": "INT NOT NULL", "id": "INT", "v": "STRING"}
    bench.create("sequenced", columns, primary_keys=("k",), options=options)
    bench.insert("sequenced", [(1, 5, "new"), (1, 4, "old"), (2, None, "none")])
    bench.insert("sequenced", [(1, 3, "older"), (2, 0, "first")])
    bench.update("sequenced", {"id": "id + 1", "v": "upper(v)"}, "k = 2")
    bench.insert("sequenced", [(3, 1, "gone")])
    bench.delete("sequenced", "k = 3")
    snapshots = [*bench.open("sequenced").snapshots.walk()]
    assert [each.changelog_record_count for each in snapshots] == [1, 1, 1, 2, 3]
    bench.expect("sequenced", [(1, 5, "new"), (2, 1, "FIRST")])
    first = {"bucket": "1", "merge-engine": "first-row"}
    bench.create("first", columns, primary_keys=("k",), options=first)
    bench.insert("first", [(1, 1, "first"), (1, 2, "second")])
    bench.insert("first", [(1, 3, "third"), (2, 1, "other")])
    bench.expect("first", [(1, 1, "first"), (2, 1, "other")])
    bench.create("replaced", columns, primary_keys=("k",), options=options)
    bench.overwrite("replaced", [(1, 5, "new")])
    bench.expect("replaced", [(1, 5, "new")])


def altered_tables(bench: WriteBench) -> None:
    bench.create("altered", {"id": "INT", "v": "STRING"})
    bench.insert("altered", [(1, "a"), (2, "b"), (3, "c")])
    change_schema(
        bench.open("altered"),
        bench.warehouse.store,
        [add_column("note", parse_data_type("STRING")), retype_column("id", BIGINT)],
        now_millis=1,
    )
    bench.update("altered", {"note": "concat('about ', v)", "id": "id + 3000000000"}, "id = 2")
    bench.delete("altered", "note is null and v = 'c'")
    bench.expect("altered", [(1, "a", None), (3_000_000_002, "b", "about b")])


def rolled_files(bench: WriteBench) -> None:
    options = {"target-file-size": "20 kb", "metadata.stats-mode": "counts"}
    for name, keys in (("rolled", ()), ("rolled_keyed", ("id",))):
        bench.create(
            name,
            {"id": "BIGINT NOT NULL", "v": "STRING"},
            primary_keys=keys,
            options={**options, **({"bucket": "1"} if keys else {})},
        )
        rows = [(i, f"value {i * 7919 % 10007}") for i in range(10_000)]
        assert bench.insert(name, rows).files_added > 1, name
        bench.insert(name, [(20_000, "x")])
        bench.compact(name)
        bench.expect(name, [*rows, (20_000, "x")])


def moved_rows(bench: WriteBench) -> None:
    bench.create("moved", _COLUMNS, partition_keys=("day",))
    bench.insert("moved", _ROWS)
    bench.update("moved", {"day": "'d7'", "id": "id + 1000"}, "day = 'd1'")
    bench.expect("moved", [(i + 1000, n, "d7") if d == "d1" else (i, n, d) for i, n, d in _ROWS])


_VECTORS = {"deletion-vectors.enabled": "true"}
_PK: dict[str, Any] = {"primary_keys": ("id", "day"), "partition_keys": ("day",)}
_KINDS: tuple[tuple[str, dict[str, str], dict[str, Any]], ...] = (
    ("unaware", _COLUMNS, {"partition_keys": ("day",)}),
    ("bucketed", _COLUMNS, {"options": {"bucket": "2", "bucket-key": "id"}}),
    ("vectors", _COLUMNS, {"partition_keys": ("day",), "options": _VECTORS}),
    ("vectors64", _COLUMNS, {"options": {**_VECTORS, "deletion-vectors.bitmap64": "true"}}),
    (
        "bucket_vectors",
        _COLUMNS,
        {"options": {**_VECTORS, "bucket": "2", "bucket-key": "id"}},
    ),
    ("keyed", _KEYED, {**_PK, "options": {"bucket": "2"}}),
    ("dynamic", _KEYED, {**_PK, "options": {"dynamic-bucket.target-row-num": "4"}}),
    ("key_vectors", _KEYED, {**_PK, "options": {**_VECTORS, "bucket": "2"}}),
)

CASES: tuple[Callable[[WriteBench], None], ...] = (
    appended_rows,
    overwritten_partitions,
    lives_of_tables,
    moved_rows,
    sequences_and_changelogs,
    altered_tables,
    rolled_files,
)


@pytest.fixture(scope="module")
def written(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> WriteBench:
    bench = WriteBench(folder=tmp_path_factory.mktemp("written"), session=session)
    for case in CASES:
        case(bench)
    return bench


@pytest.mark.depth("full")
@each_version
def test_java_reads_what_statements_wrote(written: WriteBench, version: str) -> None:
    answers = read_with_java(version, written.folder, written.expected)
    wrong = {
        read: answers[read]
        for read, rows in written.expected.items()
        if isinstance(answers[read], str) or _sorted(answers[read]) != _sorted(rows)
    }
    assert wrong == {}


@pytest.mark.depth("full")
def test_every_file_that_lies_there_is_named(written: WriteBench) -> None:
    for path in sorted((written.folder / "db.db").iterdir()):
        lost = written.files(path.name) - written.named_files(path.name)
        assert lost == set(), path.name


def test_files_that_cannot_hold_such_rows_are_not_read(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = WriteBench(folder=tmp_path, session=session)
    bench.create("t", _COLUMNS, partition_keys=("day",))
    bench.insert("t", _ROWS)
    bench.insert("t", [(i + 100, n, d) for i, n, d in _ROWS])
    for path in (tmp_path / "db.db" / "t" / "day=d2" / "bucket-0").iterdir():
        path.write_bytes(b"broken")
    deleted = bench.delete("t", "id = 101 and day = 'd1'")
    assert (deleted.rows, deleted.files_removed, deleted.files_added) == (1, 1, 1)
    updated = bench.update("t", {"name": "'z'"}, "day = 'd0' and id > 120")
    assert (updated.rows, updated.files_removed, updated.files_added) == (3, 1, 2)
    with pytest.raises(PaimonError, match="cannot be read"):
        bench.delete("t", "upper(name) = 'N2'")


def _sorted(rows: Any) -> list[str]:
    return sorted(map(repr, rows))
