"""Tables of many kinds that real Paimon writes, and their rows counted from what it reads.

Of each `main` and two branches have rows of their own: `dev` changed other rows than main, `clash`
changed some of the same ones, and `more` only adds two.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_rewrites import positions_of, rewrite

BRANCHES: Final = ("main", "dev", "clash", "more")
COLUMNS: Final[dict[str, Any]] = {
    "id": "INT NOT NULL",
    "day": "STRING NOT NULL",
    "n": "INT",
    "x": "DOUBLE",
    "price": "DECIMAL(10, 2)",
    "at": "TIMESTAMP(6)",
    "readings": {"type": "ARRAY", "element": "DOUBLE"},
    "info": {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "a", "type": "INT"},
            {
                "id": 1,
                "name": "flags",
                "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "DOUBLE"},
            },
        ],
    },
}
_NOON: Final = dt.datetime(2024, 2, 29, 12, 34, 56, 789123)
_NAN: Final = math.nan
_COMPACTED: Final = {"write-only": "false"}
_MARKS: Final = {"deletion-vectors.enabled": "true"}

Row = tuple[Any, ...]
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of table.

    Attributes:
        keys: Nothing for a table without a primary key.
        evolves: Whether branches get columns of their own.
        branch_options: Options that only `dev` has.
        kind_column: The column that says what kind of change a row is, where one does.
    """

    keys: tuple[str, ...] = ("id",)
    partition: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    evolves: bool = False
    branch_options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kind_column: str | None = None

    @property
    def deletes(self) -> bool:
        """Whether a row that is deleted is gone."""
        return "ignore-delete" not in self.options

    @property
    def has_marks(self) -> bool:
        """Whether deletion vectors hide rows."""
        return "deletion-vectors.enabled" in self.options

    @property
    def has_row_ids(self) -> bool:
        """Whether each row has an id of its own."""
        return self.options.get("row-tracking.enabled") == "true"

    @property
    def is_compacted(self) -> bool:
        """Whether readers see only what is compacted."""
        return self.options.get("write-only") == "false"

    @property
    def hides_smaller(self) -> bool:
        """Whether a row of the source loses to one of the target, whatever a policy says."""
        return "sequence.field" in self.options

    @property
    def merges_cells(self) -> bool:
        """Whether two values of a cell are no conflict, as both count or the first one does."""
        return self.options.get("merge-engine") in ("aggregation", "first-row")


def _keyed(**options: str) -> Kind:
    named = {name.replace("__", ".").replace("_", "-"): each for name, each in options.items()}
    return Kind(options={"bucket": "1", **named})


KINDS: Final[Mapping[str, Kind]] = {
    "deduplicate": Kind(options={"bucket": "2"}),
    "partitioned": Kind(keys=("id", "day"), partition=("day",), options={"bucket": "1"}),
    "sequence_field": _keyed(sequence__field="n"),
    "dynamic_bucket": Kind(options={"bucket": "-1"}),
    "marked": Kind(options={"bucket": "1", **_MARKS, **_COMPACTED}),
    "partial_update": _keyed(
        merge_engine="partial-update", partial_update__remove_record_on_delete="true"
    ),
    "aggregation": _keyed(
        merge_engine="aggregation",
        aggregation__remove_record_on_delete="true",
        fields__n__aggregate_function="sum",
    ),
    "first_row": _keyed(merge_engine="first-row", ignore_delete="true", write_only="false"),
    "ignore_delete": _keyed(ignore_delete="true"),
    "ignore_update_before": _keyed(ignore_update_before="true"),
    "rowkind_field": Kind(options={"bucket": "1", "rowkind.field": "op"}, kind_column="op"),
    "changelog": _keyed(changelog_producer="lookup", write_only="false"),
    "evolved": Kind(options={"bucket": "1"}, evolves=True),
    "other_options": Kind(options={"bucket": "1"}, branch_options={"target-file-size": "1 mb"}),
    "append": Kind(keys=(), options={"bucket": "-1"}),
    "append_partitioned": Kind(keys=(), partition=("day",), options={"bucket": "-1"}),
    "append_marked": Kind(keys=(), options={"bucket": "-1", **_MARKS}),
    "append_tracked": Kind(keys=(), options={"bucket": "-1", "row-tracking.enabled": "true"}),
    "append_bucketed": Kind(keys=(), options={"bucket": "2", "bucket-key": "id"}),
    "append_evolved": Kind(keys=(), options={"bucket": "-1"}, evolves=True),
}


