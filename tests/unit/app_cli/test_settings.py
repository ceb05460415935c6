from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.other_catalog import CatalogKind
from branch_console_app.settings import Settings, absolute_warehouse


def settings(overrides: dict[str, str | None] | None = None, **environment: str) -> Settings:
    return Settings.from_environment(overrides, environment)


def test_an_empty_environment_is_enough() -> None:
    found = settings()
    assert found.warehouse is None
    assert (found.role, found.host, found.port, found.log_level) == (
        "operator",
        "127.0.0.1",
        0,
        "warning",
    )
    assert found.actor
    assert found.state_dir.is_absolute()
    assert found.cache_dir.is_absolute()


def test_an_option_wins_over_the_environment_and_an_absent_one_does_not() -> None:
    environment = {"BRANCH_CONSOLE_WAREHOUSE": "s3://a/wh", "BRANCH_CONSOLE_ACTOR": "ann"}
    found = settings({"warehouse": "s3://b/wh", "actor": None}, **environment)
    assert (found.warehouse, found.actor) == ("s3://b/wh", "ann")


def test_a_relative_folder_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for spelling in ("wh", "./wh/", f"file://{tmp_path}/wh", f"file:{tmp_path}/x/../wh"):
        assert absolute_warehouse(spelling) == str(tmp_path / "wh")


def test_a_url_is_kept_but_for_its_last_slash() -> None:
    assert absolute_warehouse("s3://bucket/wh/") == "s3://bucket/wh"


def test_each_warehouse_has_jobs_of_its_own(tmp_path: Path) -> None:
    one, same, other = (
        settings({"state_dir": str(tmp_path), "warehouse": warehouse}).warehouse_state_dir
        for warehouse in ("/a/wh", "/a/wh/", "/b/wh")
    )
    assert one == same != other
    assert one.parent == tmp_path
    assert one.name.startswith("wh-")


def test_a_store_may_have_options() -> None:
    found = settings(BRANCH_CONSOLE_STORE_OPTIONS='{"endpoint_url": "http://localhost:9000"}')
    assert found.store_options == (("endpoint_url", "http://localhost:9000"),)


def test_the_folders_of_the_desktop_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    found = settings(XDG_STATE_HOME=f"{tmp_path}/s", XDG_CACHE_HOME=f"{tmp_path}/c")
    assert found.state_dir == tmp_path / "s" / "branch-console"
    assert found.cache_dir == tmp_path / "c" / "branch-console"


def test_other_systems_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", staticmethod(lambda: tmp_path))
    monkeypatch.setattr("sys.platform", "darwin")
    assert settings().state_dir == tmp_path / "Library/Application Support/branch-console"
    monkeypatch.setattr("sys.platform", "win32")
    assert settings(LOCALAPPDATA=str(tmp_path)).cache_dir == tmp_path / "branch-console" / "cache"


def test_a_child_process_gets_the_same_settings(tmp_path: Path) -> None:
    given = {"warehouse": "/a/wh", "state_dir": str(tmp_path), "port": "8600", "role": "viewer"}
    more = {"query_memory": "2g", "spark_master": "local[1]", "spark_conf": '{"a": "b"}'}
    parent = settings({**given, **more})
    assert Settings.from_environment({}, parent.to_environment()) == parent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("role", "king"),
        ("catalog", "rest"),
        ("port", "http"),
        ("port", "70000"),
        ("query_memory", "a lot"),
        ("store_options", "[1]"),
        ("spark_conf", "{"),
    ],
)
def test_a_value_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{name} \(BRANCH_CONSOLE_{name.upper()}\)") as caught:
        settings({name: value})
    assert caught.value.kind is ErrorKind.INVALID_OPTION


def test_a_missing_warehouse_says_how_to_name_one() -> None:
    with pytest.raises(InvalidInput, match="--warehouse PATH_OR_URL"):
        settings().get_warehouse()


def test_queries_have_bounds_that_settings_move_and_a_child_gets_them() -> None:
    found = settings()
    assert (found.query_seconds, found.query_rows, found.query_memory) == (900, 1_000_000, "1g")
    found = settings(
        BRANCH_CONSOLE_QUERY_SECONDS="0",
        BRANCH_CONSOLE_QUERY_ROWS="50",
        BRANCH_CONSOLE_QUERY_MEMORY="512m",
    )
    assert (found.query_seconds, found.query_rows, found.query_memory) == (0, 50, "512m")
    assert settings(**found.to_environment()) == found


def test_a_catalog_is_named_and_a_child_gets_it() -> None:
    assert settings().catalog_kind is None
    found = settings(BRANCH_CONSOLE_CATALOG="Hive")
    assert found.catalog_kind is CatalogKind.HIVE
    assert settings(**found.to_environment()) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("seconds", "-1"),
        ("seconds", "nan"),
        ("rows", "0"),
        ("rows", "1e6"),
        ("memory", "0g"),
        ("memory", "512"),
    ],
)
def test_a_bound_that_is_none_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=f"query_{name}"):
        settings(**{f"BRANCH_CONSOLE_QUERY_{name.upper()}": text})
