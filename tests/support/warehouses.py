"""The fixture warehouses: unpacked archives, and what Paimon said of them."""

import functools
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.build_warehouses import PYPAIMON, WAREHOUSE, archive_path, expected_path

VERSIONS: Final = ("1.4.2", "2.0.0")
each_version = pytest.mark.parametrize(
    "version", [VERSIONS[0], pytest.param(VERSIONS[-1], marks=pytest.mark.depth("full"))]
)
"""A test of each Java version; quick runs start one."""
WRITERS: Final = (*VERSIONS, PYPAIMON)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureWarehouse:
    """A warehouse that a version of Paimon, or pypaimon, wrote; not to be written to."""

    path: Path
    version: str

    @property
    def expected(self) -> dict[str, Any]:
        """What Paimon says of each `database.table`; the README beside the archives has the form.

        The path of this warehouse stands where Paimon gave one.
        """
        return read_expected(self.version, str(self.path))

    def table_path(self, name: str) -> Path:
        """The folder of `database.table`."""
        database, table = name.split(".")
        return self.path / f"{database}.db" / table


def unpack(version: str, folder: Path) -> FixtureWarehouse:
    """Unpack the archive of a version into a folder."""
    with tarfile.open(archive_path(version)) as archive:
        archive.extractall(folder, filter="data")
    return FixtureWarehouse(path=folder / "warehouse", version=version)


def expected_tables(version: str) -> dict[str, list[str]]:
    """The branches, main first, of each `database.table` of a version, for parametrised tests."""
    return {name: list(table["on"]) for name, table in read_expected(version).items()}


@functools.cache
def read_expected(version: str, path: str = WAREHOUSE) -> dict[str, Any]:
    """What a version of Paimon said of its tables, with this path for the warehouse."""
    text = expected_path(version).read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text.replace(WAREHOUSE, path))["tables"]
    return tables
