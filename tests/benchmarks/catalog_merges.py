"""B8: a merge of the catalog, 1,000 tables of which 1 % changed: published, and recovered.

The peer is one merge a table, by the same code in the same run, over tables like them. Publishing
is all of the stage that changes the target: it plans once more, verifies and publishes.
"""

import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.format.data_types import INT, STRING
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.storage.store_probe import StoreVerdict
from tests.benchmarks.contest import OURS, Result, Sample, at_most, new_folder
from tests.benchmarks.own_procedure import run_ours
from tests.support.branch_bench import store_of
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.requirements import need_s3_server
from tests.support.store_servers import running_s3_server
from tests.support.table_files import a_schema

PUBLISH: Final = "publish"
RECOVER: Final = "recover"
EACH: Final = "table by table"
DISK: Final = "disk"
S3: Final = "s3"
LIMIT_SECONDS: Final = 1.0
_BUCKET: Final = "catalog-merges"
_CHANGES_BEHIND: Final = 3
_VERSION: Final = "catalog/versions/main/version-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is done, where, with how many tables of which how many changed."""

    operation: str
    place: str
    tables: int
    changed: int


CASES: Final = {
    "tiny": [Case(operation=each, place=DISK, tables=20, changed=2) for each in (PUBLISH, RECOVER)],
    "small": [
        Case(operation=each, place=DISK, tables=1_000, changed=10) for each in (PUBLISH, RECOVER)
    ],
    "full": [
        Case(operation=each, place=place, tables=tables, changed=tables // 100)
        for place, tables in ((DISK, 1_000), (DISK, 10_000), (S3, 1_000))
        for each in (PUBLISH, RECOVER)
    ],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        samples: list[Sample] = []
        for _ in range(rounds):
            samples += _round(new_folder(folder), case)
        ours = sorted(each.cold for each in samples if each.contestant == OURS)
        has_limit = case.place == DISK and case.tables == 1_000
        yield Result(
            benchmark="B8",
            case={
                "operation": case.operation,
                "place": case.place,
                "tables": case.tables,
                "changed": case.changed,
            },
            samples=tuple(samples),
            targets=(
                at_most(
                    f"{case.operation} takes {LIMIT_SECONDS:g} s at most",
                    ours[len(ours) // 2],
                    LIMIT_SECONDS,
                ),
            )
            if has_limit
            else (),
            wrong=tuple(
                f"{each.contestant}: {each.answer['merged']} tables, not {case.changed}"
                for each in samples
                if each.answer["merged"] != case.changed
            ),
        )


def _round(folder: Path, case: Case) -> Iterator[Sample]:
    """One merge of the catalog, and where it is published one merge a table beside it."""
    with ExitStack() as held:
        where, url, options = folder / "warehouse", str(folder / "warehouse"), {}
        if case.place == S3:
            server = held.enter_context(running_s3_server(need_s3_server(), folder))
            url, options = server.make_bucket(_BUCKET), dict(server.options)
            where = server.folder / _BUCKET
        names = make_tables(where, case)
        cut_off = case.operation == RECOVER
        if cut_off:
            _cut_off(where)
        warehouse = Warehouse.open(url, store_options=options, clock=_later if cut_off else now)
        yield _sample(OURS, warehouse, names, _recover if cut_off else _publish)
        if not cut_off:
            for name in names:
                _write(where, name, 3)
            beside = Warehouse.open(url, store_options=options)
            yield _sample(EACH, beside, names, _merge_each, snapshot_id=3)


def now() -> int:
    """The time of this machine in milliseconds."""
    return int(time.time() * 1_000)


def _later() -> int:
    """A time at which nobody can be at work any more on what was cut off."""
    return now() + 3_600_000


def make_tables(folder: Path, case: Case) -> list[str]:
    """Make tables and an eager branch of all, and write to some of them on that branch."""
    names = tuple(f"air{number % 10}.t{number}" for number in range(case.tables))
    made = CatalogWarehouse(folder, names)
    made.create()
    for name in names[: case.changed]:
        _write(folder, name, 2)
    return list(names[: case.changed])


def _write(folder: Path, name: str, snapshot_id: int) -> None:
    """Give a table a column and a snapshot on the branch."""
    database, table = name.split(".")
    path = folder / f"{database}.db/{table}/branch/branch-dev"
    more = [(f"c{number}", INT) for number in range(1, snapshot_id)]
    newest = a_schema(snapshot_id - 1, [("id", INT), ("name", STRING), *more])
    schema = path / f"schema/schema-{snapshot_id - 1}"
    schema.write_text(replace(newest, time_millis=snapshot_id).to_json())
    CatalogWarehouse(folder, ()).commit(name, snapshot_id, "dev")


def _cut_off(folder: Path) -> None:
    """Run a merge, and kill it once its version is there and one table is published."""
    faulty = FaultyStore(inner=store_of(folder))
    opened = Warehouse.open(str(folder))
    store = faulty.store
    killed = replace(
        opened,
        store=store,
        catalog=FilesystemCatalog(store.files, str(folder)),
        verdict=StoreVerdict(can_write=True),
    )
    faulty.meanwhile = _BehindVersion(faulty)
    with suppress(Killed):
        run_ours(killed, "merge_catalog_branch", branch="dev")
    assert faulty.is_dead


class _BehindVersion(dict[int, Callable[[], object]]):
    """Has the store fail a few changes behind the commit point, wherever that comes."""

    def __init__(self, faulty: FaultyStore) -> None:
        super().__init__()
        self._faulty = faulty

    def __contains__(self, number: object) -> bool:
        is_behind = any(_VERSION in each for each in self._faulty.changes[:-_CHANGES_BEHIND])
        if is_behind and self._faulty.fault is None and isinstance(number, int):
            self._faulty.fault = At(call=number, when=When.BEFORE)
        return False


def _publish(warehouse: Warehouse, names: list[str]) -> float:
    """Merge all of the branch; the seconds of the stage that changes the target."""
    began: dict[str, float] = {}
    call = ProcedureCall(
        name="merge_catalog_branch",
        arguments={"branch": "dev"},
        actor="benchmark",
        operation_id="merge",
    )
    stages = InlineStages(on_stage=lambda name, _: began.update({name: time.perf_counter()}))
    run_call(warehouse, NoRowEngine(), call, stages)
    return time.perf_counter() - began["merge catalog branch"]


def _recover(warehouse: Warehouse, names: list[str]) -> float:
    started = time.perf_counter()
    run_ours(warehouse, "recover")
    return time.perf_counter() - started


def _merge_each(warehouse: Warehouse, names: list[str]) -> float:
    started = time.perf_counter()
    for name in names:
        run_ours(warehouse, "merge_branch", table=name, branch="dev", target="main")
    return time.perf_counter() - started


def _sample(
    contestant: str,
    warehouse: Warehouse,
    names: list[str],
    work: Callable[[Warehouse, list[str]], float],
    snapshot_id: int = 2,
) -> Sample:
    started = time.perf_counter()
    with counted_requests() as requests:
        seconds = work(warehouse, names)
    merged = 0
    for name in names:
        database, table = name.split(".")
        path = f"{warehouse.url}/{database}.db/{table}/snapshot/snapshot-{snapshot_id}"
        merged += warehouse.file_io.exists(path)
    return Sample(
        contestant=contestant,
        cold=seconds,
        warm=(),
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        process=time.perf_counter() - started,
        answer={"merged": merged, "requests": sum(requests.values())},
    )


@contextmanager
def counted_requests() -> Iterator[Counter[str]]:
    """Count the requests that go to S3 while a block runs, by their kind."""
    from aiobotocore.client import AioBaseClient  # noqa: PLC0415 - only where S3 is used

    found: Counter[str] = Counter()
    original = AioBaseClient._make_api_call

    async def counting(self: Any, operation: str, parameters: Any) -> Any:
        found[operation] += 1
        return await original(self, operation, parameters)

    AioBaseClient._make_api_call = counting
    try:
        yield found
    finally:
        AioBaseClient._make_api_call = original
