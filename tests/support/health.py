"""What the health of a table tells, and branches without what we give them."""

from collections.abc import Mapping
from pathlib import Path

from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.page_values import Health
from branch_console.storage.table_paths import FENCE_ID
from tests.support.branch_bench import BranchBench


def findings(
    bench: BranchBench, least: HazardSeverity = HazardSeverity.WARNING
) -> dict[str, Mapping[str, HealthFinding]]:
    """The findings of all branches that have some, by branch and rule."""
    items = list_branches(bench.warehouse(), bench.identifier)
    for item in items:
        is_bad = any(each.severity is not HazardSeverity.INFO for each in item.findings)
        assert is_bad == (item.health is Health.AT_RISK)
    found = {
        item.name: {each.rule: each for each in item.findings if each.severity.rank >= least.rank}
        for item in items
    }
    return {name: each for name, each in found.items() if each}


def rules(
    bench: BranchBench, branch: str, least: HazardSeverity = HazardSeverity.WARNING
) -> list[str]:
    """The rules that tell something of a branch, in order."""
    return sorted(findings(bench, least).get(branch, {}))


def unfence(bench: BranchBench, *branches: str) -> None:
    """Take fences away, as another engine does that removes a consumer."""
    bench.store.remover.remove([bench.table(each).paths.consumer(FENCE_ID) for each in branches])


def forget_base_tag_copy(bench: BranchBench, branch: str) -> None:
    """Remove the copy of a base tag that older releases and other engines leave on a branch."""
    tag = bench.table(branch).paths.tag(f"branch-base-{branch}")
    bench.store.remover.remove([tag])


def data_file(bench: BranchBench, name: str) -> Path:
    """Where the data file lies that the bench committed under a name."""
    return Path(f"{bench.path}/bucket-0/data-{name}.parquet")


def put_data_files(bench: BranchBench) -> None:
    """Write what commits of the bench only name: files as long as their entries say."""
    for branch in ("main", *bench.table().branches.names()):
        table = bench.table(branch)
        for snapshot in table.snapshots.all():
            for entry in table.live_files(snapshot).to_pylist():
                file = Path(f"{bench.path}/bucket-0/{entry['file_name']}")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(b"x" * entry["file_size"])
