"""The action for each kind of step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.procedures.catalog_merge.database_steps import (
    CreateDatabase,
    DropDatabase,
    RenameDatabase,
    SetProperties,
)
from branch_console.procedures.catalog_merge.new_tables import CreateTable
from branch_console.procedures.catalog_merge.step_actions import OnMain, StepAction
from branch_console.procedures.catalog_merge.table_content import MergeContent
from branch_console.procedures.catalog_merge.table_steps import DropTable, MoveTable

ACTIONS: Final[Mapping[StepKind, StepAction]] = MappingProxyType(
    {
        StepKind.CREATE_DATABASE: OnMain(action=CreateDatabase()),
        StepKind.MERGE_CONTENT: MergeContent(),
        StepKind.CREATE_TABLE: CreateTable(),
        StepKind.DROP_TABLE: OnMain(action=DropTable()),
        StepKind.MOVE_TABLE: OnMain(action=MoveTable()),
        StepKind.DROP_DATABASE: OnMain(action=DropDatabase()),
        StepKind.RENAME_DATABASE: OnMain(action=RenameDatabase()),
        StepKind.SET_PROPERTIES: OnMain(action=SetProperties()),
    }
)


def action_of(kind: StepKind) -> StepAction:
    """Return how steps of a kind are carried out; raises Refused for one that takes back."""
    action = ACTIONS.get(kind)
    if action is None:
        raise not_served(kind)
    return action


def not_served(kind: StepKind) -> Refused:
    """Return the refusal of a merge with a step that no action carries out."""
    return Refused(
        f"A step {str(kind)!r} takes another one back, and no merge of the catalog begins with it. "
        "Nothing was changed.",
        kind=ErrorKind.UNSUPPORTED,
    )
