"""A process that commits: `child_commits WHO WAREHOUSE OPTIONS N SEED DELAY`.

OPTIONS are those of the warehouse's store, as JSON. It says `ready` once everything is prepared,
waits for a line, commits N times, each after a random delay of up to DELAY milliseconds, and prints
how long each took and how many failed.
"""

import json
import random
import resource
import sys
import time
from collections.abc import Callable

from tests.benchmarks.commit_figures import JAVA, OURS
from tests.benchmarks.synthetic import TABLE


def main() -> None:
    """Prepare, wait, commit, and print the figures."""
    who, warehouse, text, *numbers = sys.argv[1:]
    options = json.loads(text)
    count, seed, delay_millis = map(int, numbers)
    commit = (
        _ours(warehouse, options, count, seed)
        if who == OURS
        else _java(warehouse, options, JAVA[who], count, seed)
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    rng = random.Random(seed)
    times, failures = [], []
    for number in range(count):
        time.sleep(rng.random() * delay_millis / 1_000)
        started = time.perf_counter()
        try:
            commit(number)
        except Exception as failure:  # Java's are no PaimonError
            failures.append(str(failure)[:300])
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"times": times, "failures": failures, "peak_rss_kib": peak}
    sys.stdout.write(json.dumps(said) + "\n")


def _ours(
    warehouse: str, options: dict[str, str], count: int, seed: int
) -> Callable[[int], object]:
    from branch_console.commit.base.commit_message import CommitMessage  # noqa: PLC0415  # a JVM has no use
    from branch_console.commit.base.commit_store import CommitStore  # noqa: PLC0415
    from branch_console.commit.snapshot.file_store_commit import FileStoreCommit  # noqa: PLC0415
    from branch_console.format.identifier import Identifier  # noqa: PLC0415
    from branch_console.storage.file_io import FileIO  # noqa: PLC0415
    from branch_console.table.file_store_table import FileStoreTable  # noqa: PLC0415
    from tests.benchmarks.synthetic import new_file  # noqa: PLC0415

    file_io = FileIO.for_url(warehouse, options)
    database, name = TABLE.split(".")
    identifier = Identifier(database=database, table=name)
    table = FileStoreTable.open(file_io, f"{file_io.root}/{database}.db/{name}", identifier)
    committer = FileStoreCommit(table, CommitStore.of(file_io))
    # Who has written data files knows it.
    table.schema()
    files = [new_file(f"data-{seed}-{number}-0.parquet", partition=0) for number in range(count)]
    messages = [
        CommitMessage(
            partition=file["partition"][0].as_py(), bucket=0, total_buckets=-1, new_files=file
        )
        for file in files
    ]
    return lambda number: committer.commit(
        [messages[number]], user=f"benchmark-{seed}", identifier=number
    )


def _java(
    warehouse: str, options: dict[str, str], version: str, count: int, seed: int
) -> Callable[[int], object]:
    import jpype  # noqa: PLC0415  # only where a JVM is wanted

    from tests.benchmarks.commit_place import of_java  # noqa: PLC0415
    from tests.benchmarks.java_catalog import open_table, paimon, start_java  # noqa: PLC0415

    catalog = start_java(warehouse, version, heap="-Xmx1g", **of_java(options))
    table = open_table(catalog, TABLE)

    def prepare(number: int) -> object:
        write = table.newBatchWriteBuilder().newWrite()
        row = paimon("data.GenericRow")(4)
        row.setField(0, jpype.JClass("java.lang.Integer")(0))
        row.setField(1, jpype.JClass("java.lang.Long")(seed * count + number))
        row.setField(2, paimon("data.BinaryString").fromString("benchmark"))
        row.setField(3, jpype.JClass("java.lang.Long")(number))
        write.write(row)
        messages = write.prepareCommit()
        write.close()
        return messages

    messages = [prepare(number) for number in range(count)]
    commits = [table.newBatchWriteBuilder().newCommit() for _ in range(count)]
    return lambda number: commits[number].commit(messages[number])


if __name__ == "__main__":
    main()
