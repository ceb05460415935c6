"""Files that are kept beside the jobs: whole or not at all, and the newest of them only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Give the path of a file to write, which takes its place if the block ends well.

    Others may write the same file at the same time: the last one counts.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.parent / f"{uuid4().hex}.tmp"
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def forget_oldest(folder: Path, pattern: str, kept: int) -> None:
    """Remove the files of a folder but for so many that were made last."""
    newest = sorted(folder.glob(pattern), key=lambda each: -each.stat().st_mtime_ns)
    for old in newest[kept:]:
        old.unlink(missing_ok=True)
