from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import AlreadyExists, InvalidInput
from branch_console.procedures.demo_marker import MARKER
from branch_console_app.demo import demo_folder, prepare_demo
from branch_console_app.settings import Settings


def settings_of(folder: Path, warehouse: str | None = None) -> Settings:
    settings = Settings.from_environment({"state_dir": str(folder)}, {})
    return replace(settings, warehouse=warehouse)


def test_the_demo_lies_with_the_state_of_this_user(tmp_path: Path) -> None:
    assert demo_folder(settings_of(tmp_path)) == tmp_path / "demo"
    assert demo_folder(settings_of(tmp_path, "/data/wh")) == Path("/data/wh")


def test_the_demo_is_not_built_in_a_remote_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="s3://bucket/wh"):
        demo_folder(settings_of(tmp_path, "s3://bucket/wh"))


def test_a_new_folder_is_made_and_can_be_prepared_again(tmp_path: Path) -> None:
    first = prepare_demo(tmp_path / "a" / "demo")
    assert first is not None
    assert Path(str(first["data"]), "flights.csv.zip").is_file()
    assert prepare_demo(tmp_path / "a" / "demo") == first


def test_a_complete_demo_needs_nothing(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("{}")
    assert prepare_demo(tmp_path) is None


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada")
    with pytest.raises(AlreadyExists, match="holds something that is not the demo"):
        prepare_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("Dear Ada")
    with pytest.raises(AlreadyExists):
        prepare_demo(tmp_path / "demo")
