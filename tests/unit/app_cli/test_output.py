import json
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, NotFound, Refused
from branch_console.format.data_types import INT, ArrayType, DataField
from branch_console.format.identifier import Identifier
from branch_console_app.cli import output
from branch_console_app.cli.output import (
    count,
    first_rows,
    json_chunks,
    local_time,
    print_error,
    print_fields,
    print_rows,
    print_table,
    progress,
    shown,
    size,
    to_plain,
    visible,
)

Captured = pytest.CaptureFixture[str]


def test_rows_stand_under_their_headings_and_figures_stand_right(capsys: Captured) -> None:
    print_rows(("name", ">rows"), [("a", 1), ("longer", 12345)])
    assert capsys.readouterr().out == "name      rows\na            1\nlonger  12,345\n"


def test_wide_letters_keep_the_columns_aligned(capsys: Captured) -> None:
    print_rows(("name", "x"), [("日本", "1"), ("abcd", "2")])
    assert capsys.readouterr().out.splitlines()[1:] == ["日本  1", "abcd  2"]


def test_rows_that_are_left_out_are_counted(capsys: Captured) -> None:
    print_rows(("n",), [("1",)], total=100_000)
    assert capsys.readouterr().out.splitlines()[-1] == "… 99,999 more"


def test_no_rows_are_said_so(capsys: Captured) -> None:
    print_rows(("n",), [])
    assert capsys.readouterr().out == "none\n"


def test_later_blocks_keep_the_widths_of_earlier_ones(capsys: Captured) -> None:
    print_rows(("name", ">n"), [("first is long", 0), *(("x", n) for n in range(1200))])
    lines = capsys.readouterr().out.splitlines()
    assert {len(line) for line in lines[1:500]} == {len("first is long") + 5}
    assert lines[-1] == "x              1,199"


def test_control_characters_of_others_do_not_reach_the_terminal(capsys: Captured) -> None:
    print_rows(("name",), [("a\x1b[31mred\x07\n\u202e",)])
    print_error(NotFound("no\x1b]0;title\x07 table\nhere", table="t"), as_json=False)
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1] == r"a\x1b[31mred\x07⏎" + r"\u202e"
    assert captured.err == r"error FILE_NOT_FOUND: no\x1b]0;title\x07 table⏎here" + "\n"


def test_a_name_that_is_no_text_can_be_printed() -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert visible(name) == r"caf\udce9"
    assert json.loads("".join(json_chunks({"name": name}))) == {"name": r"caf\udce9"}


def test_values_are_written_for_people() -> None:
    assert [
        shown(each) for each in (None, True, -1234, 7.5, b"\x01\xff", ("a", 1), {"a": None})
    ] == [
        "-",
        "yes",
        "-1,234",
        "7.5",
        "01ff",
        "a, 1",
        "a=-",
    ]
    assert [size(each) for each in (None, 0, 1023, 1536, 5 * 2**40)] == [
        "-",
        "0 B",
        "1,023 B",
        "1.5 KiB",
        "5.0 TiB",
    ]
    assert [count(1, "row"), count(1200, "row")] == ["1 row", "1,200 rows"]


def test_a_time_that_no_calendar_has_is_shown_as_its_number() -> None:
    assert local_time(None) == "-"
    assert local_time(0)[:4] in {"1969", "1970"}
    assert local_time(2**62) == f"{2**62} ms"


def test_json_holds_values_of_the_core() -> None:
    field = DataField(id=3, name="xs", type=ArrayType(element=INT))
    assert to_plain(field) == {
        "id": 3,
        "name": "xs",
        "type": {"type": "ARRAY", "element": "INT"},
        "description": None,
        "default_value": None,
    }
    assert to_plain(Identifier(database="db", table="t", branch="b")) == "db.t$branch_b"
    error = Refused("It moved.", kind=ErrorKind.TARGET_MOVED, branch="b")
    assert to_plain([error]) == [
        {"code": "TARGET_MOVED", "message": "It moved.", "facts": {"branch": "b"}}
    ]
    assert to_plain(MappingProxyType({"a": (1, None)})) == {"a": [1, None]}


def test_what_json_cannot_spell_is_text() -> None:
    values = [float("nan"), float("inf"), Decimal("1.50"), b"\x00\xff", datetime(2024, 2, 29)]
    assert to_plain(values) == ["nan", "inf", "1.50", "00ff", "2024-02-29T00:00:00"]
    assert to_plain(datetime(2024, 1, 1, tzinfo=UTC)) == "2024-01-01T00:00:00+00:00"


@pytest.mark.parametrize("rows", [0, 1, 20_000])
def test_a_table_in_json_is_a_list_of_rows(rows: int) -> None:
    table = pa.table({"n": pa.array(range(rows), pa.int64()), "b": pa.array([b"\1"] * rows)})
    document = json.loads("".join(json_chunks({"count": rows, "rows": table, "none": {}})))
    assert document["count"] == rows
    assert document["rows"] == [{"n": n, "b": "01"} for n in range(rows)]


def test_people_get_fifty_rows_and_programs_all() -> None:
    table = pa.table({"n": range(120)})
    assert first_rows(table, None).num_rows == 50
    assert first_rows(table, None, as_json=True).num_rows == 120
    assert [first_rows(table, limit, as_json=True).num_rows for limit in (0, 7)] == [120, 7]


def test_chosen_columns_of_a_table_get_headings(capsys: Captured) -> None:
    table = pa.table({"record_count": [1, 2000], "file_path": ["a", "b"], "other": [0, 0]})
    print_table(table, 1, {"file": "file_path", "rows": "record_count"})
    assert capsys.readouterr().out.splitlines() == ["file  rows", "a        1", "… 1 more"]


def test_fields_are_two_columns(capsys: Captured) -> None:
    print_fields({"a": 1, "longer": None})
    assert capsys.readouterr().out == "a       1\nlonger  -\n"


def test_an_error_is_one_document_for_programs(capsys: Captured) -> None:
    print_error(NotFound("There is no t.", kind=ErrorKind.TABLE_NOT_FOUND, t="t"), as_json=True)
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "error": {
            "code": "TABLE_NOT_FOUND",
            "message": "There is no t.",
            "facts": {"t": "t"},
        }
    }
    assert captured.err == ""


def test_without_a_terminal_progress_is_a_line_a_step(capsys: Captured) -> None:
    with progress() as tell:
        for message, done in (("Checking.", 0), ("Checking.", 5), ("Publishing.", 0)):
            tell(message, done, 10)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "Checking.\nPublishing.\n")


def test_wide_rows_become_blocks_on_a_terminal(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_is_piped", lambda: False)
    monkeypatch.setenv("COLUMNS", "40")
    print_table(pa.table({f"column_{n}": ["a value of some length"] for n in range(9)}), None)
    printed = capsys.readouterr().out
    assert "1." in printed
    assert "column_8" in printed
