"""B11: the console in a real browser on a large table: its first paint, and what follows a click.

The clock is the browser's: from the address, or from the click, until the page has settled. Nobody
else has such a console, so there is no peer: only limits.
"""

import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from playwright.sync_api import BrowserContext, Page, sync_playwright

from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.warehouse import Warehouse
from tests.benchmarks.catalog_branches import make_tables
from tests.benchmarks.commit_one_row import Size, make_warehouse
from tests.benchmarks.contest import OURS, Result, Sample, Target, at_most, p95
from tests.benchmarks.own_procedure import run_ours
from tests.benchmarks.synthetic import BRANCH, TABLE, add_files, open_table
from tests.browser.consoles import RunningConsole, running_console
from tests.support.contested_table import ContestedTable
from tests.support.requirements import find_chromium

FIRST_PAINT_SECONDS: Final = 2.0
INTERACTION_SECONDS: Final = 1.0
CATALOG_SECONDS: Final = 1.0
"""To the first paint of the page of the catalog, the median: all tables are looked at for it."""

_PARTITIONS_A_MANIFEST: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """What is looked at; a flight of the contested table is two conflicts.

    Attributes:
        tables: Of the warehouse with branches of the catalog.
    """

    files: int
    snapshots: int
    branches: int
    conflicts: int
    tables: int


