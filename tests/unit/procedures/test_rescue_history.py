"""A rescue branch lists snapshots of main, which expiry of main by Paimon takes from both."""

import shutil
from pathlib import Path

from branch_console.procedures.browse.branches import list_branches
from tests.support.expiry_bench import ExpiryBench
from tests.support.foreign_expiry import expire_as_paimon


def test_what_a_rescue_branch_lists_of_main_outlives_paimon_s_expiry_once_it_is_tagged(
    tmp_path: Path,
) -> None:
    bench = ExpiryBench(tmp_path / "made")
    for name in "abcd":
        bench.replace(name)
    bench.call("rollback", operation="cut", snapshot=3, cut=True)
    lost = ExpiryBench(shutil.copytree(bench.root, tmp_path / "lost"))
    expire_as_paimon(lost.table())
    assert lost.broken() != []

    branches = list_branches(bench.warehouse(), bench.identifier)
    (finding,) = (
        each
        for branch in branches
        if branch.name == "rescue-cut"
        for each in branch.findings
        if each.rule == "F17"
    )
    assert finding.evidence == ("snapshot 1 of main", "snapshot 2 of main")
    for number, remedy in enumerate(finding.remedies):
        arguments = {name: value for name, value in remedy.arguments.items() if name != "table"}
        bench.call(remedy.procedure, operation=f"remedy-{number}", **arguments)
    expire_as_paimon(bench.table())
    assert bench.snapshot_ids() == (3,)
    assert bench.broken() == []
