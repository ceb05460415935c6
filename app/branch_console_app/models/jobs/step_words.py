"""The steps of jobs in words that complete "Merging: ..." and "It stopped while ..."."""

from collections.abc import Mapping
from typing import Final

from branch_console_app.models.parts.wording import plain

_WORDS: Final[Mapping[str, str]] = {
    "begin": "starting",
    "plan": "planning",
    "plan again": "planning again",
    "check heads": "checking the newest snapshots",
    "verify files": "checking the data files",
    "compare rows": "comparing rows",
    "quality rules": "checking the quality rules, part by part",
    "keep the result": "keeping the result",
    "take what was staged": "taking the result of the dry run",
    "try again": "trying again after another commit",
    "publish": "publishing the snapshots",
    "merge branch": "publishing the snapshot",
    "undo": "taking the snapshots back",
    "receipt": "writing the receipt",
    "finish": "finishing",
    "recover": "finishing what was cut off",
}


def step_words(step: str) -> str:
    """Return a step in words, as Markdown; a step of another release by its name."""
    return _WORDS.get(step) or plain(step)


def while_words(step: str) -> str:
    """Return the end of a sentence that names the running step of a job; "" before its first."""
    return f" while {step_words(step)}" if step else ""
