"""Paimon's Java library as a writer in a storm, in a process of its own."""

import json
import sys
import time

from tests.support.java_paimon import JavaPaimon
from tests.support.storm import Task


def main() -> None:
    """Carry out the task of the first argument."""
    task = Task.from_json(sys.argv[1])
    table = JavaPaimon(task.url).table("db.t")
    table.load()
    print("ready", flush=True)
    sys.stdin.readline()
    for identifier in range(task.commits):
        began, error = time.perf_counter(), None
        try:
            table.write([(identifier, "x", task.number)])
        except Exception as failure:  # Java's exceptions are classes of JPype
            error = str(failure)
        answer = {
            "identifier": identifier,
            "snapshot_id": None,
            "uuid": None,
            "millis": (time.perf_counter() - began) * 1000,
            "error": error,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
