"""The verbs of the lifecycle by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.procedures.drop_branch import DROP_BRANCH
from core.procedures.fence_branch import FENCE_BRANCH
from core.procedures.merge_branch import CHERRY_PICK, MERGE_BRANCH, REVERT
from core.procedures.pin_branch import PIN_BRANCH
from core.procedures.protect_branch import PROTECT_BRANCH
from core.procedures.rename_branch import RENAME_BRANCH
from core.procedures.repair_branch import REPAIR_BRANCH
from core.procedures.replace_main import REPLACE_MAIN
from core.procedures.rollback import ROLLBACK
from core.procedures.tags import CREATE_TAG, DELETE_TAG
from core.procedures.undo import UNDO
from core.procedures.verb import Verb

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

VERBS: Final[Mapping[str, Verb]] = MappingProxyType({verb.name: verb for verb in _ALL})
