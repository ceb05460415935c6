"""What is missing on the machine is told: locally by a skip, in CI by a failure."""

from pathlib import Path

import pytest
from _pytest.outcomes import Failed, Skipped

from tests.support import fetch, requirements


@pytest.fixture(autouse=True)
def _nothing_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetch, "PEERS", tmp_path)
    monkeypatch.setattr(fetch, "_run", _fail)
    monkeypatch.setenv("PATH", str(tmp_path))
    requirements.find_pypaimon.cache_clear()
    requirements.find_chromium.cache_clear()


@pytest.mark.parametrize(
    ("need", "told"),
    [
        (requirements.need_pypaimon, "python -m tests.support.fetch"),
        (requirements.need_chromium, "apt-get install chromium"),
    ],
    ids=["pypaimon", "chromium"],
)
def test_a_gap_skips_here_and_fails_in_ci(
    need: object, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(need)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(Skipped, match=told):
        need()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Failed, match=told):
        need()


def test_a_jar_that_cannot_be_fetched_is_told(tmp_path: Path) -> None:
    with pytest.raises(fetch.FetchError, match="no network"):
        fetch.fetch_jar("1.4.2")
    assert not fetch.jar_path("1.4.2").exists()


def _fail(command: list[str], environment: dict[str, str] | None = None) -> None:
    raise fetch.FetchError(f"{command[0]}: no network")
