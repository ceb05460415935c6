"""How conflicts over databases and tables are settled: by kind, and by object."""

from dataclasses import dataclass
from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.identifier import check_object_name
from branch_console.merge.conflict import ConflictKind, Take

EVERY_OBJECT: Final = "*"
_RENAME: Final = f"{Take.RENAME}="
_TAKES: Final = (Take.OURS, Take.THEIRS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChoice:
    """Settles the conflicts of one kind over one object, or over every object.

    Attributes:
        object_name: As the source calls it, such as `air` or `air.routes`; `*` for every object.
        new_name: Under which an object comes whose own name is occupied, without its database.
    """

    object_name: str
    kind: ConflictKind
    take: Take
    new_name: str | None = None

    @classmethod
    def parse(cls, object_name: str, kind: ConflictKind, text: str) -> "ObjectChoice":
        """Read `ours`, `theirs` or `rename=NAME`.

        Raises:
            InvalidInput: It is none of these, every object would get one name, or the new name
                cannot be used.
        """
        if text in _TAKES:
            return cls(object_name=object_name, kind=kind, take=Take(text))
        if not text.startswith(_RENAME):
            raise InvalidInput(
                f"{text!r} is no way to settle: write 'ours' to keep the target, 'theirs' to take "
                "the source, or 'rename=NAME'."
            )
        new_name = text.removeprefix(_RENAME).strip()
        check_object_name(new_name)
        if object_name == EVERY_OBJECT or "." in new_name:
            raise InvalidInput(
                f"{text!r} gives one object another name: name the object, and the new name "
                "without its database."
            )
        return cls(object_name=object_name, kind=kind, take=Take.RENAME, new_name=new_name)

    def __str__(self) -> str:
        return str(self.take) if self.new_name is None else f"{_RENAME}{self.new_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRules:
    """The choices that a person has about the objects of a merge.

    Attributes:
        strict: Turn what the rules overrule and only report into conflicts.
        choices: How conflicts are settled; one for an object is stronger than one for all.
    """

    strict: bool = False
    choices: tuple[ObjectChoice, ...] = ()

    def find(self, kind: ConflictKind, object_name: str) -> ObjectChoice | None:
        """Return how a conflict is settled; None if it stays open."""
        of_kind = [each for each in self.choices if each.kind is kind]
        for name in (object_name, EVERY_OBJECT):
            found = [each for each in of_kind if each.object_name == name]
            if found:
                return found[-1]
        return None
