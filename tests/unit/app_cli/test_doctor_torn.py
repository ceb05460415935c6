"""The doctor on files that are cut off, empty or folders: told, and remedied by what it prints."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from branch_console.errors import StorageError
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY, deletion_vector_entry
from branch_console.format.values.deletion_vector import write_deletion_vectors
from branch_console.procedures.maintenance import doctor
from branch_console.storage import file_io
from branch_console.storage.regular_files import read_regular
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine
from tests.support.commit_tables import UNPARTITIONED, data_files, message
from tests.support.health import data_file, put_data_files

Place = Callable[[BranchBench], str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Main at 3; dev left it at 2, altered its schema, and has a tag and a reader."""
    root = tmp_path_factory.mktemp("made") / "warehouse"
    bench = BranchBench(root)
    bench.append("a")
    bench.tag("v1")
    bench.append("b")
    bench.branch("dev")
    bench.alter("dev")
    bench.append("c", branch="dev")
    bench.tag("own", "dev")
    bench.append("d")
    bench.call("fence_branch", operation="fence", branch="main")
    for branch in ("main", "dev"):
        table = "db.t" if branch == "main" else f"db.t$branch_{branch}"
        bench.call(
            "reset_consumer",
            operation=f"reader-{branch}",
            table=table,
            consumer="reader",
            next=3,
        )
    put_data_files(bench)
    return root


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> BranchBench:
    """A copy of that warehouse, where the console looks."""
    shutil.copytree(made, tmp_path / "warehouse")
    return BranchBench(tmp_path / "warehouse")


def delta(bench: BranchBench, branch: str) -> str:
    return bench.table(branch).snapshots.get(3).delta_manifest_list


def manifest(bench: BranchBench, branch: str) -> str:
    table = bench.table(branch)
    listed = table.scan.read_list(table.paths, delta(bench, branch))
    return table.paths.manifest(str(listed["file_name"][0].as_py()))


# What is cut off; the rule that tells it; what it prints; whether the same bytes are there again.
TORN: list[tuple[str, Place, str, list[str], bool]] = [
    (
        "a schema of main",
        lambda bench: bench.table().paths.schema(0),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'main')"],
        True,
    ),
    (
        "a schema that a branch altered",
        lambda bench: bench.table("dev").paths.schema(1),
        "F21",
        ["CALL sys.drop_branch(table => 'db.t', branch => 'dev', reclaim => true)"],
        False,
    ),
    (
        "a snapshot of main that a tag names",
        lambda bench: bench.table().paths.snapshot(1),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'main')"],
        True,
    ),
    (
        "a snapshot of main that a branch began at",
        lambda bench: bench.table().paths.snapshot(2),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'main')"],
        True,
    ),
    (
        "the snapshot that a branch began at",
        lambda bench: bench.table("dev").paths.snapshot(2),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'dev')"],
        True,
    ),
    (
        "the newest snapshot of a branch, which its tag names",
        lambda bench: bench.table("dev").paths.snapshot(3),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'dev')"],
        True,
    ),
    (
        "the newest snapshot of main",
        lambda bench: bench.table().paths.snapshot(3),
        "F21",
        [],
        False,
    ),
    (
        "a tag of main",
        lambda bench: bench.table().paths.tag("v1"),
        "F21",
        ["CALL sys.delete_tag(table => 'db.t', tag => 'v1')"],
        False,
    ),
    (
        "a tag of a branch",
        lambda bench: bench.table("dev").paths.tag("own"),
        "F21",
        ["CALL sys.delete_tag(table => 'db.t$branch_dev', tag => 'own')"],
        False,
    ),
    (
        "a base tag",
        lambda bench: bench.table().paths.tag("branch-base-dev"),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'main')"],
        True,
    ),
    (
        "a consumer of main",
        lambda bench: bench.table().paths.consumer("reader"),
        "F21",
        ["CALL sys.reset_consumer(table => 'db.t', consumer => 'reader')"],
        False,
    ),
    (
        "a consumer of a branch",
        lambda bench: bench.table("dev").paths.consumer("reader"),
        "F21",
        ["CALL sys.reset_consumer(table => 'db.t$branch_dev', consumer => 'reader')"],
        False,
    ),
    (
        "a fence",
        lambda bench: bench.table("dev").paths.consumer("branch-console-fence"),
        "F23",
        ["CALL sys.fence_branch(table => 'db.t', branch => 'dev')"],
        True,
    ),
]
# What only a deep look reads.
DEEP: list[tuple[str, Place, str, list[str], bool]] = [
    (
        "an older schema of a branch",
        lambda bench: bench.table("dev").paths.schema(0),
        "F21",
        ["CALL sys.repair_branch(table => 'db.t', branch => 'dev')"],
        True,
    ),
    (
        "a manifest list of main",
        lambda bench: bench.table().paths.manifest(delta(bench, "main")),
        "F21",
        ["CALL sys.rollback(table => 'db.t', snapshot => 2, cut => true, confirm => 'main')"],
        False,
    ),
    (
        "a manifest of a branch",
        lambda bench: manifest(bench, "dev"),
        "F21",
        [
            "CALL sys.rollback(table => 'db.t$branch_dev', snapshot => 2, cut => true, "
            "confirm => 'dev')",
        ],
        False,
    ),
]
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "zeros": lambda data: b"\0" * len(data),
}
CASES = [
    (place, how, rule, statements, is_back, looks)
    for cases, looks in ((TORN, ("quick", "deep")), (DEEP, ("deep",)))
    for _, place, rule, statements, is_back in cases
    for how in CUTS
]
NAMES = [f"{what}, {how}" for cases in (TORN, DEEP) for what, *_ in cases for how in CUTS]


