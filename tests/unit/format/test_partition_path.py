import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from branch_console.errors import InvalidInput
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.options import Options
from branch_console.format.partition_path import (
    escape_path_name,
    partition_path,
    partition_strings,
    partition_words,
)
from branch_console.format.table_schema import TableSchema
from tests.support.path_names import unescape_path_name

_MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 789000)

# What Java prints for the value inside, and what the cast to string gives.
TEXTS: list[tuple[str, Any, str, str]] = [
    ("STRING", "a b", "a b", "a b"),
    ("CHAR(3)", "é", "é", "é"),
    ("BOOLEAN", True, "true", "true"),
    ("BOOLEAN", False, "false", "false"),
    ("TINYINT", -5, "-5", "-5"),
    ("BIGINT", 2**62, "4611686018427387904", "4611686018427387904"),
    ("DECIMAL(10, 2)", Decimal("12.30"), "12.30", "12.30"),
    ("DECIMAL(30, 0)", Decimal(10**29), "1" + "0" * 29, "1" + "0" * 29),
    ("DECIMAL(38, 38)", Decimal("1e-38"), "0." + "0" * 37 + "1", "0." + "0" * 37 + "1"),
    ("FLOAT", 1.0, "1.0", "1.0"),
    ("FLOAT", 0.1, "0.1", "0.1"),
    ("FLOAT", 1e10, "1.0E10", "1.0E10"),
    ("FLOAT", 16777216.0, "1.6777216E7", "1.6777216E7"),
    ("DOUBLE", 0.001, "0.001", "0.001"),
    ("DOUBLE", 0.00099, "9.9E-4", "9.9E-4"),
    ("DOUBLE", 9999999.0, "9999999.0", "9999999.0"),
    ("DOUBLE", 1e7, "1.0E7", "1.0E7"),
    ("DOUBLE", -1.5e-300, "-1.5E-300", "-1.5E-300"),
    ("DOUBLE", -0.0, "-0.0", "-0.0"),
    ("DOUBLE", float("nan"), "NaN", "NaN"),
    ("DOUBLE", float("-inf"), "-Infinity", "-Infinity"),
    ("DATE", dt.date(2022, 1, 8), "19000", "2022-01-08"),
    ("DATE", dt.date(1969, 12, 31), "-1", "1969-12-31"),
    ("TIME(0)", dt.time(1, 2, 3), "3723000", "01:02:03"),
    ("TIME(3)", dt.time(1, 2, 3, 120000), "3723120", "01:02:03.12"),
    ("TIME(2)", dt.time(1, 2, 3, 105000), "3723105", "01:02:03.10"),
    ("TIME(3)", dt.time(1, 2, 3), "3723000", "01:02:03.0"),
    ("TIMESTAMP(3)", _MOMENT, "2024-02-29T12:34:56.789", "2024-02-29 12:34:56.789"),
    (
        "TIMESTAMP(6)",
        _MOMENT.replace(microsecond=789100),
        "2024-02-29T12:34:56.789100",
        "2024-02-29 12:34:56.789100",
    ),
    ("TIMESTAMP(6)", _MOMENT, "2024-02-29T12:34:56.789", "2024-02-29 12:34:56.789000"),
    ("TIMESTAMP(0)", _MOMENT.replace(microsecond=0), "2024-02-29T12:34:56", "2024-02-29 12:34:56"),
    ("TIMESTAMP(3)", dt.datetime(2024, 1, 1), "2024-01-01T00:00", "2024-01-01 00:00:00.000"),
    (
        "TIMESTAMP(9)",
        np.datetime64("1969-12-31T23:59:59.000000001", "ns"),
        "1969-12-31T23:59:59.000000001",
        "1969-12-31 23:59:59.000000001",
    ),
    (
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        _MOMENT.replace(tzinfo=dt.UTC),
        "2024-02-29T12:34:56.789",
        "2024-02-29 12:34:56.789",
    ),
]


@pytest.mark.parametrize(("data_type", "value", "legacy", "readable"), TEXTS, ids=str)
def test_values_become_the_text_that_java_prints(
    data_type: str, value: Any, legacy: str, readable: str
) -> None:
    assert partition_strings((value,), _schema(data_type)) == (legacy,)
    options = {"partition.legacy-name": "false"}
    assert partition_strings((value,), _schema(data_type, options=options)) == (readable,)


