"""The commands that read: tables, a table, and what its branches hold."""

from collections.abc import Iterable
from typing import Annotated

import typer

from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.health.finding import HazardSeverity
from branch_console.diff.rows.row_figure import FigureColumn, RowFigure, Write, in_full, with_sign
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import (
    BranchItem,
    SchemaItem,
    SnapshotItem,
    TableItem,
    TagItem,
)
from branch_console_app.cli.arguments import (
    BranchOption,
    JsonOption,
    LimitOption,
    TableArgument,
    WarehouseOption,
    named_table,
    open_lists,
    open_services,
)
from branch_console_app.cli.check import print_check
from branch_console_app.cli.lane_text import draw_lanes
from branch_console_app.cli.output import (
    NOT_READ,
    fields_of,
    first_rows,
    local_time,
    print_fields,
    print_json,
    print_line,
    print_note,
    print_rows,
    print_table,
    short_user,
    shown,
)
from branch_console_app.judged_heads import JudgementReads, read_head_checks
from branch_console_app.models.branches.file_health import files_word

browse = typer.Typer()

_FILE_COLUMNS = {
    "partition": "partition",
    "bucket": "bucket",
    "level": "level",
    "records": "record_count",
    "bytes": "file_size_in_bytes",
    "schema": "schema_id",
    "created": "creation_time",
    "file": "file",
}


