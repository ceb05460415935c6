"""Statements on a branch of the catalog: what they read, join and write, made at once or lazily."""

import pytest

from branch_console.errors import PaimonError
from branch_console.merge.catalog.catalog_report import did_words
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from branch_console.procedures.compare.catalogs import compare_catalogs
from branch_console.spark.session.session import WarmSession
from tests.support.statements import Statements

KEYED = {"id": "INT NOT NULL", "name": "STRING"}
MODES = ("eager", "lazy")


@pytest.fixture(scope="module")
def sql(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Statements:
    """Two tables that two branches hold, which main has left, and one outside of both."""
    found = Statements(session, tmp_path_factory.mktemp("catalog") / "warehouse")
    found.create("flights", KEYED, primary_keys=("id",), options={"bucket": "1"})
    found.create("planes", {"id": "INT", "seats": "INT"})
    found.create("outside", {"id": "INT"})
    found("INSERT INTO db.flights VALUES (1, 'a'), (2, 'b')")
    found("INSERT INTO db.planes VALUES (1, 100), (2, 200)")
    found("ALTER TABLE db.planes ADD COLUMN owner STRING")
    found("CREATE BRANCH eager ON TABLES 'db.flights', 'db.pl*'")
    found("CREATE BRANCH lazy ON TABLES 'db.flights', 'db.pl*' LAZY")
    found("INSERT INTO db.flights VALUES (3, 'main')")
    found("INSERT INTO db.planes VALUES (3, 300, 'main')")
    return found


def test_a_branch_reads_joins_and_writes_its_own_rows(sql: Statements) -> None:
    main = [sql.rows(f"SELECT * FROM db.{name} ORDER BY id") for name in ("flights", "planes")]
    seen = {}
    for branch in MODES:
        rows = [
            sql.rows("SELECT * FROM db.planes ORDER BY id", branch),
            sql.rows(f"SELECT id, name FROM `db$branch_{branch}`.flights ORDER BY id"),
        ]
        said = [
            sql("INSERT INTO db.flights VALUES (4, 'd')", branch),
            sql(f"UPDATE `db$branch_{branch}`.planes SET owner = 'x' || id WHERE id = 2"),
            sql("DELETE FROM db.flights WHERE id = 1", branch),
        ]
        rows += [
            sql.rows(
                f"SELECT f.id, f.name, p.owner, m.name FROM `db$branch_{branch}`.flights AS f "
                f"LEFT JOIN `db$branch_{branch}`.planes p ON f.id = p.id "
                "LEFT JOIN db.flights m ON m.id = f.id ORDER BY 1"
            ),
            sql.rows("SELECT count(*) FROM db.outside", branch),
        ]
        seen[branch] = (rows, [each.replace(branch, "…") for each in said])
    assert seen["lazy"] == seen["eager"]  # K16
    rows, said = seen["lazy"]
    assert rows[0] == [(1, 100, None), (2, 200, None)]
    assert rows[1] == [(1, "a"), (2, "b")]
    assert rows[2] == [(2, "b", "x2", "b"), (4, "d", None, None)]
    assert said[0] == "1 row inserted into db.flights: '…' is at snapshot 2."
    assert [
        sql.rows(f"SELECT * FROM db.{name} ORDER BY id") for name in ("flights", "planes")
    ] == main  # K10


def test_a_preview_says_what_was_done_to_each_table(sql: Statements) -> None:
    sql("ALTER TABLE db.planes RENAME COLUMN seats TO places", "eager")
    sql("INSERT INTO db.planes VALUES (5, 500, 'e')", "eager")
    spec = CatalogMergeSpec(source="eager", target="main")
    plan = preview_catalog_merge(sql.warehouse, spec)
    did = {each.name: did_words(each) for each in plan.objects}
    # With a primary key an insert may update a row: only without one it is known to add it.
    assert {name: each.ours for name, each in did.items()} == {
        "db.flights": "wrote rows (1 commit)",
        "db.planes": "inserted rows (1 commit)",
    }
    assert {name: each.theirs for name, each in did.items()} == {
        "db.flights": "wrote rows, deleted rows (2 commits)",
        "db.planes": "inserted rows, updated rows, renamed column 'seats' to 'places' (2 commits)",
    }


def test_rows_of_two_branches_are_compared_exactly_or_within_bounds(sql: Statements) -> None:
    for branch in MODES:
        found = compare_catalogs(sql.warehouse, branch, "main").objects
        for each in found:
            if each.content is None or each.content.rows is None:
                continue
            rows, (before, after) = each.content.rows, each.content.figures
            counted = [
                sql.rows(f"SELECT count(*) FROM `db$branch_{branch}`.{each.name[3:]}")[0][0],
                sql.rows(f"SELECT count(*) FROM {each.name}")[0][0],
            ]
            for figure, number in zip((before, after), counted, strict=True):
                assert figure is not None
                assert figure.rows in (None, number)
            if rows.net is not None:
                assert rows.net == counted[1] - counted[0]
    assert {each.name for each in found} >= {"db.flights", "db.planes"}


def test_a_tag_of_the_catalog_reads_as_the_tag_of_each_table_does(sql: Statements) -> None:
    names = ("flights", "planes")
    sql("CALL sys.create_catalog_tag(tag => 'v1')")
    rows = [sql.rows(f"SELECT * FROM db.{name} VERSION AS OF 'v1'") for name in names]
    sql("INSERT INTO db.flights VALUES (77, 'later')")
    sql("ALTER TABLE db.planes ADD COLUMN more INT")
    assert [sql.rows(f"SELECT * FROM `db$tag_v1`.{name}") for name in names] == rows
    with pytest.raises(PaimonError, match="a tag of the catalog is read-only"):
        sql("INSERT INTO `db$tag_v1`.flights VALUES (9, 'x')")


WRONG = [
    ("INSERT INTO db.outside VALUES (1)", "db.outside is outside of catalog branch 'lazy'"),
    ("INSERT INTO db.nothing VALUES (1)", "has no table db.nothing"),
    ("SELECT * FROM db.nothing", "Catalog branch 'lazy' has no table db.nothing"),
    ("INSERT INTO db.flights VALUES ('x', 'y', 1)", "takes 2 columns"),
    ("SELECT * FROM `db$branch_lzay`.flights", "no catalog branch 'lzay'. Did you mean 'lazy'?"),
    ("SELECT * FROM `db$branch_lazy`.`flights$branch_x`", "names a branch twice"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_statements_are_refused_and_make_no_branch(
    sql: Statements, text: str, message: str
) -> None:
    warehouse = Warehouse.open(str(sql.folder))
    before = {each.name: each.state for each in warehouse.on("lazy").members()}
    run = sql.rows if text.startswith("SELECT") else sql
    with pytest.raises(PaimonError) as refused:
        run(text, "lazy")
    assert message in refused.value.message
    assert {each.name: each.state for each in warehouse.on("lazy").members()} == before
