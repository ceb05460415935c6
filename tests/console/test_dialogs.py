"""The dialogs of the lifecycle: what each opens from, what it sends, and who may send it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import AlreadyExists, ErrorKind
from branch_console.format.identifier import rescue_name
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts
from branch_console.format.snapshot import CommitKind
from branch_console.procedures.browse.page_values import DroppedBranch
from branch_console.procedures.call.consequence import (
    Consequence,
    Weight,
    blocks,
    changes,
    keeps,
    loses,
)
from branch_console.procedures.call.permissions import Role
from branch_console_app.models.parts.actions import DroppedFiles
from tests.console.pages import Console, Page, settings
from tests.console.pretend import NOW, PretendServices, air_warehouse, preview, receipt

FLIGHTS = {"db": "air", "table": "flights"}
FIX = {**FLIGHTS, "branch": "fix-delays"}


@pytest.fixture
def services(tmp_path: Path) -> PretendServices:
    return air_warehouse(settings(tmp_path))


def opened(services: PretendServices, do: str, **query: str) -> Page:
    """A page with the dialog that its address asks for."""
    page = "snapshots" if do in ON_SNAPSHOTS else "branches"
    return Console(services).open(page, **{**FIX, **query}, do=do)


def typed(page: Page, key: str, text: str) -> Page:
    page.at.text_input(key=key).set_value(text)
    return page.run()


def fill_create(page: Page) -> Page:
    typed(page, "do-name", "sandbox")
    typed(page, "do-owner", "ada")
    return typed(page, "do-reason", "try it out")


def fill_rename(page: Page) -> Page:
    return typed(page, "do-name", "delays")


def fill_tag(page: Page) -> Page:
    return typed(page, "do-name", "q2")


def fill_reason(page: Page) -> Page:
    return typed(page, "do-reason", "not needed")


def fill_nothing(page: Page) -> Page:
    return page


def fill_pick(page: Page) -> Page:
    page.at.selectbox(key="do-target").select("main")
    return fill_reason(page.run())


Fill = Callable[[Page], Page]
ON_SNAPSHOTS = {"create-tag", "delete-tag", "rollback", "revert", "cherry-pick"}
BRANCH = {"table": "air.flights", "branch": "fix-delays"}
ON_BRANCH = {"table": "air.flights$branch_fix-delays"}
COMMANDS: dict[str, tuple[str, dict[str, str], Fill, dict[str, Any]]] = {
    "create-branch": (
        "create_branch",
        {},
        fill_create,
        {
            "table": "air.flights",
            "branch": "sandbox",
            "from_branch": "fix-delays",
            "owner": "ada",
            "reason": "try it out",
        },
    ),
    "rename-branch": ("rename_branch", {}, fill_rename, {**BRANCH, "to": "delays"}),
    "protect-branch": (
        "protect_branch",
        {},
        fill_reason,
        {**BRANCH, "reason": "not needed"},
    ),
    "drop-branch": ("drop_branch", {}, fill_reason, {**BRANCH, "reason": "not needed"}),
    "replace-main": ("replace_main", {}, fill_reason, {**BRANCH, "reason": "not needed"}),
    "pin-branch": ("pin_branch", {}, fill_nothing, BRANCH),
    "fence": ("fence_branch", {}, fill_nothing, BRANCH),
    "repair-branch": ("repair_branch", {}, fill_nothing, BRANCH),
    "create-tag": (
        "create_tag",
        {"what": "9"},
        fill_tag,
        {**ON_BRANCH, "tag": "q2", "snapshot": 9},
    ),
    "delete-tag": (
        "delete_tag",
        {"what": "2013-q1"},
        fill_reason,
        {**ON_BRANCH, "tag": "2013-q1", "reason": "not needed"},
    ),
    "rollback": (
        "rollback",
        {"what": "9"},
        fill_reason,
        {**ON_BRANCH, "snapshot": 9, "reason": "not needed"},
    ),
    "revert": (
        "revert",
        {"what": "9"},
        fill_reason,
        {**ON_BRANCH, "snapshot": 9, "reason": "not needed"},
    ),
    "cherry-pick": (
        "cherry_pick",
        {"what": "9"},
        fill_pick,
        {**BRANCH, "snapshot": 9, "target": "main", "reason": "not needed"},
    ),
    "undo": (
        "undo",
        {"what": "b" * 32},
        fill_reason,
        {"table": "air.flights", "operation": "b" * 32, "reason": "not needed"},
    ),
}


@pytest.mark.parametrize("do", COMMANDS)
def test_what_was_previewed_is_sent_as_a_job(do: str, services: PretendServices) -> None:
    name, query, fill, expected = COMMANDS[do]
    page = fill(opened(services, do, **query))
    assert "Something changes\\." in page.text
    assert "Undo brings it back\\." in page.text
    assert services.sent == []
    page.click(f"run-{name}")
    (call,) = services.sent
    assert call.name == name
    assert dict(call.arguments) == {**expected, "plan_id": "5f0c7a"}
    asked = dict(services.asked[-1].arguments)
    assert asked == expected
    assert page.at.query_params["id"] == call.operation_id


@pytest.mark.depth("full")
@pytest.mark.parametrize("do", COMMANDS)
def test_what_is_in_the_way_disables_the_button(do: str, services: PretendServices) -> None:
    name, query, fill, _ = COMMANDS[do]
    services.previews[name] = preview(
        name, blocks("Option x names it.", ErrorKind.FILES_IN_USE, ("a", "b"))
    )
    page = fill(opened(services, do, **query))
    assert ":red[✕] **Blocked by**" in page.text
    assert "Option x names it\\. `FILES_IN_USE`" in page.text
    assert "`a`, `b`" in page.text
    assert page.at.button(key=f"run-{name}").disabled


@pytest.mark.depth("full")
@pytest.mark.parametrize("do", COMMANDS)
def test_a_viewer_sees_the_consequences_and_the_role_it_takes(do: str, tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path, role="viewer"))
    name, query, fill, _ = COMMANDS[do]
    page = fill(opened(services, do, **query))
    assert "Something changes\\." in page.text
    assert "This asks for an editor; you are a viewer." in page.text
    assert page.at.button(key=f"run-{name}").disabled


@pytest.mark.depth("full")
@pytest.mark.parametrize("do", COMMANDS)
def test_a_name_that_must_be_typed_is_waited_for(do: str, services: PretendServices) -> None:
    name, query, fill, _ = COMMANDS[do]
    services.previews[name] = preview(name, typed_name="fix-delays")
    page = fill(opened(services, do, **query))
    assert page.at.button(key=f"run-{name}").disabled
    typed(page, f"typed-{name}", "fix-delay")
    assert page.at.button(key=f"run-{name}").disabled
    typed(page, f"typed-{name}", "fix-delays")
    assert not page.at.button(key=f"run-{name}").disabled


@pytest.mark.parametrize(
    ("fate", "given"),
    [
        (DroppedFiles.STAY, {}),
        (DroppedFiles.LATER, {"reclaim": True, "grace": "2 h"}),
        (DroppedFiles.NOW, {"reclaim": True, "grace": "0 s"}),
    ],
)
def test_a_drop_can_free_the_files_of_the_branch(
    services: PretendServices, fate: DroppedFiles, given: dict[str, Any]
) -> None:
    services.previews["drop_branch"] = preview("drop_branch", typed_name="fix-delays")
    page = opened(services, "drop-branch")
    page.at.radio(key="do-files").set_value(fate)
    page.run()
    if fate is DroppedFiles.LATER:
        typed(page, "do-grace", "2 h")
    typed(page, "typed-drop_branch", "fix-delays")
    assert dict(services.asked[-1].arguments) == {**BRANCH, **given}
    page.click("run-drop_branch")
    (call,) = services.sent
    assert dict(call.arguments) == {**BRANCH, **given, "plan_id": "5f0c7a"}


def test_consequences_stand_by_weight_the_gravest_first(services: PretendServices) -> None:
    services.previews["drop_branch"] = preview(
        "drop_branch",
        keeps("Files stay."),
        changes("A head moves."),
        loses("3 commits go."),
        blocks("A job runs.", ErrorKind.BRANCH_IN_USE),
    )
    text = opened(services, "drop-branch").text
    would = "**What would happen**"
    order = [text.index(words) for words in ("**Blocked by**", "**Removed**", would)]
    assert order == sorted(order)
    assert text.index(would) < text.index("**What stays**")


def test_the_same_command_for_other_surfaces_asks_for_the_name_too(
    services: PretendServices,
) -> None:
    services.previews["drop_branch"] = preview("drop_branch", typed_name="fix-delays")
    text = opened(services, "drop-branch").unfold("same_as_drop-branch").text
    assert "branch-console drop-branch air.flights fix-delays --confirm fix-delays" in text
    assert "CALL sys.drop_branch(branch => 'fix-delays', table => 'air.flights');" in text
    assert "Spark and Flink have procedures of their own" in text


def test_a_long_list_of_details_is_cut(services: PretendServices) -> None:
    many = Consequence(
        weight=Weight.LOSES, text="Commits go.", details=tuple(f"c{n}" for n in range(40))
    )
    services.previews["drop_branch"] = preview("drop_branch", many)
    text = opened(services, "drop-branch").text
    assert "`c11` and 28 more" in text
    assert "`c12`" not in text


def test_a_preview_that_fails_is_a_card(services: PretendServices) -> None:
    services.previews["drop_branch"] = AlreadyExists("There is one.", name="x")
    page = opened(services, "drop-branch")
    assert "**The preview failed. Nothing was changed.**" in page.text
    assert not page.has_button("run-drop_branch")


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("main", "default branch"),
        ("123", "only digits"),
        ("a/b", "holds only"),
        ("a$b", "holds only"),
        ("a.b", "holds only"),
        ("rescue-x", "kept for the console"),
        ("merge-x", "kept for the console"),
        ("backfill", "already"),
    ],
)
@pytest.mark.parametrize("do", ["create-branch", "rename-branch"])
def test_a_name_is_refused_while_it_is_typed(
    do: str, name: str, reason: str, services: PretendServices
) -> None:
    page = typed(opened(services, do), "do-name", name)
    assert reason in page.text
    assert ":red[✕" in page.text
    assert services.asked == []


@pytest.mark.parametrize(
    ("start", "key", "value", "expected"),
    [
        ("tag", "do-tag", "2013-q1", {"tag": "2013-q1"}),
        ("snapshot", "do-snapshot", 7, {"snapshot": 7}),
        ("empty", None, None, {"empty": True}),
    ],
)
def test_a_branch_begins_where_it_is_asked_to(
    start: str, key: str | None, value: Any, expected: dict[str, Any], services: PretendServices
) -> None:
    page = typed(opened(services, "create-branch"), "do-name", "sandbox")
    page.at.radio(key="do-start").set_value(start)
    page.run()
    if key is not None:
        assert services.asked[-1].arguments.keys() == {"table", "branch", "from_branch"}
        page.at.selectbox(key=key).set_value(value)
        page.run()
    asked = dict(services.asked[-1].arguments)
    assert asked == {
        "table": "air.flights", "branch": "sandbox", "from_branch": "fix-delays", **expected,
    }  # fmt: skip
    assert ("An empty branch has no base" in page.text) == (start == "empty")


def test_a_time_is_the_one_on_the_clock_of_who_looks(services: PretendServices) -> None:
    page = typed(opened(services, "create-branch"), "do-name", "sandbox")
    page.at.radio(key="do-start").set_value("time")
    page.run()
    head = services.listed[1].branches["fix-delays"].snapshots[-1]
    asked = services.asked[-1].arguments["timestamp"]
    assert isinstance(asked, int)
    assert 0 <= asked - head.time_millis < 60_000


def test_a_snapshot_of_the_address_is_where_the_branch_begins(services: PretendServices) -> None:
    page = typed(opened(services, "create-branch", what="9"), "do-name", "sandbox")
    assert services.asked[-1].arguments["snapshot"] == 9
    assert page.at.selectbox(key="do-snapshot").value == 9


def test_a_rename_names_the_options_that_hold_the_old_name(services: PretendServices) -> None:
    branches = services.listed[1].branches
    branches["fix-delays"] = replace(
        branches["fix-delays"], used_by=("scan.fallback-branch of 'main'",)
    )
    page = typed(opened(services, "rename-branch"), "do-name", "delays")
    assert "`scan.fallback-branch of 'main'`" in page.text
    page.at.checkbox(key="do-options").check()
    page.run()
    assert services.asked[-1].arguments["update_options"] is True


def test_a_protected_branch_says_so_and_offers_to_be_freed(services: PretendServices) -> None:
    branches = services.listed[1].branches
    rule = LineageEvent(
        id="p", branch="fix-*", operation_id="c" * 32, actor="grace", kind=LineageKind.PROTECTED,
        time_millis=NOW,
    )  # fmt: skip
    branches["fix-delays"] = replace(branches["fix-delays"], protection=rule)
    page = Console(services).open("branches", **FIX)
    assert "protected" in page.text
    assert "Protection…" in page.at.get("menu_button")[0].proto.options
    opened(services, "protect-branch")
    assert services.asked[-1].arguments["protected"] is False


@pytest.mark.parametrize("do", ["rename-branch", "drop-branch"])
def test_what_a_protection_bars_leads_to_the_dialog_that_lifts_it(
    do: str, services: PretendServices
) -> None:
    branches = services.listed[1].branches
    rule = LineageEvent(
        id="p", branch="fix-*", operation_id="c" * 32, actor="grace", kind=LineageKind.PROTECTED,
        time_millis=NOW,
    )  # fmt: skip
    name = do.replace("-", "_")
    barred = preview(name, blocks("It is protected.", ErrorKind.PROTECTED))
    services.previews[name] = barred
    # An archived branch has this code too, and no rule that could be lifted.
    page = fill_rename(opened(services, do)) if do == "rename-branch" else opened(services, do)
    assert not page.has_button("way-out-protect-branch")
    branches["fix-delays"] = replace(branches["fix-delays"], protection=rule)
    page.run().click("way-out-protect-branch")
    assert page.at.query_params["do"] == "protect-branch"
    assert services.asked[-1].arguments["protected"] is False


@pytest.mark.parametrize(
    ("do", "key", "reason"),
    [
        ("create-branch", "create_branch", "Type a name first."),
        ("rename-branch", "rename_branch", "Type a name first."),
        ("create-tag", "create_tag", "Type a name first."),
        ("cherry-pick", "cherry_pick", "Choose a branch first."),
    ],
)
def test_the_button_of_a_form_is_there_before_it_is_filled_in(
    do: str, key: str, reason: str, services: PretendServices
) -> None:
    page = opened(services, do, what="9")
    assert page.at.button(key=f"unfilled-{key}").disabled
    assert reason in page.text
    assert not page.has_button(f"run-{key}")


def test_cutting_history_back_is_asked_for(services: PretendServices) -> None:
    services.previews["rollback"] = preview("rollback", role=Role.OPERATOR)
    page = opened(services, "rollback", what="9")
    page.at.radio(key="do-way").set_value("cut the history back")
    page.run()
    assert services.asked[-1].arguments["cut"] is True


def test_a_branch_goes_back_to_a_tag(services: PretendServices) -> None:
    page = opened(services, "rollback", what="tag:2013-q1").click("run-rollback")
    (call,) = services.sent
    assert dict(call.arguments) == {**ON_BRANCH, "tag": "2013-q1", "plan_id": "5f0c7a"}
    assert page.at.query_params["id"] == call.operation_id


def test_a_tag_that_exists_is_moved_only_when_asked(services: PretendServices) -> None:
    page = typed(opened(services, "create-tag", what="9"), "do-name", "2013-q1")
    assert "There is a tag `2013-q1` already" in page.text
    assert services.asked == []
    page.at.checkbox(key="do-move").check()
    page.run()
    assert services.asked[-1].arguments["replace"] is True


def test_a_tag_may_end_by_itself(services: PretendServices) -> None:
    page = typed(opened(services, "create-tag", what="9"), "do-name", "q2")
    page.at.selectbox(key="do-kept").set_value("30 days")
    page.run()
    assert services.asked[-1].arguments["time_retained"] == "P30D"


def test_a_button_of_the_page_opens_its_dialog(services: PretendServices) -> None:
    page = Console(services).open("branches", **FIX).click("create-branch")
    assert page.at.query_params["do"] == "create-branch"


@pytest.mark.parametrize(
    ("key", "do", "what"),
    [
        ("do-create-tag", "create-tag", "9"),
        ("do-rollback", "rollback", "9"),
        ("do-revert", "revert", "9"),
        ("do-pick", "cherry-pick", "9"),
        ("delete-tag-0", "delete-tag", "2013-q1"),
        ("rollback-tag-0", "rollback", "tag:2013-q1"),
    ],
)
def test_a_button_beside_a_snapshot_opens_its_dialog(
    key: str, do: str, what: str, services: PretendServices
) -> None:
    ninth = services.listed[1].branches["fix-delays"].snapshots[8]
    snap = f"fix-delays:9:{ninth.identity.short}"
    page = Console(services).open("snapshots", **FIX, snap=snap).click(key)
    assert page.at.query_params["do"] == do
    assert page.at.query_params["what"] == what


def test_main_cannot_be_dropped_or_renamed(services: PretendServices) -> None:
    page = Console(services).open("branches", **FLIGHTS)
    assert page.at.get("menu_button")[0].proto.options == [
        "Snapshots",
        "Schemas",
        "Query",
        "Protect…",
    ]


def test_a_dropped_branch_can_be_restored(services: PretendServices) -> None:
    services.dropped = (
        DroppedBranch(
            name="old-fix", rescue_branch="rescue-0a", operation_id="d" * 32, actor="grace",
            reason="done with it", time_millis=NOW,
        ),
    )  # fmt: skip
    page = Console(services).open("branches", **FLIGHTS)
    assert "**1 dropped branch**" in page.text
    page.click("restore-0")
    assert page.at.query_params["what"] == "d" * 32
    page.click("run-undo")
    (call,) = services.sent
    assert (call.name, call.arguments["operation"]) == ("undo", "d" * 32)


def test_an_undo_names_the_rescue_branch_that_it_makes(services: PretendServices) -> None:
    main = services.listed[1].branches["main"].snapshots
    services.receipts["e" * 32] = receipt("e" * 32, main[-2], main[-1])
    services.previews["undo"] = replace(preview("undo"), rescues=True)
    page = Console(services).open("receipt", **FLIGHTS, id="e" * 32).click("undo")
    dialog = page.text
    page.click("run-undo")
    (call,) = services.sent
    assert f"The rescue branch will be `{rescue_name(call.operation_id)}`." in dialog


def test_an_undo_without_a_rescue_branch_names_none(services: PretendServices) -> None:
    main = services.listed[1].branches["main"].snapshots
    services.receipts["e" * 32] = receipt("e" * 32, main[-2], main[-1])
    services.previews["undo"] = preview("undo")
    page = Console(services).open("receipt", **FLIGHTS, id="e" * 32).click("undo")
    assert page.has_button("run-undo")
    assert "rescue branch" not in page.text


def test_a_receipt_offers_undo_with_what_stands_in_the_way(services: PretendServices) -> None:
    main = services.listed[1].branches["main"].snapshots
    services.receipts["e" * 32] = receipt("e" * 32, main[-2], main[-1])
    services.previews["undo"] = preview(
        "undo", blocks("main has 2 newer commits.", ErrorKind.UNDO_BLOCKED)
    )
    page = Console(services).open("receipt", **FLIGHTS, id="e" * 32).click("undo")
    assert "main has 2 newer commits\\. `UNDO_BLOCKED`" in page.text
    assert page.at.button(key="run-undo").disabled


def test_a_receipt_offers_to_revert_what_it_added(services: PretendServices) -> None:
    main = services.listed[1].branches["main"].snapshots
    services.receipts["e" * 32] = receipt("e" * 32, main[-2], main[-1])
    page = typed(
        Console(services).open("receipt", **FLIGHTS, id="e" * 32).click("revert"),
        "do-reason",
        "wrong file",
    )
    page.click("run-revert")
    (call,) = services.sent
    expected = {"table": "air.flights", "operation": "e" * 32, "reason": "wrong file"}
    assert dict(call.arguments) == {**expected, "plan_id": "5f0c7a"}


def test_a_receipt_of_what_added_no_snapshot_offers_no_revert(services: PretendServices) -> None:
    main = services.listed[1].branches["main"].snapshots
    found = receipt("e" * 32, main[-2], main[-1])
    services.receipts["e" * 32] = replace(found, counts=Counts(tags_added=1))
    page = Console(services).open("receipt", **FLIGHTS, id="e" * 32)
    assert page.has_button("undo")
    assert not page.has_button("revert")


def test_a_compaction_is_neither_reverted_nor_picked(services: PretendServices) -> None:
    eighth = services.listed[1].branches["main"].snapshots[6]
    assert eighth.commit_kind is CommitKind.COMPACT
    snap = f"main:{eighth.id}:{eighth.identity.short}"
    page = Console(services).open("snapshots", **FLIGHTS, snap=snap)
    assert page.has_button("do-rollback")
    assert not page.has_button("do-revert")
    assert not page.has_button("do-pick")


def test_a_dialog_that_a_page_does_not_have_is_said(services: PretendServices) -> None:
    page = Console(services).open("branches", **FLIGHTS, do="conquer")
    assert "The address asks for `conquer`, which this page does not offer." in page.text


def test_what_moved_since_it_was_shown_is_looked_at_again_before_it_runs(
    services: PretendServices,
) -> None:
    page = fill_reason(opened(services, "drop-branch"))
    assert not page.at.button(key="run-drop_branch").disabled
    moved = replace(preview("drop_branch", loses("Another commit goes.")), plan_id="another")
    services.previews["drop_branch"] = moved
    page.run()
    assert "This preview is out of date" in page.text
    assert "Another commit goes" not in page.text
    assert not any(each.key == "run-drop_branch" for each in page.at.button)
    page.at.button(key="look-again").click()
    page.run()
    assert "Another commit goes" in page.text
    page.at.button(key="run-drop_branch").click()
    page.run()
    assert services.sent[-1].arguments["plan_id"] == "another"
