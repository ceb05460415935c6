"""The progress of a decision, which is the manifests that it reads."""

from collections.abc import Callable
from typing import TypeVar

from branch_console.storage.manifest_count import counting_manifests

T = TypeVar("T")


def with_manifest_progress(decide: Callable[[], T], report: Callable[[int, int], None]) -> T:
    """Return what a decision returns, and report which part of its manifests it has read.

    Args:
        decide: Reads and decides; only its own reading is counted.
        report: Called at each change with how many manifests are read, of how many that are known
            to be needed so far. What is remembered need not be read.
    """
    with counting_manifests(report):
        return decide()
