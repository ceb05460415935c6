"""The queries that list all rows which fail a rule; a judgement itself keeps only the first."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.operations.merge_requests import DryRunRequest, MergeRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.check_rules import judged_head_or_past
from branch_console.procedures.run.rule_evaluation import find_rules, read_rules
from branch_console.quality.rule_sql import LISTS_ROWS, failing_rows_query
from branch_console.sql.token_reader import quoted_name
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

_MERGES: Final[Mapping[str, type[FastForwardRequest | MergeRequest]]] = MappingProxyType(
    {each.procedure: each for each in (FastForwardRequest, MergeRequest, DryRunRequest)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRows:
    """Where the rows that fail can be read, and the query of each rule.

    Attributes:
        branch: The branch that the queries read.
        queries: One SELECT without a limit by the rule's id.
        is_judged: Whether that branch is what was judged; if not, it may have other failing rows.
    """

    branch: str
    queries: Mapping[str, str]
    is_judged: bool = True


NO_QUERIES: Final = FailingRows(branch="", queries=MappingProxyType({}))
"""For a call whose rows cannot be read, or that judges none."""


def find_failing_rows(warehouse: Warehouse, call: ProcedureCall) -> FailingRows:
    """Return the queries that list what fails the rules of a call.

    A check reads the state that it judged. The result of a merge is in no branch while a rule
    blocks it, so the source is read: its rows are the result where the target has no commit that
    the source lacks.

    Raises:
        NotFound: The table, branch, snapshot or tag is gone.
        InvalidInput: The rules cannot be read.
    """
    is_judged = True
    if call.name == CheckRulesRequest.procedure:
        request = call.request(CheckRulesRequest)
        identifier = Identifier.parse(request.table)
        state = judged_head_or_past(warehouse.table(identifier), request)
        text = request.rules
    elif call.name in _MERGES:
        identifier, text = Identifier.parse(call.table), None
        merge = call.request(_MERGES[call.name])
        source = warehouse.table(identifier.on_branch(merge.source))
        state = ReadState.as_it_is(source)
        target = warehouse.table(identifier.on_branch(merge.target or identifier.branch))
        is_judged = call.name == FastForwardRequest.procedure or _contains_head(source, target)
    else:
        return NO_QUERIES
    rules = find_rules(warehouse, identifier) if text is None else read_rules(text, identifier)
    queries = {}
    place = _place(identifier, state)
    for rule in () if rules is None else rules.rules:
        if rule.kind not in LISTS_ROWS:
            continue
        try:
            queries[rule.id] = failing_rows_query(rule, state.schema, place)
        except InvalidInput:
            continue  # the finding says why the rule does not fit these columns
    return FailingRows(
        branch=state.table.branch,
        queries=queries,
        is_judged=is_judged,
    )


def _contains_head(source: FileStoreTable, target: FileStoreTable) -> bool:
    head = target.head()
    found = None if head is None else source.snapshots.find(head.id)
    return head is not None and found is not None and found.identity.same_as(head.identity)


def _place(identifier: Identifier, state: ReadState) -> str:
    """Write a state as a query names it."""
    named = identifier.on_branch(state.table.branch)
    database = named.table_name.removesuffix(f".{named.table}")
    table = named.full_name.removeprefix(f"{database}.")
    travels = ""
    if state.snapshot is not None and state.past_millis is not None:
        travels = f" VERSION AS OF {state.snapshot.id}"
    return f"{quoted_name(database)}.{quoted_name(table)}{travels}"
