"""One argument of a procedure: its names, its help and its values, said once at its field."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from types import UnionType
from typing import Any, Final, Self, TypeAlias, get_args

from branch_console.errors import ErrorKind, InvalidInput

Argument: TypeAlias = str | int | bool | None
"""The value of an argument in a call: a JSON scalar; None is the same as left out."""

_REQUIRED: Final = object()
_METADATA: Final = "argument"


class WrittenAs(Enum):
    """How the command line writes an argument.

    Attributes:
        PLAIN: As its value.
        TABLE: As a table; a branch in the name is left out.
        TABLE_AND_BRANCH: As a table, and `--branch` beside it.
        FILE: As the path of a file that holds the value.
        TIME: As a time of day, of which the value is the milliseconds.
        SEVERAL: As an option that may be given several times; the value has commas between them.
    """

    PLAIN = auto()
    TABLE = auto()
    TABLE_AND_BRANCH = auto()
    FILE = auto()
    TIME = auto()
    SEVERAL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """A door that does not take an argument, or a procedure, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSyntax:
    """How the command line names an argument.

    Attributes:
        options: `--to`, and a letter such as `-t`; empty where the place among the words names it.
        metavar: The placeholder of the value in the help; None takes it from the type.
        help: The help of the option.
    """

    options: tuple[str, ...]
    metavar: str | None
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredArgument:
    """The declaration of one argument, taken from the field of a request.

    Attributes:
        field: The name of the field.
        name: The name in a call, and in the JSON of a stored job.
        help: The help text, a sentence for people.
        kind: `str`, `int`, `bool`, or a StrEnum of the choices.
        default: The value if the argument is left out.
        sql: Its names in `CALL sys.…`: ours, then those that Paimon gives it.
        command: Its name on the command line.
        written: The way the command line writes its value.
        least: The least value of a number.
        blank: The refusal of a blank text; None treats a blank text as left out.
    """

    field: str
    name: str
    help: str
    kind: type
    is_required: bool
    default: Argument
    sql: tuple[str, ...] | Unserved
    command: CommandSyntax | Unserved
    written: WrittenAs
    least: int | None
    blank: str | None

    def decode(self, procedure: str, value: Argument) -> Argument:
        """Return the value of the field.

        Args:
            procedure: The procedure, for messages.
            value: The argument of a call; None, and a text without letters, is left out.

        Raises:
            InvalidInput: It is required and left out, of another type, or none of the choices.
        """
        if self.blank is not None and isinstance(value, str) and not value.strip():
            raise self._refusal(self.blank)
        if value is None or (value == "" and issubclass(self.kind, str)):
            if self.is_required:
                raise self._refusal(f"{procedure} needs the argument {self.name!r}. Name it and "
                                    "call again.")  # fmt: skip
            return self.default
        named = f"The argument {self.name!r} of {procedure} must be"
        if issubclass(self.kind, StrEnum):
            choices = [str(each) for each in self.kind]
            if value not in choices:
                raise self._refusal(f"{named} {' or '.join(choices)}, not {value!r}.")
            return self.kind(value)
        if self.kind is str and not isinstance(value, str):
            raise self._refusal(f"{named} text.")
        if self.kind is bool and not isinstance(value, bool):
            raise self._refusal(f"{named} true or false.")
        if self.kind is int:
            if not isinstance(value, int) or isinstance(value, bool):
                raise self._refusal(f"{named} a whole number.")
            if self.least is not None and value < self.least:
                raise self._refusal(f"{named} {self.least} or more, not {value}.")
        return value

    def _refusal(self, message: str) -> InvalidInput:
        return InvalidInput(message, kind=ErrorKind.INVALID_ARGUMENT, argument=self.name)


