"""The scan of manifests that all tables of a store share, made when the first one asks for it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from branch_console.storage.metadata_cache import MetadataReader

if TYPE_CHECKING:
    from branch_console.table.manifest_scan import ManifestScan


class SharedScan:
    """Holds the scan of a store's manifests; none is made while only snapshots are asked for."""

    def __init__(self, reader: MetadataReader) -> None:
        self._reader = reader

    @cached_property
    def manifests(self) -> ManifestScan:
        """The scan, which remembers what it decoded."""
        # It needs Arrow, which takes longer to load than to list a hundred tables.
        from branch_console.table.manifest_scan import ManifestScan  # noqa: PLC0415

        return ManifestScan(self._reader)
