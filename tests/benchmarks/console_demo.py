"""B11-demo: the console on the demo: the clicks of a merge, and how soon each is answered.

The pages of metadata have limits for the median; what needs a job has one for the time from the
click until the page tells of the job. Nobody else has such a console, so there is no peer.

In the table "cold" is the first paint and "warm" a click until the page has settled; of what needs
a job both are the answer to the click.
"""

import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator

from branch_console.format.identifier import Identifier
from branch_console_app.models.jobs.job_titles import JobGroup
from branch_console_app.models.maintenance.tabs import MaintenanceTab
from tests.benchmarks.console_pages import (
    Tab,
    View,
    button_click,
    choose,
    fill,
    look_at,
    open_browser,
    tab_click,
)
from tests.benchmarks.contest import OURS, Result, Sample, Target, at_most
from tests.benchmarks.prepared import PLACE
from tests.browser.consoles import RunningConsole, running_console
from tests.support.demo_build import built_demo

MEDIAN_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 1.0
"""From the click on what needs a job until the page tells of the job."""
CLICKS_WITHOUT_CONFLICTS: Final = 4
CLICKS_WITH_CONFLICTS: Final = 8

_CONTESTED: Final = "air"
_CALM: Final = "calm"
"""A copy of the database, so that each merge finds main as the demo has it."""
_JOB_MILLIS: Final = 600_000
_FLIGHTS: Final = {"db": _CONTESTED, "table": "flights"}
_COMPARED: Final = {**_FLIGHTS, "cmp_a": "main", "cmp_b": "fix-delays"}
_MERGED: Final = {**_FLIGHTS, "source": "fix-delays", "target": "main"}
_JOB_PAGE: Final = ".st-key-card-job"


def pages(console: RunningConsole) -> Sequence[View]:
    """The pages of metadata, each with what is clicked there."""
    (event, *_) = console.services.table(Identifier(database="air", table="flights")).events
    job = console.services.jobs(limit=1)[0]
    return (
        View(name="overview", path="", clicks=(fill("ov_q", "fix"), fill("ov_q", ""))),
        View(name="catalog", path="catalog", clicks=(fill("ca_q", "fl"), fill("ca_q", ""))),
        View(name="activity", path="activity", clicks=(choose("ac_kind"),)),
        View(name="table", path="table", query=_FLIGHTS, clicks=(tab_click("Files"),)),
        View(
            name="events", path="table", query={**_FLIGHTS, "t_tab": "Events"},
            clicks=(fill("hi_q", "fix"), fill("hi_q", "")),
        ),
        View(
            name="branches", path="branches", query=_FLIGHTS,
            clicks=(fill("br_q", "fix"), fill("br_q", "")),
        ),
        View(
            name="snapshots", path="snapshots", query=_FLIGHTS,
            clicks=(button_click("sn_kind", "append"), button_click("sn_kind", "append")),
        ),
        View(name="schemas", path="schemas", query={"db": "air", "table": "planes"}),
        View(name="compare-list", path="compare", query=_FLIGHTS),
        View(
            name="compare", path="compare", query=_COMPARED,
            clicks=(button_click("cmp_tab", "files"), button_click("cmp_tab", "rows")),
        ),
        View(name="quality", path="compare", query={**_COMPARED, "cmp_tab": "quality"}),
        View(name="merge-list", path="merge", query=_FLIGHTS),
        View(
            name="merge", path="merge", query=_MERGED,
            clicks=(tab_click("Details"), tab_click("Summary")),
        ),
        View(
            name="maintenance", path="maintenance", query=_FLIGHTS,
            clicks=(tab_click(MaintenanceTab.RESCUE), tab_click(MaintenanceTab.POLICY)),
        ),
        View(
            name="jobs", path="jobs",
            clicks=(button_click("jb_state", JobGroup.FINISHED),),
        ),
        View(name="job", path="job", query={"id": job.id}),
        View(name="receipt", path="receipt", query={"id": event.operation_id}),
        View(name="sql", path="sql"),
    )  # fmt: skip


