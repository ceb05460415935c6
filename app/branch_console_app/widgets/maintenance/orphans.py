"""Orphans: files in the folders of the table that no snapshot, tag or changelog names."""

import streamlit as st

from branch_console.diff.expiry.dry_run import CleaningDryRun
from branch_console.errors import FormatError, NotFound
from branch_console.format.identifier import Identifier
from branch_console.operations.maintenance_requests import RemoveOrphanFilesRequest
from branch_console_app import state
from branch_console_app.models.maintenance.dry_runs import OrphanLine, orphan_lines
from branch_console_app.models.maintenance.storage import orphan_words
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, plain, plural, size
from branch_console_app.widgets.maintenance.dry_run import (
    FAILED,
    ask_for_dry_run,
    show_headline,
    show_run,
)
from branch_console_app.widgets.maintenance.storage import read_storage
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 15
_MOST_UNKNOWN = 50
_FILE = Column(label="File", weight=6.0)
_SIZE = Column(label="Size", weight=1.0, align="right")
_FATE = Column(label="Would", weight=1.6)
_COLUMNS = (_FILE, _SIZE, _FATE)


def show_orphans(identifier: Identifier, path: str, place: Location) -> None:
    """Draw the tab.

    Args:
        identifier: The table.
        path: Its folder, which is left out of the names of files.
        place: The location that the job page keeps.
    """
    request = _ask_for_age(identifier)
    with guarded(FAILED):
        try:
            dry_run = ask_for_dry_run(request)
        except (FormatError, NotFound) as error:
            # What cannot be read may name any file; what earlier cleanings noted still waits.
            show_problem(error, headline=FAILED)
            storage = read_storage(identifier)
            if storage is not None:
                st.caption(plain(orphan_words(storage, state.now_millis())))
            return
        if dry_run is None:
            return
        lines = dry_run.lines
        assert isinstance(lines, CleaningDryRun)
        show_headline(dry_run)
        _show_files(orphan_lines(lines, path))
        _show_unknown(lines.unknown, path)
        show_run(dry_run, request, ":material/delete_sweep:", place)


def _ask_for_age(identifier: Identifier) -> RemoveOrphanFilesRequest:
    help_of = RemoveOrphanFilesRequest.help_of
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        older = st.text_input(
            "Written before", key="mt_before", bind="query-params",
            placeholder="a day ago", width=260,
        )  # fmt: skip
        grace = st.text_input(
            "Removed after", key="mt_wait", bind="query-params", help=help_of("grace"),
            placeholder="10 min", width=180,
        )  # fmt: skip
    return RemoveOrphanFilesRequest(
        table=identifier.table_name, older_than=older or None, grace=grace or None
    )


def _show_files(lines: tuple[OrphanLine, ...]) -> None:
    if not lines:
        return
    st.markdown(f"**{plural(len(lines), 'orphan file')}**")
    listed = rows.row_list("orphans")
    visible = rows.page_of_rows("mt_op", len(lines), _PER_PAGE)
    with listed:
        rows.head("orphans", _COLUMNS)
        for number, line in enumerate(lines[visible]):
            cells = dict(zip(_COLUMNS, rows.row(f"orphan-{number}", _COLUMNS), strict=True))
            rows.text(cells[_FILE], _FILE, code(line.shown), help=line.help)
            rows.text(cells[_SIZE], _SIZE, size(line.byte_count))
            rows.text(cells[_FATE], _FATE, line.fate)


def _show_unknown(unknown: tuple[str, ...], path: str) -> None:
    if not unknown:
        return
    with st.expander(f"{plural(len(unknown), 'file')} with a strange name, which stay"):
        st.caption("Paimon gives no file such a name, so somebody else may need them.")
        for each in unknown[:_MOST_UNKNOWN]:
            st.markdown(code(each.removeprefix(f"{path}/")))
        if len(unknown) > _MOST_UNKNOWN:
            st.caption(f"and {len(unknown) - _MOST_UNKNOWN} more")
