"""B6, in part: a fast-forward of many snapshots by ours, by both Paimon Javas and by pypaimon.

Ours is the whole procedure: plan, journal, synced copies that replace nothing, event, receipt. The
peers copy over what stands there, and sync nothing.
"""

import shutil
import statistics
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from core.commit.commit_store import CommitStore
from core.commit.schema_commit import create_table, new_schema
from core.format.data_types import BIGINT
from core.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from core.format.snapshot import CommitKind, Snapshot
from core.storage.file_io import FileIO
from core.storage.table_paths import TablePaths
from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, hold
from tests.support.requirements import MissingError, find_jar, find_jvm, find_pypaimon

CASES = {"tiny": [5], "small": [200], "full": [200, 1_000]}
CALLS = 4
"""Each process fast-forwards that many tables: the first cold, the others warm."""

JAVA = {"java 1.4.2": "1.4.2", "java 2.0.0": "2.0.0"}
PYPAIMON = "pypaimon"


def run(scale: str, rounds: int, folder: Path) -> list[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    return [_run_case(folder, snapshots, rounds) for snapshots in CASES[scale]]


def make_warehouse(folder: Path, snapshots: int) -> None:
    """Write tables whose branch `dev` is that many snapshots ahead of main; no data file exists."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store = CommitStore.of(FileIO.for_url(str(folder)))
    first = _empty_snapshot(folder)
    for number in range(CALLS):
        paths = TablePaths(table=f"{folder}/db.db/t{number}")
        schema = new_schema([("id", BIGINT)])
        for branch in (paths, paths.on("dev")):
            create_table(store, branch, schema)
            Path(branch.snapshot_dir).mkdir()
            Path(branch.snapshot(1)).write_text(first.to_json())
        for snapshot_id in range(2, snapshots + 2):
            later = replace(first, id=snapshot_id, uuid=str(uuid.uuid4()))
            Path(paths.on("dev").snapshot(snapshot_id)).write_text(later.to_json())
        shutil.copytree(folder / "manifest", Path(paths.manifest_dir))
    shutil.rmtree(folder / "manifest")


def find_contestants() -> tuple[list[Contestant], dict[str, str]]:
    """Ours and the peers that are installed, and why the others are not there."""
    found = [Contestant(name=OURS, command=_module("tests.benchmarks.child_forward", "ours"))]
    absent = {}
    for name, version in JAVA.items():
        try:
            find_jvm()
            find_jar(version)
        except MissingError as gap:
            absent[name] = str(gap)
        else:
            command = _module("tests.benchmarks.child_forward", version)
            found.append(Contestant(name=name, command=command))
    try:
        python = find_pypaimon()
    except MissingError as gap:
        absent[PYPAIMON] = str(gap)
    else:
        script = str(Path(__file__).with_name("child_forward_pypaimon.py"))
        found.append(
            Contestant(name=PYPAIMON, command=lambda folder: [str(python), script, str(folder)])
        )
    return found, absent


def _run_case(folder: Path, snapshots: int, rounds: int) -> Result:
    warehouse = folder / "warehouse"
    make_warehouse(warehouse, snapshots)
    contestants, absent = find_contestants()
    samples, wrong = hold(contestants, warehouse, rounds, {"head": snapshots + 1})
    result = Result(
        benchmark="B6", case={"snapshots": snapshots}, samples=samples, wrong=wrong, absent=absent
    )
    return replace(result, targets=tuple(_targets(result)))


def _targets(result: Result) -> list[Target]:
    targets = []
    for peer in (*JAVA, PYPAIMON):
        ratios = result.ratios(peer, "warm")
        middle = statistics.median(ratios) if ratios else None
        targets.append(at_least(f"fast-forward faster than {peer}, warm", middle, 1.0))
    return targets


def _module(name: str, *arguments: str) -> Callable[[Path], Sequence[str]]:
    return lambda folder: [sys.executable, "-m", name, str(folder), *arguments]


def _empty_snapshot(folder: Path) -> Snapshot:
    """A snapshot of no files, whose manifest list lies in a folder to be copied."""
    (folder / "manifest").mkdir()
    names = [f"manifest-list-{uuid.uuid4()}-{number}" for number in range(2)]
    for name in names:
        (folder / "manifest" / name).write_bytes(
            encode_manifest_list(MANIFEST_FILE_META.empty_table())
        )
    return Snapshot(
        uuid=str(uuid.uuid4()),
        id=1,
        schema_id=0,
        base_manifest_list=names[0],
        delta_manifest_list=names[1],
        commit_user="benchmark",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=1_700_000_000_000,
        total_record_count=0,
        delta_record_count=0,
    )
