"""What a job is called in lists, titles and buttons, as its request says."""

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.declared import REQUESTS
from branch_console_app.models.parts.wording import code


def job_words(procedure: str) -> str:
    """Say in a few words what a job does: `Create a branch`."""
    return _words(procedure)[0]


def job_title(procedure: str, table: str | None) -> str:
    """Say in Markdown what a job does to which table: ``Delete rows from `air.planes` ``.

    Args:
        procedure: The name of the procedure, also one of a release that knows more of them.
        table: The table with its branch, as calls name it; None where the job has none.
    """
    what, leads = _words(procedure)
    return " ".join(filter(None, (what, leads, _table(table)))) if table else what


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
