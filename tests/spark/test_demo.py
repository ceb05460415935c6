import json
import shutil
from pathlib import Path

import pytest

from branch_console.api import read_table
from branch_console.diff.fast_forward import Verdict
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.merge.conflict import Take
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import MergeVerdict, verdict_of
from branch_console.operations.isolation import Isolation
from branch_console.procedures.branch.fast_forward import preview_fast_forward
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.history import read_snapshot
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog_merge.merge_catalog import catalog_merge_of
from branch_console.procedures.demo_marker import MARKER, is_complete
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.procedures.run.rule_evaluation import find_rules
from branch_console.quality.rules import Severity
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from branch_console_app.demo import PROCEDURE, prepare_demo

FLIGHTS = Identifier.parse("air.flights")


def branch(warehouse: Warehouse, table: str, name: str) -> BranchItem:
    found = list_branches(warehouse, Identifier.parse(f"air.{table}"))
    return next(item for item in found if item.name == name)


@pytest.mark.parametrize(
    ("table", "name", "ahead", "behind"),
    [
        ("flights", "fix-delays", 2, 0),
        ("flights", "lost-tails", 1, 0),
        ("flights", "audit", 0, 6),
        ("flights", "backfill-2013-12", 1, 1),
        ("flights", "old-experiment", 1, 9),
        ("weather", "missing-hours", 1, 0),
        ("weather", "kennedy-first", 1, 1),
        ("weather", "fix-wind", 1, 1),
        ("planes", "fleet-facts", 1, 1),
        ("airlines", "us-airways-merger", 1, 0),
    ],
)
def test_each_branch_stands_where_its_story_says(
    demo: Warehouse, table: str, name: str, ahead: int, behind: int
) -> None:
    found = branch(demo, table, name)
    assert found.versus is not None
    assert (found.versus.ahead, found.versus.behind) == (ahead, behind)
    assert found.reason


def test_the_old_experiment_is_stale_and_the_fix_is_not(demo: Warehouse) -> None:
    assert branch(demo, "flights", "old-experiment").quiet_since_millis
    assert not branch(demo, "flights", "fix-delays").quiet_since_millis


def test_branches_broken_on_purpose_say_what_is_missing(demo: Warehouse) -> None:
    half_made = branch(demo, "airports", "half-made")
    assert half_made.error is not None
    assert "no schema" in half_made.error.message
    with pytest.raises(PaimonError, match="manifest-list-left-behind"):
        read_snapshot(demo, FLIGHTS.on_branch("broken-copy"), "10")


def test_only_the_branch_that_main_waited_for_can_be_fast_forwarded(demo: Warehouse) -> None:
    assert preview_fast_forward(demo, FLIGHTS, "fix-delays").verdict is Verdict.FAST_FORWARD
    assert preview_fast_forward(demo, FLIGHTS, "backfill-2013-12").verdict is Verdict.REFUSED


def test_merges_of_the_demo_come_out_as_their_stories_say(demo: Warehouse) -> None:
    weather = Identifier.parse("air.weather")
    clean = preview_merge(demo, FLIGHTS, "old-experiment")
    assert (verdict_of(clean), clean.cost.bytes_to_copy) == (MergeVerdict.CLEAN, 0)
    (conflict,) = preview_merge(demo, weather, "fix-wind").conflicts
    assert conflict.settle_with == (Take.ISOLATION_SNAPSHOT,)
    settled = preview_merge(
        demo, weather, "fix-wind", rules=MergeRules(isolation=Isolation.SNAPSHOT)
    )
    assert verdict_of(settled) is MergeVerdict.CLEAN


def test_a_branch_over_two_tables_renames_a_carrier_in_both(demo: Warehouse) -> None:
    call = ProcedureCall(
        name="merge_catalog_branch",
        arguments={"branch": "airtran-merger"},
        actor="test",
        operation_id="preview",
    )
    plan = catalog_merge_of(demo, call)
    assert plan.verdict is MergeVerdict.CLEAN
    changed = {each.after.name for each in plan.steps if each.after is not None}
    assert changed == {"airlines", "carriers"}


def test_rules_of_the_flights_are_kept_for_what_a_merge_would_leave(demo: Warehouse) -> None:
    rules = find_rules(demo, FLIGHTS)
    assert rules is not None
    assert [each.id for each in rules.rules if each.severity is Severity.BLOCK] == ["tail", "delay"]


