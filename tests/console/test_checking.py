"""The check of a merge, which is read beside the page, and all that is drawn from its answer."""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from branch_console.merge.conflict import Take
from branch_console.merge.plan import MergeVerdict
from branch_console.procedures.call.call import Argument
from branch_console.storage.file_io import FileIO
from branch_console_app import reads
from branch_console_app.models.merge.merge_preview import MergeDecision
from branch_console_app.services import Services
from branch_console_app.views import merge
from branch_console_app.widgets.merge import checking
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import snapshot
from tests.console.test_three_way import FIX, conflict, planned
from tests.support import plain_store  # noqa: F401 - registers its scheme
from tests.support.read_counts import branched


class HeldManifests:
    """A store that hands out a manifest only once it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._let_go = Semaphore(0)
        read = FileIO.read

        def wait_and_read(store: FileIO, path: str) -> bytes:
            if "/manifest/manifest-" in path and "/manifest-list-" not in path:
                assert self._let_go.acquire(timeout=60)
            return read(store, path)

        monkeypatch.setattr(FileIO, "read", wait_and_read)

    def let_go(self, number: int) -> None:
        self._let_go.release(number)


def test_a_check_that_takes_long_says_how_many_manifests_it_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = branched(tmp_path / "warehouse", diverged=True)
    for number in range(4):
        bench.append(f"theirs-{number}", branch="dev")
    given = replace(settings(tmp_path), warehouse=f"plain://{tmp_path}/warehouse")
    held = HeldManifests(monkeypatch)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.1)
    page = Console(Services(given)).open("merge", db="db", table="t", source="dev")
    checks = "**Checking what `dev` would change in `main`.**"
    # At first it may take no longer than a moment.
    assert checks in page.text
    assert "manifests read" not in page.text
    monkeypatch.setattr(checking, "COUNT_AFTER_MILLIS", 0)
    said = []
    for _ in range(2):
        held.let_go(2)
        said.append(look_until(page, f"{2 * len(said) + 2} of 6 manifests read."))
    assert all(checks in each for each in said)
    assert page.has_button("check-cancel")
    held.let_go(2)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    page.run(reads_again=False)
    assert "**No conflicts." in page.text
    assert "manifests read" not in page.text


def look_until(page: Page, words: str) -> str:
    deadline = time.monotonic() + 30
    while words not in page.run(reads_again=False).text:
        assert time.monotonic() < deadline, page.text
    return page.text


class Planned:
    """Notes each plan of a merge, and the thread that waits for it."""

    def __init__(self, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[str] = []
        plan = console.services.preview_merge

        def note(arguments: Mapping[str, Argument]) -> MergeDecision:
            self.threads.append(threading.current_thread().name)
            return plan(arguments)

        monkeypatch.setattr(console.services, "preview_merge", note)


def test_the_dialog_shows_what_the_page_has_checked_and_plans_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = air_console(tmp_path)
    counted = Planned(console, monkeypatch)
    page = console.open("merge", **FIX)
    first = len(counted.threads)
    page.click("merge-merge")
    assert not page.at.button(key="run-dry").disabled
    # Each look at the page checks again, beside it; drawing the dialog adds nothing.
    assert counted.threads == ["reads"] * (2 * first)


def test_options_are_tried_while_the_merge_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = planned(
        air_console(tmp_path),
        MergeVerdict.CONFLICTS,
        conflicts=(conflict(Take.ISOLATION_SNAPSHOT), conflict(Take.SCOPE_PARTITION)),
    )
    counted = Planned(console, monkeypatch)
    page = console.open("merge", **FIX, tab="conflicts")
    # What there is to decide on, the merge, and both options.
    assert counted.threads == ["reads"] * 4
    assert "conflicts to settle" in page.text
    # Only another plan lets them be tried once more.
    page.run()
    assert counted.threads == ["reads"] * 6
    assert "conflicts to settle" in page.text


def test_a_dialog_shows_a_head_that_moved_since_the_page_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = air_console(tmp_path)
    main = console.services.listed[1].branches["main"]
    draw = merge._draw_dialog

    def commit_and_draw(*given: Any) -> None:
        # As where a choice in the dialog draws it once more, a while after the page.
        if main.snapshots[-1].id == 12:
            main.snapshots = (*main.snapshots, snapshot("late", 13, user="bob"))
            reads.forget()
        draw(*given)

    page = console.open("merge", **FIX)
    monkeypatch.setattr(merge, "_draw_dialog", commit_and_draw)
    page.click("merge-merge")
    assert "`main` got 1 snapshot (13, the newest by `bob`) since you opened" in page.text
    assert not page.has_button("run-dry")
