"""Rows of a branch of the catalog over tables of several kinds, recounted from what Java reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.java_paimon import JavaPaimon
from tests.support.jobs_at_once import operate
from tests.support.recounted_tables import RecountedTable
from tests.support.spark_in_process import SessionInProcess

_KINDS: Final = ("deduplicate", "partitioned", "marked", "append_marked", "append_partitioned")


@pytest.mark.depth("long")
def test_counts_of_rows_of_a_branch_of_the_catalog_are_those_of_paimon(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "java"
    java = open_java(folder)
    tables = {f"db.{kind}": RecountedTable(java, kind) for kind in _KINDS}
    console = operate(folder, monkeypatch, capsys, SessionInProcess)
    assert console("catalog", "create", "spring").code == 0
    for table in tables.values():
        table.delete("spring", 17, 18)
        table.put("spring", *(table.row(each) for each in (200, 201, 202)))
        table.compact("spring")
    before = {name: table.rows() for name, table in tables.items()}
    told = console.json("catalog", "compare", "main", "spring")
    compared = {each["name"]["a"]: each for each in told["objects"]}
    assert compared.keys() == tables.keys()
    for name, table in tables.items():
        rows, after = compared[name]["rows"], table.rows("spring")
        _holds(rows["a"], len(before[name]))
        _holds(rows["b"], len(after))
        for key, number in table.differing(before[name], after).items():
            bounds = rows[key]
            assert bounds["at_least"] <= number <= bounds["at_most"], (name, rows)
            assert not rows["exact"] or bounds["at_least"] == bounds["at_most"], (name, rows)
    told = [console.json("merge", "spring", "--catalog", *more) for more in (("--preview",), ())]
    after = {name: table.rows() for name, table in tables.items()}
    for each in (each for document in told for each in document["objects"]):
        (found,) = each["plan"]["objects"]
        name = each["name"]["ours"]
        true = tables[name].differing(before[name], after[name])
        assert found["rows_added"] in (None, true["added"]), found
    counts = told[1]["receipt"]["counts"]
    for key, rows in (("rows_before", before), ("rows_after", after)):
        assert counts[key] in (None, sum(map(len, rows.values()))), counts
    undone = console("undo", told[1]["operation_id"], "--json")
    assert undone.code == 0, undone
    for name, table in tables.items():
        same = table.differing(before[name], table.rows())
        assert set(same.values()) == {0}, (name, same)


def _holds(figure: Any, true: int) -> None:
    if figure["rows"] is not None:
        assert figure["rows"] == true, figure
    assert figure.get("most_rows") is None or figure["most_rows"] >= true, figure
