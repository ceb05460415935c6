"""Writers that race for names: each name has one winner, and holds that one's bytes (C02)."""

import multiprocessing
import threading
from multiprocessing.context import ForkServerContext
from multiprocessing.pool import ThreadPool

import tests.support.plain_store  # noqa: F401 - its scheme
from branch_console.storage.database_claims import DatabaseClaims
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from branch_console.storage.publish_claims import ClaimingPublisher
from branch_console.storage.publishers import publisher_for


def check_one_wins_each_name(store: FileIO) -> None:
    """Let six writers publish twenty names at once, and look who won each."""
    publisher, rounds, writers = publisher_for(store), 20, 6
    start = threading.Barrier(writers)

    def race(number: int) -> list[Published]:
        start.wait()
        paths = (f"{store.root}/snapshot-{round_}" for round_ in range(rounds))
        return [publisher.publish(path, b"%d" % number) for path in paths]

    with ThreadPool(writers) as pool:
        outcomes = pool.map(race, range(writers))
    for round_, results in enumerate(zip(*outcomes, strict=True)):
        assert sorted(results) == [Published.LOST] * (writers - 1) + [Published.WON]
        assert store.read(f"{store.root}/snapshot-{round_}") == b"%d" % results.index("WON")


def publish_all_under_claims(root: str, database: str, number: int, rounds: int) -> list[str]:
    """Publish names as one of several processes that keep their claims in a database.

    A process of its own imports this module alone, which is a quarter of what the tests import.
    """
    store = FileIO.for_url(root)
    publisher = ClaimingPublisher(store, DatabaseClaims(database, root))
    paths = (f"{store.root}/snapshot-{round_}" for round_ in range(rounds))
    return [str(publisher.publish(path, b"%d" % number)) for path in paths]


def publish_all(root: str, number: int, rounds: int) -> list[str]:
    """Publish names as one of several processes, with the publisher of the store itself."""
    publisher = publisher_for(FileIO.for_url(root))
    paths = (f"{root}/snapshot-{round_}" for round_ in range(rounds))
    return [str(publisher.publish(path, b"%d" % number)) for path in paths]


def racing_processes() -> ForkServerContext:
    """Return where processes come from that have imported this module together, not each anew."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__])
    return processes
