"""Two branches of the catalog compared: what differs in objects, schemas, rows and rules."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console import api
from branch_console.diff.schema_diff import SchemaVerdict
from branch_console.errors import InvalidInput, NotFound
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.procedures.compare.catalogs import (
    ComparedCatalogs,
    ComparedObject,
    compare_catalogs,
)
from branch_console.storage.file_io import FileIO
from tests.support.branch_bench import tree
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.unit.procedures.test_merge_catalog import alter, change, key_of

RULES = "table: air.planes\nrules:\n  - {id: seats, rule: not_null, columns: [id]}\n"


def told(found: ComparedCatalogs) -> list[tuple[str, str | None, str | None, list[str]]]:
    return [
        (str(each.kind), each.before, each.after, [str(what) for what in each.differs])
        for each in found.objects
    ]


def subjects(compared: ComparedObject) -> list[str]:
    assert compared.content is not None
    assert compared.content.schema is not None
    return [each.subject for each in compared.content.schema.changes]


def planes_of(bench: CatalogBench, before: str, after: str) -> ComparedObject:
    found = compare_catalogs(bench.warehouse(), before, after).objects
    return next(each for each in found if each.name == "air.planes")


@pytest.fixture
def bench(tmp_path: Path) -> CatalogBench:
    """Main, and two branches of it that went apart: one eager, one lazy with one database."""
    return went_apart(tmp_path)


def went_apart(folder: Path) -> CatalogBench:
    found = CatalogBench(root=folder / "warehouse")
    for statement in (
        "CREATE DATABASE air WITH DBPROPERTIES ('a' = '0')",
        "CREATE DATABASE lab",
        *(f"CREATE TABLE {name} (id INT)" for name in ("air.flights", "air.planes", "lab.notes")),
        "CREATE BRANCH dev ON CATALOG",
        "CREATE BRANCH air ON DATABASE air LAZY",
        "CREATE TABLE air.later (id INT)",
        "USE BRANCH dev; ALTER TABLE air.flights RENAME TO air.legs",
        "USE BRANCH dev; ALTER TABLE air.planes ADD COLUMN seats INT",
        "USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES ('a' = '1')",
        "USE BRANCH dev; DROP TABLE lab.notes",
        "USE BRANCH dev; CREATE TABLE lab.routes (id INT)",
    ):
        found(statement)
    return found


def test_each_object_that_differs_is_listed_with_what_it_differs_in(bench: CatalogBench) -> None:
    before = tree(bench.root)
    found = compare_catalogs(bench.warehouse(), "main", "dev")
    assert told(found) == [
        ("database", "air", "air", ["properties"]),
        ("table", "air.later", None, ["not held by B"]),
        ("table", "air.flights", "air.legs", ["name"]),
        ("table", "air.planes", "air.planes", ["schema"]),
        ("table", "lab.notes", None, ["only in A"]),
        ("table", None, "lab.routes", ["only in B"]),
    ]
    assert (found.versions, found.same) == (("main@1", "dev@5"), 1)
    planes = found.objects[3]
    assert subjects(planes) == ["seats"]
    assert found.objects[0].properties == ("a",)
    back = told(compare_catalogs(bench.warehouse(), "dev", "main"))
    assert ("table", "air.legs", "air.flights", ["name"]) in back
    assert ("table", None, "lab.notes", ["only in B"]) in back
    assert tree(bench.root) == before  # K14


def test_a_lazy_branch_is_compared_at_its_base_and_only_where_it_speaks(
    bench: CatalogBench,
) -> None:
    bench("ALTER TABLE air.planes ADD COLUMN wings INT")
    assert told(compare_catalogs(bench.warehouse(), "air", "main")) == [
        ("database", None, "lab", ["not held by A"]),
        ("table", None, "air.later", ["not held by A"]),
        ("table", "air.planes", "air.planes", ["schema"]),
        ("table", None, "lab.notes", ["not held by A"]),
    ]
    assert subjects(planes_of(bench, "air", "dev")) == ["seats"]


def test_one_schema_id_on_both_branches_is_not_one_schema(bench: CatalogBench) -> None:
    bench("ALTER TABLE air.planes ADD COLUMN wings INT")
    planes = planes_of(bench, "main", "dev")
    assert sorted(set(subjects(planes))) == ["seats", "wings"]
    assert planes.content is not None
    assert planes.content.schema is not None
    assert planes.content.schema.verdict is SchemaVerdict.BREAKING


def test_rules_of_a_table_are_counted_and_a_broken_rule_file_is_told_of_it_alone(
    tmp_path: Path,
) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create()
    alter(made, "air.planes", "dev")
    alter(made, "air.flights", "dev")
    folder = made.folder / ".branch-console" / "quality"
    folder.mkdir(parents=True)
    (folder / "air.planes.yaml").write_text(RULES)
    (folder / "air.flights.yaml").write_text("rules: 7")
    found = api.compare_catalogs(made.warehouse, "main", "dev").objects
    assert [each.content and each.content.rules for each in found] == [None, 1]
    assert found[0].error is not None
    assert "air.flights.yaml" in found[0].error.message


def test_a_lost_table_is_told_and_hides_no_other(tmp_path: Path) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create()
    change(made, {"lab.notes": TableChange(name="pages")})
    home = key_of(made, "lab")
    seen = made.on()
    gone = TableChange(database=home, name="gone", folder="lab.db/gone", birth="b")
    version = seen.recorded.version
    ledger = made.warehouse.ledger
    newest = ledger.version(version)
    assert ledger.publish(
        made.warehouse.store.publisher,
        replace(newest, number=newest.number + 1, parents=(version,), tables={"t-gone": gone}),
    )
    found = compare_catalogs(made.warehouse, "main", "dev").objects
    assert [(each.name, each.error is not None) for each in found] == [
        ("lab.gone", True),
        ("lab.pages", False),
    ]


def test_wrong_use_names_the_way_out(tmp_path: Path) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create()
    with pytest.raises(InvalidInput, match="'dev' is compared with itself"):
        compare_catalogs(made.warehouse, "dev", "dev")
    with pytest.raises(NotFound, match=r"no catalog branch 'dve'.*Did you mean 'dev'"):
        compare_catalogs(made.warehouse, "main", "dve")


def test_tables_that_are_the_same_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create()
    alter(made, "air.flights", "dev")
    made.commit("air.flights", 2, branch="dev")
    read: set[str] = set()
    ask = FileIO._ask

    def noting(self: FileIO, path: str, call):  # type: ignore[no-untyped-def]
        read.add(path)
        return ask(self, path, call)

    with monkeypatch.context() as patched:
        patched.setattr(FileIO, "_ask", noting)
        found = compare_catalogs(made.warehouse, "main", "dev")
    assert told(found) == [("table", "air.flights", "air.flights", ["schema"])]
    lists = {path for path in read if "manifest" in path.rpartition("/")[2]}
    assert lists
    assert all("flights" in path for path in lists)


@pytest.mark.depth("long")
def test_a_thousand_tables_are_compared_in_a_second(tmp_path: Path) -> None:
    names = tuple(f"air{number % 10}.t{number}" for number in range(1_000))
    made = CatalogWarehouse(tmp_path / "warehouse", names)
    made.create()
    for name in names[:10]:
        alter(made, name, "dev")
    seconds = []
    for _ in range(3):
        warehouse = made.warehouse
        started = time.perf_counter()
        found = compare_catalogs(warehouse, "main", "dev")
        seconds.append(time.perf_counter() - started)
        assert len(found.objects) == 10
    print(f"compared in {min(seconds):.2f} s")
    assert min(seconds) < 1
