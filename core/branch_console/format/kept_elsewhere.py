"""Metadata that Paimon keeps for others beside a commit or a tag: Iceberg, metastores, programs.

None of that is written here. Left out without a word, those who read it would see the table as it
was. Source: Paimon AbstractFileStore.createCommitCallbacks and createTagCallbacks, in 2.0.0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.options import Options
from branch_console.format.other_catalog import CatalogKind

WITHOUT_CALLBACKS_OPTION: Final = "without-callbacks"
"""The dynamic option of a write that goes on without all that; its value is the reason."""
WITHOUT_CALLBACKS_PROPERTY: Final = "branch.without-callbacks"
"""The property of a snapshot of rows that was committed so: the reason."""


class Act(StrEnum):
    """The acts after which Paimon calls others."""

    COMMIT = "commit"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class KeptElsewhere:
    """Something that Paimon would do beside an act.

    Attributes:
        option: The option that asks for it.
        what: The action of Paimon by this option, as the end of "Paimon …".
        stale: The object that is out of date without it, as the beginning of a sentence.
        until: The event that updates it, as the end of "until …".
    """

    option: str
    what: str
    stale: str
    until: str = "somebody brings it up to date"


def kept_elsewhere(options: Options, branch: str, act: Act) -> tuple[KeptElsewhere, ...]:
    """Return what Paimon does for others at an act on a branch.

    Iceberg metadata and metastores tell of main alone, so that nothing goes out of date there by
    what happens on another branch.

    Args:
        options: The options of the branch's newest schema.
        branch: The branch that is committed to or tagged.
        act: Whether it is a commit or a tag.
    """
    found = _at_commits(options, branch) if act is Act.COMMIT else _at_tags(options, branch)
    return tuple(found)


def kept_in_catalog(kind: CatalogKind) -> KeptElsewhere:
    """Return what Paimon does for its catalog where main gets another schema.

    Its own ALTER TABLE tells the catalog; `sys.repair` does so later. Other branches are not told.
    """
    return KeptElsewhere(
        "metastore",
        f"keeps a copy of the columns and options of main in {kind.keeper}",
        "That copy",
        until="CALL sys.repair is run in Paimon",
    )


def _at_commits(options: Options, branch: str) -> Iterator[KeptElsewhere]:
    if options.get("commit.callbacks", "").strip():
        yield KeptElsewhere(
            "commit.callbacks", "calls programs after each commit", "What those programs keep"
        )
    if branch != MAIN_BRANCH:
        return
    yield from _iceberg(options)
    if _is_on(options, "metastore.partitioned-table"):
        yield KeptElsewhere(
            "metastore.partitioned-table",
            "tells the metastore of new partitions",
            "The list of partitions in the metastore",
            until="CALL sys.repair is run in Paimon",
        )
    preview = options.get("metastore.tag-to-partition.preview", "none").strip().lower()
    if options.get("metastore.tag-to-partition", "").strip() and preview != "none":
        yield KeptElsewhere(
            "metastore.tag-to-partition.preview",
            "shows the newest rows as a partition in the metastore",
            "That partition in the metastore",
            until="Paimon commits to the table again",
        )


def _at_tags(options: Options, branch: str) -> Iterator[KeptElsewhere]:
    if options.get("tag.callbacks", "").strip():
        yield KeptElsewhere(
            "tag.callbacks", "calls programs after each tag", "What those programs keep"
        )
    if branch != MAIN_BRANCH:
        return
    yield from _iceberg(options)
    if options.get("metastore.tag-to-partition", "").strip():
        yield KeptElsewhere(
            "metastore.tag-to-partition",
            "shows tags as partitions in the metastore",
            "The list of those partitions",
        )


def _iceberg(options: Options) -> Iterator[KeptElsewhere]:
    if options.get("metadata.iceberg.storage", "disabled").strip().lower() != "disabled":
        yield KeptElsewhere(
            "metadata.iceberg.storage",
            "writes Iceberg metadata after each commit and tag",
            "The Iceberg table",
            until="Paimon commits to the table again",
        )


def _is_on(options: Options, key: str) -> bool:
    return options.get(key, "false").strip().lower() == "true"
