"""A table that real Paimon writes on several branches and we merge, beside a model of its rows."""

import copy
import json
import shutil
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlparse

from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import Plan
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.storage.table_paths import FENCE_ID
from tests.support.java_child import Read, read_with_java
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_rewrites import positions_of, rewrite
from tests.support.local_row_engine import LocalRows
from tests.support.warehouses import VERSIONS

NAME = "db.t"
SHARED = {"write-only": "true"}
# Other engines remove a consumer that grew this old, and with it the fence: no merge shares files.
COPIED = {"consumer.expiration-time": "9 d"}
# Shared as well, as no engine expires these snapshots; and Java's writers compact at once.
KEPT = {"snapshot.num-retained.min": "2147483647", "snapshot.num-retained.max": "2147483647"}

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = dict[int, Row]
View: TypeAlias = Callable[[Row], Row]


class MergeBench:
    """A table `db.t` with the columns id, day and amount; `rows` is what each branch must hold.

    Where a branch has other columns, `views` makes rows of its table of those.
    """

    def __init__(
        self,
        java: JavaPaimon,
        folder: Path,
        *,
        partitioned: bool = False,
        keyed: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.partition_keys = ("day",) if partitioned else ()
        self.keyed = keyed
        self._engine = (options or {}).get("merge-engine", "deduplicate")
        self._java = java
        self.rows: dict[str, Rows] = {"main": {}}
        self.views: defaultdict[str, View] = defaultdict(lambda: tuple)
        self.earlier: list[tuple[str, int, Rows]] = []
        self._just_merged = False
        buckets = {"bucket": "1"} if keyed else {}
        java.create_table(
            NAME,
            {"id": "INT", "day": "STRING", "amount": "INT"},
            partition_keys=self.partition_keys,
            primary_keys=("id", *self.partition_keys) if keyed else (),
            options={**buckets, **(options or {})},
        )

    def table(self, branch: str = "main") -> JavaTable:
        """The table on a branch, as Java sees it."""
        return self._java.table(NAME).on(branch)

    def warehouse(self) -> Warehouse:
        return Warehouse.open(str(self.folder))

    # ---- what Java does ------------------------------------------------------------------------

    def insert(self, branch: str, *ids: int, amount: int = 1) -> None:
        """Append rows, or put rows of keys."""
        new = {each: row_of(each, amount) for each in ids}
        self.table(branch).write(self._shown(branch, new))
        old = self.rows[branch]
        self.rows[branch] = old | {each: self._folded(old.get(each), new[each]) for each in ids}
        self._remember(branch)

    def _folded(self, old: Row | None, new: Row) -> Row:
        """What a merge engine makes of two rows of a key."""
        match self._engine:
            case _ if old is None:
                return new
            case "aggregation":
                return (*new[:2], old[2] + new[2])
            case "first-row":
                return old
            case _:
                return new

    def delete(self, branch: str, *ids: int) -> None:
        """Delete rows."""
        rows = self.rows[branch]
        if self.keyed:
            self.table(branch).delete([self.views[branch](rows[each]) for each in ids])
        else:
            rewrite(self.table(branch), lambda row: None if row[0] in ids else row)
        self.rows[branch] = {each: row for each, row in rows.items() if each not in ids}
        self._remember(branch)

    def hide(self, branch: str, *ids: int) -> None:
        """Delete rows by deletion vectors; no data file is written."""
        found = positions_of(self.table(branch), lambda row: row[0] in ids)
        self.table(branch).delete_positions(found)
        rows = self.rows[branch]
        self.rows[branch] = {each: row for each, row in rows.items() if each not in ids}
        self._remember(branch)

    def update(self, branch: str, *ids: int, amount: int) -> None:
        """Give rows another amount."""
        if self.keyed:
            self.insert(branch, *ids, amount=amount)
            return
        new = {each: row_of(each, amount) for each in ids}
        view = self.views[branch]
        rewrite(self.table(branch), lambda row: view(new[row[0]]) if row[0] in new else row)
        self.rows[branch] = self.rows[branch] | new
        self._remember(branch)

    def hide_and_insert(self, branch: str, new: Rows) -> None:
        """Update rows as engines do by vectors: the new versions come in a file of their own."""
        table = self.table(branch)
        hidden = positions_of(table, lambda row: row[0] in new)
        table.delete_positions(hidden, self._shown(branch, new))
        self.rows[branch] = self.rows[branch] | new
        self.record(branch, "UPDATE")
        self._remember(branch)

    def merge_into(
        self, branch: str, changes: Mapping[int, int | None], days: Collection[str] = ()
    ) -> None:
        """Give rows other amounts, delete those that get none and insert new ones, in one commit.

        Args:
            branch: Where; the table has no key.
            changes: Amounts by id.
            days: Of which all files are written again.
        """
        rows = self.rows[branch]
        images = {each: n if n is None else row_of(each, n) for each, n in changes.items()}
        rewrite(
            self.table(branch),
            lambda row: images.get(row[0], row),
            [row for each, row in images.items() if row is not None and each not in rows],
            lambda row: row[1] in days,
        )
        left = {each: row for each, row in {**rows, **images}.items() if row is not None}
        self.rows[branch] = left
        self._remember(branch)

    def overwrite(self, branch: str, *ids: int, amount: int = 5, is_recorded: bool = True) -> None:
        """Replace the partitions of these rows by them, and record it as SQL does."""
        new = {each: row_of(each, amount) for each in ids}
        self.table(branch).write(self._shown(branch, new), overwrite={})
        self.rows[branch] = self.outside(self.rows[branch], new) | new
        if is_recorded:
            self.record(branch, "OVERWRITE")
        self._remember(branch)

    def record(self, branch: str, operation: str) -> None:
        """Have the head tell what it did to rows, as Paimon 2.0's own statements do."""
        manager = self.table(branch).load().snapshotManager()
        number = manager.latestSnapshotId()
        path = Path(urlparse(str(manager.snapshotPath(number).toUri())).path)
        told = json.loads(path.read_text()) | {"operation": operation}
        path.write_text(json.dumps(told))

    def compact(self, branch: str) -> None:
        """Compact all there is; no row changes."""
        self.table(branch).compact(options={"compaction.min.file-num": "2"})
        self._remember(branch)

    def alter(self, branch: str, change: Callable[[JavaTable], None], view: View = tuple) -> None:
        """Change the columns or the options of a branch; `view` makes rows of its table then."""
        change(self.table(branch))
        self.views[branch] = view

    def _shown(self, branch: str, rows: Rows) -> list[Row]:
        return [self.views[branch](row) for row in rows.values()]

    def outside(self, rows: Rows, other: Iterable[int]) -> Rows:
        """The rows that lie in none of the partitions of other ones."""
        if not self.partition_keys:
            return {}
        days = {row_of(each, 0)[1] for each in other}
        return {each: row for each, row in rows.items() if row[1] not in days}

    # ---- what we do ----------------------------------------------------------------------------

    def branch(self, name: str, source: str = "main") -> None:
        """Make a branch from the head of another one."""
        arguments = {} if source == "main" else {"from_branch": source}
        self.call("create_branch", branch=name, **arguments)
        self.rows[name] = copy.deepcopy(self.rows[source])
        self.views[name] = self.views[source]

    def copied(self, java: JavaPaimon, folder: Path) -> "MergeBench":
        """The same table in another folder, to be merged in another way."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        other = copy.copy(self)
        other.folder, other._java = folder, java
        other.rows, other.earlier = copy.deepcopy(self.rows), list(self.earlier)
        other.views = self.views.copy()
        return other

    def java_branch(self, name: str) -> None:
        """Let Java make a branch from a tag on the head of main."""
        self.table().create_tag(f"fork-{name}")
        self.table().create_branch(name, f"fork-{name}")
        self.rows[name] = copy.deepcopy(self.rows["main"])
        self.views[name] = self.views["main"]

    def plan(self, source: str = "dev", target: str = "main", **rules: Any) -> Plan:
        """What a merge would do."""
        return preview_merge(
            self.warehouse(), Identifier.parse(NAME), source, target, MergeRules(**rules)
        )

    def merge(
        self,
        source: str = "dev",
        target: str = "main",
        *,
        rows: Rows,
        scope: InsertScope = InsertScope.TABLE,
        isolation: Isolation = Isolation.SERIALIZABLE,
    ) -> Receipt:
        """Merge; `rows` is what the target must hold then."""
        plan = self.plan(source, target, scope=scope, isolation=isolation)
        receipt = self.call(
            "merge_branch",
            branch=source,
            target=target,
            plan_id=plan.id,
            scope=str(scope),
            isolation=str(isolation),
        )
        self.rows[target] = dict(rows)
        self._remember(target)
        self._just_merged = True
        return receipt

    def call(self, name: str, **arguments: Argument) -> Receipt:
        """Run a procedure as the command line does."""
        call = ProcedureCall(
            name=name,
            arguments={"table": NAME, **arguments},
            actor="tester",
            operation_id=str(uuid.uuid4()),
            role="operator",
        )
        warehouse = self.warehouse()
        return run_call(warehouse, LocalRows(warehouse.file_io), call, InlineStages())

    # ---- what is asserted ----------------------------------------------------------------------

    def check(self, *, others: bool = True) -> None:
        """Java reads on every branch what the model holds; after a merge, each version of it."""
        for branch, rows in self.rows.items():
            _same(branch, self.table(branch).rows(), self._shown(branch, rows))
        if self._just_merged and others:
            self._check_with_others()
            self._just_merged = False

    def check_with_all(self) -> None:
        """Java of every version reads on every branch what the model holds."""
        self._just_merged = True
        self.check()

    def _check_with_others(self) -> None:
        for version in set(VERSIONS) - {self._java.version}:
            reads = {branch: Read(table=self.table(branch).name) for branch in self.rows}
            found = read_with_java(version, self.folder, reads.values())
            for branch, read in reads.items():
                rows = found[read]
                assert isinstance(rows, list), f"{branch} in {version}: {rows}"
                _same(f"{branch} in {version}", rows, self._shown(branch, self.rows[branch]))

    def check_history(self) -> None:
        """Every earlier snapshot holds what it held."""
        for branch, number, rows in self.earlier:
            found = self.table(branch).rows(snapshot=number)
            _same(f"{branch} {number}", found, list(rows.values()))

    def go_on(self) -> None:
        """Java writes and compacts on every branch, and reads what it must."""
        for number, branch in enumerate(self.rows):
            self.insert(branch, 900 + number, 902 + number, amount=9)
        self.check()
        for branch in self.rows:
            self.compact(branch)
        self.check()

    def expire(self, branch: str) -> None:
        """Java expires all but the head of a branch, whose fence somebody has removed."""
        paths = self.warehouse().table(Identifier.parse(NAME).on_branch(branch)).paths
        Path(paths.consumer(FENCE_ID)).unlink(missing_ok=True)
        self.table(branch).expire_snapshots(1)
        self.earlier = [each for each in self.earlier if each[0] != branch]

    def files(self) -> dict[str, bytes]:
        """Every file of the warehouse."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def _remember(self, branch: str) -> None:
        head = self.table(branch).load().snapshotManager().latestSnapshotId()
        view = self.views[branch]
        rows = {each: view(row) for each, row in self.rows[branch].items()}
        self.earlier.append((branch, int(head), rows))


def row_of(number: int, amount: int) -> Row:
    """The row of an id; two neighbours share a day."""
    return (number, "d1" if (number - 1) % 4 < 2 else "d2", amount)


def three_way(base: Rows, ours: Rows, theirs: Rows) -> Rows:
    """What a merge makes of rows of which no two sides changed the same one."""
    merged = {}
    for each in sorted({*base, *ours, *theirs}):
        old, mine, other = (rows.get(each) for rows in (base, ours, theirs))
        assert len({old, mine, other}) < 3, each
        kept = other if mine == old else mine
        if kept is not None:
            merged[each] = kept
    return merged


def put(rows: Sequence[int]) -> Rows:
    """Rows as `insert` makes them."""
    return {each: row_of(each, 1) for each in rows}


def _same(where: str, found: Sequence[Row], expected: Sequence[Row]) -> None:
    # By the id, as there may be nulls behind it.
    got, wanted = (sorted(rows, key=lambda row: row[0]) for rows in (found, expected))
    assert got == wanted, f"{where}: {got}, not {wanted}"
