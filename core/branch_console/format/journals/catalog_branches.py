"""The journals of what is done to branches and tags of the catalog."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.catalog.catalog_tag import CatalogTag
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import file_text, or_null, texts, told
from branch_console.format.journals.objects import CATALOG_VERSION, SUBJECT, CatalogJournal


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalogBranchJournal(CatalogJournal):
    """The first version of a new catalog branch, which says what its tables begin at."""

    catalog_version: CatalogVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalogBranchJournal(CatalogJournal):
    """The version that ends a catalog branch.

    Attributes:
        made: The ids of the tables whose table branches go with it.
    """

    catalog_version: CatalogVersion
    made: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTagJournal(CatalogJournal):
    """A tag of the catalog that is made, or deleted."""

    catalog_tag: CatalogTag


_REASON: Final = or_null("reason", str)
_TAG: Final = file_text("catalogTag", CatalogTag)

CREATE_CATALOG_BRANCH_JOURNAL: Final = Codec(
    what="journal of a new catalog branch",
    reads={
        1: Layout(
            CreateCatalogBranchJournal,
            SUBJECT,
            told("claims", lambda journal: journal.catalog_version.branch),
            CATALOG_VERSION,
            _REASON,
        )
    },
)
DROP_CATALOG_BRANCH_JOURNAL: Final = Codec(
    what="journal of a catalog branch that is dropped",
    reads={1: Layout(DropCatalogBranchJournal, SUBJECT, CATALOG_VERSION, _REASON, texts("made"))},
)
CREATE_CATALOG_TAG_JOURNAL: Final = Codec(
    what="journal of a catalog tag",
    reads={1: Layout(CatalogTagJournal, SUBJECT, _TAG)},
)
DELETE_CATALOG_TAG_JOURNAL: Final = Codec(
    what="journal of a catalog tag that is deleted",
    reads={1: Layout(CatalogTagJournal, SUBJECT, _TAG, _REASON)},
)
