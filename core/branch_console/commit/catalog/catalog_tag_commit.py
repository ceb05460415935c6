"""Catalog tags: the tags of all tables first, then the file that lists them."""

from collections.abc import Sequence

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import AlreadyExists
from branch_console.format.catalog.catalog_tag import CatalogTag
from branch_console.storage.catalog_paths import CatalogPaths


def publish_catalog_tag(store: CommitStore, paths: CatalogPaths, tag: CatalogTag) -> None:
    """Make the file of a catalog tag, unless an earlier try of the same operation has.

    Raises:
        AlreadyExists: Somebody else made a tag of this name.
    """
    _, data = publish_once(store, paths.tag(tag.name), tag.to_json().encode())
    if CatalogTag.from_json(data).operation != tag.operation:
        raise AlreadyExists(
            f"Somebody made a catalog tag {tag.name!r} in the meantime. It stays as it is; choose "
            "another name.",
            tag=tag.name,
        )


def remove_catalog_tags(store: CommitStore, paths: CatalogPaths, names: Sequence[str]) -> None:
    """Remove the files of catalog tags, for good; the tags of tables stay."""
    store.remover.remove([paths.tag(name) for name in names])
