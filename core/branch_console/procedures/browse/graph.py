"""The lineage of a table as a graph: a lane a branch, and each snapshot on the lane it began on."""

from collections.abc import Iterable, Mapping
from itertools import islice

from branch_console.diff.lineage import merge_source
from branch_console.diff.rows.row_figure import commit_figures, snapshot_figure
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.browse.branches import BranchReader, key_of
from branch_console.procedures.browse.history import tag_names, tags_by_id
from branch_console.procedures.browse.page_values import (
    BranchGraph,
    BranchItem,
    GraphLane,
    GraphNode,
)
from branch_console.procedures.call.warehouse import Warehouse


def read_graph(warehouse: Warehouse, table: Identifier, versus: str | None = None) -> BranchGraph:
    """Return the lineage of a table's branches; a snapshot that several share stands once.

    The lanes carry what a list of the branches shows: a page reads heads and histories once.

    Args:
        warehouse: The warehouse.
        table: The table, on any branch.
        versus: The branch that each is compared with; None takes the first that can be read.

    Raises:
        NotFound: There is no such table or branch.
    """
    return graph_of(BranchReader(warehouse, warehouse.table(table)), versus)


def graph_of(reader: BranchReader, versus: str | None = None) -> BranchGraph:
    """Lay out what a reader has found; raises NotFound if it knows no branch `versus`."""
    items = {item.name: item for item in reader.items(versus)}
    heads = _heads(items.values())
    placed: dict[str, GraphNode] = {}
    edges: list[tuple[SnapshotIdentity, SnapshotIdentity]] = []
    order = _lane_order(items)
    for name in order:
        history = reader.history(name)
        tags = tags_by_id(reader.tags(name))
        changes = commit_figures(history, None, items[name].schema, name)
        for at, (before, snapshot) in enumerate(zip((None, *history), history, strict=False)):
            key = key_of(snapshot)
            if key in placed:
                continue
            _, *older = islice(reader.line(snapshot), 2)
            edges += [(snapshot.identity, each.identity) for each in older]
            placed[key] = GraphNode(
                branch=name,
                snapshot=snapshot,
                figure=snapshot_figure(snapshot, items[name].schema, name),
                change=changes[at],
                tags=tag_names(tags, snapshot),
                schema_changed=before is not None and before.schema_id != snapshot.schema_id,
                is_head_of=heads.get(key, ()),
                merged_from=merge_source(snapshot),
            )
    edges += [
        (node.snapshot.identity, node.merged_from)
        for node in placed.values()
        if node.merged_from is not None
    ]
    first = {node.branch: node.snapshot for node in reversed(placed.values())}
    return BranchGraph(
        identifier=reader.identifier,
        lanes=tuple(
            _lane(items[name], _leaves(reader, name, first.get(name, items[name].head), placed))
            for name in order
        ),
        nodes=tuple(placed.values()),
        edges=tuple(edges),
        events=reader.events,
        dropped=reader.dropped(),
    )


def _leaves(
    reader: BranchReader, branch: str, oldest: Snapshot | None, placed: Mapping[str, GraphNode]
) -> tuple[SnapshotIdentity, ...]:
    """Return the newest snapshot on each lane before a lane's own history, up to main."""
    found: dict[str, SnapshotIdentity] = {}
    for each in () if oldest is None else reader.line(oldest):
        lane = placed[key_of(each)].branch
        if lane != branch:
            found.setdefault(lane, each.identity)
        if lane == MAIN_BRANCH != branch:
            break
    return tuple(found.values())


def _lane(item: BranchItem, leaves: tuple[SnapshotIdentity, ...]) -> GraphLane:
    return GraphLane(
        branch=item.name,
        parent=_parent_of(item),
        leaves=leaves,
        head=None if item.head is None else item.head.identity,
        item=item,
    )


def _lane_order(items: Mapping[str, BranchItem]) -> list[str]:
    """Main first; a branch after the one it left, so that shared snapshots stay there."""
    left = sorted(items, key=lambda name: (items[name].created_millis or 0, name))
    order: list[str] = []
    waiting = set(left)
    while left:
        first = MAIN_BRANCH if MAIN_BRANCH in waiting else left[0]
        ready = (name for name in left if _parent_of(items[name]) not in waiting)
        order.append(first if first == MAIN_BRANCH else next(ready, first))
        left.remove(order[-1])
        waiting.remove(order[-1])
    return order


def _parent_of(item: BranchItem) -> str | None:
    return None if item.fork is None else item.fork.parent


def _heads(items: Iterable[BranchItem]) -> dict[str, tuple[str, ...]]:
    heads: dict[str, tuple[str, ...]] = {}
    for item in items:
        if item.head is not None:
            key = key_of(item.head)
            heads[key] = (*heads.get(key, ()), item.name)
    return heads