@pytest.mark.parametrize(
    ("place", "how", "rule", "statements", "is_back", "looks"), CASES, ids=NAMES
)
def test_what_is_cut_off_is_told_and_the_remedy_runs(
    place: Place,
    how: str,
    rule: str,
    statements: list[str],
    is_back: bool,
    looks: tuple[str, ...],
    bench: BranchBench,
    console: CommandLine,
) -> None:
    path = Path(place(bench))
    whole = path.read_bytes()
    path.write_bytes(CUTS[how](whole))
    for look in looks:
        answer = console("doctor", "db.t", "--json", *(["--deep"] if look == "deep" else []))
        assert answer.code == 1, answer
        (table,) = answer.document["tables"]
        assert table["unchecked"] == []
        (finding,) = [
            each
            for each in table["findings"]
            if each["rule"] == rule and each["severity"] == "critical"
        ]
        assert path.name in finding["finding"] or rule == "F23"
        assert [each["sql"] for each in finding["remedies"]] == statements
    if not statements:
        assert finding["advice"] == (
            "Restore it from a copy of the warehouse. Where there is none, stop all writers and "
            "streaming readers first. Then move it and the file LATEST beside it out of the table: "
            "main then ends with snapshot 2, and what was committed since is lost. Afterwards, "
            "reset each consumer whose next snapshot is after 3 to 3, and let other streaming "
            "readers begin there: the next commit takes that id again. What cannot be decoded may "
            "hide more: ask again after that."
        )
        assert finding["evidence"] == [str(path)]
        path.unlink()
        path.with_name("LATEST").unlink()
        assert console("doctor", "db.t", "--deep").code == 0
        assert bench.live_names() == {"data-a.parquet", "data-b.parquet"}
        reader = Path(bench.table().paths.consumer("reader"))
        reader.write_text(reader.read_text().replace("3", "4"))
        assert console("reset-consumer", "db.t", "reader", "--next", "3").code == 0
        assert bench.append("e").id == json.loads(reader.read_text())["nextSnapshot"] == 3
        return
    for statement in statements:
        run = console("sql", statement)
        assert run.code == 0, run
    if is_back:
        assert path.read_bytes() == whole
    left = console("doctor", "db.t", "--deep", "--json").document["tables"][0]
    assert left["unchecked"] == []
    # A cut keeps what leaves on a rescue branch, broken as it was.
    worst = {each["branch"][:7] for each in left["findings"] if each["severity"] == "critical"}
    assert worst <= ({"rescue-"} if "rollback" in statements[0] else set()), left["findings"]


