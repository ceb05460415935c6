"""The verbs of the lifecycle by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from branch_console.procedures.branch.drop_branch import DROP_BRANCH
from branch_console.procedures.branch.fence_branch import FENCE_BRANCH
from branch_console.procedures.branch.pin_branch import PIN_BRANCH
from branch_console.procedures.branch.protect_branch import PROTECT_BRANCH
from branch_console.procedures.branch.rename_branch import RENAME_BRANCH
from branch_console.procedures.branch.repair_branch import REPAIR_BRANCH
from branch_console.procedures.branch.replace_main import REPLACE_MAIN
from branch_console.procedures.branch.rollback import ROLLBACK
from branch_console.procedures.branch.tags import CREATE_TAG, DELETE_TAG
from branch_console.procedures.merge.merge_branch import CHERRY_PICK, MERGE_BRANCH, REVERT
from branch_console.procedures.run.procedure import Verb
from branch_console.procedures.undo.undo import UNDO

_ALL: Final = (
    CHERRY_PICK,
    CREATE_TAG,
    DELETE_TAG,
    DROP_BRANCH,
    FENCE_BRANCH,
    MERGE_BRANCH,
    PIN_BRANCH,
    PROTECT_BRANCH,
    RENAME_BRANCH,
    REPAIR_BRANCH,
    REPLACE_MAIN,
    REVERT,
    ROLLBACK,
    UNDO,
)

VERBS: Final[Mapping[str, Verb[Any]]] = MappingProxyType({verb.name: verb for verb in _ALL})
