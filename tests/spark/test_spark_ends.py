"""Spark ends under a query: that one fails alone, in a sentence, and the next one gets another."""

import json
import os
import subprocess
import sys
from typing import Final

import pytest

from tests.support.examples import Examples
from tests.support.source_roots import python_path

pytestmark = pytest.mark.depth("full")

# Each query, and the time it may take.
QUERIES: Final = {
    "rows": ("SELECT id FROM range(3)", None),
    "endless": ("SELECT count(*) FROM range(100000000000)", 1),
    # Spark works this out while it plans, which it never stops.
    "endless plan": (
        "SELECT aggregate(sequence(1, 20000000), 0L, (a, x) -> a + "
        "aggregate(sequence(1, 20000000), 0L, (b, y) -> b + y))",
        1,
    ),
    "rows again": ("SELECT id FROM range(3)", None),
    "heap": ("SELECT collect_list(repeat('x', 1000000)) FROM range(20000)", None),
    "rows after that": ("SELECT id FROM range(3)", None),
    "large answer": ("SELECT id, repeat('x', 1000000) AS t FROM range(40)", None),
    "rows at last": ("SELECT id FROM range(3)", None),
}

CHILD: Final = """
import json, sys
from pathlib import Path
import branch_console.spark.session.session
from branch_console.errors import PaimonError
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.warm_rows import WarmRows
from branch_console.storage.file_io import FileIO

folder, queries = sys.argv[1], json.loads(sys.argv[2])
store = FileIO.for_url(folder)
told = {}
settings = {"warehouse": folder, "state_dir": folder + "/state", "spark_master": "local[2]"}
rows = WarmRows(JobSettings(**settings, spark_memory="1g", query_memory="16m"), store)
for name, (sql, seconds) in queries.items():
    session = rows._session
    # What never ends is given up soon; the others may take as long as a busy machine needs.
    branch_console.spark.session.session._STOP_SECONDS = 1.0 if name == "endless plan" else 60.0
    try:
        found = session.run(
            lambda spark: spark.sql(sql).toArrow().num_rows,
            description="answer a query",
            seconds=seconds,
        )
        told[name] = [found, "", rows.state]
    except PaimonError as error:
        told[name] = [str(error.kind), error.message, rows.state]
rows.close()
print(json.dumps(told))
"""


# It takes Spark along, as a full heap does, so that Spark starts once more.
AT_NIGHT: Final = ("endless plan", "rows again")


@pytest.fixture(scope="module")
def told(
    tmp_path_factory: pytest.TempPathFactory, examples: Examples
) -> dict[str, tuple[object, str, str]]:
    """What came of each query, and what the engine said of Spark afterwards."""
    folder = tmp_path_factory.mktemp("ends")
    left_out = () if examples.depth == "long" else AT_NIGHT
    queries = {name: query for name, query in QUERIES.items() if name not in left_out}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), json.dumps(queries)],
        env={
            "PYTHONPATH": python_path(),
            "PATH": "/usr/bin:/bin",
            "JDK_JAVA_OPTIONS": os.environ["JDK_JAVA_OPTIONS"],
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "py4j" not in done.stderr
    found: dict[str, tuple[object, str, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.depth("long")) if name in AT_NIGHT else name
        for name in QUERIES
        if name.startswith("rows")
    ],
)
def test_the_next_query_is_answered(name: str, told: dict[str, tuple[object, str, str]]) -> None:
    assert told[name][:1] == [3]
    assert told[name][2] == "warm"


def test_a_query_that_takes_too_long_is_stopped_and_spark_stays(
    told: dict[str, tuple[object, str, str]],
) -> None:
    kind, message, state = told["endless"]
    assert (kind, state) == ("LIMIT_REACHED", "warm")
    assert message == (
        "The query was stopped after 1 s, the time that one may take. Nothing was changed. "
        "Read less, or raise the setting query_seconds."
    )


@pytest.mark.depth("long")
def test_a_query_that_does_not_stop_ends_with_its_spark(
    told: dict[str, tuple[object, str, str]],
) -> None:
    kind, message, state = told["endless plan"]
    assert (kind, state) == ("LIMIT_REACHED", "ended")
    assert "stopped after 1 s" in message


def test_a_full_heap_fails_the_query_alone(told: dict[str, tuple[object, str, str]]) -> None:
    kind, message, state = told["heap"]
    assert (kind, state) == ("LIMIT_REACHED", "ended")
    assert "memory of 1g was exhausted" in message
    assert "the next job starts Spark again" in message


def test_an_answer_that_is_too_large_is_refused_and_spark_stays(
    told: dict[str, tuple[object, str, str]],
) -> None:
    kind, message, state = told["large answer"]
    assert (kind, state) == ("LIMIT_REACHED", "warm")
    assert "more than 16m" in message
    assert "query_memory" in message
