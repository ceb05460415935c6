"""The document of a dry run: what retires, what is released, what holds, what is passed over."""

import os
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.command_line import CommandLine
from tests.support.expiry_bench import ExpiryBench

ALL = ("--branches", "all", "--retain-max", "1", "--retain-min", "1")
KEYS = ["plan_id", "table", "retire", "release", "holds", "unknown", "skipped"]


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Main with three snapshots of which a reader needs the second, and a rescue branch."""
    bench = ExpiryBench(tmp_path / "warehouse")
    for name in "abc":
        bench.replace(name)
    reader = Path(bench.table().paths.consumer("etl"))
    reader.parent.mkdir()
    reader.write_text('{"nextSnapshot" : 2}')
    bench.branch("dev")
    Path(bench.table("dev").paths.root).rename(bench.table("rescue-old").paths.root)
    return bench


def test_an_expiry_tells_each_due_snapshot_with_what_holds_it(
    console: CommandLine, bench: ExpiryBench
) -> None:
    document = console.json("expire", "db.t", *ALL, "--dry-run")
    plan = document["plan"]
    assert list(plan) == KEYS
    assert plan["plan_id"] == document["preview"]["plan_id"]
    assert plan["table"] == "db.t"
    first, second = plan["retire"]
    assert (first["branch"], first["id"], first["hold"]) == ("main", 1, None)
    assert first["identity"]["deltaManifestList"].startswith("manifest-list-")
    assert (second["id"], second["hold"]["kind"], second["hold"]["owner"]) == (2, "consumer", "etl")
    assert [each["owner"] for each in plan["holds"]] == ["etl"]
    assert plan["skipped"] == ["rescue-old"]
    files = plan["release"]["files"]
    assert files == len(plan["release"]["sample"])
    assert plan["release"]["bytes"] == 1000


def test_the_released_files_of_a_plan_are_those_of_its_run(
    console: CommandLine, bench: ExpiryBench
) -> None:
    words = ("expire", "db.t", "--retain-max", "1", "--retain-min", "1", "--grace", "0 s")
    told = console.json(*words, "--dry-run")["plan"]["release"]
    counts = console.json(*words)["receipt"]["counts"]
    assert (told["files"], told["bytes"]) == (counts["files_removed"], counts["bytes_removed"])
    assert not any(Path(each).exists() for each in told["sample"])


def test_a_cleaning_tells_what_goes_and_what_is_not_known(
    console: CommandLine, bench: ExpiryBench
) -> None:
    paths = bench.table().paths
    orphan, strange = (
        Path(paths.manifest(name)) for name in (f"manifest-{UUID(int=7)}-0", "notes.txt")
    )
    for path in (orphan, strange):
        path.write_bytes(b"left")
        os.utime(path, (0, 0))
    plan = console.json("orphans", "db.t", "--dry-run")["plan"]
    assert list(plan) == KEYS
    assert plan["retire"] == []
    assert plan["release"] == {"files": 1, "bytes": 4, "sample": [str(orphan)]}
    assert plan["unknown"] == [str(strange)]


def test_lines_for_people_hold_no_plan(console: CommandLine, bench: ExpiryBench) -> None:
    assert "plan" not in console("expire", "db.t", *ALL, "--dry-run").out.split()
    # What tells no lines has no plan, only its consequences.
    assert "plan" not in console.json("expire-tags", "db.t", "--dry-run")
