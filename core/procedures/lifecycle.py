"""The verbs of the lifecycle by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.procedures.protect_branch import PROTECT_BRANCH
from core.procedures.tags import CREATE_TAG, DELETE_TAG
from core.procedures.verb import Verb

VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {verb.name: verb for verb in (CREATE_TAG, DELETE_TAG, PROTECT_BRANCH)}
)
