"""How a count is said: rows only if a query returns them, else records in files."""

from dataclasses import replace

import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.diff.file_figures import files_figure, net_deletes, state_figure
from branch_console.diff.rows.row_figure import (
    FigureColumn,
    RowCounts,
    RowFigure,
    add_up,
    commit_figures,
    with_sign,
)
from branch_console.format.data_types import INT
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    NO_INDEX_FILES,
    deletion_vector_entry,
)
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.deletion_vector import DeletionVectorRange
from tests.support.table_files import EMPTY_ROW
from tests.unit.diff.histories import snapshot
from tests.unit.table.manifest_entries import added


def a_schema(*keys: str, **options: str) -> TableSchema:
    made = new_schema([("id", INT)], primary_keys=keys)
    return replace(made, options=Options({**made.options, **options}))


APPEND, KEYED = a_schema(), a_schema("id")
ROWS_3, RECORDS_10 = RowFigure(rows=3, records=10), RowFigure(rows=None, records=10)


def hides(*counts: int | None) -> pa.Table:
    ranges = [
        DeletionVectorRange(data_file=f"f{at}", offset=at, length=1, cardinality=each)
        for at, each in enumerate(counts)
    ]
    entry = deletion_vector_entry((EMPTY_ROW, 0), "index-1", 9, ranges)
    return pa.Table.from_pylist([entry], schema=INDEX_MANIFEST_ENTRY)


def deleting(files: pa.Table, *deletes: int | None) -> pa.Table:
    at = MANIFEST_ENTRY.get_field_index("delete_row_count")
    return files.set_column(at, MANIFEST_ENTRY.field(at), pa.array(deletes, pa.int64()))


@pytest.mark.parametrize(
    ("schema", "marks", "figure"),
    [
        (APPEND, NO_INDEX_FILES, RowFigure(rows=20, records=20)),
        (APPEND, hides(3, 4), RowFigure(rows=13, records=20)),
        (APPEND, hides(3, None), RowFigure(rows=None, records=20, most_rows=20)),
        (KEYED, NO_INDEX_FILES, RowFigure(rows=None, records=20)),
        (
            a_schema(**{"data-evolution.enabled": "true"}),
            NO_INDEX_FILES,
            RowFigure(rows=None, records=20),
        ),
        (
            a_schema(**{"scan.fallback-branch": "old"}),
            NO_INDEX_FILES,
            RowFigure(rows=None, records=20),
        ),
    ],
)
def test_what_a_snapshot_tells(schema: TableSchema, marks: pa.Table, figure: RowFigure) -> None:
    head = snapshot("m2", rows=20, index_manifest="index-manifest-1")
    assert state_figure(head, schema, "main", lambda _: marks) == figure
    assert state_figure(None, schema, "main", lambda _: marks).records in (0, None)


@pytest.mark.parametrize(
    ("files", "rows"),
    [
        (deleting(added("x", "y", level=5), 0, 0), 20),
        (deleting(added("x"), 0), 10),
        (deleting(added("x", "y"), 0, 0), None),
        (deleting(added("x", level=5), 1), None),
        (deleting(added("x", level=5), None), None),
        (
            pa.concat_tables([deleting(added("x", level=5), 0), deleting(added("y", level=4), 0)]),
            None,
        ),
        (pa.concat_tables([deleting(added("x", bucket=1), 0), deleting(added("y"), 0)]), 20),
        (pa.concat_tables([deleting(added("x", bucket=-2), None), deleting(added("y"), 0)]), 10),
        (MANIFEST_ENTRY.empty_table(), 0),
    ],
)
def test_rows_of_keys_are_told_by_one_sorted_run_without_deletes(
    files: pa.Table, rows: int | None
) -> None:
    found = files_figure(files, NO_INDEX_FILES, KEYED, "main")
    assert found == RowFigure(rows=rows, records=10 * files.num_rows)
    assert files_figure(files, hides(1), KEYED, "main").rows is None


def test_what_readers_skip_until_a_compaction_is_no_row() -> None:
    vectors = a_schema("id", **{"deletion-vectors.enabled": "true"})
    runs = [deleting(added(name, level=at), 0) for name, at in (("x", 5), ("y", 4), ("z", 0))]
    files = pa.concat_tables(runs)
    assert files_figure(files, hides(2), vectors, "main") == RowFigure(rows=18, records=30)
    on_read = replace(
        vectors, options=Options({**vectors.options, "deletion-vectors.merge-on-read": "true"})
    )
    assert files_figure(files, hides(2), on_read, "main").rows is None