@pytest.mark.depth("long")
def test_the_fix_can_be_fast_forwarded_for_real(
    demo: Warehouse, session: WarmSession, tmp_path: Path
) -> None:
    copy = Warehouse.open(str(shutil.copytree(demo.url, tmp_path / "copy")))
    plan = preview_fast_forward(copy, FLIGHTS, "fix-delays")
    call = ProcedureCall(
        name="fast_forward",
        arguments={"table": "air.flights", "branch": "fix-delays", "plan_id": plan.id},
        actor="test",
        operation_id="fast-forward-of-the-demo",
    )
    rows = SparkRowEngine(lambda: session, copy.file_io)
    receipt = run_call(copy, rows, call, InlineStages())
    assert receipt.counts.snapshots_added == 2
    head = copy.table("air.flights").head()
    assert head is not None
    assert head.id == 14


def test_schemas_of_planes_forked(demo: Warehouse) -> None:
    main, facts = demo.table("air.planes"), demo.table("air.planes$branch_fleet-facts")
    assert [field.name for field in main.schema().fields][-2:] == ["flights_in_2013", "first_seen"]
    assert facts.schema().find_field("year_built") is not None
    assert str(facts.schema().field("seats").type) == "BIGINT"


@pytest.mark.depth("full")
def test_the_reports_say_what_the_flights_say(demo: Warehouse, session: WarmSession) -> None:
    spark = session.spark
    flights = read_table(
        spark, demo, "air.flights",
        columns=["month", "day", "origin", "carrier", "dep_time", "dep_delay"],
    )  # fmt: skip
    flights.createOrReplaceTempView("flown")
    for name in ("daily_delays", "carriers"):
        table = demo.table(f"reports.{name}")
        assert table.branches.names() == (("airtran-merger",) if name == "carriers" else ())
        read_table(spark, demo, f"reports.{name}").createOrReplaceTempView(name)
    days = spark.sql(
        "SELECT count(*), count_if(r.flights = f.flights AND abs(r.mean_dep_delay - f.mean) < 1e-9)"
        " FROM daily_delays r FULL JOIN (SELECT origin, to_date(concat(month, '-', day), 'y-M-d')"
        " AS day, count(*) AS flights, avg(dep_delay) AS mean FROM flown GROUP BY ALL) f"
        " USING (origin, day)"
    )
    assert days.collect() == [(3 * 365, 3 * 365)]
    carriers = spark.sql(
        "SELECT count(*), count_if(r.flights = f.flights AND r.cancelled = f.cancelled),"
        " sum(r.flights), sum(r.cancelled) FROM carriers r FULL JOIN (SELECT carrier,"
        " count(*) AS flights, count_if(dep_time IS NULL) AS cancelled FROM flown"
        " GROUP BY carrier) f USING (carrier)"
    )
    assert carriers.collect() == [(16, 16, 336_776, 8_255)]


def test_a_complete_demo_is_reused(demo: Warehouse) -> None:
    assert is_complete(Path(demo.url))
    assert prepare_demo(Path(demo.url)) is None
    assert json.loads((Path(demo.url) / MARKER).read_text())["databases"] == ["air", "reports"]


@pytest.mark.depth("full")
def test_a_build_that_was_cut_off_goes_on_where_it_stopped(
    session: WarmSession, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    arguments = prepare_demo(folder)
    assert arguments is not None
    warehouse = Warehouse.open(str(folder))
    rows = SparkRowEngine(lambda: session, warehouse.file_io)
    cuts = [("build air.weather", 6), ("build reports.daily_delays", 1)]
    stage = ""

    def enter(name: str, message: str) -> None:
        nonlocal stage
        stage = name

    def cut_off(done: int, total: int | None) -> None:
        if (stage, done) in cuts:
            cuts.remove((stage, done))
            raise KeyboardInterrupt

    def build(operation_id: str) -> Receipt:
        call = ProcedureCall(
            name=PROCEDURE, arguments=arguments, actor="test", operation_id=operation_id
        )
        return run_call(warehouse, rows, call, InlineStages(on_stage=enter, progress=cut_off))

    for operation_id, table, snapshots in (
        ("one", "air.weather", 3),
        ("two", "reports.daily_delays", 1),
    ):
        with pytest.raises(KeyboardInterrupt):
            build(operation_id)
        assert not is_complete(folder)
        assert prepare_demo(folder) == arguments
        assert len(warehouse.table(table).snapshots.ids()) == snapshots

    assert build("three").counts.snapshots_added == 50
    assert is_complete(folder)
    assert warehouse.table("air.weather").snapshots.ids() == (1, 2, 3, 4)
    assert warehouse.table("air.airlines").snapshots.ids() == (1,)
    assert warehouse.table("reports.daily_delays").snapshots.ids() == (1, 2)
