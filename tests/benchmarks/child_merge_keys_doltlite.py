"""doltlite's part of B4: `make FILE ROWS CHANGED BOTH`, then `merge FILE` on a copy of the file."""

import doltlite  # isort: skip  # must come before anything that loads SQLite
import json
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.merge_keys import CALLS, Case


def make(path: str, *size: str) -> None:
    """Write the base, and pairs of branches that each changed their share of the keys."""
    rows, changed, both = map(int, size)
    case = Case(rows=rows, changed=changed, both=both)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(
        "create table t (id integer primary key, name text, amount integer, rate real)"
    )
    base = ((key, f"name {key % 100_000}", key, key * 0.5) for key in range(rows))
    _write(connection, "insert into t values (?, ?, ?, ?)", base)
    for number in range(CALLS):
        for side in ("ours", "theirs"):
            connection.execute("select dolt_checkout('main')")
            connection.execute("select dolt_branch(?)", (f"{side}{number}",))
            connection.execute("select dolt_checkout(?)", (f"{side}{number}",))
            changes = case.change(side).select(["amount", "id"]).to_pydict()
            pairs = zip(changes["amount"], changes["id"], strict=True)
            _write(connection, "update t set amount = ? where id = ?", pairs)


def merge(path: str) -> None:
    """Merge one pair of branches after the other, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, Path(folder) / "copy.db")
        connection = sqlite3.connect(copy, isolation_level=None)
        times = []
        for number in range(CALLS):
            connection.execute("select dolt_checkout(?)", (f"ours{number}",))
            started = time.perf_counter()
            _merge(connection, f"theirs{number}")
            times.append(time.perf_counter() - started)
        rows, amount = connection.execute("select count(*), sum(amount) from t").fetchone()
    said = {
        "cold": times[0],
        "warm": times[1:],
        "peak_rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "answer": {"rows": rows, "amount": amount},
    }
    sys.stdout.write(json.dumps(said) + "\n")


def _merge(connection: sqlite3.Connection, source: str) -> None:
    connection.execute("begin")
    try:
        connection.execute("select dolt_merge(?)", (source,)).fetchall()
    except sqlite3.Error as error:
        if "conflict" not in str(error):
            raise
        connection.execute("select dolt_conflicts_resolve('--theirs', 't')").fetchall()
        connection.execute("commit")
        connection.execute("select dolt_commit('-A', '-m', 'merged')").fetchall()
        return
    if connection.in_transaction:
        connection.execute("commit")


def _write(connection: sqlite3.Connection, statement: str, rows: object) -> None:
    connection.execute("begin")
    connection.executemany(statement, rows)
    connection.execute("commit")
    connection.execute("select dolt_commit('-A', '-m', 'rows')")


if __name__ == "__main__":
    doltlite.bootstrap()
    {"make": make, "merge": merge}[sys.argv[1]](*sys.argv[2:])