def test_a_commit_that_hides_rows_adds_no_rows_and_removes_none_that_are_told() -> None:
    line = [
        snapshot("m1", rows=10),
        snapshot("m2", rows=0, index_manifest="i1"),
        snapshot("m3", rows=5, index_manifest="i1"),
    ]
    figures = commit_figures(line, None, APPEND, "main")
    assert [each.rows for each in figures] == [10, None, 5]
    assert add_up(figures) == RowFigure(rows=None, records=15)
    assert commit_figures(line[2:], None, APPEND, "main")[0].rows is None
    assert {each.rows for each in commit_figures(line, None, KEYED, "main")} == {None}


def test_rows_and_records_are_never_added_to_each_other() -> None:
    assert add_up([ROWS_3, RECORDS_10]) == RowFigure(rows=None, records=20)
    assert add_up([]) == RowFigure(rows=0, records=0)


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (ROWS_3, "3 rows"),
        (RowFigure(rows=1, records=1), "1 row"),
        (RECORDS_10, "10 records in files"),
        (RowFigure(rows=None, records=9, most_rows=1_234), "≤ 1,234 rows"),
        (RowFigure(rows=None, records=None), "\N{EN DASH}"),
    ],
)
def test_words_say_what_is_counted(figure: RowFigure, words: str) -> None:
    assert figure.words() == words


def test_a_column_says_once_what_it_counts_unless_it_counts_both() -> None:
    assert FigureColumn.of([RECORDS_10, RECORDS_10], with_sign) == FigureColumn(
        title="Records in files", cells=("+10", "+10")
    )
    assert FigureColumn.of([ROWS_3, RECORDS_10]) == FigureColumn(
        title="Rows", cells=("3", "10 records in files")
    )


def test_counted_rows_are_said_as_what_became_of_them() -> None:
    counts = RowCounts(before=336_776, after=335_751, added=0, removed=1_025, changed=717)
    assert counts.words == "1,025 rows removed, 717 changed"
    assert RowCounts(before=1, after=1, added=0, removed=0, changed=0).words == "no row differs"
    assert RowCounts(before=1, after=2, added=1, removed=0, changed=0).words == "1 row added"


def a_delete(*, records: int, deletes: int) -> RowFigure:
    return RowFigure(rows=None, records=records, deletes=deletes)


def test_deletes_are_named_among_the_records_of_files() -> None:
    updates, deletes = a_delete(records=717, deletes=0), a_delete(records=1025, deletes=1025)
    both = add_up([updates, deletes])
    assert both.words(with_sign) == "+1,742 records in files, 1,025 of them deletes"
    assert deletes.words(with_sign) == "+1,025 records in files, all of them deletes"
    assert updates.words(with_sign) == "+717 records in files"
    assert FigureColumn.of_changes([deletes, updates], with_sign).cells == (
        "+1,025, all deletes",
        "+717",
    )
    assert both.to_object() == {"rows": None, "records": 1742, "deletes": 1025}
    # A compaction takes away more records than the deletes before it added.
    fewer = add_up([both, a_delete(records=-2000, deletes=0)])
    assert fewer.words(with_sign) == "-258 records in files, 1,025 more deletes"


def test_unknown_deletes_are_not_called_none() -> None:
    unread = RowFigure(rows=None, records=10)
    both = add_up([unread, a_delete(records=5, deletes=5)])
    assert both.deletes is None
    assert both.words(with_sign) == "+15 records in files"
    assert "deletes" not in both.to_object()


def test_counted_rows_say_nothing_of_deletes() -> None:
    counted = RowFigure(rows=-5, records=5, deletes=5)
    assert counted.words(with_sign) == "-5 rows"


def test_a_commit_counts_the_deletes_of_its_files() -> None:
    entries = deleting(pa.concat_tables([added("a"), added("b")]), 3, 4)
    assert net_deletes(entries) == 7
    at = MANIFEST_ENTRY.get_field_index("kind")
    kinds = pa.array([0, 1], MANIFEST_ENTRY.field(at).type)
    assert net_deletes(entries.set_column(at, MANIFEST_ENTRY.field(at), kinds)) == -1
    assert net_deletes(deleting(entries, 3, None)) is None
