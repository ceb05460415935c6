"""The data of the catalog page: its branches, and each object as each branch has it."""

import itertools
from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import Final

from branch_console.catalog.catalog_ledger import CatalogLedger
from branch_console.diff.catalog_standing import objects_on_branch
from branch_console.diff.catalog_state import CatalogState
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    VersionKind,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.procedures.browse.catalog_values import (
    CatalogBranchItem,
    CatalogBranchStanding,
    CatalogObject,
    CatalogOverview,
)
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.browse_catalog import branch_item, changes_on_branch
from branch_console.procedures.catalog.states import read_members, state_of_main, state_seen
from branch_console.procedures.catalog_merge.catalog_sides import with_bases

_MOST_VERSIONS: Final = 60
"""The most versions read of a branch, so that a page stays quick for a branch with many."""


def read_catalog_overview(warehouse: Warehouse) -> CatalogOverview:
    """Return the branches of the catalog against main; nothing is written.

    A branch that cannot be read has its error, and spoils no other.

    Raises:
        CommitConflict: Main got new versions all the time.
    """
    with warehouse.deciding() as deciding:
        names = deciding.ledger.branches()
        main = state_of_main(deciding)
        states: dict[str, ThreeWay[CatalogState]] = {}
        found = [_standing(deciding, name, main, states) for name in names]
    objects = tuple(_objects(main, states.values()))
    return CatalogOverview(
        main=main.version,
        main_versions=_versions_of_main(warehouse.ledger, found),
        branches=tuple(found),
        objects=objects,
    )


def _standing(
    warehouse: Warehouse, name: str, main: CatalogState, states: dict[str, ThreeWay[CatalogState]]
) -> CatalogBranchStanding:
    """Compare a branch with main, and keep the states that were compared."""
    versions: tuple[CatalogVersion, ...] = ()
    try:
        versions = tuple(itertools.islice(_since_fork(warehouse.ledger, name), _MOST_VERSIONS))
        seen = warehouse.on(name)
        read = read_members(seen)
        changed = changes_on_branch(warehouse, seen, read)
        item = branch_item(seen, read, changed=len(changed))
        sides = with_bases(warehouse, ours=main, theirs=state_seen(seen, read))
    except PaimonError as error:
        return CatalogBranchStanding(
            item=CatalogBranchItem(name=name, error=error), versions=versions
        )
    states[name] = sides
    objects = objects_on_branch(sides, seen.scope)
    return CatalogBranchStanding(
        item=item,
        ahead=sum(each.is_changed for each in objects.values()),
        behind=sum(each.is_behind for each in objects.values()),
        objects=objects,
        versions=versions,
    )


def _objects(
    main: CatalogState, branches: Iterable[ThreeWay[CatalogState]]
) -> Iterator[CatalogObject]:
    """List what main or any branch has, and what a branch dropped of its base."""
    states = [main]
    for sides in branches:
        states += [sides.theirs, sides.base]
    for kind, held in (
        (ObjectKind.DATABASE, attrgetter("databases")),
        (ObjectKind.TABLE, attrgetter("tables")),
    ):
        names: dict[str, str] = {}
        for state in states:
            for key in held(state):
                if key not in names:
                    names[key] = state.name_of(key) or key
        for key, name in sorted(names.items(), key=lambda each: (each[1], each[0])):
            yield CatalogObject(kind=kind, id=key, name=name, main_name=main.name_of(key))


def _since_fork(ledger: CatalogLedger, branch: str) -> Iterator[CatalogVersion]:
    """Yield the versions of a branch, newest first, down to the one that it begins with."""
    for version in ledger.versions(branch):
        yield version
        if version.kind is VersionKind.FORKED:
            return


def _versions_of_main(
    ledger: CatalogLedger, branches: Collection[CatalogBranchStanding]
) -> tuple[CatalogVersion, ...]:
    """Return the newest versions of main, and each at which a branch meets it."""
    newest = itertools.islice(ledger.versions(MAIN_BRANCH), _MOST_VERSIONS)
    found: dict[VersionName, CatalogVersion] = {each.name: each for each in newest}
    for branch in branches:
        for version in branch.versions:
            for parent in version.parents:
                if parent.branch == MAIN_BRANCH and parent not in found:
                    found[parent] = ledger.version(parent)
    return tuple(sorted(found.values(), key=lambda each: -each.number))
