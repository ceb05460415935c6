"""A thousand snapshots and fifty branches: drawn, folded, searchable."""

import time

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole

HISTORY = {"db": "big", "table": "history"}
_MARKS = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot =>
  plot._fullData.map(trace => trace.x ? trace.x.length : 0)).reduce((a, b) => a + b, 0)"""


def test_the_graph_folds_and_leaves_out(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console)
    started = time.monotonic()
    seen.open("branches", **HISTORY)
    print(f"branches of 1,000 snapshots and 50 branches: {time.monotonic() - started:.1f} s")
    seen.sees("+27 branches", within=".st-key-lane-names")
    seen.sees("51 branches")
    assert seen.page.evaluate(_MARKS) <= 4_000
    seen.assert_fits()


def test_a_folded_run_opens_on_a_click(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console).open("branches", **HISTORY)
    first = seen.page.evaluate(
        """() => { const folded = document.querySelector('.js-plotly-plot')._fullData
            .find(trace => trace.name === 'folded'); return folded.x.length - 1; }"""
    )
    seen.click_mark("folded", first)
    assert seen.query["br_open"].startswith("main:")


def test_search_brings_up_any_branch(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console).open("branches", **HISTORY, br_q="work-003")
    seen.sees("work-003", within=".st-key-lane-names")


def test_the_timeline_draws_every_snapshot(visit: NewVisit, broken_console: RunningConsole) -> None:
    seen = visit(broken_console)
    started = time.monotonic()
    seen.open("snapshots", **HISTORY)
    print(f"timeline of 1,000 snapshots: {time.monotonic() - started:.1f} s")
    beads = seen.page.evaluate(
        """() => document.querySelector('.js-plotly-plot')._fullData
            .find(trace => trace.name === 'snapshots').x.length"""
    )
    assert beads == 1_000
