"""`python -m tests.benchmarks [--only B1] [--scale tiny|small|full] [--repeats N] [--json FILE]`.

The only judge of speed. The exit code tells whether all answers were right, never how fast.
`--prepared FOLDER` keeps the tables of B11, B20 and B22 there, which take minutes to make, and with
`--prepare` makes them alone: the next run finds them, and B22 makes its own again after that.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.benchmarks import (
    branch_operations,
    catalog_branches,
    catalog_merges,
    commit_one_row,
    commit_storm,
    compare_quality,
    console_demo,
    console_pages,
    expire_files,
    expire_snapshots,
    live_files,
    merge_append,
    merge_keys,
    metadata_diff,
    orphan_files,
    quick_doctor,
    read_rows,
    write_rows,
)
from tests.benchmarks.contest import HEADING, Result, describe_machine, report, to_json
from tests.benchmarks.prepared import PLACE

BENCHMARKS: dict[str, Callable[[str, int, Path], Iterable[Result]]] = {
    "B1": live_files.run,
    "B2": metadata_diff.run,
    "B3": merge_append.run,
    "B4": merge_keys.run,
    "B5": commit_storm.run,
    "B5-one-row": commit_one_row.run,
    "B6": branch_operations.run,
    "B7": compare_quality.run,
    "B8": catalog_merges.run,
    "B9": read_rows.run,
    "B10": write_rows.run,
    "B11": console_pages.run,
    "B11-demo": console_demo.run,
    "B12": catalog_branches.run,
    "B20": expire_files.run,
    "B21": expire_snapshots.run,
    "B22": orphan_files.run,
    "B23": quick_doctor.run,
}
PREPARES: dict[str, Callable[[str, Path], None]] = {
    "B11": console_pages.prepare,
    "B11-demo": console_demo.prepare,
    "B20": expire_files.prepare,
    "B22": orphan_files.prepare,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmarks asked for; 1 if any answer was wrong."""
    asked = _parse(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        if asked.prepared:
            asked.prepared.mkdir(parents=True, exist_ok=True)
            (Path(folder) / PLACE).symlink_to(asked.prepared.resolve())
        if asked.prepare:
            for name in asked.only:
                if name in PREPARES:
                    PREPARES[name](asked.scale, Path(folder))
            return 0
        machine = describe_machine(Path(folder))
        _tell(HEADING)
        for name in asked.only:
            for result in BENCHMARKS[name](asked.scale, asked.repeats, Path(folder)):
                results.append(result)
                _tell(report(result))
    if asked.json:
        text = to_json(results, machine=machine, scale=asked.scale, repeats=asked.repeats)
        asked.json.write_text(text, encoding="utf-8")
    return int(any(result.wrong for result in results))


def _tell(text: str) -> None:
    # A large case takes minutes: what is known is shown at once.
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", type=_names, default=list(BENCHMARKS), help="such as B1,B3")
    parser.add_argument("--scale", choices=list(live_files.CASES), default="small")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--prepared", type=Path, help="where tables are kept for later runs")
    parser.add_argument("--prepare", action="store_true", help="make these tables, and no more")
    asked = parser.parse_args(arguments)
    if asked.prepare and not asked.prepared:
        parser.error("--prepare needs --prepared FOLDER")
    return asked


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {unknown}; known: {sorted(BENCHMARKS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
