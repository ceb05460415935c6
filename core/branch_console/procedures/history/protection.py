"""The protection of branches: rules of the ledger, by name or pattern.

Procedures ask this only of the complete ledger (`LineageLedger.whole`), because an event that
cannot be read may be a rule.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from branch_console.errors import ErrorKind
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.call.consequence import Consequence, blocks

_PATTERN_LETTERS = frozenset("*?[")
_RULES = frozenset({LineageKind.PROTECTED, LineageKind.UNPROTECTED})


def protection_of(events: Iterable[LineageEvent], branch: str) -> LineageEvent | None:
    """Return the event that protects a branch now, None if nothing does.

    The newest rule that matches decides: a branch can be freed from the pattern it falls under.

    Args:
        events: The ledger, in the order things happened, under the names of today.
        branch: The name of a branch, which need not exist.
    """
    found = None
    for event in events:
        if event.kind in _RULES and fnmatchcase(branch, event.branch):
            found = event if event.kind is LineageKind.PROTECTED else None
    return found


def is_pattern(text: str) -> bool:
    """Whether a rule's text may match more than the branch of that name."""
    return not _PATTERN_LETTERS.isdisjoint(text)


def rule_text(rule: LineageEvent) -> str:
    """Say who protected what, and why, as it completes "Branch 'x' is protected by …"."""
    what = f"rule {rule.branch!r}" if is_pattern(rule.branch) else "a rule"
    why = f" (reason: {rule.reason.rstrip('.')!r})" if rule.reason else ""
    return f"{what} of {rule.actor}{why}"


def protection_blocks(
    events: Iterable[LineageEvent], branch: str, what: str
) -> tuple[Consequence, ...]:
    """Return the obstacle of a procedure that a protected branch does not allow.

    Args:
        events: See `protection_of`.
        branch: The branch.
        what: The refused action, such as `dropped`.
    """
    rule = protection_of(events, branch)
    if rule is None:
        return ()
    return (
        blocks(
            f"Branch {branch!r} is protected by {rule_text(rule)}: it cannot be {what}. Remove the "
            "protection first.",
            ErrorKind.PROTECTED,
        ),
    )


def owner_blocks(
    events: Iterable[LineageEvent], branch: str, actor: str
) -> tuple[Consequence, ...]:
    """Return the obstacle of replacing a protected branch, unless the person is its owner.

    Args:
        events: See `protection_of`.
        branch: The branch.
        actor: The person who asks.
    """
    known = tuple(events)
    rule = protection_of(known, branch)
    if rule is None:
        return ()
    owners = [event.owner for event in known if event.branch == branch and event.owner is not None]
    # A branch without a recorded owner, such as main, answers to whoever protected it.
    owner = owners[-1] if owners else rule.actor
    if owner == actor:
        return ()
    return (
        blocks(
            f"Branch {branch!r} is protected by {rule_text(rule)}: only {owner} may replace it. "
            f"Ask {owner}, or remove the protection first.",
            ErrorKind.PROTECTED,
        ),
    )
