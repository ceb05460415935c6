"""Protecting branches, by name or pattern."""

from fnmatch import fnmatchcase

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import PROTECT_JOURNAL, ProtectBranchJournal
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.operations.branch_requests import ProtectBranchRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview, changes, keeps, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.protection import is_pattern, protection_of
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import perhaps_meant

_MAX_RULE_LENGTH = 100


def plan_protection(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide what a rule would cover.

    Arguments of the call: `table`, `branch` (a name or a pattern such as `release-*`), `protected`
    (false takes the protection back), `reason`.

    Raises:
        InvalidInput: The rule can match no branch.
        NotFound: There is no such table.
    """
    table, asked = table_of(warehouse, call), call.request(ProtectBranchRequest)
    rule, protected = asked.branch, asked.protected
    _check_rule(rule)
    covered = _covered(table, rule)
    verb = "Protect" if protected else "Remove the protection of"
    what = f"branches {rule!r}" if is_pattern(rule) else f"branch {rule!r}"
    title = f"{verb} {what} of {table.identifier.table_name}"
    events = table.ledger.whole()
    now = {name: protection_of(events, name) for name in covered}
    meant = "" if covered or is_pattern(rule) else perhaps_meant(table, rule)
    consequence = changes(f"{_effect(len(covered), protected=protected)}{meant}", covered)
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(call, covered, [each and each.id for each in now.values()]),
        consequences=(
            consequence,
            keeps("The rule binds Branch Console only: other engines do not know of it."),
        ),
        typed_name=None,
        role=Role.APPROVER,
        undo="Remove the protection." if asked.protected else "Protect it again.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=rule,
        journal=ProtectBranchJournal(
            plan_id=preview.plan_id,
            protected=protected,
            covered=covered,
            reason=asked.reason,
        ),
    )


def finish_protection(operation: Operation, journal: ProtectBranchJournal) -> Receipt:
    """Record the rule."""
    word = "protects" if journal.protected else "frees"
    now = ", ".join(journal.covered) or "no branch that exists"
    receipt = receipt_of(operation, notes=(f"Rule {operation.intent.branch!r} {word} {now}.",))
    kind = LineageKind.PROTECTED if journal.protected else LineageKind.UNPROTECTED
    return operation.complete(event_of(operation, kind, receipt))


PROTECT_BRANCH = Procedure(
    name="protect_branch",
    what="change what is protected",
    doing="Recording the rule.",
    plan=plan_protection,
    codec=PROTECT_JOURNAL,
    finish=finish_protection,
)


def _check_rule(rule: str) -> None:
    if len(rule) > _MAX_RULE_LENGTH or any(letter in rule for letter in "/\\$\0"):
        raise InvalidInput(
            f"{rule!r} can match no branch: a rule has at most {_MAX_RULE_LENGTH} characters and "
            "no '/', '\\' or '$'.",
            kind=ErrorKind.INVALID_NAME,
        )


def _covered(table: FileStoreTable, rule: str) -> tuple[str, ...]:
    if is_pattern(rule):
        names = (MAIN_BRANCH, *table.branches.names())
        return tuple(name for name in names if fnmatchcase(name, rule))
    is_there = rule == MAIN_BRANCH or (bool(rule) and table.branches.exists(rule))
    return (rule,) if is_there else ()


def _effect(number: int, *, protected: bool) -> str:
    """Tell what a rule does to as many branches as it matches now."""
    match number:
        case 0:
            who, them = "No branch has such a name yet. One that is given it", "it"
        case 1:
            who, them = "1 branch", "it"
        case _:
            who, them = f"{number:,} branches", "them"
    if not protected:
        return f"{who} can then be changed by any editor."
    return f"{who} can then not be dropped or renamed, and only approvers can change {them}."
