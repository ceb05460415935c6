"""The titles of jobs in lists, headings and buttons, from their requests."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from branch_console.errors import PaimonError
from branch_console.format.identifier import BRANCH_MARK, MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.operations.declared import REQUESTS
from branch_console.procedures.call.call import Argument
from branch_console_app.models.parts.wording import code, cut_at_word, short_id, shortened

# A title by the arguments that its call needs; a call without one of them has the words of its
# procedure. Calls keep the names that arguments have in SQL.
_TITLES: Final[Mapping[str, str]] = {
    "check_rules": "Check the rules on {b}",
    "cherry_pick": "Pick a snapshot of {branch} into {target}",
    "compare_quality": "Compare the quality of {a} and {b}",
    "compare_rows": "Compare rows to merge {branch} into {target}",
    "compare_states": "Compare the rows of {a} and {b}",
    "count_rows": "Count the rows of {a} and {b}",
    "create_branch": "Create branch {branch}",
    "create_catalog_branch": "Create branch {branch} of the catalog",
    "create_catalog_tag": "Create tag {tag} of the catalog",
    "create_tag": "Create tag {tag}",
    "delete_tag": "Delete tag {tag}",
    "drop_branch": "Drop branch {branch}",
    "drop_catalog_branch": "Drop branch {branch} of the catalog",
    "dry_run_merge": "Dry run: merge {branch} into {target}",
    "fast_forward": "Merge {branch} into {target} by fast-forward",
    "fence_branch": "Change the fence of {branch}",
    "merge_branch": "Merge {branch} into {target}",
    "merge_catalog_branch": "Merge branch {branch} of the catalog into {target}",
    "pin_branch": "Pin the merge base of {branch}",
    "protect_branch": "Change the protection of {branch}",
    "query": "Query {sql}",
    "release_branch": "Release branch {branch}",
    "rename_branch": "Rename branch {branch} to {to}",
    "rename_tag": "Rename tag {tag} to {target_tag}",
    "repair_branch": "Repair branch {branch}",
    "replace_main": "Replace main by {branch}",
    "replace_tag": "Replace tag {tag}",
    "undo": "Undo operation {operation}",
    "warn_branch": "Warn that branch {branch} is stale",
}
_LONGEST: Final = 40
# A call pins a state by the identity of its snapshot; a person reads which one it is by its id.
_STATES: Final = frozenset({"a", "b"})
_IDENTITY: Final = re.compile(r"(@\d+):[^@]+$")


class JobGroup(StrEnum):
    """The groups by which a list of jobs is filtered: each state belongs to one."""

    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"

    @classmethod
    def of(cls, state: JobState) -> "JobGroup":
        """Return the group of a state."""
        if not state.is_over:
            return cls.RUNNING
        return cls.FAILED if state in _FAILED else cls.FINISHED


_FAILED: Final = frozenset({JobState.FAILED, JobState.REFUSED})


def job_words(procedure: str) -> str:
    """Say in a few words what a job does: `Create a branch`."""
    return _words(procedure)[0]


def job_title(procedure: str, table: str | None) -> str:
    """Say in Markdown what a job does to which table: ``Delete rows from `air.planes` ``.

    Args:
        procedure: The name of the procedure, also one of a release that knows more of them.
        table: The table with its branch, as calls name it; None if the job has none.
    """
    what, leads = _words(procedure)
    return " ".join(filter(None, (what, leads, _table(table)))) if table else what


def full_title(job: JobView) -> str:
    """Say in Markdown what a job does, with its branches: ``Merge `fix` into `main` ``."""
    return title_of_call(job.name, job.arguments)


def title_of_call(procedure: str, arguments: Mapping[str, Argument]) -> str:
    """Say in Markdown what a call does, with its branches: ``Merge `fix` into `main` ``."""
    title, given = _TITLES.get(procedure), {"target": code(MAIN_BRANCH), **_given(arguments)}
    if title is None:
        return job_words(procedure)
    try:
        return title.format_map(given)
    except KeyError:
        return job_words(procedure)


def title_with_table(job: JobView) -> str:
    """Say in Markdown what a job does to which table: ``Merge `fix` into `main` of `air.planes` ``.

    Args:
        job: A job.
    """
    title = full_title(job)
    if title == job_words(job.name):
        return job_title(job.name, job.table)
    return title if job.table is None else f"{title} of {_table(job.table)}"


def table_without_branch(job: JobView) -> str:
    """Return the full name of a job's table, empty without one; its title names the branch."""
    return (job.table or "").partition(BRANCH_MARK)[0]


def _given(arguments: Mapping[str, Argument]) -> dict[str, str]:
    texts = {name: str(value) for name, value in arguments.items() if value not in (None, "")}
    return {name: code(_short(name, text)) for name, text in texts.items()}


def _short(name: str, text: str) -> str:
    if name in _STATES:
        text = _IDENTITY.sub(r"\1", text)
    if name == "sql":
        return cut_at_word(" ".join(text.split()), _LONGEST)
    return short_id(text) if name == "operation" else shortened(text, _LONGEST)


def _words(procedure: str) -> tuple[str, str]:
    request = REQUESTS.get(procedure)
    return (procedure.replace("_", " ").capitalize(), "of") if request is None else request.job


def _table(name: str) -> str:
    try:
        table = Identifier.parse(name)
    except PaimonError:
        return code(name)
    on = "" if table.branch == MAIN_BRANCH else f" on {code(table.branch)}"
    return f"{code(table.table_name)}{on}"
