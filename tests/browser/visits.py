"""A person at the console: opens addresses, waits until a page has settled, looks for trouble."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
)

from branch_console_app.widgets.parts.patience import WAITING
from tests.browser.script_runs import ScriptRuns

Scheme: TypeAlias = Literal["light", "dark"]

SIZES = ((1440, 900), (1024, 768), (820, 1180))
_JOB_MILLIS = 240_000
_SETTLE_MILLIS = 90_000
_SCREENSHOTS = Path(__file__).resolve().parents[2] / "assets" / "screenshots"
# Whatever is expected of a page is waited for, on a busy machine too.
expect.set_options(timeout=_SETTLE_MILLIS)
_POLL_MILLIS = 50
_LONGEST_FRAME_MILLIS = 1_000
# Streamlit asks at the path of the page first and finds its server one level up.
_PROBES = ("_stcore/health", "_stcore/host-config")


class Visit:
    """One tab of a browser, and what went wrong in it."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(_SETTLE_MILLIS)
        self._runs = ScriptRuns(self.page)
        self._url = url
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on("console", self._hear)
        self.page.on("requestfailed", self._miss)
        self.page.on("dialog", self._refuse)

    def open(self, page: str = "", **query: str) -> Visit:
        """Open an address anew and wait until the page has settled; see `turn_to`."""
        self.page.goto(f"{self._url}/{page}?{urlencode(query)}")
        return self.settle()

    def turn_to(self, page: str = "", **query: str) -> Visit:
        """Turn to an address as "back" and "forward" do, and wait until the page has settled.

        A tab that is there need not load all of Streamlit and Plotly once more, which takes seconds
        of processor: only who asks what others see who get an address opens it anew.
        """
        if not self.page.url.startswith(self._url):
            return self.open(page, **query)
        asked = self._runs.asked_for_pages
        self.page.evaluate(_TURN, f"/{page}?{urlencode(query)}")
        end = time.monotonic() + _SETTLE_MILLIS / 1_000
        while self._runs.asked_for_pages == asked:
            assert time.monotonic() < end, "the tab does not ask for the page"
            self.page.wait_for_timeout(_POLL_MILLIS / 2)
        return self.settle()

    def settle(self) -> Visit:
        """Wait until the script has run and nothing is a placeholder any more.

        What was clicked or typed before is answered then.
        """
        self.keeps_up()
        end = time.monotonic() + _SETTLE_MILLIS / 1_000
        while not self._runs.are_done:
            assert time.monotonic() < end, "the script does not end"
            self.page.wait_for_timeout(_POLL_MILLIS / 2)
        self.page.wait_for_selector(
            '[data-testid="stApp"][data-test-script-state="notRunning"]', state="attached"
        )
        self.waits_for(
            f"""() => document.querySelector('.st-key-page')
                && !document.querySelector('[data-testid="stSkeleton"]')
                && !document.querySelector('[class*="st-key-{WAITING}-"]')
                && !document.querySelector('[data-stale="true"]')
                && [...document.querySelectorAll('[data-testid="stPlotlyChart"]')]
                    .every(chart => chart.querySelector('.main-svg'))"""
        )
        expect(self.page.locator('[data-testid="stException"]')).to_have_count(0)
        return self

    def keeps_up(self) -> None:
        """Wait until the page has dealt with what was done so far.

        Keys come faster than from any person: one that arrives before the page was drawn with what
        the last one did is answered as if that had not been.
        """
        drawn = self.waits_for(
            """longest => new Promise(done => {
                requestIdleCallback(() => requestAnimationFrame(() => done('drawn')));
                setTimeout(() => done('late'), longest);
            })""",
            arg=_LONGEST_FRAME_MILLIS,
        )
        if drawn == "late":
            # The browser has stopped drawing this tab: clicks would wait for frames, too.
            self.page.bring_to_front()

    def waits_for(self, script: str, arg: object = None) -> object:
        """Wait until a script of the page says yes, and return what it says.

        It is asked by the clock: a page that has nothing to draw may have no more frames.
        """
        said = self.page.wait_for_function(script, arg=arg, polling=_POLL_MILLIS)
        return said.json_value()

    def begin(self, scheme: Scheme) -> Visit:
        """Make the tab ready for a test: in front, of the usual size, without earlier problems."""
        self.page.bring_to_front()
        self.page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
        self.page.emulate_media(color_scheme=scheme)
        self.page.mouse.move(0, 0)
        self.problems.clear()
        return self

    def leave(self) -> None:
        """Close the tab, and leave nothing behind that the next one would find."""
        self.page.evaluate("try { localStorage.clear(); sessionStorage.clear() } catch {}")
        self.page.close()

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the address."""
        return _parameters(self.page.url)

    @property
    def path(self) -> str:
        """The page of the address."""
        return urlsplit(self.page.url).path.strip("/")

    def link(self, name: str, *, within: str = "page") -> Locator:
        """A link by its text: in the page, or in the sidebar."""
        area = ".st-key-page" if within == "page" else '[data-testid="stSidebar"]'
        return self.page.locator(area).get_by_role("link", name=name, exact=True).first

    def go(self, name: str) -> Visit:
        """Follow a link of the sidebar."""
        before = self.page.url
        self.link(name, within="sidebar").click()
        self.page.wait_for_url(lambda url: url != before)
        return self.settle()

    def sees(self, text: str, *, within: str = ".st-key-page") -> Visit:
        """Wait until the page, or a part of it, says something, which a job may have to find.

        To settle is not enough: between a click and the run of the script that it asks for, the
        old page is as settled as the new one will be.
        """
        expect(self.page.locator(within)).to_contain_text(
            text, use_inner_text=True, timeout=_JOB_MILLIS
        )
        return self.settle()

    def asks(self, **query: str) -> Visit:
        """Wait until the address has these parameters."""
        self.page.wait_for_url(
            lambda url: query.items() <= _parameters(url).items(), wait_until="commit"
        )
        return self

    def picks(self, menu: str, choice: str) -> Visit:
        """Choose from the menu of a button."""
        self.page.get_by_role("button", name=menu, exact=True).click()
        self.page.get_by_role("menuitem", name=choice).click()
        return self.settle()

    def pick_rule(self, label: str, choice: str) -> Visit:
        """Choose in a select box of the form for rules of conflicts."""
        box = self.settle().page.locator(".st-key-filters-rule").get_by_label(label, exact=True)
        box.click()
        box.fill(choice)
        self.page.get_by_role("option", name=choice, exact=True).click()
        return self.settle()

    def chooses_publish(self) -> None:
        """Open the dialog of a merge, and choose to merge at once."""
        self.opens_merge()
        dialog = self.page.get_by_role("dialog")
        # A line of the checks names the mode as well.
        dialog.get_by_role("radio", name="Merge now").click(force=True)
        self.settle()

    def opens_merge(self) -> None:
        """Open the dialog that the one button of a merge page leads to."""
        self.page.locator(".st-key-merge-merge button").click()
        self.page.get_by_role("dialog").wait_for()
        self.settle()

    def merges(self, target: str = "main") -> None:
        """Press the button of the open dialog."""
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name=f"Merge into {target}", exact=True).click()

    def overrides_gate(self, reason: str) -> None:
        """Merge what a rule blocks, from the page that says so, with the reason that it asks for.

        All is found by its key, and the field folded away or not: what it takes is asked here, not
        the words that the page has for it.
        """
        self.page.locator(".st-key-merge-override button").click()
        dialog = self.page.get_by_role("dialog")
        field = dialog.locator(".st-key-gate-reason input")
        field.wait_for(state="attached")
        self.settle()
        fold = dialog.locator(".st-key-gate-override details:not([open]) summary")
        if fold.count():
            fold.click()
        field.fill(reason)
        self.page.keyboard.press("Enter")
        self.settle()
        dialog.locator(".st-key-run-merge_branch button").click()

    def is_merged(self) -> str:
        """Wait until the page says that the merge it has started is done; the id of its job."""
        self.sees("Merged into")
        return self.query["merged"].rpartition(":")[2]

    def types_in_cell(self, line: int, column: int, text: str) -> None:
        """Type into a cell of the editor, as the keyboard does it."""
        editor = self.page.locator('[data-testid="stDataFrame"]')
        editor.locator("canvas tbody td").first.wait_for(state="attached")
        box = editor.bounding_box()
        assert box is not None
        typed = self.page.locator("#portal input:focus, #portal textarea:focus")
        for _ in range(5):
            # A grid that is being drawn anew takes no keys.
            self.page.mouse.click(box["x"] + 40, box["y"] + 32 * (line + 1) + 16)
            self.keeps_up()
            for _ in range(column):
                self.page.keyboard.press("ArrowRight")
                self.keeps_up()
            self.page.keyboard.press("Enter")
            self.page.wait_for_timeout(1_000)
            if typed.count():
                break
        self.page.keyboard.type(text)
        expect(typed).to_have_value(text)
        self.keeps_up()
        self.page.keyboard.press("Enter")

    def line(self, number: int) -> list[str]:
        """The cells of a line of the editor; they end with target, source, take and result."""
        row = self.page.locator('[data-testid="stDataFrame"] canvas tbody tr').nth(number)
        row.wait_for(state="attached")
        return [str(each) for each in row.locator("td").all_text_contents()]

    def sees_line(self, number: int, end: list[str]) -> None:
        """Wait until a line of the editor ends so; see `line`."""
        self.waits_for(
            """([number, end]) => {
                const rows = document.querySelectorAll(
                    '[data-testid="stDataFrame"] canvas tbody tr');
                if (!rows[number]) return false;
                const cells = [...rows[number].querySelectorAll('td')].map(td => td.textContent);
                return JSON.stringify(cells.slice(-end.length)) === JSON.stringify(end);
            }""",
            arg=[number, end],
        )
        self.settle()

    def runs_job(self) -> str:
        """Wait until the job that was just started is done, and return its id."""
        self.page.wait_for_url("**/job?**")
        self.sees("is done.")
        return self.query["id"]

    def runs_here(self, click: Callable[[], None]) -> str:
        """Confirm an act, wait until the page says that it is done, return the id of its job."""
        before = self.query.get("act")
        click()
        self.waits_for(
            "before => ![null, before].includes(new URL(location).searchParams.get('act'))",
            arg=before,
        )
        job_id = self.query["act"]
        self.page.locator(f".st-key-line-act-{job_id}").wait_for()
        self.settle()
        return job_id

    def click_mark(self, trace: str, number: int) -> Visit:
        """Click a mark of a chart, by the name of its trace."""
        before = self.page.url
        x, y = self._place_of(trace, number)
        self.page.mouse.move(x, y)
        # A chart takes a click for the mark that it has just told about.
        self.page.locator(".hoverlayer .hovertext").first.wait_for(state="attached")
        self.page.mouse.click(x, y)
        self.waits_for("before => location.href !== before", arg=before)
        return self.settle()

    def _place_of(self, trace: str, number: int) -> tuple[float, float]:
        """Where a mark is, once the chart has found its size."""
        seen: list[dict[str, float]] = []
        while len(seen) < 2 or seen[-1] != seen[-2]:
            seen.append(self.page.evaluate(_POINT, [trace, number]))
            assert len(seen) < 100, f"the chart of {trace!r} does not come to rest"
            self.page.wait_for_timeout(200)
        return seen[-1]["x"], seen[-1]["y"]

    def assert_fits(self) -> None:
        """See that nothing has to be scrolled sideways, wide or narrow."""
        for width, height in SIZES:
            self.page.set_viewport_size({"width": width, "height": height})
            for _ in range(20):
                # Charts and grids follow a new size one after the other.
                self.page.wait_for_timeout(250)
                spills = self.page.evaluate(_SPILLS)
                if not spills:
                    break
            assert spills == [], f"{self.page.url} at {width} px: {spills}"
        self.page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})

    def assert_calm(self) -> None:
        """See that no error was raised in the page."""
        assert self.problems == [], self.problems

    def keep_picture(self, name: str, *, update: bool) -> None:
        """Take the picture that the README shows."""
        if not update:
            return
        _SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.mouse.move(0, 0)
        self.page.wait_for_timeout(900)
        self.page.screenshot(path=str(_SCREENSHOTS / f"{name}.png"))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        where = str(message.location.get("url", ""))
        if not where.endswith(_PROBES):
            self.problems.append(f"{message.text} ({where})")

    def _refuse(self, dialog: Dialog) -> None:
        # No page of ours opens one: it comes from text that was run.
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _miss(self, request: Request) -> None:
        # Leaving a page cuts off what it was still fetching.
        if request.failure and "ERR_ABORTED" not in request.failure:
            self.problems.append(f"{request.url}: {request.failure}")


def _parameters(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


_TURN = """address => {
  history.pushState({}, '', address);
  dispatchEvent(new PopStateEvent('popstate', {state: {}}));
}"""

_POINT = """([name, number]) => {
  for (const plot of document.querySelectorAll('.js-plotly-plot')) {
    const trace = plot._fullData.find(each => each.name === name);
    if (!trace) continue;
    const xaxis = plot._fullLayout[trace.xaxis.replace('x', 'xaxis')];
    const yaxis = plot._fullLayout[trace.yaxis.replace('y', 'yaxis')];
    const box = plot.getBoundingClientRect();
    return {
      x: box.left + xaxis._offset + xaxis.d2p(trace.x[number]),
      y: box.top + yaxis._offset + yaxis.d2p(trace.y[number]),
    };
  }
  throw new Error('no trace ' + name);
}"""

_SPILLS = """() => {
  const main = document.querySelector('[data-testid="stMain"]');
  const spills = [];
  if (main.scrollWidth > main.clientWidth) spills.push('main ' + main.scrollWidth);
  if (document.documentElement.scrollWidth > window.innerWidth) spills.push('document');
  return spills;
}"""