CASES: Final = {
    "tiny": [Large(files=200, snapshots=5, branches=3, conflicts=40, tables=20)],
    "small": [Large(files=100_000, snapshots=1_000, branches=100, conflicts=10_000, tables=1_000)],
    "full": [
        Large(files=1_000_000, snapshots=1_000, branches=100, conflicts=100_000, tables=1_000)
    ],
}


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


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Open each page and click in it, round by round; see `live_files.run`."""
    for size in CASES[scale]:
        warehouse = folder / "console"
        make_large(warehouse, size)
        case = {"files": size.files, "conflicts": size.conflicts}
        yield from look_at(warehouse, views(size), case, rounds, _targets)
        catalog = folder / "catalog"
        make_catalog(catalog, size.tables)
        yield from look_at(catalog, [CATALOG], {"tables": size.tables}, rounds, _targets)


def look_at(
    warehouse: Path,
    pages: Sequence[View],
    case: Mapping[str, int],
    rounds: int,
    targets: Callable[[Result], Iterable[Target]],
    *,
    benchmark: str = "B11",
) -> Iterator[Result]:
    """Open each page of the console of a warehouse, and click in it, round by round."""
    state = warehouse.with_name(f"{warehouse.name}-state")
    with running_console(warehouse, state) as console, open_browser() as context:
        # A server that has shown nothing yet has half its program to load.
        _visit(context.new_page(), console, View(name="jobs", path="jobs"))
        for view in pages:
            page = context.new_page()
            page.set_default_timeout(60_000)
            samples = tuple(_visit(page, console, view) for _ in range(rounds))
            page.close()
            result = Result(
                benchmark=benchmark,
                case={"page": view.name, **case},
                samples=samples,
                wrong=_wrong(samples),
            )
            yield replace(result, targets=tuple(targets(result)))


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


def make_catalog(folder: Path, tables: int) -> None:
    """Write many small tables, a lazy and an eager branch of all, and what one of them changed."""
    make_tables(folder, tables)
    warehouse = Warehouse.open(str(folder))
    run_ours(warehouse, "create_catalog_branch", branch="lazy", lazy=True)
    run_ours(warehouse, "create_catalog_branch", branch="eager")
    for number in range(tables // 100):
        name = f"air.t{number}$branch_lazy"
        run_ours(
            warehouse, "drop_table", sql=f"DROP TABLE air.t{number}", table=name, branch="lazy"
        )


def make_large(folder: Path, size: Large) -> None:
    """Write `db.t` with its files, snapshots and branches, and `air.delays` with its conflicts."""
    manifests = max(1, size.files // _PARTITIONS_A_MANIFEST)
    make_warehouse(folder, Size(files=size.files, snapshots=size.snapshots, manifests=manifests))
    table = folder / "db.db" / "t"
    head = Snapshot.from_json((table / "snapshot" / f"snapshot-{size.snapshots}").read_text())
    first = table / "branch" / f"branch-{BRANCH}"
    shutil.rmtree(first / "snapshot")
    (first / "snapshot").mkdir()
    (first / "snapshot" / f"snapshot-{head.id}").write_text(head.to_json())
    for name in ("LATEST", "EARLIEST"):
        (first / "snapshot" / name).write_text(str(head.id))
    for number in range(1, size.branches):
        shutil.copytree(first, table / "branch" / f"branch-work-{number:03}")
    main = open_table(folder)
    add_files(folder, main.on(BRANCH), [f"theirs-{number}" for number in range(20)])
    add_files(folder, main, [f"ours-{number}" for number in range(20)])
    contested = ContestedTable(folder, flights=size.conflicts // 2)
    contested.call("compare_rows", branch="fix-delays", target="main")


def views(size: Large) -> list[View]:
    """The pages, each with what is clicked there."""
    database, table = TABLE.split(".")
    large = {"db": database, "table": table}
    merge = {"db": "air", "table": "delays", "source": "fix-delays"}
    wanted = f"work-{size.branches - 1:03}"
    return [
        View(name="overview", path="", clicks=(fill("ov_q", "del"), fill("ov_q", ""))),
        View(
            name="table",
            path="table",
            query=large,
            clicks=(tab_click("Files"), tab_click("Options")),
        ),
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
        View(name="jobs", path="jobs"),
    ]


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


def _visit(page: Page, console: RunningConsole, view: View) -> Sample:
    query = "&".join(f"{name}={value}" for name, value in view.query.items())
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(f"{console.url}/{view.path}?{query}", wait_until="commit")
    page.wait_for_selector(_PAINTED)
    painted = time.perf_counter() - started
    settle(page)
    settled = time.perf_counter() - started
    found = page.locator('[data-testid="stException"]').count()
    clicks = []
    for click in view.clicks:
        page.evaluate(_WATCH)
        clicked = time.perf_counter()
        click(page)
        page.wait_for_function("() => window.sawRun")
        settle(page)
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


def settle(page: Page) -> None:
    """Wait until the script has run and no placeholder is left."""
    page.wait_for_function(_SETTLED)


def _targets(result: Result) -> Iterator[Target]:
    samples = result.of(OURS)
    first, later = samples[0].cold, [each.cold for each in samples]
    yield at_most("seconds to the first paint, nothing remembered", first, FIRST_PAINT_SECONDS)
    yield at_most("seconds to the first paint, p95", p95(later), FIRST_PAINT_SECONDS)
    whole = statistics.median(each.process for each in samples)
    yield Target(text="seconds until the page has settled", value=whole, is_met=True)
    clicks = [seconds for each in samples for seconds in each.warm]
    if result.case["page"] == CATALOG.name:
        paint = statistics.median(later)
        yield at_most("seconds to the first paint, median", paint, CATALOG_SECONDS)
    if clicks:
        yield at_most("seconds an interaction, p95", p95(clicks), INTERACTION_SECONDS)


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
_SETTLED: Final = """() => document.querySelector(
    '[data-testid="stApp"][data-test-script-state="notRunning"]')
  && !document.querySelector('[data-testid="stSkeleton"]')
  && !document.querySelector('[data-stale="true"]')"""
_WATCH: Final = """() => {
  window.sawRun = false;
  const app = document.querySelector('[data-testid="stApp"]');
  const seen = new MutationObserver(() => {
    if (app.dataset.testScriptState !== 'notRunning') { window.sawRun = true; seen.disconnect(); }
  });
  seen.observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""
