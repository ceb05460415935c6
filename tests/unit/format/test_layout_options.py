"""Which options of a table stop reads, writes and merges, and which do not."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.format.layout_options import (
    Effect,
    check_rows_read,
    check_rows_written,
    judge,
    unserved_in_writes,
)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sequence.snapshot-ordering", "TRUE"),
        ("fields.tags.map.storage-layout", "shared-shredding"),
        ("fields.a.b.map.storage-layout", "shared-shredding"),
        ("vector.file.format", "lance"),
        ("blob-field", "picture"),
        ("scan.bucket", "0"),
        ("scan.mode", "compacted-full"),
    ],
)
def test_rows_that_lie_otherwise_are_neither_read_nor_written(key: str, value: str) -> None:
    options = {"bucket": "1", key: value}
    with pytest.raises(
        InvalidInput, match=f"cannot read the rows of this table: by '{key}' = '{value}'"
    ):
        check_rows_read(options)
    with pytest.raises(
        InvalidInput, match=f"cannot write rows of this table: by '{key}' = '{value}'"
    ):
        check_rows_written(options)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("upsert-key", "id"),
        ("pk-btree.index.columns", "name"),
        ("write.sequence-number-init-mode", "snapshot"),
        ("a-new-option", "on"),
        ("fields.amount.a-new-option", "on"),
        ("partition.a-new-option", "on"),
        ("write-mode", "change-log"),
    ],
)
def test_rows_that_may_lie_otherwise_are_read_and_not_written(key: str, value: str) -> None:
    check_rows_read({key: value})
    with pytest.raises(InvalidInput, match="Nothing was written") as caught:
        check_rows_written({"bucket": "1", key: value})
    assert caught.value.facts["option"] == key
    assert repr(key) in caught.value.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pk-clustering-override", " False "),
        ("write.sequence-number-init-mode", "scan"),
        ("orc.timestamp-ltz.legacy.type", "true"),
        ("orc.compress.size", "1"),
        ("fields.tags.map.storage-layout", "default"),
        ("fields.amount.aggregate-function", "sum"),
        ("file-index.bloom-filter.columns", "id"),
        ("scan.mode", "latest-full"),
        ("scan.split-enumerator.batch-size", "10"),
        ("sink.parallelism", "4"),
        ("snapshot.time-retained", "1 d"),
        ("metadata.iceberg.storage", "table-location"),
        ("table-read.sequence-number.enabled", "true"),
        ("owner", "ann"),
        ("path", "/a/b"),
        ("transient_lastDdlTime", "1"),
        ("spark.sql.create.version", "4.0"),
        ("custom.team", "air"),
    ],
)
def test_what_says_nothing_of_rows_locks_nobody_out(key: str, value: str) -> None:
    check_rows_read({key: value})
    check_rows_written({key: value})


def test_what_stops_statements_stops_neither_reads_nor_merges() -> None:
    clustered = {"pk-clustering-override": "true"}
    check_rows_read(clustered)
    check_rows_written(clustered, is_merge=True)
    assert list(unserved_in_writes(clustered)) == []
    with pytest.raises(InvalidInput, match="sorted by other columns than the key"):
        check_rows_written(clustered)


def test_an_option_that_nobody_knows_says_the_way_out() -> None:
    found = list(unserved_in_writes({"team": "air", "owner": "ann"}))
    assert found == [
        (
            "team",
            "the option 'team' is on no list of Branch Console, so it may say where or how rows "
            "lie. Unset it, or use Paimon; a note of your own may be named 'custom.team'.",
        )
    ]


def test_a_name_that_begins_or_ends_like_another_is_no_other() -> None:
    assert judge("pk-clustering-override-2") is None
    assert judge("my.fields.a.aggregate-function") is None
    assert judge("bucket") is not None
    assert judge("bucket2") is None
    stopping = judge("orc.timestamp-ltz.legacy.type")
    assert stopping is not None
    assert stopping.effect is Effect.STOPS_READS, "a prefix does not make it harmless"
