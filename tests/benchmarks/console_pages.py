"""B11: the console in a real browser on a large table: its first paint, and what follows a click.

The clock is the browser's: from the address, or from the click, until the page has settled. Nobody
else has such a console, so there is no peer: only limits.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, Page, sync_playwright

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console_app.models.maintenance.tabs import MaintenanceTab
from branch_console_app.widgets.parts.patience import WAITING
from tests.benchmarks.console_tables import CASES, Large, catalog_warehouse, large_warehouse
from tests.benchmarks.contest import OURS, Result, Sample, Target, at_most, p95
from tests.benchmarks.synthetic import BRANCH, TABLE
from tests.browser.consoles import RunningConsole, running_console
from tests.browser.script_runs import ScriptRuns
from tests.support.requirements import find_chromium

FIRST_PAINT_SECONDS: Final = 2.0
INTERACTION_SECONDS: Final = 1.0
CATALOG_SECONDS: Final = 1.0
"""To the first paint of the page of the catalog, the median: all tables are looked at for it."""

FIRST_OF_ALL: Final = "first-of-all"
"""What a console and a browser that were just started show first."""

_LONGEST_SECONDS: Final = 60
_POLL_MILLIS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page as an address has it.

    Attributes:
        clicks: What somebody does there, each once a round.
    """

    name: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    clicks: Sequence[Callable[[Page], None]] = ()


class Tab:
    """A tab of the browser, and the runs of the script that it asks for."""

    def __init__(self, context: BrowserContext) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(_LONGEST_SECONDS * 1_000)
        self._runs = ScriptRuns(self.page)

    def settle(self) -> None:
        """Wait until what was asked for has been drawn, and no placeholder is left."""
        self._wait_until(lambda: self._runs.are_done)
        self.page.wait_for_function(_SETTLED)

    def asks(self, act: Callable[[Page], None]) -> None:
        """Do something that asks for a run of the script, and wait until the page has settled."""
        asked = self._runs.asked_in_all
        act(self.page)
        # A short run begins and ends between two looks at the page: only its messages tell of it.
        self._wait_until(lambda: self._runs.asked_in_all > asked)
        self.settle()

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + _LONGEST_SECONDS
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError(f"the script does not begin or does not end: {self.page.url}")
            self.page.wait_for_timeout(_POLL_MILLIS)


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Open each page and click in it, round by round; see `live_files.run`."""
    for size in CASES[scale]:
        warehouse, catalog = _made(folder, size)
        case = {"files": size.files, "conflicts": size.conflicts}
        yield from look_at(warehouse, partial(views, size), case, rounds, _targets)
        tables = {"tables": size.tables}
        yield from look_at(catalog, lambda _: [CATALOG], tables, rounds, _targets)


def prepare(scale: str, folder: Path) -> None:
    """Make the warehouses, for a later run to find."""
    for size in CASES[scale]:
        _made(folder, size)


def _made(folder: Path, size: Large) -> tuple[Path, Path]:
    return large_warehouse(folder, size), catalog_warehouse(folder, size.tables)


def look_at(
    warehouse: Path,
    pages: Callable[[RunningConsole], Sequence[View]],
    case: Mapping[str, int],
    rounds: int,
    targets: Callable[[Result], Iterable[Target]],
    *,
    benchmark: str = "B11",
) -> Iterator[Result]:
    """Open each page of the console of a warehouse, and click in it, round by round.

    Args:
        warehouse: The warehouse; the state of its console lies beside it.
        pages: The pages to look at, in a console that runs.
        case: Tells the results from those of other cases.
        rounds: How often each page is opened; the first one of a new console, once.
        targets: The figures that a page must reach.
        benchmark: The name of the benchmark.
    """
    state = warehouse.with_name(f"{warehouse.name}-state")
    first = View(name=FIRST_OF_ALL, path="")
    with running_console(warehouse, state) as console, open_browser() as context:
        for view in (first, *pages(console)):
            tab = Tab(context)
            times = 1 if view is first else rounds
            samples = tuple(_visit(tab, console, view) for _ in range(times))
            tab.page.close()
            result = Result(
                benchmark=benchmark,
                case={"page": view.name, **case},
                samples=samples,
                wrong=_wrong(samples),
            )
            yield replace(result, targets=() if view is first else tuple(targets(result)))


@contextmanager
def open_browser() -> Iterator[BrowserContext]:
    """A browser with a window of the usual size."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(find_chromium()),
            headless=True,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        yield browser.new_context(viewport={"width": 1440, "height": 900})
        browser.close()


