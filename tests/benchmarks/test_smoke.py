"""The benchmarks run and their answers are right; how fast they are is not judged here."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks import (
    branch_operations,
    catalog_branches,
    catalog_merges,
    commit_figures,
    commit_one_row,
    commit_storm,
    compare_quality,
    expire_files,
    expire_snapshots,
    live_files,
    merge_append,
    merge_keys,
    metadata_diff,
    orphan_files,
    quick_doctor,
    read_rows,
    write_rows,
)
from tests.benchmarks.contest import (
    OURS,
    Contestant,
    Result,
    Sample,
    at_least,
    at_most,
    hold,
    report,
    to_json,
)
from tests.benchmarks.prepared import prepared
from tests.benchmarks.synthetic import SyntheticTable, make_table
from tests.support.requirements import (
    need_chromium,
    need_doltlite,
    need_java_paimon,
    need_pypaimon,
    need_s3_server,
)

_ROOT = Path(__file__).parents[2]

_JAVAS: Mapping[str, Callable[[], object]] = {
    "java 1.4.2": lambda: need_java_paimon("1.4.2"),
    "java 2.0.0": lambda: need_java_paimon("2.0.0"),
}
_PEERS: Mapping[str, Callable[[], object]] = {
    **_JAVAS,
    live_files.PYPAIMON: need_pypaimon,
}


def beside(
    peers: Mapping[str, Callable[[], object]] = _PEERS, *, ours: str = "quick", peer: str = ""
) -> pytest.MarkDecorator:
    """A test of ours and of each peer, which run at night: they tell nothing of ours.

    Args:
        peers: The peers of the benchmark, and what checks that they are installed.
        ours: The least depth at which ours runs.
        peer: One that a full run takes too, to see that a contest is held.
    """
    least = {OURS: ours, **dict.fromkeys(peers, "long")}
    if peer:
        least[peer] = "full"
    return pytest.mark.parametrize(
        ("name", "need"),
        [
            pytest.param(
                name,
                need,
                id=name,
                marks=() if least[name] == "quick" else pytest.mark.depth(least[name]),
            )
            for name, need in {OURS: lambda: None, **peers}.items()
        ],
    )


@pytest.fixture(scope="module", params=live_files.CASES["tiny"], ids=str)
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> SyntheticTable:
    entries, manifests = request.param
    return make_table(tmp_path_factory.mktemp("benchmark") / "warehouse", entries, manifests)


@beside(peer="java 1.4.2")
def test_all_find_the_same_live_files(
    table: SyntheticTable, name: str, need: Callable[[], object]
) -> None:
    need()
    contestants, _ = live_files.find_contestants(table)
    chosen = [each for each in contestants if each.name == name]
    expected = {"files": table.live_files, "rows": table.live_rows, "bytes": table.live_bytes}
    (sample,), wrong = hold(chosen, table.warehouse, 1, expected)
    assert wrong == ()
    assert sample.answer == expected
    assert sample.peak_rss_bytes > 0
    assert table.live_files == 196


@pytest.mark.parametrize(
    "case",
    # To rename or to drop branches, a contestant has to create them first; ours alone protects.
    [
        case
        for case in branch_operations.CASES["tiny"]
        if case.operation not in ("create", branch_operations.PROTECT)
    ],
    ids=lambda case: case.operation,
)
@beside(ours="full")
def test_all_end_with_the_same_branches(
    tmp_path: Path, case: branch_operations.Case, name: str, need: Callable[[], object]
) -> None:
    need()
    branch_operations.make_warehouse(tmp_path / "warehouse", case)
    contestants, _ = branch_operations.find_contestants(case)
    chosen = [each for each in contestants if each.name == name]
    expected = branch_operations.expected(case)
    (sample,), wrong = hold(chosen, tmp_path / "warehouse", 1, expected)
    assert wrong == ()
    assert len(sample.warm) == branch_operations.CALLS - 1


@beside()
def test_all_commit_one_row(tmp_path: Path, name: str, need: Callable[[], object]) -> None:
    need()
    size, _ = commit_one_row.CASES["tiny"]
    _check_one_row(tmp_path / "warehouse", size, name)


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    "name",
    [OURS, pytest.param(commit_figures.PYPAIMON, marks=pytest.mark.depth("long"))],
)
def test_one_row_is_committed_in_a_bucket_at_the_end_of_a_slow_line(
    tmp_path: Path, name: str
) -> None:
    need_s3_server()
    need_pypaimon()
    _, size = commit_one_row.CASES["tiny"]
    assert size.line_millis is not None
    sample = _check_one_row(tmp_path / "warehouse", size, name)
    # Each waits for more than one answer, however it commits.
    assert min(sample.warm) > 2 * size.line_millis / 1_000


@pytest.mark.depth("full")
def test_the_disk_alone_makes_its_files_durable(tmp_path: Path) -> None:
    size = commit_one_row.CASES["tiny"][0]
    commit_one_row.make_warehouse(tmp_path / "warehouse", size)
    contestants = [commit_one_row.DISK_ALONE]
    (sample,), wrong = hold(contestants, tmp_path / "warehouse", 1, commit_one_row.EXPECTED)
    assert wrong == ()
    assert len(sample.warm) == commit_one_row.CALLS - 1
    (floor,) = (tmp_path / "scratch").glob("*/warehouse/db.db/t")
    assert len(list(floor.glob("manifest/floor-*"))) == 3 * commit_one_row.CALLS
    assert not list(floor.glob("snapshot/.*"))


def _check_one_row(warehouse: Path, size: commit_one_row.Size, name: str) -> Sample:
    commit_one_row.make_warehouse(warehouse, size)
    chosen, _ = commit_figures.find_contestants(
        "tests.benchmarks.child_storm", *commit_one_row.arguments(size), names=[name]
    )
    (sample,), wrong = hold(chosen, warehouse, 1, commit_one_row.EXPECTED)
    assert wrong == ()
    assert len(sample.warm) == commit_one_row.CALLS - 1
    assert sum(value for key, value in sample.answer.items() if "lost" in key) == 0
    return sample


@pytest.mark.depth("full")
def test_a_storm_of_ours_loses_nothing(tmp_path: Path) -> None:
    (storm,) = commit_storm.CASES["tiny"]
    make_table(tmp_path / "warehouse", 100, 1)
    chosen, _ = commit_figures.find_contestants(
        "tests.benchmarks.child_storm", *commit_storm.arguments(storm), names=[OURS]
    )
    (sample,), wrong = hold(chosen, tmp_path / "warehouse", 1, commit_storm.expected(storm))
    assert wrong == ()
    assert len(sample.warm) == storm.processes * storm.commits == sample.answer["snapshots"]


@beside({read_rows.PYPAIMON: need_pypaimon}, ours="long")
def test_all_read_the_same_rows(tmp_path: Path, name: str, need: Callable[[], object]) -> None:
    """Of keys; Spark's own reading of Parquet takes too long to be asked here."""
    need()
    case = read_rows.CASES["tiny"][1]
    read_rows.make_warehouse(tmp_path / "warehouse", case)
    contestants, _ = read_rows.find_contestants(case)
    chosen = [each for each in contestants if each.name == name]
    (sample,), wrong = hold(chosen, tmp_path / "warehouse", 1, case.expected)
    assert wrong == ()
    assert sample.answer == case.expected