@pytest.mark.parametrize(
    "place",
    [
        lambda bench: bench.table().paths.latest_hint,
        lambda bench: bench.table("dev").paths.latest_hint,
        lambda bench: bench.table().paths.earliest_hint,
    ],
)
def test_a_hint_that_is_cut_off_breaks_nothing(
    place: Place, bench: BranchBench, console: CommandLine
) -> None:
    # Paimon lists the folder where a hint cannot be read, as we always do.
    Path(place(bench)).write_bytes(b"")
    assert console("doctor", "db.t", "--deep").code == 0


@pytest.mark.parametrize(
    "place",
    [
        lambda bench: bench.table().paths.schema(0),
        lambda bench: bench.table("dev").paths.schema(1),
        lambda bench: bench.table().paths.snapshot(1),
        lambda bench: bench.table("dev").paths.snapshot(3),
        lambda bench: bench.table().paths.tag("v1"),
        lambda bench: bench.table("dev").paths.tag("own"),
        lambda bench: bench.table().paths.latest_hint,
        lambda bench: bench.table().paths.earliest_hint,
        lambda bench: bench.table("dev").paths.consumer("reader"),
    ],
)
def test_a_folder_in_the_place_of_a_file_is_not_checked(
    place: Place, bench: BranchBench, console: CommandLine
) -> None:
    path = Path(place(bench))
    path.unlink(missing_ok=True)
    path.mkdir()
    answer = console("doctor", "db.t", "--deep")
    assert answer.code == 3
    assert f"{path} is a folder, where a file belongs" in answer.err


