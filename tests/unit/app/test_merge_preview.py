"""A merge in words: its verdict, its figures, its buckets, and what would settle its conflicts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.diff.schema_diff import ChangeKind
from branch_console.errors import ErrorKind
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.format.values.binary_row import encode_row
from branch_console.jobs.progress import JobState
from branch_console.merge.conflict import Take
from branch_console.merge.file_moves import MergeRules, Strategy
from branch_console.merge.known_rows import KnownRows, StagedFigures
from branch_console.merge.plan import (
    MergeVerdict,
    Plan,
    ThreeWayPlan,
    conflicts_of,
    plan_object,
    verdict_of,
)
from branch_console.operations.isolation import Isolation
from branch_console.procedures.call.consequence import Preview, changes
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.procedures.merge.row_consequences import snapshot_consequence
from branch_console_app.models.merge.merge_facts import MergeAttempt, MergeFacts, RowsOfMerge
from branch_console_app.models.merge.merge_preview import (
    MergeDecision,
    MergePreview,
    SeenPlan,
    SettleOption,
    bucket_lines,
    candidates,
    left_by,
    otherwise_words,
    proven,
    rules_in_words,
    strategies_words,
)
from branch_console_app.models.merge.merge_state import MergeStanding, NextStep
from branch_console_app.models.parts.exactness import EXACT, LEAST, NOT_ROWS, UNREAD
from branch_console_app.models.parts.wording import NOT_READ
from tests.console.pretend import job
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import data_files, message

TABLE = Identifier(database="db", table="t")


def seen(bench: BranchBench, rules: MergeRules | None = None) -> MergePreview:
    plan = planned(bench, rules)
    command = Preview(
        procedure="merge_branch",
        title="Merge",
        plan_id=plan.id,
        consequences=(),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo works.",
    )
    decision = MergeDecision(plan=plan, preview=command)
    found = conflicts_of(plan)
    settlings = proven(
        candidates(found, plan.rules), len(found), lambda each: left_with(bench, each)
    )
    return MergePreview.of(
        decision, bench.table().schema(), facts=MergeFacts(ahead=1), settlings=settlings
    )


def left_with(bench: BranchBench, option: SettleOption) -> int | None:
    """What the planner leaves with an option."""
    isolation = Isolation(option.view.get("isolation") or Isolation.SERIALIZABLE)
    return left_by(planned(bench, MergeRules(isolation=isolation)))


def planned(bench: BranchBench, rules: MergeRules | None = None) -> Plan:
    return preview_merge(bench.warehouse(), TABLE, "dev", "main", rules)


def figures(preview: MergePreview) -> dict[str, str]:
    return {figure.label: figure.value for figure in preview.figures}


def added_in_json(preview: MergePreview) -> tuple[object, object]:
    """The rows and the records that are added, as a JSON document has them."""
    (found,) = json.loads(json.dumps(plan_object(preview.plan)))["objects"]
    return found["rows_added"], found["records_added"]


def based(tmp_path: Path, **table: object) -> BranchBench:
    bench = BranchBench(tmp_path, **table)  # type: ignore[arg-type]
    bench.append("base")
    bench.branch("dev")
    return bench


def delete_all(bench: BranchBench, branch: str) -> None:
    head = bench.table(branch).head()
    assert head is not None
    gone = bench.table(branch).live_files(head)
    bench.committer(branch).commit([message(total_buckets=-1, deleted_files=gone)], user="bob")


def test_a_clean_merge_counts_what_moves(tmp_path: Path) -> None:
    bench = based(tmp_path)
    bench.append("theirs", branch="dev")
    bench.append("mine")
    preview = seen(bench)
    assert preview.state.sentence == (
        "No conflicts. `dev` (1 commit) becomes one new snapshot of `main`."
    )
    assert preview.can_run
    assert preview.heads == (
        "base snapshot 1, target `main` at snapshot 2, source `dev` at snapshot 2"
    )
    counts = figures(preview)
    assert counts == {"Rows added": "+10", "Data files": "+1"}
    assert "Conflicts" not in counts
    assert preview.file_figures[-1].value == "0 B"
    assert {figure.known for figure in preview.figures} == {EXACT}
    assert preview.reasons == ()
    assert added_in_json(preview) == (10, 10)
    (line,) = preview.buckets
    assert (line.strategy, line.files_added, line.records) == (Strategy.REPLAY, 1, 10)
    assert strategies_words(preview.plan) == "1 with files added"


def test_rows_of_a_file_that_is_written_again_are_not_called_added_and_removed(
    tmp_path: Path,
) -> None:
    bench = based(tmp_path)
    head = bench.table("dev").head()
    assert head is not None
    gone = bench.table("dev").live_files(head)
    again = message(total_buckets=-1, deleted_files=gone, new_files=data_files(["again"], rows=9))
    bench.committer("dev").commit([again], user="bob")
    bench.append("mine")
    preview = seen(bench, MergeRules(isolation=Isolation.SNAPSHOT))
    assert verdict_of(preview.plan) is MergeVerdict.CLEAN
    assert [(each.label, each.value, each.known) for each in preview.figures] == [
        ("Records in added files", "9", NOT_ROWS),
        ("Records in removed files", "10", NOT_ROWS),
        ("Data files", "+1 \N{MINUS SIGN}1", EXACT),
    ]
    assert preview.reasons == (
        "These are records in files; some of these rows may stay, or be deleted already.",
    )
    assert added_in_json(preview) == (None, -1)


def test_a_fast_forward_counts_no_records(tmp_path: Path) -> None:
    bench = based(tmp_path)
    bench.append("theirs", branch="dev")
    preview = seen(bench)
    assert verdict_of(preview.plan) is MergeVerdict.FAST_FORWARD
    assert added_in_json(preview) == (None, None)
    (found,) = json.loads(json.dumps(plan_object(preview.plan)))["objects"]
    for key in ("files_added", "files_deleted", "bytes_added"):
        assert found[key] is None, f"{key}: a file comes, and none was looked at"
    assert found["bytes_to_copy"] == 0


def test_copies_by_hard_links_cost_no_byte(tmp_path: Path) -> None:
    bench = based(tmp_path)
    bench.hide_pins()
    bench.append("theirs", branch="dev")
    bench.append("mine")
    preview = seen(bench)
    (copied,) = (each for each in preview.file_figures if each.label == "Data to copy")
    assert (copied.value, copied.help) == ("0 B", "No data is copied: the files are hard-linked.")


def test_conflicts_come_with_the_options_that_settle_them(tmp_path: Path) -> None:
    bench = based(tmp_path)
    delete_all(bench, "dev")
    bench.append("mine")
    preview = seen(bench)
    # The table as a whole is no part of it that a person could look at.
    assert preview.state.sentence == "1 conflict to settle."
    assert preview.state.kind is ErrorKind.CONFLICTS_OPEN
    assert not preview.can_run
    settlings = [(each.label, each.number) for each in preview.settlings]
    assert settlings == [("keep added rows as they are", 1)]
    assert figures(preview) == {"Conflicts": "1"}
    assert added_in_json(preview) == (None, None)
    assert preview.reasons == (
        "Once all conflicts are settled, a dry run counts the data files that change, and their "
        "records.",
    )
    (line,) = preview.conflicts
    assert (line.rule, line.ours, line.theirs) == (
        "delete.insert",
        "main added rows",
        "dev deleted rows",
    )
    assert line.advice.endswith("Isolation `snapshot` keeps the added rows as they are\\.")
    assert rules_in_words((line, line)) == ("dev deleted rows, main added rows (`delete.insert`)",)
    settled = seen(bench, MergeRules(isolation=Isolation.SNAPSHOT))
    assert verdict_of(settled.plan) is MergeVerdict.CLEAN
    assert figures(settled)["Rows removed"] == "\N{MINUS SIGN}10"


def test_strict_can_be_taken_back_where_there_are_conflicts(tmp_path: Path) -> None:
    bench = based(tmp_path)
    delete_all(bench, "dev")
    bench.append("mine")
    found = candidates(conflicts_of(planned(bench)), MergeRules(strict=True))
    assert (found[-1].label, dict(found[-1].view)) == ("merge without strict", {"strict": None})


def test_an_option_is_offered_only_if_the_planner_leaves_fewer_conflicts_with_it() -> None:
    scope, isolation, strict = (
        SettleOption(label=label, view={}, cost="") for label in ("scope", "isolation", "strict")
    )
    left = {"scope": 3, "isolation": 1, "strict": None}
    found = proven((scope, isolation, strict), 3, lambda option: left[option.label])
    assert [(each.label, each.number) for each in found] == [("isolation", 2)]


def keyed(tmp_path: Path, *, ours: tuple[int, int]) -> BranchBench:
    """A bucket of keys of which the branch wrote some since the fork, and main others."""
    bench = BranchBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    for name, branch, keys in (("a", "main", (0, 9)), ("b", "dev", (2, 5)), ("c", "main", ours)):
        if branch == "dev":
            bench.branch("dev")
        files = data_files([name], keys=keys)
        bench.committer(branch).commit([message(new_files=files)], user="bob", identifier=keys[0])
    return bench


def test_as_many_rows_as_before_without_a_key_are_no_rows_with_new_values(tmp_path: Path) -> None:
    bench = based(tmp_path)
    head = bench.table("dev").head()
    assert head is not None
    gone = bench.table("dev").live_files(head)
    again = message(total_buckets=-1, deleted_files=gone, new_files=data_files(["again"]))
    bench.committer("dev").commit([again], user="bob")
    bench.append("mine")
    plan = planned(bench, MergeRules(isolation=Isolation.SNAPSHOT))
    assert isinstance(plan, ThreeWayPlan)
    counted = KnownRows(staged=StagedFigures(rows_counted=(20, 20)))
    assert snapshot_consequence(plan, counted).text == (
        "'main' gets 1 snapshot. 1 data file is added to 'main', 1 is removed. 'main' has 20 rows "
        "before and after, as many added as deleted; the added file holds 10 records, and a "
        "rewritten file repeats the rows that stay."
    )


def with_rules(command: Preview) -> Preview:
    """Return a command with the sentence that rules will be run."""
    said = replace(changes("3 quality rules will be run on the result."), rules_of="db.t")
    return replace(command, consequences=(*command.consequences, said))


def test_what_only_rows_can_tell_names_the_buckets(tmp_path: Path) -> None:
    preview = seen(keyed(tmp_path, ours=(4, 7)))
    assert preview.state.primary is not None
    assert preview.state.primary.step is NextStep.COMPARE
    told = {figure.label: (figure.value, figure.known) for figure in preview.figures}
    assert told == {"Rows changed": (NOT_READ, UNREAD), "Data files": ("+1", LEAST)}
    # The files of the source are put beside those of the target, whatever the rows are.
    assert [figure.label for figure in preview.file_figures] == [
        "Source files added",
        "Data to copy",
    ]
    # A comparison of rows counts none of them.
    said = "A dry run counts the data files that change, and their records."
    assert preview.reasons == (said,)
    assert preview.can_run
    # Once the rules have stopped a dry run, another one would stop as well.
    plan = preview.plan
    red = job("j", state=JobState.REFUSED, error=ErrorKind.GATE_FAILED)
    stopped = MergePreview.of(
        MergeDecision(plan=plan, preview=with_rules(preview.command)),
        None,
        facts=MergeFacts(
            rows=RowsOfMerge.of_plan(plan), dry_run=MergeAttempt(job=red, plan_id=plan.id)
        ),
    )
    assert (stopped.state.standing, stopped.reasons) == (MergeStanding.GATE_RED, ())
    assert "Rows changed" not in [figure.label for figure in stopped.figures]
    assert "will be run" not in " ".join(each.text for each in stopped.command.consequences)


def test_records_of_keys_are_not_called_rows(tmp_path: Path) -> None:
    preview = seen(keyed(tmp_path, ours=(6, 7)))
    told = {figure.label: (figure.value, figure.known) for figure in preview.figures}
    assert told == {"Records in added files": ("10", NOT_ROWS), "Data files": ("+1", EXACT)}
    assert "one key can have several" in preview.reasons[0]


def test_a_schema_change_is_compared_with_the_target(tmp_path: Path) -> None:
    bench = based(tmp_path)
    bench.alter("dev", column="extra")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    preview = seen(bench)
    assert preview.schema is not None
    (change,) = preview.schema.changes
    assert (change.kind, change.subject) == (ChangeKind.ADDED, "extra")
    assert figures(preview)["Schema changes"] == "1"


def test_an_even_branch_has_nothing_to_do(tmp_path: Path) -> None:
    preview = seen(based(tmp_path))
    assert preview.state.sentence == "`main` already has every change of `dev`."
    assert not preview.can_run
    assert preview.figures == ()


def test_a_branch_without_shared_history_is_refused(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("base")
    bench.branch("dev", empty=True)
    bench.append("theirs", branch="dev")
    preview = seen(bench)
    assert preview.state.sentence == "`dev` cannot be merged into `main`."
    assert preview.state.kind is ErrorKind.NO_COMMON_HISTORY
    assert preview.state.detail.endswith("Nothing was changed.")


def test_partitions_are_named_as_their_folders(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, partition_keys=["pt"])
    for name, branch, day in (("a", "main", 1), ("b", "dev", 2), ("c", "main", 3)):
        if branch == "dev":
            bench.branch("dev")
        partition = encode_row([day], [INT])
        files = data_files([name], partition=partition, total_buckets=-1)
        new = message(partition=partition, total_buckets=-1, new_files=files)
        bench.committer(branch).commit([new], user="bob", identifier=day)
    (line,) = bucket_lines(planned(bench), bench.table().schema())
    assert (line.partition, line.strategy) == ("pt=2", Strategy.ADOPT)


def test_a_plan_says_what_moved_since_it_was_seen(tmp_path: Path) -> None:
    bench = based(tmp_path)
    bench.append("theirs", branch="dev")
    bench.append("mine")
    first = SeenPlan.of(planned(bench))
    assert first.staleness(planned(bench)) is None
    bench.append("late", user="eve")
    assert first.staleness(planned(bench)) == (
        "`main` got 1 snapshot (3, the newest by `eve`) since you opened this page."
    )


@pytest.mark.parametrize(
    ("takes", "words"),
    [
        ((Take.SCOPE_PARTITION,), ""),
        ((Take.OURS, Take.THEIRS), "take ours or theirs"),
        ((), "change one of the branches"),
    ],
)
def test_what_no_option_settles_is_said(takes: tuple[Take, ...], words: str) -> None:
    assert otherwise_words(takes) == words
