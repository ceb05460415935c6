"""Maintenance: a dry run, the count typed, one job; and what stays says why."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.diff.expiry.dry_run import ExpiryDryRun
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    FileOwner,
    OrphanScan,
    Overlap,
    OwnerCost,
    OwnerKind,
    StorageCost,
    TableStorage,
    UnreadOwner,
)
from branch_console.diff.health.finding import Remedy
from branch_console.diff.lifecycle.policy import LifecycleStep, ScheduledTask
from branch_console.diff.lifecycle.report import LifecycleRow, PolicyReport, ScheduleRow
from branch_console.errors import ErrorKind, FormatError
from branch_console.format.identifier import Identifier
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.call.consequence import blocks
from branch_console.procedures.call.permissions import Role
from branch_console_app.models.maintenance.dry_runs import DryRun
from tests.console.dry_runs import ETL, with_dry_runs
from tests.console.pages import Console, Page, settings
from tests.console.pretend import NOW, PretendServices, air_warehouse, preview

FLIGHTS = {"db": "air", "table": "flights"}


@pytest.fixture
def services(tmp_path: Path) -> PretendServices:
    return with_dry_runs(air_warehouse(settings(tmp_path)))


def opened(services: PretendServices, tab: str, **query: str) -> Page:
    return Console(services).open("maintenance", **FLIGHTS, mt_tab=tab, **query)


def test_nothing_is_read_before_the_dry_run_is_asked_for(services: PretendServices) -> None:
    page = opened(services, "Expire")
    assert "Finds what every branch and tag still needs. Nothing is changed." in page.text
    assert services.asked == []
    page.click("dry-run-expire_snapshots")
    (asked,) = services.asked
    assert dict(asked.arguments) == {"table": "air.flights", "branches": "all"}
    assert "**2 snapshots of 1 branch would expire.**" in page.text
    assert "1 snapshot is due but stays" in page.text


def test_what_goes_and_what_is_held_stand_in_one_list(services: PretendServices) -> None:
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "**3 snapshots due**" in page.text
    assert page.text.count(":red-badge[\N{MINUS SIGN} expire]") == 2
    assert ":green-badge[✓ stay]" in page.text
    assert ":blue-badge[consumer etl, from " in page.text


@pytest.mark.parametrize(
    ("tab", "procedure", "count"),
    [("Expire", "expire_snapshots", "2"), ("Orphans", "remove_orphan_files", "3")],
)
def test_just_the_plan_that_was_shown_runs_once_its_count_is_typed(
    tab: str, procedure: str, count: str, services: PretendServices
) -> None:
    page = opened(services, tab).click(f"dry-run-{procedure}")
    run, typed = f"run-{procedure}", f"typed-{procedure}"
    assert page.at.button(key=run).disabled
    for wrong in ("", "1", f"{count}0"):
        page.at.text_input(key=typed).set_value(wrong)
        page.run(reads_again=False)
        assert page.at.button(key=run).disabled, wrong
    page.at.text_input(key=typed).set_value(count)
    page.run(reads_again=False)
    asked = dict(services.asked[0].arguments)
    assert len(services.asked) == 1, "the dry run that is looked at stands while a count is typed"
    page.click(run)
    (call,) = services.sent
    assert (call.name, dict(call.arguments)) == (procedure, {**asked, "plan_id": "5f0c7a"})
    assert page.at.query_params["id"] == call.operation_id


@pytest.mark.parametrize(
    ("tab", "procedure", "count"),
    [("Expire", "expire_snapshots", "2"), ("Orphans", "remove_orphan_files", "3")],
)
def test_a_dry_run_stays_while_its_count_is_typed_though_all_is_read_again(
    tab: str, procedure: str, count: str, services: PretendServices
) -> None:
    page = opened(services, tab).click(f"dry-run-{procedure}")
    shown = services.dry_runs[procedure]
    assert isinstance(shown, DryRun)
    # Somebody else's job has ended, and what is due is another plan of the same size.
    other = replace(shown, preview=replace(shown.preview, plan_id="0ther0"))
    services.dry_runs[procedure] = other
    page.at.text_input(key=f"typed-{procedure}").set_value(count)
    page.run(reads_again=True)
    page.click(f"run-{procedure}")
    (call,) = services.sent
    assert call.arguments["plan_id"] == "5f0c7a"
    # Whoever comes back after the click is shown what is due now.
    again = opened(services, tab).click(f"dry-run-{procedure}")
    again.click(f"dry-run-{procedure}")
    again.at.text_input(key=f"typed-{procedure}").set_value(count)
    again.run().click(f"run-{procedure}")
    assert services.sent[-1].arguments["plan_id"] == "0ther0"


def test_the_limits_of_the_form_are_what_is_asked_and_a_change_asks_anew(
    services: PretendServices,
) -> None:
    page = opened(services, "Expire", mt_of="fix-delays", mt_max="5", mt_grace="0 s")
    page.click("dry-run-expire_snapshots")
    assert dict(services.asked[-1].arguments) == {
        "table": "air.flights$branch_fix-delays", "retain_max": 5, "grace": "0 s",
    }  # fmt: skip
    page.at.number_input(key="mt_max").set_value(6)
    page.run()
    assert not page.has_button("run-expire_snapshots")
    assert page.at.button(key="dry-run-expire_snapshots").label == "Dry run"


def test_the_limits_of_the_table_are_told_where_a_field_is_empty(services: PretendServices) -> None:
    page = opened(services, "Expire")
    assert (
        "By the options of `main`, the newest 10 snapshots stay, and those younger than 1 hour."
        in page.text
    )
    assert "Other branches may have other options." in page.text
    one = opened(services, "Expire", mt_of="fix-delays")
    assert "By the options of `fix-delays`, the newest 10 snapshots stay" in one.text
    assert "Other branches may" not in one.text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mt_older": "yesterday"}, "`yesterday` is no time. Write it as 2026-01-31 12:00:00."),
        ({"mt_grace": "soon"}, "`soon` is no duration. Write it as 10 min."),
    ],
)
def test_what_is_no_time_is_refused_before_the_dry_run(
    services: PretendServices, given: dict[str, str], words: str
) -> None:
    page = opened(services, "Expire", **given)
    assert words in page.text
    assert page.at.button(key="dry-run-expire_snapshots").disabled
    assert services.asked == []


def test_a_branch_is_chosen_once_on_the_page(services: PretendServices) -> None:
    def choosers(tab: str) -> list[str | None]:
        return [each.key for each in opened(services, tab).at.selectbox]

    assert [each for each in choosers("Expire") if each and "branch" in each.lower()] == []
    assert "mt_of" in choosers("Expire")
    # The tags are those of one branch.
    assert "branch-picker-maintenance-main" in choosers("Tags")


def test_nothing_due_has_no_button(services: PretendServices) -> None:
    found = services.dry_runs["expire_snapshots"]
    assert isinstance(found, DryRun)
    assert isinstance(found.lines, ExpiryDryRun)
    nothing = replace(found.lines, due=(), released=FileAmount(file_count=0, byte_count=0))
    services.dry_runs["expire_snapshots"] = replace(found, lines=nothing)
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "**No snapshot is due by these limits.** Nothing would change." in page.text
    assert not page.has_button("run-expire_snapshots")


def test_what_stands_in_the_way_disables_the_button(services: PretendServices) -> None:
    found = services.dry_runs["expire_snapshots"]
    assert isinstance(found, DryRun)
    told = blocks("Operation 7f is at work.", ErrorKind.BRANCH_IN_USE)
    services.dry_runs["expire_snapshots"] = replace(
        found, preview=preview("expire_snapshots", told, role=Role.OPERATOR)
    )
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "Operation 7f is at work\\. `BRANCH_IN_USE`" in page.text
    assert page.at.button(key="run-expire_snapshots").disabled


def test_a_dry_run_that_fails_is_a_card_and_the_page_stays(services: PretendServices) -> None:
    services.dry_runs["expire_snapshots"] = FormatError("A manifest is broken.", path="/w/m")
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "**The dry run failed. Nothing was changed.**" in page.text
    assert page.has_button("dry-run-expire_snapshots")


@pytest.mark.parametrize(("role", "article"), [("viewer", "a viewer"), ("editor", "an editor")])
def test_who_is_no_operator_sees_the_dry_run_and_the_role_it_takes(
    role: str, article: str, tmp_path: Path
) -> None:
    services = with_dry_runs(air_warehouse(settings(tmp_path, role=role)))
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "**2 snapshots of 1 branch would expire.**" in page.text
    assert f"This asks for an operator; you are {article}. ROLE_REQUIRED" in page.text
    assert page.at.button(key="run-expire_snapshots").disabled


def test_files_of_strange_names_are_shown_and_stay(services: PretendServices) -> None:
    page = opened(services, "Orphans").click("dry-run-remove_orphan_files")
    assert "**3 orphan files**" in page.text
    assert "`bucket-0/data-2.parquet`" in page.text
    assert "`manifest/notes.txt`" in page.text
    assert ":orange-badge[… be noted]" in page.text


def test_findings_have_their_remedies_as_buttons(services: PretendServices) -> None:
    page = opened(services, "Health")
    assert "**1 finding**" in page.text
    assert ":orange-badge[△ warning]" in page.text
    page.click("remedy-0-0")
    assert page.at.query_params["do"] == "remedy"
    page.click("run-pin_branch")
    (call,) = services.sent
    assert (call.name, call.arguments["branch"]) == ("pin_branch", "archive-2012")


def test_one_of_many_remedies_is_a_button_and_the_others_are_folded(
    services: PretendServices,
) -> None:
    branches = services.listed[1].branches
    (found,) = branches["archive-2012"].findings
    tags = tuple(
        Remedy(
            procedure="create_tag",
            arguments={"table": "air.flights", "tag": f"t{each}", "snapshot": each},
        )
        for each in range(1, 9)
    )
    branches["archive-2012"] = replace(
        branches["archive-2012"], findings=(replace(found, remedies=tags),)
    )
    page = opened(services, "Health")
    assert "7 more" in {each.proto.popover.label for each in page.at.get("popover")}
    assert page.at.button(key="remedy-0-7").label == "Tag snapshot 8"
    page.click("remedy-0-7")
    assert page.at.query_params["what"].startswith(f"{found.rule}:7:")


def test_a_remedy_without_a_preview_is_a_statement_or_a_command(services: PretendServices) -> None:
    branches = services.listed[1].branches
    (found,) = branches["archive-2012"].findings
    remedies = (
        Remedy(procedure="alter_table", arguments={}, statement="ALTER TABLE air.flights"),
        Remedy(procedure="recover", arguments={"table": "air.flights"}),
    )
    branches["archive-2012"] = replace(
        branches["archive-2012"], findings=(replace(found, remedies=remedies),)
    )
    page = opened(services, "Health")
    assert not page.has_button("remedy-0-0")
    assert any("q=ALTER" in query for _, query in page.links())
    assert "`branch-console recover air.flights`" in page.text


def test_a_remedy_of_a_finding_that_is_gone_is_said(services: PretendServices) -> None:
    page = opened(services, "Health", do="remedy", what="F99:0:dev")
    assert "This finding is there no more." in page.text


def test_healthy_is_said_only_where_all_rules_ran(services: PretendServices) -> None:
    branches = services.listed[1].branches
    branches["archive-2012"] = replace(branches["archive-2012"], findings=())
    assert "**The table is healthy.**" in opened(services, "Health").text
    services.unchecked = (Unchecked(branch="dev", error=FormatError("Torn.", path="/w/x")),)
    page = opened(services, "Health")
    assert "healthy" not in page.text
    assert "Branch `dev` could not be checked" in page.text
    (query,) = (query for label, query in page.links() if label == "See cause and fix")
    assert "branch=dev" in query


def test_storage_tells_owners_pairs_and_holds(services: PretendServices) -> None:
    owners = [
        FileOwner(kind=OwnerKind.BRANCH, name="main"),
        FileOwner(kind=OwnerKind.RESCUE, name="rescue-7f"),
        FileOwner(kind=OwnerKind.RETIRED, name="0a" * 16),
    ]
    one, none = (FileAmount(file_count=1, byte_count=2048), FileAmount(file_count=0, byte_count=0))
    costs = tuple(
        OwnerCost(owner=each, head=one, history=none, exclusive=one, shared=one, reclaimable=none)
        for each in owners
    )
    shared = Overlap(owners=(owners[0], owners[1]), amount=one)
    services.stored = TableStorage(
        cost=StorageCost(
            total=FileAmount(file_count=4, byte_count=8192),
            reclaimable=one,
            owners=costs,
            overlaps=(shared,),
        ),
        holds={"main": (ETL,)},
        orphans=None,
    )
    page = opened(services, "Storage")
    assert "All files 8.0 KiB" in page.text
    assert "Can be freed now 2.0 KiB" in page.text
    assert "Nobody has looked for orphan files yet\\." in page.text
    assert ":blue-badge[consumer etl, from " in page.text
    assert "**1 pair shares files**" in page.text
    labels = [label for label, _ in page.links()]
    assert {"main", "rescue\\-7f", "retired by 0a0a0a0a"} <= set(labels)


def test_storage_shows_all_other_branches_beside_a_broken_one(services: PretendServices) -> None:
    one, none = (FileAmount(file_count=1, byte_count=2048), FileAmount(file_count=0, byte_count=0))
    main = FileOwner(kind=OwnerKind.BRANCH, name="main")
    cost = OwnerCost(
        owner=main, head=one, history=none, exclusive=one, shared=none, reclaimable=none
    )
    broken = UnreadOwner(
        owner=FileOwner(kind=OwnerKind.BRANCH, name="dev"),
        error=FormatError("Snapshot 3 is broken.", path="/w/s"),
    )
    services.stored = TableStorage(
        cost=StorageCost(total=one, reclaimable=none, owners=(cost,), overlaps=()),
        holds={},
        orphans=None,
        unread=(broken,),
    )
    page = opened(services, "Storage")
    assert "All files 2.0 KiB" in page.text
    assert "its bytes are not counted" in page.text
    services.stored = replace(
        services.stored, cost=StorageCost(total=none, reclaimable=none, owners=(), overlaps=())
    )
    assert "its bytes are not counted" in opened(services, "Storage").text


def test_what_is_due_is_shown_where_a_broken_branch_stops_an_expiry(
    services: PretendServices,
) -> None:
    found = services.dry_runs["expire_snapshots"]
    assert isinstance(found, DryRun)
    assert isinstance(found.lines, ExpiryDryRun)
    services.due = found.lines.due
    services.dry_runs["expire_snapshots"] = FormatError("Snapshot 3 of 'dev' is broken.")
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "Snapshot 3 of `dev` is broken" in page.text
    assert "**3 snapshots due, blocked by a branch that cannot be read**" in page.text
    # None of them goes, and there is no button that takes them.
    assert ":red-badge[\N{MINUS SIGN} expire]" not in page.text
    assert ":orange-badge[△ blocked]" in page.text
    assert "✓ stay" not in page.text
    assert not page.has_button("run-expire_snapshots")
    services.due = ()
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "No snapshot is due on the branches that can be read." in page.text


def test_an_expiry_that_a_released_branch_blocks_says_until_when(services: PretendServices) -> None:
    services.dry_runs["expire_snapshots"] = FormatError(
        "Branch 'rescue-1' is broken.", blocked_until=1_700_000_000_000
    )
    page = opened(services, "Expire").click("dry-run-expire_snapshots")
    assert "**Expiry is blocked until 2023-11-14 22:13:20 +00:00.**" in page.text


def test_orphans_that_wait_are_told_where_a_broken_branch_stops_a_cleaning(
    services: PretendServices,
) -> None:
    none = FileAmount(file_count=0, byte_count=0)
    services.stored = TableStorage(
        cost=StorageCost(total=none, reclaimable=none, owners=(), overlaps=()),
        holds={},
        orphans=OrphanScan(
            operation_id="cleaning",
            time_millis=NOW,
            waiting=FileAmount(file_count=2, byte_count=2048),
        ),
    )
    services.dry_runs["remove_orphan_files"] = FormatError("Branch 'dev' has no schema.")
    page = opened(services, "Orphans").click("dry-run-remove_orphan_files")
    assert "Branch `dev` has no schema" in page.text
    assert "2 files with 2\\.0 KiB wait for the next cleaning" in page.text
    assert not page.has_button("run-remove_orphan_files")


def test_storage_that_cannot_be_told_is_a_card(services: PretendServices) -> None:
    services.stored = FormatError("A manifest is broken.", path="/w/m")
    assert "**What the files cost cannot be told.**" in opened(services, "Storage").text


def test_a_rescue_branch_is_restored_or_released_by_its_name(services: PretendServices) -> None:
    branches = services.listed[1].branches
    branches["rescue-7f"] = replace(branches["audit"], name="rescue-7f")
    services.stored = FormatError("A manifest is broken.", path="/w/m")
    services.previews["release_branch"] = preview(
        "release_branch", typed_name="rescue-7f", role=Role.OPERATOR
    )
    page = opened(services, "Rescue")
    assert "**1 branch kept by operations**" in page.text
    page.click("release-0")
    assert page.at.query_params["do"] == "release-branch"
    assert page.at.button(key="run-release_branch").disabled
    page.at.text_input(key="typed-release_branch").set_value("rescue-7f")
    page.run()
    page.click("run-release_branch")
    (call,) = services.sent
    assert (call.name, call.arguments["branch"]) == ("release_branch", "rescue-7f")


def test_a_policy_tells_what_becomes_of_each_branch_and_what_runs_by_itself(
    services: PretendServices,
) -> None:
    assert "No maintenance policy holds for this table" in opened(services, "Policy").text
    row = LifecycleRow(
        branch="archive-2012", rule="archive-*", age_days=90, ahead=None,
        step=LifecycleStep.ARCHIVE, due_millis=NOW, is_due=True,
        reason="Nobody has used it for 60 days.", exclusive_bytes=5 * 1024,
    )  # fmt: skip
    services.report = PolicyReport(
        table="air.flights", policy_of=None, version=3, is_dry_run=True,
        branches=(row, replace(row, branch="audit", step=None, age_days=None)),
        schedules=(
            ScheduleRow(
                task=ScheduledTask.EXPIRE, cron="0 */6 * * *", zone="UTC", next_millis=NOW
            ),
        ),
    )  # fmt: skip
    text = opened(services, "Policy").text
    assert "5.0 KiB" in text
    assert "The policy of the warehouse holds, version 3\\." in text
    assert "Stale branches are only reported" in text
    assert "**2 branches**" in text
    assert ":orange-badge[△ archive]" in text
    assert ":green-badge[✓ stays]" in text
    assert "`0 */6 * * *` UTC" in text


def test_a_policy_is_applied_once_the_number_of_branches_that_are_due_is_typed(
    services: PretendServices,
) -> None:
    row = LifecycleRow(
        branch="archive-2012", rule="archive-*", age_days=90, ahead=None,
        step=LifecycleStep.ARCHIVE, due_millis=NOW, is_due=True,
        reason="Nobody has used it for 60 days.",
    )  # fmt: skip
    services.report = PolicyReport(
        table="air.flights", policy_of=None, version=3, is_dry_run=True,
        branches=(row, replace(row, branch="later", is_due=False)), schedules=(),
    )  # fmt: skip
    page = opened(services, "Policy")
    assert "archive now" in page.text
    assert page.at.button(key="run-apply_policy").disabled
    page.at.text_input(key="typed-apply_policy").set_value("2")
    page.run()
    assert page.at.button(key="run-apply_policy").disabled
    page.at.text_input(key="typed-apply_policy").set_value("1")
    page.run()
    page.click("run-apply_policy")
    (call,) = services.sent
    assert (call.name, dict(call.arguments)) == ("apply_policy", {"table": "air.flights"})
    services.report = replace(services.report, branches=(replace(row, is_due=False),))
    page = opened(services, "Policy")
    assert "No branch is due for a step." in page.text
    assert not page.has_button("run-apply_policy")


def test_tags_expire_by_their_dry_run(services: PretendServices) -> None:
    page = opened(services, "Tags")
    assert services.asked == []
    assert not page.has_button("run-expire_tags")
    page.at.text_input(key="mt_tags_wait").set_value("0 s")
    page.run()
    services.previews["expire_tags"] = preview("expire_tags", role=Role.OPERATOR)
    page.click("dry-run-expire_tags")
    assert [(each.name, dict(each.arguments)) for each in services.asked] == [
        ("expire_tags", {"table": "air.flights", "grace": "0 s"})
    ]
    page.click("run-expire_tags")
    (call,) = services.sent
    assert call.arguments["plan_id"] == "5f0c7a"
    assert call.arguments["grace"] == "0 s"


def test_tags_of_which_none_is_due_leave_the_button_disabled_and_say_why(
    services: PretendServices,
) -> None:
    services.previews["expire_tags"] = replace(
        preview("expire_tags", role=Role.OPERATOR), is_idle=True
    )
    page = opened(services, "Tags").click("dry-run-expire_tags")
    assert page.at.button(key="run-expire_tags").disabled
    assert "There is nothing to do: a run would change nothing." in page.text


def test_a_broken_branch_is_named_where_tags_would_expire(services: PretendServices) -> None:
    services.previews["expire_tags"] = FormatError("Branch 'other' of air.flights is broken.")
    page = opened(services, "Tags").click("dry-run-expire_tags")
    assert "Branch `other` of air\\.flights is broken" in page.text
    assert not page.has_button("run-expire_tags")


def test_tags_and_rescues_are_listed(services: PretendServices) -> None:
    assert "**2 tags**" in opened(services, "Tags").text
    assert "No operation keeps anything." in opened(services, "Rescue").text


def test_a_long_reading_is_said_in_words_and_shown_when_it_has_ended(
    services: PretendServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = FileAmount(file_count=0, byte_count=0)
    found = TableStorage(
        cost=StorageCost(total=none, reclaimable=none, owners=(), overlaps=()),
        holds={},
        orphans=None,
    )
    may_end = threading.Event()

    def storage(_: Identifier) -> TableStorage:
        assert may_end.wait(30)
        return found

    monkeypatch.setattr(services, "storage", storage)
    page = opened(services, "Storage")
    assert "Storage is summed up from the manifests of all branches." in page.text
    assert "All files" not in page.text
    may_end.set()
    page.run(reads_again=False)
    assert "All files 0 B" in page.text
    assert "Storage is summed up" not in page.text
