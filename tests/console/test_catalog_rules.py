"""What quality rules found for the merge of a catalog branch, on its card and on its merge page."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, NotFound, Refused
from branch_console.jobs.progress import JobState, JobStep, JobView
from branch_console.procedures.browse.catalog_values import CatalogOverview
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.sql.answer import Answer
from branch_console_app.judged_heads import JudgementReads, read_catalog_checks
from branch_console_app.services import Services
from tests.console.pages import Console, Page, settings
from tests.console.pretend import job
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.unit.procedures.test_catalog_gate import Counting, rules, warehouse_with_rules

BLOCKED = "merge into `main` is blocked by `seat` of `air.planes`"
MERGE = {"of": "catalog", "source": "dev"}


class Keeping(Counting):
    """Keeps what it found, as a worker does."""

    def __init__(self, broken: dict[str, int]) -> None:
        super().__init__(broken)
        self.answers: dict[str, Answer] = {}

    def keep(self, operation_id: str, answer: Answer) -> None:
        self.answers[operation_id] = answer


class JudgedServices(Services):
    """The real services of a warehouse on disk, after one job that rules have stopped."""

    has_answers = True  # type: ignore[assignment]

    @cached_property
    def sent(self) -> list[Mapping[str, Argument]]:
        return []

    @cached_property
    def answers(self) -> dict[str, Answer]:
        return {}

    @cached_property
    def calls(self) -> dict[str, ProcedureCall]:
        return {}

    @cached_property
    def asked(self) -> list[str]:
        return []

    def answer(self, job_id: str, *, most: int | None = None) -> Answer:
        self.asked.append(job_id)
        if job_id not in self.answers:
            raise NotFound("It is not kept.", kind=ErrorKind.FILE_NOT_FOUND)
        return self.answers[job_id]

    def call_of_job(self, job_id: str) -> ProcedureCall:
        return self.calls[job_id]

    def jobs(self, *, limit: int = 100, offset: int = 0) -> tuple[JobView, ...]:
        return tuple(
            replace(
                job(key, state=JobState.REFUSED, name=call.name, table="",
                    error=ErrorKind.GATE_FAILED),
                arguments=call.arguments,
            )
            for key, call in self.calls.items()
        )  # fmt: skip

    def job(self, job_id: str) -> JobView:
        found = next((each for each in self.jobs() if each.id == job_id), None)
        if found is None:
            raise NotFound(f"There is no job {job_id!r}.", kind=ErrorKind.OPERATION_NOT_FOUND)
        step = JobStep(name=STAGE, started_millis=1, finished_millis=2, error="GATE_FAILED")
        return replace(found, steps=(step,))

    def worker(self) -> None:
        return None

    def worker_log(self) -> str:
        return ""

    def start(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> str:
        self.sent.append(arguments)
        return operation_id or ""


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    return warehouse_with_rules(tmp_path / "warehouse")


@pytest.fixture
def console(made: CatalogWarehouse, tmp_path: Path) -> Console:
    return stopped(made, tmp_path, {"air.planes": 3})


def stopped(made: CatalogWarehouse, tmp_path: Path, broken: dict[str, int]) -> Console:
    """Return the console after a merge of dev that the rules of some tables have stopped."""
    services, engine = JudgedServices(settings(tmp_path)), Keeping(broken)
    call = made.call("merge_catalog_branch", branch="dev")
    with pytest.raises(Refused):
        run_call(made.warehouse, engine, call, InlineStages())
    services.answers.update(engine.answers)
    services.calls[call.operation_id] = call
    return Console(services)  # type: ignore[arg-type]


def opened(console: Console) -> tuple[Page, Page]:
    return console.open("catalog"), console.open("merge", **MERGE)


def test_the_rule_that_stopped_a_merge_is_told_before_the_next_one(console: Console) -> None:
    card, merge = opened(console)
    assert BLOCKED in card.text
    assert "✕ blocked" in card.text
    assert (
        "**Blocked by rule `seat` of `air.planes`: 3 of 10 rows of the result fail it; 0 on `main` "
        "today.**" in merge.text
    )
    assert not merge.has_button("merge-catalog")
    assert "✕ rule fails" in merge.text
    ((_, query),) = [each for each in merge.links() if each[0] == "View job"]
    assert "id=" in query


def test_merges_of_other_branches_hide_no_verdict_and_are_not_read(
    console: Console, made: CatalogWarehouse
) -> None:
    services = cast(JudgedServices, console.services)
    ((own, call),) = services.calls.items()
    others = {f"other-{n}": made.call("merge_catalog_branch", branch="another") for n in range(20)}
    services.calls.clear()
    services.calls.update({**others, own: call})  # the newest first
    card, merge = opened(console)
    assert BLOCKED in card.text
    assert "✕ rule fails" in merge.text
    # Each table of the branch that has content to bring, of the one job that merged this branch.
    assert len(services.asked) == 2
    assert {each.partition("-")[0] for each in services.asked} == {own.partition("-")[0]}


def test_what_a_job_did_not_find_is_not_asked_for_again(
    console: Console, made: CatalogWarehouse
) -> None:
    services = cast(JudgedServices, console.services)
    services.answers.clear()
    made.commit("lab.notes", 2, "dev")
    for page in opened(console):
        assert "locked by" not in page.text
        asked = [*services.asked]
        assert len(asked) == 3
        page.run()
        assert services.asked == asked


def test_a_table_that_the_branch_renamed_is_marked_too(
    made: CatalogWarehouse, tmp_path: Path
) -> None:
    CatalogBench(root=made.folder).run("USE BRANCH dev; ALTER TABLE air.planes RENAME TO air.jets")
    page = stopped(made, tmp_path, {"air.planes": 3}).open("merge", **MERGE)
    assert "Blocked by rule `seat` of `air.planes`" in page.text
    assert page.text.count("✕ rule fails") == 1


def test_the_job_lists_what_was_found_of_each_table(made: CatalogWarehouse, tmp_path: Path) -> None:
    console = stopped(made, tmp_path, {"air.planes": 3})
    (job_id,) = cast(JudgedServices, console.services).calls
    text = console.open("job", id=job_id).text
    planes = ":material/table: `air.planes`"
    assert "**Quality rules**" in text
    assert 0 < text.index(planes) < text.index("Rule `seat` fails now")
    # A table whose rules all pass is only counted.
    assert text.index("Rule `seat` fails now") < text.index("1 table: all rules pass")
    assert ":material/table: `air.flights`" not in text


def test_the_job_of_thousands_of_tables_draws_only_those_whose_rules_fail(
    made: CatalogWarehouse, tmp_path: Path
) -> None:
    console = stopped(made, tmp_path, {"air.planes": 3})
    services = cast(JudgedServices, console.services)
    (job_id,) = services.calls
    answer = services.answers[job_id]
    failed, passed = answer.rows.to_pylist()
    findings = [{**failed, "table": f"air.bad{n:02}", "examples": []} for n in range(30)]
    findings += [{**passed, "table": f"air.good{n}"} for n in range(3_990)]
    many = pa.Table.from_pylist(findings, schema=answer.rows.schema)
    services.answers[job_id] = replace(answer, rows=many)
    page = console.open("job", id=job_id)
    assert "`air.bad24`" in page.text
    assert "`air.bad25`" not in page.text
    assert "air.good" not in page.text
    assert "3,990 tables: all rules pass" in page.text
    assert len(page.at.markdown) < 100
    later = console.open("job", id=job_id, gate_p="2").text
    assert "`air.bad24`" not in later
    assert "`air.bad29`" in later


def test_an_operator_merges_despite_the_rule_with_a_reason(console: Console) -> None:
    page = console.open("merge", **MERGE).click("merge-override")
    run = page.at.button(key="run-merge_catalog_branch")
    assert (run.label, run.disabled) == ("Merge despite failing rules", True)
    page.at.text_input(key="gate-reason").set_value("Known, see 41")
    page.run().click("run-merge_catalog_branch")
    (sent,) = console.services.sent
    assert sent["override_gate"] == "Known, see 41"  # type: ignore[call-overload]


def test_a_commit_on_either_side_makes_it_say_nothing(
    console: Console, made: CatalogWarehouse
) -> None:
    made.commit("air.planes", 2, "main")
    for page in opened(console):
        assert "locked by" not in page.text
        assert "rule fails" not in page.text


def test_what_happens_to_another_table_takes_nothing_back(
    console: Console, made: CatalogWarehouse
) -> None:
    made.commit("air.flights", 3, "dev")
    card, merge = opened(console)
    assert BLOCKED in card.text
    assert "Blocked by rule `seat`" in merge.text


def test_other_rules_make_it_say_nothing(console: Console, made: CatalogWarehouse) -> None:
    rules(made, "air.planes", "legroom")
    for page in opened(console):
        assert "locked by" not in page.text


def test_a_rule_is_not_said_to_pass_before_all_tables_were_judged(
    console: Console, made: CatalogWarehouse
) -> None:
    # Only the table that passed was judged at the heads that there are.
    made.commit("air.planes", 3, "dev")
    for page in opened(console):
        assert "quality rule passed" not in page.text
        assert "locked by" not in page.text


def test_a_warehouse_without_a_catalog_branch_lists_none_without_looking_at_main(
    made: CatalogWarehouse, tmp_path: Path
) -> None:
    services, call = JudgedServices(settings(tmp_path)), made.call("merge_catalog_branch")
    services.calls["gone"] = replace(call, arguments={"branch": "gone"})
    reads = JudgementReads.of(services)

    def looked() -> CatalogOverview:
        raise AssertionError("all tables of main were read")

    assert read_catalog_checks(reads, [], looked) == {}
    # Nobody has judged this one.
    assert read_catalog_checks(reads, ["dev"], looked) == {}