def test_moments_are_shown_in_the_zone_of_the_writer_unless_legacy() -> None:
    value = (dt.datetime(2024, 1, 1, tzinfo=dt.UTC),)
    zone = dt.timezone(dt.timedelta(hours=8))
    data_type = "TIMESTAMP(0) WITH LOCAL TIME ZONE"
    readable = _schema(data_type, options={"partition.legacy-name": "false"})
    assert partition_strings(value, readable, zone=zone) == ("2024-01-01 08:00:00",)
    assert partition_strings(value, _schema(data_type), zone=zone) == ("2024-01-01T00:00",)


@pytest.mark.parametrize("value", [None, "", " ", "\t\n\u2003"])
def test_values_without_a_visible_character_go_to_the_default_partition(value: str | None) -> None:
    assert partition_path((value,), _schema("STRING")) == "k0=__DEFAULT_PARTITION__"
    named = _schema("STRING", options={"partition.default-name": "none"})
    assert partition_path((value,), named) == "k0=none"


def test_a_blank_that_java_does_not_count_as_one_is_a_value() -> None:
    assert partition_path(("\u00a0",), _schema("STRING")) == "k0=\u00a0"


def test_keys_and_values_are_escaped_and_joined_in_key_order() -> None:
    schema = _schema("STRING", "INT")
    assert partition_path(("a/b=c 0", 8), schema) == "k0=a%2Fb%3Dc 0/k1=8"
    assert partition_path((), _schema()) == ""


@pytest.mark.parametrize("options", [{}, {"partition.legacy-name": "false"}], ids=str)
def test_people_read_the_value_whatever_its_folder_is_called(options: dict[str, str]) -> None:
    for data_type, value, _, readable in TEXTS:
        schema = _schema(data_type, options=options)
        assert partition_words((value,), schema) == f"k0={readable}"
    days = _schema("DATE", "STRING", options=options)
    assert partition_words((dt.date(2013, 3, 8), None), days) == "k0=2013-03-08/k1=NULL"
    assert partition_words((None, " "), days) == "k0=NULL/k1=' '"
    assert partition_words((None, "NULL"), days) == "k0=NULL/k1='NULL'"
    assert partition_words((None, "a/b c:d"), days) == "k0=NULL/k1=a%2Fb c:d"
    binary = _schema("BYTES", options=options)
    assert partition_words((b"ab",), binary) == "k0=ab"
    assert partition_words((b"a\xff",), binary) == "k0=0x61FF"
    assert partition_words((), _schema()) == ""


def test_binary_values_have_no_legacy_name() -> None:
    with pytest.raises(InvalidInput, match=r"partition\.legacy-name = false"):
        partition_path((b"a",), _schema("BYTES"))
    readable = _schema("BYTES", options={"partition.legacy-name": "false"})
    assert partition_path((b"a/\xff",), readable) == "k0=a%2F\ufffd"


def test_exactly_the_characters_of_paimon_are_escaped() -> None:
    escaped = {chr(code) for code in range(0x250) if escape_path_name(chr(code)) != chr(code)}
    assert escaped == {*map(chr, range(32)), "\x7f", *"\"#%'*/:=?\\{}[]^"}
    assert escape_path_name("\n%é\x7f") == "%0A%25é%7F"


@pytest.mark.parametrize(
    ("escaped", "name"),
    [
        ("a%2Fb", "a/b"),
        ("100%", "100%"),
        ("%zz", "%zz"),
        ("%2", "%2"),
        ("%2f", "/"),
        ("%%41", "%A"),
    ],
)
def test_unescaping_leaves_what_is_no_escape(escaped: str, name: str) -> None:
    assert unescape_path_name(escaped) == name


def _schema(*types: str, options: dict[str, str] | None = None) -> TableSchema:
    fields = tuple(
        DataField(id=i, name=f"k{i}", type=parse_data_type(written))
        for i, written in enumerate(types)
    )
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields),
        partition_keys=tuple(field.name for field in fields),
        primary_keys=(),
        options=Options(options),
    )