def _sample(name: str, cold: float, files: int = 1) -> Sample:
    return Sample(
        contestant=name,
        cold=cold,
        warm=(cold / 10,),
        peak_rss_bytes=10**8,
        process=1.0,
        answer={"files": files},
    )


def test_ratios_are_taken_round_by_round() -> None:
    samples = tuple(
        _sample(name, cold)
        for name, cold in ((OURS, 1.0), ("peer", 3.0), (OURS, 2.0), ("peer", 20.0))
    )
    result = Result(
        benchmark="B1",
        case={"entries": 1},
        samples=samples,
        targets=(at_most("fast", 1.5, 1.0), at_least("faster", None, 1.0)),
        absent={"other": "not installed"},
    )
    assert result.ratios("peer", "cold") == [3.0, 10.0]
    text = report(result)
    assert "6.5" in text
    assert "(3.0-10.0)" in text
    assert "MISSED" in text
    assert "not measured" in text
    assert "not installed" in text
    assert json.loads(to_json([result], scale="tiny"))["results"][0]["case"] == {"entries": 1}


def test_a_wrong_answer_is_told_and_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = '{"cold": 1, "warm": [1], "peak_rss_kib": 1, "answer": {"files": 2}}'
    liar = Contestant(name=OURS, command=lambda _: ["echo", lines])
    samples, wrong = hold([liar], tmp_path, 1, {"files": 1})
    assert wrong == ("ours found {'files': 2}, expected {'files': 1}",)

    def run(scale: str, rounds: int, folder: Path) -> list[Result]:
        return [Result(benchmark="B1", case={"entries": 1}, samples=samples, wrong=wrong)]

    monkeypatch.setitem(command.BENCHMARKS, "B1", run)
    found = tmp_path / "found.json"
    assert command.main(["--only", "B1", "--scale", "tiny", "--json", str(found)]) == 1
    assert json.loads(found.read_text())["machine"]["per_second"]["create"] > 0


