"""The least and the largest of values that are written down."""

from collections.abc import Sequence
from decimal import Decimal


def least(texts: Sequence[str], *, is_number: bool) -> str | None:
    """The least of some values, None of none.

    Args:
        texts: Numbers as Arrow writes them; else what sorts as text, as dates of four-digit years,
            timestamps of one precision, and bytes in hexadecimal digits do.
        is_number: Which of these they are.
    """
    return min(texts, key=Decimal if is_number else None, default=None)


def most(texts: Sequence[str], *, is_number: bool) -> str | None:
    """The largest of some values, None of none; see `least`."""
    return max(texts, key=Decimal if is_number else None, default=None)
