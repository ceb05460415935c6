"""Which rows fail a rule: the query that lists all of them, for a check and for a merge."""

from pathlib import Path

import pytest

from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.compare.failing_rows import (
    NO_QUERIES,
    FailingRows,
    find_failing_rows,
)
from branch_console.quality.rule_file import rule_path
from tests.support.branch_bench import BranchBench

RULES = """
table: db.t
rules:
  - {id: key, rule: not_null, columns: [id]}
  - {id: twice, rule: unique, columns: [id], where: "pt > 0"}
  - {id: gone, rule: not_null, columns: [nowhere]}
  - {id: many, rule: row_count_between, min: 3}
  - {id: own, rule: sql, query: "SELECT id FROM {table} WHERE id > 3"}
"""


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("base")
    bench.branch("dev")
    path = Path(rule_path(str(bench.file_io.root), "db.t"))
    path.parent.mkdir(parents=True)
    path.write_text(RULES)
    return bench


def found(bench: BranchBench, name: str, **arguments: Argument) -> FailingRows:
    call = ProcedureCall(
        name=name, arguments={"table": "db.t", **arguments}, actor="ann", operation_id="op"
    )
    return find_failing_rows(bench.warehouse(), call)


def test_a_merge_reads_its_source_whose_rows_would_fail(bench: BranchBench) -> None:
    bench.append("own")
    for name in ("fast_forward", "merge_branch", "dry_run_merge"):
        listing = found(bench, name, branch="dev")
        assert listing.branch == "dev"
        assert listing.is_judged is (name == "fast_forward")
        assert listing.queries == {
            "key": "SELECT * FROM `db`.`t$branch_dev` WHERE (`id` IS NULL)",
            "twice": "SELECT `id`, count(*) AS `rows` FROM `db`.`t$branch_dev` WHERE (pt > 0) AND "
            "(`id` IS NOT NULL) GROUP BY `id` HAVING count(*) > 1 ORDER BY `rows` DESC",
            "own": "SELECT id FROM `db`.`t$branch_dev` WHERE id > 3",
        }


def test_a_merge_that_is_a_fast_forward_reads_what_was_judged(bench: BranchBench) -> None:
    bench.append("new", branch="dev")
    for name in ("merge_branch", "dry_run_merge"):
        assert found(bench, name, branch="dev").is_judged
        assert not found(bench, name, table="db.t", branch="main", target="dev").is_judged


def test_a_check_reads_the_state_that_it_judged(bench: BranchBench) -> None:
    head = found(bench, "check_rules", table="db.t$branch_dev").queries["key"]
    assert head == "SELECT * FROM `db`.`t$branch_dev` WHERE (`id` IS NULL)"
    then = found(bench, "check_rules", version="1").queries["key"]
    assert then == "SELECT * FROM `db`.`t` VERSION AS OF 1 WHERE (`id` IS NULL)"
    sides = found(bench, "check_rules", a="main", b="dev")
    assert (sides.branch, sides.queries["key"], sides.is_judged) == ("dev", head, True)


def test_what_judges_nothing_lists_nothing(bench: BranchBench) -> None:
    assert found(bench, "drop_branch", branch="dev") == NO_QUERIES
