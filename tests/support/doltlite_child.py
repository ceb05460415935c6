"""Merges rows with doltlite in a process of its own, which it must have: it replaces SQLite.

Reads one JSON object a line with `base`, `ours` and `theirs`, each a list of rows (key, then three
columns), and answers with `conflicts` (key, what ours and theirs did) and the merged `rows`.
"""

import doltlite  # isort: skip  # must come before anything that loads SQLite
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

_CONFLICTS = """
    select coalesce(base_id, our_id, their_id), our_diff_type, their_diff_type
    from dolt_conflicts_t
"""


def merge(sides: dict[str, list[list[object]]], path: Path) -> dict[str, list[object]]:
    """Commit each side on a branch of its own, then merge."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("create table t (id integer primary key, a integer, b text, c real)")
    _commit(connection, sides["base"])
    connection.execute("select dolt_branch('theirs')")
    _commit(connection, sides["ours"])
    connection.execute("select dolt_checkout('theirs')")
    _commit(connection, sides["theirs"])
    connection.execute("select dolt_checkout('main')")
    connection.execute("begin")
    conflicts = []
    try:
        connection.execute("select dolt_merge('theirs')").fetchall()
    except sqlite3.Error as error:
        if "conflict" not in str(error):
            raise
        conflicts = connection.execute(_CONFLICTS).fetchall()
    rows = connection.execute("select id, a, b, c from t order by id").fetchall()
    connection.close()
    return {"conflicts": sorted(conflicts), "rows": rows}


def _commit(connection: sqlite3.Connection, rows: list[list[object]]) -> None:
    connection.execute("begin")
    connection.execute("delete from t")
    connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    connection.execute("commit")
    connection.execute("select dolt_commit('-A', '--allow-empty', '-m', 'rows')")


def main() -> None:
    doltlite.bootstrap()
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(sys.stdin):
            answer = merge(json.loads(line), Path(folder) / f"{number}.db")
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