class RecountedTable:
    """A table `db.NAME` of a kind, written on all its branches.

    Attributes:
        name: With its database.
        kind: The kind of the table.
    """

    def __init__(self, java: JavaPaimon, name: str) -> None:
        self.name, self.kind = f"db.{name}", KINDS[name]
        self._java = java
        self._counts: dict[str, int] = {}
        named = {} if self.kind.kind_column is None else {self.kind.kind_column: "STRING"}
        java.create_table(
            self.name,
            {**COLUMNS, **named},
            partition_keys=self.kind.partition,
            primary_keys=self.kind.keys,
            options={"write-only": "true", **self.kind.options},
        )
        self._write_main()
        for branch in BRANCHES[1:]:
            self.on("main").create_branch(branch, "base")
        self._alter()
        self.put("dev", _row(1, 7), _row(9), _row(30, 3), _row(15, x=0.0), _row(16, x=_NAN))
        self.delete("dev", 10, 11)
        self.put("clash", _row(1, 8), _row(2, 8), _row(12, 8), _row(40, 4), _row(50, 8))
        self.delete("clash", 13)
        self.put("more", _row(60), _row(61))
        self.put("main", _row(2, 9), _row(12, 9), _row(31), _row(50, 9))
        self.delete("main", 14)
        for branch in BRANCHES:
            self.compact(branch)

    def on(self, branch: str) -> JavaTable:
        """The table on a branch, as Java sees it."""
        return self._java.table(self.name).on(branch)

    def snapshots(self, branch: str) -> range:
        """The ids of a branch's snapshots."""
        manager = self.on(branch).load().snapshotManager()
        return range(int(manager.earliestSnapshotId()), int(manager.latestSnapshotId()) + 1)

    def count(self, branch: str, snapshot: int) -> int:
        """Count the rows that Java reads of a snapshot; a state is read once."""
        manager = self.on(branch).load().snapshotManager()
        state = str(manager.snapshot(snapshot).deltaManifestList())
        if state not in self._counts:
            self._counts[state] = len(self.on(branch).rows(snapshot=snapshot))
        return self._counts[state]

    def rows(self, branch: str = "main", snapshot: int | None = None) -> Rows:
        """The rows that Java reads, by the names that their columns had."""
        table = self.on(branch)
        state = {} if snapshot is None else {"scan.snapshot-id": str(snapshot)}
        names = [str(name) for name in table.load(state).rowType().getFieldNames()]
        return [
            dict(zip(names, map(_comparable, row), strict=True))
            for row in table.rows(snapshot=snapshot)
        ]

    def differing(self, before: Rows, after: Rows) -> dict[str, int]:
        """Count the rows by which two states differ, joined by key or as bags of rows."""
        if not self.kind.keys:
            left, right = (Counter(map(repr, rows)) for rows in (before, after))
            return {
                "added": (right - left).total(), "removed": (left - right).total(), "changed": 0,
            }  # fmt: skip
        left_rows, right_rows = self._by_key(before), self._by_key(after)
        both = left_rows.keys() & right_rows.keys()
        return {
            "added": len(right_rows.keys() - both),
            "removed": len(left_rows.keys() - both),
            "changed": sum(left_rows[key] != right_rows[key] for key in both),
        }

    def conflicts(self, base: Rows, ours: Rows, theirs: Rows) -> int:
        """Count the cells that two sides gave different values, and rows only one of them kept."""
        if self.kind.merges_cells:
            return 0
        sides = [self._by_key(rows) for rows in (base, ours, theirs)]
        return sum(
            _conflicts_of(*(side.get(key) for side in sides))
            for key in sides[0].keys() | sides[1].keys() | sides[2].keys()
        )

    def row(self, number: int) -> Row:
        """A row with an id, in the order of COLUMNS."""
        return _row(number)

    def put(self, branch: str, *rows: Row) -> None:
        """Commit rows in the order of COLUMNS, in place of those with their ids."""
        table = self.on(branch)
        shown = {row[0]: _shown(table, row) for row in rows}
        if self.kind.keys:
            table.write(shown.values())
        elif self.kind.has_marks:
            hidden = positions_of(table, lambda row: row[0] in shown)
            table.delete_positions(hidden, list(shown.values()))
        else:
            held = {row[0] for row in table.rows()}
            new = [row for key, row in shown.items() if key not in held]
            if held.isdisjoint(shown):
                table.write(new)
            else:
                # A new row gets its id by a commit of its own.
                added = () if self.kind.has_row_ids else new
                rewrite(table, lambda row: shown.get(row[0], row), added)
                if self.kind.has_row_ids and new:
                    table.write(new)

    def delete(self, branch: str, *ids: int) -> None:
        """Delete rows by their ids, as tables of this kind have it done."""
        table = self.on(branch)
        if self.kind.keys:
            self._write(branch, "-D", *(_row(each, 5) for each in ids))
        elif self.kind.has_marks:
            table.delete_positions(positions_of(table, lambda row: row[0] in ids))
        else:
            rewrite(table, lambda row: None if row[0] in ids else row)

    def add_deleting_branches(self) -> None:
        """Make `gone`, which deletes and changes rows, and `emptied`, which deletes very many.

        Main has more rows before, in files of their own, and changes others afterwards.
        """
        self.put("main", *map(_row, range(90, 100)))
        self.compact("main")
        self.on("main").create_tag("later")
        for branch in ("gone", "emptied"):
            self.on("main").create_branch(branch, "later")
        self.delete("gone", 91, 92)
        self.put("gone", _row(93, 3), _row(110))
        self.delete("gone", 94)
        self.compact("gone")
        if self.kind.partition:
            self.on("emptied").drop_partition({"day": "a"})
        else:
            self.on("emptied").truncate()
        self.put("emptied", _row(90, 6))
        self.compact("emptied")
        self.put("main", _row(4, 9), _row(111))
        self.delete("main", 4, 16)
        self.compact("main")

    def compact(self, branch: str) -> None:
        """Compact a branch where readers see only what is compacted."""
        if self.kind.is_compacted:
            self.on(branch).compact()

    def _by_key(self, rows: Rows) -> dict[tuple[Any, ...], dict[str, Any]]:
        found = {tuple(row[key] for key in self.kind.keys): row for row in rows}
        assert len(found) == len(rows), "Java returned a key twice"
        return found

    def _write_main(self) -> None:
        self.put("main", *map(_row, range(1, 21)))
        self.put(
            "main", _row(1, 1), _row(2, 1, x=-0.0), _row(3, 1, x=0.0), _row(4, 1, x=_NAN),
            _row(15, x=-0.0), _row(16, x=_NAN),
        )  # fmt: skip
        self.delete("main", 5, 6)
        if self.kind.keys and self.kind.deletes and not self.kind.is_compacted:
            self._write("main", "-U", _row(7))
            self._write("main", "+U", _row(7, 2))
            self._write("main", "-U", _row(8))
        self.compact("main")
        self.on("main").create_tag("base")

    def _alter(self) -> None:
        if self.kind.branch_options:
            self.on("dev").set_options(self.kind.branch_options)
        if self.kind.evolves:
            dev = self.on("dev")
            dev.add_column("w", "INT")
            dev.drop_column("price")
            dev.rename_column("n", "m")
            self.on("main").add_column("extra", "STRING")

    def _write(self, branch: str, kind: str, *rows: Row) -> None:
        table = self.on(branch)
        table.write([_shown(table, row, kind) for row in rows], kind=kind)


