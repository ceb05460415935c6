"""A viewer opens every page, changes nothing by any button, and is told which role it takes."""

from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import ErrorKind
from branch_console.jobs.progress import JobState
from branch_console_app.services import Services
from tests.console.dry_runs import with_dry_runs
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import job, receipt
from tests.support.warehouses import FixtureWarehouse

FLIGHTS = {"db": "air", "table": "flights"}
PAGES: dict[str, tuple[str, dict[str, str], str | None]] = {
    "overview": ("overview", {}, None),
    "table": ("table", FLIGHTS, None),
    "branches": ("branches", {**FLIGHTS, "branch": "fix-delays"}, None),
    "snapshots": ("snapshots", FLIGHTS, None),
    "schemas": ("schemas", FLIGHTS, None),
    "health": ("maintenance", FLIGHTS, None),
    "expire": ("maintenance", {**FLIGHTS, "mt_tab": "Expire"}, None),
    "orphans": ("maintenance", {**FLIGHTS, "mt_tab": "Orphans"}, None),
    "merge": ("merge", {**FLIGHTS, "source": "fix-delays"}, "editor"),
    "fast-forward": ("merge", {**FLIGHTS, "source": "backfill"}, "editor"),
    "replace": ("merge", {**FLIGHTS, "source": "fix-delays", "how": "ff"}, "operator"),
    "drop": ("branches", {**FLIGHTS, "branch": "audit", "do": "drop-branch"}, "editor"),
    "sql": ("sql", FLIGHTS, None),
    "jobs": ("jobs", {}, None),
    "job": ("job", {**FLIGHTS, "id": "9f2a00"}, None),
    "receipt": ("receipt", {**FLIGHTS, "id": "9f2a00"}, None),
}


def test_a_viewer_opens_every_page_and_changes_nothing_on_any(tmp_path: Path) -> None:
    console = air_console(tmp_path, role="viewer")
    services = with_dry_runs(console.services)
    main = services.listed[1].branches["main"]
    services.known_jobs["9f2a00"] = job(
        "9f2a00", state=JobState.DONE, error=ErrorKind.INTERRUPTED, name="merge_branch"
    )
    services.receipts["9f2a00"] = receipt("9f2a00", main.snapshots[-2], main.snapshots[-1])
    for name, (path, query, role) in PAGES.items():
        page = console.open(path, **query)
        if role is not None:
            dialog = f"This asks for an {role}; you are a viewer. ROLE_REQUIRED"
            verdict = f"You are a viewer; merging into `main` takes an {role}."
            assert dialog in page.text or verdict in page.text, name
        for key in [each.key for each in page.at.button if each.key]:
            # A click may lead elsewhere, or close what held the next button.
            if page.has_button(key) and not page.at.button(key=key).disabled:
                page.click(key)
            assert services.sent == [], (name, key)


@pytest.mark.parametrize(
    ("action", "role"), [("drop-branch", "an editor"), ("replace-main", "an operator")]
)
def test_a_viewer_is_told_in_a_dialog_the_role_that_its_action_needs(
    action: str, role: str, warehouse_200: FixtureWarehouse, tmp_path: Path
) -> None:
    services: Any = Services(settings(tmp_path, "viewer", warehouse=warehouse_200.path))
    place = {"db": "fixtures", "table": "branches_diverged", "branch": "diverged"}
    page = Console(services).open("branches", **place, do=action)
    assert f"This asks for {role}; you are a viewer. ROLE_REQUIRED" in page.text
