"""A row finds the bucket that Java gives it, whatever the type and the value of its bucket key."""

from pathlib import Path
from typing import Any

import pytest

from branch_console.format.values.bucket import assign_buckets
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.files.data_reader import read_data_file
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.java_paimon import JavaPaimon
from tests.support.java_values import to_java_row
from tests.support.java_vm import java_class
from tests.support.requirements import need_java_paimon
from tests.support.type_matrix import values

_NO_HIVE = ("TIMESTAMP",)


@pytest.mark.parametrize("function", ["default", "hive"])
def test_each_extreme_value_finds_its_bucket(
    function: str, tmp_path: Path, paimon_version: str
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(tmp_path, paimon_version)
    extremes = values("parquet")
    columns = {f"c{number}": kind for number, kind in enumerate(extremes)}
    for kind in ("FLOAT", "DOUBLE"):
        # Java writes all NaNs as the first one.
        del extremes[kind][1:3]
    given = java.create_table("db.given", columns, options={"bucket": "-1"})
    count = max(map(len, extremes.values()))
    rows: list[tuple[Any, ...]] = [
        *(tuple(held[at % len(held)] for held in extremes.values()) for at in range(count)),
        (None,) * len(columns),
    ]
    given.write(rows)
    warehouse = Warehouse.open(str(tmp_path))
    state = ReadState.as_it_is(warehouse.table("db.given"))
    (unit,) = plan_table(warehouse.file_io, state).plan.units
    (file,) = unit.files
    read = read_data_file(
        warehouse.file_io, file, {0: state.schema}, state.schema.fields, with_system=False
    )
    wrong = []
    for name, kind in columns.items():
        if function == "hive" and kind.startswith(_NO_HIVE):
            continue
        options = {"bucket": "997", "bucket-key": name, "bucket-function.type": function}
        table = java.create_table(f"db.by_{name}", columns, options=options)
        wanted = _buckets(table.load(), rows)
        found = assign_buckets(read, warehouse.table(f"db.by_{name}").schema()).to_pylist()
        if found != wanted:
            wrong.append(f"{kind}: {found}, not {wanted}")
    assert not wrong, "\n".join(wrong)


def _buckets(loaded: Any, rows: list[tuple[Any, ...]]) -> list[int]:
    extractor = java_class("table.sink.FixedBucketRowKeyExtractor")(loaded.schema())
    found = []
    for row in rows:
        extractor.setRecord(to_java_row(row, loaded.rowType()))
        found.append(int(extractor.bucket()))
    return found
