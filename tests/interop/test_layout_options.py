"""Options of the real Paimon: each has been judged, and tables that use new ones are left alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import Refused
from branch_console.format.layout_options import Effect, judge
from branch_console.format.table_schema import TableSchema
from branch_console.merge.plan import blocks_of
from tests.support.java_paimon import JavaPaimon
from tests.support.java_vm import java_class
from tests.support.merge_bench import MergeBench

_CLASSES = (
    "CoreOptions",
    "flink.FlinkConnectorOptions",
    "iceberg.IcebergOptions",
    "format.OrcOptions",
)
# Parts of keys that CoreOptions keeps as texts: what may stand behind `fields.<column>.`.
_OF_A_COLUMN = (
    "AGG_FUNCTION", "DEFAULT_AGG_FUNCTION", "IGNORE_RETRACT", "NESTED_KEY",
    "NESTED_KEY_NULL_STRATEGY", "NESTED_SEQUENCE_FIELD", "COUNT_LIMIT", "DISTINCT",
    "LIST_AGG_DELIMITER", "MERGE_MAP_TS_FIELD", "MAP_STORAGE_LAYOUT",
    "MAP_SHARED_SHREDDING_MAX_COLUMNS", "MAP_SHARED_SHREDDING_COLUMN_PLACEMENT_POLICY",
    "STATS_MODE_SUFFIX",
)  # fmt: skip
_NO_PART_OF_A_KEY = frozenset(
    {
        "FIELDS_PREFIX", "FIELDS_SEPARATOR", "FILE_INDEX", "COLUMNS", "BLOB_DESCRIPTOR_PREFIX",
        "FILE_FORMAT_ORC", "FILE_FORMAT_AVRO", "FILE_FORMAT_PARQUET", "FILE_FORMAT_CSV",
        "FILE_FORMAT_TEXT", "FILE_FORMAT_JSON", "FILE_FORMAT_MOSAIC",
    }
)  # fmt: skip


def _constants(name: str, kind: str) -> dict[str, object]:
    try:
        fields = java_class(name).class_.getFields()
    except TypeError:
        return {}  # the bundle of this version has no such engine
    return {str(f.getName()): f.get(None) for f in fields if f.getType().getName() == kind}


def test_every_option_of_paimon_has_been_judged(java: JavaPaimon) -> None:
    """A new one fails here: say in `layout_options` what it does to rows."""
    kind = "org.apache.paimon.options.ConfigOption"
    options = [each for name in _CLASSES for each in _constants(name, kind).values()]
    keys = {str(o.key()) for o in options}
    keys |= {str(older.getKey()) for o in options for older in o.fallbackKeys()}
    assert len(keys) > 300, "the options of Paimon were found"
    assert {key for key in keys if judge(key) is None} == set()
    texts = _constants("CoreOptions", "java.lang.String")
    assert sorted(set(texts) - {*_OF_A_COLUMN, *_NO_PART_OF_A_KEY}) == []
    parts = [str(texts[name]) for name in _OF_A_COLUMN if name in texts]
    assert [part for part in parts if judge(f"fields.c.{part}") is None] == []


def test_what_stops_something_is_off_by_paimons_default(java: JavaPaimon) -> None:
    """Else a table that says nothing would be used under an option that is not served."""
    options = _constants("CoreOptions", "org.apache.paimon.options.ConfigOption").values()
    for option in options:
        judged = judge(str(option.key()))
        assert judged is not None
        default = option.defaultValue()
        if judged.effect not in (Effect.NONE, Effect.FOLLOWED) and default is not None:
            assert str(default).lower() in judged.off, option.key()


_CLUSTERED = {
    "pk-clustering-override": "true",
    "clustering.columns": "amount",
    "deletion-vectors.enabled": "true",
}
_LAYOUTS = {
    "sequence.snapshot-ordering": {"sequence.snapshot-ordering": "true", "write-only": "true"},
    "upsert-key": {"upsert-key": "id"},
    "team": {"team": "air", "owner": "ann"},
}


@pytest.mark.parametrize("option", list(_LAYOUTS))
def test_a_table_with_an_option_that_is_not_served_is_not_merged(
    option: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path, paimon_version: str
) -> None:
    if paimon_version == "1.4.2" and option != "team":
        pytest.skip("this version knows no such option")
    bench = MergeBench(
        open_java(tmp_path), tmp_path, options=_LAYOUTS[option], keyed=option != "upsert-key"
    )
    bench.insert("main", 1, 2)
    bench.java_branch("dev")
    bench.insert("dev", 1, 3)
    bench.insert("main", 2, 4)
    (block,) = blocks_of(bench.plan())
    assert f"This table is not merged here: {_reason(option)}" in block.text
    before = bench.files()
    with pytest.raises(Refused, match=option):
        bench.merge(rows={})
    assert bench.files() == before
    if option == "team":
        for branch in ("main", "dev"):
            bench.alter(branch, lambda table: table.remove_options("team"))
        bench.merge(rows={**bench.rows["main"], **{key: bench.rows["dev"][key] for key in (1, 3)}})
        bench.check()


def test_a_merge_that_does_not_find_a_changed_row_drops_it_not(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    paimon_version: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next option of this kind may be one that nobody has judged, or judged wrongly."""
    if paimon_version == "1.4.2":
        pytest.skip("this version knows no such option")
    # As if nobody knew that the key ranges of such files are none of keys.
    monkeypatch.setattr(TableSchema, "clustering_columns", ())
    bench = MergeBench(open_java(tmp_path), tmp_path, options=_CLUSTERED, keyed=True)
    bench.insert("main", 1, 2, 3, amount=300)
    bench.compact("main")
    bench.java_branch("dev")
    for branch, key in (("dev", 1), ("main", 3)):
        bench.insert(branch, key, amount=400)
        bench.compact(branch)
    before = bench.files()
    with pytest.raises(Refused, match="lie otherwise than is known here"):
        bench.merge(rows={})
    assert bench.files() == before


def _reason(option: str) -> str:
    return f"the option {option!r}" if option == "team" else f"by {option!r} = "