@beside({write_rows.PYPAIMON: need_pypaimon}, ours="long")
def test_all_write_the_same_rows(tmp_path: Path, name: str, need: Callable[[], object]) -> None:
    need()
    (size,) = write_rows.CASES["tiny"]
    contestants, _ = write_rows.find_contestants(size)
    chosen = [each for each in contestants if each.name == name]
    expected = {"rows": size.rows * write_rows.CALLS, "snapshots": write_rows.CALLS}
    _, wrong = hold(chosen, tmp_path, 1, expected)
    assert wrong == ()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name)
        for name, case in zip(("no key", "key"), compare_quality.CASES["tiny"], strict=True)
    ],
)
@pytest.mark.depth("long")
def test_the_quality_of_a_branch_is_told_from_its_own_files(
    case: compare_quality.Case, tmp_path: Path
) -> None:
    """What plain Spark finds is the same, and takes too long to be asked here."""
    own_bytes = compare_quality.make_warehouse(tmp_path / "warehouse", case)
    chosen = [each for each in compare_quality.find_contestants(case)[0] if each.name == OURS]
    (sample,), wrong = hold(chosen, tmp_path / "warehouse", 1, case.expected)
    assert wrong == ()
    assert sample.answer["bytes"] == own_bytes


def test_branches_of_the_catalog_are_made_and_listed(tmp_path: Path) -> None:
    results = list(catalog_branches.run("tiny", 1, tmp_path))
    assert [each.case["operation"] for each in results] == ["eager", "lazy", "list"]
    assert [each.wrong for each in results] == [(), (), ()]


def test_a_merge_of_the_catalog_is_published_and_recovered(tmp_path: Path) -> None:
    results = list(catalog_merges.run("tiny", 1, tmp_path))
    assert [each.case["operation"] for each in results] == ["publish", "recover"]
    assert [each.wrong for each in results] == [(), ()]
    assert results[0].contestants == [OURS, catalog_merges.EACH]


@pytest.mark.depth("full")
def test_the_files_that_are_needed_and_the_snapshots_that_expire_are_counted(
    tmp_path: Path,
) -> None:
    results = list(expire_files.run("tiny", 1, tmp_path))
    assert [each.benchmark for each in results] == ["B20", "B21", "B24"]
    assert [each.wrong for each in results] == [(), (), ()]


@beside(_JAVAS, ours="full")
def test_all_leave_the_same_snapshots(
    tmp_path: Path, name: str, need: Callable[[], object]
) -> None:
    need()
    (case,) = expire_snapshots.CASES["tiny"]
    expire_snapshots.make_warehouse(tmp_path / "warehouse", case)
    chosen, _ = commit_figures.find_contestants("tests.benchmarks.child_expire", names=[name])
    _, wrong = hold(chosen, tmp_path / "warehouse", 1, case.expected)
    assert wrong == ()


@beside(_JAVAS, ours="full")
def test_all_find_the_same_orphan_files(
    tmp_path: Path, name: str, need: Callable[[], object]
) -> None:
    """Ours removes them, for which it has to find them."""
    need()
    find, _, remove = orphan_files.CASES["tiny"]
    case = remove if name == OURS else find
    orphan_files.make_warehouse(tmp_path / "warehouse", case.content)
    child = "tests.benchmarks.child_orphans"
    chosen, _ = commit_figures.find_contestants(child, case.question, names=[name])
    _, wrong = hold(chosen, tmp_path / "warehouse", 1, {"orphans": case.content.orphans})
    assert wrong == ()


@pytest.mark.depth("full")
def test_orphan_files_are_found_in_a_bucket(tmp_path: Path) -> None:
    case = orphan_files.CASES["tiny"][1]
    warehouse = tmp_path / "warehouse"
    orphan_files.make_warehouse(warehouse, case.content)
    need_s3_server()
    with orphan_files.in_bucket(warehouse) as ours:
        assert not warehouse.exists()
        _, wrong = hold([ours], warehouse, 1, {"orphans": case.content.orphans})
    assert wrong == ()
    assert (warehouse / "db.db" / "t" / "manifest").is_dir()


