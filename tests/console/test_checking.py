"""What the page of a merge says while a slow store is read for its check."""

import time
from dataclasses import replace
from pathlib import Path
from threading import Semaphore

import pytest

from branch_console.storage.file_io import FileIO
from branch_console_app.services import Services
from branch_console_app.widgets.merge import checking
from tests.console.pages import Console, Page, settings
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
