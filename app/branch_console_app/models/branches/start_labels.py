"""The labels of snapshots and tags in lists to choose from: when each was made, and by what."""

from datetime import tzinfo
from typing import Final

from branch_console.diff.lineage import MERGE_SOURCE
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import SnapshotItem, TagItem
from branch_console_app.models.branches.tag_labels import tag_label
from branch_console_app.models.parts.wording import date_and_time

_DOT: Final = " · "


def snapshot_label(item: SnapshotItem, zone: tzinfo | None) -> str:
    """Write a snapshot: `12 · 25 Nov 2026, 21:58 · merge of fix-delays · tag 2013-q3`.

    Args:
        item: The snapshot, with its tags.
        zone: The time zone of the person.
    """
    parts = [str(item.id)]
    if item.snapshot is not None:
        parts += [date_and_time(item.snapshot.time_millis, zone), _commit_words(item.snapshot)]
    tag = tag_label(item.tags)
    if tag:
        parts.append(f"tag {tag}")
    return _DOT.join(parts)


def start_tag_label(item: TagItem, zone: tzinfo | None) -> str:
    """Write a tag with its snapshot: `2013-q3 · snapshot 8 · 25 Nov 2026, 21:58`.

    Args:
        item: The tag.
        zone: The time zone of the person.
    """
    if item.tag is None:
        return item.name
    snapshot = item.tag.snapshot
    return _DOT.join(
        [item.name, f"snapshot {snapshot.id}", date_and_time(snapshot.time_millis, zone)]
    )


def _commit_words(snapshot: Snapshot) -> str:
    source = snapshot.properties.get(MERGE_SOURCE)
    return f"merge of {source}" if source else snapshot.commit_kind.lower()
