"""The suite's own machinery: what a depth runs, and what a run tells of itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_TESTS_OF_EACH_DEPTH = """
import pytest

def test_always(): ...

@pytest.mark.depth("full")
def test_in_ci(): ...

@pytest.mark.depth("full")
@pytest.mark.parametrize("case", [1, pytest.param(2, marks=pytest.mark.depth("long"))])
def test_cases(case): ...
"""
_TEST_OF_NO_DEPTH = """
import pytest

@pytest.mark.depth("ci")
def test_of_an_old_name(): ...
"""


def _run(folder: Path, text: str, *options: str) -> str:
    """What pytest prints of a file of tests, with the plugins of the suite that are named."""
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = {name: os.environ[name] for name in os.environ if name != "CI"}
    run = subprocess.run(
        [*command, "-c", os.devnull, f"--rootdir={folder}", str(folder)],
        cwd=_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


_LONG_WAITS = "1 test waits for `--depth long`"
_FULL_WAITS = "2 tests wait for `--depth full`"


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    ("depth", "end"),
    [
        ("quick", ["1 passed, 3 deselected", _LONG_WAITS, _FULL_WAITS]),
        ("full", ["3 passed, 1 deselected", _LONG_WAITS]),
        ("long", ["4 passed"]),
    ],
)
def test_a_depth_leaves_out_what_is_marked_deeper_and_says_so(
    depth: str, end: list[str], tmp_path: Path
) -> None:
    options = ("-n", "0", "-p", "tests.support.depths", "--depth", depth)
    said = _run(tmp_path, _TESTS_OF_EACH_DEPTH, *options).splitlines()[-len(end) :]
    assert [line.partition(" in ")[0] for line in said] == end


def test_the_workers_tell_what_waits(tmp_path: Path) -> None:
    said = _run(tmp_path, _TESTS_OF_EACH_DEPTH, "-n", "1", "-p", "tests.support.depths")
    assert said.endswith("2 tests wait for `--depth full`\n")


def test_a_depth_that_is_not_there_fails_the_test(tmp_path: Path) -> None:
    said = _run(tmp_path, _TEST_OF_NO_DEPTH, "-n", "0", "-p", "tests.support.depths")
    assert "its marker depth has 'ci'. Give it one of quick, full, long." in said
    assert "1 error" in said
