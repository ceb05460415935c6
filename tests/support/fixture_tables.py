"""The tables of the fixture warehouses, each small and each showing one trait of the format."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.pypaimon_peer import Pypaimon

DATABASE: Final = "fixtures"

# Writers expire and compact on their own unless told not to; the fixtures decide when.
_KEEP: Final = {"write-only": "true"}

_NOON: Final = dt.datetime(2024, 2, 29, 12, 34, 56, 789123)

# Per type: two values, the second at an edge.
ATOMIC: Final[dict[str, tuple[str, Any, Any]]] = {
    "boolean": ("BOOLEAN", True, False),
    "tinyint": ("TINYINT", 7, -128),
    "smallint": ("SMALLINT", 300, -32768),
    "int": ("INT", 70_000, -2_147_483_648),
    "bigint": ("BIGINT", 5_000_000_000, -9_223_372_036_854_775_808),
    "float": ("FLOAT", 1.5, -0.25),
    "double": ("DOUBLE", 2.75, 1e300),
    "decimal": ("DECIMAL(10, 2)", Decimal("12.34"), Decimal("-99999999.99")),
    "big_decimal": ("DECIMAL(30, 5)", Decimal("-1.50000"), Decimal("1234567890123456789012345.6")),
    "char": ("CHAR(5)", "abcde", "é"),
    "varchar": ("VARCHAR(20)", "short", "longer than inline"),
    "string": ("STRING", "a/b=c 0", "Zürich: 100 %"),
    "date": ("DATE", dt.date(2024, 2, 29), dt.date(1969, 12, 31)),
    "time": ("TIME(3)", dt.time(12, 34, 56, 789000), dt.time(0, 0)),
    "timestamp3": (
        "TIMESTAMP(3)",
        _NOON.replace(microsecond=789000),
        dt.datetime(1969, 12, 31, 23, 59, 59, 1000),
    ),
    "timestamp6": ("TIMESTAMP(6)", _NOON, dt.datetime(1969, 12, 31, 23, 59, 59, 1)),
    "timestamp_ltz": (
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        _NOON.replace(tzinfo=dt.UTC),
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
    ),
    "binary": ("BINARY(3)", b"abc", b"\x00\xff\x7f"),
    "bytes": ("BYTES", b"longer than inline", b""),
}

# With legacy partition names Paimon puts an object's address into the path of a binary value, and
# cannot read the partition again.
_BINARY: Final = ("binary", "bytes")

_NESTED: Final[dict[str, tuple[Any, Any, Any]]] = {
    "numbers": ({"type": "ARRAY", "element": "INT"}, [1, None, 3], []),
    "counts": ({"type": "MAP", "key": "STRING", "value": "BIGINT"}, {"a": 1, "b": None}, {}),
    "bag": ({"type": "MULTISET", "element": "STRING"}, {"x": 2}, {}),
    "place": (
        {
            "type": "ROW",
            "fields": [
                {"id": 0, "name": "city", "type": "STRING"},
                {
                    "id": 1,
                    "name": "corner",
                    "type": {
                        "type": "ROW",
                        "fields": [
                            {"id": 2, "name": "x", "type": "DOUBLE"},
                            {"id": 3, "name": "y", "type": "DOUBLE"},
                        ],
                    },
                },
            ],
        },
        ("Oslo", (1.0, 2.0)),
        (None, None),
    ),
    "deep": (
        {"type": "MAP", "key": "INT", "value": {"type": "ARRAY", "element": "DECIMAL(30, 5)"}},
        {1: [Decimal("1.00000"), None]},
        {2: None},
    ),
}

_PEOPLE: Final = {"id": "INT NOT NULL", "name": "STRING", "amount": "BIGINT"}


def build_all(paimon: JavaPaimon) -> None:
    """Build every table of the fixture warehouses."""
    for build in _BUILDERS:
        build(paimon)
    other = paimon.create_table("other.solo", {"id": "INT"}, options=_KEEP)
    other.write([(1,), (2,)])


def build_with_pypaimon(peer: Pypaimon) -> None:
    """Build the tables of the fixture warehouse of the Python implementation."""
    options = {**_KEEP, "metadata.stats-mode": "full"}
    people = {"id": "INT", "name": "STRING", "amount": "BIGINT"}
    dated = {"day": "STRING", **people}
    makes: dict[str, tuple[dict[str, str], list[str], list[str], dict[str, str]]] = {
        "append": (people, [], [], {}),
        "append_without_stats": (people, [], [], {"metadata.stats-mode": "none"}),
        "append_partitioned": (dated, ["day"], [], {}),
        "append_bucketed": (people, [], [], {"bucket": "2", "bucket-key": "id"}),
        "key": (people, [], ["id"], {"bucket": "2"}),
        "key_partitioned": (dated, ["day"], ["day", "id"], {"bucket": "1"}),
    }
    for name, (fields, partition_keys, primary_keys, extra) in makes.items():
        table = f"{DATABASE}.{name}"
        peer.create_table(
            table,
            fields,
            partition_keys=partition_keys,
            primary_keys=primary_keys,
            options={**options, **extra},
        )
        for start in (0, 3):
            rows = [(number, f"name {number}", None) for number in range(start, start + 5)]
            days = [("d1", *row) for row in rows] + [("a/b=c", *row) for row in rows[:2]]
            peer.write(table, fields, days if partition_keys else rows)
            if start == 0:
                peer.create_tag(table, "base")
                peer.create_branch(table, "dev", "base")
        last = [(99, "on the branch", 99)]
        peer.write(f"{table}$branch_dev", fields, [("d2", *last[0])] if partition_keys else last)
        peer.create_branch(table, "empty")


def _append(paimon: JavaPaimon) -> None:
    table = _make(paimon, "append", _PEOPLE, comment="Rows without keys, in no bucket")
    table.write([(1, "ann", 10), (2, "bob", None)])
    table.create_tag("first")
    table.write([(3, None, 30)])
    table.create_tag("kept-a-year", retained=dt.timedelta(days=365))
    table.write([(4, "dan", 40), (5, "eve", 50)], overwrite={})
    table.write([(6, "fay", 60)])
    columns = {"id": {"distinct": 3, "min": 4, "max": 6, "nulls": 0}, "name": {"max_len": 3}}
    table.analyze(rows=3, size=120, columns=columns)
    table.set_consumer("reader", 3)
    table.set_consumer("late-reader", 1)
    table.set_options({"snapshot.num-retained.min": "100"})


def _append_bucketed(paimon: JavaPaimon) -> None:
    table = _make(paimon, "append_bucketed", _PEOPLE, options={"bucket": "3", "bucket-key": "id"})
    for start in (0, 10, 20):
        table.write([(start + i, f"name {start + i}", i) for i in range(10)])
    table.compact()
    table.write([(100, "after", 1)])


def _append_partitioned(paimon: JavaPaimon) -> None:
    fields = {"day": "STRING", "region": "STRING", **_PEOPLE}
    table = _make(paimon, "append_partitioned", fields, partition_keys=["day", "region"])
    table.write([("2024-01-01", "eu", 1, "ann", 1), ("2024-01-02", "us", 2, "bob", 2)])
    table.write([("a/b=c 0", None, 3, "cy", 3), ("", "  ", 4, "di", 4), ("%:?*", "ü", 5, "ed", 5)])
    table.write([("2024-01-01", "eu", 6, "fay", 6)], overwrite={"day": "2024-01-01"})
    table.write([("2024-01-01", "eu", 7, "gus", 7)])
    table.compact(options={"compaction.min.file-num": "2"})
    table.write([("2024-01-01", "eu", 8, "hal", 8)])


def _keys(paimon: JavaPaimon) -> None:
    table = _make(paimon, "key_levels", _PEOPLE, primary_keys=["id"], options={"bucket": "2"})
    # The lowest run must outweigh the rest, or a compaction that is not full takes it in as well.
    table.write([(i, f"name {i * i}", i) for i in range(3000)])
    table.compact()
    table.create_tag("compacted")
    for number in range(1, 7):
        table.write([(i, f"round {number}", number) for i in range(0, 90, 9)])
    table.compact(full=False)
    table.create_tag("two-levels")
    table.delete([(9, None, None), (18, None, None)])
    table.write([(5000, "new", 1), (1, "newest", 2)])

    table = _make(
        paimon,
        "key_partial_update",
        {**_PEOPLE, "note": "STRING"},
        primary_keys=["id"],
        options={"bucket": "1", "merge-engine": "partial-update"},
    )
    table.write([(1, "ann", None, None), (2, None, 20, None)])
    table.write([(1, None, 10, None), (2, "bob", None, "second")])
    table.compact()
    table.write([(1, None, None, "later")])

    table = _make(
        paimon,
        "key_aggregation",
        _PEOPLE,
        primary_keys=["id"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.amount.aggregate-function": "sum",
            "fields.name.aggregate-function": "max",
        },
    )
    table.write([(1, "ann", 10), (2, "bob", 20)])
    table.write([(1, "zoe", 5), (2, "abe", -3)])
    table.compact()
    table.write([(1, "bea", 1)])

    table = _make(
        paimon,
        "key_first_row",
        _PEOPLE,
        primary_keys=["id"],
        options={"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"},
    )
    table.write([(1, "first", 1), (2, "first", 1)])
    table.write([(1, "second", 2), (3, "second", 2)])
    table.compact()
    table.write([(3, "third", 3)])

    table = _make(
        paimon,
        "key_sequence_field",
        _PEOPLE,
        primary_keys=["id"],
        options={"bucket": "1", "sequence.field": "amount"},
    )
    table.write([(1, "high", 10), (2, "low", 1)])
    table.write([(1, "low", 5), (2, "high", 20)])


def _key_partitioned(paimon: JavaPaimon) -> None:
    fields = {"day": "DATE NOT NULL", **_PEOPLE}
    table = _make(
        paimon,
        "key_partitioned",
        fields,
        partition_keys=["day"],
        primary_keys=["day", "id"],
        options={"bucket": "2"},
        comment="Keys in buckets of partitions",
    )
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    table.write([(day, i, "old", i) for day in days for i in range(8)])
    table.compact()
    table.create_tag("base")
    table.write([(days[1], i, "new", i) for i in range(0, 8, 2)])
    table.create_branch("fixes", "base")
    table.on("fixes").write([(days[0], 1, "fixed", 1), (dt.date(2024, 1, 3), 1, "added", 1)])
    table.on("fixes").compact()


def _partition_types(paimon: JavaPaimon) -> None:
    for name, (written, first, second) in ATOMIC.items():
        table = _make(
            paimon,
            f"partition_{name}",
            {"id": "INT", "part": written},
            partition_keys=["part"],
            options={"partition.legacy-name": str(name not in _BINARY).lower()},
        )
        table.write([(1, first), (2, second), (3, None)])
        table.write([(4, first)])

    names = [name for name in ATOMIC if name not in _BINARY]
    table = _make(
        paimon,
        "partition_all",
        {"id": "INT", **{name: ATOMIC[name][0] for name in names}},
        partition_keys=names,
    )
    table.write([(1, *(ATOMIC[name][1] for name in names))])
    table.write([(2, *(ATOMIC[name][2] for name in names)), (3, *(None for _ in names))])

    table = _make(
        paimon,
        "partition_readable",
        {"id": "INT", "day": "DATE", "at": "TIMESTAMP(3)"},
        partition_keys=["day", "at"],
        options={"partition.legacy-name": "false"},
    )
    table.write([(1, dt.date(2024, 2, 29), _NOON.replace(microsecond=789000)), (2, None, None)])


def _all_types(paimon: JavaPaimon) -> None:
    values = {**ATOMIC, **_NESTED}
    fields = {"id": "INT NOT NULL", **{name: written for name, (written, _, _) in values.items()}}
    rows = [
        (1, *(first for _, first, _ in values.values())),
        (2, *(second for _, _, second in values.values())),
        (3, *(None for _ in values)),
    ]
    table = _make(paimon, "all_types", fields, options={"metadata.stats-mode": "full"})
    table.write(rows)
    table = _make(paimon, "all_types_key", fields, primary_keys=["id"], options={"bucket": "1"})
    table.write(rows)
    table.compact()
    table.write(rows[:1])
    keys = [name for name in ATOMIC if name not in _BINARY]
    key_fields = {"payload": "INT", **{name: f"{ATOMIC[name][0]} NOT NULL" for name in keys}}
    table = _make(paimon, "all_keys", key_fields, primary_keys=keys, options={"bucket": "4"})
    table.write([(1, *(ATOMIC[key][1] for key in keys)), (2, *(ATOMIC[key][2] for key in keys))])


def _formats_and_stats(paimon: JavaPaimon) -> None:
    for file_format in ("orc", "avro"):
        table = _make(
            paimon, f"format_{file_format}", _PEOPLE, options={"file.format": file_format}
        )
        table.write([(1, "ann", 10), (2, None, None)])
    for mode in ("none", "counts", "full"):
        table = _make(paimon, f"stats_{mode}", _PEOPLE, options={"metadata.stats-mode": mode})
        table.write([(1, "a name longer than sixteen characters", 10), (2, None, None)])
    table = _make(
        paimon,
        "stats_not_dense",
        _PEOPLE,
        options={"metadata.stats-dense-store": "false", "fields.name.stats-mode": "none"},
    )
    table.write([(1, "ann", 10)])
    for name, threshold in (("in_manifest", "1 MB"), ("beside_data", "1 B")):
        table = _make(
            paimon,
            f"index_{name}",
            _PEOPLE,
            options={
                "file-index.bloom-filter.columns": "id",
                "file-index.bloom-filter.id.items": "20",
                "file-index.in-manifest-threshold": threshold,
            },
        )
        table.write([(1, "ann", 10), (2, "bob", 20)])
    table = _make(paimon, "manifests_merged", _PEOPLE, options={"manifest.merge-min-count": "3"})
    for number in range(8):
        table.write([(number, f"name {number}", number)])


def _evolution(paimon: JavaPaimon) -> None:
    place = {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "city", "type": "STRING"},
            {"id": 1, "name": "code", "type": "INT"},
        ],
    }
    for name, keys in (("evolution", ()), ("evolution_key", ("id",))):
        fields = {"id": "INT NOT NULL", "a": "INT", "b": "STRING", "c": "FLOAT", "place": place}
        bucket = {"bucket": "1"} if keys else {}
        table = _make(paimon, name, fields, primary_keys=list(keys), options=bucket)
        table.write([(1, 1, "one", 1.5, ("Oslo", 1)), (2, 2, "two", 2.5, None)])
        table.create_tag("first-schema")
        table.add_column("added", "STRING", "Came second")
        table.write([(3, 3, "three", 3.5, ("Rome", 3), "new")])
        table.rename_column("b", "text")
        table.retype_column("a", "BIGINT")
        table.write([(4, 4_000_000_000, "four", 4.5, ("Bern", 4), "more")])
        table.drop_column("c")
        table.add_column("place.zip", "STRING")
        table.write([(5, 5, "five", ("Kyiv", 5, "01001"), "yet more")])
        table.rename_column("added", "c")
        table.retype_column("place.code", "BIGINT")
        table.write([(1, 6, "six", ("Lund", 6, None), "again")])
        table.set_comment("Six schemas and more")


def _branches(paimon: JavaPaimon) -> None:
    table = _make(paimon, "branches_ahead", _PEOPLE, comment="main may be fast-forwarded")
    table.write([(1, "ann", 10)])
    table.write([(2, "bob", 20)])
    table.create_tag("base")
    for name in ("ahead", "idle"):
        table.create_branch(name, "base")
    table.on("ahead").write([(3, "cy", 30)])
    table.on("ahead").add_column("note", "STRING")
    table.on("ahead").write([(4, "di", 40, "noted")])
    table.on("ahead").create_tag("on-branch")

    table = _make(paimon, "branches_diverged", _PEOPLE, comment="main went on after the forks")
    table.write([(1, "ann", 10)])
    table.create_tag("base")
    for name in ("behind", "diverged", "evolved"):
        table.create_branch(name, "base")
    table.create_branch("empty")
    table.on("diverged").write([(2, "bob on the branch", 20)])
    table.on("diverged").create_tag("nested-base")
    table.on("diverged").create_branch("nested", "nested-base")
    table.on("nested").write([(3, "cy", 30)])
    table.on("evolved").add_column("note", "STRING")
    table.on("evolved").rename_column("amount", "total")
    table.on("evolved").write([(4, "di", 40, "noted")])
    table.on("evolved").create_tag("short", retained=dt.timedelta(hours=5))
    table.write([(2, "bob on main", 21)])
    table.add_column("remark", "STRING")
    table.write([(5, "ed", 50, "on main")])
    table.write([(6, "fay", 60, "over")], overwrite={})

    table = _make(paimon, "branches_forwarded", _PEOPLE, comment="main took over a branch")
    table.write([(1, "ann", 10)])
    table.create_tag("base")
    table.create_branch("done", "base")
    table.on("done").write([(2, "bob", 20)])
    table.fast_forward("done")
    table.write([(3, "cy", 30)])

    fields = {"day": "STRING", **_PEOPLE}
    table = _make(paimon, "branches_fallback", fields, partition_keys=["day"])
    table.write([("2024-01-01", 1, "main", 10)])
    table.create_branch("older")
    table.on("older").write([("2024-01-01", 1, "hidden", 0), ("2023-12-31", 2, "fallback", 20)])
    table.set_options({"scan.fallback-branch": "older"})

    if paimon.version != "1.4.2":
        table = _make(paimon, "branches_merged", _PEOPLE, comment="Merged by Paimon itself")
        table.write([(1, "ann", 10)])
        table.create_tag("base")
        table.create_branch("source", "base")
        table.on("source").write([(2, "bob", 20)])
        table.write([(3, "cy", 30)])
        table.merge_branch("source", "main")


def _deletion_vectors(paimon: JavaPaimon) -> None:
    for suffix, options in (("", {}), ("_64", {"deletion-vectors.bitmap64": "true"})):
        vectors = {"deletion-vectors.enabled": "true", **options}
        table = _make(
            paimon,
            f"vectors_key{suffix}",
            _PEOPLE,
            primary_keys=["id"],
            options={"bucket": "2", **vectors},
        )
        table.write([(i, f"old {i * i}", i) for i in range(2000)])
        table.compact()
        table.write([(i, "new", i) for i in range(0, 100, 5)])
        table.delete([(3, None, None)])
        table.compact(full=False)
        table.create_tag("with-vectors")
        table.write([(7, "level 0 is not read", 7)])

        fields = {"day": "STRING", **_PEOPLE}
        table = _make(
            paimon, f"vectors_append{suffix}", fields, partition_keys=["day"], options=vectors
        )
        table.write([(day, i, "row", i) for day in ("d1", "d2") for i in range(10)])
        files = {file["partition"][0]: file["file_name"] for file in table.live_files()}
        table.delete_positions({files["d1"]: [0, 9], files["d2"]: [4]})
        table.write([("d1", 100, "later", 1)])
        table.delete_positions({files["d2"]: [5]})


def _buckets(paimon: JavaPaimon) -> None:
    table = _make(paimon, "bucket_dynamic", _PEOPLE, primary_keys=["id"], options={"bucket": "-1"})
    table.write([(i, f"name {i}", i) for i in range(12)])
    table.write([(i, "again", i) for i in range(10, 14)])

    table = _make(paimon, "bucket_postpone", _PEOPLE, primary_keys=["id"], options={"bucket": "-2"})
    table.write([(i, f"name {i}", i) for i in range(5)])


def _changelog(paimon: JavaPaimon) -> None:
    table = _make(
        paimon,
        "changelog_input",
        _PEOPLE,
        primary_keys=["id"],
        options={"bucket": "1", "changelog-producer": "input"},
    )
    table.write([(1, "ann", 10), (2, "bob", 20)])
    table.write([(1, "ann", 10)], kind="-U")
    table.write([(1, "anna", 11)], kind="+U")
    table.delete([(2, "bob", 20)])

    table = _make(
        paimon,
        "changelog_compaction",
        _PEOPLE,
        primary_keys=["id"],
        options={"bucket": "1", "changelog-producer": "full-compaction"},
    )
    table.write([(1, "ann", 10)])
    table.compact()
    table.write([(1, "anna", 11), (2, "bob", 20)])
    table.compact()

    table = _make(
        paimon,
        "changelog_decoupled",
        _PEOPLE,
        primary_keys=["id"],
        options={"bucket": "1", "changelog-producer": "input"},
    )
    for number in range(1, 7):
        table.write([(number, f"name {number}", number)])
    table.expire_snapshots(2, keep_changelogs=4)


def _history(paimon: JavaPaimon) -> None:
    table = _make(paimon, "expired", _PEOPLE, primary_keys=["id"], options={"bucket": "1"})
    for number in range(1, 5):
        table.write([(number, f"name {number}", number)])
    table.create_tag("kept", 2)
    table.compact()
    table.write([(9, "last", 9)])
    table.expire_snapshots(2)
    table.create_tag("newest")
    table.create_branch("young", "newest")
    table.on("young").write([(10, "young", 10)])

    table = _make(paimon, "rolled_back", _PEOPLE)
    for number in range(1, 4):
        table.write([(number, f"name {number}", number)])
    table.rollback_to(2)
    table.write([(9, "third again", 9)])

    table = _make(paimon, "truncated", _PEOPLE)
    table.write([(1, "ann", 10)])
    table.truncate()

    _make(paimon, "no_snapshot", _PEOPLE)

    table = _make(paimon, "row_tracking", _PEOPLE, options={"row-tracking.enabled": "true"})
    table.write([(1, "ann", 10), (2, "bob", 20), (3, "cy", 30)])
    table.write([(4, "di", 40)])

    table = _make(
        paimon,
        "data_evolution",
        _PEOPLE,
        options={"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
    )
    table.write_columns(["id", "name"], [(1, "ann"), (2, "bob")])
    table.write_columns(["amount"], [(10,), (20,)], first_row_id=0)
    table.write([(3, "cy", 30)])


_BUILDERS: Final[tuple[Callable[[JavaPaimon], None], ...]] = (
    _append,
    _append_bucketed,
    _append_partitioned,
    _keys,
    _key_partitioned,
    _partition_types,
    _all_types,
    _formats_and_stats,
    _evolution,
    _branches,
    _deletion_vectors,
    _buckets,
    _changelog,
    _history,
)


def _make(
    paimon: JavaPaimon,
    name: str,
    fields: dict[str, Any],
    *,
    partition_keys: list[str] | None = None,
    primary_keys: list[str] | None = None,
    comment: str | None = None,
    options: dict[str, str] | None = None,
) -> JavaTable:
    return paimon.create_table(
        f"{DATABASE}.{name}",
        fields,
        partition_keys=partition_keys or [],
        primary_keys=primary_keys or [],
        comment=comment,
        options={**_KEEP, **(options or {})},
    )
