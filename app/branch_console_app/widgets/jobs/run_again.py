"""Running the command of a job that has ended once more: by a click only if nothing changes."""

from typing import assert_never

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobView
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.operations.request import Request
from branch_console.operations.statement_requests import StatementRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console_app import reads, state
from branch_console_app.models.jobs.job_titles import job_words
from branch_console_app.models.jobs.run_again import (
    Again,
    arguments_again,
    nothing_to_run_on,
    way_again,
)
from branch_console_app.models.merge.catalog_merge import Extent
from branch_console_app.models.merge.merge_preview import How
from branch_console_app.models.parts.actions import Action, Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.query_answer import text_for_address
from branch_console_app.models.parts.wording import code, plain, prose, short_id
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.confirm import start_again
from branch_console_app.widgets.parts.dialogs import Dialogs, offer
from branch_console_app.widgets.parts.preview import show_command
from branch_console_app.widgets.parts.problem import guarded

_ICON = ":material/replay:"


def show_again(job: JobView, place: Location, refused: str | None) -> None:
    """Draw what leads to another run: where there was a preview, to that, filled in.

    Args:
        job: One that has ended.
        place: The place of its table.
        refused: Why the person may not run it at once.
    """
    way = way_again(job.name)
    if way is Again.AT_ONCE:
        if st.button(
            _label(job), icon=_ICON, key="job-again", disabled=refused is not None,
            help=refused or "The same command as a new job",
        ):  # fmt: skip
            start_again(job, place)
        return
    with guarded("What the job ran cannot be read."):
        _lead_back(way, reads.call_of_job(job.id), place, _label(job))


def why_not_again(job: JobView) -> str | None:
    """Say what a job of the lifecycle would miss today, None if it can be previewed; Markdown.

    Args:
        job: One that has ended.
    """
    if not job.table or way_again(job.name) not in (Again.DIALOG, Again.MERGE_PAGE):
        return None
    try:
        table = Identifier.parse(job.table).on_branch(MAIN_BRANCH)
        return nothing_to_run_on(reads.call_of_job(job.id), reads.table(table).branches)
    except PaimonError as error:
        return f"This cannot be run again. {prose(error.message)}"


def link_to_merge(call: ProcedureCall, label: str, place: Location, *, icon: str) -> None:
    """Lead to the preview of a merge or fast-forward; every decision on it is kept there.

    Args:
        call: What merges, of a table, of a database or of the catalog.
        label: The words of the link.
        place: The place of the table.
        icon: The icon of the link.
    """
    given = call.arguments
    names = {"source": "branch", **{name: name for name in ("target", "scope", "isolation")}}
    view = {name: str(given[each]) for name, each in names.items() if given.get(each)}
    if given.get("strict"):
        view["strict"] = "1"
    if call.name == "fast_forward":
        view["how"] = How.FAST_FORWARD
    if call.name == MergeCatalogRequest.procedure:
        database = given.get("database")
        view["of"] = Extent.DATABASE if database else Extent.CATALOG
        place = Location(warehouse=place.warehouse, database=str(database) if database else None)
    state.link(PageName.MERGE, label, place, view=view, icon=icon)


def again_dialogs(job: JobView, place: Location) -> Dialogs:
    """Title and drawing of the dialog of another run; none if the job has none."""
    if not job.state.is_over or way_again(job.name) is not Again.DIALOG:
        return {}
    what = job_words(job.name)

    def draw(_: str | None) -> None:
        call = reads.call_of_job(job.id)
        form = Form(
            procedure=call.name, arguments=arguments_again(call), label=plain(what), icon=_ICON
        )
        st.caption(f"As in job {code(short_id(job.id))}, on what the branches hold now.")
        show_command(form, place)

    return {Action.AGAIN: (f"{what} again", draw)}


def _label(job: JobView) -> str:
    what = job_words(job.name)
    return f"Run again: {what[0].lower()}{what[1:]}"


def _lead_back(way: Again, call: ProcedureCall, place: Location, label: str) -> None:
    match way:
        case Again.DIALOG:
            offer(Action.AGAIN, label, icon=_ICON, key="job-again")
        case Again.MERGE_PAGE:
            link_to_merge(call, label, place, icon=_ICON)
        case Again.SQL_PAGE:
            asked = call.request(Request)
            text, branch = call.statement, MAIN_BRANCH
            if isinstance(asked, StatementRequest):
                text, branch = asked.sql, asked.branch
            there = place.at_branch(branch)
            state.link(PageName.SQL, label, there, view={"q": text_for_address(text)}, icon=_ICON)
        case Again.AT_ONCE:
            return
        case _:
            assert_never(way)
