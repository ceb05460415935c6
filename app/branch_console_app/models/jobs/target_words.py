"""Whether a job changed its target, as one sentence for banners, pages and terminals."""

from typing import assert_never

from branch_console.jobs.progress import TargetMove


def target_words(move: TargetMove, target: str) -> str:
    """Say whether a job that stopped changed its target.

    Args:
        move: What is known of it.
        target: The target as the sentence names it, in Markdown where that is drawn.
    """
    match move:
        case TargetMove.UNCHANGED:
            return f"{target} is unchanged."
        case TargetMove.MOVED:
            return f"{target} has changed: the last step was done."
        case TargetMove.UNKNOWN:
            return (
                f"Whether {target} has changed is not known yet: recovery finishes what was cut "
                "off, or takes it back."
            )
        case _:
            assert_never(move)
