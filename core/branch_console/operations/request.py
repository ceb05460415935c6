"""The arguments of procedures, declared once for every door.

A new procedure is declared in the module of its room, and named in `declared.REQUESTS`:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class PinBranchRequest(
        Request, procedure="pin_branch", job=("Pin a branch", "of"), terms=PREVIEWED
    ):
        '''Keep what a branch began at from expiring, by a tag on main.'''

        table: str = argument("database.table.", cli="TABLE", written=WrittenAs.TABLE)
        branch: str = argument("The name of the branch.", cli="BRANCH")
        twin: bool = argument("Where that tag stands, make a second one.", default=False)

The declaration defines the names that a call may have, and any other name is refused. It also
defines the names and order in SQL, types and choices, the options and help of the command, and the
title of a job. If a door does not take a field, the field says why: `sql=Unserved(why=…)`.
`Agreement` declares what a person saw and allowed; a procedure lists in `terms` the parts that it
takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from types import MappingProxyType
from typing import ClassVar, Final

from branch_console.operations.agreement import Agreement
from branch_console.operations.argument import (
    CommandSyntax,
    Declared,
    DeclaredArgument,
    Unserved,
)

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Tells(StrEnum):
    """The source of a result column that is no count of the receipt.

    Attributes:
        DONE: Always true: a call that fails ends with an error.
        BEFORE: The number of the branch's head before.
        AFTER: The number of its head afterwards.
        ROW: A value that the procedure put into each row of its receipt.
        MESSAGE: The sentence of the receipt.
    """

    DONE = auto()
    BEFORE = auto()
    AFTER = auto()
    ROW = auto()
    MESSAGE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column with which a call in SQL is answered.

    Attributes:
        name: Its name in Paimon.
        tells: What it tells, or the count of a receipt by its name.
        nothing: What it tells in the one row of a call that had nothing to tell; None if such a
            call is answered without rows.
    """

    name: str
    tells: Tells | str = Tells.ROW
    nothing: str | None = None


_DONE: Final = (ResultColumn(name="result", tells=Tells.DONE),)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlProcedure:
    """A name of a procedure in `CALL sys.…`.

    Attributes:
        order: The arguments that need not be named, first to last, as Paimon has them; those that
            are none of ours are Paimon's, and not served. All of ours in their order if left out.
        takes: The only arguments that this name takes; all if left out.
        either: Arguments of Paimon that are the first of two of ours if they are a number, and the
            second if they are another text.
        answers: The columns with which Paimon answers a call.
        refuses: Arguments of Paimon that are not served, each with the reason.
        can_be_dry: Whether `dry_run => true` has it tell what it would do, and do nothing.
    """

    name: str
    order: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    either: tuple[tuple[str, tuple[str, str]], ...] = ()
    answers: tuple[ResultColumn, ...] = _DONE
    refuses: tuple[tuple[str, str], ...] = ()
    can_be_dry: bool = False


class Request(Declared):
    """The arguments of a procedure that are not part of an agreement.

    The docstring of a subclass is the help of its command.

    Attributes:
        procedure: Its name in calls.
        job: The title of its job, and the word between the title and the table.
        terms: The arguments of `Agreement` that it takes.
        in_sql: Its names in SQL.
        command: Its command.
        confirmed_by: The SQL arguments that name the object that is removed, of which the first
            given one counts; empty if nothing is removed. The command line has `--confirm` for it.
        not_in_command: Arguments that the command does not take though others do, and why.
    """

    __slots__ = ()

    procedure: ClassVar[str]
    job: ClassVar[tuple[str, str]]
    terms: ClassVar[tuple[str, ...]]
    in_sql: ClassVar[tuple[SqlProcedure, ...] | Unserved]
    command: ClassVar[str | Unserved]
    confirmed_by: ClassVar[tuple[str, ...]]
    not_in_command: ClassVar[Mapping[str, str]]

    def __init_subclass__(
        cls,
        *,
        procedure: str | None = None,
        job: tuple[str, str] | None = None,
        terms: tuple[str, ...] = (),
        sql: tuple[SqlProcedure, ...] | Unserved | None = None,
        command: str | Unserved | None = None,
        confirmed_by: tuple[str, ...] = (),
        not_in_command: Mapping[str, str] = _NOTHING,
    ) -> None:
        """Keep what is said beside the fields."""
        # A base of several requests names no procedure; neither does a dataclass that is made anew
        # for its slots, which has all this already.
        if procedure is None:
            return
        assert job is not None, procedure
        cls.procedure, cls.job, cls.terms, cls.confirmed_by = procedure, job, terms, confirmed_by
        cls.in_sql = (SqlProcedure(name=procedure),) if sql is None else sql
        cls.command = procedure.replace("_", "-") if command is None else command
        cls.not_in_command = not_in_command

    @classmethod
    def arguments(cls) -> tuple[DeclaredArgument, ...]:
        """Return all that a call of it may have: its own arguments, then those of the agreement."""
        return (*cls.declared(), *(each for each in Agreement.declared() if each.name in cls.terms))

    @classmethod
    def in_command(cls) -> tuple[tuple[DeclaredArgument, CommandSyntax], ...]:
        """Return the arguments that its command takes, each with how that names it."""
        return tuple(
            (each, each.command)
            for each in cls.arguments()
            if isinstance(each.command, CommandSyntax) and each.name not in cls.not_in_command
        )
