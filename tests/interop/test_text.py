"""Names, types, options and partition folders are read and written as Java does."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import jpype
import numpy as np
import pytest

from branch_console.errors import PaimonError
from branch_console.format.data_types import data_type_to_json, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.options import Options, parse_duration, parse_memory_size
from branch_console.format.partition_path import partition_path
from branch_console.format.table_schema import TableSchema
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon
from tests.support.java_values import data_type, to_java_row
from tests.support.java_vm import java_class
from tests.support.random_rows import ATOMIC_TYPES, NESTED_TYPES, random_value, row_type_of

pytestmark = pytest.mark.shared_cells

_WRITTEN = [
    *ATOMIC_TYPES,
    *NESTED_TYPES,
    *("INTEGER", "NUMERIC(5,2)", "DEC", "DECIMAL(7)", "TIMESTAMP", "TIME", "CHAR", "VARCHAR"),
    *("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITHOUT TIME ZONE", "DOUBLE PRECISION", "int not null"),
    *("STRING NOT NULL", "  BIGINT  NULL ", "VARIANT", "BLOB", "BINARY", "VARBINARY"),
    {"type": "ARRAY NOT NULL", "element": "INT NOT NULL"},
    {"type": "MAP", "key": "STRING NOT NULL", "value": {"type": "MULTISET", "element": "DATE"}},
]
# With legacy names a folder of binary values holds an address in the memory of the writer.
_PARTITIONS = [
    (written, legacy)
    for written in ATOMIC_TYPES
    for legacy in (True, False)
    if not (legacy and ("BINARY" in written or written == "BYTES"))
]


@pytest.mark.parametrize("written", _WRITTEN, ids=str)
def test_a_type_means_the_same_as_in_java(written: Any, java: JavaPaimon) -> None:
    ours, theirs = parse_data_type(written), data_type(written)
    assert str(ours) == str(theirs.asSQLString())
    assert data_type(data_type_to_json(ours)).equals(theirs)


@pytest.mark.parametrize(
    "text",
    [
        *("db.t", "db.t$branch_dev", "db.t$files", "db.t$branch_dev$files", "db.t$branch_main"),
        *("db.t$branch_a-b_c", "db.a.b", "db.t$a$b", "db.t$branch_b$c$d"),
        *("db.t$branch_b$branch_c", "db.t$audit_log", "t", ""),
    ],
)
def test_an_identifier_means_the_same_as_in_java(text: str, java: JavaPaimon) -> None:
    def ask_java() -> tuple[str, str, str, str | None]:
        found = java_class("catalog.Identifier").fromString(text)
        return (
            str(found.getDatabaseName()),
            str(found.getTableName()),
            str(found.getBranchNameOrDefault()),
            found.getSystemTableName(),
        )

    def ask_us() -> tuple[str, str, str, str | None]:
        found = Identifier.parse(text)
        return found.database, found.table, found.branch, found.system_table

    assert _answer(ask_us) == _answer(ask_java)


@pytest.mark.parametrize(
    "text",
    [
        *("128", "128 b", "1k", "2 kb", "3mb", "4 MB", "5 gibibytes", "1t", "0", " 7 m "),
        *("-1", "1.5 mb", "mb", "", "12 x", "1 000"),
    ],
)
def test_a_size_means_the_same_as_in_java(text: str, java: JavaPaimon) -> None:
    size = java_class("options.MemorySize")
    assert _answer(lambda: parse_memory_size(text)) == _answer(lambda: int(size.parseBytes(text)))


@pytest.mark.parametrize(
    "text",
    [
        *("10", "10 ms", "1 s", "2min", "3 h", "4 d", "5 days", "1 minute", "2 hours", "7 sec"),
        *(
            "1000000 ns",
            "2 µs",
            "9 milliseconds",
            "1 S",
            "-1 s",
            "1.5 s",
            "s",
            "",
            "1 y",
        ),
    ],
)
def test_a_duration_means_the_same_as_in_java(text: str, java: JavaPaimon) -> None:
    parse = java_class("utils.TimeUtils").parseDuration
    assert _answer(lambda: parse_duration(text)) == _answer(lambda: int(parse(text).toMillis()))


@pytest.mark.parametrize(("written", "legacy"), _PARTITIONS)
def test_a_partition_lies_in_the_same_folder_as_in_java(
    written: str,
    legacy: bool,
    java: JavaPaimon,
    rng: Random,
    examples: Examples,
) -> None:
    row_type = row_type_of([written, "INT"])
    schema = TableSchema(
        id=0,
        fields=row_type.fields,
        highest_field_id=1,
        partition_keys=row_type.names,
        primary_keys=(),
        options=Options({"partition.legacy-name": str(legacy).lower()}),
    )
    java_type = data_type(data_type_to_json(row_type))
    serializer = java_class("data.serializer.InternalRowSerializer")(java_type)
    computer = java_class("utils.InternalRowPartitionComputer")(
        "__DEFAULT_PARTITION__", java_type, list(row_type.names), legacy
    )
    to_path = java_class("utils.PartitionPathUtils").generatePartitionPath
    for _ in range(examples(500)):
        values = tuple(_as_text(random_value(rng, each)) for each in row_type.types)
        row = serializer.toBinaryRow(to_java_row(values, java_type))
        expected = str(to_path(computer.generatePartValues(row))).rstrip("/")
        ours = partition_path(values, schema)
        assert ours == expected or _is_same_number_in_old_java(ours, expected), values


def _as_text(value: Any) -> Any:
    """Bytes that are text: what stands for others in a folder's name is up to the decoder."""
    return value.hex().encode() if isinstance(value, bytes) else value


def _is_same_number_in_old_java(ours: str, theirs: str) -> bool:
    """Before Java 19 some floating numbers have more digits than they need (JDK-4511638)."""
    version = int(str(java_class("java.lang.System").getProperty("java.specification.version")))
    first, second = (path.removeprefix("f0=").split("/")[0] for path in (ours, theirs))
    is_number = re.fullmatch(r"-?\d+\.\d+(E-?\d+)?", second) is not None
    return version < 19 and is_number and np.float32(first) == np.float32(second)


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (PaimonError, ValueError, jpype.JException):
        return "refused"
