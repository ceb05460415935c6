"""An event gets a time later than all others of its ledger, also where a clock lags behind."""

from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from tests.support.branch_bench import BranchBench

SEVEN, NINE = "event-0000000000007-a.json", "event-0000000000009-b.json"


@pytest.mark.parametrize(
    ("names", "now", "expected"),
    [
        ((), 5, 5),
        ((NINE, SEVEN), 5, 10),
        ((SEVEN, NINE), 20, 20),
        ((NINE, "intent-c.json", "done-a.json", "row-conflicts-d.arrow"), 5, 10),
        # A name that nobody here wrote hides no event.
        ((NINE, SEVEN, "event-of-others.json"), 5, 10),
        (("event-of-others.json",), 5, 5),
    ],
)
def test_a_new_event_comes_behind_all_others(
    names: tuple[str, ...], now: int, expected: int, tmp_path: Path
) -> None:
    bench = BranchBench(tmp_path)
    paths = bench.table().paths
    folder = Path(paths.lineage_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"{}")
    assert Journal(bench.store, paths).time_for_event(now) == expected
