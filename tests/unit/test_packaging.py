"""What is installed is what was written: the right packages, and a wheel that holds all of it."""

import http
import json
import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import branch_console
import branch_console_app
from tests.support.ports import free_port
from tests.support.serving import PROGRAM, get, serving

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(built_wheel: Path) -> set[str]:
    """The names of the files in it."""
    with zipfile.ZipFile(built_wheel) as archive:
        return set(archive.namelist())


def test_both_packages_are_of_this_checkout() -> None:
    # An installed copy would win without `pythonpath`.
    assert Path(branch_console.__file__).parent == ROOT / "core" / "branch_console"
    assert Path(branch_console_app.__file__).parent == ROOT / "app" / "branch_console_app"


def test_the_program_is_installed() -> None:
    (found,) = entry_points(group="console_scripts", name="branch-console")
    assert found.value == "branch_console_app.__main__:main"
    assert version("paimon-branch-console")


def test_the_wheel_holds_the_console_and_the_core(wheel: set[str]) -> None:
    wanted = {
        str(path.relative_to(root))
        for root in (ROOT / "app", ROOT / "core")
        for path in root.rglob("*.py")
    }
    assert wanted <= wheel
    assert {
        "branch_console_app/main.py",
        "branch_console_app/__main__.py",
        "branch_console/py.typed",
    } <= wheel


def test_the_wheel_holds_the_assets_and_the_look_of_the_console(wheel: set[str]) -> None:
    assert any(name.startswith("branch_console_app/_assets/") for name in wheel)
    assert "branch_console_app/.streamlit/config.toml" in wheel


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {name for name in tops if not name.endswith(".dist-info")} == {
        "branch_console",
        "branch_console_app",
    }


def test_no_module_of_the_console_hides_another_package() -> None:
    # Streamlit puts the folder of its script first on the path.
    own = {path.stem for path in (ROOT / "app" / "branch_console_app").iterdir()} - {
        "__init__",
        "__main__",
    }
    others = {
        "branch_console",
        "branch_console_app",
        "streamlit",
        "plotly",
        "pandas",
        "pyarrow",
        "rich",
        "typer",
    }
    assert own & ({*sys.stdlib_module_names} | others) == set()
    assert not (ROOT / "app" / "branch_console_app" / "pages").exists()


@pytest.fixture
def installed(built_wheel: Path, tmp_path: Path) -> Path:
    """The folder that the wheel is installed into."""
    folder = tmp_path / "installed"
    with zipfile.ZipFile(built_wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a warehouse, whose folders `app` and `core` end whoever imports them."""
    folder = tmp_path / "project"
    for name in ("app", "core"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('a stranger')")
    (folder / "warehouse").mkdir()
    return folder


@pytest.fixture
def environment(installed: Path, tmp_path: Path) -> dict[str, str]:
    """What a process gets that looks into the project first, and into the wheel second."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([".", str(installed)]),
        "BRANCH_CONSOLE_STATE_DIR": str(tmp_path / "state"),
        "BRANCH_CONSOLE_SPARK_MASTER": "local[1]",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _said(arguments: list[str], project: Path, environment: dict[str, str]) -> str:
    """What a process prints that runs in the project and must end well."""
    answer = subprocess.run(
        arguments,
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.depth("full")
def test_the_wheel_runs_beside_a_project_with_folders_of_the_same_names(
    installed: Path, project: Path, environment: dict[str, str]
) -> None:
    # A notebook and `python -m` look into the folder where they stand before anything installed.
    code = (
        "import branch_console.jobs.worker, branch_console.spark.connector.data_source;"
        "import branch_console, branch_console_app;"
        "from branch_console_app.theme import asset;"
        "from branch_console_app.__main__ import main;"
        "print(branch_console.__file__, branch_console_app.__file__, asset('logo.svg'));"
        "main()"
    )
    command = [sys.executable, "-c", code, "tables", "--json", "--warehouse", "warehouse"]
    places, _, tables = _said(command, project, environment).partition("\n")
    assert [Path(place).is_relative_to(installed) for place in places.split()] == [True] * 3
    assert json.loads(tables)["tables"] == []


_STATEMENTS = (
    "CREATE DATABASE d; CREATE TABLE d.t (id BIGINT, name STRING); "
    "INSERT INTO d.t VALUES (1, 'one'), (2, 'two'), (3, 'three'); SELECT count(*) AS n FROM d.t"
)
_NOTEBOOK = """
import json

import branch_console
from branch_console.api import branches, open_warehouse, register, request, run
from pyarrow import RecordBatch
from pyspark.sql import SparkSession

warehouse = open_warehouse("warehouse")
run(warehouse, request("create_branch", table="d.t", branch="dev"))
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
register(spark)
read = spark.read.format("paimon-branch").option("warehouse", "warehouse").option("table", "d.t")


def place(batches):
    import branch_console

    for _ in batches:
        yield RecordBatch.from_pydict({"place": [branch_console.__file__]})


print(json.dumps({
    "branches": [each.name for each in branches(warehouse, "d.t")],
    "rows": [list(row) for row in read.option("branch", "main").load().orderBy("id").collect()],
    "places": [
        branch_console.__file__,
        spark.range(1).mapInArrow(place, "place string").first()["place"],
    ],
}))
"""


@pytest.mark.depth("long")
def test_console_worker_notebook_and_spark_tasks_run_beside_folders_of_the_same_names(
    installed: Path, project: Path, environment: dict[str, str]
) -> None:
    here = ("--warehouse", "warehouse")
    served = ("serve", *here, "--port", str(free_port()))
    with serving(environment, *served, cwd=project) as told:
        assert get(told["url"], "/_stcore/health") == http.HTTPStatus.OK
        assert get(told["url"], "/") == http.HTTPStatus.OK
        printed = _said([str(PROGRAM), "sql", _STATEMENTS, *here], project, environment)
        assert printed.split()[-2:] == ["n", "3"]
        jobs = json.loads(_said([str(PROGRAM), "jobs", "--json", *here], project, environment))
        names = {job["name"]: job["state"] for job in jobs["jobs"]}
        assert names == dict.fromkeys(
            ("create_database", "create_table", "insert_rows", "query"), "done"
        )
        assert jobs["worker"]["is_alive"]
    found = json.loads(_said([sys.executable, "-c", _NOTEBOOK], project, environment))
    assert sorted(found["branches"]) == ["dev", "main"]
    assert found["rows"] == [[1, "one"], [2, "two"], [3, "three"]]
    assert [Path(each).is_relative_to(installed) for each in found["places"]] == [True] * 2


def test_what_the_checks_install_is_within_the_bounds_that_users_get() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    pinned = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    extras = project["optional-dependencies"]
    used = ("java", "demo", "s3", "gcs", "abfs", "test", "dev")
    asked = [Requirement(each) for name in used for each in extras[name]]
    asked += [Requirement(each) for each in project["dependencies"]]
    for wanted in asked:
        if wanted.name != project["name"]:
            assert wanted.specifier.contains(pinned[wanted.name.lower()]), wanted