def argument(
    help: str,
    *,
    default: object = _REQUIRED,
    json: str | None = None,
    sql: Sequence[str] | Unserved | None = None,
    cli: str | Unserved | None = None,
    cli_help: str | None = None,
    written: WrittenAs = WrittenAs.PLAIN,
    least: int | None = None,
    blank: str | None = None,
) -> Any:
    """Declare the field of a request, or of an agreement.

    Args:
        help: The help text, a sentence; the help of the command line, if that has no other.
        default: The value if the argument is left out; without one it must be given.
        json: Its name in a call and in stored jobs; that of the field where left out. It stays for
            good, since jobs that wait are read with it.
        sql: Its names in SQL, ours first and then Paimon's; `json` where left out.
        cli: Its option with a metavar, such as `--to TARGET`, or a metavar alone, such as `SOURCE`,
            for a word of its own; the name as an option where left out. The option of a field that
            is true by default says no. A required option may be left out where the command finds
            the value.
        cli_help: The help of the option, where that says another thing, such as no.
        written: How the command line writes its value.
        least: The least value of a number.
        blank: The refusal of a text without words; None takes that as left out.
    """
    metadata = {
        _METADATA: {
            "help": help, "json": json, "sql": sql, "cli": cli, "cli_help": cli_help,
            "written": written, "least": least, "blank": blank,
        }
    }  # fmt: skip
    if default is _REQUIRED:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class Declared:
    """A dataclass whose fields are arguments."""

    __slots__ = ()

    @classmethod
    def declared(cls) -> tuple[DeclaredArgument, ...]:
        """Return its arguments: required ones first, then its own, then those of its base."""
        return _declared(cls)

    @classmethod
    def help_of(cls, field: str) -> str:
        """Return what a field says, for a form that asks for it."""
        return next(each.help for each in cls.declared() if each.field == field)

    @classmethod
    def decode(cls, procedure: str, given: Mapping[str, Argument]) -> Self:
        """Read the arguments of a call; others that it has are passed over.

        Raises:
            InvalidInput: One is required and left out, of another type, or none of the choices.
        """
        return cls(
            **{each.field: each.decode(procedure, given.get(each.name)) for each in cls.declared()}
        )

    def encode(self) -> dict[str, Argument]:
        """Return the arguments of a call; flags and choices that change nothing are left out.

        A name is said even if it is the usual one: a receipt names the branch that changes.
        """
        values = ((each, getattr(self, each.field)) for each in self.declared())
        return {
            each.name: str(value) if isinstance(value, StrEnum) else value
            for each, value in values
            if value != each.default or (each.kind is str and value is not None)
        }


def _declared(declared: type[Any]) -> tuple[DeclaredArgument, ...]:
    shared = {
        field.name
        for base in declared.__mro__[1:]
        if dataclasses.is_dataclass(base)
        for field in dataclasses.fields(base)
    }
    found = [_of_field(field) for field in dataclasses.fields(declared)]
    required = [each for each in found if each.is_required]
    optional = [each for each in found if not each.is_required]
    return (*required, *sorted(optional, key=lambda each: each.field in shared))


@functools.cache
def _of_field(field: "dataclasses.Field[Any]") -> DeclaredArgument:
    said = field.metadata[_METADATA]
    default: Any = field.default
    kinds = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
    kind = next(each for each in kinds if each is not type(None))
    assert isinstance(kind, type), field.name
    name, is_required = said["json"] or field.name, default is dataclasses.MISSING
    sql, help_of_command = said["sql"], said["cli_help"] or said["help"]
    return DeclaredArgument(
        field=field.name,
        name=name,
        help=said["help"],
        kind=kind,
        is_required=is_required,
        default=None if is_required else default,
        sql=sql if isinstance(sql, Unserved) else tuple(sql or (name,)),
        command=_command(said["cli"], name, help_of_command),
        written=said["written"],
        least=said["least"],
        blank=said["blank"],
    )


def _command(
    cli: str | Unserved | None, name: str, help_of_command: str
) -> CommandSyntax | Unserved:
    if isinstance(cli, Unserved):
        return cli
    words = (cli or f"--{name.replace('_', '-')}").split()
    options = tuple(each for each in words if each.startswith("-"))
    metavars = [each for each in words if each not in options]
    return CommandSyntax(
        options=options, metavar=metavars[0] if metavars else None, help=help_of_command
    )
