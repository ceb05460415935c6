"""The quality gate of a merge of the catalog: all tables are judged before any is published."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, NotAllowed, PaimonError, Refused
from branch_console.format.catalog.catalog_version import VersionKind
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.procedures.browse.activity import read_catalog_events
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.kept_receipts import read_catalog_receipts
from branch_console.procedures.run.all_tables import all_tables
from branch_console.sql.answer import Answer
from branch_console.table.table_state import StagedState
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.local_row_engine import LocalFiles
from tests.unit.procedures.test_catalog_merge_run import TABLES, changed_warehouse

RULES = (
    "table: {name}\nrules:\n  - {{id: {rule}, rule: not_null, columns: [id], severity: block}}\n"
)


class Counting(LocalFiles):
    """Counts rows that break the rule of a table: so many of those that arrive, else none."""

    def __init__(self, broken: dict[str, int], *, before: bool = False) -> None:
        self.broken = broken
        self.before = before
        self.kept: list[str] = []
        self.asked: list[str] = []

    def query(
        self, sql: str, sources: Any, limit: int, progress: Any, *, keeps_times: bool = False
    ) -> tuple[pa.Table, str]:
        ((content, _),) = sources.values()
        name = content.table.identifier.table_name
        arrives = isinstance(content, StagedState) or content.table.branch != "main"
        self.asked.append(f"{name} {'after' if arrives else 'before'}")
        number = self.broken.get(name, 0) if arrives or self.before else 0
        if "failures_0" not in sql:
            return pa.table({"total": [10], "id": [None]}), ""
        return pa.table({"rows_0": [10], "failures_0": [number], "total": [10]}), ""

    def keep(self, operation_id: str, answer: Answer) -> None:
        self.kept.append(operation_id)


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    return warehouse_with_rules(tmp_path / "warehouse")


def warehouse_with_rules(folder: Path) -> CatalogWarehouse:
    """Main, and a branch dev that changed two of three tables, of which each has a rule."""
    found = changed_warehouse(folder)
    for name, rule in (("air.flights", "number"), ("air.planes", "seat"), ("lab.notes", "page")):
        rules(found, name, rule)
    return found


def rules(made: CatalogWarehouse, name: str, rule: str) -> None:
    path = made.folder / ".branch-console" / "quality" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULES.format(name=name, rule=rule))


def merged(
    made: CatalogWarehouse, engine: Counting, role: str = "operator", **more: Any
) -> Receipt:
    call = made.call("merge_catalog_branch", role, branch="dev", **more)
    return run_call(made.warehouse, engine, call, InlineStages())


def test_a_rule_of_one_table_keeps_back_all_of_them(made: CatalogWarehouse) -> None:
    before = made.files()
    engine = Counting({"air.planes": 3})
    with pytest.raises(Refused) as refused:
        merged(made, engine)
    assert refused.value.kind is ErrorKind.GATE_FAILED
    assert refused.value.message.startswith(
        "air.planes: Rule 'seat' fails now, and passed before: 3 of 10 rows break it; before"
    )
    assert "Nothing was changed." in refused.value.message
    assert made.files() == before
    # Every table that gets content was judged, and no other one.
    assert {each.split()[0] for each in engine.asked} == set(TABLES)
    # What was found of each table is kept alone, and all of it as the answer of the job.
    *alone, together = engine.kept
    assert len(alone) == 2
    assert all(each.startswith(f"{together}-") for each in alone)


def test_a_rule_that_cannot_be_checked_is_no_rule_that_fails(made: CatalogWarehouse) -> None:
    class Broken(Counting):
        def query(self, *given: Any, **more: Any) -> tuple[pa.Table, str]:
            raise PaimonError("Spark could not answer a query: EOFException.")

    before = made.files()
    with pytest.raises(PaimonError) as stopped:
        merged(made, Broken({}))
    assert (stopped.value.kind, isinstance(stopped.value, Refused)) == (
        ErrorKind.RULES_NOT_CHECKED,
        False,
    )
    assert stopped.value.message.startswith("The quality rules could not be checked. air.")
    assert "Nothing was changed." in stopped.value.message
    assert made.files() == before


def rules_of_tables(gate: Any) -> list[tuple[str, str]]:
    return [(each["table"], each["rule"]) for each in gate["findings"]]


def test_all_tables_that_fail_are_named(made: CatalogWarehouse) -> None:
    with pytest.raises(Refused) as refused:
        merged(made, Counting(dict.fromkeys(TABLES, 1)))
    assert "air.flights: Rule 'number' fails now" in refused.value.message
    assert "air.planes: Rule 'seat' fails now" in refused.value.message
    gate = refused.value.facts["gate"]
    assert rules_of_tables(gate) == [("air.flights", "number"), ("air.planes", "seat")]


def test_what_passes_is_told_in_the_receipt_and_by_each_snapshot(made: CatalogWarehouse) -> None:
    receipt = merged(made, Counting({}))
    assert receipt.gate is not None
    assert receipt.gate["verdict"] == "pass"
    assert rules_of_tables(receipt.gate) == [("air.flights", "number"), ("air.planes", "seat")]
    assert "Quality rules: pass." in receipt.notes
    found = {}
    for _, table in all_tables(made.warehouse):
        head = table.head()
        assert head is not None
        found[table.identifier.table_name] = (head.properties or {}).get("branch.gate")
    assert found == {"air.flights": "pass", "air.planes": "pass", "lab.notes": None}


def test_what_failed_before_only_warns(made: CatalogWarehouse) -> None:
    receipt = merged(made, Counting({"air.flights": 2}, before=True))
    assert receipt.gate is not None
    assert receipt.gate["verdict"] == "warn"
    assert any(note.startswith("air.flights: Rule 'number' fails") for note in receipt.notes)


def test_an_operator_overrides_with_a_reason_that_everybody_reads(made: CatalogWarehouse) -> None:
    engine = Counting({"air.planes": 3})
    with pytest.raises(NotAllowed, match="override quality rules"):
        merged(made, engine, "editor", override_gate="it is urgent")
    assert engine.asked == []
    receipt = merged(made, engine, override_gate="it is urgent")
    assert receipt.gate is not None
    assert receipt.gate["override"]["reason"] == "it is urgent"
    assert "Quality rules overridden by ann: it is urgent" in receipt.notes
    head = made.warehouse.table(Identifier.parse("air.planes")).head()
    assert head is not None
    assert (head.properties or {})["branch.gate-override-reason"] == "it is urgent"
    # The feed asks for the receipts of all merges at once, and some may be gone.
    versions = read_catalog_events(made.warehouse, most=9)
    (merge,) = {each.operation for each in versions if each.kind is VersionKind.MERGED}
    assert read_catalog_receipts(made.warehouse, ["gone", merge]) == {merge: receipt}


def test_rules_that_change_while_tables_are_judged_make_the_verdict_worthless(
    made: CatalogWarehouse,
) -> None:
    class Changing(Counting):
        def keep(self, operation_id: str, answer: Answer) -> None:
            super().keep(operation_id, answer)
            if len(self.kept) == 2:
                rules(made, "air.flights", "other")

    before = made.of_main()
    with pytest.raises(Refused, match=r"The rules of air\.flights were changed meanwhile"):
        merged(made, Changing({}))
    assert made.of_main() == before


def test_a_preview_names_the_rules_of_each_table(made: CatalogWarehouse) -> None:
    told = made.preview("merge_catalog_branch", branch="dev").consequences
    judged = [each for each in told if "will be run on the result" in each.text]
    assert [each.text.partition(" will")[0] for each in judged] == [
        "1 quality rule of air.flights",
        "1 quality rule of air.planes",
    ]
    assert judged[0].details[0].startswith("number (block): ")
    (made.folder / ".branch-console/quality/air.planes.yaml").write_text("rules: 7")
    preview = made.preview("merge_catalog_branch", branch="dev")
    (blocked,) = [each for each in preview.consequences if "air.planes.yaml" in each.text]
    assert blocked in preview.blocks


def test_a_new_table_is_judged_by_the_rules_of_its_name(made: CatalogWarehouse) -> None:
    made.run("create_table", sql="CREATE TABLE lab.routes (id INT)", branch="dev",
             table="lab.routes$branch_dev", line=1, column=1)  # fmt: skip
    made.commit("lab.routes", 1, branch="dev")
    rules(made, "lab.routes", "route")
    engine = Counting({"lab.routes": 1})
    with pytest.raises(Refused, match=r"lab\.routes: Rule 'route' fails: 1 of 10 rows breaks it"):
        merged(made, engine)
    assert [each for each in engine.asked if "routes" in each] == ["lab.routes after"] * 2
