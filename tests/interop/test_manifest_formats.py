"""Tables whose manifests real Paimon writes as ORC or Parquet, or packs in other ways."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, NotAllowed
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import NAME, SHARED, MergeBench, three_way

pytestmark = pytest.mark.shared_cells

Open = Callable[[Path], JavaPaimon]


def _files_of(table: FileStoreTable, snapshot: Snapshot) -> set[tuple[str, int, bool]]:
    entries = table.read_manifests(table.scan.manifests(table.paths, snapshot))
    return {
        (row["file_name"], row["row_count"], row["creation_time"] is not None)
        for row in entries.to_pylist()
    }


@pytest.mark.parametrize("form", ["orc", "parquet"])
def test_manifests_in_another_format_hold_what_those_in_avro_hold(
    open_java: Open, tmp_path: Path, form: str
) -> None:
    """The format may change with the table: each file tells its own."""
    keyed = {"deletion-vectors.enabled": "true", "manifest.format": form}
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, partitioned=True, options=keyed)
    bench.insert("main", 1, 2, 3, 4)
    bench.insert("main", 3, 5, amount=2)
    table = bench.warehouse().table(Identifier.parse(NAME))
    head = table.head()
    assert head is not None
    on_disk = {path.name for path in tmp_path.rglob("data-*")}
    listed = _files_of(table, head)
    assert {name for name, _, _ in listed} == on_disk
    assert all(has_time for _, _, has_time in listed)
    # Deletion vectors hide two rows of the first commit's files.
    assert table.scan.index_entries(table.paths, head).num_rows > 0
    assert Warehouse.open(str(tmp_path)).table(Identifier.parse(NAME)).head() == head


@pytest.mark.parametrize("form", ["orc", "parquet"])
def test_a_merge_there_is_refused_by_the_option(open_java: Open, tmp_path: Path, form: str) -> None:
    options = {**SHARED, "manifest.format": form}
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, options=options)
    bench.insert("main", 1, 2)
    bench.branch("dev")
    bench.insert("dev", 3)
    bench.insert("main", 4)
    before = bench.files()
    with pytest.raises(NotAllowed, match=r"manifest\.format") as refused:
        bench.merge(rows={})
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    after = bench.files()
    assert {name: after[name] for name in before} == before
    bench.check()


@pytest.mark.parametrize("codec", ["bzip2", "xz"])
def test_a_merge_packs_manifests_as_the_table_does(
    open_java: Open, tmp_path: Path, codec: str
) -> None:
    options = {**SHARED, "manifest.compression": codec}
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, options=options)
    bench.insert("main", 1, 2)
    base = bench.rows["main"]
    bench.branch("dev")
    bench.insert("dev", 3)
    bench.insert("main", 4)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check()
    bench.go_on()
