from dataclasses import replace

import pytest

from branch_console.procedures.dispatch import RUNNERS
from branch_console_app.models.jobs.job_titles import (
    job_title,
    job_words,
    title_of_call,
    title_with_table,
)
from tests.console.pretend import job


def test_every_procedure_has_words_of_its_own() -> None:
    assert len({job_words(name) for name in RUNNERS}) == len(RUNNERS)


@pytest.mark.parametrize(
    ("procedure", "table", "title"),
    [
        ("create_branch", "air.flights", "Create a branch of `air.flights`"),
        ("rollback", "air.flights$branch_dev", "Roll back `air.flights` on `dev`"),
        ("delete_rows", "air.planes", "Delete rows from `air.planes`"),
        ("undo", "air.planes", "Undo an operation on `air.planes`"),
        ("query", None, "Query"),
        ("of_a_newer_release", "air.planes", "Of a newer release of `air.planes`"),
        ("merge_branch", "no table", "Merge a branch of `no table`"),
    ],
)
def test_a_title_is_what_a_person_would_write(
    procedure: str, table: str | None, title: str
) -> None:
    assert job_title(procedure, table) == title


def test_a_query_is_named_by_how_it_begins() -> None:
    statement = "SELECT origin,\n  count(*) AS n\nFROM air.weather GROUP BY origin"
    title = title_of_call("query", {"sql": statement, "branch": "main"})
    assert title == "Query `SELECT origin, count(*) AS n FROM …`"
    assert title_of_call("query", {}) == "Query"


_MERGED = "Merge branch `x` of the catalog into `main`"


@pytest.mark.parametrize(
    ("name", "table", "arguments", "title"),
    [
        (
            "merge_branch",
            "air.planes",
            {"branch": "fix"},
            "Merge `fix` into `main` of `air.planes`",
        ),
        (
            "merge_catalog_branch",
            None,
            {"branch": "x"},
            _MERGED,
        ),
        ("merge_catalog_branch", None, {}, "Merge a catalog branch"),
    ],
)
def test_the_heading_of_a_job_names_its_branch(
    name: str, table: str | None, arguments: dict[str, str], title: str
) -> None:
    shown = replace(job("1", name=name), table=table, arguments=arguments)
    assert title_with_table(shown) == title
