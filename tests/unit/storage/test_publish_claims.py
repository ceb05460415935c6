"""C26: a store that overwrites is refused, or written under claims that never expire."""

import threading
import uuid
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from branch_console.errors import InvalidInput, NotAllowed, StorageError
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.database_claims import DatabaseClaims
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from branch_console.storage.publish_claims import CLAIMS_MARKER, ClaimingPublisher
from branch_console.storage.publishers import publisher_for
from branch_console.storage.store_probe import probe
from tests.support.plain_store import SlowFileIO, Stopped
from tests.support.publish_race import publish_all_under_claims, racing_processes


@pytest.fixture
def store(tmp_path: Path) -> FileIO:
    return FileIO.for_url(f"plain://{tmp_path}/wh")


def execute(database: str, statement: str) -> list[sa.Row[Any]]:
    engine = sa.create_engine(database, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        result = connection.execute(sa.text(statement))
        return list(result.all()) if result.returns_rows else []


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/claims.sqlite"
    server = sa.make_url(request.getfixturevalue("postgres"))
    name = f"claims_{uuid.uuid4().hex}"
    execute(request.getfixturevalue("postgres"), f"CREATE DATABASE {name}")
    return server.set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def claims(store: FileIO, database: str) -> DatabaseClaims:
    return DatabaseClaims(database, store.url(store.root))


@pytest.fixture
def publisher(store: FileIO, claims: DatabaseClaims) -> ClaimingPublisher:
    return ClaimingPublisher(store, claims)


def test_without_claims_the_warehouse_is_read_only_and_says_what_it_needs(store: FileIO) -> None:
    verdict = probe(store, publisher_for(store), store.root)
    assert not verdict.can_write
    assert "claims=URL" in str(verdict.reason)


def test_with_claims_the_warehouse_can_be_written(store: FileIO, database: str) -> None:
    opened = Warehouse.open(store.url(store.root), store_options={"claims": database})
    opened.check_writable()
    assert [each.name for each in store.list(store.root)] == [CLAIMS_MARKER]


def test_the_first_publish_wins_and_the_second_changes_nothing(
    store: FileIO, publisher: ClaimingPublisher
) -> None:
    path = f"{store.root}/t/snapshot/snapshot-1"
    assert publisher.publish(path, b"first") is Published.WON
    assert publisher.publish(path, b"second") is Published.LOST
    assert store.read(path) == b"first"
    outcomes = publisher.publish_in_order([(f"{path}1", b""), (path, b""), (f"{path}2", b"")])
    assert outcomes == [Published.WON, Published.LOST]
    assert not store.exists(f"{path}2")


def test_of_many_processes_one_wins_and_the_file_is_its(store: FileIO, database: str) -> None:
    rounds, processes = 20, 4
    root = store.url(store.root)
    with racing_processes().Pool(processes) as pool:
        jobs = [(root, database, number, rounds) for number in range(processes)]
        outcomes = pool.starmap(publish_all_under_claims, jobs)
    for round_ in range(rounds):
        winners = [number for number in range(processes) if outcomes[number][round_] == "WON"]
        assert len(winners) == 1
        assert store.read(f"{store.root}/snapshot-{round_}") == b"%d" % winners[0]


def stopped_writer(store: FileIO, claims: DatabaseClaims, path: str, data: bytes) -> SlowFileIO:
    """Somebody who claimed the path and was stopped before the write reached the store."""
    slow = SlowFileIO(store)
    slow.replace(f"{store.root}/{CLAIMS_MARKER}", claims.id.encode())
    slow.stops = True
    with pytest.raises(Stopped):
        ClaimingPublisher(slow, claims).publish(path, data)
    assert not store.exists(path)
    return slow


def test_a_claim_whose_writer_died_is_written_for_it(
    store: FileIO, claims: DatabaseClaims, publisher: ClaimingPublisher
) -> None:
    path = f"{store.root}/snapshot-1"
    stopped_writer(store, claims, path, b"the dead one's")
    assert publisher.publish(path, b"mine") is Published.LOST
    assert store.read(path) == b"the dead one's"


def test_a_write_that_arrives_late_changes_nothing(
    store: FileIO, claims: DatabaseClaims, publisher: ClaimingPublisher
) -> None:
    # Where a lease had expired by now, the late write would replace the winner's file.
    path = f"{store.root}/snapshot-1"
    slow = stopped_writer(store, claims, path, b"slow")
    assert publisher.publish(path, b"mine") is Published.LOST
    assert publisher.publish(f"{store.root}/snapshot-2", b"mine") is Published.WON
    for write in slow.waiting:
        write()
    assert store.read(path) == b"slow"
    assert store.read(f"{store.root}/snapshot-2") == b"mine"


def test_many_who_find_a_dead_writers_claim_write_the_same(
    store: FileIO, claims: DatabaseClaims, publisher: ClaimingPublisher
) -> None:
    path = f"{store.root}/snapshot-1"
    stopped_writer(store, claims, path, b"dead")
    start = threading.Barrier(6)

    def race(number: int) -> Published:
        start.wait()
        return publisher.publish(path, b"%d" % number)

    with ThreadPool(6) as pool:
        assert pool.map(race, range(6)) == [Published.LOST] * 6
    assert store.read(path) == b"dead"


def test_a_name_that_was_removed_can_be_made_again(
    store: FileIO, publisher: ClaimingPublisher
) -> None:
    path = f"{store.root}/tag-v1"
    for data in (b"one", b"two", b"three"):
        assert publisher.publish(path, data) is Published.WON
        assert store.read(path) == data
        store.remove(path)


def test_a_removed_name_stays_free_while_a_stopped_writer_could_fill_it(
    store: FileIO, claims: DatabaseClaims, publisher: ClaimingPublisher, database: str
) -> None:
    path = f"{store.root}/snapshot-1"
    slow = stopped_writer(store, claims, path, b"slow")
    assert publisher.publish(path, b"mine") is Published.LOST
    store.remove(path)
    with pytest.raises(NotAllowed, match=r"cannot be made anew: process \d+ on "):
        publisher.publish(path, b"again")
    # It was right to wait: the write does come.
    slow.waiting.pop()()
    assert store.read(path) == b"slow"
    store.remove(path)
    # Somebody makes sure that the process is gone, and says so as the message tells.
    execute(database, "DELETE FROM branch_console_claim_writers")
    assert publisher.publish(path, b"again") is Published.WON


def test_a_file_that_other_software_made_is_not_claimed(
    store: FileIO, publisher: ClaimingPublisher
) -> None:
    path = f"{store.root}/snapshot-1"
    store.replace(path, b"theirs")
    assert publisher.publish(path, b"ours") is Published.LOST
    store.remove(path)
    assert publisher.publish(path, b"ours") is Published.WON


def test_manifests_are_written_without_a_claim_as_their_names_are_unique(
    store: FileIO, publisher: ClaimingPublisher, database: str
) -> None:
    name = "manifest-list-0a1b2c3d-0000-4000-8000-0123456789ab-0"
    assert publisher.publish(f"{store.root}/t/manifest/{name}", b"x" * 9) is Published.WON
    assert execute(database, "SELECT * FROM branch_console_claims") == []


@pytest.mark.parametrize("given", ["another", "none"])
def test_who_claims_elsewhere_or_nowhere_may_not_write(
    store: FileIO, publisher: ClaimingPublisher, tmp_path: Path, given: str
) -> None:
    assert publisher.publish(f"{store.root}/snapshot-1", b"") is Published.WON
    options = {"claims": f"sqlite:///{tmp_path}/another.sqlite"} if given == "another" else {}
    url = store.url(store.root) if options else str(tmp_path / "wh")
    with pytest.raises(NotAllowed, match="claim what they publish in a database"):
        Warehouse.open(url, store_options=options).check_writable()


def test_two_warehouses_share_a_database(tmp_path: Path, database: str) -> None:
    for name in ("one", "two"):
        store = FileIO.for_url(f"plain://{tmp_path}/{name}")
        publisher = ClaimingPublisher(store, DatabaseClaims(database, store.url(store.root)))
        assert publisher.publish(f"{store.root}/snapshot-1", name.encode()) is Published.WON


def test_many_who_open_an_empty_database_at_once_find_one_register(database: str) -> None:
    start = threading.Barrier(6)

    def race(_: int) -> str:
        start.wait()
        return DatabaseClaims(database, "w").id

    with ThreadPool(6) as pool:
        for _ in range(5):
            assert len(set(pool.map(race, range(6)))) == 1
            for table in ("claims", "claim_writers", "claim_register"):
                execute(database, f"DROP TABLE branch_console_{table}")


def test_a_database_that_cannot_be_is_refused_and_one_that_is_away_is_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidInput, match="names no database"):
        DatabaseClaims("nonsense", "w")
    with pytest.raises(StorageError, match=r"none/claims\.sqlite, did not answer"):
        DatabaseClaims(f"sqlite:///{tmp_path}/none/claims.sqlite", "w")
