"""Which types hold all values of which others, and which of them Paimon casts by itself."""

import pytest

from branch_console.commit.schema.schema_commit import can_cast
from branch_console.format.data_types import AtomicType, is_widening, parse_data_type

# From, to, whether every value fits, and whether Paimon casts on its own. They differ where a cast
# rounds, pads or cuts nothing short, and where a type that would hold all is not cast to.
PAIRS = [
    ("TINYINT", "SMALLINT", True, True),
    ("SMALLINT", "BIGINT", True, True),
    ("INT", "BIGINT", True, True),
    ("INT", "DOUBLE", True, True),
    ("INT", "FLOAT", False, True),
    ("SMALLINT", "FLOAT", True, True),
    ("BIGINT", "DOUBLE", False, True),
    ("FLOAT", "DOUBLE", True, True),
    ("INT", "DECIMAL(10, 0)", True, False),
    ("INT", "DECIMAL(12, 2)", True, False),
    ("INT", "DECIMAL(11, 2)", False, False),
    ("INT", "STRING", False, False),
    ("DECIMAL(10, 2)", "DECIMAL(12, 2)", True, True),
    ("DECIMAL(10, 2)", "DECIMAL(12, 4)", True, True),
    ("DECIMAL(10, 2)", "DECIMAL(38, 2)", True, True),
    ("DECIMAL(10, 2)", "DECIMAL(10, 4)", False, False),
    ("DECIMAL(10, 2)", "DECIMAL(11, 4)", False, False),
    ("DECIMAL(10, 2)", "DECIMAL(12, 1)", False, False),
    ("CHAR(5)", "VARCHAR(5)", True, True),
    ("VARCHAR(5)", "STRING", True, True),
    ("VARCHAR(5)", "CHAR(5)", False, True),
    ("BINARY(4)", "BYTES", True, True),
    ("STRING", "BYTES", False, False),
    ("TIMESTAMP(3)", "TIMESTAMP(6)", True, True),
    ("DATE", "TIMESTAMP(3)", False, False),
    ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", False, False),
    ("BOOLEAN", "INT", False, False),
]


def atomic(text: str) -> AtomicType:
    parsed = parse_data_type(text)
    assert isinstance(parsed, AtomicType)
    return parsed


@pytest.mark.parametrize(("old", "new", "fits", "casts"), PAIRS)
def test_what_holds_all_values_and_what_paimon_casts(
    old: str, new: str, fits: bool, casts: bool
) -> None:
    assert (is_widening(atomic(old), atomic(new)), can_cast(atomic(old), atomic(new))) == (
        fits,
        casts,
    )
    if fits:
        assert not is_widening(atomic(new), atomic(old))


def test_a_number_is_not_cast_to_a_narrower_one_nor_a_text_cut() -> None:
    for narrow, wide in (("INT", "BIGINT"), ("INT", "FLOAT"), ("VARCHAR(5)", "STRING")):
        assert not can_cast(atomic(wide), atomic(narrow))
