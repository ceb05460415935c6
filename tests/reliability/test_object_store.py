"""What goes wrong on the way to an S3 server: kills, lost answers, large files, no server."""

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import Refused, StorageError
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.run.open_operation import FRESH_MILLIS
from branch_console.sql.parser import parse_statements
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from branch_console.storage.publishers import publisher_for
from tests.support.bad_line import bad_line
from tests.support.branch_bench import NOW
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.commit_tables import data_files, message
from tests.support.depths import by_night
from tests.support.examples import Examples
from tests.support.far_bench import FarBench, answers, history
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.requirements import need_s3_server
from tests.support.store_servers import S3Server, StoreServer, running_s3_server

_MULTIPART = 101 << 20  # from 100 MiB on s3fs sends a file in parts

pytestmark = pytest.mark.depth("full")


@pytest.fixture(scope="module")
def server(store_server: Callable[[str], StoreServer]) -> S3Server:
    found = store_server("s3")
    assert isinstance(found, S3Server)
    return found


@pytest.mark.parametrize("verb", by_night(("create_branch", "fast_forward"), but=("fast_forward",)))
def test_killed_after_any_change_recovers_to_the_old_or_the_new_state(
    server: S3Server, store: FileIO, verb: str, examples: Examples
) -> None:
    folder = server.folder / store.root
    arguments = {"branch": "dev"} if verb == "fast_forward" else {"branch": "new", "tag": "v1"}

    def bench_in(name: str) -> FarBench:
        # Copied beside the protocol: to the server a bucket is a folder.
        shutil.copytree(folder / "origin", folder / name, dirs_exist_ok=True)
        return FarBench(FileIO.for_url(f"s3://{store.root}/{name}", server.options))

    origin = FarBench(FileIO.for_url(f"s3://{store.root}/origin", server.options))
    history(origin)
    clean = bench_in("clean")
    counter = FaultyStore(inner=clean.store)
    clean.call(verb, store=counter.store, **arguments)
    before, after = answers(origin), answers(clean)
    assert before != after

    # On disk the crash matrix kills at each of them.
    step = 1 if examples.depth == "long" else 2
    for number in range(1, len(counter.changes) + 1, step):
        bench = bench_in(f"killed-{number}")
        fault = At(call=number, when=When.AFTER)
        with pytest.raises(Killed):
            bench.call(verb, store=FaultyStore(inner=bench.store, fault=fault).store, **arguments)
        bench.call("recover", operation="repair", clock=lambda: NOW + FRESH_MILLIS)
        assert answers(bench) in (before, after), counter.changes[number - 1]
        bench.call(verb, **arguments)
        assert answers(bench) == after, counter.changes[number - 1]


def test_a_file_sent_in_parts_is_not_overwritten_either(store: FileIO) -> None:
    publisher, path = publisher_for(store), f"{store.root}/large"
    assert publisher.publish(path, b"1" * _MULTIPART) is Published.WON
    first = store.status(path)
    assert publisher.publish(path, b"2" * _MULTIPART) is Published.LOST
    assert store.status(path) == first
    assert store.read_range(path, _MULTIPART - 2, 10) == b"11"


def test_a_commit_whose_answer_was_lost_is_in_the_history_once(
    server: S3Server, store: FileIO
) -> None:
    # C14, on the wire: the client sends the request again and meets its own first success.
    FarBench(store).append("a")
    with bad_line(server.options) as line:
        bench = FarBench(FileIO.for_url(store.url(store.root), line.options))
        line.lose_the_answer_to(f"PUT /{bench.path}/snapshot/snapshot-2 ")
        snapshot = bench.append("b")
        assert len(line.lost) == 1
    far = FarBench(store)
    assert far.table().head() == snapshot
    assert [each.id for each in far.table().snapshots.all()] == [1, 2]
    assert far.live_names() == {"data-a.parquet", "data-b.parquet"}


def test_a_commit_asks_little_and_what_it_sends_does_not_ask_whether_it_may_come(
    server: S3Server, store: FileIO
) -> None:
    FarBench(store).append("a")
    with bad_line(server.options) as line:
        bench = FarBench(FileIO.for_url(store.url(store.root), line.options))
        committer = bench.committer()
        for number in range(3):
            line.heads.clear()
            files = data_files([f"b{number}"], total_buckets=-1)
            new = message(total_buckets=-1, new_files=files)
            committer.commit([new], user="alice", identifier=number)
    # Three files and the snapshot, a hint, the schema, the head, what follows it, and afterwards
    # the snapshot and what it stands on again.
    assert sorted(each.split(" ")[0] for each in line.heads) == ["GET"] * 5 + ["PUT"] * 5
    assert not any("expect:" in each.lower() for each in line.heads)


