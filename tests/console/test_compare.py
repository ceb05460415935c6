"""Compare: what the page says of two states, over a warehouse that real Paimon wrote."""

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qsl

import pytest

from branch_console.diff.rows.row_figure import RowCounts
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.errors import NotFound
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.call.call import Argument
from branch_console.quality.comparison import Scope
from branch_console.quality.gate import findings_table, judge
from branch_console.quality.rule_file import parse_rules
from branch_console.quality.rules import RuleResult
from branch_console.sql.answer import Answer
from branch_console_app import reads
from branch_console_app.models.parts.wording import plain, prose
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from branch_console_app.widgets.parts import patience
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import job
from tests.support.branch_bench import BranchBench
from tests.support.compared_rows import keep_rows
from tests.support.contested_table import ContestedTable
from tests.support.kept_quality import keep_quality
from tests.support.warehouses import FixtureWarehouse

KEYED = {"db": "fixtures", "table": "key_partitioned"}
DIVERGED = {"db": "fixtures", "table": "branches_diverged"}
AHEAD = {"db": "fixtures", "table": "branches_ahead"}
APPEND = {"db": "fixtures", "table": "append_partitioned"}


@pytest.fixture
def console(warehouse_200: FixtureWarehouse, tmp_path: Path) -> Console:
    overrides = {
        "warehouse": str(warehouse_200.path),
        "actor": "ada",
        "state_dir": str(tmp_path / "state"),
        "cache_dir": str(tmp_path / "cache"),
    }
    return Console(Services(Settings.from_environment(overrides, {})))  # type: ignore[arg-type]


def contested(folder: Path) -> tuple[ContestedTable, Services, Console]:
    """A table with a branch that its tests write to, and the console over it."""
    table = ContestedTable(folder / "warehouse", flights=2)
    services = Services(settings(folder, warehouse=table.folder))
    return table, services, Console(services)  # type: ignore[arg-type]


def both(table: ContestedTable) -> dict[str, str]:
    """The address that compares main with the branch."""
    return {**table.place, "cmp_a": "main", "cmp_b": "fix-delays"}


def test_two_states_are_compared_again_only_after_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, services, console = contested(tmp_path)
    diff_states = services.diff_states
    compared: list[str] = []

    def count(named: Identifier, before: ComparedState, after: ComparedState) -> StateDiff:
        compared.append(str(after.pinned))
        return diff_states(named, before, after)

    monkeypatch.setattr(services, "diff_states", count)
    address = both(table)
    console.open("compare", **address)
    reads._read_heads.clear()  # as after five seconds
    console.open_soon("compare", **address, cmp_tab="files")
    assert len(compared) == 1
    table.write("fix-delays", delay=9, note="measured twice")
    reads._read_heads.clear()
    console.open_soon("compare", **address)
    assert len(compared) == 2
    assert compared[0] != compared[1]