@pytest.mark.parametrize(
    ("asked", "looks"),
    [("find_folders", ["--deep"]), ("read_broken_files", []), ("read_broken_files", ["--deep"])],
)
def test_a_store_that_stops_answering_hides_no_finding(
    asked: str,
    looks: list[str],
    bench: BranchBench,
    console: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(bench.table("dev").paths.consumer("branch-console-fence")).write_bytes(b"")

    def fail(*_: object) -> None:
        raise StorageError("The store did not answer.")

    monkeypatch.setattr(doctor, asked, fail)
    answer = console("doctor", "db.t", *looks, "--json")
    assert answer.code == 3
    (table,) = answer.document["tables"]
    assert "F23" in {each["rule"] for each in table["findings"]}
    assert "The store did not answer." in {each["error"]["message"] for each in table["unchecked"]}


def test_a_quick_look_lists_no_folder_only_to_find_folders(
    bench: BranchBench, console: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("A look at each folder of each branch")

    monkeypatch.setattr(doctor, "find_folders", fail)
    assert console("doctor", "db.t").code == 0


@pytest.mark.parametrize(
    "place",
    [
        lambda bench: bench.table().paths.schema(0),
        lambda bench: bench.table("dev").paths.snapshot(3),
        lambda bench: bench.table().paths.snapshot(1),
    ],
)
def test_what_a_newer_release_wrote_is_not_checked_and_stays(
    place: Place, bench: BranchBench, console: CommandLine
) -> None:
    path = Path(place(bench))
    newer = path.read_text().replace('"version" : 3', '"version" : 99')
    path.write_text(newer)
    for look in ([], ["--deep"]):
        answer = console("doctor", "db.t", *look)
        assert answer.code == 3
        assert f"{path} cannot be read" in answer.err
    for branch in ("main", "dev"):
        assert console("repair-branch", "db.t", branch).code != 0
    assert path.read_text() == newer


def test_what_may_not_be_read_is_not_checked(
    bench: BranchBench, console: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.table("dev").paths.snapshot(3)

    def refuse(wanted: str, root: str) -> bytes:
        if wanted == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return read_regular(wanted, root)

    monkeypatch.setattr(file_io, "read_regular", refuse)
    for look in ([], ["--deep"]):
        answer = console("doctor", "db.t", *look)
        assert answer.code == 3, answer
        assert path in answer.err


def test_the_other_branches_can_be_used_beside_a_broken_one(
    bench: BranchBench, console: CommandLine
) -> None:
    Path(bench.table("dev").paths.schema(1)).write_text("{")
    assert "broken" in console("branches", "db.t").out
    assert console("tables").code == 0
    assert "data-d.parquet" in bench.live_names()
    bench.append("e")
    assert "data-e.parquet" in bench.live_names()


def test_a_branch_is_repaired_at_once_of_all_that_lies_whole_elsewhere(
    bench: BranchBench, console: CommandLine
) -> None:
    torn = [bench.table("dev").paths.snapshot(2), bench.table("dev").paths.schema(0)]
    whole = [Path(each).read_bytes() for each in torn]
    for each in torn:
        Path(each).write_bytes(b"")
    told = console("repair-branch", "db.t", "dev", "--dry-run")
    assert told.code == 0
    assert "2 files of 'dev' that were cut off are written again" in told.out
    assert Path(torn[0]).read_bytes() == b""
    assert console("repair-branch", "db.t", "dev").code == 0
    assert [Path(each).read_bytes() for each in torn] == whole


ROWS, VECTORS = (f"{UUID(int=number)}-0" for number in (1, 2))


def commit_rows_and_vectors(bench: BranchBench) -> None:
    """Commit a data file and an index file on dev, under names that Paimon gives."""
    table = bench.table("dev")
    content, ranges = write_deletion_vectors({f"data-{ROWS}.parquet": (1, 4)})
    path = Path(table.paths.index(f"index-{VECTORS}"))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    entry = deletion_vector_entry((UNPARTITIONED, 0), path.name, len(content), ranges)
    made = pa.Table.from_pylist([entry], schema=INDEX_MANIFEST_ENTRY)
    bench.committer("dev").commit(
        [message(new_files=data_files([ROWS]), new_index_files=made)], user="alice", identifier=77
    )
    put_data_files(bench)


def clean_away(bench: BranchBench, lost: Path) -> None:
    """Let a cleaning take one file of the newest snapshot of dev, which it cannot see."""
    # All others are too young for it.
    os.utime(lost, (0, 0))
    snapshot = Path(bench.table("dev").paths.snapshot(4))
    hidden = snapshot.rename(snapshot.with_name("hidden"))
    bench.call("remove_orphan_files", operation="cleaning", grace="0 s")
    hidden.rename(snapshot)
    assert not lost.exists()


def metadata_of(bench: BranchBench, kind: str) -> str:
    """A manifest, a list or an index manifest of the newest snapshot of dev."""
    table = bench.table("dev")
    head = table.snapshots.get(4)
    if kind == "index manifest":
        return table.paths.manifest(str(head.index_manifest))
    if kind == "list":
        return table.paths.manifest(head.delta_manifest_list)
    listed = table.scan.read_list(table.paths, head.delta_manifest_list)
    return table.paths.manifest(str(listed["file_name"][0].as_py()))


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        (lambda bench: str(data_file(bench, ROWS)), "F20"),
        (lambda bench: bench.table("dev").paths.index(f"index-{VECTORS}"), "F20"),
        (lambda bench: metadata_of(bench, "manifest"), "F21"),
        (lambda bench: metadata_of(bench, "list"), "F21"),
        (lambda bench: metadata_of(bench, "index manifest"), "F21"),
    ],
    ids=["a data file", "an index file", "a manifest", "a list", "an index manifest"],
)
def test_what_waits_in_the_trash_comes_back_by_the_undo_that_is_printed(
    place: Place, rule: str, bench: BranchBench, console: CommandLine
) -> None:
    commit_rows_and_vectors(bench)
    path = Path(place(bench))
    whole = path.read_bytes()
    before = bench.live_names("dev")
    clean_away(bench, path)
    (table,) = console("doctor", "db.t", "--deep", "--json").document["tables"]
    (finding,) = [each for each in table["findings"] if each["severity"] == "critical"]
    assert (finding["rule"], finding["branch"]) == (rule, "dev")
    assert finding["evidence"][0] == "operation cleaning"
    assert finding["evidence"][1].startswith(f"{path} is missing")
    assert finding["advice"] == "It waits in the trash of the table. Undo what put it there."
    (remedy,) = finding["remedies"]
    assert remedy["sql"] == "CALL sys.undo(table => 'db.t', operation => 'cleaning')"
    run = console("sql", remedy["sql"])
    assert run.code == 0, run
    assert path.read_bytes() == whole
    assert BranchBench(Path(bench.file_io.root)).live_names("dev") == before
    assert console("doctor", "db.t", "--deep").code == 0


def test_what_lies_in_no_trash_is_told_as_lost_beside_a_cleaning(
    bench: BranchBench, console: CommandLine
) -> None:
    commit_rows_and_vectors(bench)
    orphan = Path(bench.path) / "bucket-0" / f"data-{UUID(int=3)}-0.parquet"
    orphan.write_bytes(b"rows")
    clean_away(bench, orphan)
    data_file(bench, ROWS).unlink()
    (table,) = console("doctor", "db.t", "--deep", "--json").document["tables"]
    (finding,) = [each for each in table["findings"] if each["severity"] == "critical"]
    assert [each["sql"] for each in finding["remedies"]] == [
        "CALL sys.remove_unexisting_files(table => 'db.t$branch_dev', confirm => 'dev')"
    ]


@pytest.mark.parametrize("how", CUTS)
def test_a_list_of_the_trash_that_is_cut_off_hides_no_finding(
    how: str, bench: BranchBench, console: CommandLine
) -> None:
    commit_rows_and_vectors(bench)
    lost = data_file(bench, ROWS)
    clean_away(bench, lost)
    (kept,) = Path(bench.table().paths.trash_dir).glob("*.arrow")
    kept.write_bytes(CUTS[how](kept.read_bytes()))
    # A file of main alone that no trash has.
    data_file(bench, "d").unlink()
    for chosen in (["db.t"], []):
        answer = console("doctor", *chosen, "--deep", "--json")
        assert answer.code == 3, answer
        (table,) = [each for each in answer.document["tables"] if each["table"] == "db.t"]
        told = {each["rule"]: each for each in table["findings"] if each["severity"] == "critical"}
        assert list(told) == ["F20"]
        (unread,) = table["unchecked"]
        assert str(kept) in unread["error"]["message"]
    findings = {each["branch"]: each for each in table["findings"] if each["rule"] == "F20"}
    # What lies in the trash comes back by hand; for what does not, the remedy runs.
    (place,) = kept.parent.glob(f"cleaning/**/{lost.name}")
    assert findings["dev"]["remedies"] == []
    assert findings["dev"]["advice"].endswith(
        f"Move {place} back by hand to the same path below the table."
    )
    confirmed = ("remove-unexisting-files", "db.t$branch_dev", "--confirm", "dev")
    refused = console(*confirmed)
    assert refused.code not in (0, 1)
    assert f"{lost} lies in the trash of the table." in refused.err
    assert f"Move {place} back by hand to the same path below the table" in refused.err
    assert str(kept) in refused.err
    assert f"{ROWS}" in str(bench.live_names("dev"))
    place.rename(lost)
    assert console(*confirmed).code == 0
    assert f"{ROWS}" in str(bench.live_names("dev"))
    (remedy,) = findings["main"]["remedies"]
    assert console("sql", remedy["sql"]).code == 0
    assert "data-d.parquet" not in bench.live_names()