def _row(number: int, n: int = 0, x: float = 1.5) -> Row:
    at = _NOON + dt.timedelta(microseconds=number)
    day = "a" if number % 2 else "b"
    # A part of nested values is as x is: zeros and NaN are compared there too.
    nested = (number, {"k": x, "l": None})
    return (number, day, n, x, Decimal(number) / 4, at, [x, None], nested)


def _shown(table: JavaTable, row: Row, kind: str = "+I") -> Row:
    given = dict(zip(COLUMNS, row, strict=True))
    given |= {"w": given["n"], "m": given["n"], "op": kind}
    return tuple(given.get(name) for name in _names(table))


def _names(table: JavaTable) -> list[str]:
    return [column.split()[0] for column in table.columns()]


def _comparable(value: Any) -> Any:
    """A value as SQL's `<=>` takes it: zeros are equal, and so are two NaN."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case list() | tuple():
            return tuple(map(_comparable, value))
        case dict():
            return tuple(sorted((key, _comparable(each)) for key, each in value.items()))
        case _:
            return value


def _conflicts_of(
    base: dict[str, Any] | None, ours: dict[str, Any] | None, theirs: dict[str, Any] | None
) -> int:
    if base in (ours, theirs) or ours == theirs:
        return 0
    if ours is None or theirs is None:
        return 1
    was: Mapping[str, Any] = base or {}
    return sum(
        ours[name] != theirs[name] and (base is None or was[name] not in (ours[name], theirs[name]))
        for name in ours
    )
