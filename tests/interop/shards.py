"""The interop tests in two parts of about the same length, by file.

Upstream's tests of the merge are among the merges: they take five seconds, and a part of their own
would start two more versions of Java, which takes as long again.
"""

from pathlib import Path
from typing import Final

TABLES: Final = "tables"
MERGES: Final = "merges"
SHARDS: Final = (TABLES, MERGES)

_HERE: Final = Path(__file__).parent


def shard_of(file: str) -> str:
    """Return the part that a file of tests belongs to: a new one is in a part by its name."""
    return MERGES if file.startswith("test_merge_") else TABLES


def files_of(shard: str) -> list[Path]:
    """Return the files of a part; the one that runs the parts with the newest Paimon is in none."""
    files = sorted(_HERE.glob("test_*.py"))
    return [
        file
        for file in files
        if file.name != "test_newest_paimon.py" and shard_of(file.name) == shard
    ]
