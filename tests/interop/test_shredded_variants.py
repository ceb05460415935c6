"""Values of VARIANT that real Paimon shreds into columns: read here, written again, read there."""

import json
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import VariantVal

from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_values import FieldType
from tests.support.local_tables import rows_of
from tests.support.our_rows import OurRows

_FULL: Final = pytest.mark.depth("full")
_QUICK: Final = ("object", "inferred")
Open = Callable[[Path], JavaPaimon]

_JSON: Final = (
    '{"a":1,"b":"text","c":{"d":[1,"two",null,{"e":2.50}],"f":true},"g":1.25}',
    '{"z":{"y":"left over","x":[[]]},"a":70000,"c":{"d":[]}}',
    '{"c":{"d":"no list","f":"no truth","rest":[{"e":1}]},"g":12345678901234567890.123,"a":null}',
    '{"a":5000000000,"b":null,"g":7}',
    '{"b":"' + "long" * 20 + '","ä€😀":1,"\uffff":2}',
    "{" + ",".join(f'"n{at:03d}":{at}' for at in range(300)) + "}",
    json.dumps({"c": {"d": [{"e": at} for at in range(300)]}}, separators=(",", ":")),
    "{}", "[1,2]", '"alone"', "12", "null", "true", "1.5e300",
    None,
)  # fmt: skip


def _row(*fields: tuple[str, Any]) -> FieldType:
    named = [{"id": at, "name": name, "type": kind} for at, (name, kind) in enumerate(fields)]
    return {"type": "ROW", "fields": named}


def _list(element: Any) -> FieldType:
    return {"type": "ARRAY", "element": element}


_OBJECT: Final = _row(
    ("a", "INT"),
    ("b", "STRING"),
    ("c", _row(("d", _list(_row(("e", "DECIMAL(9, 2)")))), ("f", "BOOLEAN"))),
    ("g", "DECIMAL(38, 3)"),
)
_WAYS: Final = {
    "object": _OBJECT,
    "left over": _row(("z", "VARIANT"), ("c", "VARIANT"), ("a", "BIGINT"), ("g", "DOUBLE")),
    "list": _list("TINYINT"),
    "text": "STRING",
    "number": "DOUBLE",
    "inferred": None,
}
# An object is inferred where all values are objects.
_OBJECTS: Final = (*_JSON[:7], None)


def _options(way: str) -> dict[str, str]:
    kind = _WAYS[way]
    if kind is None:
        return {"variant.inferShreddingSchema": "true"}
    # Paimon 1.4.2 hears this spelling alone.
    return {"parquet.variant.shreddingSchema": json.dumps(_row(("v", kind)))}


def _table(
    java: JavaPaimon, name: str, texts: Sequence[str | None], options: dict[str, str], **keys: Any
) -> JavaTable:
    # Java 1.4.2 cannot write one in a row under the name of the column that it shreds.
    nested: dict[str, FieldType] = {"r": _row(("w", "VARIANT")), "l": _list("VARIANT")}
    columns: dict[str, FieldType] = {"k": "INT", "v": "VARIANT", **nested}
    table = java.create_table(f"db.{name}", columns, options=options, **keys)
    table.write([(at, text, (text,), [text, None]) for at, text in enumerate(texts)])
    return table


def _ours(folder: Path, name: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    warehouse = Warehouse.open(str(folder))
    state = ReadState.as_it_is(warehouse.table(f"db.{name}"))
    rows = rows_of(plan_table(warehouse.file_io, state, columns=columns)).to_pylist()
    return sorted(rows, key=lambda row: row["k"])


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and "metadata" in value:
        return VariantVal(value["value"], value["metadata"]).toPython()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _is_shredded(folder: Path, name: str) -> bool:
    files = (folder / "db.db" / name).rglob("*.parquet")
    return any("typed_value" in str(pq.read_schema(file)) for file in files)


@pytest.mark.parametrize(
    "way",
    ["object", "inferred", *(pytest.param(way, marks=_FULL) for way in _WAYS if way not in _QUICK)],
)
def test_they_are_read_as_if_nothing_was_shredded(
    open_java: Open, tmp_path: Path, way: str
) -> None:
    """Also where the option is reset after a file was written."""
    java = open_java(tmp_path)
    texts = _OBJECTS if way == "inferred" else _JSON
    unaware = {"bucket": "-1"}
    table = _table(java, "cut", texts, {**unaware, **_options(way)})
    _table(java, "whole", texts, unaware)
    assert _is_shredded(tmp_path, "cut")
    cut, whole = _ours(tmp_path, "cut"), _ours(tmp_path, "whole")
    assert _plain(cut) == _plain(whole)
    if way in ("left over", "list", "text"):
        # Shredded decimals have one scale; else not a byte is another.
        assert cut == whole
    table.remove_options(*_options(way))
    assert _ours(tmp_path, "cut") == cut
    assert _ours(tmp_path, "cut", ["k"]) == [{"k": at} for at in range(len(texts))]


@pytest.mark.parametrize("keys", [(), ("k",)], ids=["append", "key"])
def test_java_reads_what_is_written_again_and_beside(
    open_java: Open, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    """We shred nothing, whatever the option says: each file tells its own."""
    java = open_java(tmp_path)
    options = {**_options("object"), "bucket": "1" if keys else "-1"}
    table = _table(java, "t", _JSON, options, primary_keys=keys)
    theirs = sorted(table.rows(), key=itemgetter(0))
    ours = OurRows(Warehouse.open(str(tmp_path)), "db.t")
    given = [tuple(row.values()) for row in _ours(tmp_path, "t")]
    ours.write([(100 + at, *(_given(value) for value in row)) for at, *row in given])
    beside = [*theirs, *((100 + at, *row) for at, *row in theirs)]
    assert sorted(table.rows(), key=itemgetter(0)) == beside
    ours.compact()
    assert sorted(table.rows(), key=itemgetter(0)) == beside
    assert not any("typed_value" in str(pq.read_schema(each)) for each in _live(tmp_path, table))


def _given(value: Any) -> Any:
    """A value as `OurRows` takes it: those of a row are a tuple."""
    is_row = isinstance(value, dict) and "metadata" not in value
    return tuple(value.values()) if is_row else value


def _live(folder: Path, table: JavaTable) -> list[Path]:
    names = {file["file_name"] for file in table.live_files()}
    return [path for path in folder.rglob("*.parquet") if path.name in names]
