"""Statistics of files that we write rule out no row that a condition holds for.

Each extreme value of each type lies in files of its own, with others and with nulls; Java looks for
it by every comparison. But for long runs, each format gets a few of the types.
"""

from pathlib import Path

import pytest

from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.java_paimon import JavaPaimon
from tests.support.local_tables import LocalTable, rows_of
from tests.support.requirements import need_java_paimon
from tests.support.type_filters import ALL_SIGNS, FEW_SIGNS, find_with_java, java_filters
from tests.support.type_matrix import ALL_KINDS, FORMATS, values

_PARTS = 3


@pytest.fixture
def kinds(file_format: str, pytestconfig: pytest.Config) -> slice:
    """Which types a run tries in a format."""
    is_long = pytestconfig.getoption("--depth") == "long"
    return ALL_KINDS if is_long else slice(FORMATS.index(file_format), None, 2 * len(FORMATS))


@pytest.mark.parametrize("file_format", FORMATS)
def test_java_finds_what_we_write(
    file_format: str, kinds: slice, tmp_path: Path, paimon_version: str
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(tmp_path, paimon_version)
    extremes = dict(list(values(file_format).items())[kinds])
    columns = {f"c{number}": kind for number, kind in enumerate(extremes)}
    options = {"file.format": file_format, "bucket": "-1"}
    source, written = (
        java.create_table(
            name, {"k": "INT", "p": "INT", **columns}, partition_keys=("p",), options=options
        )
        for name in ("db.given", "db.t")
    )
    nothing = (None,) * len(columns)
    rows = [(999, 999, *nothing)]
    for at in range(max(map(len, extremes.values()))):
        one, two = (
            tuple(held[(at + step) % len(held)] for held in extremes.values()) for step in (0, 1)
        )
        first = _PARTS * at
        rows += [(10 * first, first, *one), (10 * first + 11, first + 1, *one)]
        rows += [(10 * first + 12, first + 1, *two), (10 * first + 21, first + 2, *two)]
        rows += [(10 * first + 22, first + 2, *nothing)]
    source.write(rows)
    warehouse = Warehouse.open(str(tmp_path))
    state = ReadState.as_it_is(warehouse.table("db.given"))
    given = rows_of(plan_table(warehouse.file_io, state))
    LocalTable(tmp_path, warehouse.table("db.t").schema()).append(given)
    files = written.live_files()
    row_type = written.load().rowType()
    signs = ALL_SIGNS if kinds == ALL_KINDS else FEW_SIGNS
    wrong, looked_into = [], []
    for number, (kind, held) in enumerate(extremes.items()):
        asked = {each.told: each for each in java_filters(row_type, f"c{number}", held, signs)}
        for ours in find_with_java(written, asked.values()):
            looked_into.append(ours.files)
            missed = set(ours.wanted) ^ set(ours.rows)
            if missed:
                # Java's readers of files miss some in its own.
                (javas,) = find_with_java(source, [asked[ours.told]])
                missed -= set(javas.wanted) ^ set(javas.rows)
            if missed:
                wrong.append(f"{kind} {ours.told}: {missed}")
    assert min(looked_into) < len(files) // 2
    assert max(looked_into) <= len(files)
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:40])
