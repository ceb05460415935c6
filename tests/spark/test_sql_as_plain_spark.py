"""Queries of ours and of plain Spark over a copy of the rows: one answer, or both refuse."""

import pytest

from branch_console.spark.session.session import WarmSession
from tests.support.plain_spark import PlainSpark, answer_of
from tests.support.statements import Statements

pytestmark = pytest.mark.depth("full")

COLUMNS = {"id": "INT NOT NULL", "g": "INT", "n": "INT", "s": "STRING"}
ROWS = [(1, 1, 10, "a"), (2, 2, None, "b"), (3, 3, None, None), (4, None, None, "a")]

STARS_AND_NAMES = (
    "SELECT count(*) FROM {t}",
    "SELECT count(* EXCEPT (g)), max(g) FROM {t}",
    "SELECT count(* EXCEPT (g, s)) FROM {t}",
    "SELECT count(*, id) FROM {t}",
    "SELECT count(id, *) FROM {t}",
    "SELECT count(DISTINCT *) FROM {t}",
    "SELECT count(t.*), max(id) FROM {t}",
    "SELECT id, count(*, g) OVER (PARTITION BY s) FROM {t}",
    "SELECT s, count(* EXCEPT (s)) AS k FROM {t} GROUP BY s HAVING k < 2",
    "SELECT id FROM {t} WHERE g < (SELECT count(* EXCEPT (s)) + 1 FROM {t})",
    "SELECT hash(*), id FROM {t}",
    "SELECT q FROM {t} AS x(p, q, r, w)",
    "SELECT x.w, p FROM {t} x(p, q, r, w) WHERE q > 1",
    "SELECT count(*) FROM {t} AS x(p)",
    "SELECT n, id FROM {t} AS x(n, id)",
    "SELECT p FROM {t} AS x(p, q, r, w, v)",
    "SELECT n FROM {t} AS x(n, id, g, s) WHERE id = 1",
    "SELECT b FROM (SELECT g, id FROM {t}) AS x(a, b)",
    "SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM {t} AS y(a, b, c, d) WHERE b = id + 1)",
    "SELECT w FROM {t} |> WHERE id > 1 |> EXTEND 1 AS o |> AS z |> SELECT z.s AS w",
)


@pytest.fixture(scope="module")
def ours(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Statements:
    found = Statements(session, tmp_path_factory.mktemp("plain") / "warehouse")
    found.create("t", COLUMNS, primary_keys=("id",), options={"bucket": "1"})
    found("INSERT INTO db.t VALUES (1, 1, 10, 'a'), (2, 2, NULL, 'b')")
    found("INSERT INTO db.t VALUES (3, 3, NULL, NULL), (4, NULL, NULL, 'a')")
    return found


@pytest.fixture(scope="module")
def plain(session: WarmSession) -> PlainSpark:
    found = PlainSpark(session.spark)
    found.add("t", "id INT NOT NULL, g INT, n INT, s STRING", ROWS)
    return found


@pytest.mark.parametrize("text", STARS_AND_NAMES)
def test_stars_and_lists_of_names_see_every_column(
    text: str, ours: Statements, plain: PlainSpark
) -> None:
    wanted = answer_of(plain.rows, text.format(t="t"))
    assert answer_of(ours.rows, text.format(t="db.t")) == wanted