def run(_scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Look at the pages of the demo, then work there from the Overview on, at every scale."""
    demo = _built(folder)
    yield from look_at(demo, pages, {"demo": 1}, rounds, _page_targets, benchmark="B11-demo")
    working = shutil.copytree(demo, folder / "working")
    shutil.copytree(working / f"{_CONTESTED}.db", working / f"{_CALM}.db")
    with running_console(working, folder / "working-state") as console, open_browser() as context:
        tab = Tab(context)
        tab.page.set_default_timeout(_JOB_MILLIS)
        for name, limit, way in _WAYS:
            hand = Hand(tab, console.url)
            hand.goes_to("")
            way(hand)
            yield _of_way(name, limit, hand)


def prepare(_scale: str, folder: Path) -> None:
    """Build the demo, for a later run to find."""
    _built(folder)


def _built(folder: Path) -> Path:
    place = folder / PLACE / "console-demo"
    place.mkdir(parents=True, exist_ok=True)
    return built_demo(place)


class Hand:
    """A person's hand on the mouse: counts clicks, and how long each job let it wait.

    Attributes:
        answers: Seconds from each click until the page told of the job that it asked for.
    """

    def __init__(self, tab: Tab, url: str) -> None:
        self.tab = tab
        self.page = tab.page
        self.clicks = 0
        self.answers: list[float] = []
        self._url = url

    @property
    def dialog(self) -> Locator:
        """The open dialog."""
        return self.page.get_by_role("dialog")

    def goes_to(self, address: str) -> None:
        """Open an address of the console."""
        self.page.goto(f"{self._url}/{address}")
        self.page.locator(".st-key-page").wait_for()
        self.tab.settle()

    def click(self, place: Locator) -> None:
        """Click, and wait until the page has settled."""
        self.tab.asks(lambda _: place.click())
        self.clicks += 1

    def asks_for_job(self, place: Locator, told: str) -> None:
        """Click on what needs a job, and note when the page has the text or selector `told`."""
        place.wait_for()
        assert not self.page.evaluate(_LISTEN, told), f"the page has {told!r} before the click"
        place.click()
        self.clicks += 1
        self.page.wait_for_function("() => window.answered !== null")
        self.answers.append(self.page.evaluate("window.answered") / 1000)

    def runs_job(self, button: str) -> None:
        """Press the button of a form, and wait on the page of its job until that is done."""
        pressed = self.dialog.get_by_role("button", name=button, exact=True)
        pressed.and_(self.page.locator(":enabled")).wait_for()
        self.asks_for_job(pressed, _JOB_PAGE)
        self.page.get_by_text("is done").first.wait_for()
        self.tab.settle()

    def finds_merge(self, source: str, database: str) -> None:
        """Write a branch's name into the box of the Overview, and open its merge from there."""
        box = self.page.locator(".st-key-ov_q input")
        box.fill(source)
        self.page.keyboard.press("Enter")
        self.tab.settle()
        asked = f'a[href*="source={source}"][href*="db={database}&"]'
        self.click(self.page.locator(".st-key-hits-branch").locator(asked).first)

    def button(self, name: str) -> Locator:
        """A button of the page by its whole name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def merges(self, *, mode: str | None = None) -> None:
        """Merge by the dialog, and wait until it is done."""
        self.click(self.page.locator(".st-key-merge-merge button"))
        if mode is not None:
            self.click(self.dialog.get_by_role("radio", name=mode))
        self.asks_for_job(
            self.dialog.get_by_role("button", name="Merge into main", exact=True), "Merging:"
        )
        self.page.get_by_text("Merged into").first.wait_for()


def _merge_without_conflicts(hand: Hand) -> None:
    hand.finds_merge("fix-delays", _CALM)
    hand.merges()


def _merge_with_conflicts(hand: Hand) -> None:
    _settle_conflicts(hand, _CONTESTED)
    hand.merges(mode="Merge now")


def _dry_run(hand: Hand) -> None:
    _settle_conflicts(hand, _CALM)
    hand.click(hand.page.locator(".st-key-merge-merge button"))
    hand.asks_for_job(hand.button("Start dry run"), "View job")
    hand.page.get_by_text("Dry run passed").first.wait_for()


def _settle_conflicts(hand: Hand, database: str) -> None:
    hand.finds_merge("backfill-2013-12", database)
    hand.asks_for_job(hand.button("Compare rows"), "Comparing rows")
    hand.click(hand.button("Settle 21,296 conflicts"))
    hand.click(hand.button("Take source"))
    hand.click(hand.button("Continue to merge"))


def _create_drop_and_expire(hand: Hand) -> None:
    # The flights have a broken branch, so that nothing of theirs expires.
    place = f"db={_CALM}&table=weather"
    hand.goes_to(f"branches?{place}&branch=fix-wind")
    hand.click(hand.button("Create branch"))
    hand.dialog.get_by_label("Name").fill("sandbox")
    hand.runs_job("Create sandbox")
    hand.goes_to(f"branches?{place}&branch=sandbox")
    hand.button("More").click()  # opens the menu without asking for the page
    hand.clicks += 1
    hand.click(hand.page.get_by_role("menuitem", name="Drop…"))
    hand.dialog.get_by_placeholder("sandbox").fill("sandbox")
    hand.runs_job("Drop sandbox")
    hand.goes_to(f"maintenance?{place}&mt_tab=Expire&mt_of=main&mt_max=1&mt_min=1")
    hand.click(hand.button("Dry run"))
    run = hand.page.get_by_role("button", name="Expire ")
    count = next(word for word in run.inner_text().split() if word.isdecimal())
    hand.page.get_by_placeholder(count, exact=True).fill(count)
    run.and_(hand.page.locator(":enabled")).wait_for()
    hand.asks_for_job(run, _JOB_PAGE)
    hand.page.get_by_text("is done").first.wait_for()


def _undo(hand: Hand) -> None:
    hand.goes_to(f"table?db={_CALM}&table=flights&t_tab=Events")
    hand.click(hand.page.get_by_role("link", name="Receipt").first)
    hand.click(hand.page.locator(".st-key-undo").get_by_role("button", name="Undo"))
    hand.runs_job("Undo")


_WAYS: Final[Sequence[tuple[str, int | None, Callable[[Hand], None]]]] = (
    ("without-conflicts", CLICKS_WITHOUT_CONFLICTS, _merge_without_conflicts),
    ("undo", None, _undo),
    ("21296-conflicts", CLICKS_WITH_CONFLICTS, _merge_with_conflicts),
    ("dry-run", None, _dry_run),
    ("create-drop-expire", None, _create_drop_and_expire),
)
"""The ways, each with the clicks that it may take from the Overview to its end."""


def _of_way(name: str, limit: int | None, hand: Hand) -> Result:
    sample = Sample(
        contestant=OURS,
        cold=hand.answers[0],
        warm=tuple(hand.answers),
        peak_rss_bytes=0,
        process=sum(hand.answers),
        answer={"clicks": hand.clicks},
    )
    slowest = max(hand.answers)
    answered = at_most("seconds until a click is answered by its job", slowest, ANSWER_SECONDS)
    targets = [answered]
    if limit is not None:
        text = "clicks from the Overview to the finished merge"
        targets.insert(0, at_most(text, hand.clicks, limit))
    return Result(
        benchmark="B11-demo",
        case={"merge" if limit is not None else "jobs": name},
        samples=(sample,),
        targets=tuple(targets),
    )


def _page_targets(result: Result) -> Iterator[Target]:
    samples = result.of(OURS)
    paint = statistics.median(each.cold for each in samples)
    yield at_most("seconds to the first paint, median", paint, MEDIAN_SECONDS)
    clicks = [seconds for each in samples for seconds in each.warm]
    if clicks:
        settled = statistics.median(clicks)
        yield at_most("seconds from click to settled, median", settled, MEDIAN_SECONDS)


_LISTEN: Final = """told => {
  window.answered = null;
  let clicked = null;
  document.addEventListener('click', () => { clicked ??= performance.now(); }, {capture: true});
  const page = document.querySelector('[data-testid="stApp"]');
  const isThere = () => /^[.[]/.test(told)
    ? page.querySelector(told) !== null : page.textContent.includes(told);
  const seen = new MutationObserver(() => {
    if (clicked === null || !isThere()) return;
    window.answered = performance.now() - clicked;
    seen.disconnect();
  });
  seen.observe(page, {childList: true, subtree: true, characterData: true});
  return isThere();
}"""
