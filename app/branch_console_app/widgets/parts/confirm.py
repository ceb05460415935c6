"""The last step before a command: a double click, or a second tab, makes the same job."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Final

import streamlit as st

from branch_console.errors import NotFound, PaimonError
from branch_console.jobs.progress import JobView
from branch_console.operations.merge_requests import RevertRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role
from branch_console_app import reads, state
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.patience import forget_readings
from branch_console_app.widgets.parts.problem import show_problem

IN_THE_WAY: Final = "Fix the first failing check to continue."
"""Why a button cannot be pressed while something above it has to be settled."""
NOTHING_TO_DO: Final = "There is nothing to do: a run would change nothing."
"""Why a button cannot be pressed although nothing stands in the way."""


def start_once(
    name: str, arguments: Mapping[str, Argument], place: Location, *, subject: str
) -> None:
    """Enqueue a command and move on to its job.

    Args:
        name: The procedure.
        arguments: Its arguments.
        place: The location that the job page keeps.
        subject: The subject of the command, such as a plan's id. The same subject is the same job
            until that job has ended.
    """
    _go_to_job(lambda: get_services().start(name, arguments, idempotency_key(name, subject)), place)


def start_again(job: JobView, place: Location) -> None:
    """Enqueue the command of a job that has ended, and move on to the new job."""
    subject = f"again {job.id}"
    _go_to_job(lambda: get_services().run_again(job.id, idempotency_key(job.name, subject)), place)


def _go_to_job(start: Callable[[], str], place: Location) -> None:
    try:
        job_id = start()
    except PaimonError as error:
        show_problem(error, headline="The job was not started; nothing changed.")
        return
    reads.forget()
    forget_readings()
    state.go_to(PageName.JOB, place, id=job_id)


def idempotency_key(name: str, subject: str) -> str:
    """Return the operation id of a command; another one only once an earlier job has ended."""
    for key, job in _attempts(name, subject):
        if job is None or not job.state.is_over:
            return key
    raise AssertionError("there is always another attempt")


def last_attempt(name: str, subject: str) -> JobView | None:
    """Return the newest job of a command on a subject, None if there was none."""
    newest = None
    for _, job in _attempts(name, subject):
        if job is None:
            break
        newest = job
    return newest


def _attempts(name: str, subject: str) -> Iterator[tuple[str, JobView | None]]:
    """The operation ids of a command in their order, and the job of each that was used."""
    for attempt in count():
        key = hashlib.sha256(f"{name} {subject} {attempt}".encode()).hexdigest()[:32]
        try:
            yield key, reads.job(key)
        except NotFound:
            yield key, None


def lacks_role(needed: Role) -> str | None:
    """Return why the person may not do something, or None; the core asks again by itself."""
    role = Role(get_services().settings.role)
    if role.covers(needed):
        return None
    article = "an" if needed[0] in "aeiou" else "a"
    own = "an" if role[0] in "aeiou" else "a"
    return f"This asks for {article} {needed}; you are {own} {role}. ROLE_REQUIRED"


def typed_name(form: str, name: str) -> bool:
    """Ask for a name to be typed, and tell whether it was."""
    typed = st.text_input(
        f"Type {code(name)} to confirm", key=f"typed-{form}", placeholder=name, width=320, live=True
    )
    return typed == name


def reason_field(form: str = "do") -> str | None:
    """Ask why something is done; None if nobody says.

    Args:
        form: The form that asks, where a page can show it beside a dialog that asks, too.
    """
    placeholder = RevertRequest.help_of("reason")
    return st.text_input("Reason", key=f"{form}-reason", placeholder=placeholder) or None
