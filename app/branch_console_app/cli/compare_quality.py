"""The quality of two sides on the command line: profiled by a worker, the worst columns first."""

from pathlib import Path
from typing import Final

from branch_console.diff.state_diff import StateDiff
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.identifier import Identifier
from branch_console.operations.compare_requests import CompareQualityRequest
from branch_console.quality.comparison import QualityComparison, ScopeComparison
from branch_console_app.cli.jobs import finish_job
from branch_console_app.cli.output import (
    fields_of,
    print_fields,
    print_line,
    print_note,
    print_rows,
)
from branch_console_app.models.compare.quality import (
    conflict_words,
    explaining_words,
    key_words,
    rating_words,
    read_words,
    scope_words,
    summary,
)
from branch_console_app.models.compare.quality_figures import figure_table
from branch_console_app.models.compare.quality_map import quality_map
from branch_console_app.models.compare.quality_report import quality_report
from branch_console_app.services import Services

HTML: Final = ".html"


def compared_quality(
    services: Services, identifier: Identifier, diff: StateDiff, *, reads_all: bool, merges: bool
) -> QualityComparison:
    """Return what the data of two states look like; a worker looks if nobody has yet.

    Args:
        services: What is asked.
        identifier: The table.
        diff: Its two states.
        reads_all: Whether files that both sides have are read however large they are.
        merges: Whether what merging the second into the first would leave is looked at, too.

    Raises:
        PaimonError: The job was refused, failed or was cancelled.
    """
    found = services.quality(identifier, diff, reads_all=reads_all, merges=merges)
    if found is not None:
        return found
    request = CompareQualityRequest(
        table=identifier.table_name,
        before=str(diff.before.pinned),
        after=str(diff.after.pinned),
        whole=reads_all,
        merged=merges,
    )
    finish_job(services, request.procedure, request.encode())
    found = services.quality(identifier, diff, reads_all=reads_all, merges=merges)
    if found is None:
        raise NotFound(
            "The columns were compared and are not kept any more. Compare them again.",
            kind=ErrorKind.FILE_NOT_FOUND,
        )
    return found


def quality_document(identifier: Identifier, found: QualityComparison) -> dict[str, object]:
    """Return a comparison for a JSON document."""
    parts = {field.name: getattr(found, field.name) for field in fields_of(found)}
    return {"table": identifier.table_name, **parts}


def write_report(identifier: Identifier, found: QualityComparison, path: Path) -> None:
    """Write a comparison as one HTML file."""
    path.write_text(quality_report(identifier.table_name, found), encoding="utf-8")
    print_note(f"Written to {path}.")


def print_quality(found: QualityComparison) -> None:
    """Print the columns of each scope, and all figures of those that drifted."""
    for scope in found.scopes:
        print_line(f"{scope.scope}: {summary(scope)}")
        print_line(scope_words(scope, found.base))
        unsettled = conflict_words(found, scope)
        if unsettled is not None:
            print_line(unsettled)
        for words, label in key_words(scope):
            print_line(f"{words} ({label})")
        print_line()
        print_rows(
            ("column", "type", "rating", "why"),
            ((each.name, each.type, str(each.rating), rating_words(each))
             for each in scope.columns),
        )  # fmt: skip
        _print_drifted(found, scope)
        print_line()
    _print_map(found)
    for note in found.notes:
        print_line(note)
    print_fields({"read": read_words(found)})


def _print_drifted(found: QualityComparison, scope: ScopeComparison) -> None:
    for column in scope.columns:
        if not column.rating.is_reported:
            continue
        print_line()
        print_line(f"{column.name}:")
        explained = explaining_words(column, scope.scope)
        if explained is not None:
            print_line(explained)
        figures = figure_table(found, scope, column)
        first, *sides, last = figures.titles
        print_rows((first.lower(), *(f">{each}" for each in sides), last.lower()), figures.lines)


def _print_map(found: QualityComparison) -> None:
    drift = quality_map(found.drift_map)
    if drift is None:
        return
    print_line("by partition:")
    cells = [each for each in drift.cells if each.severity]
    print_rows(
        ("partition", "column", "rating", "what"),
        ((each.partition, each.column, str(each.rating), each.words) for each in cells),
    )
    for sentence in drift.left_out:
        print_line(f"Left out: {sentence}.")
    print_line()
