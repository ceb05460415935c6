"""The doctor on warehouses that are broken: evidence, and remedies that can run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.preview import preview_call
from branch_console.sql.parser import WRITING, parse_statements
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine
from tests.support.health import data_file, forget_base_tag_copy, put_data_files, unfence

# What only people remedy: a clock, files of which there is a copy, folders that somebody moved.
BY_PEOPLE = {"F28", "F31", "F32"}


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 2, and a branch that goes on from there."""
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    put_data_files(bench)
    return bench


def drop_base_tag(bench: BranchBench) -> None:
    unfence(bench, "dev")
    forget_base_tag_copy(bench, "dev")
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])


def remove_fence(bench: BranchBench) -> None:
    bench.call("fence_branch", operation="free", branch="dev", fenced=False)
    bench.call("fence_branch", operation="fence", branch="dev")
    unfence(bench, "dev")


def tag_the_branch(bench: BranchBench) -> None:
    unfence(bench, "dev")
    bench.tag("own", "dev")


def lose_commits(bench: BranchBench) -> None:
    """A branch that began with nothing takes the place of main, as other engines let it."""
    bench.append("d")
    bench.call("create_branch", operation="bare", branch="bare", empty=True)
    bench.append("z", branch="bare")
    put_data_files(bench)
    main, bare = bench.table().paths, bench.table("bare").paths
    for number in bench.table().snapshots.ids():
        Path(main.snapshot(number)).unlink()
    Path(main.snapshot(1)).write_bytes(Path(bare.snapshot(1)).read_bytes())


def lose_a_file(bench: BranchBench) -> None:
    data_file(bench, "c").unlink()


def lose_a_manifest(bench: BranchBench) -> None:
    table = bench.table("dev")
    delta = table.scan.read_list(table.paths, table.snapshots.get(3).delta_manifest_list)
    Path(table.paths.manifest(delta["file_name"][0].as_py())).unlink()


def lose_a_schema(bench: BranchBench) -> None:
    Path(bench.table("dev").paths.schema(0)).unlink()


def half_make(bench: BranchBench) -> None:
    bench.call("create_branch", operation="half", branch="half")
    for file in Path(bench.table("half").paths.schema_dir).iterdir():
        file.unlink()


def drop_as_another_engine(bench: BranchBench) -> None:
    bench.call("create_branch", operation="gone", branch="gone")
    root = Path(bench.table("gone").paths.root)
    for file in sorted(root.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    root.rmdir()


@pytest.mark.parametrize(
    ("damage", "wanted"),
    [
        (drop_base_tag, {"F01", "F02"}),
        (remove_fence, {"F23"}),
        (tag_the_branch, {"F05"}),
        (lose_commits, {"F08"}),
        (lose_a_file, {"F20"}),
        (lose_a_manifest, {"F21"}),
        (half_make, {"F25"}),
        (drop_as_another_engine, {"F10"}),
    ],
)
def test_each_finding_has_evidence_and_a_remedy_that_can_run(
    damage: Callable[[BranchBench], None],
    wanted: set[str],
    bench: BranchBench,
    console: CommandLine,
) -> None:
    damage(bench)
    answer = console("doctor", "--deep", "--fail-on", "info", "--json")
    assert answer.code == 1, answer
    (told,) = answer.document["tables"]
    assert wanted <= {each["rule"] for each in told["findings"]}
    for finding in told["findings"]:
        check_finding(bench, finding)


def check_finding(bench: BranchBench, finding: dict[str, Any]) -> None:
    """See that a finding rests on something, and that what it prints would run."""
    assert finding["evidence"], finding
    assert finding["remedies"] or finding["rule"] in BY_PEOPLE, finding
    for number, remedy in enumerate(finding["remedies"]):
        if "command" in remedy:
            assert remedy["command"].startswith("branch-console recover")
            continue
        (statement,) = parse_statements(remedy["sql"])
        if statement.procedure in WRITING or number:
            continue  # what has no preview; what builds on the remedies before it
        call = ProcedureCall(
            name=statement.procedure,
            arguments=statement.arguments,
            actor="ann",
            operation_id="preview",
        )
        found = preview_call(bench.warehouse(), call)
        assert found.can_run, (finding["rule"], [each.text for each in found.consequences])
