"""Files that people write in YAML, read part by part: each error names its line and its field."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, Self, TypeVar

import yaml

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.bounds import MOST_YAML_CHARACTERS

E = TypeVar("E", bound=StrEnum)

# The C parser reads 100,000 entries in seconds, the one in Python in minutes.
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlPart:
    """A part of a file that knows where it stands.

    Attributes:
        what: The name of the file in errors.
        line: The line of the file, from 1 on.
    """

    what: ClassVar[str] = "the file"

    def __init__(self, node: yaml.Node, path: str = "") -> None:
        """Stand at a node.

        Args:
            node: The node to read.
            path: The names on the way there; empty at the root.
        """
        self._node = node
        self._path = path
        self.line: int = node.start_mark.line + 1

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read the text of a file; None if it is empty.

        Raises:
            InvalidInput: It is no YAML, or longer or deeper than what is read.
        """
        name = cls.what.capitalize()
        if len(text) > MOST_YAML_CHARACTERS:
            raise InvalidInput(
                f"{name} has {len(text):,} characters; {MOST_YAML_CHARACTERS:,} are the most."
            )
        try:
            root = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            line = "" if error.problem_mark is None else f" in line {error.problem_mark.line + 1}"
            raise InvalidInput(f"{name} is no YAML{line}: {error.problem}.") from error
        except yaml.YAMLError as error:
            raise InvalidInput(f"{name} is no YAML: {error}.") from error
        except RecursionError as error:  # of the parser in Python, if there is no other
            raise InvalidInput(f"{name} is nested too deeply.") from error
        return None if root is None else cls(root)

    def items(self, *known: str) -> Iterator[tuple[str, Self]]:
        """The fields of a mapping, each once; those that are not known are errors."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error("should hold fields with values")
        seen: set[str] = set()
        for key, value in self._node.value:
            name = type(self)(key, f"a name in {self._path or self.what}").text()
            part = type(self)(value, f"{self._path}.{name}" if self._path else name)
            if known and name not in known:
                raise part.error(f"is not known; there may be {', '.join(known)}")
            if name in seen:
                raise part.error("stands there twice")
            seen.add(name)
            yield name, part

    def fields(self, *known: str) -> dict[str, Self]:
        """The fields of a mapping by name."""
        return dict(self.items(*known))

    def parts(self) -> Iterator[Self]:
        """The values of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("should be a list")
        for number, node in enumerate(self._node.value, 1):
            yield type(self)(node, f"{self._path}[{number}]")

    def find_text(self) -> str | None:
        """A text as it is written, None for null."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.error("should be a text")
        return None if self._node.tag == "tag:yaml.org,2002:null" else str(self._node.value)

    @property
    def is_plain(self) -> bool:
        """Whether a word stands there without quotes, as numbers do."""
        return isinstance(self._node, yaml.ScalarNode) and not self._node.style

    def text(self) -> str:
        """A text as it is written."""
        found = self.find_text()
        if found is None:
            raise self.error("has no value")
        return found

    def flag(self) -> bool:
        """True or false."""
        if self.text().lower() not in ("true", "false"):
            raise self.error("should be true or false")
        return self.text().lower() == "true"

    def one_of(self, kinds: type[E]) -> E:
        """A value of a closed set."""
        text = self.text()
        if text not in set(kinds):
            raise self.error(f"is {text!r}; it may be {', '.join(kinds)}")
        return kinds(text)

    def get(self, fields: Mapping[str, Self], name: str) -> Self:
        """A field that must be there."""
        if name not in fields:
            raise self.error(f"has no {name!r}")
        return fields[name]

    def error(self, what: str, *, kind: ErrorKind = ErrorKind.INVALID_ARGUMENT) -> InvalidInput:
        """Say what is wrong here."""
        subject = self._path or self.what
        return InvalidInput(
            f"Line {self.line}: {subject} {what}.", kind=kind, line=self.line, field=subject
        )
