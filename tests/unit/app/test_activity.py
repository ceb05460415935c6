"""The feed: a sentence an operation, which is one with its undo; jobs if no ledger tells."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind, VersionName
from branch_console.format.identifier import Identifier
from branch_console.format.journals.written import GateOverride
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import HeadMove, Receipt
from branch_console.jobs.progress import JobState
from branch_console.operations.declared import REQUESTS
from branch_console.procedures.browse.page_values import TableEvents
from branch_console.quality.findings import RuleFinding
from branch_console_app.models.jobs.activity import (
    READING_JOBS,
    ActivityKind,
    ActivityTime,
    activity_feed,
    chosen_activity,
)
from branch_console_app.models.jobs.job_titles import _TITLES, full_title
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.jobs.waiting import waiting_jobs
from tests.console.pretend import NOW, job
from tests.unit.app.histories import snapshot

TAIL = RuleFinding(
    rule="tail", asked="tailnum not null", severity="block", verdict="block", said="It fails."
)
FLIGHTS = Identifier.parse("air.flights")


def event(name: str, kind: LineageKind, at: int, **facts: str) -> LineageEvent:
    return LineageEvent(
        id=name, branch="main", operation_id=name, actor=facts.pop("actor", "ada"), kind=kind,
        time_millis=at, **facts,  # type: ignore[arg-type]
    )  # fmt: skip


def moving(branch: str, rescue_branch: str | None = None) -> Receipt:
    """The receipt of operation m, which moved the head of a branch from snapshot 1 to 2."""
    move = HeadMove(
        branch=branch, before=snapshot("a", 1).identity, before_id=1,
        after=snapshot("b", 2).identity, after_id=2,
    )  # fmt: skip
    return Receipt(
        operation_id="m", statement="", actor="ada", plan_id="", moves=(move,),
        rescue_branch=rescue_branch, started_millis=5, finished_millis=5,
    )  # fmt: skip


def ledger(*events: LineageEvent) -> TableEvents:
    return TableEvents(table=FLIGHTS, events=events)


@pytest.mark.parametrize("kind", list(LineageKind))
@pytest.mark.parametrize("has_names", [True, False])
def test_every_kind_is_a_sentence_with_its_person_and_table(
    kind: LineageKind, has_names: bool
) -> None:
    names = {"source_branch": "dev", "tag": "q1", "source_tag": "q0"} if has_names else {}
    (entry,) = activity_feed([ledger(event("a", kind, 1, **names))])
    assert entry.sentence.startswith("ada ")
    assert entry.sentence.endswith(" of air\\.flights")
    assert "None" not in entry.sentence


def test_an_undo_joins_what_it_took_back_and_a_redo_parts_them() -> None:
    merged = event("m", LineageKind.MERGED, 1, source_branch="dev")
    undone = event("u", LineageKind.UNDONE, 5, actor="bo", undoes="m")
    tagged = event("t", LineageKind.TAGGED, 3, tag="q1")
    first, second = activity_feed([ledger(merged, tagged, undone)])
    assert (first.operation, first.undo, first.undone) == ("m", "u", "undone by bo")
    assert (first.time_millis, first.people) == (5, ("ada", "bo"))
    assert second.operation == "t"
    again = event("r", LineageKind.REVERTED, 7, actor="eve", undoes="u")
    found = activity_feed([ledger(merged, undone, again)])
    assert [(each.operation, each.undone) for each in found] == [
        ("u", "reverted by eve"),
        ("m", None),
    ]


def test_a_merge_leads_to_its_comparison_until_it_is_taken_back() -> None:
    told = moving("main")
    merged = replace(event("m", LineageKind.MERGED, 1, source_branch="dev"), receipt=told)
    (entry,) = activity_feed([ledger(merged)])
    assert entry.sides is not None
    assert (str(entry.sides.before), str(entry.sides.after)) == ("main@1:a-uuid", "main@2:b-uuid")
    undone = event("u", LineageKind.UNDONE, 5, undoes="m")
    (entry,) = activity_feed([ledger(merged, undone)])
    assert entry.sides is None


def test_a_merge_leads_to_no_comparison_while_a_name_of_its_receipt_is_gone() -> None:
    def named(name: str, kind: LineageKind, at: int, branch: str, **facts: str) -> LineageEvent:
        return replace(event(name, kind, at, **facts), branch=branch)

    told = moving("dev", rescue_branch="rescue-m")
    merged = replace(named("m", LineageKind.FAST_FORWARDED, 1, "dev"), receipt=told)
    renamed = named("n", LineageKind.RENAMED, 2, "done", source_branch="dev")
    back = named("o", LineageKind.RENAMED, 3, "dev", source_branch="done")
    released = named("p", LineageKind.DROPPED, 4, "rescue-m")

    def leads(*events: LineageEvent) -> bool:
        found = activity_feed([ledger(merged, *events)])
        return next(each for each in found if each.operation == "m").sides is not None

    assert leads()
    assert not leads(renamed)
    assert leads(renamed, back)
    assert not leads(renamed, back, released)


def test_what_an_operation_rescues_is_told_with_it() -> None:
    replaced = event("m", LineageKind.REPLACED, 5, source_branch="dev")
    kept = replace(event("k", LineageKind.RESCUED, 5, source_branch="main"), operation_id="m")
    found = activity_feed([ledger(kept, replaced)])
    assert [each.sentence for each in found] == ["ada replaced `main` by `dev` of air\\.flights"]


def test_a_drop_names_the_rescue_branch_that_keeps_what_was_dropped() -> None:
    kept = Receipt(
        operation_id="d", statement="", actor="ada", plan_id="", rescue_branch="rescue-7f3a",
        started_millis=5, finished_millis=5,
    )  # fmt: skip
    dropped = replace(event("d", LineageKind.DROPPED, 5), branch="work", receipt=kept)
    (entry,) = activity_feed([ledger(dropped)])
    assert entry.sentence == "ada dropped branch `work` of air\\.flights, kept as `rescue-7f3a`"


def test_a_merge_whose_rules_were_overridden_says_which_rule_and_why() -> None:
    gate = GateOverride(reason="Known, see 41", actor="ada", time_millis=5).on(
        {"findings": [asdict(TAIL), asdict(replace(TAIL, rule="delay", verdict="pass"))]}
    )
    kept = Receipt(
        operation_id="m", statement="", actor="ada", plan_id="", gate=gate, started_millis=5,
        finished_millis=5,
    )  # fmt: skip
    merged = replace(event("m", LineageKind.MERGED, 5, source_branch="dev"), receipt=kept)
    (entry,) = activity_feed([ledger(merged)])
    assert (entry.overridden, entry.reason) == ("rule `tail` overridden", "Known, see 41")
    # A rule that warns is not overridden.
    passed = replace(merged, receipt=replace(kept, gate={"findings": [asdict(TAIL)]}))
    (entry,) = activity_feed([ledger(passed)])
    assert (entry.overridden, entry.reason) == (None, None)


@pytest.mark.parametrize(
    "gate",
    [
        {"findings": [asdict(TAIL)], "override": {"reason": "Known", "actor": "ada"}},
        {"override": {"reason": "Known", "actor": "ada", "timeMillis": 5}},
        {
            "findings": [{**asdict(TAIL), "of_a_later_release": 1}],
            "override": {"reason": "Known", "actor": "ada", "timeMillis": 5},
        },
    ],
)
def test_an_override_that_cannot_be_read_spoils_no_other_line(gate: dict[str, object]) -> None:
    broken = Receipt(
        operation_id="m", statement="", actor="ada", plan_id="", gate=gate, started_millis=5,
        finished_millis=5,
    )  # fmt: skip
    merged = replace(event("m", LineageKind.MERGED, 5, source_branch="dev"), receipt=broken)
    found = activity_feed([ledger(merged, event("t", LineageKind.TAGGED, 6))])
    assert [(each.operation, each.overridden) for each in found] == [("t", None), ("m", None)]


def test_a_rescue_branch_is_released_and_not_dropped() -> None:
    released = replace(event("r", LineageKind.DROPPED, 5), branch="rescue-7f3a")
    (entry,) = activity_feed([ledger(released)])
    assert entry.sentence == "ada released branch `rescue-7f3a` of air\\.flights"


def test_an_undo_of_what_the_ledger_lost_stands_alone() -> None:
    (entry,) = activity_feed([ledger(event("u", LineageKind.UNDONE, 5, undoes="gone"))])
    assert (entry.operation, entry.kind) == ("u", ActivityKind.UNDO)


def test_a_merge_of_the_catalog_is_one_entry_with_its_tables() -> None:
    whole = CatalogVersion(
        branch="main", number=2, kind=VersionKind.MERGED, operation="op", actor="bo", time_millis=9,
        parents=(VersionName(branch="main", number=1), VersionName(branch="spring", number=4)),
    )  # fmt: skip
    seen = replace(whole, number=3, kind=VersionKind.SIGHTED, operation="seen")
    part = event("op-flights", LineageKind.MERGED, 8, source_branch="spring")
    (entry,) = activity_feed([ledger(part)], [whole, seen])
    assert entry.sentence == "bo merged `spring` into `main` of the catalog"


def test_an_undo_of_the_catalog_joins_the_merge_that_it_took_back() -> None:
    merged = version(VersionKind.MERGED, "m", 1)
    undone = replace(version(VersionKind.UNDONE, "u", 5), actor="bo")
    (entry,) = activity_feed([], [merged, undone], undoes={"u": "m"})
    assert entry.sentence == "ada merged `dev` into `main` of the catalog"
    assert (entry.operation, entry.undo, entry.undone) == ("m", "u", "undone by bo")
    assert (entry.time_millis, entry.people) == (5, ("ada", "bo"))
    # One table of it: the merge stands, and the undo says what it belongs to.
    part, whole = activity_feed([], [merged, undone], undoes={"u": "m-3"})
    assert whole.undone is None
    assert part.sentence == "bo undid a part of the merge of `dev` into `main` of the catalog"
    # Nothing tells what was undone.
    first, _ = activity_feed([], [merged, undone])
    assert first.sentence == "bo undid an operation on `main` of the catalog"


def test_a_merge_of_the_catalog_that_overrode_rules_has_the_same_mark() -> None:
    merged, other = version(VersionKind.MERGED, "m", 1), version(VersionKind.MERGED, "o", 2)
    overrides = {"m": OverriddenRules(rules=("tail",), actor="ada", reason="Known, see 41")}
    plain, marked = activity_feed([], [merged, other], overrides=overrides)
    assert (marked.overridden, marked.reason) == ("rule `tail` overridden", "Known, see 41")
    assert (plain.overridden, plain.reason) == (None, None)


def version(kind: VersionKind, operation: str, at: int) -> CatalogVersion:
    return CatalogVersion(
        branch="main", number=at, kind=kind, operation=operation, time_millis=at, actor="ada",
        parents=(VersionName(branch="main", number=at - 1), VersionName(branch="dev", number=3)),
    )  # fmt: skip


def test_a_job_is_told_only_where_no_ledger_tells_of_it() -> None:
    made = event("m", LineageKind.MERGED, 1, source_branch="dev")
    jobs = [
        job("m", state=JobState.DONE, name="merge_branch"),
        job("q", state=JobState.DONE, name="query"),
        job("d", state=JobState.DONE, name="delete_rows", table="air.flights$branch_dev"),
        job("f", state=JobState.FAILED, name="merge_branch"),
    ]
    found = activity_feed([ledger(made)], jobs=jobs)
    assert {each.operation or each.job for each in found} == {"m", "d", "f"}
    (failed,) = (each for each in found if each.job == "f")
    assert failed.sentence == "ada asked for “Merge a branch” on air\\.flights: it failed"
    assert {each.table for each in found} == {"air.flights"}
    assert "ada deleted rows from air\\.flights" in {each.sentence for each in found}
    (built,) = activity_feed([], jobs=[job("b", state=JobState.DONE, name="build_demo", table="")])
    assert built.sentence == "ada built the demo"


def test_table_person_and_kind_choose() -> None:
    entries = activity_feed(
        [
            ledger(
                event("m", LineageKind.MERGED, 1), event("t", LineageKind.TAGGED, 2, actor="bo")
            ),
            TableEvents(
                table=Identifier.parse("air.planes"), events=(event("p", LineageKind.MERGED, 3),)
            ),
        ]
    )
    chosen = {
        "table": chosen_activity(entries, table="air.flights"),
        "person": chosen_activity(entries, person="ada"),
        "kind": chosen_activity(entries, kind=ActivityKind.TAGS),
    }
    assert {name: [each.operation for each in found] for name, found in chosen.items()} == {
        "table": ["t", "m"],
        "person": ["p", "m"],
        "kind": ["t"],
    }


@pytest.mark.parametrize(
    ("time", "zone", "since"),
    [
        (ActivityTime.HOUR, UTC, datetime(2026, 11, 27, 0, 30, tzinfo=UTC)),
        (ActivityTime.TODAY, UTC, datetime(2026, 11, 27, tzinfo=UTC)),
        (ActivityTime.TODAY, ZoneInfo("America/New_York"), datetime(2026, 11, 26, 5, tzinfo=UTC)),
        (ActivityTime.WEEK, UTC, datetime(2026, 11, 20, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_time_begins_on_the_clock_of_who_looks(
    time: ActivityTime, zone: tzinfo, since: datetime
) -> None:
    now = datetime(2026, 11, 27, 1, 30, tzinfo=UTC)
    found = time.since_millis(int(now.timestamp() * 1000), zone)
    assert datetime.fromtimestamp(found / 1000, UTC) == since
    entries = activity_feed(
        [
            ledger(
                event("before", LineageKind.MERGED, found - 1),
                event("since", LineageKind.MERGED, found),
            )
        ]
    )
    assert [each.operation for each in chosen_activity(entries, since_millis=found)] == ["since"]


def test_titles_name_arguments_that_calls_have() -> None:
    for name, title in _TITLES.items():
        given = {argument.name: "x" for argument in REQUESTS[name].arguments()}
        title.format_map({"target": "main", **given})
    assert {*REQUESTS} >= READING_JOBS


@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("merge_branch", {"branch": "fix"}, "Merge `fix` into `main`"),
        ("merge_branch", {"branch": "fix", "target": "dev"}, "Merge `fix` into `dev`"),
        ("rename_branch", {"branch": "a", "to": "b"}, "Rename branch `a` to `b`"),
        (
            "count_rows",
            {"a": "main@12:cd89b663", "b": "dev@7:manifest"},
            "Count the rows of `main@12` and `dev@7`",
        ),
        (
            "compare_rows",
            {"branch": "fix@7:odd"},
            "Compare rows to merge `fix@7:odd` into `main`",
        ),
        (
            "compare_states",
            {"a": "main@2026-05-01T12:00", "b": "dev@tag:v1"},
            "Compare the rows of `main@2026-05-01T12:00` and `dev@tag:v1`",
        ),
        ("create_tag", {}, "Create a tag"),
        ("compact", {"table": "air.flights"}, "Compact"),
    ],
)
def test_a_title_has_the_names_that_its_call_has(
    name: str, arguments: dict[str, str], title: str
) -> None:
    assert full_title(replace(job("1", name=name), arguments=arguments)) == title


def test_what_ended_badly_waits_for_its_person_until_it_is_run_again_or_old() -> None:
    sides = {"branch": "fix", "target": "main"}
    failed = replace(job("1", state=JobState.FAILED, name="dry_run_merge"), arguments=sides)
    assert waiting_jobs([failed], "ada", NOW) == (failed,)
    assert waiting_jobs([failed], "bo", NOW) == ()
    assert waiting_jobs([failed], "ada", NOW + 15 * 86_400_000) == ()
    merged = replace(job("2", state=JobState.DONE, name="merge_branch"), arguments=sides)
    assert waiting_jobs([merged, failed], "ada", NOW) == ()
    other = replace(merged, arguments={"branch": "dev", "target": "main"})
    assert waiting_jobs([other, failed], "ada", NOW) == (failed,)
    asked = job("3", state=JobState.FAILED, name="query")
    assert waiting_jobs([asked], "ada", NOW) == ()
