"""The location of a page: warehouse, database, table, branch, snapshot, as in its address.

The address decides. If a name in it does not exist, the page says so and offers the nearest names;
it never picks another name.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from branch_console.format.identifier import BRANCH_MARK, MAIN_BRANCH
from branch_console.format.snapshot import Snapshot

PARAMETERS: Final = ("wh", "db", "table", "branch", "snap")


def warehouse_name(url: str) -> str:
    """Return what people call a warehouse: the last part of its path."""
    return url.rstrip("/").rpartition("/")[2] or url


def warehouse_key(url: str) -> str:
    """Return the name that addresses use: readable, and another one for another path."""
    return f"{warehouse_name(url)}-{hashlib.sha256(url.encode()).hexdigest()[:6]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPoint:
    """One snapshot as an address names it: ids repeat, so a part of the identity goes along."""

    branch: str
    id: int
    identity: str

    @classmethod
    def parse(cls, text: str) -> "SnapshotPoint | None":
        """Parse `<branch>:<id>:<identity>`; None if it is not one."""
        parts = text.rsplit(":", 2)
        if len(parts) != 3 or not parts[0] or not parts[1].isdecimal():
            return None
        return cls(branch=parts[0], id=int(parts[1]), identity=parts[2])

    @classmethod
    def of(cls, branch: str, snapshot: Snapshot) -> "SnapshotPoint":
        """Name a snapshot on a branch."""
        return cls(branch=branch, id=snapshot.id, identity=snapshot.identity.short)

    def names(self, snapshot: Snapshot) -> bool:
        """Whether this is `snapshot`, and not another one that got its id later."""
        return self.id == snapshot.id and self.identity == snapshot.identity.short

    def __str__(self) -> str:
        return f"{self.branch}:{self.id}:{self.identity}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """The parameters of an address, as far as it has them."""

    warehouse: str | None = None
    database: str | None = None
    table: str | None = None
    branch: str | None = None
    snap: str | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Location":
        """Read the location from the parameters of an address; others are left alone.

        A table may bring its database along, and its branch, as commands and statements have them:
        `table=db.t$branch_b`.
        """
        values = (query.get(name) or None for name in PARAMETERS)
        warehouse, database, table, branch, snap = values
        if table is not None and database is None and "." in table:
            database, _, table = table.partition(".")
        if table is not None and branch is None:
            name, _, named = table.partition(BRANCH_MARK)
            if named:
                table, branch = name, named
        return cls(warehouse=warehouse, database=database, table=table, branch=branch, snap=snap)

    @property
    def full_table(self) -> str | None:
        """Database and table, where both are named."""
        return f"{self.database}.{self.table}" if self.database and self.table else None

    @property
    def branch_or_main(self) -> str:
        """The branch; main is what an address without one means."""
        return self.branch or MAIN_BRANCH

    @property
    def point(self) -> SnapshotPoint | None:
        """The snapshot, where one is named."""
        return SnapshotPoint.parse(self.snap) if self.snap else None

    def query(self) -> dict[str, str]:
        """Return the parameters that lead here again."""
        values = (self.warehouse, self.database, self.table, self.branch, self.snap)
        return {name: value for name, value in zip(PARAMETERS, values, strict=True) if value}

    def at_table(self, database: str, table: str) -> "Location":
        """Return the same warehouse at another table."""
        return Location(warehouse=self.warehouse, database=database, table=table)

    def at_branch(self, branch: str) -> "Location":
        """Return the same table at another branch, and no snapshot of the earlier one."""
        return replace(self, branch=branch, snap=None)

    def at_snapshot(self, point: SnapshotPoint | None) -> "Location":
        """Return the same place at a snapshot, or without one."""
        if point is None:
            return replace(self, snap=None)
        return replace(self, branch=point.branch, snap=str(point))