@browse.command()
def tables(
    database: Annotated[
        str | None, typer.Option("--database", "-d", metavar="NAME", help="One database only.")
    ] = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tables of the warehouse."""
    lists = open_lists(warehouse)
    items = lists.tables(database)
    if as_json:
        print_json({"warehouse": lists.settings.warehouse, "tables": items})
        return
    if not items:
        print_line(f"No tables under {lists.settings.warehouse}.")
        return
    heading, cells = _figures(item.figure for item in items)
    print_rows(
        ("table", "kind", ">branches", ">head", heading, "changed", "files"),
        (_table_row(*each) for each in zip(items, cells, strict=True)),
    )
    _report_broken((item.identifier.full_name, item.error) for item in items)


@browse.command()
def show(
    table: TableArgument,
    branch: BranchOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table on one branch: keys, columns, options, head, branches, tags."""
    services = open_services(warehouse)
    found = services.table(named_table(table, branch))
    fallback = services.fallback(found.identifier) if found.branch_options else None
    if as_json:
        content = {field.name: getattr(found, field.name) for field in fields_of(found)}
        print_json({**content, "fallback": fallback})
        return
    schema = found.schema
    print_fields(
        {
            "table": found.identifier.full_name,
            "path": found.path,
            "kind": str(found.kind),
            "comment": schema.comment,
            "primary key": schema.primary_keys or None,
            "partitions": schema.partition_keys or None,
            "schema": str(schema.id),
            "head": _head_text(found.head),
            found.figure.label: found.figure.number(),
            "snapshots": _snapshot_range(found.first_snapshot_id, found.head, found.snapshot_count),
            "branches": found.branches or None,
            "tags": found.tags or None,
            "consumers": dict(found.consumers) or None,
            "reads": fallback.sentence if fallback else None,
        }
    )
    print_line()
    print_rows(
        (">id", "column", "type", "default", "comment"),
        (
            (str(field.id), field.name, str(field.type), field.default_value, field.description)
            for field in schema.fields
        ),
    )
    if schema.options:
        print_line()
        print_rows(("option", "value"), sorted(schema.options.items()))
    _report_broken_events(found.broken_events)


@browse.command()
def branches(
    table: TableArgument,
    versus: Annotated[
        str, typer.Option("--versus", metavar="BRANCH", help="The branch to compare with.")
    ] = MAIN_BRANCH,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the branches of a table: head, fork, how far ahead and behind, files."""
    identifier = named_table(table)
    services = open_services(warehouse)
    reader = services.branch_reader(identifier)
    items, broken = reader.items(versus), reader.broken_events
    checks = read_head_checks(JudgementReads.of(services), identifier, items, versus)
    if as_json:
        print_json(
            {
                "table": identifier.table_name,
                "versus": versus,
                "branches": items,
                "checks": {name: check.to_object() for name, check in checks.items()},
                "broken_events": broken,
            }
        )
        return
    heading, cells = _figures(item.figure for item in items)
    print_rows(
        ("branch", ">head", heading, ">ahead", ">behind", "forked from", "changed", "files"),
        (_branch_row(*each) for each in zip(items, cells, strict=True)),
    )
    print_line(BranchCounts.of(item.name for item in items).words)
    _report_broken((f"Branch {item.name!r}", item.error) for item in items)
    _report_broken_events(broken)
    for name, check in checks.items():
        print_check(name, check)
    for item in items:
        for finding in item.findings:
            if finding.severity is not HazardSeverity.INFO:
                print_line(f"{item.name}: {finding.rule} {finding.severity}: {finding.sentences}")
    for name in (item.name for item in items if item.branch_options and item.error is None):
        fallback = services.fallback(identifier.on_branch(name))
        if fallback is not None:
            print_line(f"{name}: {fallback.sentence}")


@browse.command()
def snapshots(
    table: TableArgument,
    branch: BranchOption = None,
    limit: LimitOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the snapshots of a branch, newest first."""
    identifier = named_table(table, branch)
    items = open_services(warehouse).snapshots(identifier)
    if as_json:
        print_json(_of(identifier, snapshots=items[: limit or None]))
        return
    shown = items[: _shown_count(limit)]
    heading, totals = _figures(item.figure for item in shown)
    _, changes = _figures((item.change for item in shown), with_sign)
    print_rows(
        (">id", "identity", "kind", heading, ">change", ">schema", "time", "user", "tags"),
        (_snapshot_row(*each) for each in zip(shown, totals, changes, strict=True)),
        total=len(items),
    )
    _report_broken((f"Snapshot {item.id}", item.error) for item in items)


@browse.command()
def schemas(
    table: TableArgument,
    branch: BranchOption = None,
    limit: LimitOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the schemas of a branch, newest first, and what each changed."""
    identifier = named_table(table, branch)
    items = open_services(warehouse).schemas(identifier)
    if as_json:
        print_json(_of(identifier, schemas=items[: limit or None]))
        return
    print_rows(
        (">id", "time", ">columns", ">snapshots", "changes"),
        (_schema_row(item) for item in items[: _shown_count(limit)]),
        total=len(items),
    )
    _report_broken((f"Schema {item.id}", item.error) for item in items)


@browse.command()
def tags(
    table: TableArgument,
    branch: BranchOption = None,
    limit: LimitOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tags of a branch."""
    identifier = named_table(table, branch)
    items = open_services(warehouse).tags(identifier)
    if as_json:
        print_json(_of(identifier, tags=items[: limit or None]))
        return
    shown = items[: _shown_count(limit)]
    heading, cells = _figures(item.figure for item in shown)
    print_rows(
        ("tag", ">snapshot", "identity", heading, "committed", "kept for", "base of"),
        (_tag_row(*each) for each in zip(shown, cells, strict=True)),
        total=len(items),
    )
    _report_broken((f"Tag {item.name!r}", item.error) for item in items)


@browse.command()
def files(
    table: TableArgument,
    branch: BranchOption = None,
    limit: LimitOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the data files of a branch's head, as Paimon's system table `files` does."""
    identifier = named_table(table, branch)
    found = open_services(warehouse).system_table(identifier, "files")
    if as_json:
        count = found.num_rows
        print_json(_of(identifier, count=count, files=first_rows(found, limit, as_json=True)))
        return
    import pyarrow.compute as pc  # noqa: PLC0415 - only what holds rows needs Arrow

    # Partition and bucket say where a file lies; its folder would say so again.
    names = pc.replace_substring_regex(found["file_path"], ".*/", "")
    print_table(found.append_column("file", names), limit, _FILE_COLUMNS)


@browse.command()
def system(
    table: TableArgument,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Such as snapshots, schemas, options, files or manifests; any other name "
            "lists them.",
        ),
    ],
    branch: BranchOption = None,
    limit: LimitOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a system table of a branch, with Paimon's columns."""
    identifier = named_table(table, branch)
    found = open_services(warehouse).system_table(identifier, name)
    if as_json:
        rows = first_rows(found, limit, as_json=True)
        print_json(_of(identifier, name=name, count=found.num_rows, rows=rows))
        return
    print_table(found, limit)


@browse.command()
def graph(
    table: TableArgument,
    unfold: Annotated[
        bool, typer.Option("--all", "-a", help="Draw each snapshot of a long run.")
    ] = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw the branches of a table, their forks, merges and tags."""
    found = open_services(warehouse).graph(named_table(table))
    if as_json:
        print_json(found)
        return
    for line in draw_lanes(found, fold=not unfold):
        print_line(line)


@browse.command("schema-diff")
def schema_diff(
    table: TableArgument,
    left: Annotated[
        str,
        typer.Argument(
            metavar="A", help="The schema before: a branch for its newest, or branch@schema-id."
        ),
    ],
    right: Annotated[
        str, typer.Argument(metavar="B", help="The schema after, named the same way.")
    ],
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what changes from one schema to another, and what that does to the data."""
    identifier = named_table(table)
    found = open_services(warehouse).schema_diff(identifier, left, right)
    if as_json:
        print_json(
            {
                "table": identifier.table_name,
                "verdict": found.verdict,
                "changes": found.changes,
                "has_same_id_but_differs": found.has_same_id_but_differs,
                "left": found.left,
                "right": found.right,
            }
        )
        return
    if found.is_empty:
        print_line(f"{left} and {right} have the same schema.")
        return
    print_fields(
        {
            "from": f"{left}, schema {found.left.id}",
            "to": f"{right}, schema {found.right.id}",
            "verdict": str(found.verdict),
        }
    )
    if found.has_same_id_but_differs:
        print_line(f"Both are schema {found.left.id}, with different content.")
    print_line()
    print_rows(
        ("change", "of", "from", "to", "verdict", "why"),
        (
            (str(each.kind), each.subject, each.before, each.after, str(each.verdict), each.reason)
            for each in found.changes
        ),
    )


def _of(identifier: Identifier, **parts: object) -> dict[str, object]:
    return {"table": identifier.table_name, "branch": identifier.branch, **parts}


def _shown_count(limit: int | None) -> int | None:
    return 50 if limit is None else limit or None


def _report_broken(items: Iterable[tuple[str, PaimonError | None]]) -> None:
    """Name what a list could not read; the list itself is done all the same."""
    for name, error in items:
        if error is not None:
            print_note(f"{name} cannot be read: {error.message} {error.kind}")


def _report_broken_events(errors: Iterable[PaimonError]) -> None:
    for error in errors:
        print_note(
            "The history of operations is incomplete, and with it what is protected: "
            f"{error.message} {error.kind}"
        )


def _table_row(item: TableItem, cell: str | None) -> tuple[object, ...]:
    return (
        item.identifier.full_name,
        str(item.kind) if item.kind else item.table_type,
        item.branches.cell if item.branches else None,
        str(item.head.id) if item.head else None,
        cell,
        _time_of(item.head),
        files_word(item.health),
    )


def _branch_row(item: BranchItem, cell: str | None) -> tuple[object, ...]:
    return (
        item.name,
        str(item.head.id) if item.head else None,
        cell,
        item.versus.ahead if item.versus else None,
        item.versus.behind if item.versus else None,
        _fork_text(item),
        _time_of(item.head),
        files_word(item.health),
    )


def _snapshot_row(item: SnapshotItem, total: str | None, change: str | None) -> tuple[object, ...]:
    snapshot = item.snapshot
    if snapshot is None:
        return (str(item.id), "broken", *[NOT_READ] * 6, item.tags or "")
    return (
        str(item.id),
        snapshot.identity.short,
        str(snapshot.commit_kind).lower(),
        total,
        change,
        f"{snapshot.schema_id}{' new' if item.schema_changed else ''}",
        _time_of(snapshot),
        short_user(snapshot.commit_user),
        item.tags or "",
    )


def _schema_row(item: SchemaItem) -> tuple[object, ...]:
    schema = item.schema
    return (
        str(item.id),
        local_time(schema.time_millis) if schema else "broken",
        len(schema.fields) if schema else None,
        item.snapshot_count,
        "; ".join(item.changes),
    )


def _tag_row(item: TagItem, cell: str | None) -> tuple[object, ...]:
    tag = item.tag
    retained = tag.time_retained_seconds if tag else None
    return (
        item.name,
        str(tag.snapshot.id) if tag else None,
        tag.snapshot.identity.short if tag else "broken",
        cell,
        _time_of(tag.snapshot) if tag else None,
        "ever" if retained is None else f"{retained:,.0f} s",
        item.is_base_of or "",
    )


def _figures(figures: Iterable[RowFigure], write: Write = in_full) -> tuple[str, list[str | None]]:
    """Return the heading of a column of figures, and its cells; None for what is not known."""
    given = tuple(figures)
    column = FigureColumn.of(given, write)
    cells = (
        cell if figure.is_known else None for figure, cell in zip(given, column.cells, strict=True)
    )
    return f">{column.title.lower()}", list(cells)


def _time_of(snapshot: Snapshot | None) -> str:
    return local_time(snapshot.time_millis if snapshot else None)


def _fork_text(item: BranchItem) -> str | None:
    if item.fork is None:
        return None
    where = item.fork.snapshot_id
    name = item.fork.parent if where is None else f"{item.fork.parent}:{where}"
    known = item.fork.confidence
    return name if known == "recorded" else f"{name} ({known} confidence)"


def _head_text(head: Snapshot | None) -> str | None:
    if head is None:
        return None
    kind, user = str(head.commit_kind).lower(), short_user(head.commit_user)
    return f"{head.id}  {head.identity.short}  {kind}  {_time_of(head)}  {user}"


def _snapshot_range(first: int | None, head: Snapshot | None, count: int) -> str | None:
    if first is None or head is None:
        return None
    return f"{shown(count)} ({first} to {head.id})"