def views(size: Large, console: RunningConsole) -> list[View]:
    """The pages, each with what is clicked there."""
    database, table = TABLE.split(".")
    large = {"db": database, "table": table}
    contested = {"db": "air", "table": "delays"}
    merge = {**contested, "source": "fix-delays"}
    compared = {**large, "cmp_a": MAIN_BRANCH, "cmp_b": BRANCH}
    wanted = f"work-{size.branches - 1:03}"
    (event, *_) = console.services.table(Identifier(database="air", table="delays")).events
    return [
        View(name="overview", path="", clicks=(fill("ov_q", "del"), fill("ov_q", ""))),
        View(name="activity", path="activity", clicks=(choose("ac_kind"),)),
        View(
            name="table",
            path="table",
            query=large,
            clicks=(tab_click("Files"), tab_click("Options")),
        ),
        View(
            name="files",
            path="table",
            query={**large, "t_tab": "Files"},
            clicks=(button_click("t_files", "buckets"), button_click("t_files", "files")),
        ),
        View(name="events", path="table", query={**large, "t_tab": "Events"}),
        View(
            name="branches",
            path="branches",
            query=large,
            clicks=(fill("br_q", wanted), fill("br_q", "")),
        ),
        View(
            name="snapshots",
            path="snapshots",
            query=large,
            clicks=(button_click("sn_kind", "append"), button_click("sn_kind", "append")),
        ),
        View(name="schemas", path="schemas", query=large),
        View(name="compare-list", path="compare", query=large),
        View(
            name="compare",
            path="compare",
            query=compared,
            clicks=(button_click("cmp_tab", "files"), button_click("cmp_tab", "rows")),
        ),
        View(name="quality", path="compare", query={**compared, "cmp_tab": "quality"}),
        View(name="merge-list", path="merge", query=large),
        View(
            name="merge",
            path="merge",
            query={**large, "source": BRANCH},
            clicks=(tab_click("Details"), tab_click("Summary")),
        ),
        View(name="merge-conflicts", path="merge", query=merge),
        View(
            name="conflicts",
            path="conflicts",
            query=merge,
            clicks=(button_click("cf_state", "Open"), button_click("cf_state", "All")),
        ),
        View(
            name="maintenance",
            path="maintenance",
            query=large,
            clicks=tuple(tab_click(each) for each in list(MaintenanceTab)[1:]),
        ),
        View(name="jobs", path="jobs"),
        View(name="receipt", path="receipt", query={"id": event.operation_id}),
        View(name="sql", path="sql"),
    ]


def choose(key: str) -> Callable[[Page], None]:
    """Takes the first choice of a select box by the keyboard."""

    def act(page: Page) -> None:
        page.locator(f".st-key-{key} input").first.click()
        page.get_by_role("option").first.wait_for()
        page.keyboard.press("Enter")

    return act


def fill(key: str, text: str) -> Callable[[Page], None]:
    """Types into a box and sends it."""

    def act(page: Page) -> None:
        page.locator(f".st-key-{key} input").first.fill(text)
        page.keyboard.press("Enter")

    return act


def tab_click(name: str) -> Callable[[Page], None]:
    """Clicks a tab."""
    return lambda page: page.get_by_role("tab", name=name).first.click()


def button_click(key: str, name: str) -> Callable[[Page], None]:
    """Clicks a button of a group."""
    area = f".st-key-{key}"
    return lambda page: page.locator(area).get_by_text(name).first.click()


CATALOG: Final = View(name="catalog", path="catalog", clicks=(fill("ca_q", "t7"), fill("ca_q", "")))


def _visit(tab: Tab, console: RunningConsole, view: View) -> Sample:
    page = tab.page
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(f"{console.url}/{view.path}?{urlencode(view.query)}", wait_until="commit")
    page.wait_for_selector(_PAINTED)
    painted = time.perf_counter() - started
    tab.settle()
    settled = time.perf_counter() - started
    found = page.locator('[data-testid="stException"]').count()
    clicks = []
    for click in view.clicks:
        clicked = time.perf_counter()
        tab.asks(click)
        clicks.append(time.perf_counter() - clicked)
    return Sample(
        contestant=OURS,
        cold=painted,
        warm=tuple(clicks),
        peak_rss_bytes=0,
        process=settled,
        answer={"exceptions": found},
    )


def _wrong(samples: Sequence[Sample]) -> tuple[str, ...]:
    found = sum(each.answer["exceptions"] for each in samples)
    return (f"{found} exceptions were shown",) if found else ()


def _targets(result: Result) -> Iterator[Target]:
    samples = result.of(OURS)
    first, later = samples[0].cold, [each.cold for each in samples]
    yield at_most("seconds to the first paint, nothing remembered", first, FIRST_PAINT_SECONDS)
    yield at_most("seconds to the first paint, p95", p95(later), FIRST_PAINT_SECONDS)
    paint = statistics.median(later)
    yield at_most("seconds to the first paint, median", paint, FIRST_PAINT_SECONDS)
    whole = statistics.median(each.process for each in samples)
    yield Target(text="seconds until the page has settled", value=whole, is_met=True)
    clicks = [seconds for each in samples for seconds in each.warm]
    if result.case["page"] == CATALOG.name:
        yield at_most("seconds to the first paint of all tables, median", paint, CATALOG_SECONDS)
    if clicks:
        yield at_most("seconds an interaction, p95", p95(clicks), INTERACTION_SECONDS)
        settled = statistics.median(clicks)
        yield at_most("seconds from click to settled, median", settled, INTERACTION_SECONDS)


# The Overview has none of the first three; its filters are drawn once its tables are read.
_PAINTED: Final = ", ".join(
    f".st-key-page {part}"
    for part in (
        '[data-testid="stHeading"]',
        '[data-testid="stMetric"]',
        '[data-testid="stDataFrame"]',
        ".st-key-filters",
    )
)
# A page that says that it is still reading has not settled.
_SETTLED: Final = f"""() => document.querySelector(
    '[data-testid="stApp"][data-test-script-state="notRunning"]')
  && !document.querySelector('[data-testid="stSkeleton"]')
  && !document.querySelector('[class*="st-key-{WAITING}-"]')
  && !document.querySelector('[data-stale="true"]')"""
