"""What is installed is what was written: the right `core`, and a wheel that holds all of it."""

import subprocess
import sys
import zipfile
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import app
import core

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel that is built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, timeout=120)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def test_core_and_app_are_ours() -> None:
    # A dependency with a package of this name would win without `pythonpath`.
    assert Path(core.__file__).parent == ROOT / "core"
    assert Path(app.__file__).parent == ROOT / "app"


def test_the_program_is_installed() -> None:
    (found,) = entry_points(group="console_scripts", name="branch-console")
    assert found.value == "app.__main__:main"
    assert version("paimon-branch-console")


def test_the_wheel_holds_the_console_and_the_core(wheel: set[str]) -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for package in ("app", "core")
        for path in (ROOT / package).rglob("*.py")
    }
    assert wanted <= wheel
    assert {"app/main.py", "app/__main__.py", "core/py.typed"} <= wheel


def test_the_wheel_holds_the_assets_and_the_look_of_the_console(wheel: set[str]) -> None:
    assert any(name.startswith("app/_assets/") for name in wheel)
    assert "app/.streamlit/config.toml" in wheel


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"app", "core"}


def test_no_module_of_the_console_hides_another_package() -> None:
    # Streamlit puts the folder of its script first on the path.
    own = {path.stem for path in (ROOT / "app").iterdir()} - {"__init__", "__main__"}
    others = {"core", "app", "streamlit", "plotly", "pandas", "pyarrow", "rich", "typer"}
    assert own & ({*sys.stdlib_module_names} | others) == set()
    assert not (ROOT / "app" / "pages").exists()
