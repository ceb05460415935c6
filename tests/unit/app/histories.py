"""Small histories for the models: snapshots whose identity follows from their name."""

from dataclasses import dataclass

from branch_console.diff.rows.row_figure import RowFigure
from branch_console.format.snapshot import CommitKind, Snapshot

MINUTE = 60_000


def snapshot(
    name: str,
    number: int,
    *,
    kind: CommitKind = CommitKind.APPEND,
    millis: int | None = None,
    schema_id: int = 0,
    rows: int | None = 10,
    total: int | None = None,
    user: str = "etl",
) -> Snapshot:
    """A snapshot; another name is another identity, whatever the id."""
    return Snapshot(
        uuid=f"{name}-uuid",
        id=number,
        schema_id=schema_id,
        base_manifest_list=f"manifest-list-{name}-0",
        delta_manifest_list=f"manifest-list-{name}-1",
        commit_user=user,
        commit_identifier=number,
        commit_kind=kind,
        time_millis=number * MINUTE if millis is None else millis,
        delta_record_count=rows,
        total_record_count=number * 10 if total is None else total,
    )


def history(name: str, first: int, last: int) -> tuple[Snapshot, ...]:
    """Snapshots `first` to `last` of one writer."""
    return tuple(snapshot(f"{name}{number}", number) for number in range(first, last + 1))


@dataclass(frozen=True)
class Entry:
    """A line of a timeline, of a table whose records are all rows."""

    id: int
    snapshot: Snapshot | None
    tags: tuple[str, ...] = ()
    schema_changed: bool = False

    @property
    def figure(self) -> RowFigure:
        total = self.snapshot and self.snapshot.total_record_count
        return RowFigure(rows=total, records=total)

    @property
    def change(self) -> RowFigure:
        delta = self.snapshot and self.snapshot.delta_record_count
        return RowFigure(rows=delta, records=delta)
