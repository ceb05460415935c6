"""SQL: a statement over branches, run as a job by the worker, and what it answered."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress

import streamlit as st

from branch_console.errors import InvalidInput, NotFound, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.catalog.main_tables import DROPPED
from branch_console.sql.parser import WRITING, parse_statements
from branch_console.sql.statement import QUERY, Statement
from branch_console.sql.tables import TableStatementKind
from branch_console.sql.token_reader import written_name
from branch_console_app import reads, state
from branch_console_app.models.branches.branch_tracks import is_service_branch
from branch_console_app.models.jobs.job_titles import job_title
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.query_answer import (
    Asked,
    branches_read,
    first_rows_query,
    role_of,
    session_words,
    tables_named,
    text_for_address,
)
from branch_console_app.models.parts.wording import (
    age,
    code,
    duration,
    listed,
    plain,
    prose,
    shortened,
)
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.jobs.query_answer import show_answer
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.confirm import idempotency_key, lacks_role, start_once
from branch_console_app.widgets.parts.job_status import show_progress, state_badge
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse

_EDITOR_HEIGHT = 150
_HISTORY = 20
_JOBS_LOOKED_AT = 200
_BRANCHES_TRIED = 3
_LONGEST_LINE = 80
_WORKER_STARTS_MILLIS = 60_000
_ASKED = "sql-asked"
_STATE = Column(label="State", weight=1.2)
_TEXT = Column(label="Statement", weight=5.2)
_BRANCH = Column(label="Branch", weight=1.3)
_WHEN = Column(label="Ran", weight=1.8)
_TOOK = Column(label="Took", weight=0.9, align="right")
_COLUMNS = (_STATE, _TEXT, _BRANCH, _WHEN, _TOOK)


def show() -> None:
    """Draw the page."""
    place = here()
    if not is_open_warehouse(place):
        return
    show_location(place)
    st.subheader("SQL", anchor=False)
    job = _job()
    text, given = _show_editor(place, job)
    if job is not None:
        _show_run(job, text, given)
    elif not text:
        _show_examples(place)
    if text:
        show_same_as("sql", _with_branch(text, place.branch_or_main))
    with guarded("The history cannot be read."):
        _show_history(place)


def _job() -> JobView | None:
    """Return the run of the address; one that is unknown is said, and the statement stays."""
    job_id = state.parameter("id")
    if job_id is None:
        return None
    try:
        return reads.job(job_id)
    except NotFound as error:
        show_problem(error, headline=f"Run {code(job_id)} was not found.")
    return None


def _show_run(job: JobView, text: str, given: str) -> None:
    """Draw how the run of the address goes, or its answer; text of the editor may be another."""
    is_its_own = _without_end(text) == _without_end(given)
    asked = Asked.of_statement(job.statement)
    line = code(shortened(asked.line if asked else job.statement, _LONGEST_LINE))
    if not job.state.is_over:
        heading = None if is_its_own else f"**The query that runs:** {line}"
        st.fragment(_show_live, run_every=1.0)(job.id, heading, was_over=False)
    elif is_its_own:
        _show_live(job.id, None, was_over=True)
    else:
        # The rows of a query are not drawn here: they would be taken for those of the text.
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f"**The query that ran:** {line}", width="content")
            st.button(
                "Show it", key="sql-back", icon=":material/undo:", type="tertiary",
                help="Puts its statement back, with its answer below",
                on_click=state.put, args=(_editor_key(job, given), given),
            )  # fmt: skip


def _without_end(text: str) -> str:
    """Return a statement without the space around it and the semicolons behind it."""
    return text.strip().rstrip(";").rstrip()


def _editor_key(job: JobView | None, given: str) -> str:
    """Return the key of the editor of an address: what was typed in another one stays there."""
    mark = hashlib.sha256(f"{given} {job.id if job else ''}".encode()).hexdigest()[:8]
    return f"sql-text-{mark}"


def _show_editor(place: Location, job: JobView | None) -> tuple[str, str]:
    """Draw the statement with its commands; return it, and that of the address."""
    asked = None if job is None else Asked.of_statement(job.statement)
    given = state.parameter("q") or (asked.text if asked else "")
    key = _editor_key(job, given)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="filters"):
        branch = _pick_branch(place, state.value_of(key) or given)
        st.space("stretch")
        if job is not None and job.state.can_cancel and not job.state.is_over:
            st.button(
                "Cancel", key="sql-cancel", icon=":material/cancel:", on_click=_cancel,
                args=(job.id,),
            )  # fmt: skip
    # Only a form hands over what stands in the editor when Ctrl+Enter is pressed.
    with st.form(f"{key}-form", border=False):
        text: str = (
            st.text_area(
                "Statement", value=given, key=key, height=_EDITOR_HEIGHT,
                label_visibility="collapsed",
                placeholder="SELECT … FROM database.table",
            )
            or ""
        )  # fmt: skip
        with st.container(horizontal=True, horizontal_alignment="right"):
            is_run = st.form_submit_button(
                "Run", key="sql-run", type="primary", icon=":material/play_arrow:"
            )
    statement = _without_end(text)
    _show_session(Asked(text=statement, branch=branch))
    if is_run:
        _run(statement, branch, place)
    elif state.value_of(_ASKED) == (statement, branch):
        _ask_before_writing(statement, branch, place)
    return text, given


def _pick_branch(place: Location, text: str) -> str:
    """Draw the branch of the session: those that the tables of the statement have."""
    current = place.branch_or_main
    names = [MAIN_BRANCH, current]
    for table in tables_named(text):
        try:
            names += reads.table(table).branches
        except PaimonError:
            continue  # the run will say what is wrong with it
    key = f"sql-branch-{current}"
    st.selectbox(
        "Branch", list(dict.fromkeys(names)), index=list(dict.fromkeys(names)).index(current),
        key=key, on_change=_change_branch, args=(key,), label_visibility="collapsed",
        icon=":material/account_tree:", width=230, accept_new_options=True,
        help="Tables whose branch the statement does not name are read there; main where a table "
        "has no such branch",
    )  # fmt: skip
    return current


def _show_session(asked: Asked) -> None:
    """Say what is read on the branch that is chosen, which the statement does not name."""
    branches = {}
    for table in tables_named(asked.text):
        with suppress(PaimonError):
            branches[table.table_name] = reads.table(table).branches
    words = session_words(asked, branches)
    if words is not None:
        st.caption(words)


def _change_branch(key: str) -> None:
    chosen = state.value_of(key)
    if chosen:
        state.move_to(here().at_branch(str(chosen)))


def _run(text: str, branch: str, place: Location) -> None:
    """Check the statement here, so that a slip is told at once, and start its job."""
    if not text:
        st.info("Write a statement first.")
        return
    try:
        statement = _statement(text, branch)
        if statement.procedure in WRITING:
            state.put(_ASKED, (text, branch))
            _ask_before_writing(text, branch, place)
            return
        if statement.procedure != QUERY:
            st.info(
                "This statement is about branches or databases. Pages of branches tell its "
                "consequences first; on the command line it runs as it stands."
            )
            return
        key = idempotency_key(QUERY, f"{branch} {text}")
        job_id = get_services().start(QUERY, {"sql": text, "branch": branch}, key)
    except PaimonError as error:
        show_problem(error, headline="The statement was not run.")
        return
    state.go_to(PageName.SQL, place, q=text_for_address(text), id=job_id)


def _statement(text: str, branch: str) -> Statement:
    found = parse_statements(text, branch)
    if len(found) != 1:
        raise InvalidInput("One statement is run at a time here.")
    return found[0]


def _ask_before_writing(text: str, branch: str, place: Location) -> None:
    """Draw the question, which names the table and the branch that would change."""
    statement = _statement(text, branch)
    table = Identifier.parse(str(statement.arguments["table"]))
    if statement.procedure == TableStatementKind.DROP and table.is_main:
        _warn_of_drop(table)
    else:
        st.warning(
            f"**This changes {code(table.table_name)} on {code(table.branch)}.** It runs as a job "
            "and makes a new snapshot or schema; a wrong statement leaves everything as it is.",
            icon=":material/edit:",
        )
    lacks = lacks_role(role_of(statement.procedure))
    label = job_title(statement.procedure, table.full_name)
    if st.button(label, key="sql-write", disabled=lacks is not None, help=lacks):
        state.put(_ASKED, None)
        start_once(statement.procedure, statement.arguments, place, subject=f"{branch} {text}")


def _warn_of_drop(table: Identifier) -> None:
    st.warning(
        f"**This drops {code(table.table_name)} with all its branches and tags.** Whoever reads or "
        f"writes it fails from then on. Its folder is kept below {code(DROPPED)} in the warehouse.",
        icon=":material/delete:",
    )


def _cancel(job_id: str) -> None:
    with guarded("The query was not cancelled."):
        get_services().cancel_job(job_id)


def _show_live(job_id: str, heading: str | None, *, was_over: bool) -> None:
    job = reads.job(job_id)
    if job.state.is_over and not was_over:
        # The page around this part holds the button of a running query: draw it anew, once.
        st.rerun()
    if heading is not None:
        st.markdown(heading)
    match job.state:
        case JobState.DONE:
            show_answer(job.id)
        case JobState.QUEUED | JobState.WAITING:
            _show_waiting(job)
        case JobState.RUNNING | JobState.PUBLISHING:
            show_progress(job)
            st.caption(f"Runs for {duration(state.now_millis() - job.started_millis)}.")
        case JobState.REFUSED | JobState.FAILED:
            st.error(
                f"**The statement failed.** {prose(job.message)} {code(job.error or '')}",
                icon=":material/error:",
            )
        case JobState.CANCELLED:
            st.info("**The query was cancelled.** No row is kept.", icon=":material/cancel:")
        case JobState.INTERRUPTED:
            st.warning(
                "**The worker stopped in the middle.** The query starts again once a worker runs: "
                "`branch-console worker`. `INTERRUPTED`",
                icon=":material/pause:",
            )


def _show_waiting(job: JobView) -> None:
    worker = reads.worker()
    if worker is not None and worker.serves_other_store:
        st.warning(f"**The query waits.** {plain(job.message)} {code(job.error or '')}")
    elif worker is not None and worker.is_alive:
        behind = " behind another job" if worker.job else ""
        st.info(f"**The query is queued{behind}.** The worker takes it up next.")
    elif state.now_millis() - job.created_millis < _WORKER_STARTS_MILLIS:
        st.info("**The query is queued.** A worker is being started; that takes some seconds.")
    else:
        st.warning(
            "**The query is queued; no worker runs.** Start one: `branch-console worker`. "
            "`NO_WORKER`"
        )


def _show_examples(place: Location) -> None:
    """Draw statements to begin with, over tables that there are."""
    st.caption("Tables are named database.table; a branch, tag or time goes with them.")
    names = reads.table_names()
    if not names:
        st.info("No table to read yet.")
        return
    chosen = next((each for each in names if each.table_name == place.full_table), names[0])
    for statement in _examples_of(chosen, place.branch_or_main):
        state.link(PageName.SQL, code(statement), place, view={"q": statement})


def _examples_of(named: Identifier, current: str) -> Iterator[str]:
    """Yield statements over a table; each can be run as it is written."""
    database, table = written_name(named.database), written_name(named.table)
    try:
        summary = reads.table(named)
    except PaimonError:
        return  # its own page says why it cannot be read
    yield first_rows_query(named.on_branch(MAIN_BRANCH))
    first = [current] if current in summary.branches else []
    own = [name for name in summary.branches if not is_service_branch(name)]
    for branch in [*first, *own][:_BRANCHES_TRIED]:
        try:
            reads.table(named.on_branch(branch))
        except PaimonError:
            continue
        yield f"SELECT count(*) FROM {database}.{written_name(f'{named.table}$branch_{branch}')}"
        break
    snapshots = written_name(f"{named.table}$snapshots")
    yield f"SELECT * FROM {database}.{snapshots} ORDER BY snapshot_id"
    oldest = summary.first_snapshot_id
    if oldest is not None:
        yield f"SELECT * FROM {database}.{table} VERSION AS OF {oldest} LIMIT 100"


def _show_history(place: Location) -> None:
    jobs = [each for each in reads.jobs(limit=_JOBS_LOOKED_AT) if each.name == QUERY]
    if not jobs:
        return
    st.markdown("##### History")
    listed = rows.row_list("sql-history")
    with listed:
        rows.head("sql-history", _COLUMNS)
        for number, job in enumerate(jobs[:_HISTORY]):
            _show_past(number, job, place)


def _show_past(number: int, job: JobView, place: Location) -> None:
    asked = Asked.of_statement(job.statement) or Asked(text=job.statement, branch=MAIN_BRANCH)
    cells = dict(zip(_COLUMNS, rows.row(f"sql-past-{number}", _COLUMNS), strict=True))
    rows.text(cells[_STATE], _STATE, state_badge(job.state))
    with cells[_TEXT]:
        there = place.at_branch(asked.branch)
        view = {"q": text_for_address(asked.text), "id": job.id}
        state.link(PageName.SQL, code(shortened(asked.line, _LONGEST_LINE)), there, view=view)
    read = listed([plain(shortened(each, 20)) for each in branches_read(asked)], most=2)
    rows.text(cells[_BRANCH], _BRANCH, read)
    rows.text(cells[_WHEN], _WHEN, age(job.created_millis, state.now_millis()))
    end = job.finished_millis if job.finished_millis is not None else state.now_millis()
    rows.text(cells[_TOOK], _TOOK, duration(end - job.created_millis))


def _with_branch(text: str, branch: str) -> str:
    return text if branch == MAIN_BRANCH else f"USE BRANCH {written_name(branch)}; {text}"
