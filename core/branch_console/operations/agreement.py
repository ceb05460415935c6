"""The agreement of a person before a procedure runs; never part of what is done."""

from dataclasses import dataclass
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.options import parse_duration
from branch_console.operations.argument import Declared, Unserved, argument

WITHOUT_CALLBACKS: Final = "without_callbacks"
"""Named by the consequences that it excuses."""

PREVIEWED: Final = ("plan_id",)
"""The agreement arguments of procedures that have a preview."""

COMMITTED: Final = (*PREVIEWED, WITHOUT_CALLBACKS)
"""The agreement arguments of procedures that commit, after which Paimon runs callbacks."""

JUDGED: Final = (*COMMITTED, "override_gate")
"""The agreement arguments of procedures whose result the quality rules of the table judge."""

MERGED: Final = (*JUDGED, "plan_again", "decisions", "heads", "wait")
"""The agreement arguments of merges, which can continue after a head moved."""

_OF_ITS_MOMENT: Final = Unserved(why="A statement runs what it finds when it runs.")
_PASSED_ON: Final = Unserved(why="The command passes on what it has printed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Declared):
    """The preview that a person saw, and the exceptions that they allow to a run."""

    plan_id: str | None = argument(
        "The preview that was agreed to; a run of another one is refused.",
        default=None,
        sql=_OF_ITS_MOMENT,
        cli=_PASSED_ON,
    )
    decisions: str | None = argument(
        "What the preview decides on, which a new plan must decide the same way.",
        default=None,
        sql=_OF_ITS_MOMENT,
        cli=_PASSED_ON,
    )
    heads: str | None = argument(
        "Where the branches stood when the preview was made.",
        default=None,
        sql=_OF_ITS_MOMENT,
        cli=_PASSED_ON,
    )
    override_gate: str | None = argument(
        "Go on although a blocking rule of the table fails, for this reason; operators only.",
        default=None,
        cli="--override-gate REASON",
        blank="The gate is overridden with a reason only. Say why.",
    )
    without_callbacks: str | None = argument(
        "Go on without what Paimon would do for Iceberg, a metastore or your own callbacks, for "
        "this reason; operators only.",
        default=None,
        cli="--without-callbacks REASON",
    )
    plan_again: bool = argument(
        "If the target gets a commit that touches what is merged, plan again, and go on if "
        "conflicts and decisions stay the same.",
        default=False,
    )
    wait: str | None = argument(
        "How long to keep trying while others commit to the target, such as 60s; with --plan-again "
        "it plans again as often as that allows.",
        default=None,
        cli="--wait TIME",
    )

    @property
    def wait_millis(self) -> int | None:
        """How long a run keeps trying; None if nobody said. Raises InvalidInput."""
        if self.wait is None:
            return None
        try:
            return parse_duration(self.wait)
        except ValueError as error:
            raise InvalidInput(
                f"How long to keep trying is told as 60s or 5min, not {self.wait!r}: {error}. "
                "Nothing was changed.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="wait",
            ) from error


SEEN: Final = frozenset(
    each.name for each in Agreement.declared() if isinstance(each.sql, Unserved)
)
"""The arguments that describe what somebody saw; a statement of the same call omits them."""

GRANTED: Final = frozenset({"override_gate", WITHOUT_CALLBACKS})
"""The arguments by which an operator allows something to one run, with a reason."""
