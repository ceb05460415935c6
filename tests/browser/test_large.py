"""Ten thousand snapshots and five hundred branches: drawn, folded, searchable."""

import time
from pathlib import Path

import pytest

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole, running_console
from tests.support.contested_table import ContestedTable
from tests.support.examples import Examples

pytestmark = pytest.mark.depth("full")

HISTORY = {"db": "big", "table": "history"}
_MARKS = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot =>
  plot._fullData.map(trace => trace.x ? trace.x.length : 0)).reduce((a, b) => a + b, 0)"""


@pytest.mark.depth("long")
def test_the_graph_folds_and_leaves_out(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console)
    started = time.monotonic()
    seen.turn_to("branches", **HISTORY)
    print(f"branches of 10,000 snapshots and 500 branches: {time.monotonic() - started:.1f} s")
    seen.sees("+477 branches", within=".st-key-lane-names")
    seen.sees("501 branches")
    assert seen.page.evaluate(_MARKS) <= 4_000
    seen.assert_fits()


@pytest.mark.depth("long")
def test_a_folded_run_opens_on_a_click(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console).turn_to("branches", **HISTORY)
    first = seen.page.evaluate(
        """() => { const folded = document.querySelector('.js-plotly-plot')._fullData
            .find(trace => trace.name === 'folded'); return folded.x.length - 1; }"""
    )
    seen.click_mark("folded", first)
    assert seen.query["br_open"].startswith("main:")


@pytest.mark.depth("long")
def test_search_brings_up_any_branch(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console).turn_to("branches", **HISTORY, br_q="work-431")
    seen.sees("work-431", within=".st-key-lane-names")


@pytest.mark.depth("long")
def test_the_timeline_sums_up_ten_snapshots_a_bar(
    visit: NewVisit, broken_console: RunningConsole
) -> None:
    seen = visit(broken_console)
    started = time.monotonic()
    seen.turn_to("snapshots", **HISTORY)
    print(f"timeline of 10,000 snapshots: {time.monotonic() - started:.1f} s")
    beads = seen.page.evaluate(
        """() => document.querySelector('.js-plotly-plot')._fullData
            .find(trace => trace.name === 'snapshots').x.length"""
    )
    assert beads == 1_000
    seen.sees("A bar stands for up to 10 snapshots.")


def test_a_hundred_thousand_conflicts_open_and_one_condition_settles_a_group(
    visit: NewVisit, broken_console: RunningConsole, examples: Examples
) -> None:
    # A tenth in CI: writing as many rows takes longer than looking at them.
    flights = 46_000 if examples.depth == "long" else 4_600
    of_all, of_group = flights * 22 // 10, (flights - 100) * 22 // 10
    warehouse = Path(broken_console.settings.get_warehouse())
    table = ContestedTable(warehouse, flights=flights, database="many")
    table.call("compare_rows", branch="fix-delays", target="main")
    seen = visit(broken_console)
    started = time.monotonic()
    seen.turn_to("conflicts", **table.place, source="fix-delays")
    print(f"{of_all:,} conflicts: {time.monotonic() - started:.1f} s")
    seen.sees(f"{of_all:,} of {of_all:,} conflicts open.")
    seen.page.get_by_text("Condition", exact=True).click()
    seen.settle().page.locator(".st-key-rule-when input").fill(f"flight < {flights - 100}")
    seen.page.keyboard.press("Enter")
    seen.pick_rule("Take", "source")
    started = time.monotonic()
    seen.sees(f"{of_group:,} conflicts match. Settles {of_group:,} conflicts")
    seen.page.get_by_role("button", name="Apply rule").click()
    seen.sees(f"{of_all - of_group:,} of {of_all:,} conflicts open.")
    print(f"settled by one condition: {time.monotonic() - started:.1f} s")
    seen.assert_fits()


# What the page says of many tables, tests/console/test_many_tables.py sees at every depth; a table
# is found and opened in the walk of a new user.
@pytest.mark.depth("long")
def test_of_ten_thousand_tables_the_last_but_one_is_found(visit: NewVisit, tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    first = ContestedTable(folder, flights=1).folder / "air.db" / "delays"
    files = [path.relative_to(first) for path in first.rglob("*") if path.is_file()]
    for number in range(10_000):
        copy = folder / "many.db" / f"t{number:04d}"
        for path in files:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).hardlink_to(first / path)
    with running_console(folder, tmp_path / "state") as console:
        seen = visit(console).open("jobs")
        started = time.monotonic()
        seen.open().sees("t0000")
        print(f"overview of 10,001 tables: {time.monotonic() - started:.1f} s")
        seen.sees("10,001 tables")
        started = time.monotonic()
        seen.page.get_by_label("Find a table").fill("t9998")
        seen.sees("t9998", within=".st-key-rows-tables")
        print(f"one of them found: {time.monotonic() - started:.1f} s")
        seen.link("many.t9998").click()
        seen.page.wait_for_url("**/table?**")
        seen.sees("key day, flight")
