"""Findings on databases and tables while a merge of the catalog is decided."""

from dataclasses import dataclass, field

from branch_console.diff.catalog_state import CatalogState
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.merge.catalog.object_rules import ObjectChoice, ObjectRules
from branch_console.merge.conflict import Conflict, ConflictKind, Subject, Take
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import Plan

ABSENT = "absent"


@dataclass(slots=True)
class ObjectFinding:
    """Findings on one object; `cells` are ids of cells, each once."""

    conflicts: list[Conflict] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    cells: dict[str, None] = field(default_factory=dict)
    brings_content: bool = False
    is_adopted: bool = False
    plan: Plan | None = None


class ObjectFindings:
    """All that is found, by object.

    Attributes:
        is_settled: Whether a choice settled a conflict.
    """

    def __init__(self, states: ThreeWay[CatalogState], rules: ObjectRules) -> None:
        """Start without findings.

        Args:
            states: The three states of the catalog, which name the objects.
            rules: The choices of the person.
        """
        self.is_settled = False
        self.rules = rules
        self._states = states
        self._found: dict[str, ObjectFinding] = {}

    def of(self, object_id: str) -> ObjectFinding:
        """Return what is found on an object."""
        return self._found.setdefault(object_id, ObjectFinding())

    def name(self, object_id: str) -> str:
        """Return what the source calls an object, else the target, else the base."""
        states = (self._states.theirs, self._states.ours, self._states.base)
        return next((name for each in states if (name := each.name_of(object_id))), object_id)

    def name_at_base(self, object_id: str) -> str:
        """Return what an object was called at the base, or that it was absent."""
        return self._states.base.name_of(object_id) or ABSENT

    def report(self, object_id: str, text: str) -> None:
        """Note what was decided against a side."""
        self.of(object_id).reported.append(text)

    def settle(
        self,
        kind: ConflictKind,
        object_id: str,
        rule: str,
        takes: tuple[Take, ...],
        *,
        name: str | None = None,
        words: ThreeWay[str] | None = None,
        advice: str = "",
    ) -> ObjectChoice | None:
        """Return the choice that settles a conflict; else note the conflict and return None.

        Args:
            kind: The kind of the conflict.
            object_id: The object that it is about.
            rule: The cell, or what else the conflict rests on.
            takes: The choices that can settle it.
            name: The name of the property that it is about.
            words: The value of each side; the name of the object there if left out.
            advice: The advice; the result of each choice if left out.
        """
        choice = self.rules.find(kind, self.name(object_id))
        if choice is not None and choice.take in takes:
            self.is_settled = True
            about = "" if name is None else f" over {name!r}"
            self.report(object_id, f"The conflict {str(kind)!r}{about} was settled by {choice}.")
            return choice
        self.conflict(kind, object_id, rule, takes, name=name, words=words, advice=advice)
        return None

    def conflict(
        self,
        kind: ConflictKind,
        object_id: str,
        rule: str,
        takes: tuple[Take, ...] = (),
        *,
        name: str | None = None,
        words: ThreeWay[str] | None = None,
        advice: str = "",
    ) -> None:
        """Note a conflict; the arguments are those of `settle`."""
        called = each_side(self._states, lambda state: state.name_of(object_id) or ABSENT)
        self.of(object_id).conflicts.append(
            Conflict(
                kind=kind,
                rule=rule,
                subject=Subject(table=self.name(object_id), name=name),
                sides=words or called,
                settle_with=takes,
                advice=advice or _advice(kind, takes),
            )
        )


def _advice(kind: ConflictKind, takes: tuple[Take, ...]) -> str:
    """Return a sentence on the result of each choice."""
    meant = _MEANT[kind]
    return " ".join(meant[take] for take in takes if take in meant)


_MEANT: dict[ConflictKind, dict[Take, str]] = {
    ConflictKind.NAME_OCCUPIED: {
        Take.OURS: "'ours' leaves the target as it is.",
        Take.RENAME: "'rename=NAME' brings the object under another name.",
    },
    ConflictKind.OBJECT_GONE: {
        Take.OURS: "'ours' leaves the target as it is.",
        Take.THEIRS: "'theirs' does what the source did.",
    },
    ConflictKind.DATABASE_GONE: {
        Take.OURS: "'ours' leaves the table out.",
        Take.THEIRS: "'theirs' brings the database, too.",
    },
    ConflictKind.DATABASE_NOT_EMPTY: {
        Take.OURS: "'ours' keeps the database with the tables that the source never saw.",
        Take.THEIRS: "'theirs' drops them with it.",
    },
    ConflictKind.PROPERTY: {
        Take.OURS: "'ours' keeps the target's value.",
        Take.THEIRS: "'theirs' takes the source's.",
    },
    ConflictKind.IDENTITY_UNCLEAR: {},
}
