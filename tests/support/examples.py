"""How many cases a randomised test tries at the depth of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """From the number of cases that a full run tries to that of this run.

    Attributes:
        depth: The depth of the run.
        share: How many cases it tries for one of a full run, where a test says no number.
        parts: How many runs share the cases, each with cases of its own.
    """

    depth: str
    share: float
    parts: int = 1

    def __call__(self, full: int, *, quick: int | None = None, long: int | None = None) -> int:
        """Return the number of cases, at least one."""
        said = {"quick": quick, "long": long}.get(self.depth)
        return max(1, (round(full * self.share) if said is None else said) // self.parts)
