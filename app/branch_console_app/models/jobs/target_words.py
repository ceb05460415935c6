"""Whether a job changed its target, as one sentence for banners, pages and terminals."""

import re
from typing import Final, assert_never

from branch_console.jobs.progress import JobView, TargetMove

_NOTHING_CHANGED: Final = re.compile(r"(^|\s)Nothing was changed\\?\.(?=\s|$)")


def target_words(job: JobView, target: str) -> str:
    """Say whether a job that stopped changed its target.

    Args:
        job: The job.
        target: The target as it is named within a sentence, in Markdown where that is drawn. An
            article before it gets a capital at the start of a sentence.
    """
    match job.target_is:
        case TargetMove.UNCHANGED:
            return f"{_first(target)} is unchanged."
        case TargetMove.MOVED:
            return f"{_first(target)} has changed: the last step was done."
        case TargetMove.UNKNOWN if job.recovers:
            return (
                f"Whether {target} has changed is not known yet: recovery finishes what was cut "
                "off, or takes it back."
            )
        case TargetMove.UNKNOWN:
            return f"Whether {target} has changed is not known."
        case _:
            assert_never(job.target_is)


def message_and_target(job: JobView, message: str, target: str) -> str:
    """Return the message of a job that stopped, and whether it changed its target: said once.

    Args:
        job: The job.
        message: Its message, as it is written where it is shown.
        target: The target as `target_words` takes it.
    """
    if job.target_is is TargetMove.UNCHANGED:
        message = _NOTHING_CHANGED.sub("", message)
    return f"{message} {target_words(job, target)}".strip()


def _first(target: str) -> str:
    return f"The {target[4:]}" if target.startswith("the ") else target
