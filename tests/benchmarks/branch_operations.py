"""B6: branches created, renamed, dropped and fast-forwarded by ours, both Paimon Javas, pypaimon.

Protecting a branch is ours alone: it is measured for what many branches cost.

Ours is the whole procedure: plan, journal, synced copies that replace nothing, event, receipt; a
dropped branch stays restorable. The peers copy over what stands there, and sync nothing.
"""

import shutil
import statistics
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.storage.table_paths import TablePaths
from tests.benchmarks.contest import (
    OURS,
    Contestant,
    Result,
    Target,
    at_least,
    at_most,
    hold,
    new_folder,
)
from tests.benchmarks.synthetic import make_table
from tests.support.requirements import MissingError, find_jar, find_jvm, find_pypaimon


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One operation on a table of some size.

    Attributes:
        files: Of the table.
        snapshots: How far `dev` is ahead, for a fast-forward.
        schemas, branches: What the table holds, for the other operations.
    """

    operation: str
    files: int
    snapshots: int = 0
    schemas: int = 1
    branches: int = 0

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        facts: dict[str, int | str] = {"operation": self.operation, "files": self.files}
        if self.operation == FORWARD:
            return {**facts, "snapshots": self.snapshots}
        return {**facts, "schemas": self.schemas, "branches": self.branches}


FORWARD: Final = "fast-forward"
LIFECYCLE: Final = ("create", "rename", "drop")
PROTECT: Final = "protect"


def _lifecycle(*sizes: tuple[int, int, int]) -> list[Case]:
    return [
        Case(operation=operation, files=files, schemas=schemas, branches=branches)
        for files, schemas, branches in sizes
        for operation in (*LIFECYCLE, PROTECT)
    ]


CASES = {
    "tiny": [Case(operation=FORWARD, files=100, snapshots=5), *_lifecycle((100, 2, 1))],
    "small": [
        *(Case(operation=FORWARD, files=files, snapshots=200) for files in (1_000, 100_000)),
        *_lifecycle((1_000, 10, 1), (100_000, 10, 1), (1_000, 500, 1), (1_000, 10, 1_000)),
    ],
    "full": [
        *(Case(operation=FORWARD, files=files, snapshots=200) for files in (1_000, 1_000_000)),
        Case(operation=FORWARD, files=1_000, snapshots=1_000),
        *_lifecycle((1_000, 1, 1), (1_000, 10, 1), (100_000, 10, 1), (1_000_000, 10, 1)),
        *_lifecycle((1_000, 500, 1), (1_000, 10, 1_000), (1_000, 10, 10_000)),
    ],
}
CALLS = 6
"""Each process repeats the operation so often: the first call is cold, the others are warm."""

JAVA = {"java 1.4.2": "1.4.2", "java 2.0.0": "2.0.0"}
PYPAIMON = "pypaimon"
TAG = "v1"
_FEW_SCHEMAS: Final = 10
_FEW_BRANCHES: Final = 1
_MANY_SCHEMAS: Final = 500
_MANY_BRANCHES: Final = 1_000


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    alone: dict[str, float] = {}
    for case in CASES[scale]:
        warehouse = new_folder(folder) / "warehouse"
        make_warehouse(warehouse, case)
        contestants, absent = find_contestants(case)
        samples, wrong = hold(contestants, warehouse, rounds, expected(case))
        result = Result(
            benchmark="B6", case=case.facts, samples=samples, wrong=wrong, absent=absent
        )
        if case.schemas == _FEW_SCHEMAS and case.branches == _FEW_BRANCHES:
            alone.setdefault(case.operation, statistics.median(result.warm(OURS)))
        yield replace(result, targets=tuple(_targets(case, result, alone.get(case.operation))))


def make_warehouse(folder: Path, case: Case) -> None:
    """Write the tables of a case; no data file exists."""
    if case.operation == FORWARD:
        _make_ahead(folder, case)
    else:
        _make_sized(folder, case)


def expected(case: Case) -> Mapping[str, int]:
    """What each contestant has to find afterwards."""
    if case.operation == FORWARD:
        return {"head": case.snapshots + 1}
    made = 0 if case.operation == "drop" else CALLS
    # The table has a branch `dev` of its own.
    return {"branches": case.branches + 1 + made}


def find_contestants(case: Case) -> tuple[list[Contestant], dict[str, str]]:
    """Ours and the peers that are installed, and why the others are not there."""
    child, operation = "tests.benchmarks.child_branches", case.operation
    found = [Contestant(name=OURS, command=_module(child, operation, OURS))]
    absent: dict[str, str] = {}
    if operation == PROTECT:
        return found, absent
    for name, version in JAVA.items():
        try:
            find_jvm()
            find_jar(version)
        except MissingError as gap:
            absent[name] = str(gap)
        else:
            found.append(Contestant(name=name, command=_module(child, operation, version)))
    try:
        python = find_pypaimon()
    except MissingError as gap:
        absent[PYPAIMON] = str(gap)
    else:
        script = str(Path(__file__).with_name("child_branches_pypaimon.py"))
        command = [str(python), script]
        found.append(
            Contestant(name=PYPAIMON, command=lambda folder: [*command, str(folder), operation])
        )
    return found, absent


def _make_ahead(folder: Path, case: Case) -> None:
    """Tables whose branch `dev` is that many snapshots ahead of main, and shares all its files."""
    make_table(folder, case.files, 1)
    origin = folder / "db.db" / "t"
    main = TablePaths(table=str(origin))
    head = Snapshot.from_json(Path(main.snapshot(1)).read_text())
    # They name the same files, so only this tells them apart.
    told_apart = [
        replace(head, id=number + 1, uuid=str(uuid.uuid4())) for number in range(case.snapshots + 1)
    ]
    Path(main.snapshot(1)).write_text(told_apart[0].to_json())
    for snapshot in told_apart:
        Path(main.on("dev").snapshot(snapshot.id)).write_text(snapshot.to_json())
    for number in range(CALLS):
        shutil.copytree(origin, origin.with_name(f"t{number}"))
    shutil.rmtree(origin)


def _make_sized(folder: Path, case: Case) -> None:
    """One table of many files, schemas and branches, with a tag on its head."""
    make_table(folder, case.files, 1)
    paths = TablePaths(table=f"{folder}/db.db/t")
    schema = TableSchema.from_json(Path(paths.schema(0)).read_text())
    for schema_id in range(1, case.schemas):
        Path(paths.schema(schema_id)).write_text(replace(schema, id=schema_id).to_json())
    head = Snapshot.from_json(Path(paths.snapshot(1)).read_text())
    text = replace(head, schema_id=case.schemas - 1).to_json()
    Path(paths.snapshot(1)).write_text(text)
    Path(paths.tag_dir).mkdir()
    Path(paths.tag(TAG)).write_text(text)
    # A JVM that is measured imports this module, and has no use for these.
    from branch_console.procedures.call.warehouse import Warehouse  # noqa: PLC0415
    from tests.benchmarks.own_procedure import run_ours  # noqa: PLC0415

    opened = Warehouse.open(str(folder))
    for number in range(case.branches):
        # With a ledger: what was recorded of all of them is read by whoever changes one.
        run_ours(opened, "create_branch", table="db.t", branch=f"old{number}", tag=TAG)


def _targets(case: Case, result: Result, alone: float | None) -> list[Target]:
    """What is promised of a case.

    Args:
        alone: What the operation takes on the only branch of a table of ten schemas, in seconds.
    """
    targets = []
    middle = statistics.median(result.warm(OURS))
    is_small = case.schemas <= _FEW_SCHEMAS and case.branches <= _FEW_BRANCHES
    if case.operation in LIFECYCLE and is_small:
        targets.append(at_most(f"{case.operation} within 5 ms, warm", middle * 1_000, 5.0))
    if case.branches >= _MANY_BRANCHES and alone is not None:
        times, more = middle / alone, (middle - alone) * 1_000
        targets.append(at_most(f"{case.operation} of one of many as the only one, times", times, 2))
        if case.branches == _MANY_BRANCHES:
            # Decision 0051: what has to be looked at grows with the branches, and by how much.
            told = f"{case.operation} of one of 1,000 branches, ms more than of the only one"
            targets.append(at_most(told, more, 25))
    has_peers = case.operation == FORWARD or case.schemas >= _MANY_SCHEMAS
    if has_peers and case.operation != PROTECT:
        for peer in (*JAVA, PYPAIMON):
            ratios = result.ratios(peer, "warm")
            ratio = statistics.median(ratios) if ratios else None
            targets.append(at_least(f"{case.operation} faster than {peer}, warm", ratio, 1.0))
    return targets


def _module(name: str, *arguments: str) -> Callable[[Path], Sequence[str]]:
    return lambda folder: [sys.executable, "-m", name, str(folder), *arguments]
