"""Every count of rows, recounted from what Paimon's Java library reads, on tables of many kinds.

Each figure is looked for at its place, before a merge, after it and after its undo: what commands
print without a qualifier, their documents, and the page of the merge.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console_app.services import Services
from branch_console_app.settings import Settings
from tests.console.pages import Console, Page
from tests.support.command_line import Answer, CommandLine
from tests.support.java_paimon import JavaPaimon
from tests.support.jobs_at_once import operate
from tests.support.recounted_tables import BRANCHES, COLUMNS, KINDS, RecountedTable, Rows
from tests.support.row_figures import as_number, is_number, numbers_in
from tests.support.spark_in_process import SessionInProcess

# As in `6 rows added, ≤ 2 removed` and `1 to 3 changed`.
_DIFFERING: Final = re.compile(
    r"(\N{LESS-THAN OR EQUAL TO} )?(?<![\d,.])(?:(\d[\d,]*) to )?(\d[\d,]*) "
    r"(?:rows? )?(added|removed|changed)\b"
)
# Figures of a column as pages name them, and as documents do.
_KEYS: Final = {
    "rows": "rows", "nulls": "nulls", "NaN": "nans", "distinct": "distinct", "min": "low",
    "max": "high",
}  # fmt: skip
SETTLED: Final = 'version: 1\ntables: {"*": {take: theirs}}'


class Recount:
    """Asks the command line and the console of a table, and counts what they say again."""

    def __init__(self, table: RecountedTable, console: CommandLine, services: Services) -> None:
        self.table, self.name = table, table.name
        self._console, self._services = console, services
        self.figures = 0

    def states(self) -> None:
        """Count the rows of each snapshot, branch and tag."""
        rows = {
            (branch, each): self.table.count(branch, each)
            for branch in BRANCHES
            for each in self.table.snapshots(branch)
        }
        heads = {branch: rows[branch, self.table.snapshots(branch)[-1]] for branch in BRANCHES}
        for branch in BRANCHES:
            told = self._console.json("snapshots", self.name, "--branch", branch)["snapshots"]
            for each in told:
                self._holds(each["figure"], rows[branch, each["id"]])
                before = rows.get((branch, each["id"] - 1))
                if before is not None:
                    self._holds(each["change"], rows[branch, each["id"]] - before)
            counted = self._console.json("count", self.name, branch)
            self._is(counted["rows"], heads[branch])
        text = self._console("count", self.name, "main").out
        self._is(labelled(text, "rows"), f"{heads['main']:,}")
        for each in self._console.json("branches", self.name)["branches"]:
            if each["name"] in heads:
                self._holds(each["figure"], heads[each["name"]])
        self._holds(self._console.json("show", self.name)["figure"], heads["main"])
        tagged = len(self.table.on("main").rows(tag="base"))
        (tag,) = (
            each for each in self._console.json("tags", self.name)["tags"] if each["name"] == "base"
        )
        self._holds(tag["figure"], tagged)

    def comparison(self, branch: str) -> None:
        """Count the rows by which main and a branch differ."""
        true = self.table.differing(self.table.rows(), self.table.rows(branch))
        sides = (self.name, "main", branch)
        self._bounds(self._console.json("compare", *sides)["rows"], true)
        rows = self._console.json("compare", *sides, "--rows")["rows"]
        self._bounds(rows, true)
        assert all(rows[each]["label"] == "exact" for each in true), rows
        if self.table.kind.keys:
            counted = self._console.json("count", *sides)["counted_rows"]
            self._is({each: counted[each] for each in true}, true)
            self._is(counted["after"], len(self.table.rows(branch)))

    def pages(self) -> None:
        """Count the rows that the pages Table, Snapshots, Branches and Compare show."""
        heads = {each: len(self.table.rows(each)) for each in BRANCHES}
        metrics = {each.label: each.value for each in self._open("table").at.metric}
        if "Rows" in metrics:
            self._is(metrics["Rows"], f"{heads['main']:,}")
        for branch in BRANCHES:
            self._page_of_snapshots(branch)
        said = set(numbers_in(self._open("branches").text))
        assert said <= {*heads.values()}, (self.name, said, heads)
        for branch in () if self.table.kind.evolves else BRANCHES[1:]:
            true = self.table.differing(self.table.rows(), self.table.rows(branch))
            text = self._open("compare", cmp_a="main", cmp_b=branch).text.replace("\\", "")
            for most, least, number, verb in _DIFFERING.findall(text):
                self.figures += 1
                at_most = as_number(number)
                at_least = 0 if most else as_number(least or number)
                assert at_least <= true[verb] <= at_most, (true, _DIFFERING.findall(text))

    def columns(self, branch: str) -> None:
        """Count what the quality of main and a branch, and of their merge, calls exact."""
        # Without a key `dev` and main have written the same files again, which collides.
        merges = bool(self.table.kind.keys) or branch == "more"
        asked = ("--quality", *(("--merged",) if merges else ()))
        told = self._console.json("compare", self.name, "main", branch, *asked)
        scopes = {each["scope"]: each for each in told["scopes"]}
        before, after = self.table.rows(), self.table.rows(branch)
        self._scope(scopes["whole sides"], before, after)
        for name in COLUMNS:
            self._page_of_column(branch, name, before, after)
        if merges:
            done = self._console("merge", branch, "--table", self.name, "--json")
            assert done.code == 0, done
            self._scope(scopes["merged result"], before, self.table.rows())

    def _scope(self, scope: Mapping[str, Any], before: Rows, after: Rows) -> None:
        self._is(tuple(scope["rows"]), (len(before), len(after)))
        for column in scope["columns"]:
            for told, rows in ((column["before"], before), (column["after"], after)):
                assert told["distinct_error"] == 0, told
                true = exact_figures([row[column["name"]] for row in rows])
                for name, key in _KEYS.items():
                    if told[key] is not None:
                        self._figure(column["name"], name, str(told[key]), true)

    def _page_of_column(self, branch: str, name: str, before: Rows, after: Rows) -> None:
        page = self._open(
            "compare", cmp_a="main", cmp_b=branch, cmp_tab="quality", cmp_qcol=name,
            cmp_scope="whole sides",
        )  # fmt: skip
        (frame,) = (each.value for each in page.at.dataframe if "Figure" in each.value)
        shown = frame[(frame["Label"] == "exact") & frame["Figure"].isin(_KEYS)]
        assert len(shown) > 1, frame
        for _, line in shown.iterrows():
            for side, rows in (("A", before), ("B", after)):
                text = line[side].replace("\N{MINUS SIGN}", "-").replace(",", "")
                self._figure(name, line["Figure"], text, exact_figures([row[name] for row in rows]))

    def _figure(self, column: str, name: str, told: str, true: Mapping[str, Any]) -> None:
        wanted = true[name]
        self._is((column, name, read_as(wanted, told)), (column, name, wanted))

    def _page_of_snapshots(self, branch: str) -> None:
        page = self._open("snapshots", branch=branch)
        (frame,) = (each.value for each in page.at.dataframe if "Snapshot" in each.value)
        for _, row in frame.iterrows():
            number = int(row["Snapshot"])
            rows = self.table.count(branch, number)
            shown = str(row.get("Rows", ""))
            if is_number(shown):
                self._is(as_number(shown), rows)
            change = str(row.get("Net rows", ""))
            if is_number(change) and number > self.table.snapshots(branch)[0]:
                self._is(as_number(change), rows - self.table.count(branch, number - 1))

    def _open(self, page: str, **query: str) -> Page:
        console = Console(self._services)  # type: ignore[arg-type]
        return console.open(page, db="db", table=self.name.partition(".")[2], **query)

    def conflicts(self, base: Rows) -> None:
        """Count the conflicts of main and `clash`; those of tables with a key are rows."""
        if not self.table.kind.keys:
            return
        true = self.table.conflicts(base, self.table.rows(), self.table.rows("clash"))
        told = self._console("conflicts", "clash", "--table", self.name, "--json").document
        self._is(told["conflicts"], true)

    def merge(self, branch: str, *options: str) -> bool:
        """Merge a branch and take that back; false if there are conflicts to settle by hand."""
        before = self.table.rows()
        asked = ("merge", branch, "--table", self.name, *options)
        told = [self._console(*asked, "--preview"), self._console(*asked, "--dry-run")]
        # Now the console knows what the dry run found.
        told.append(self._console(*asked, "--preview"))
        document = self._console(*asked, "--preview", "--json").document
        page = self._open("merge", source=branch, target="main", how="three-way")
        shown = {each.label: each.value for each in page.at.metric}
        done = self._console(*asked, "--json")
        if done.code:
            assert "CONFLICTS_OPEN" in done.out, done
            rows = [value for label, value in shown.items() if label.startswith("Rows")]
            assert not any(map(is_number, rows)), shown
            assert document["objects"][0]["rows_added"] is None
            assert {labelled(each.out, "rows") for each in told} == {None}, told
            return False
        after = self.table.rows()
        true = self.table.differing(before, after)
        self._merge_told(told, document, shown, true, (len(before), len(after)))
        self._receipt(done, len(before), len(after))
        self.states()
        undone = self._console("undo", done.document["operation_id"], "--json")
        assert undone.code == 0, undone
        self._receipt(undone, len(after), len(before))
        assert self.table.differing(before, self.table.rows()) == dict.fromkeys(true, 0)
        return True

    def _merge_told(
        self,
        told: list[Answer],
        document: Any,
        shown: Mapping[str, str],
        true: Mapping[str, int],
        counted: tuple[int, int],
    ) -> None:
        for answer in told:
            said = labelled(answer.out, "rows")
            if said and " in, " in said:
                self._is(said, f"{true['added']:,} in, {true['removed']:,} out")
            if said and " afterwards" in said:
                self._is(said, f"{counted[1]:,} afterwards, {counted[0]:,} now")
            if said and " before and after" in said:
                self._is((said.partition(" row")[0],) * 2, tuple(f"{each:,}" for each in counted))
        (found,) = document["objects"]
        if found["rows_added"] is not None:
            self._is(found["rows_added"], true["added"])
        for label, key in (("Rows added", "added"), ("Rows removed", "removed")):
            if label in shown:
                self._is(int(shown[label].strip("+\N{MINUS SIGN}")), true[key])

    def _receipt(self, answer: Answer, before: int, after: int) -> None:
        counts = answer.document["receipt"]["counts"]
        for name, number in (("rows_before", before), ("rows_after", after)):
            if counts[name] is not None:
                self._is(counts[name], number)

    def _holds(self, figure: Mapping[str, int | None], true: int) -> None:
        if figure["rows"] is not None:
            self._is(figure["rows"], true)
        most = figure.get("most_rows")
        assert most is None or most >= true, (self.name, figure, true)

    def _bounds(self, rows: Any, true: Mapping[str, int]) -> None:
        for key, number in true.items():
            self.figures += 1
            least, most = rows[key]["at_least"], rows[key]["at_most"]
            assert least <= number <= most, (self.name, key, rows, true)
            assert rows[key]["label"] != "exact" or least == number == most, (key, rows, true)
        if rows["net"] is not None:
            self._is(rows["net"], true["added"] - true["removed"])

    def _is(self, told: object, true: object) -> None:
        self.figures += 1
        assert told == true, (self.name, told, true)


def labelled(text: str, label: str) -> str | None:
    """What a command prints behind a label at the beginning of a line."""
    found = re.search(rf"^{label} +(\S.*)$", text, re.MULTILINE)
    return None if found is None else found[1].strip()


def exact_figures(values: Sequence[Any]) -> dict[str, Any]:
    """Count the values of a column; zeros are equal, and a NaN is one value and no end."""
    there = [each for each in values if each is not None]
    valid = [each for each in there if each != "NaN"]
    is_flat = not any(isinstance(each, tuple) for each in there)
    return {
        "rows": len(values),
        "nulls": len(values) - len(there),
        "NaN": there.count("NaN"),
        "distinct": len(set(there)),
        "min": min(valid) if is_flat and valid else None,
        "max": max(valid) if is_flat and valid else None,
    }


def read_as(like: Any, text: str) -> Any:
    """Read what a figure shows as a value of the same kind."""
    match like:
        case dt.datetime():
            return dt.datetime.fromisoformat(text)
        case float() | int() | Decimal():
            return type(like)(text)
        case _:
            return text


@pytest.fixture
def recount(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Recount]:
    folder = tmp_path / "java"

    def build(name: str) -> Recount:
        table = RecountedTable(open_java(folder), name)
        console = operate(folder, monkeypatch, capsys, SessionInProcess)
        services = Services(Settings.from_environment({"warehouse": str(folder), "actor": "ada"}))
        return Recount(table, console, services)

    return build


@pytest.mark.depth("full")
@pytest.mark.parametrize("name", ["deduplicate", "append"])
def test_counts_of_rows_are_those_of_paimon(recount: Callable[[str], Recount], name: str) -> None:
    found = recount(name)
    found.states()
    found.comparison("dev")
    assert found.merge("more"), "nothing of it collides"
    assert found.figures > 25
    print(f"{found.figures} figures of {name} recounted")


@pytest.mark.depth("long")
@pytest.mark.parametrize("name", KINDS)
def test_counts_of_rows_of_every_kind_of_table_are_those_of_paimon(
    recount: Callable[[str], Recount], tmp_path: Path, name: str
) -> None:
    found = recount(name)
    table = found.table
    is_keyed = bool(table.kind.keys)
    base = table.rows(snapshot=table.snapshots("dev")[0])
    policy = tmp_path / "theirs.yaml"
    policy.write_text(SETTLED)
    found.states()
    found.pages()
    if not table.kind.evolves:
        for branch in BRANCHES[1:]:
            found.comparison(branch)
        found.conflicts(base)
    assert found.merge("more"), "nothing of it collides"
    assert found.merge("dev") == is_keyed
    found.merge("dev", "--isolation", "snapshot")
    settles = is_keyed and not table.kind.hides_smaller
    assert found.merge("clash", "--policy", str(policy)) == settles
    found.states()
    assert found.figures > 50
    print(f"{found.figures} figures of {name} recounted")


@pytest.mark.depth("long")
@pytest.mark.parametrize("name", KINDS)
def test_counts_of_deleted_rows_are_those_of_paimon(
    recount: Callable[[str], Recount], tmp_path: Path, name: str
) -> None:
    found = recount(name)
    kind = found.table.kind
    found.table.add_deleting_branches()
    policy = tmp_path / "theirs.yaml"
    policy.write_text(SETTLED)
    for branch in ("gone", "emptied"):
        # A retraction alone leaves Paimon a row with a null in `day`, which cannot be written.
        if branch == "emptied" and name == "aggregation":
            continue
        if not kind.evolves:
            found.comparison(branch)
        is_merged = found.merge(branch, "--policy", str(policy))
        # Files of `append_tracked` are written again with rows that keep their ids.
        if branch == "gone":
            assert is_merged != kind.has_row_ids
    assert found.figures > 15
    print(f"{found.figures} figures of {name} recounted")


@pytest.mark.depth("long")
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.evolves])
def test_figures_of_columns_are_those_of_paimon(
    recount: Callable[[str], Recount], name: str
) -> None:
    found = recount(name)
    nothing = (None,) * 6
    found.table.put("main", (70, "a", *nothing), (71, "b", *nothing))
    found.table.put("more", (80, "a", *nothing), (81, "b", 8, math.inf, None, None, [], None))
    for branch in ("main", "more"):
        found.table.compact(branch)
    found.columns("dev")
    found.columns("more")
    assert found.figures > 100
    print(f"{found.figures} figures of {name} recounted")
