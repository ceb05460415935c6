"""Changes that leave out what Paimon does for others: the pages say so, and ask for a reason."""

from collections.abc import Mapping
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import ErrorKind, NotFound
from branch_console.jobs.progress import JobView, WorkerView
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console_app.models.merge.merge_preview import MergeDecision
from branch_console_app.services import Services
from branch_console_app.widgets.merge import checking
from branch_console_app.widgets.parts import callbacks
from tests.console.pages import Console, Page, settings
from tests.support.branch_bench import NOW, BranchBench

T = {"db": "db", "table": "t"}
ICEBERG = {"metadata.iceberg.storage": "table-location"}
FORWARD = {"source": "ahead", "how": "ff"}
PAGES: dict[str, tuple[str, dict[str, str], str, str]] = {
    "fast-forward": (
        "merge",
        {"source": "ahead", "how": "ff", "do": "merge"},
        "ahead-main",
        "ff-run",
    ),
    "merge": ("merge", {"source": "dev", "do": "merge"}, "dev-main", "run-dry"),
    "tag": ("snapshots", {"do": "delete-tag", "what": "v1"}, "delete_tag", "run-delete_tag"),
    "rollback": ("snapshots", {"do": "rollback", "what": "2"}, "rollback", "run-rollback"),
    "revert": ("snapshots", {"do": "revert", "what": "3"}, "revert", "run-revert"),
}


class Kept(Services):
    """The real thing, but for the jobs, which are only noted."""

    def start(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> str:
        sent.append(self.call(name, arguments, operation_id))
        return sent[-1].operation_id

    def jobs(
        self, *, limit: int = 50, offset: int = 0, table: str | None = None
    ) -> tuple[JobView, ...]:
        return ()

    def job(self, job_id: str) -> JobView:
        raise NotFound(f"There is no job {job_id}.", kind=ErrorKind.JOB_NOT_FOUND)

    def worker(self) -> WorkerView | None:
        return None


sent: list[ProcedureCall] = []


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table that Iceberg readers see, with branches ahead of main and beside it."""
    sent.clear()
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.append("b")
    bench.tag("v1")
    bench.branch("dev")
    bench.append("c")
    change_schema(bench.table(), bench.store, [set_options(ICEBERG)], now_millis=NOW)
    bench.branch("ahead")
    bench.append("d", branch="dev")
    bench.append("e", branch="ahead")
    return bench


def _open(tmp_path: Path, name: str, role: str = "operator") -> tuple[Page, str, str]:
    path, query, subject, button = PAGES[name]
    console = Console(Kept(settings(tmp_path, role)))  # type: ignore[arg-type]
    return console.open(path, **T, **query), f"without-callbacks-{subject}", button


@pytest.mark.parametrize("name", PAGES)
def test_an_operator_gives_a_reason_and_goes_on(
    bench: BranchBench, tmp_path: Path, name: str
) -> None:
    page, field, button = _open(tmp_path, name)
    assert "writes Iceberg metadata after each commit and tag" in page.text
    assert "The Iceberg table would be out of date" in page.text
    assert page.at.button(key=button).disabled
    page.at.text_input(key=field).set_value(" nobody reads it ")
    page.run()
    assert "The Iceberg table is out of date until Paimon commits to the table again" in page.text
    page.click(button)
    (call,) = sent
    assert call.arguments["without_callbacks"] == "nobody reads it"


@pytest.mark.parametrize("name", ["fast-forward", "merge", "rollback"])
def test_nobody_else_does(bench: BranchBench, tmp_path: Path, name: str) -> None:
    for role in ("viewer", "approver"):
        page, field, button = _open(tmp_path, name, role)
        if (name, role) == ("merge", "viewer"):
            # Who may not merge is not asked for a reason.
            assert not page.has_button(button)
            continue
        assert page.at.text_input(key=field).disabled
        assert page.at.button(key=button).disabled
        assert "This asks for an operator; you are a" in page.text


def test_a_branch_asks_for_no_reason(bench: BranchBench, tmp_path: Path) -> None:
    console = Console(Kept(settings(tmp_path)))  # type: ignore[arg-type]
    page = console.open("merge", **T, source="main", target="dev", do="merge")
    assert not [each for each in page.at.text_input if "without-callbacks" in str(each.key)]
    assert not page.at.button(key="run-dry").disabled


def test_a_fast_forward_that_leaves_something_out_has_a_condition_that_warns(
    bench: BranchBench, tmp_path: Path
) -> None:
    page, field, _ = _open(tmp_path, "fast-forward")
    for reason in ("", "nobody reads it"):
        page.at.text_input(key=field).set_value(reason)
        page.run()
        assert not [each for each in page.at.expander if "Nothing stands in the way" in each.label]
        # The list of checks, its summary, and the dialog.
        assert page.text.count("Iceberg table") == 3


WITHOUT_REASON = "The Iceberg table would be out of date"
WITH_REASON = "The Iceberg table is out of date until Paimon commits to the table again"


def test_a_check_from_before_a_reason_is_not_taken_for_one_with_it(
    bench: BranchBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, field, _ = _open(tmp_path, "merge")
    answers, plan = Event(), Services.preview_merge

    def slowly(services: Services, arguments: Mapping[str, Argument]) -> MergeDecision:
        found = plan(services, arguments)
        if "without_callbacks" not in arguments:
            assert answers.wait(60)
        return found

    monkeypatch.setattr(Services, "preview_merge", slowly)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.1)
    page.run()
    answers.set()
    page.at.text_input(key=field).set_value("nobody reads it")
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    page.run()
    assert WITH_REASON in page.text
    assert WITHOUT_REASON not in page.text


def test_a_reason_stays_in_its_dialog_while_the_merge_is_checked_slowly(
    bench: BranchBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, field, button = _open(tmp_path, "merge")
    plan = Services.preview_merge

    def slowly(services: Services, arguments: Mapping[str, Argument]) -> MergeDecision:
        sleep(0.4)
        return plan(services, arguments)

    monkeypatch.setattr(Services, "preview_merge", slowly)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.05)
    # As each run of the page that a check which has ended asks for.
    for reason in ("nobody reads it", "it is rebuilt at night"):
        page.at.text_input(key=field).set_value(reason)
        for _ in range(4):
            page.run()
            assert page.at.text_input(key=field).value == reason
            assert not page.at.button(key=button).disabled
    page.click(button)
    (call,) = sent
    assert call.arguments["without_callbacks"] == "it is rebuilt at night"


def test_a_reason_that_is_taken_back_does_not_count(bench: BranchBench, tmp_path: Path) -> None:
    page, field, button = _open(tmp_path, "merge")
    page.at.text_input(key=field).set_value("nobody reads it")
    assert not page.run().at.button(key=button).disabled
    page.at.text_input(key=field).set_value("")
    assert page.run().at.button(key=button).disabled
    assert WITHOUT_REASON in page.text
    assert WITH_REASON not in page.text


def test_arguments_have_the_reason_of_the_field_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {"branch": "dev", "without_callbacks": "nobody reads it"}
    for written, expected in ((" ", {}), (" soon ", {"without_callbacks": "soon"})):
        monkeypatch.setattr(callbacks.state, "value_of", lambda _, text=written: text)
        assert callbacks.with_reason(before, "dev-main") == {"branch": "dev", **expected}
