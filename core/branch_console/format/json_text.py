"""Paimon's JSON: read with errors that name the field, written in the layout Paimon's writer uses.

Other tools show these files as text, so ours look like Paimon's own.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.bounds import check_nesting, too_deep

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_LEAST_LONG: Final = -(2**63)
_MOST_LONG: Final = 2**63 - 1


class JsonObject:
    """A parsed JSON object whose readers say which field of what is wrong."""

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        self.values = values
        self.what = what

    @classmethod
    def parse(cls, text: str | bytes, what: str) -> "JsonObject":
        """Parse `text`, calling it `what` in errors.

        Raises:
            FormatError: The text is not one JSON object.
        """
        try:
            values = json.loads(text)
        except RecursionError as error:
            raise too_deep(what) from error
        except ValueError as error:
            raise FormatError(f"The {what} is not valid JSON: {error}.") from error
        if not isinstance(values, dict):
            raise FormatError(f"The {what} is not a JSON object.")
        check_nesting(values, what)
        return cls(values, what)

    def find(self, key: str, kind: type[T]) -> T | None:
        """Return the value of `key`, or None if it is absent or null."""
        value = self.values.get(key)
        if value is None:
            return None
        # The very class: bool is an int to Python, never to Paimon.
        if type(value) is not kind:
            raise FormatError(
                f"The {self.what} has a {key!r} that is not {_NAMES.get(kind, kind.__name__)}."
            )
        if isinstance(value, int) and not _LEAST_LONG <= value <= _MOST_LONG:
            raise FormatError(f"The {self.what} has a {key!r} of more than 64 bits.")
        return value

    def get(self, key: str, kind: type[T]) -> T:
        """Return the value of `key`."""
        value = self.find(key, kind)
        if value is None:
            raise FormatError(f"The {self.what} has no {key!r}.")
        return value

    def choice(self, key: str, choices: type[E]) -> E:
        """Return the member of `choices` that `key` names."""
        text = self.get(key, str)
        try:
            return choices(text)
        except ValueError:
            raise FormatError(f"The {self.what} has the unknown {key!r} {text!r}.") from None

    def objects(self, key: str) -> tuple["JsonObject", ...]:
        """Return the objects of the array `key`."""
        values = self.get(key, list)
        if not all(isinstance(value, dict) for value in values):
            raise FormatError(f"The {self.what} has something other than objects in {key!r}.")
        return tuple(JsonObject(value, self.what) for value in values)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings of the array `key`, empty if it is absent."""
        values = self.find(key, list) or []
        if not all(isinstance(value, str) for value in values):
            raise FormatError(f"The {self.what} has something other than strings in {key!r}.")
        return tuple(values)

    def text_map(self, key: str) -> dict[str, str]:
        """Return the string-to-string object `key`, empty if it is absent."""
        values = self.find(key, dict) or {}
        return {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in values.items()
            if value is not None
        }

    def check_version(self, newest: int, *, absent: int) -> int:
        """Return the format version.

        Raises:
            FormatError: The version is newer than `newest`.
        """
        version = self.find("version", int)
        version = absent if version is None else version
        if not 1 <= version <= newest:
            raise FormatError(
                f"The {self.what} has format version {version}; {newest} is the newest known. "
                "Upgrade Branch Console to read it.",
                kind=ErrorKind.UNKNOWN_VERSION,
                version=version,
            )
        return version


# `json.dumps` would make another one for each value.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)
_NAMES: dict[type, str] = {int: "a whole number", str: "text", list: "an array", dict: "an object"}


def to_pretty_json(value: object) -> str:
    """Write `value` in the layout of Paimon's JSON files; keys whose value is None are kept."""
    return _pretty(value, "")


def without_nulls(values: Mapping[str, object]) -> dict[str, object]:
    """Drop the keys that Paimon omits when they have no value."""
    return {key: value for key, value in values.items() if value is not None}


def _pretty(value: object, indent: str) -> str:
    if type(value) is int:
        return str(value)  # a journal may hold hundreds, and the encoder takes many times as long
    if value is None or isinstance(value, str | int | float):
        return _ENCODER.encode(value)
    if isinstance(value, Mapping):
        if not value:
            return "{ }"
        inner = indent + "  "
        lines = [f"{inner}{_pretty(k, inner)} : {_pretty(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, Sequence):
        if not value:
            return "[ ]"
        return "[ " + ", ".join([_pretty(item, indent) for item in value]) + " ]"
    return _ENCODER.encode(value)
