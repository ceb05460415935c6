"""Tables that are drawn, with what each branch of them holds, to the last digit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

from branch_console.commit.schema.schema_commit import (
    add_column,
    change_schema,
    create_table,
    drop_column,
    new_schema,
    rename_column,
    retype_column,
)
from branch_console.format.data_types import (
    INT,
    STRING,
    DataField,
    DataType,
    RowType,
    parse_data_type,
)
from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.spark.session.session import WarmSession
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from tests.support.quality_values import TYPES, Draw, type_of
from tests.support.write_bench import WriteBench

MARKS: Final = {"deletion-vectors.enabled": "true"}
_KEYED: Final = {"primary_keys": ("id",)}
_PARTED: Final = {"partition_keys": ("part",)}
SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "append": {},
    "append by partition": _PARTED,
    "append in buckets": {"options": {"bucket": "2", "bucket-key": "id"}},
    "append, marked": {"options": MARKS},
    "append by partition, marked": {**_PARTED, "options": MARKS},
    "append in buckets, marked": {"options": {**MARKS, "bucket": "2", "bucket-key": "id"}},
    "keyed in two buckets": {**_KEYED, "options": {"bucket": "2"}},
    "keyed in dynamic buckets": {**_KEYED, "options": {"dynamic-bucket.target-row-num": "200"}},
    "keyed, marked": {**_KEYED, "options": {**MARKS, "bucket": "2"}},
    "keyed, in several runs": {**_KEYED, "options": {"bucket": "1", "write-only": "true"}},
    "keyed by partition": {
        "primary_keys": ("part", "id"), **_PARTED, "options": {"bucket": "2", "write-only": "true"},
    },
}  # fmt: skip
_WIDER: Final = {
    "TINYINT": "INT",
    "SMALLINT": "BIGINT",
    "INT": "BIGINT",
    "DECIMAL(5, 2)": "DECIMAL(12, 2)",
    "DECIMAL(18, 4)": "DECIMAL(38, 4)",
    "FLOAT": "DOUBLE",
    "TIMESTAMP(3)": "TIMESTAMP(6)",
    "TIMESTAMP(6)": "TIMESTAMP(9)",
}
# Behind those of all columns.
_FIELD_OF_ROW: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnColumn:
    """A column, and how its values are drawn."""

    kind: str
    draw: Draw
    share_of_nulls: float

    @property
    def type(self) -> DataType:
        """Its type in a table."""
        found = type_of(self.kind)
        if isinstance(found, RowType):
            return RowType(fields=tuple(replace(each, id=_FIELD_OF_ROW) for each in found.fields))
        return found

    def value(self, rng: Random) -> Any:
        """Draw a value."""
        return None if rng.random() < self.share_of_nulls else self.draw(rng)


@dataclass
class DrawnTable:
    """A table `db.t` with a branch `dev`, both of which are written to.

    Attributes:
        keys: The columns of its key; empty without one.
        columns: By the names that they had at first, as are the values of rows.
        names: What they are called on each branch; what a branch dropped is missing.
        rows: What each branch holds, by a number that each row has for itself.
        news: Which of these were written after the branch was made.
    """

    bench: WriteBench
    rng: Random
    keys: tuple[str, ...]
    columns: dict[str, DrawnColumn]
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    news: dict[str, set[int]] = field(default_factory=dict)
    next: int = 0

    @classmethod
    def draw(cls, session: WarmSession, folder: Path, rng: Random, shape: str) -> "DrawnTable":
        """Make a table of a shape in SHAPES, without rows."""
        columns = {
            "id": DrawnColumn(kind="INT", draw=lambda rng: rng.randrange(500), share_of_nulls=0),
            "part": DrawnColumn(kind="STRING", draw=lambda rng: rng.choice("ab"), share_of_nulls=0),
        }
        for at, (kind, draw) in enumerate(TYPES.items()):
            share = rng.choice([0, 0.1, 0.1, 1])
            drawn = DrawnColumn(kind=kind, draw=_repeating(draw, rng), share_of_nulls=share)
            columns[f"c{at}"] = drawn
        bench = WriteBench(folder, session)
        # Only the ids of what is in a ROW are not given by whoever makes a schema.
        fields = tuple(
            DataField(id=at, name=name, type=each.type)
            for at, (name, each) in enumerate(columns.items())
        )
        plain = new_schema([("id", INT), ("part", STRING)], **SHAPES[shape])
        schema = replace(
            plain,
            fields=(*plain.fields, *fields[len(plain.fields) :]),
            highest_field_id=_FIELD_OF_ROW,
        )
        create_table(bench.warehouse.store, TablePaths(table=f"{folder}/db.db/t"), schema)
        names = {each: each for each in columns}
        return cls(
            bench=bench, rng=rng, keys=schema.primary_keys, columns=columns,
            names={"main": names}, rows={"main": {}}, news={"main": set()},
        )  # fmt: skip

    def on(self, branch: str) -> FileStoreTable:
        """The table on a branch."""
        return self.bench.open(_named(branch))

    def branch(self) -> None:
        """Make the branch `dev` at the head of main."""
        call = ProcedureCall(
            name="create_branch", arguments={"table": "db.t", "branch": "dev"}, actor="test",
            operation_id=str(uuid4()),
        )  # fmt: skip
        create_branch(self.bench.warehouse, NoRowEngine(), call, InlineStages())
        self.names["dev"] = dict(self.names["main"])
        self.rows["dev"] = dict(self.rows["main"])
        self.news = {"main": set(), "dev": set()}

    def insert(self, branch: str, number: int, parts: str) -> None:
        """Insert rows; with a key some of them in place of others."""
        rows = []
        for each in self.rng.sample(range(700), number) if self.keys else [None] * number:
            row = {
                name: column.value(self.rng)
                for name, column in self.columns.items()
                if name in self.names[branch]
            }
            if each is not None:
                row |= {"id": each, "part": parts[each % len(parts)]}
            else:
                row["part"] = self.rng.choice(parts)
            self._put(branch, row)
            rows.append(tuple(row[name] for name in self._order(branch)))
        self.bench.insert(_named(branch), rows)

    def delete(self, branch: str) -> None:
        """Delete every seventh id."""
        which = self.rng.randrange(7)
        self.bench.delete(_named(branch), f"id % 7 = {which}")
        for number, row in list(self.rows[branch].items()):
            if row["id"] % 7 == which:
                del self.rows[branch][number]

    def alter(self, branch: str) -> set[str]:
        """Rename, widen, add and drop columns, or some of it; return what was done."""
        usual = [name for name in self.names[branch] if name not in ("id", "part")]
        renamed, dropped = self.rng.sample(usual, 2)
        wide = [name for name in usual if name != dropped and self.columns[name].kind in _WIDER]
        widened = self.rng.choice(wide)
        done = set(self.rng.sample(["rename", "drop", "add", "widen"], self.rng.randrange(5)))
        changes = []
        if "widen" in done:
            changes.append(
                retype_column(widened, parse_data_type(_WIDER[self.columns[widened].kind]))
            )
        if "rename" in done:
            changes.append(rename_column(renamed, "other"))
            self.names[branch][renamed] = "other"
        if "drop" in done:
            name = self.names[branch].pop(dropped)
            changes.append(drop_column(name))
        if "add" in done:
            changes.append(add_column("more", parse_data_type("DECIMAL(38, 0)")))
            self.columns["more"] = DrawnColumn(
                kind="DECIMAL(38, 0)", draw=TYPES["DECIMAL(38, 0)"], share_of_nulls=0.3
            )
            self.names[branch]["more"] = "more"
        if changes:
            change_schema(self.on(branch), self.bench.warehouse.store, changes, now_millis=1)
        return done

    def values(self, branch: str, name: str, *, only: set[int] | None = None) -> list[Any]:
        """The values of a column on a branch; None where a row is older than the column."""
        rows = self.rows[branch]
        return [row.get(name) for number, row in rows.items() if only is None or number in only]

    def own(self, branch: str) -> set[int]:
        """The rows that only this branch has: with a key those that no row of the other equals."""
        if not self.keys:
            return self.news[branch] & set(self.rows[branch])
        other = "main" if branch == "dev" else "dev"
        there = {self._told(row) for row in self.rows[other].values()}
        return {number for number, row in self.rows[branch].items() if self._told(row) not in there}

    def _key(self, row: Mapping[str, Any]) -> list[Any]:
        return [row[name] for name in self.keys]

    def _told(self, row: Mapping[str, Any]) -> str:
        # A column that the branch dropped is not compared; minus zero is zero.
        values = (row.get(name) for name in self.names["dev"])
        return repr([0 if each == 0 else each for each in values])

    def _put(self, branch: str, row: dict[str, Any]) -> None:
        rows, number = self.rows[branch], self.next
        self.next += 1
        if self.keys:
            # At most one there, as keys are.
            for old in [at for at, each in rows.items() if self._key(each) == self._key(row)]:
                del rows[old]
        rows[number] = row
        self.news[branch].add(number)

    def _order(self, branch: str) -> Iterator[str]:
        """The columns as they stand in the schema, by the names that they had at first."""
        first = {now: name for name, now in self.names[branch].items()}
        return (first[each.name] for each in self.on(branch).schema().fields)


def _named(branch: str) -> str:
    return "t" if branch == "main" else f"t$branch_{branch}"


def _repeating(draw: Draw, rng: Random) -> Draw:
    """Draw again and again from few values, or ever new ones."""
    if rng.random() < 0.6:
        return draw
    few = [draw(rng) for _ in range(rng.choice([1, 5, 200]))]
    return lambda rng: rng.choice(few)
