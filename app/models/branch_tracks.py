"""What was read of a table's branches, in the terms of the branch graph."""

from app.models.branch_graph import Track
from core.procedures.browse_values import BranchGraph, GraphNode


def tracks_of(graph: BranchGraph) -> list[Track]:
    """Return a track a lane: the snapshots that began on it, and how its branch stands."""
    own: dict[str, list[GraphNode]] = {}
    for node in graph.nodes:
        own.setdefault(node.branch, []).append(node)
    tracks = []
    for lane in graph.lanes:
        item, nodes, distance = lane.item, own.get(lane.branch, []), lane.item.versus
        tracks.append(
            Track(
                branch=lane.branch,
                snapshots=tuple(node.snapshot for node in nodes),
                head=item.head,
                tags=tuple((tag, node.snapshot.identity) for node in nodes for tag in node.tags),
                ahead=distance.ahead if distance else None,
                behind=distance.behind if distance else None,
                problem=item.error.message if item.error else None,
                fork=lane.fork,
                created_millis=item.created_millis,
                is_stale=item.is_stale,
            )
        )
    return tracks
