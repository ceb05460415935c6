"""The snapshots of tables that branches and tags of the catalog name, by identity."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from branch_console.catalog.catalog_ledger import CatalogLedger
from branch_console.catalog.catalog_tag_view import CatalogTags
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.catalog.named_snapshot import NamedSnapshot
from branch_console.format.identifier import MAIN_BRANCH


class LedgerReferences:
    """Reads from the ledger which snapshots must stay for branches and tags of the catalog.

    A table that a branch has not made yet is read where it began: without that snapshot its rows
    are lost, though no branch of the table names it. The ledger is read once, for one decision.
    """

    def __init__(self, ledger: CatalogLedger, tags: CatalogTags) -> None:
        self._ledger = ledger
        self._tags = tags

    def snapshots(self) -> tuple[NamedSnapshot, ...]:
        """Return what all branches and tags of the catalog name.

        Raises:
            NotFound: A version is missing, so that what is needed is not known.
            FormatError: One cannot be decoded.
        """
        return self._found

    @cached_property
    def _found(self) -> tuple[NamedSnapshot, ...]:
        return (*self._of_branches(), *self._of_tags())

    def _of_branches(self) -> Iterator[NamedSnapshot]:
        for branch in self._ledger.branches():
            recorded = self._ledger.recorded(branch)
            content = branch if recorded.fork is None else recorded.fork.content or branch
            yield from _named(branch, content, recorded.tables.values())

    def _of_tags(self) -> Iterator[NamedSnapshot]:
        for name in self._tags.names():
            tag = self._tags.find(name)
            if tag is not None:
                yield from _named(name, None, tag.tables.values())


def _named(
    owner: str, content: str | None, tables: Iterable[TableChange]
) -> Iterator[NamedSnapshot]:
    for table in tables:
        if table.head is not None:
            yield NamedSnapshot(
                owner=owner,
                branch=table.source or MAIN_BRANCH,
                content=content,
                id=table.head.id,
                identity=table.head.identity,
            )
