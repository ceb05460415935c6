"""How a branch has each object of the catalog, against its merge base with main."""

from branch_console.diff.catalog_standing import ObjectStanding, objects_on_branch
from branch_console.diff.catalog_state import CatalogState, Content
from branch_console.format.catalog.catalog_version import CatalogScope
from tests.support.catalog_states import catalog, database, table, three

BASE = catalog(database("d", "air"), table("f", "d.flights"), table("p", "d.planes"))


def standings(
    theirs_and_ours: dict[str, object], scope: CatalogScope | None = None
) -> dict[str, str]:
    sides = three(BASE, theirs_and_ours["ours"], theirs_and_ours["theirs"])  # type: ignore[arg-type]
    found = objects_on_branch(sides, scope or CatalogScope())
    return {
        key: " ".join(each.standings) + (" behind" if each.is_behind else "")
        for key, each in found.items()
    }


def test_each_change_of_the_branch_has_its_word() -> None:
    theirs = catalog(
        database("d", "air", comment="x"),
        table("f", "d.legs", at=2),
        table("r", "d.routes"),
        version="dev@2",
        members=frozenset("dfpr"),
    )
    assert standings({"ours": BASE, "theirs": theirs}) == {
        "d": "changed",
        "f": "renamed changed",
        "p": "dropped",
        "r": "new",
    }


def test_what_main_did_is_behind_and_no_change_of_the_branch() -> None:
    ours = catalog(
        database("d", "air", comment="x"), table("f", "d.flights", at=2), table("n", "d.new")
    )
    theirs = catalog(*BASE.databases.values(), *BASE.tables.values(), version="dev@1",
                     members=frozenset("dfp"))  # fmt: skip
    assert standings({"ours": ours, "theirs": theirs}) == {
        "d": "same behind",
        "f": "same behind",
        "p": "same behind",
        "n": "absent behind",
    }


def test_the_heads_of_a_table_are_those_that_a_merge_would_bring_together() -> None:
    theirs = catalog(
        database("d", "air"), table("f", "d.flights", at=2), table("p", "d.craft"),
        table("r", "d.routes", at=1), version="dev@2", members=frozenset("dfpr"),
    )  # fmt: skip
    found = objects_on_branch(three(BASE, BASE, theirs), CatalogScope())

    def head(of: CatalogState, key: str) -> str:
        known = of.tables[key].head
        assert known is not None
        return known.text

    assert {key: each.heads for key, each in found.items()} == {
        "d": (),
        "f": (head(BASE, "f"), head(theirs, "f")),
        # Renamed only: no row of it comes.
        "p": (),
        "r": (head(theirs, "r"),),
    }


def test_outside_of_the_scope_is_no_drop() -> None:
    theirs = catalog(database("d", "air"), table("f", "d.flights"), version="dev@1",
                     members=frozenset("df"))  # fmt: skip
    found = standings({"ours": BASE, "theirs": theirs}, CatalogScope(tables=("air.fl*",)))
    assert found == {"d": "same", "f": "same", "p": "outside"}


def test_a_branch_is_never_behind_on_what_it_does_not_hold() -> None:
    """After a merge the base is the branch's own version, which lacks all that it does not hold."""
    held = (database("d", "air"), table("f", "d.flights", at=2))
    ours = catalog(
        database("d", "air"), table("f", "d.flights", at=3), table("p", "d.planes"),
        table("n", "d.new"), version="main@2",
    )  # fmt: skip
    branch = catalog(*held, version="dev@1", members=frozenset("df"))
    found = objects_on_branch(three(branch, ours, branch), CatalogScope(tables=("air.fl*",)))
    behind = {key for key, each in found.items() if each.is_behind}
    assert behind == {"f"}, "only the merge itself, which the branch does not have"


def test_a_lost_table_branch_is_lost_and_not_dropped() -> None:
    theirs = catalog(
        database("d", "air"),
        table("f", "d.flights", content=Content.LOST),
        table("p", "d.planes"),
        version="dev@1",
        members=frozenset("dfp"),
    )
    found = objects_on_branch(three(BASE, BASE, theirs), CatalogScope())
    assert found["f"].standings == (ObjectStanding.LOST,)
    assert found["f"].is_changed
    assert not found["p"].is_changed
