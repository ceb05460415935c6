"""How good a number is: counts of pages say so beside themselves."""

from dataclasses import dataclass
from typing import Final

from branch_console.diff.rows.row_figure import NET_ROWS, RowFigure
from branch_console_app.models.parts.wording import count, signed

EXACT: Final = "exact"
LEAST: Final = "at least"
MOST: Final = "at most"
UNREAD: Final = "not counted yet"
NOT_ROWS: Final = "not rows"
AT_MOST: Final = "\N{LESS-THAN OR EQUAL TO}"
AT_LEAST: Final = "\N{GREATER-THAN OR EQUAL TO}"

_COLOURS: Final = {EXACT: "green", UNREAD: "gray", NOT_ROWS: "gray"}


_NEEDS_NO_LABEL: Final = (EXACT, NOT_ROWS, LEAST)


def label_colour(label: str) -> str:
    """Return the colour of a label: green only for what is exact."""
    return _COLOURS.get(label, "orange")


def badge(label: str) -> str:
    """Write a label as Markdown."""
    return f":{label_colour(label)}-badge[{label}]"


def shares_label(error: float) -> str:
    """Return the label of shares of rows that are wrong by this part of all rows at most."""
    return f"\N{ALMOST EQUAL TO} ±{100 * error:.2f} % of rows" if error else EXACT


def short_figure(figure: RowFigure) -> str:
    """Write a figure with its unit for a narrow cell, as Markdown."""
    number = figure.number(count)
    if not figure.is_known:
        return number
    return f"{number} :gray[{figure.noun if figure.is_of_rows else 'records'}]"


def change_fact(figure: RowFigure) -> tuple[str, str]:
    """Return what a commit changed as a label and a figure."""
    label = NET_ROWS if figure.is_of_rows else "Records in files"
    return label, figure.cell(signed)


def figure_of(label: str, figure: RowFigure, *, is_change: bool = False) -> "Figure":
    """Return rows as a count of a page; "exact" never stands beside records in files."""
    write = signed if is_change else count
    if figure.rows is not None:
        return Figure(label=label, value=write(figure.rows))
    if figure.most_rows is not None:
        return Figure(label=label, value=figure.number(write), known=MOST)
    return Figure(
        label="Records in files",
        value=figure.number(write),
        known=UNREAD if figure.records is None else NOT_ROWS,
        help=(
            "Files can store one row several times, as an update adds a new version of it. So this "
            "is not the number of rows."
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One count with its unit.

    Attributes:
        known: The exactness of the count.
        help: A sentence about the counted objects.
    """

    label: str
    value: str
    known: str = EXACT
    help: str | None = None

    @property
    def shown(self) -> str:
        """The number as a page writes it; of a lower bound: `2 or more`."""
        return f"{self.value} or more" if self.known == LEAST else self.value

    @property
    def doubt(self) -> str | None:
        """The label beside the number; None for an exact count."""
        return None if self.known in _NEEDS_NO_LABEL else self.known
