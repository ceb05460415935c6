"""Opens a page of the console on a warehouse in memory, as an address would."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import branch_console_app.services
from branch_console_app import reads
from branch_console_app.settings import Settings
from branch_console_app.widgets.merge import checking
from tests.console.pretend import PretendServices, air_warehouse

# Every AppTest looks through all installed packages for components; once is enough.
manifest_scanner.scan_component_manifests = functools.cache(  # type: ignore[assignment]
    manifest_scanner.scan_component_manifests
)

# A page of a test shows what it has read, however busy the machine is.
checking.PATIENCE_SECONDS = 30.0

MAIN = Path(branch_console_app.services.__file__).with_name("main.py")


class Console:
    """The console over one pretended warehouse."""

    def __init__(self, services: PretendServices) -> None:
        self.services = services

    def open(self, page: str = "overview", **query: str) -> Page:
        """Open a page by the path and the parameters of its address."""
        return self._tab(page, query).run()

    def open_soon(self, page: str, **query: str) -> Page:
        """Open a page while what the one before has read is still kept."""
        return self._tab(page, query).run(reads_again=False)

    def _tab(self, page: str, query: Mapping[str, str]) -> Page:
        at = AppTest.from_file(str(MAIN), default_timeout=30)
        # AppTest can only switch to pages that are files of their own; ours are functions.
        at._page_hash = calc_hash("" if page == "overview" else page)
        for name, value in query.items():
            at.query_params[name] = value
        return Page(at, self.services)


class Page:
    """One opened page: what it shows, as text."""

    def __init__(self, at: AppTest, services: PretendServices) -> None:
        self.at = at
        self._services = services

    def run(self, *, reads_again: bool = True) -> Page:
        """Run the page, and see that nothing was raised.

        Args:
            reads_again: Whether nothing is kept of what was read before.
        """
        if reads_again:
            reads.forget()
        with _standing_in(self._services):
            self.at.run()
        assert not self.at.exception, self.at.exception
        return self

    def go(self, page: str) -> Page:
        """Go on to another page in the same tab, with the parameters of the address."""
        self.at._page_hash = calc_hash("" if page == "overview" else page)
        return self.run()

    def choose(self, label: str, choice: str) -> Page:
        """Choose in a row of buttons, by its label."""
        (group,) = (each for each in self.at.button_group if each.label == label)
        group.set_value([choice] if isinstance(group.value, list) else choice)
        return self.run()

    def click(self, key: str) -> Page:
        """Click a button."""
        self.at.button(key=key).click()
        return self.run()

    def unfold(self, key: str) -> Page:
        """Open a closed part, by its key: what is in it is drawn only then."""
        self.at.session_state[key] = True
        return self.run()

    @property
    def text(self) -> str:
        """Everything written on the page, in order of kinds."""
        at = self.at
        parts = [
            *at.markdown, *at.caption, *at.subheader, *at.error, *at.warning, *at.info,
            *at.success, *at.code,
        ]  # fmt: skip
        metrics = [f"{metric.label} {metric.value}" for metric in at.metric]
        return "\n".join([str(part.value) for part in parts] + metrics)

    def links(self) -> list[tuple[str, str]]:
        """Label and query of each link to a page."""
        links = self.at.get("page_link")
        return [(link.proto.label, link.proto.query_string) for link in links]

    def has_button(self, key: str) -> bool:
        """Whether a button is there."""
        return any(button.key == key for button in self.at.button)


@contextmanager
def _standing_in(services: PretendServices) -> Iterator[None]:
    real = branch_console_app.services.services_for
    branch_console_app.services.services_for = lambda _settings: services  # type: ignore[assignment]
    try:
        yield
    finally:
        branch_console_app.services.services_for = real


def settings(tmp_path: Path, role: str = "operator", *, warehouse: Path | None = None) -> Settings:
    """Settings of somebody called ada; without a warehouse one in the folder."""
    return Settings.from_environment(
        {"warehouse": str(warehouse or tmp_path / "warehouse"), "actor": "ada", "role": role,
         "state_dir": str(tmp_path / "state"), "cache_dir": str(tmp_path / "cache")},
        {},
    )  # fmt: skip


def air_console(tmp_path: Path, role: str = "operator") -> Console:
    """The console over flights with branches in each state."""
    return Console(air_warehouse(settings(tmp_path, role)))
