"""What a job is called: one table of words for lists, titles and buttons."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.sql.statement import COMPACT, QUERY
from branch_console.sql.tables import TableStatementKind
from branch_console.sql.writes import WriteKind
from branch_console_app.models.parts.wording import code

# What is done, and the word that leads on to the table.
_WORDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "build_demo": ("Build the demo", "with"),
        "check_rules": ("Check rules", "of"),
        "cherry_pick": ("Pick a snapshot", "of"),
        COMPACT: ("Compact", ""),
        "compare_quality": ("Compare quality", "of"),
        "compare_rows": ("Compare rows to merge", "of"),
        "compare_states": ("Compare rows", "of"),
        "count_rows": ("Count rows", "of"),
        "create_branch": ("Create a branch", "of"),
        "create_database": ("Create a database", ""),
        "create_tag": ("Create a tag", "of"),
        "delete_tag": ("Delete a tag", "of"),
        "drop_branch": ("Drop a branch", "of"),
        "drop_database": ("Drop a database", ""),
        "dry_run_merge": ("Dry run of a merge", "of"),
        "fence_branch": ("Fence a branch", "of"),
        "fast_forward": ("Fast-forward a branch", "of"),
        "merge_branch": ("Merge a branch", "of"),
        "pin_branch": ("Pin a branch", "of"),
        "protect_branch": ("Change protection", "of"),
        QUERY: ("Query", "of"),
        "recover": ("Recover", ""),
        "rename_branch": ("Rename a branch", "of"),
        "rename_database": ("Rename a database", ""),
        "repair_branch": ("Repair a branch", "of"),
        "replace_main": ("Replace main", "of"),
        "revert": ("Revert a snapshot", "of"),
        "rollback": ("Roll back", ""),
        "set_database_properties": ("Change a database", ""),
        "undo": ("Undo an operation", "on"),
        WriteKind.INSERT: ("Insert rows", "into"),
        WriteKind.OVERWRITE: ("Overwrite rows", "of"),
        WriteKind.UPDATE: ("Update rows", "of"),
        WriteKind.DELETE: ("Delete rows", "from"),
        WriteKind.MERGE: ("Merge rows", "into"),
        TableStatementKind.CREATE: ("Create table", ""),
        TableStatementKind.DROP: ("Drop table", ""),
        TableStatementKind.ALTER: ("Alter table", ""),
    }
)


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
    return _WORDS.get(procedure, (procedure.replace("_", " ").capitalize(), "of"))


def _table(name: str) -> str:
    try:
        table = Identifier.parse(name)
    except PaimonError:
        return code(name)
    on = "" if table.branch == MAIN_BRANCH else f" on {code(table.branch)}"
    return f"{code(table.table_name)}{on}"
