"""B11-demo: the console on the demo: the clicks of a merge, and how soon each is answered.

The pages of metadata have limits for the median; what needs a job has one for the time from the
click until the page tells of the job. Nobody else has such a console, so there is no peer.
"""

import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, Page

from tests.benchmarks.console_pages import (
    View,
    button_click,
    fill,
    look_at,
    open_browser,
    settle,
    tab_click,
)
from tests.benchmarks.contest import OURS, Result, Sample, Target, at_most
from tests.browser.consoles import running_console
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
PAGES: Final = (
    View(name="overview", path="", clicks=(fill("ov_q", "fix"), fill("ov_q", ""))),
    View(name="catalog", path="catalog", clicks=(fill("ca_q", "fix"), fill("ca_q", ""))),
    View(name="activity", path="activity"),
    View(name="table", path="table", query=_FLIGHTS, clicks=(tab_click("Files"),)),
    View(
        name="branches", path="branches", query=_FLIGHTS,
        clicks=(fill("br_q", "fix"), fill("br_q", "")),
    ),
    View(
        name="snapshots", path="snapshots", query=_FLIGHTS,
        clicks=(button_click("sn_kind", "append"), button_click("sn_kind", "append")),
    ),
    View(name="schemas", path="schemas", query=_FLIGHTS),
    View(
        name="compare", path="compare",
        query={**_FLIGHTS, "cmp_a": "main", "cmp_b": "fix-delays"},
    ),
    View(
        name="merge", path="merge", query={**_FLIGHTS, "source": "fix-delays"},
        clicks=(tab_click("Details"), tab_click("Summary")),
    ),
    View(name="jobs", path="jobs"),
)  # fmt: skip


def run(_scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Look at the pages of the demo, then merge twice from the Overview, at every scale."""
    demo = built_demo(folder)
    yield from look_at(demo, PAGES, {"demo": 1}, rounds, _page_targets, benchmark="B11-demo")
    working = shutil.copytree(demo, folder / "working")
    shutil.copytree(working / f"{_CONTESTED}.db", working / f"{_CALM}.db")
    with running_console(working, folder / "working-state") as console, open_browser() as context:
        page = context.new_page()
        page.set_default_timeout(_JOB_MILLIS)
        for name, limit, way in (
            ("without-conflicts", CLICKS_WITHOUT_CONFLICTS, _merge_without_conflicts),
            ("21296-conflicts", CLICKS_WITH_CONFLICTS, _merge_with_conflicts),
        ):
            hand = Hand(page)
            page.goto(console.url)
            settle(page)
            way(hand)
            yield _of_way(name, limit, hand)


class Hand:
    """A person's hand on the mouse: counts clicks, and how long each job let it wait.

    Attributes:
        answers: Seconds from a click until the page told of the job that it asked for.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.answers: list[float] = []

    def click(self, place: Locator) -> None:
        """Click, and wait until the page has settled."""
        place.click()
        self.clicks += 1
        settle(self.page)

    def asks_for_job(self, place: Locator, told: str) -> None:
        """Click on what needs a job, and note when the page says `told`."""
        self.page.evaluate(_LISTEN, told)
        place.click()
        self.clicks += 1
        self.page.wait_for_function("() => window.answered !== null")
        self.answers.append(self.page.evaluate("window.answered") / 1000)

    def finds_merge(self, source: str, database: str) -> None:
        """Write a branch's name into the box of the Overview, and open its merge from there."""
        box = self.page.locator(".st-key-ov_q input")
        box.fill(source)
        self.page.keyboard.press("Enter")
        asked = f'a[href*="source={source}"][href*="db={database}&"]'
        self.click(self.page.locator(".st-key-hits-branch").locator(asked).first)

    def button(self, name: str) -> Locator:
        """A button of the page by its whole name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def merges(self, *, mode: str | None = None) -> None:
        """Merge by the dialog, and wait until it is done."""
        self.click(self.page.locator(".st-key-merge-merge button"))
        dialog = self.page.get_by_role("dialog")
        if mode is not None:
            self.click(dialog.get_by_text(mode, exact=True))
        self.asks_for_job(
            dialog.get_by_role("button", name="Merge into main", exact=True), "Merging:"
        )
        self.page.get_by_text("Merged into").first.wait_for()


def _merge_without_conflicts(hand: Hand) -> None:
    hand.finds_merge("fix-delays", _CALM)
    hand.merges()


def _merge_with_conflicts(hand: Hand) -> None:
    hand.finds_merge("backfill-2013-12", _CONTESTED)
    hand.asks_for_job(hand.button("Compare rows"), "Comparing rows")
    hand.click(hand.button("Settle 21,296 conflicts"))
    hand.click(hand.button("Take source"))
    hand.click(hand.page.get_by_role("link", name="Continue"))
    hand.merges(mode="Merge now")


def _of_way(name: str, limit: int, hand: Hand) -> Result:
    sample = Sample(
        contestant=OURS,
        cold=hand.answers[0],
        warm=tuple(hand.answers),
        peak_rss_bytes=0,
        process=sum(hand.answers),
        answer={"clicks": hand.clicks},
    )
    slowest = max(hand.answers)
    return Result(
        benchmark="B11-demo",
        case={"merge": name},
        samples=(sample,),
        targets=(
            at_most("clicks from the Overview to the finished merge", hand.clicks, limit),
            at_most("seconds until a click is answered by its job", slowest, ANSWER_SECONDS),
        ),
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
  const seen = new MutationObserver(() => {
    if (clicked === null || !page.textContent.includes(told)) return;
    window.answered = performance.now() - clicked;
    seen.disconnect();
  });
  seen.observe(page, {childList: true, subtree: true, characterData: true});
}"""
