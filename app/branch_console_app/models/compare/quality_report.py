"""A comparison of columns as one HTML file that needs nothing else: to be sent, kept, printed.

Every name and value of a table goes through the tree, which escapes it; no script runs in the file.
"""

from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from branch_console.quality.comparison import ColumnComparison, QualityComparison, ScopeComparison
from branch_console.quality.drift import Rating
from branch_console_app.models.compare.quality import (
    bin_shares,
    conflict_words,
    explaining_words,
    key_words,
    rating_words,
    read_words,
    scope_words,
    side_titles,
    summary,
)
from branch_console_app.models.compare.quality_figures import figure_table
from branch_console_app.models.compare.quality_map import QualityMap, quality_map
from branch_console_app.models.parts.exactness import shares_label
from branch_console_app.models.parts.wording import moment, visible

_SIDE_CLASSES: Final = {"A": "a", "B": "b", "Merged": "m", "Base": "o"}
_SIGNS: Final = {Rating.ALARM: "! ", Rating.WATCH: "~ ", Rating.SMALL: "+ "}
# Nothing is fetched and nothing runs, whatever a table holds.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 14px/1.45 sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
th, td { padding: .2rem .6rem; text-align: left; border-bottom: 1px solid #8886; }
td { white-space: pre-wrap; overflow-wrap: anywhere; }
.alarm { border-left: 4px solid #D6246E; } .watch { border-left: 4px solid #C27700; }
.small { border-left: 4px solid #2A74CC; }
.bars td { padding: .1rem .6rem; border: 0; } .bar { height: .7rem; min-width: 1px; }
.a { background: #2A74CC; } .b { background: #C27700; } .m { background: #0EA08F; }
.o { background: #626D7A; }
.label { color: #626D7A; } section { margin-top: 2rem; } ul { padding-left: 1.2rem; }
"""


def quality_report(table: str, found: QualityComparison) -> str:
    """Write what was found of a table as an HTML document."""
    root = ET.Element("html", lang="en")
    head, body = ET.SubElement(root, "head"), ET.SubElement(root, "body")
    ET.SubElement(head, "meta", charset="utf-8")
    ET.SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY})
    _put(head, "title", f"Quality of {table}: {found.before} and {found.after}")
    _put(head, "style", _STYLE)
    _put(body, "h1", f"Quality of {table}")
    _put(body, "p", f"A is {found.before}, B is {found.after}.")
    _put(body, "p", f"Compared {moment(found.finished_millis)}. {read_words(found)}", "label")
    if found.notes:
        notes = ET.SubElement(body, "ul")
        for note in found.notes:
            _put(notes, "li", note)
    for scope in found.scopes:
        _add_scope(ET.SubElement(body, "section"), found, scope)
    drift = quality_map(found.drift_map)
    if drift is not None:
        _add_map(ET.SubElement(body, "section"), drift)
    return f"<!DOCTYPE html>\n{ET.tostring(root, encoding='unicode', method='html')}\n"


def _add_scope(section: ET.Element, found: QualityComparison, scope: ScopeComparison) -> None:
    _put(section, "h2", f"{scope.scope}: {summary(scope)}")
    _put(section, "p", scope_words(scope, found.base))
    unsettled = conflict_words(found, scope)
    if unsettled is not None:
        _put(section, "p", unsettled)
    for words, label in key_words(scope):
        _put(section, "p", f"{words} ({label})")
    lines = [
        (each.name, each.type, f"{_SIGNS.get(each.rating, '')}{each.rating}", rating_words(each))
        for each in scope.columns
    ]
    ratings = [each.rating for each in scope.columns]
    _add_table(section, ("Column", "Type", "Rating", "Why"), lines, ratings)
    for column in scope.columns:
        if column.rating in _SIGNS:
            _add_column(section, found, scope, column)


def _add_column(
    section: ET.Element,
    found: QualityComparison,
    scope: ScopeComparison,
    column: ColumnComparison,
) -> None:
    _put(section, "h3", column.name)
    explained = explaining_words(column, scope.scope)
    if explained is not None:
        _put(section, "p", explained)
    figures = figure_table(found, scope, column)
    _add_table(section, figures.titles, figures.lines)
    shares = bin_shares(column, scope.scope)
    if not shares.labels:
        return
    label = shares_label(column.bins_error)
    _put(
        section,
        "p",
        f"Share of all rows in each range of values (ranges of {shares.first}) ({label})",
        "label",
    )
    bars = ET.SubElement(section, "table", {"class": "bars"})
    classes = [_SIDE_CLASSES[each] for each in side_titles(scope.scope)]
    for name, before, after in zip(shares.labels, shares.before, shares.after, strict=True):
        row = ET.SubElement(bars, "tr")
        _put(row, "td", name)
        drawn = ET.SubElement(row, "td", style="width: 24rem")
        for kind, share in zip(classes, (before, after), strict=True):
            ET.SubElement(drawn, "div", {"class": f"bar {kind}", "style": f"width: {share:.2f}%"})
        text = f"{shares.first} {before:.2f} %, {shares.other} {after:.2f} %"
        _put(row, "td", text, "label")


def _add_map(section: ET.Element, drift: QualityMap) -> None:
    _put(section, "h2", "By partition")
    cells = sorted(drift.cells, key=lambda each: -each.severity)
    _add_table(
        section,
        ("Partition", "Column", "Rating", "What"),
        [(each.partition, each.column, str(each.rating), each.words) for each in cells],
        [each.rating for each in cells],
    )
    for sentence in drift.left_out:
        _put(section, "p", f"Left out: {sentence}.", "label")


def _add_table(
    parent: ET.Element,
    titles: Sequence[str],
    lines: Iterable[Sequence[str]],
    ratings: Sequence[Rating] = (),
) -> None:
    table = ET.SubElement(parent, "table")
    head = ET.SubElement(table, "tr")
    for title in titles:
        _put(head, "th", title)
    for number, line in enumerate(lines):
        row = ET.SubElement(table, "tr")
        if ratings and ratings[number] in _SIGNS:
            row.set("class", ratings[number].name.lower())
        for cell in line:
            _put(row, "td", cell)


def _put(parent: ET.Element, name: str, text: str, kind: str | None = None) -> None:
    element = ET.SubElement(parent, name)
    if kind is not None:
        element.set("class", kind)
    element.text = text if name == "style" else visible(text)
