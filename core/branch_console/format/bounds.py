"""How large, deep and far apart things may be that others wrote.

A warehouse is a folder into which many write. What one file says may not cost the memory, the stack
or the time of whoever looks at the others. Each bound is far above what any engine writes.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from branch_console.errors import FormatError

MOST_ID: Final = 2**63 - 1
"""Ids of snapshots and schemas are longs to Paimon."""

MOST_MISSING: Final = 10_000
"""How many ids between two that are listed are asked for one by one."""

MOST_JSON_BYTES: Final = 64 << 20
"""Bytes of a snapshot, schema or tag; one of 10,000 columns has some two million."""

MOST_FILE_BYTES: Final = 2 << 30
"""Bytes of a file that is read whole, such as a manifest."""

MOST_BLOCK_BYTES: Final = 256 << 20
"""Bytes that a block of an Avro file may unpack to; Paimon writes blocks of 64 KB."""

MOST_NESTING: Final = 250
"""Levels of a JSON text."""

MOST_TYPE_NESTING: Final = 50
"""Levels of a data type; Arrow ends at 64."""

MOST_VARIANT_NESTING: Final = 100
"""Levels of the parts that a file shreds a VARIANT into; Paimon infers 50."""

MOST_BRACKETS: Final = 100
"""Levels of a condition."""

MOST_CONDITION_CHARACTERS: Final = 1_000_000
"""Characters of a condition."""

MOST_STATEMENTS_CHARACTERS: Final = 1_000_000
"""Characters of statements that are given at once; to cut a million into words takes seconds."""

MOST_YAML_CHARACTERS: Final = 64 << 20
"""Characters of a file that people write in YAML."""


def check_nesting(value: Any, what: str) -> None:
    """Refuse parsed JSON that is deeper than what walks it.

    Raises:
        FormatError: It is nested too deeply.
    """
    level = [value]
    for _ in range(MOST_NESTING):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise too_deep(what)


def too_deep(what: str) -> FormatError:
    """Return the error that a JSON text is nested too deeply."""
    return FormatError(f"The {what} is nested more than {MOST_NESTING} levels deep.")


def _inside(value: Any) -> Iterable[Any]:
    parts = value.values() if isinstance(value, dict) else value
    return [each for each in parts if isinstance(each, dict | list)]


def newest_run(numbers: Sequence[int]) -> int:
    """Return where the newest run of rising numbers begins that no long gap divides.

    Ids have no gaps (C01), and a listing leaves out few. What lies before a long gap expired, and
    one file of it was left behind.
    """
    for at in range(len(numbers) - 1, 0, -1):
        if numbers[at] - numbers[at - 1] > MOST_MISSING:
            return at
    return 0


def missing_numbers(first: int, last: int, present: Iterable[int], what: str) -> list[int]:
    """Return which numbers of a range are not present.

    Args:
        first: The first number.
        last: The last number.
        present: Numbers that are there.
        what: The numbered objects, in the words of the error.

    Raises:
        FormatError: They are more than are asked for one by one.
    """
    there = {number for number in present if first <= number <= last}
    missing = max(0, last - first + 1) - len(there)
    if missing > MOST_MISSING:
        raise FormatError(
            f"{missing:,} of the {what} {first:,} to {last:,} are missing, where engines leave no "
            f"gap. A file of {what} that no engine wrote may lie there: remove it.",
            first=first,
            last=last,
        )
    return [number for number in range(first, last + 1) if number not in there]