class SlowComparison:
    """A table whose states are compared only when `may_end` is set."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.table, services, console = contested(folder)
        self.may_end, self.compared = Event(), list[str]()
        diff_states = services.diff_states

        def wait_and_compare(
            named: Identifier, before: ComparedState, after: ComparedState
        ) -> StateDiff:
            self.compared.append(str(after.pinned))
            assert self.may_end.wait(60)
            return diff_states(named, before, after)

        monkeypatch.setattr(services, "diff_states", wait_and_compare)
        monkeypatch.setattr(patience, "_PATIENCE_SECONDS", 0.05)
        self.page = console.open("compare", **both(self.table))

    @property
    def is_said(self) -> bool:
        return "The manifests of both states are compared." in self.page.text

    @property
    def has_figures(self) -> bool:
        return any(group.key == "cmp_tab" for group in self.page.at.button_group)

    def ends(self) -> None:
        self.may_end.set()
        for thread in threading.enumerate():
            if thread.name == "reads":
                thread.join(60)


def test_a_comparison_that_takes_long_says_so_and_is_shown_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowComparison(tmp_path, monkeypatch)
    assert slow.is_said
    assert not slow.has_figures
    slow.ends()
    slow.page.run(reads_again=False)
    assert not slow.is_said
    assert slow.has_figures
    assert len(slow.compared) == 1


def test_a_comparison_is_shown_though_a_commit_came_before_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowComparison(tmp_path, monkeypatch)
    slow.table.write("fix-delays", delay=9, note="measured twice")
    slow.ends()
    slow.may_end.clear()
    slow.page.run()
    assert not slow.is_said
    assert slow.has_figures
    # The newer states are compared beside it, and what is known is shown until they are.
    slow.page.run()
    assert len(slow.compared) == 2
    assert not slow.is_said
    assert "Something has changed since this was read." in slow.page.text
    assert slow.has_figures
    slow.ends()
    slow.page.run()
    assert "Something has changed since this was read." not in slow.page.text


def test_a_page_is_drawn_again_when_its_reading_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(patience.st, "rerun", lambda: drawn.append("again"))
    future: Future[int] = Future()
    begun = reads.Begun(future, lambda number: number)
    patience._follow(begun)
    assert not drawn
    future.set_result(1)
    patience._follow(begun)
    assert drawn == ["again"]


def test_a_comparison_that_failed_is_tried_again_by_the_next_visit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, services, console = contested(tmp_path)
    diff_states = services.diff_states

    def fail(named: Identifier, before: ComparedState, after: ComparedState) -> StateDiff:
        raise NotFound("A manifest is gone.")

    address = both(table)
    monkeypatch.setattr(services, "diff_states", fail)
    assert "A manifest is gone" in console.open("compare", **address).text
    monkeypatch.setattr(services, "diff_states", diff_states)
    assert "A manifest is gone" not in console.open_soon("compare", **address).text


def test_rows_that_a_branch_appended_are_told_exactly(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_a="main", cmp_b="ahead")
    assert "snapshot 2\\) to ahead" in page.text
    assert "2 rows added" in page.text
    assert page.text.count(":green-badge[exact]") == 5
    assert "bounds" not in page.text


def test_rows_of_keys_are_bounds_and_the_reason_is_told(console: Console) -> None:
    page = console.open("compare", **KEYED, cmp_b="fixes")
    assert ":orange-badge[at most]" in page.text
    assert "Why not exact: Rows of a key become one row only when they are read" in page.text
    assert "≤ 6" in page.text
    assert (
        "Read from 3 manifests that only one side lists; 2 that both list were skipped."
        in page.text
    )


def test_counted_rows_stand_in_place_of_their_bounds(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = RowCounts(before=8, after=6, added=0, removed=2, changed=3)
    monkeypatch.setattr(Services, "row_counts", lambda *_: counts)
    page = console.open("compare", **KEYED, cmp_b="fixes")
    assert "2 rows removed, 3 rows changed" in page.text
    assert "**Rows 8 → 6**" in page.text
    assert "≤" not in page.text
    assert "Why not exact" not in page.text
    assert not [each for each in page.at.button if each.label == "Count rows"]


def test_partitions_are_listed_and_drawn(console: Console) -> None:
    page = console.open("compare", **APPEND, cmp_a="main@1", cmp_b="main")
    frame = page.at.dataframe[0].value
    assert list(frame["Difference (B \N{MINUS SIGN} A)"]) == sorted(
        frame["Difference (B \N{MINUS SIGN} A)"], key=lambda each: -abs(each)
    )
    assert page.at.get("plotly_chart")


def test_one_partition_is_chosen_by_the_address(console: Console) -> None:
    whole = console.open("compare", **APPEND, cmp_a="main@1", cmp_b="main")
    name = whole.at.dataframe[0].value["Partition"][0]
    page = console.open("compare", **APPEND, cmp_a="main@1", cmp_b="main", cmp_part=name)
    assert list(page.at.dataframe[0].value["Partition"]) == [name]
    assert page.has_button("cmp-part-clear")


def test_files_of_one_side_are_listed(console: Console) -> None:
    page = console.open("compare", **APPEND, cmp_a="main@1", cmp_b="main", cmp_tab="files")
    assert set(page.at.dataframe[0].value["Only in"]) <= {"A", "B"}
    only = console.open(
        "compare", **APPEND, cmp_a="main@1", cmp_b="main", cmp_tab="files", cmp_side="only B"
    )
    assert set(only.at.dataframe[0].value["Only in"]) == {"B"}
    assert all(isinstance(each, int) for each in only.at.dataframe[0].value["Size"].tolist())


def test_schemas_are_compared(console: Console) -> None:
    place = {"db": "fixtures", "table": "branches_diverged"}
    page = console.open("compare", **place, cmp_b="evolved", cmp_tab="schema")
    assert "Why this verdict" in [each.label for each in page.at.expander]


def test_the_same_state_is_said_to_be_the_same(console: Console) -> None:
    page = console.open("compare", **KEYED, cmp_a="main", cmp_b="main")
    assert "6 files, one schema" in page.text
    assert not page.at.dataframe


def test_a_branch_that_is_not_there_is_said_and_not_replaced(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_b="ahed")
    assert "**Branch `ahed` was not found.**" in page.text
    assert any("cmp_b=ahead" in query for _, query in page.links())
    assert not page.at.dataframe


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("main@77", "has no snapshot 77"),
        ("main@1:00000000", "is not the one that"),
        ("tag:gone", "has no tag `gone`"),
        ("main@soon", "names no state"),
    ],
)
def test_a_state_that_is_not_there_is_told(name: str, said: str, console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_a=name, cmp_b="ahead")
    assert "**The two states cannot be compared.**" in page.text
    assert said in page.text.replace("\\", "")


def test_without_a_choice_the_branches_are_listed_and_one_click_opens_one(console: Console) -> None:
    page = console.open("compare", **AHEAD)
    assert "**ahead**" in page.text
    assert ":green-badge[↑ 2 ahead]" in page.text
    assert "You looked at last" not in page.text
    queries = [query for label, query in page.links() if label == "Compare with `main`"]
    assert any("cmp_a=main&cmp_b=ahead" in query for query in queries)


def test_a_name_that_the_list_of_branches_cuts_is_whole_in_its_tooltip(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    name = "backfill-of-all-december-delays-as-the-carriers-report"
    branches = console.services.listed[1].branches
    branches[name] = replace(branches["backfill"], name=name)
    page = console.open("compare", db="air", table="flights")
    (line,) = (each for each in page.at.markdown if each.help == f"`{name}`")
    assert line.value.startswith("**backfill")
    assert "…" in line.value


def test_the_pairs_of_this_session_are_offered_again(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_a="main@1", cmp_b="ahead")
    for name in ("cmp_a", "cmp_b"):
        del page.at.query_params[name]
    page.run()
    assert "**You looked at last**" in page.text
    (query,) = (query for label, query in page.links() if label == "main@1 and ahead")
    assert "cmp_a=main%401&cmp_b=ahead" in query


def test_the_branch_of_the_address_is_compared_with_main(console: Console) -> None:
    page = console.open("compare", **AHEAD, branch="ahead")
    assert "2 rows added" in page.text


def test_the_link_to_these_snapshots_names_them(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_b="ahead")
    (query,) = (query for label, query in page.links() if label.startswith("Link to exactly"))
    assert "cmp_a=main%402%3A" in query
    assert "cmp_b=ahead%404%3A" in query


def test_a_comparison_leads_back_to_the_merge_of_its_branches(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_b="ahead")
    (query,) = (query for label, query in page.links() if label.startswith("Merge `ahead`"))
    assert "source=ahead" in query
    assert "target=main" in query
    page = console.open("compare", **AHEAD, cmp_a="main@1", cmp_b="main")
    assert not any(label.startswith("Merge `") for label, _ in page.links())


def test_the_rows_that_a_source_changed_are_found_after_it_took_in_the_target(
    tmp_path: Path,
) -> None:
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.branch("dev")
    bench.append("b")
    bench.append("c", branch="dev")
    bench.call("merge_branch", branch="main", target="dev")
    bench.append("d")
    bench.append("e", branch="dev")
    console = Console(Services(settings(tmp_path)))  # type: ignore[arg-type]
    place = {"db": "db", "table": "t"}
    page = console.open("merge", **place, source="dev", tab="changes")
    (query,) = (query for label, query in page.links() if label == "Rows that `dev` changed")
    sides = {key: value for key, value in parse_qsl(query) if key.startswith("cmp_")}
    # The newest snapshot of the target that the source took in is on the target alone.
    assert sides["cmp_a"].startswith("main@2:")
    assert sides["cmp_b"].startswith("dev@")
    page = console.open("compare", **place, **sides)
    assert "is not the one" not in page.text
    assert "2 files" in page.text


def test_swapping_turns_the_address_round(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_b="ahead").click("cmp-swap")
    assert page.at.query_params["cmp_a"] == "ahead"
    assert page.at.query_params["cmp_b"] == "main"
    assert "2 rows removed" in page.text


def test_the_same_on_the_command_line(console: Console) -> None:
    page = console.open("compare", **AHEAD, cmp_b="ahead")
    assert (
        "branch-console compare fixtures.branches_ahead main ahead --warehouse"
        in page.unfold("same_as_compare").text
    )


ROWS = {**KEYED, "cmp_a": "main", "cmp_b": "fixes", "cmp_tab": "rows"}


def test_rows_are_compared_by_a_job_that_a_button_starts(console: Console) -> None:
    page = console.open("compare", **ROWS)
    assert "5 files that only one side has" in page.text
    assert page.has_button("cmp-start")
    assert not page.at.dataframe


@pytest.mark.parametrize(("tab", "button"), [("rows", "cmp-start"), ("quality", "cmp-quality")])
def test_a_comparison_that_was_cut_off_can_be_resumed(
    tab: str, button: str, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_job(job_id: str) -> JobView:
        if job_id != "cut-off":
            raise NotFound(f"There is no job {job_id}.")
        return job(job_id, state=JobState.INTERRUPTED)

    monkeypatch.setattr(console.services, "start", lambda *_: "cut-off")
    monkeypatch.setattr(console.services, "job", find_job)
    page = console.open("compare", **{**ROWS, "cmp_tab": tab}).click(button)
    assert "**The job that ada started " in page.text
    assert " ago was cut off while checking the data files: no worker runs.**" in page.text
    assert "Comparing" not in page.text
    assert page.has_button("resume-cut-off")


def test_rows_that_were_compared_show_each_cell_before_and_after(console: Console) -> None:
    _keep(console, "main", "fixes")
    page = console.open("compare", **ROWS)
    frame = page.at.dataframe[0].value
    assert not page.has_button("cmp-start")
    assert set(frame["What"]) <= {"added", "removed", "changed"}
    changed = frame[frame["What"] == "changed"]
    assert len(changed)
    assert all(" → " in " ".join(row) for row in changed.astype(str).to_numpy())
    assert ":orange-badge[bounds]" not in page.text


def test_rows_are_filtered_by_kind_and_by_column_in_the_address(console: Console) -> None:
    _keep(console, "main", "fixes")
    only = console.open("compare", **ROWS, cmp_kind="changed").at.dataframe[0].value
    assert set(only["What"]) == {"changed"}
    column = next(name for name in only if " → " in str(only[name].iloc[0]))
    page = console.open("compare", **ROWS, cmp_cols=column)
    assert all(" → " in cell for cell in page.at.dataframe[0].value[column])


def test_rows_are_filtered_by_a_condition_in_the_address(console: Console) -> None:
    _keep(console, "main", "fixes")
    every = console.open("compare", **ROWS).at.dataframe[0].value
    first = str(every["id"].iloc[0])
    page = console.open("compare", **ROWS, cmp_where=f"id = {first}")
    assert f"main fixes --rows --where 'id = {first}'" in page.unfold("same_as_compare").text
    one = page.at.dataframe[0].value
    assert set(one["id"]) == {first}
    assert len(one) < len(every)
    refused = console.open("compare", **ROWS, cmp_where="id = ")
    assert "**The rows cannot be filtered so.**" in refused.text
    nothing = console.open("compare", **ROWS, cmp_where="id = -1")
    assert "No row matches this filter." in nothing.text


def test_rows_without_a_key_are_counted(console: Console) -> None:
    _keep(console, "main@1", "main", table="vectors_append")
    place = {"db": "fixtures", "table": "vectors_append", "cmp_a": "main@1", "cmp_b": "main"}
    page = console.open("compare", **place, cmp_tab="rows")
    assert "Copies" in page.at.dataframe[0].value
    assert "changed**" not in page.text


def _keep(console: Console, before: str, after: str, table: str = "key_partitioned") -> None:
    services = console.services
    assert isinstance(services, Services)
    keep_rows(services, Identifier(database="fixtures", table=table), before, after)


def test_the_quality_of_two_sides_is_asked_for_and_then_shown(console: Console) -> None:
    place = {**AHEAD, "cmp_a": "main", "cmp_b": "ahead", "cmp_tab": "quality"}
    asked = console.open("compare", **place)
    assert asked.has_button("cmp-quality")
    assert "A job profiles each column on both sides" in asked.text
    found = keep_quality(
        console.services, Identifier.parse("fixtures.branches_ahead"), "main", "ahead"
    )
    page = console.open("compare", **place)
    assert not page.has_button("cmp-quality")
    assert "**Too few rows to tell.**" in page.text
    said = [each.value for each in page.at.caption if each.value.startswith("Compared: ")]
    assert ["only on B" in each or "only B has" in each for each in said] == [True]
    assert page.at.button(key="cmp-review-merge").proto.type == "primary"
    figures = page.at.dataframe[1].value.set_index("Figure")
    column = found.scopes[0].columns[0]
    assert f"`{column.name}`" in page.text
    assert figures.loc["rows", "B"] == "2"
    assert set(figures["Label"]) == {"exact"}
    whole = console.open("compare", **place, cmp_scope="whole sides", cmp_qcol="v")
    assert "All" in whole.text


def test_rules_are_judged_on_both_sides_by_a_job_that_a_button_starts(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = parse_rules(
        "table: fixtures.branches_ahead\nrules:\n"
        "  - {id: whole, rule: not_null, columns: [v], severity: block}\n",
        "fixtures.branches_ahead",
    )
    sent: dict[str, tuple[str, dict[str, Argument]]] = {}

    def start(name: str, arguments: Mapping[str, Argument], key: str) -> str:
        sent[key] = (name, dict(arguments))
        return key

    def find_job(key: str) -> JobView:
        if key not in sent:
            raise NotFound(f"There is no job {key}.")
        return job(key, name="check_rules", state=JobState.DONE)

    report = judge(
        rules,
        {"whole": RuleResult(rule_id="whole", rows=4, failures=1)},
        {"whole": RuleResult(rule_id="whole", rows=3, failures=1)},
    )
    answer = Answer(rows=findings_table(report), has_more=False, plan="")
    monkeypatch.setattr(console.services, "rules", lambda table, text=None: rules)
    monkeypatch.setattr(console.services, "answer", lambda key: answer)
    monkeypatch.setattr(console.services, "start", start)
    monkeypatch.setattr(console.services, "job", find_job)
    place = {**AHEAD, "cmp_a": "main", "cmp_b": "ahead", "cmp_tab": "quality"}
    page = console.open("compare", **place)
    assert "1 rule" in page.text
    page.click("cmp-judge")
    ((name, arguments),) = sent.values()
    assert name == "check_rules"
    assert [str(arguments[side]).partition("@")[0] for side in ("a", "b")] == ["main", "ahead"]
    assert "**Rules on B, ahead**" in page.text
    said = prose(
        "Rule 'whole' fails: 1 of 4 rows breaks it, no more than before; it failed before: 1 of 3 "
        "rows breaks it."
    )
    assert f"warn \u2002 {said}" in page.text
    # An address with an answer to another question shows the question.
    other = console.open("compare", **{**place, "cmp_b": "main@1"}, cmp_rules="0123:9f")
    assert "1 rule" in other.text


def test_what_both_come_from_stands_before_them(console: Console) -> None:
    table = Identifier.parse("fixtures.branches_diverged")
    found = keep_quality(console.services, table, "main", "diverged", merges=True)
    since = found.find_scope(Scope.SINCE_BASE)
    assert since is not None
    place = {**DIVERGED, "cmp_a": "main", "cmp_b": "diverged", "cmp_tab": "quality"}
    page = console.open("compare", **place, cmp_scope="since the base")
    assert plain(f"of the base of A and B ({found.base}) against all") in page.text
    table_of_all, figures = (each.value for each in page.at.dataframe)
    assert {"Nulls Base", "Nulls A", "Nulls B", "Nulls Merged"} <= set(table_of_all)
    figures = figures.set_index("Figure")
    assert list(figures)[:4] == ["Base", "A", "B", "Merged"]
    assert {
        "Difference (B \N{MINUS SIGN} Base)",
        "Difference (Merged \N{MINUS SIGN} A)",
    } <= set(figures)
    assert figures.loc["rows", "Base"] == f"{since.rows[0]}"
    assert figures.loc["rows", "B"] == f"{since.rows[1]}"


def test_the_merged_result_is_a_third_column(console: Console) -> None:
    place = {**AHEAD, "cmp_a": "main", "cmp_b": "ahead", "cmp_tab": "quality"}
    table = Identifier.parse("fixtures.branches_ahead")
    keep_quality(console.services, table, "main", "ahead")
    assert console.open("compare", **place).has_button("cmp-quality-merged")
    found = keep_quality(console.services, table, "main", "ahead", merges=True)
    merged = found.find_scope(Scope.MERGED)
    assert merged is not None
    page = console.open("compare", **place, cmp_scope="merged result")
    assert not page.has_button("cmp-quality-merged")
    assert "that merging B into A would leave" in page.text
    assert "main ahead --quality --merged" in page.unfold("same_as_compare").text
    figures = page.at.dataframe[1].value.set_index("Figure")
    assert figures.loc["rows", "Merged"] == f"{merged.rows[1]}"
    assert list(figures)[:3] == ["A", "B", "Merged"]
    own = console.open("compare", **place, cmp_scope="own rows")
    assert "Merged" not in own.at.dataframe[1].value


@pytest.mark.parametrize(("before", "after"), [("main@1", "ahead"), ("main", "ahead@3")])
def test_the_merged_result_is_offered_only_of_heads_that_can_be_merged(
    console: Console, before: str, after: str
) -> None:
    table = Identifier.parse("fixtures.branches_ahead")
    keep_quality(console.services, table, before, after)
    page = console.open("compare", **AHEAD, cmp_a=before, cmp_b=after, cmp_tab="quality")
    assert page.at.dataframe, "the quality is not shown"
    assert not page.has_button("cmp-quality-merged")


def test_the_merged_result_is_offered_only_where_its_rows_can_be_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, services, console = contested(tmp_path)
    name = Identifier.parse(table.name)
    keep_quality(console.services, name, "main", "fix-delays")
    address = {**both(table), "cmp_tab": "quality"}
    assert console.open("compare", **address).has_button("cmp-quality-merged")
    monkeypatch.setitem(services.__dict__, "writable_warehouse", services.open_as(read_only=True))
    assert not console.open("compare", **address).has_button("cmp-quality-merged")


def test_a_merged_result_that_takes_no_files_is_offered_of_a_store_that_is_read_only(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    services: Any = console.services
    keep_quality(services, Identifier.parse("fixtures.branches_ahead"), "main", "ahead")
    monkeypatch.setitem(services.__dict__, "writable_warehouse", services.open_as(read_only=True))
    page = console.open("compare", **AHEAD, cmp_a="main", cmp_b="ahead", cmp_tab="quality")
    assert page.has_button("cmp-quality-merged")
