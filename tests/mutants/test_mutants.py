"""Each planted fault still has its place, and is found by each of the tests that it names."""

import json
import os
import shutil
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest

from tests.mutants.planted import MUTANTS, Mutant
from tests.support.source_roots import python_path

_ROOT: Final = Path(__file__).parents[2]
_COPIED: Final = ("core", "app", "assets", "tests", "pyproject.toml", "README.md", "LICENSE")

each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=attrgetter("name"))


@each_mutant
def test_a_fault_has_its_place_and_its_tests(mutant: Mutant) -> None:
    text = (_ROOT / mutant.file).read_text()
    assert text.count(mutant.old) == 1, "the code has changed: plant the fault where it is now"
    assert mutant.new not in text or mutant.new in mutant.old
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (_ROOT / file).read_text()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, to plant in."""
    copy = tmp_path_factory.mktemp("mutants") / "project"
    copy.mkdir()
    for name in _COPIED:
        if (_ROOT / name).is_dir():
            shutil.copytree(_ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(_ROOT / name, copy)
    (copy / ".peers").symlink_to(_ROOT / ".peers")
    return copy


@pytest.mark.depth("long")
@each_mutant
def test_a_planted_fault_is_found(mutant: Mutant, project: Path) -> None:
    file = project / mutant.file
    text = file.read_text()
    assert _failed(project, mutant) == set(), "the tests fail without the fault"
    file.write_text(text.replace(mutant.old, mutant.new))
    try:
        found_by = _failed(project, mutant)
    finally:
        file.write_text(text)
    print(f"{mutant.name} in {mutant.file}: found by {', '.join(sorted(found_by)) or 'none'}")
    assert found_by == set(mutant.tests)


def _failed(project: Path, mutant: Mutant) -> set[str]:
    """Which of the mutant's tests fail in the copy, as a full run has them."""
    report = project / "report.json"
    report.unlink(missing_ok=True)
    environment = {name: os.environ[name] for name in os.environ if "XDIST" not in name}
    # Child processes, too, must import from the copy, and never what was compiled before.
    environment |= {"PYTHONPATH": python_path(project)}
    shutil.rmtree((project / mutant.file).parent / "__pycache__", ignore_errors=True)
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--depth", "full")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--report={report}", *mutant.tests],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = run.stdout[-4000:] + run.stderr[-2000:]
    # What cannot be imported or collected is broken, not found.
    assert run.returncode in (0, 1), said
    told = json.loads(report.read_text())
    assert told["outcomes"].keys() <= {"passed", "failed"}, said
    return {name.partition("[")[0] for name in told["failed"]}
