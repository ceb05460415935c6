"""pypaimon as a writer in a storm; runs in its environment, so nothing of the project is imported.

Between its look whether a snapshot's name is free and its rename there is a pause, which is where
it loses commits: its own and those of others.
"""

import json
import pathlib
import random
import sys
import time

import pyarrow as pa
from pypaimon import CatalogFactory


def main() -> None:
    """Carry out the task of the first argument: the JSON of a `storm.Task`."""
    task = json.loads(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr
    rng = random.Random(task["seed"])
    rename = pathlib.Path.rename

    def hesitate(source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
        if target.name.startswith("snapshot-"):
            time.sleep(rng.uniform(0, task["pause_millis"]) / 1000)
        return rename(source, target)

    pathlib.Path.rename = hesitate  # type: ignore[method-assign,assignment]
    catalog = CatalogFactory.create({"warehouse": task["url"]})
    print("ready", file=answers, flush=True)
    sys.stdin.readline()
    for identifier in range(task["commits"]):
        began, error = time.perf_counter(), None
        try:
            write_one(catalog.get_table("db.t"), identifier, task["number"])
        except Exception as failure:  # whatever the library raises is its answer
            error = f"{type(failure).__name__}: {failure}"
        answer = {
            "identifier": identifier,
            "snapshot_id": None,
            "uuid": None,
            "millis": (time.perf_counter() - began) * 1000,
            "error": error,
        }
        print(json.dumps(answer), file=answers, flush=True)


def write_one(table: object, identifier: int, partition: int) -> None:
    """Commit one row."""
    builder = table.new_batch_write_builder()  # type: ignore[attr-defined]
    write, commit = builder.new_write(), builder.new_commit()
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("pt", pa.int32())])
    rows = {"id": [identifier], "name": ["x"], "pt": [partition]}
    write.write_arrow(pa.Table.from_pydict(rows, schema=schema))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


if __name__ == "__main__":
    main()