def test_a_folder_that_is_not_there_is_asked_for_once_whatever_lies_beside_it(
    server: S3Server, store: FileIO
) -> None:
    for name in ("pt=1/data", "pt=2/data", "schema/schema-0"):
        assert publisher_for(store).publish(f"{store.root}/t/{name}", b"{}") is Published.WON
    with bad_line(server.options) as line:
        far = FileIO.for_url(store.url(store.root), line.options)
        far.names(f"{far.root}/t")
        line.heads.clear()
        assert far.list(f"{far.root}/t/consumer") == []
        assert len(line.heads) == 1
        assert far.list(f"{far.root}/t/schema/schema-0") == []
        assert [each.name for each in far.list(f"{far.root}/t/schema")] == ["schema-0"]


def test_a_server_that_went_away_leaves_a_publish_unknown_and_a_read_failed(
    tmp_path: Path,
) -> None:
    with running_s3_server(need_s3_server(), tmp_path / "server") as server:
        store = FileIO.for_url(f"{server.make_bucket('brief')}/wh", server.options)
        assert publisher_for(store).publish(f"{store.root}/x", b"") is Published.WON
    assert publisher_for(store).publish(f"{store.root}/y", b"") is Published.UNKNOWN
    with pytest.raises(StorageError, match="brief/wh/x"):
        store.read(f"{store.root}/x")


# 40 statements, each in a warehouse that is opened anew: at night.
@pytest.mark.depth("long")
def test_a_branch_of_the_catalog_is_made_written_merged_and_undone_there(
    server: S3Server, store: FileIO
) -> None:
    folder = server.folder / store.root
    CatalogWarehouse(folder)
    options = dict(server.options)

    def run(text: str) -> Receipt:
        # Each in a warehouse that is opened anew, as by another process.
        warehouse = Warehouse.open(f"s3://{store.root}", store_options=options)
        for statement in parse_statements(text):
            call = ProcedureCall(
                name=statement.procedure,
                arguments=dict(statement.arguments),
                actor="ann",
                operation_id=uuid.uuid4().hex,
                role="operator",
            )
            receipt = run_call(warehouse, NoRowEngine(), call, InlineStages())
        return receipt

    def names() -> dict[str, tuple[str, ...]]:
        catalog = Warehouse.open(f"s3://{store.root}", store_options=options).catalog
        return {each: catalog.table_names(each) for each in catalog.databases()}

    before = names()
    for statement in (
        "CREATE BRANCH dev ON CATALOG",
        "CREATE BRANCH lazy ON DATABASE air LAZY",
        "USE BRANCH dev; CREATE DATABASE sea",
        "USE BRANCH dev; CREATE TABLE sea.ships (id INT)",
        "USE BRANCH dev; ALTER TABLE air.planes ADD COLUMN seats INT",
        "USE BRANCH lazy; ALTER TABLE air.planes ADD COLUMN wings INT",
        "USE BRANCH dev; DROP TABLE lab.notes",
    ):
        run(statement)
    assert names() == {**before, "sea": ()} or names() == before
    merged = run("MERGE BRANCH dev")
    after = {"air": ("flights", "planes"), "lab": (), "sea": ("ships",)}
    assert names() == after
    assert run("MERGE BRANCH dev").notes[-1] == "Nothing was changed."
    run(f"CALL sys.undo(operation => '{merged.operation_id}')")
    assert {key: each for key, each in names().items() if each} == before
    run("MERGE BRANCH dev")
    assert names() == after
    assert "air.planes: Merge 'main' into 'lazy'" in " ".join(
        run("MERGE BRANCH main TO lazy").notes
    )
    # What would take copies of all files is refused, and nobody has to wait for it.
    run("USE BRANCH dev; ALTER TABLE air.planes RENAME TO air.jets")
    with pytest.raises(Refused, match="cannot give a folder another name"):
        run("MERGE BRANCH dev")
    run("DROP BRANCH dev ON CATALOG")
    run("DROP DATABASE lab")
    assert set(names()) == {"air", "sea"}
