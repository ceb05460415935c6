"""The requests that read two states and change nothing."""

from dataclasses import dataclass
from typing import Final

from branch_console.operations.argument import Unserved, WrittenAs, argument
from branch_console.operations.request import Request
from branch_console.operations.shared_arguments import table_argument

_PAGES: Final = Unserved(why="Its answer is a page of differences, not rows.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest(Request):
    """Two states of a table: the one before, and the one after."""

    table: str = table_argument()
    before: str = argument("The state before.", json="a", cli="A")
    after: str = argument("The state after.", json="b", cli="B")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareStatesRequest(
    ComparisonRequest,
    procedure="compare_states",
    job=("Compare rows", "of"),
    sql=_PAGES,
    command=Unserved(why="compare --rows asks for it, and shows its answer."),
):
    """Compare the rows of two states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareQualityRequest(
    ComparisonRequest,
    procedure="compare_quality",
    job=("Compare quality", "of"),
    sql=_PAGES,
    command="compare",
):
    """Compare the profiles of two states."""

    whole: bool = argument(
        "Read both states as a whole.",
        default=False,
        cli_help="With --quality, read also all files that both sides have.",
    )
    merged: bool = argument(
        "Profile the result of a merge, too.",
        default=False,
        cli_help="With --quality, look also at what merging B into A leaves.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRowsRequest(
    ComparisonRequest,
    procedure="count_rows",
    job=("Count rows", "of"),
    sql=_PAGES,
    command=Unserved(why="--count of a command that compares asks for it, and shows its answer."),
):
    """Count the rows of two states that metadata cannot tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRulesRequest(
    Request,
    procedure="check_rules",
    job=("Check rules", "of"),
    sql=_PAGES,
    command="check",
):
    """Judge a state by the rules of its table."""

    table: str = table_argument(with_branch=True)
    version: str | None = argument(
        "The snapshot; the head where left out.",
        default=None,
        cli="--snapshot ID_OR_TAG",
        cli_help="A snapshot or tag of the branch; its head where left out.",
    )
    before: str | None = argument(
        "The state before, where two are judged.",
        default=None,
        json="a",
        cli="--since STATE",
        cli_help="A branch, branch@snapshot-id, tag:NAME or branch@time: a rule that "
        "fails there too only warns.",
    )
    after: str | None = argument(
        "The state after, where two are judged.",
        default=None,
        json="b",
        cli=Unserved(why="It is the head of the branch that is judged."),
    )
    rules: str | None = argument(
        "Rules in place of those of the table.",
        default=None,
        cli="--rules FILE",
        cli_help="A YAML file of rules, in place of those that the warehouse keeps.",
        written=WrittenAs.FILE,
    )
