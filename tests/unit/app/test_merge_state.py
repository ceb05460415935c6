"""The verdict of a merge: the first state that holds, its sentence, and the steps it leads to."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from branch_console.diff.fast_forward import ForwardDecision, Reason, Verdict
from branch_console.errors import ErrorKind
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.jobs.progress import JobState, JobView, TargetMove
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import FastForwardPlan, MergeVerdict, Plan, PlanCost
from branch_console.procedures.call.consequence import blocks
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.quality.findings import RuleFinding
from branch_console.quality.rules import PartitionFailures
from branch_console_app.models.jobs.target_words import target_words
from branch_console_app.models.merge.eligibility import check_of, checks_of_draft
from branch_console_app.models.merge.gate_run import BY_TIME, OTHER_RULES, GateRun
from branch_console_app.models.merge.merge_facts import (
    MergeAttempt,
    MergeFacts,
    RoleGap,
    RowsOfMerge,
    SettledByOptions,
    UndoneMerge,
    merged_since,
)
from branch_console_app.models.merge.merge_state import (
    ROLES,
    MergeStanding,
    MergeState,
    NextStep,
    VerdictRole,
)
from branch_console_app.models.parts.wording import bare
from tests.console.pages import settings
from tests.console.pretend import HOUR, NEW_FILES, NOW, air_warehouse, job, merge_plan

Planned: TypeAlias = Callable[..., Plan]
COMPARED = PlanCost(buckets_to_compare=2)
S, T = "fix-delays", "main"
GAP = RoleGap(own=Role.EDITOR, needed=Role.APPROVER)
TAIL = RuleFinding(
    rule="tail", asked="tailnum not null", severity="block", verdict="block", said="It fails.",
    rows=335_751, failures=27_004, rows_before=336_776, failures_before=2_512, allowed="1%",
)  # fmt: skip
UNKNOWN = replace(
    TAIL, verdict="not evaluated", outcome="not evaluated", failures=None,
    said="Rule 'tail' was not evaluated: Spark could not answer a query.",
)  # fmt: skip
UNCHECKED = (
    "The quality rules could not be checked. Rule tail was not evaluated: Spark could not answer "
    "a query. main is unchanged."
)
PASSES = replace(TAIL, rule="carrier", verdict="pass", failures=0)


@pytest.fixture
def plan(tmp_path: Path) -> Planned:
    flights = air_warehouse(settings(tmp_path)).listed[1]

    def of(verdict: MergeVerdict = MergeVerdict.CLEAN, **parts: Any) -> Plan:
        return merge_plan(
            flights, flights.branches[S], flights.branches[T], verdict=verdict, **parts
        )

    return of


def conflicts(*columns_and_takes: tuple[str | None, str | None]) -> RowsOfMerge:
    columns, takes = zip(*columns_and_takes, strict=True) if columns_and_takes else ((), ())
    return RowsOfMerge.of_conflicts(
        pa.table(
            {
                "kind": pa.array(["changed on both"] * len(columns), pa.string()),
                "column": pa.array(columns, pa.string()),
                "take": pa.array(takes, pa.string()),
                "decided_by": pa.array([each and "table t" for each in takes], pa.string()),
                "is_choice": pa.array([each and False for each in takes], pa.bool_()),
            }
        )
    )


def ended(state: JobState, error: ErrorKind | None = None, **parts: Any) -> JobView:
    return replace(job("j", state=state, error=error, message="Worker lost.", **parts), done=3)


def attempt(plan: Plan, view: JobView, **parts: Any) -> MergeAttempt:
    return MergeAttempt(job=view, plan_id=plan.id, **parts)


CLEAN, UNDECIDED = MergeVerdict.CLEAN, MergeVerdict.UNDECIDED
DONE = ended(JobState.DONE)
UNDONE = UndoneMerge(actor="bo", millis=NOW + HOUR, snapshot_id=12, rescue_branch="rescue-9f2a")

# What is given, and what becomes of it: sentence and detail, then both buttons.
Given: TypeAlias = Callable[[Planned], MergeState]
ROWS: dict[MergeStanding, tuple[Given, str, NextStep | None, NextStep | None]] = {
    MergeStanding.CHOOSE: (
        lambda plan: MergeState.choose(),
        "Choose one of the branches below to merge.",
        None,
        None,
    ),
    MergeStanding.LOADING: (
        lambda plan: MergeState.loading(S, T),
        "Checking what fix-delays would change in main.",
        None,
        NextStep.CANCEL,
    ),
    MergeStanding.UNCHECKED: (
        lambda plan: MergeState.unchecked(S, T),
        "The check of what fix-delays would change in main was cancelled. Nothing was changed.",
        NextStep.CHECK,
        None,
    ),
    MergeStanding.RUNNING: (
        lambda plan: of(plan(), merge=replace_state(JobState.RUNNING)),
        "Merging: checking the data files, 12 of 40. main is unchanged until the last step.",
        NextStep.VIEW_JOB,
        NextStep.CANCEL,
    ),
    MergeStanding.COMPARING: (
        lambda plan: of(undecided(plan), comparison=replace_state(JobState.RUNNING)),
        "Comparing rows: 12 of 40 parts. Nothing is changed.",
        NextStep.VIEW_JOB,
        NextStep.CANCEL,
    ),
    MergeStanding.DONE: (
        lambda plan: of(plan(MergeVerdict.UP_TO_DATE), merge=(DONE, {"can_undo": True})),
        "Merged into main as snapshot 13 by ada, 12:00. Undo works until the next commit on main.",
        NextStep.VIEW_RECEIPT,
        NextStep.UNDO,
    ),
    MergeStanding.UNDONE: (
        lambda plan: of(
            plan(),
            merge=(DONE, {"undone": UNDONE}),
        ),
        "Merged into main as snapshot 13, undone by bo today 13:00. main went back to snapshot 12. "
        "What the undo removed went to rescue branch rescue-9f2a.",
        NextStep.REVIEW,
        NextStep.VIEW_RECEIPT,
    ),
    MergeStanding.FAILED: (
        lambda plan: of(plan(), merge=ended(JobState.FAILED)),
        "The merge stopped while checking the data files. Worker lost. main is unchanged.",
        NextStep.RESUME,
        NextStep.VIEW_JOB,
    ),
    MergeStanding.STALE: (
        lambda plan: of(plan(), stale="`main` got 1 snapshot.", decisions=17),
        "main got 1 snapshot. This page has changed nothing on main. Your 17 decisions are kept.",
        NextStep.UPDATE,
        NextStep.SHOW_COMMITS,
    ),
    MergeStanding.UP_TO_DATE: (
        lambda plan: of(plan(MergeVerdict.UP_TO_DATE)),
        "main already has every change of fix-delays.",
        NextStep.CHOOSE_SOURCE,
        NextStep.DROP_SOURCE,
    ),
    MergeStanding.REFUSED: (
        lambda plan: of(
            plan(
                MergeVerdict.REFUSED,
                blocks=(Block(kind=ErrorKind.NO_COMMON_HISTORY, text="They share no snapshot."),),
            )
        ),
        "fix-delays cannot be merged into main. They share no snapshot. Nothing was changed.",
        NextStep.REMEDY,
        None,
    ),
    MergeStanding.CONFLICTS: (
        lambda plan: of(undecided(plan), rows=conflicts(("dep_delay", None), ("dep_delay", None))),
        "2 conflicts to settle, all in dep_delay. main is unchanged.",
        NextStep.SETTLE,
        None,
    ),
    MergeStanding.NEEDS_ROWS: (
        lambda plan: of(undecided(plan)),
        "Both sides changed the same part of the table. Compare rows to see if they collide.",
        NextStep.COMPARE,
        None,
    ),
    MergeStanding.RULES_UNCHECKED: (
        lambda plan: of(
            plan(),
            dry_run=(
                ended(JobState.FAILED, ErrorKind.RULES_NOT_CHECKED),
                {"findings": (PASSES, UNKNOWN)},
            ),
        ),
        UNCHECKED,
        NextStep.RESUME,
        NextStep.VIEW_JOB,
    ),
    MergeStanding.GATE_RED: (
        lambda plan: of(
            plan(),
            dry_run=(
                ended(JobState.REFUSED, ErrorKind.GATE_FAILED),
                {"findings": (PASSES, TAIL)},
            ),
        ),
        "Blocked by rule tail: 27,004 of 335,751 rows of the result fail it (8.04%; 1% is "
        "allowed); 2,512 (0.746%) on main today. main is unchanged.",
        NextStep.SHOW_ROWS,
        NextStep.OVERRIDE,
    ),
    MergeStanding.NO_RIGHT: (
        lambda plan: of(plan(), gap=GAP),
        "Ready. You are an editor; merging into main takes an approver.",
        NextStep.COPY_LINK,
        None,
    ),
    MergeStanding.STAGED: (
        lambda plan: of(plan(), dry_run=(DONE, {"findings": (PASSES, PASSES)})),
        "Dry run passed, 2 of 2 rules. main is unchanged; the result is kept until tomorrow 12:00.",
        NextStep.PUBLISH,
        NextStep.DISCARD,
    ),
    MergeStanding.SETTLED: (
        lambda plan: of(undecided(plan), rows=conflicts(("a", "theirs"), ("b", "theirs"))),
        "All 2 conflicts are settled; all take the source.",
        NextStep.MERGE,
        NextStep.CHANGE_DECISIONS,
    ),
    MergeStanding.FAST_FORWARD: (
        lambda plan: of(plan(MergeVerdict.FAST_FORWARD), ahead=2),
        "main has no commits since fix-delays branched off: a fast-forward adds the 2 commits of "
        "fix-delays unchanged.",
        NextStep.MERGE,
        None,
    ),
    MergeStanding.CLEAN: (
        lambda plan: of(plan(), ahead=3),
        "No conflicts. fix-delays (3 commits) becomes one new snapshot of main.",
        NextStep.MERGE,
        None,
    ),
}


def undecided(plan: Planned) -> Plan:
    return plan(UNDECIDED, moves=NEW_FILES, cost=COMPARED)


def replace_state(state: JobState) -> JobView:
    return job("j", state=state)


def of(plan: Plan, **facts: Any) -> MergeState:
    """The state of a plan; a job may come alone, or with what is known of it."""
    for name in ("merge", "dry_run", "comparison"):
        if name in facts:
            view, parts = facts[name] if isinstance(facts[name], tuple) else (facts[name], {})
            facts[name] = attempt(plan, view, snapshot_id=13, **parts)
    return MergeState.of(plan, MergeFacts(now_millis=NOW, **facts))


@pytest.mark.parametrize("standing", MergeStanding)
def test_each_state_has_its_sentence_and_its_buttons(
    plan: Planned, standing: MergeStanding
) -> None:
    given, text, primary, secondary = ROWS[standing]
    state = given(plan)
    steps = [each and each.step for each in (state.primary, state.secondary)]
    assert (state.standing, state.text, *steps) == (standing, text, primary, secondary)
    assert state.role is ROLES[standing]
    assert state.to_object()["next"] == (None if primary is None else str(primary))


def test_a_link_to_an_undone_merge_tells_that_its_branch_was_merged_again(plan: Planned) -> None:
    again = replace(UNDONE, again_millis=NOW + 3 * HOUR)
    state = of(plan(MergeVerdict.UP_TO_DATE), merge=(DONE, {"undone": again}))
    assert state.standing is MergeStanding.UNDONE
    assert state.text.endswith("rescue-9f2a. fix-delays was merged again today 15:00.")


def event(operation: str, hour: int, kind: LineageKind, **parts: Any) -> LineageEvent:
    return LineageEvent(
        id=operation, branch=T, operation_id=operation, actor="ann", kind=kind,
        time_millis=NOW + hour * HOUR, **parts,
    )  # fmt: skip


def test_only_a_later_merge_of_these_branches_that_was_kept_is_a_merge_again() -> None:
    merged, undone, moved = LineageKind.MERGED, LineageKind.UNDONE, LineageKind.FAST_FORWARDED
    first = (
        event("a", 0, merged, source_branch=S),
        event("b", 1, undone, undoes="a"),
        event("c", 2, merged, source_branch="lost-tails"),
    )
    assert merged_since(first, S, T, NOW + HOUR) is None
    again = (*first, event("d", 3, moved, source_branch=S))
    assert merged_since(again, S, T, NOW + HOUR) == NOW + 3 * HOUR
    taken_back = (*again, event("e", 4, undone, undoes="d"))
    assert merged_since(taken_back, S, T, NOW + HOUR) is None


def test_after_a_refusal_or_a_wait_nothing_is_green() -> None:
    green = [each for each, role in ROLES.items() if role is VerdictRole.DONE]
    assert green == [MergeStanding.DONE]


def test_the_first_state_that_holds_counts(plan: Planned) -> None:
    facts: dict[str, Any] = {
        "rows": conflicts(("a", None)),
        "gap": GAP,
        "stale": "`main` moved.",
        "blocks": (blocks("Another job is at work.", ErrorKind.BRANCH_IN_USE),),
        "merge": ended(JobState.CANCELLED),
    }
    order = ["merge", "stale", "blocks", "rows", "gap"]
    seen = []
    for number in range(len(order)):
        given = {name: facts[name] for name in order[number:]}
        seen.append(of(undecided(plan), **given).standing)
    assert seen == [
        MergeStanding.FAILED,
        MergeStanding.STALE,
        MergeStanding.REFUSED,
        MergeStanding.CONFLICTS,
        MergeStanding.NEEDS_ROWS,
    ]


def test_what_a_job_said_of_other_heads_says_nothing_of_these(plan: Planned) -> None:
    clean = plan()
    earlier = MergeAttempt(job=ended(JobState.FAILED), plan_id="another")
    assert MergeState.of(clean, MergeFacts(merge=earlier)).standing is MergeStanding.CLEAN
    red = ended(JobState.REFUSED, ErrorKind.GATE_FAILED)
    earlier = MergeAttempt(job=red, plan_id="another", findings=(TAIL,))
    assert MergeState.of(clean, MergeFacts(dry_run=earlier)).standing is MergeStanding.CLEAN
    # A merge that is done was of this draft, until the source has something new.
    assert of(clean, merge=DONE).standing is MergeStanding.CLEAN


def test_a_rule_that_fails_stops_a_merge_though_another_one_could_not_be_checked(
    plan: Planned,
) -> None:
    red = (ended(JobState.REFUSED, ErrorKind.GATE_FAILED), {"findings": (UNKNOWN, TAIL)})
    state = of(plan(), dry_run=red)
    assert (state.standing, state.text.startswith("Blocked by rule tail: 27,004")) == (
        MergeStanding.GATE_RED,
        True,
    )


@pytest.mark.parametrize(
    ("rule_count", "words"),
    [(1, "1 rule, not checked."), (4, "4 rules, not all of them checked.")],
)
def test_rules_of_which_one_could_not_be_checked_are_counted(
    plan: Planned, rule_count: int, words: str
) -> None:
    made = plan()
    stopped = ended(JobState.FAILED, ErrorKind.RULES_NOT_CHECKED)
    facts = MergeFacts(dry_run=attempt(made, stopped, findings=(UNKNOWN,)))
    state = MergeState.of(made, facts)
    checks = checks_of_draft(state, made, facts, rule_count=rule_count)
    assert [each.text for each in checks if each.name == "Quality rules"] == [words]


def test_a_rule_that_fails_is_not_hidden_by_a_merge_whose_rules_could_not_be_checked(
    plan: Planned,
) -> None:
    made = plan()
    red = replace(ended(JobState.REFUSED, ErrorKind.GATE_FAILED), created_millis=1)
    later = replace(ended(JobState.FAILED, ErrorKind.RULES_NOT_CHECKED), created_millis=2)
    run = GateRun(job=red, judged=(), digest="d", findings=(TAIL,), time_millis=NOW)
    facts = MergeFacts(
        merge=attempt(made, later, findings=(UNKNOWN,)),
        dry_run=attempt(made, red, findings=(TAIL,)), gate=run,
    )  # fmt: skip
    assert MergeState.of(made, facts).standing is MergeStanding.GATE_RED
    # What failed by other rules, or at another time, says nothing of the merge as it is now.
    for outdated in (OTHER_RULES, BY_TIME):
        old = replace(facts, gate=replace(run, outdated=outdated))
        assert MergeState.of(made, old).standing is MergeStanding.RULES_UNCHECKED
    # The other way round: the merge failed, and its dry run could not check the rules.
    facts = replace(facts, merge=facts.dry_run, dry_run=facts.merge)
    state = MergeState.of(made, facts)
    assert state.standing is MergeStanding.GATE_RED
    texts = {each.name: each.text for each in checks_of_draft(state, made, facts, rule_count=1)}
    assert texts["Dry run"] == "stopped, as the quality rules could not be checked."


def test_an_earlier_release_refused_a_merge_whose_rules_could_not_be_checked(plan: Planned) -> None:
    refused = (ended(JobState.REFUSED, ErrorKind.GATE_FAILED), {"findings": (UNKNOWN,)})
    state = of(plan(), merge=refused)
    assert (state.standing, state.text) == (MergeStanding.RULES_UNCHECKED, UNCHECKED)
    # Such a job cannot go on: the merge is reviewed and started again.
    assert state.steps == (NextStep.REVIEW, NextStep.VIEW_JOB)


def test_of_a_merge_and_its_dry_run_the_later_one_counts(plan: Planned) -> None:
    stopped = replace(ended(JobState.FAILED, ErrorKind.RULES_NOT_CHECKED), created_millis=1)
    passed = replace(DONE, created_millis=2)
    assert of(plan(), merge=stopped, dry_run=passed).standing is MergeStanding.STAGED
    later = replace(stopped, created_millis=3)
    assert of(plan(), merge=later, dry_run=passed).standing is MergeStanding.RULES_UNCHECKED


def test_a_red_gate_names_the_partition_in_which_the_most_rows_newly_fail(plan: Planned) -> None:
    grown = (
        PartitionFailures(partition="month=2013-01", failures=27_004, failures_before=155),
        PartitionFailures(partition="month=2013-02", failures=9, failures_before=8),
    )
    red = ended(JobState.REFUSED, ErrorKind.GATE_FAILED)
    clean = plan()
    tried = MergeAttempt(job=red, plan_id=clean.id, findings=(replace(TAIL, partitions=grown),))
    found = MergeState.of(clean, MergeFacts(dry_run=tried))
    assert "27,004 are in month=2013-01, where 155 fail on main." in found.text
    assert "month=2013-02" not in found.text


@pytest.mark.parametrize(
    ("target_is", "said", "text"),
    [
        (TargetMove.UNCHANGED, "f is gone. Nothing was changed.", "f is gone. main is unchanged."),
        (
            TargetMove.UNCHANGED,
            "f is gone. Nothing was changed. Put it back.",
            "f is gone. Put it back. main is unchanged.",
        ),
        (TargetMove.UNCHANGED, "Nothing was changed.", "main is unchanged."),
        (
            TargetMove.MOVED,
            "Nothing was changed.",
            "Nothing was changed. main has changed: the last step was done.",
        ),
    ],
)
def test_a_refused_merge_says_once_that_nothing_was_changed(
    plan: Planned, target_is: TargetMove, said: str, text: str
) -> None:
    refused = replace(ended(JobState.REFUSED), message=said, target_is=target_is)
    assert of(plan(), merge=refused).text == f"The merge was refused. {text}"


def test_a_cancelled_merge_says_once_that_it_was_cancelled(plan: Planned) -> None:
    job = replace(
        ended(JobState.CANCELLED),
        message="Cancelled before anything was published.",
        target_is=TargetMove.UNCHANGED,
    )
    clean = plan()
    state = MergeState.of(clean, MergeFacts(merge=MergeAttempt(job=job, plan_id=clean.id)))
    assert state.text == "The merge was cancelled. main is unchanged."


@pytest.mark.parametrize(
    ("target_is", "words"),
    [
        (TargetMove.UNCHANGED, "main is unchanged."),
        (TargetMove.MOVED, "main has changed: the last step was done."),
        (
            TargetMove.UNKNOWN,
            "Whether main has changed is not known yet: recovery finishes what was cut off, or "
            "takes it back.",
        ),
    ],
)
def test_a_merge_that_failed_says_whether_its_target_has_changed(
    plan: Planned, target_is: TargetMove, words: str
) -> None:
    # Words of the message decide nothing.
    said = "Publishing was cut off; nothing is unchanged."
    failed = replace(ended(JobState.FAILED), message=said, target_is=target_is, recovers=True)
    text = f"The merge stopped while checking the data files. {said} {words}"
    assert of(plan(), merge=failed).text == text


def test_a_merge_that_failed_after_its_last_step_is_told_though_nothing_is_left_to_merge(
    plan: Planned,
) -> None:
    done = plan(MergeVerdict.UP_TO_DATE)
    failed = replace(ended(JobState.FAILED), target_is=TargetMove.MOVED)
    earlier = MergeAttempt(job=failed, plan_id="another")
    found = MergeState.of(done, MergeFacts(merge=earlier))
    assert found.standing is MergeStanding.FAILED
    assert found.stops, "nothing happens any more by itself"


def test_a_fast_forward_that_moved_and_then_failed_is_told(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    done = services.preview_fast_forward(services.listed[1].identifier, "audit", T)
    failed = replace(ended(JobState.FAILED), target_is=TargetMove.MOVED)
    earlier = MergeAttempt(job=failed, plan_id="another")
    assert MergeState.of_forward(done, MergeFacts(merge=earlier)).text == (
        "The merge stopped while checking the data files. Worker lost."
        " main has changed: the last step was "
        "done."
    )


@pytest.mark.parametrize(
    ("target_is", "words"),
    [
        (TargetMove.UNCHANGED, "The target is unchanged."),
        (TargetMove.MOVED, "The target has changed: the last step was done."),
        (TargetMove.UNKNOWN, "Whether the target has changed is not known."),
    ],
)
def test_a_target_without_a_name_is_written_as_a_sentence(
    target_is: TargetMove, words: str
) -> None:
    said = target_words(replace(ended(JobState.FAILED), target_is=target_is), "the target")
    assert said == words


def test_a_merge_that_was_cut_off_while_it_published_is_not_called_unchanged(plan: Planned) -> None:
    cut_off = replace(
        ended(JobState.INTERRUPTED),
        target_is=TargetMove.UNKNOWN,
        recovers=True,
        actor="bo",
        created_millis=NOW - 3 * HOUR,
    )
    found = of(plan(), merge=cut_off)
    assert found.standing is MergeStanding.FAILED
    assert found.role is VerdictRole.STOP
    assert found.text == (
        "The merge that bo started 3 hours ago was cut off while checking the data files: no "
        "worker runs."
        " Whether main has changed is not "
        "known yet: recovery finishes what was cut off, or takes it back."
    )
    assert found.steps == (NextStep.RESUME, NextStep.VIEW_JOB)
    assert found.is_followed


def test_a_comparison_that_was_cut_off_is_not_called_running(plan: Planned) -> None:
    found = of(undecided(plan), comparison=ended(JobState.INTERRUPTED))
    assert found.text == (
        "The row comparison that ada started just now was cut off while checking the data files: "
        "no worker runs. main is unchanged."
    )
    assert found.role is VerdictRole.STOP
    assert found.steps == (NextStep.RESUME, NextStep.VIEW_JOB)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (JobState.RUNNING, "running."),
        (JobState.FAILED, "not done"),
        (JobState.INTERRUPTED, "not done"),
    ],
)
@pytest.mark.parametrize(
    ("job", "name"), [("dry_run", "Dry run"), ("comparison", "Row comparison")]
)
def test_a_job_at_work_is_checked_as_running(
    plan: Planned, job: str, name: str, state: JobState, words: str
) -> None:
    made = undecided(plan)
    facts = MergeFacts(now_millis=NOW, **{job: attempt(made, replace_state(state))})
    checks = checks_of_draft(MergeState.of(made, facts), made, facts, rule_count=0)
    (text,) = (each.text for each in checks if each.name == name)
    assert text.startswith(words)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (("month=2013-12",), "partition month=2013-12."),
        (
            ("month=2013-11", "month=2013-12"),
            "partitions month=2013-11 and month=2013-12.",
        ),
    ],
)
def test_the_partitions_that_both_sides_changed_are_named(
    plan: Planned, parts: tuple[str, ...], words: str
) -> None:
    found = of(undecided(plan), parts=parts)
    assert found.text == f"Both sides changed the same {words} Compare rows to see if they collide."


def test_a_run_that_found_conflicts_leads_to_these_conflicts(plan: Planned) -> None:
    stopped = ended(JobState.REFUSED, ErrorKind.CONFLICTS_OPEN)
    found = of(undecided(plan), rows=conflicts(("a", None)), dry_run=stopped)
    assert found.standing is MergeStanding.CONFLICTS


def test_a_dry_run_that_compared_rows_needs_no_other_comparison(plan: Planned) -> None:
    assert of(undecided(plan), dry_run=DONE).standing is MergeStanding.STAGED


def test_a_dry_run_that_the_rules_stopped_needs_no_other_comparison(plan: Planned) -> None:
    """The rules are run on the result, so that its rows were compared before."""
    stopped = ended(JobState.REFUSED, ErrorKind.GATE_FAILED)
    apart = undecided(plan)
    facts = MergeFacts(dry_run=attempt(apart, stopped, findings=(TAIL,)))
    state = MergeState.of(apart, facts)
    assert state.standing is MergeStanding.GATE_RED
    texts = {each.name: each.text for each in checks_of_draft(state, apart, facts, rule_count=1)}
    assert texts["Conflicts"] == "none."
    assert texts["Row comparison"] == "done for the newest commits."


def test_a_staged_result_is_offered_while_it_is_kept(plan: Planned) -> None:
    clean = plan()
    dry = attempt(clean, DONE)
    late = MergeFacts(dry_run=dry, now_millis=NOW + 25 * HOUR)
    assert MergeState.of(clean, late).standing is MergeStanding.CLEAN


def test_who_may_not_settle_may_look(plan: Planned) -> None:
    found = of(undecided(plan), rows=conflicts(("a", None)), may_settle=False)
    assert found.primary is not None
    assert found.primary.step is NextStep.VIEW_CONFLICTS


def test_a_block_that_a_reason_excuses_is_asked_for_in_the_dialog(plan: Planned) -> None:
    excused = replace(
        blocks("Callbacks are left out.", ErrorKind.UNSUPPORTED), excused_by="without_callbacks"
    )
    assert of(plan(), blocks=(excused,)).standing is MergeStanding.CLEAN


def test_a_fast_forward_that_would_remove_commits_leads_to_the_merge(
    plan: Planned, tmp_path: Path
) -> None:
    services = air_warehouse(settings(tmp_path))
    identifier = services.listed[1].identifier

    def forward(source: str) -> ForwardDecision:
        return services.preview_fast_forward(identifier, source, T)

    refused = MergeState.of_forward(forward(S))
    assert refused.text == (
        "main cannot be fast-forwarded to fix-delays. It would remove 3 commits of main. "
        "Merge instead."
    )
    assert refused.primary is not None
    assert refused.primary.label == "Merge instead"
    taken = MergeState.of_forward(forward("backfill"))
    assert taken.standing is MergeStanding.FAST_FORWARD
    assert "a fast-forward adds the 2 commits" in taken.text
    assert MergeState.of_forward(forward("audit")).standing is MergeStanding.UP_TO_DATE
    assert isinstance(plan(MergeVerdict.FAST_FORWARD), FastForwardPlan)


def test_a_source_without_a_commit_is_not_called_merged(plan: Planned) -> None:
    found = plan(MergeVerdict.UP_TO_DATE)
    empty = of(replace(found, heads=replace(found.heads, theirs=None)))
    assert empty.standing is MergeStanding.UP_TO_DATE
    assert empty.text == f"{S} has no commit yet: there is nothing to merge."


def test_a_fast_forward_of_one_commit_does_not_count_it(plan: Planned) -> None:
    one = of(plan(MergeVerdict.FAST_FORWARD), ahead=1)
    assert one.text.endswith("a fast-forward adds the commit of fix-delays unchanged.")


def test_a_refused_fast_forward_offers_no_merge_that_is_refused_as_well(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    identifier = services.listed[1].identifier
    decided = services.preview_fast_forward(identifier, S, T)
    reason = Reason(kind=ErrorKind.NO_COMMON_HISTORY, text="They share no snapshot.")
    refused = MergeState.of_forward(replace(decided, reasons=(reason, *decided.reasons)))
    assert refused.text.startswith("fix-delays cannot be merged into main. They share no snapshot.")
    assert refused.primary is not None
    assert refused.primary.label == "Compare both branches"
    assert refused.secondary is None


def test_a_refusal_with_another_remedy_offers_the_comparison_beside_it(plan: Planned) -> None:
    block = Block(kind=ErrorKind.BRANCH_EMPTY, text="Branch 'main' has no snapshot yet.")
    refused = of(plan(MergeVerdict.REFUSED, blocks=(block,)))
    assert refused.steps == (NextStep.REMEDY, NextStep.COMPARE_SIDES)
    assert refused.primary is not None
    assert refused.primary.label == "Fast-forward instead"


def test_what_has_expired_is_not_said_to_come_back_by_a_pin(plan: Planned) -> None:
    block = Block(kind=ErrorKind.SNAPSHOT_NOT_FOUND, text="Snapshot 4 is gone.")
    refused = of(plan(MergeVerdict.REFUSED, blocks=(block,)))
    assert refused.primary is not None
    assert (refused.primary.label, refused.secondary) == ("Compare both branches", None)


def test_a_fast_forward_of_an_empty_branch_is_not_offered_again(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    identifier = services.listed[1].identifier
    decided = services.preview_fast_forward(identifier, "backfill", T)
    reason = Reason(kind=ErrorKind.BRANCH_EMPTY, text="The branch has no snapshot.")
    empty = replace(decided, reasons=(reason,), verdict=Verdict.REFUSED)
    refused = MergeState.of_forward(empty)
    assert refused.standing is MergeStanding.REFUSED
    assert refused.primary is not None
    assert refused.primary.label == "View branch"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("a", "theirs"), ("b", "theirs")], "All 2 conflicts are settled; all take the source."),
        ([("a", "ours")], "The conflict is settled; it takes the target."),
        (
            [("a", "max"), ("b", "ours")],
            "All 2 conflicts are settled; 1 takes the target, 1 by rule max.",
        ),
        ([("a", None), ("b", "ours")], "1 conflict to settle, all in `a`."),
        ([("b", None), ("a", None), ("a", None)], "3 conflicts to settle, in `a` and `b`."),
        ([(None, None)], "1 conflict to settle, all in whole rows."),
    ],
)
def test_open_conflicts_are_named_by_column_and_settled_ones_by_what_they_take(
    plan: Planned, rows: list[tuple[str | None, str | None]], sentence: str
) -> None:
    state = of(undecided(plan), rows=conflicts(*rows))
    assert state.sentence == sentence


def test_a_conflict_that_an_option_settled_says_so_and_can_be_taken_back(plan: Planned) -> None:
    settled = SettledByOptions(number=1, view=("isolation",), said="Isolation `snapshot`: so.")
    found = MergeState.of(plan(), MergeFacts(settled=settled))
    assert found.standing is MergeStanding.SETTLED
    assert found.text == "The conflict is settled. Isolation snapshot: so."
    assert found.secondary is not None
    assert (found.secondary.step, found.secondary.label) == (NextStep.CHANGE_OPTIONS, "Change")


def test_while_rules_run_the_verdict_says_so_with_how_many_parts_are_done(plan: Planned) -> None:
    at_work = replace(replace_state(JobState.RUNNING), step=STAGE)
    found = of(plan(), merge=at_work)
    assert found.sentence == "Merging: checking the quality rules, part by part, 12 of 40."


def test_a_job_at_work_names_who_started_it_to_everybody_else(plan: Planned) -> None:
    running = replace_state(JobState.RUNNING)
    for actor, by in ((running.actor, ""), ("bo", " (started by ada)")):
        assert of(plan(), merge=running, actor=actor).sentence.startswith(f"Merging{by}: checking")
        assert of(plan(), dry_run=running, actor=actor).sentence.startswith(f"Dry run{by}: ")
        compared = of(undecided(plan), comparison=running, actor=actor)
        assert compared.sentence == f"Comparing rows{by}: 12 of 40 parts."


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("merge branch", "Merging: publishing the snapshot, 12 of 40."),
        ("compare rows", "Merging: comparing rows, 12 of 40."),
        ("a later step", "Merging: a later step, 12 of 40."),
    ],
)
def test_a_running_merge_says_in_words_what_it_does(plan: Planned, step: str, said: str) -> None:
    found = of(plan(), merge=replace(replace_state(JobState.RUNNING), step=step))
    assert found.sentence == said


def test_an_undo_is_followed_where_it_was_asked_for(plan: Planned) -> None:
    merged = plan(MergeVerdict.UP_TO_DATE)
    done = attempt(merged, DONE, can_undo=True)
    undo = replace(job("u", state=JobState.RUNNING), name="undo")
    facts = MergeFacts(now_millis=NOW, merge=done, undo=undo)
    running = MergeState.of(merged, facts)
    assert (running.standing, running.job_id) == (MergeStanding.RUNNING, "u")
    assert running.text.startswith("Taking the merge back: checking the data files, 12 of 40.")

    refused = replace(undo, state=JobState.REFUSED, error=ErrorKind.UNDO_BLOCKED)
    stopped = MergeState.of(merged, facts.with_job(replace(refused, message="main moved.")))
    assert stopped.standing is MergeStanding.FAILED
    assert stopped.text == "The undo was refused. main moved. main is unchanged."

    # Once it is done, what there is to merge is told with it, and nothing is in the way.
    over = replace(
        facts, merge=replace(done, undone=UNDONE), undo=replace(refused, state=DONE.state)
    )
    assert MergeState.of(plan(), over).standing is MergeStanding.UNDONE
    assert MergeState.of(plan(), MergeFacts(undo=undo)).standing is MergeStanding.CLEAN


def test_a_check_names_an_operation_by_the_first_letters_of_its_id() -> None:
    block = blocks(f"Operation {'0123abcd' * 4} is at work.", ErrorKind.BRANCH_IN_USE)
    assert bare(check_of(block).text) == "Operation 0123abcd is at work."