def test_a_table_is_made_once_and_again_after_it_was_changed(tmp_path: Path) -> None:
    made = []

    def make(warehouse: Path) -> int:
        made.append(warehouse)
        warehouse.mkdir()
        return len(made)

    first = prepared(tmp_path, "a case", make)
    assert prepared(tmp_path, "a case", make) == first
    assert prepared(tmp_path, "another case", make).warehouse != first.warehouse
    assert made == [first.warehouse, made[1]]
    first.forget()
    assert prepared(tmp_path, "a case", make) == replace(first, expected=3)


def test_kept_tables_are_found_by_a_later_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    options = ["--only", "B20,B23", "--scale", "tiny", "--prepared", str(kept)]
    assert command.main([*options, "--prepare"]) == 0
    tables = sorted(kept.glob("*/warehouse/db.db/t"))
    assert len(tables) == len(expire_files.CASES["tiny"])

    def make(*_: object) -> None:
        raise AssertionError("a table is made that is there")

    monkeypatch.setattr(expire_files, "make_table", make)
    assert command.main([*options, "--prepare"]) == 0
    with pytest.raises(SystemExit):
        command.main(["--prepare"])


def test_the_doctor_looks_at_every_branch(tmp_path: Path) -> None:
    (result,) = quick_doctor.run("tiny", 1, tmp_path)
    assert result.wrong == ()


# It has a console and a browser of its own; by day tests/browser/test_large.py opens such tables.
@pytest.mark.depth("long")
def test_every_page_of_a_large_table_opens_and_answers_clicks(tmp_path: Path) -> None:
    need_chromium()
    found = tmp_path / "figures.json"
    options = ["--only", "B11", "--scale", "tiny", "--repeats", "1", "--json", str(found)]
    # Of its own, as one process drives one browser at a time.
    subprocess.run([sys.executable, "-m", "tests.benchmarks", *options], check=True, cwd=_ROOT)
    pages = [each["case"]["page"] for each in json.loads(found.read_text())["results"]]
    assert len(pages) == 20 + pages.count("first-of-all")


# The walks of tests/browser go these ways too, and do not count.
@pytest.mark.depth("long")
def test_merges_of_the_demo_take_few_clicks(tmp_path: Path) -> None:
    need_chromium()
    found = tmp_path / "figures.json"
    options = ["--only", "B11-demo", "--repeats", "1", "--json", str(found)]
    subprocess.run([sys.executable, "-m", "tests.benchmarks", *options], check=True, cwd=_ROOT)
    ways = [each for each in json.loads(found.read_text())["results"] if "merge" in each["case"]]
    clicks = [each["targets"][0] for each in ways]
    assert [each["value"] for each in clicks if not each["is_met"]] == []
    assert len(clicks) == 2


@beside({merge_keys.DOLTLITE: need_doltlite}, ours="full")
def test_all_merge_the_same_keys(tmp_path: Path, name: str, need: Callable[[], object]) -> None:
    need()
    (case,) = merge_keys.CASES["tiny"]
    merge_keys.prepare(name, tmp_path, case)
    chosen = [each for each in merge_keys.find_contestants()[0] if each.name == name]
    _, wrong = hold(chosen, tmp_path, 1, case.expected)
    assert wrong == ()


@beside()
def test_all_tell_the_same_files_apart(
    tmp_path: Path, name: str, need: Callable[[], object]
) -> None:
    need()
    (case,) = metadata_diff.CASES["tiny"]
    metadata_diff.make_warehouse(tmp_path / "warehouse", case)
    chosen = [each for each in metadata_diff.find_contestants(case)[0] if each.name == name]
    expected = {"changed": case.changed}
    (sample,), wrong = hold(chosen, tmp_path / "warehouse", 1, expected)
    assert wrong == ()
    assert name != OURS or sample.answer["shared_manifests_read"] == 0


@beside({merge_append.JAVA: lambda: need_java_paimon("2.0.0")}, ours="full")
def test_all_merge_the_same_files(tmp_path: Path, name: str, need: Callable[[], object]) -> None:
    need()
    (case,) = merge_append.CASES["tiny"]
    files = merge_append.make_warehouse(tmp_path / "warehouse", case)
    chosen = [each for each in merge_append.find_contestants()[0] if each.name == name]
    (sample,), wrong = hold(chosen, tmp_path / "warehouse", 1, {"files": files})
    assert wrong == ()
    assert len(sample.warm) == merge_append.CALLS - 1
