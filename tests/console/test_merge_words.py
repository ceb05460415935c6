"""What a person reads of a merge and a comparison, the tab *Details* left out, state by state."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console.errors import ErrorKind
from branch_console.jobs.progress import JobState
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import MergeVerdict, PlanCost
from branch_console.merge.policy import Policy, PolicyChoice
from branch_console.merge.policy_draft import with_table_rule
from branch_console.procedures.call.call import Argument
from branch_console_app.services import Services
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import NEW_FILES, snapshot
from tests.console.test_three_way import DIALOG, FIX, FLIGHTS, PUBLISH, conflict, planned
from tests.support.contested_table import NAME, ContestedTable

MOST_FIGURES: Final = 4
KEYED: Final = {"db": "air", "table": "delays", "source": "fix-delays", "target": "main"}
ASKED: Final[dict[str, Argument]] = {"table": NAME, "branch": "fix-delays", "target": "main"}


def clean(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **FIX)


def chosen(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **FLIGHTS)


def even(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **FLIGHTS, source="audit")


def forward(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **FLIGHTS, source="backfill")


def refused_forward(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **FIX, how="ff")


def refused(tmp_path: Path) -> Page:
    block = Block(kind=ErrorKind.NO_COMMON_HISTORY, text="They share no snapshot.")
    console = planned(air_console(tmp_path), MergeVerdict.REFUSED, blocks=(block,))
    return console.open("merge", **FIX)


def in_conflict(tmp_path: Path) -> Page:
    found = (conflict(), conflict(subject="carrier"))
    console = planned(
        air_console(tmp_path), MergeVerdict.CONFLICTS, moves=NEW_FILES, conflicts=found
    )
    return console.open("merge", **FIX)


def undecided(tmp_path: Path) -> Page:
    cost = PlanCost(files_added=2, records_added=20, buckets_to_compare=4)
    console = planned(air_console(tmp_path), MergeVerdict.UNDECIDED, moves=NEW_FILES, cost=cost)
    return console.open("merge", **FIX)


def comparing(tmp_path: Path) -> Page:
    return undecided(tmp_path).click("merge-compare")


def joined(tmp_path: Path) -> Page:
    cost = PlanCost(files_added=2, records_added=20, is_of_rows=True, files_joined=3)
    console = planned(air_console(tmp_path), MergeVerdict.CLEAN, moves=NEW_FILES, cost=cost)
    return console.open("merge", **FIX)


def running(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **DIALOG).choose(*PUBLISH).click("run-merge_branch")


def ended(state: JobState, error: ErrorKind | None = None) -> Callable[[Path], Page]:
    def run(tmp_path: Path) -> Page:
        console = air_console(tmp_path)
        page = console.open("merge", **DIALOG).click("run-dry")
        (dry,) = console.services.sent
        known = console.services.known_jobs
        known[dry.operation_id] = replace(known[dry.operation_id], state=state, error=error)
        return page.run()

    return run


def stale(tmp_path: Path) -> Page:
    console = air_console(tmp_path)
    page = console.open("merge", **FIX)
    main = console.services.listed[1].branches["main"]
    main.snapshots = (*main.snapshots, snapshot("late", 13, user="bob"))
    return page.run()


def viewed(tmp_path: Path) -> Page:
    return air_console(tmp_path, role="viewer").open("merge", **FIX)


STATES: Final[dict[str, tuple[Callable[[Path], Page], str]]] = {
    "choose": (chosen, "Choose one of the branches below"),
    "running": (running, "**Merging: "),
    "comparing": (comparing, "**Comparing rows.**"),
    "failed": (ended(JobState.FAILED, ErrorKind.UNEXPECTED), "The dry run stopped"),
    "stale": (stale, "since you opened this page"),
    "up to date": (even, "already has every change"),
    "refused": (refused, "cannot be merged into"),
    "refused fast-forward": (refused_forward, "cannot be fast-forwarded to"),
    "conflicts": (in_conflict, "2 conflicts to settle"),
    "needs rows": (undecided, "Both sides changed the same part of the table."),
    "gate red": (ended(JobState.REFUSED, ErrorKind.GATE_FAILED), "Blocked by the quality rules"),
    "no right": (viewed, "You are a viewer"),
    "staged": (ended(JobState.DONE), "Dry run passed."),
    "fast-forward": (forward, "a fast-forward adds the"),
    "clean": (clean, "No conflicts."),
    "clean with joined files": (joined, "will be rewritten"),
}


@pytest.mark.parametrize("name", STATES)
def test_each_state_speaks_of_buckets_in_details_alone(tmp_path: Path, name: str) -> None:
    opened, sentence = STATES[name]
    page = opened(tmp_path)
    assert sentence in page.text
    check(page)


def test_the_words_of_details_are_told_apart_from_those_of_the_page(tmp_path: Path) -> None:
    page = undecided(tmp_path)
    beside = "\n".join(texts(page))
    assert "Both sides changed the same part of the table." in beside
    assert "Compare rows" in beside
    (details,) = named(page, "Details")
    assert "Data to copy" in [each.label for each in details.metric]
    assert "Data to copy" not in beside
    assert "Buckets" in "".join(each.label for each in details.expander)


def test_a_merge_by_key_never_calls_records_rows(tmp_path: Path) -> None:
    table = ContestedTable(tmp_path / "warehouse", flights=3)
    services: Any = Services(settings(tmp_path))

    def keyed() -> Page:
        page = Console(services).open("merge", **KEYED)
        check(page)
        # Nobody has counted the rows of the result: no rule of the table made a dry run do it.
        rows = {each.label: each.value for each in page.at.metric if "Rows" in each.label}
        assert set(rows.values()) <= {"\N{EN DASH}"}, rows
        assert [each.delta for each in page.at.metric if each.delta == "exact"] == []
        return page

    assert "Both sides changed the same part" in keyed().text
    table.call("compare_rows", branch="fix-delays", target="main")
    assert "8 conflicts to settle" in keyed().text
    seen = services.resolution(ASKED).draft
    settle = with_table_rule(Policy(), NAME, PolicyChoice.parse("theirs"))
    services.save_draft(ASKED, seen, settle)
    assert "All 8 conflicts are settled" in keyed().text
    table.call("dry_run_merge", **ASKED, policy=settle.to_yaml())
    assert "Data files +4" in keyed().text


@pytest.mark.parametrize("tab", ["partitions", "files", "schema", "rows", "quality"])
def test_a_comparison_speaks_of_no_bucket(tmp_path: Path, tab: str) -> None:
    ContestedTable(tmp_path / "warehouse", flights=3)
    services: Any = Services(settings(tmp_path))
    sides = {"cmp_a": "main", "cmp_b": "fix-delays", "cmp_tab": tab}
    page = Console(services).open("compare", db="air", table="delays", **sides)
    assert [text for text in texts(page) if "bucket" in text.lower()] == []
    labels = [each.label for each in page.at.metric]
    assert [label for label in labels if label.startswith("Rows")] == []
    assert [each.delta for each in page.at.metric if each.delta == "exact"] == []


def check(page: Page) -> None:
    """Hold what is true of every state: no bucket but in Details, few figures, none of them 0."""
    assert [text for text in texts(page) if "bucket" in text.lower()] == []
    figures = [each.value for tab in named(page, "Summary") for each in tab.metric]
    assert len(figures) <= MOST_FIGURES
    assert [value for value in figures if value.split()[0] in ("0", "+0")] == []


def texts(page: Page) -> Iterator[str]:
    """All that stands on a page outside of *Details*: texts, labels, help, cells of tables."""
    details = {
        id(each) for tab in named(page, "Details") for kind in KINDS for each in tab.get(kind)
    }
    for kind in KINDS:
        for each in page.at.get(kind):
            if id(each) not in details:
                yield from parts(each)
    yield from (tab.label for tab in page.at.tabs)


KINDS: Final = (
    "markdown", "caption", "subheader", "error", "warning", "info", "success", "code", "metric",
    "button", "selectbox", "checkbox", "toggle", "text_input", "page_link", "arrow_data_frame",
    "expander",
)  # fmt: skip


def parts(element: Any) -> Iterator[str]:
    for name in ("label", "value", "help", "delta", "proto"):
        found = getattr(element, name, None)
        if hasattr(found, "columns"):
            yield from (str(column) for column in found.columns)
            yield from (str(cell) for column in found.columns for cell in found[column])
        elif found is not None:
            yield str(getattr(found, "label", found) if name == "proto" else found)


def named(page: Page, label: str) -> list[Any]:
    return [tab for tab in page.at.tabs if tab.label == label]
