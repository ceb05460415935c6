"""Live files: ADD and DELETE folded (C10), manifests skipped by their ranges, broken ones named."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.avro_encoding import (
    VERSION_FIELD,
    one_array,
    paimon_fields,
    relabel,
    version_column,
    write_avro,
)
from branch_console.format.data_types import BIGINT, INT, STRING, DataType
from branch_console.format.manifest_entry import MANIFEST_ENTRY, decode_manifest
from branch_console.format.manifest_list import (
    MANIFEST_FILE_META,
    decode_manifest_list,
    encode_manifest_list,
)
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import encode_row
from branch_console.storage.file_io import FileIO
from branch_console.table import manifest_query, manifest_scan
from branch_console.table.manifest_scan import live_files, prune_manifests
from branch_console.table.scan_filter import ScanFilter
from tests.support.table_files import NO_STATS, TableFiles, a_schema
from tests.unit.table.manifest_entries import ADD, DELETE, added, entries


def force_decoding(monkeypatch: pytest.MonkeyPatch, *, by_query: bool) -> None:
    """Let only the query, or only the codec, decode manifests."""
    monkeypatch.setattr(manifest_query, "_SMALL", -1 if by_query else 10**9)
    if by_query:

        def refuse(_: bytes, name: str) -> pa.Table:
            raise AssertionError(f"The query could not decode {name}.")

        monkeypatch.setattr(manifest_scan, "decode_manifest", refuse)


def names_of(files: pa.Table) -> list[str]:
    return list(files["file_name"].to_pylist())


@pytest.fixture(params=["local", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> TableFiles:
    url = str(tmp_path) if request.param == "local" else f"memory://{tmp_path}"
    made = TableFiles(FileIO.for_url(url))
    made.schema()
    return made


# Folding


def test_files_that_were_only_added_are_live() -> None:
    assert names_of(live_files(added("a", "b"))) == ["a", "b"]


def test_an_added_file_that_was_deleted_is_gone() -> None:
    history = entries((ADD, "a"), (ADD, "b"), (DELETE, "a"))
    assert names_of(live_files(history)) == ["b"]


def test_a_file_that_comes_back_is_live_once() -> None:
    history = entries((ADD, "a"), (DELETE, "a"), (ADD, "b"), (ADD, "a"))
    live = live_files(history)
    assert names_of(live) == ["b", "a"]
    assert live["kind"].to_pylist() == [ADD, ADD]
    assert live["position"].to_pylist() == [2, 3]


def test_an_upgrade_to_another_level_keeps_the_file() -> None:
    upgrade = pa.concat_tables([added("a"), entries((DELETE, "a")), added("a", level=5)])
    assert live_files(upgrade)["level"].to_pylist() == [5]


def test_the_order_of_rewritten_manifests_does_not_matter() -> None:
    assert names_of(live_files(entries((DELETE, "a"), (ADD, "a"), (ADD, "b")))) == ["b"]


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (entries((ADD, "a"), (ADD, "a")), "added twice"),
        (entries((ADD, "b"), (ADD, "a"), (DELETE, "b"), (ADD, "a")), "added twice"),
        (entries((ADD, "a"), (ADD, "a"), (DELETE, "a")), "added twice"),
        (entries((DELETE, "a"), (ADD, "b")), "deleted without being live"),
        (entries((ADD, "a"), (DELETE, "a"), (DELETE, "a")), "deleted without being live"),
    ],
    ids=["twice", "twice beside a delete", "twice then deleted", "left over", "deleted twice"],
)
def test_entries_that_contradict_each_other_are_a_format_error(
    history: pa.Table, message: str
) -> None:
    # C10
    with pytest.raises(FormatError, match=f"file [ab] .* is {message}") as caught:
        live_files(history)
    assert caught.value.facts["manifest"] == "manifest-given"


def test_no_entries_are_no_files() -> None:
    assert live_files(MANIFEST_ENTRY.empty_table()).num_rows == 0


def test_a_file_that_two_manifests_add_is_found_among_many() -> None:
    names = [f"data-{number:036d}-0.parquet" for number in range(500)]
    twice = pa.concat_tables([added(*names), added("short", *names[7:8]), added(*names, bucket=1)])
    for history in (twice, pa.concat_tables([twice, entries((DELETE, names[3]))])):
        with pytest.raises(FormatError, match=f"file {names[7]} .bucket 0, .* added twice"):
            live_files(history)
    assert live_files(pa.concat_tables([twice[:500], twice[502:]])).num_rows == 1000


def test_one_name_in_two_buckets_is_two_files() -> None:
    both = pa.concat_tables([added("a", bucket=0), added("a", bucket=1)])
    assert live_files(both).num_rows == 2


# Reading


@pytest.mark.parametrize("codec", ["null", "zstandard", "snappy", "deflate"])
@pytest.mark.parametrize("count", [3, 300])
def test_a_snapshot_is_read_through_its_lists_in_order(
    files: TableFiles, codec: str, count: int
) -> None:
    first = added(*(f"f{number}" for number in range(count)))
    second = entries((DELETE, "f0"), (ADD, "g"))
    snapshot = files.commit(1, first, second, codec=codec)
    table = files.table()
    assert names_of(table.live_files(snapshot)) == [*(f"f{n}" for n in range(1, count)), "g"]
    read = table.read_manifests(table.manifests(snapshot))
    read.validate(full=True)
    assert read.schema == MANIFEST_ENTRY
    assert read["manifest"].to_pylist() == ["manifest-0"] * count + ["manifest-1"] * 2
    assert read["position"].to_pylist() == [*range(count), 0, 1]


@pytest.mark.parametrize("small", [-1, 10**9], ids=["by query", "by codec"])
def test_both_ways_of_decoding_agree(
    files: TableFiles, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_decoding(monkeypatch, by_query=small < 0)
    given = [added("a", "b"), added("ü", level=3, bucket=7)]
    snapshot = files.commit(1, *given)
    read = files.table().read_manifests(files.table().manifests(snapshot))
    expected = [
        decode_manifest(files.file_io.read(files.paths.manifest(name)), name)
        for name in ("manifest-0", "manifest-1")
    ]
    assert read.equals(pa.concat_tables(expected))


def test_a_manifest_may_be_empty(files: TableFiles) -> None:
    snapshot = files.commit(1, MANIFEST_ENTRY.empty_table(), added("a"))
    assert names_of(files.table().live_files(snapshot)) == ["a"]


def _as_old_releases_wrote(given: pa.Table, newest: str) -> bytes:
    """A manifest whose files have no columns behind `newest`."""
    names = MANIFEST_ENTRY.names[: MANIFEST_ENTRY.names.index(newest) + 1]
    fields = paimon_fields(MANIFEST_ENTRY.field(name) for name in names)
    whole = relabel([given[name] for name in names], pa.schema(fields))
    file = pa.StructArray.from_arrays(
        [one_array(column, column.type) for column in whole.columns[4:]], fields=fields[4:]
    )
    layout = pa.schema([VERSION_FIELD, *fields[:4], pa.field("_FILE", file.type, nullable=False)])
    version = version_column(2, given.num_rows)
    return write_avro(
        pa.Table.from_arrays([version, *whole.columns[:4], file], schema=layout), "zstandard"
    )


@pytest.mark.parametrize("small", [-1, 10**9], ids=["by query", "by codec"])
@pytest.mark.parametrize("newest", ["extra_files", "file_source", "external_path", "write_cols"])
def test_manifests_of_older_releases_lack_the_newer_columns(
    files: TableFiles, newest: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_decoding(monkeypatch, by_query=small < 0)
    given = added("a", "b")
    snapshot = files.commit(1, given)
    files.write(files.paths.manifest("manifest-0"), _as_old_releases_wrote(given, newest))
    live = files.table().live_files(snapshot)
    kept = MANIFEST_ENTRY.names[: MANIFEST_ENTRY.names.index(newest) + 1]
    assert live.select(kept).equals(given.select(kept))
    assert live["identity"].equals(given["identity"])
    assert live["write_cols_sequences"].null_count == 2


def test_neighbours_of_several_layouts_keep_their_order(
    files: TableFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_decoding(monkeypatch, by_query=True)
    given = [added(f"a{number}", f"b{number}") for number in range(6)]
    snapshot = files.commit(1, *given)
    for number in (1, 2, 4):
        name = files.paths.manifest(f"manifest-{number}")
        files.write(name, _as_old_releases_wrote(given[number], "file_source"))
    read = files.table().read_manifests(files.table().manifests(snapshot))
    expected = [f"{letter}{number}" for number in range(6) for letter in "ab"]
    assert read["file_name"].to_pylist() == expected
    assert read["manifest"].to_pylist() == [f"manifest-{n}" for n in range(6) for _ in range(2)]
    assert read["position"].to_pylist() == [0, 1] * 6


@pytest.mark.parametrize(
    "rows",
    [
        100,
        *(pytest.param(each, marks=pytest.mark.depth("full")) for each in (1_000, 1_700)),
        10_000,
    ],
)
def test_large_manifests_are_cut_and_small_ones_joined(
    files: TableFiles, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_decoding(monkeypatch, by_query=True)
    monkeypatch.setattr(manifest_query, "_LEAST_GROUP_ROWS", 1)
    monkeypatch.setattr(manifest_query, "_MOST_GROUP_ROWS", rows)
    sizes = [2, 3_300, 1, 5, 1_000, 2_001]
    given = [added(*(f"f{number}-{n}" for n in range(size))) for number, size in enumerate(sizes)]
    snapshot = files.commit(1, *given)
    read = files.table().read_manifests(files.table().manifests(snapshot))
    expected = [
        decode_manifest(files.file_io.read(files.paths.manifest(name)), name)
        for name in (f"manifest-{number}" for number in range(len(sizes)))
    ]
    assert read.equals(pa.concat_tables(expected))


def test_columns_that_repeat_are_in_memory_once(
    files: TableFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two threads that begin at once may each keep a copy.
    monkeypatch.setattr(manifest_query, "_THREADS", 1)
    monkeypatch.setattr(manifest_query, "_LEAST_GROUP_ROWS", 1_000)
    monkeypatch.setattr(manifest_query, "_MOST_GROUP_ROWS", 1_000)
    files.commit(1, added(*(f"f{number}" for number in range(3_000))))
    table = files.table()
    read = table.read_manifests(table.manifests(table.snapshots.get(1)))
    addresses = {
        name: {part.buffers()[-1].address for part in read[name].chunks if len(part)}
        for name in ("min_key", "level", "manifest", "file_name")
    }
    assert {name: len(each) for name, each in addresses.items()} == {
        "min_key": 1,
        "level": 1,
        "manifest": 1,
        "file_name": 3,
    }


@pytest.mark.depth("full")
def test_a_large_manifest_with_a_broken_block_is_named(
    files: TableFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_query, "_LEAST_GROUP_ROWS", 1)
    monkeypatch.setattr(manifest_query, "_MOST_GROUP_ROWS", 1_000)
    snapshot = files.commit(1, added("first"), added(*(f"f{number}" for number in range(4_000))))
    path = files.paths.manifest("manifest-1")
    data = bytearray(files.file_io.read(path))
    data[-30] ^= 0xFF
    files.write(path, bytes(data))
    with pytest.raises(FormatError, match="manifest-1") as caught:
        files.table().live_files(snapshot)
    assert caught.value.facts["path"] == path


def test_a_manifest_without_a_needed_column_is_broken(files: TableFiles) -> None:
    given = added(*(f"f{number}" for number in range(100)))
    snapshot = files.commit(1, given)
    files.write(files.paths.manifest("manifest-0"), _as_old_releases_wrote(given, "schema_id"))
    with pytest.raises(FormatError, match=r"manifest-0 cannot be read: .*_LEVEL is missing"):
        files.table().live_files(snapshot)


def test_a_path_with_odd_characters_is_no_pattern(tmp_path: Path) -> None:
    files = TableFiles(FileIO.for_url(f"{tmp_path}/[a]*? %20#"))
    files.schema()
    snapshot = files.commit(1, added(*(f"f{number}" for number in range(100))))
    assert files.table().live_files(snapshot).num_rows == 100


def test_each_manifest_is_read_once(files: TableFiles) -> None:
    snapshot = files.commit(1, added("a"), added("b"))
    table = files.table()
    first = table.live_files(snapshot)
    for name in ("manifest-0", "manifest-1", "manifest-list-0", "manifest-list-1"):
        files.file_io.remove(files.paths.manifest(name))
    assert table.live_files(snapshot).equals(first)
    assert table.on("dev").read_manifests(table.manifests(snapshot)).equals(first)


def test_what_is_remembered_is_bounded(files: TableFiles) -> None:
    scan = manifest_scan.ManifestScan(files.table().reader, max_remembered_bytes=1500)
    manifests = [
        pa.Table.from_pylist([files.manifest(added(f"f{number}"))], MANIFEST_FILE_META)
        for number in range(20)
    ]
    for each in manifests:
        assert scan.read(files.paths, each).num_rows == 1
    assert scan._tables._bytes <= 1500
    assert 0 < len(scan._tables._tables) < 20


# Broken files


@pytest.mark.parametrize("count", [3, 300])
@pytest.mark.parametrize("harm", ["missing", "empty", "truncated", "garbage", "block lost"])
def test_a_broken_manifest_is_named(files: TableFiles, count: int, harm: str) -> None:
    snapshot = files.commit(1, added(*(f"f{number}" for number in range(count))))
    path = files.paths.manifest("manifest-0")
    data = files.file_io.read(path)
    if harm == "missing":
        files.file_io.remove(path)
    elif harm == "block lost":
        other = files.manifest(added(*(f"f{number}" for number in range(count - 1))))
        files.write(path, files.file_io.read(files.paths.manifest(str(other["file_name"]))))
    else:
        harmed = {"empty": b"", "truncated": data[: len(data) // 2], "garbage": b"x" * 500}
        files.write(path, harmed[harm])
    with pytest.raises(FormatError, match="manifest-0") as caught:
        files.table().live_files(snapshot)
    assert caught.value.facts["path"] == path
    is_gone = harm == "missing"
    assert caught.value.kind is (ErrorKind.FILES_MISSING if is_gone else ErrorKind.BROKEN_FILE)


@pytest.mark.parametrize("name", ["../../other/t/data.parquet", "a\\b", "..", ""])
@pytest.mark.parametrize("column", ["file_name", "extra_files"])
def test_a_name_that_leads_out_of_its_folder_is_refused(
    files: TableFiles, column: str, name: str
) -> None:
    given = added(*(f"f{number}" for number in range(100)))
    index = given.schema.get_field_index(column)
    field = given.schema.field(index)
    names = [name if column == "file_name" else [name]]
    others = given[column].to_pylist()[1:]
    snapshot = files.commit(1, given.set_column(index, field, pa.array(names + others, field.type)))
    with pytest.raises(FormatError, match="not a file name") as caught:
        files.table().live_files(snapshot)
    assert "manifest-0" in str(caught.value)


def test_a_broken_manifest_is_named_among_neighbours_that_are_read_together(
    files: TableFiles,
) -> None:
    snapshot = files.commit(1, *(added(*(f"f{n}-{i}" for i in range(30))) for n in range(5)))
    path = files.paths.manifest("manifest-3")
    data = bytearray(files.file_io.read(path))
    data[-30] ^= 0xFF
    files.write(path, bytes(data))
    with pytest.raises(FormatError, match="manifest-3") as caught:
        files.table().live_files(snapshot)
    assert caught.value.facts["path"] == path


def test_a_missing_manifest_list_is_named(files: TableFiles) -> None:
    snapshot = files.commit(1, added("a"))
    files.file_io.remove(files.paths.manifest("manifest-list-1"))
    with pytest.raises(FormatError, match="manifest-list-1 is missing"):
        files.table().live_files(snapshot)


# Skipping

PARTITIONED = a_schema(
    columns=(("pt", STRING), ("hour", INT), ("id", BIGINT)),
    partition_keys=("pt", "hour"),
    primary_keys=("pt", "hour", "id"),
)
PARTITION_TYPES: Sequence[DataType] = (STRING, INT)


def partition(*values: object) -> bytes:
    return encode_row(values, PARTITION_TYPES)


def meta(name: str, **ranges: object) -> dict[str, object]:
    return {
        "file_name": name,
        "file_size": 1,
        "num_added_files": 1,
        "num_deleted_files": 0,
        "partition_stats": NO_STATS,
        "schema_id": 0,
        **ranges,
    }


def metas(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), MANIFEST_FILE_META)


def kept(manifests: pa.Table, wanted: ScanFilter, schema: TableSchema = PARTITIONED) -> str:
    return "".join(
        prune_manifests(manifests, wanted, schema.partition_type)["file_name"].to_pylist()
    )


@pytest.mark.parametrize(
    ("low", "high", "column"),
    [("min_bucket", "max_bucket", "buckets"), ("min_level", "max_level", "levels")],
)
def test_manifests_are_skipped_by_their_range(low: str, high: str, column: str) -> None:
    manifests = metas(
        meta("a", **{low: 0, high: 2}),
        meta("b", **{low: 3, high: 5}),
        meta("c", **{low: 9, high: 9}),
        meta("?"),
    )
    for numbers, expected in (
        ({1}, "a?"),
        ({2, 3}, "ab?"),
        ({6, 7, 8}, "?"),
        ({0, 9}, "ac?"),
        (set(), ""),
    ):
        assert kept(manifests, ScanFilter(**{column: frozenset(numbers)})) == expected


def _stats(low: bytes, high: bytes, nulls: list[int] | None = None) -> dict[str, object]:
    return {"partition_stats": {"min_values": low, "max_values": high, "null_counts": nulls}}


def test_manifests_are_skipped_by_partition() -> None:
    manifests = metas(
        meta("a", **_stats(partition("x", 1), partition("x", 5), [0, 0])),
        meta("b", **_stats(partition("y", 3), partition("z", 9), [0, 2])),
        meta("c", **_stats(partition(None, 1), partition(None, 1), [4, 0])),
    )
    for value, expected in (
        (("x", 3), "a"),
        (("x", 6), ""),
        (("y", 3), "b"),
        (("yy", 4), "b"),
        (("y", None), "b"),
        (("x", None), ""),
        ((None, 1), "c"),
    ):
        wanted = ScanFilter(partitions=frozenset({partition(*value)}))
        # Statistics of nothing but nulls rule no value out: only wrong skips are errors.
        assert set(expected) <= set(kept(manifests, wanted)) <= set(expected) | {"c"}, value
    both = frozenset({partition("x", 2), partition("z", 9)})
    assert set(kept(manifests, ScanFilter(partitions=both))) >= {"a", "b"}


def test_null_counts_that_were_not_written_rule_nothing_out() -> None:
    manifests = metas(meta("a", **_stats(partition("x", 1), partition("x", 5))))
    assert kept(manifests, ScanFilter(partitions=frozenset({partition("x", None)}))) == "a"


def test_files_are_chosen_by_partition_bucket_and_level(files: TableFiles) -> None:
    files.schema(PARTITIONED)
    x, y = partition("x", 1), partition("y", 2)
    given = [
        added("a", partition=x, bucket=0, level=0),
        added("b", partition=x, bucket=1, level=5),
        added("c", partition=y, bucket=0, level=5),
    ]
    snapshot = files.commit(1, *given)
    table = files.table()
    assert names_of(table.live_files(snapshot, partitions=[x])) == ["a", "b"]
    assert names_of(table.live_files(snapshot, buckets=[0])) == ["a", "c"]
    assert names_of(table.live_files(snapshot, levels=[5])) == ["b", "c"]
    assert names_of(table.live_files(snapshot, partitions=[x], levels=[5])) == ["b"]
    assert names_of(table.live_files(snapshot, partitions=[])) == []
    assert names_of(table.live_files(snapshot)) == ["a", "b", "c"]


def test_files_are_chosen_by_key_range(files: TableFiles) -> None:
    schema = a_schema(
        columns=(("id", BIGINT), ("name", STRING)),
        primary_keys=("id", "name"),
        options={"bucket": "1"},
    )
    files.schema(schema)

    def keys(low: tuple[int, str], high: tuple[int, str]) -> tuple[bytes, bytes]:
        return encode_row(low, [BIGINT, STRING]), encode_row(high, [BIGINT, STRING])

    given = [
        added("a", keys=keys((1, "a"), (5, "m"))),
        added("b", keys=keys((5, "n"), (9, "z"))),
        pa.concat_tables(
            [
                added("gone", keys=keys((1, "a"), (9, "z"))),
                entries((DELETE, "gone"), keys=keys((1, "a"), (9, "z"))),
            ]
        ),
    ]
    snapshot = files.commit(1, *given)
    table = files.table()
    for first, last, expected in (
        ((0, ""), (0, "z"), []),
        ((5, "a"), (5, "m"), ["a"]),
        ((5, "mm"), (5, "mz"), []),
        ((5, "m"), (5, "n"), ["a", "b"]),
        ((9, "z"), (99, ""), ["b"]),
    ):
        assert names_of(table.live_files(snapshot, key_range=(first, last))) == expected


def test_a_key_range_means_nothing_without_a_primary_key(files: TableFiles) -> None:
    snapshot = files.commit(1, added("a"))
    assert names_of(files.table().live_files(snapshot, key_range=((1,), (2,)))) == ["a"]


def test_a_manifest_list_round_trips_what_pruning_reads() -> None:
    manifests = metas(meta("a", min_bucket=1, max_bucket=2, min_level=0, max_level=5))
    assert decode_manifest_list(encode_manifest_list(manifests, "null")).equals(manifests)
