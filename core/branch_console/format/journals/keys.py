"""The kinds of keys that journals have: how each is read into an attribute, and written again.

An attribute is called as its key is, in snake case.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol, TypeAlias

from branch_console.errors import FormatError
from branch_console.format.json_text import JsonObject
from branch_console.format.receipt import identity_from, identity_to
from branch_console.format.snapshot import SnapshotIdentity

_CAPITAL: Final = re.compile(r"(?=[A-Z])")

Values: TypeAlias = dict[str, Any]


class Entry(Protocol):
    """One or more keys of a journal."""

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, in their order."""
        ...

    def read(self, raw: JsonObject) -> Values:
        """Return attributes by their names; raises FormatError."""
        ...

    def write(self, journal: Any) -> dict[str, object]:
        """Return keys with JSON values."""
        ...


class _Readable(Protocol):
    """The reader and writer of a part of a journal."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def read(self, raw: JsonObject) -> Any: ...

    def write(self, journal: Any) -> dict[str, object]: ...


class _InJson(Protocol):
    """A value that has a JSON file of its own."""

    @classmethod
    def from_json(cls, text: str) -> Any: ...

    def to_json(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """One key with its attribute; a value of None is left out of the file, or kept as null."""

    name: str
    attribute: str
    decode: Callable[[JsonObject, str], Any]
    encode: Callable[[Any], object]
    keeps_null: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self, raw: JsonObject) -> Values:
        return {self.attribute: self.decode(raw, self.name)}

    def write(self, journal: Any) -> dict[str, object]:
        value = self.encode(getattr(journal, self.attribute))
        return {} if value is None and not self.keeps_null else {self.name: value}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Derived:
    """A key that follows from others, written for readers of all kinds of journals."""

    name: str
    tell: Callable[[Any], object]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self, raw: JsonObject) -> Values:
        return {}

    def write(self, journal: Any) -> dict[str, object]:
        value = self.tell(journal)
        return {} if value is None else {self.name: value}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inlined:
    """A value whose keys stand among those of the journal."""

    attribute: str
    shape: _Readable

    @property
    def names(self) -> tuple[str, ...]:
        return self.shape.names

    def read(self, raw: JsonObject) -> Values:
        return {self.attribute: self.shape.read(raw)}

    def write(self, journal: Any) -> dict[str, object]:
        return self.shape.write(getattr(journal, self.attribute))


def needed(name: str, kind: type[Any], *, attribute: str | None = None) -> Entry:
    """A key that every journal has; its attribute where that has another name."""
    return _key(name, lambda raw, key: raw.get(key, kind), _as_json, attribute)


def perhaps(name: str, kind: type[Any]) -> Entry:
    """A key that is left out where the value is None."""
    return _key(name, lambda raw, key: raw.find(key, kind), _as_json)


def or_null(name: str, kind: type[Any]) -> Entry:
    """A key that is always written, as null if the value is None."""
    return _key(name, lambda raw, key: raw.find(key, kind), _as_json, keeps_null=True)


def since(name: str, kind: type[Any], default: object) -> Entry:
    """A key that is always written, and that journals of earlier releases may lack."""

    def decode(raw: JsonObject, key: str) -> object:
        found = raw.find(key, kind)
        return default if found is None else found

    return _key(name, decode, _as_json)


def counted(name: str) -> Entry:
    """A number that is left out where it is 0."""
    return _key(name, lambda raw, key: raw.find(key, int) or 0, lambda value: value or None)


def texts(name: str) -> Entry:
    """A list of texts, written where it is empty, too."""
    return _key(name, lambda raw, key: raw.texts(key), list)


def some_texts(name: str) -> Entry:
    """A list of texts that is left out where it is empty."""
    return _key(name, lambda raw, key: raw.texts(key), lambda value: list(value) or None)


def perhaps_texts(name: str) -> Entry:
    """A list of texts that is left out where it is None."""

    def decode(raw: JsonObject, key: str) -> tuple[str, ...] | None:
        return None if raw.find(key, list) is None else raw.texts(key)

    return _key(name, decode, lambda value: None if value is None else list(value))


def numbers(name: str) -> Entry:
    """A list of whole numbers, written where it is empty, too."""
    return _key(name, _numbers, list)


def fixed_numbers(name: str, length: int) -> Entry:
    """So many whole numbers, left out where they are None."""

    def decode(raw: JsonObject, key: str) -> tuple[int, ...] | None:
        found = _numbers(raw, key)
        if len(found) not in (0, length):
            raise FormatError(f"The {raw.what} has a {key!r} that is not {length} numbers.")
        return found or None

    return _key(name, decode, lambda value: None if value is None else list(value))


def number_map(name: str) -> Entry:
    """Whole numbers by whole numbers, which JSON has as text."""

    def decode(raw: JsonObject, key: str) -> dict[int, int]:
        values = raw.get(key, dict)
        if not all(type(each) is int and _is_number(name) for name, each in values.items()):
            raise FormatError(f"The {raw.what} has something other than numbers in {key!r}.")
        return {int(name): each for name, each in values.items()}

    return _key(name, decode, lambda value: {str(each): value[each] for each in value})


def text_map(name: str) -> Entry:
    """Texts by texts."""
    return _key(name, lambda raw, key: raw.text_map(key), dict)


def text_or_null_map(name: str) -> Entry:
    """Texts or null by texts."""

    def decode(raw: JsonObject, key: str) -> dict[str, str | None]:
        found = raw.get(key, dict)
        if not all(each is None or isinstance(each, str) for each in found.values()):
            raise FormatError(f"The {raw.what} has something other than texts in {key!r}.")
        return found

    return _key(name, decode, dict)


def identity(name: str) -> Entry:
    """The identity of a snapshot, left out where it is None."""
    return _key(name, _identity, identity_to)


def needed_identity(name: str) -> Entry:
    """The identity of a snapshot."""

    def decode(raw: JsonObject, key: str) -> SnapshotIdentity | None:
        return identity_from(raw.get(key, dict), raw.what)

    return _key(name, decode, identity_to)


def identity_map(name: str) -> Entry:
    """Identities of snapshots by names, left out where the value is None."""

    def decode(raw: JsonObject, key: str) -> dict[str, SnapshotIdentity | None] | None:
        values = raw.find(key, dict)
        if values is None:
            return None
        named = JsonObject(values, raw.what)
        return {name: _identity(named, name) for name in values}

    def encode(value: Mapping[str, SnapshotIdentity | None] | None) -> object:
        if value is None:
            return None
        return {name: identity_to(each) for name, each in value.items()}

    return _key(name, decode, encode)


def choice(name: str, choices: type[StrEnum]) -> Entry:
    """One of several words, left out where the value is None."""

    def decode(raw: JsonObject, key: str) -> StrEnum | None:
        return None if raw.find(key, str) is None else raw.choice(key, choices)

    return _key(name, decode, lambda value: None if value is None else str(value))


def part(name: str, shape: _Readable) -> Entry:
    """An object of its own, left out where the value is None."""

    def decode(raw: JsonObject, key: str) -> object:
        values = raw.find(key, dict)
        return None if values is None else shape.read(JsonObject(values, raw.what))

    return _key(name, decode, lambda value: None if value is None else shape.write(value))


def needed_part(name: str, shape: _Readable) -> Entry:
    """An object of its own that every journal has."""

    def decode(raw: JsonObject, key: str) -> object:
        return shape.read(JsonObject(raw.get(key, dict), raw.what))

    return _key(name, decode, shape.write)


def parts(name: str, shape: _Readable) -> Entry:
    """A list of objects, written where it is empty, too."""
    return _key(name, _objects(shape), lambda value: [shape.write(each) for each in value])


def some_parts(name: str, shape: _Readable) -> Entry:
    """A list of objects that is left out where it is empty."""
    return _key(name, _objects(shape), lambda value: [shape.write(each) for each in value] or None)


def perhaps_parts(name: str, shape: _Readable) -> Entry:
    """A list of objects that is left out where it is None."""

    def decode(raw: JsonObject, key: str) -> tuple[object, ...] | None:
        return None if raw.find(key, list) is None else tuple(map(shape.read, raw.objects(key)))

    def encode(value: tuple[object, ...] | None) -> object:
        return None if value is None else [shape.write(each) for each in value]

    return _key(name, decode, encode)


def values(
    name: str,
    decode: Callable[[JsonObject, str], Any],
    encode: Callable[[Any], object],
    *,
    attribute: str | None = None,
) -> Entry:
    """A key that is read and written in a way of its own."""
    return _key(name, decode, encode, attribute)


def file_text(name: str, kind: type[_InJson], *, attribute: str | None = None) -> Entry:
    """The text of a JSON file, which is decoded as such a file is."""
    return _key(name, lambda raw, key: kind.from_json(raw.get(key, str)), kind.to_json, attribute)


def constant(name: str, value: str) -> Entry:
    """A key that says what class of journal this is."""
    return _Derived(name=name, tell=lambda _: value)


def inlined(attribute: str, shape: _Readable) -> Entry:
    """A value whose keys stand among those of the journal."""
    return _Inlined(attribute=attribute, shape=shape)


def derived(name: str, tell: Callable[[Any], object]) -> Entry:
    """A key that follows from others: it is written, and never read back."""
    return _Derived(name=name, tell=tell)


def _key(
    name: str,
    decode: Callable[[JsonObject, str], Any],
    encode: Callable[[Any], object],
    attribute: str | None = None,
    *,
    keeps_null: bool = False,
) -> Entry:
    called = attribute or _CAPITAL.sub("_", name).lower()
    return _Key(name=name, attribute=called, decode=decode, encode=encode, keeps_null=keeps_null)


def _objects(shape: _Readable) -> Callable[[JsonObject, str], tuple[object, ...]]:
    def decode(raw: JsonObject, key: str) -> tuple[object, ...]:
        return () if raw.find(key, list) is None else tuple(map(shape.read, raw.objects(key)))

    return decode


def _as_json(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def _numbers(raw: JsonObject, key: str) -> tuple[int, ...]:
    found = raw.find(key, list) or []
    if not all(type(each) is int for each in found):
        raise FormatError(f"The {raw.what} has something other than whole numbers in {key!r}.")
    return tuple(found)


def _identity(raw: JsonObject, key: str) -> SnapshotIdentity | None:
    return identity_from(raw.find(key, dict), raw.what)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
