"""Every count of rows, recounted from what Paimon's Java library reads, on tables of many kinds.

Each figure is looked for at its place, before a merge, after it and after its undo: what commands
print without a qualifier, their documents, and the page of the merge.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console.jobs.warm_rows import WarmRows
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.session.session import WarmSession
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from tests.console.pages import Console, Page
from tests.support.command_line import Answer, CommandLine
from tests.support.java_paimon import JavaPaimon
from tests.support.jobs_at_once import run_jobs_at_once
from tests.support.recounted_tables import BRANCHES, KINDS, RecountedTable, Rows
from tests.support.row_figures import as_number, is_number, numbers_in
from tests.support.spark_in_process import SessionInProcess

# As in `6 rows added, ≤ 2 removed` and `1 to 3 changed`.
_DIFFERING: Final = re.compile(
    r"(\N{LESS-THAN OR EQUAL TO} )?(?<![\d,.])(?:(\d[\d,]*) to )?(\d[\d,]*) "
    r"(?:rows? )?(added|removed|changed)\b"
)
SETTLED: Final = 'version: 1\ntables: {"*": {take: theirs}}'


class RowsInProcess(WarmRows):
    """Reads and writes rows as a worker does, without Spark."""

    def _open(self) -> WarmSession:
        return SessionInProcess()


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
            assert not [each for each in shown if each.startswith("Rows")], shown
            assert document["objects"][0]["rows_added"] is None
            said = {labelled(each.out, "rows") for each in told}
            assert said <= {None, "known after the row comparison"}, told
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


@pytest.fixture
def recount(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Recount]:
    folders = {"state_dir": str(tmp_path / "state"), "cache_dir": str(tmp_path / "cache")}
    for setting, path in folders.items():
        monkeypatch.setenv(f"BRANCH_CONSOLE_{setting.upper()}", path)
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "operator")
    monkeypatch.setenv("COLUMNS", "400")
    folder = tmp_path / "java"

    def rows(services: Services) -> RowsInProcess:
        return RowsInProcess(services.job_settings, services.warehouse.file_io)

    def build(name: str) -> Recount:
        table = RecountedTable(open_java(folder), name)
        run_jobs_at_once(monkeypatch, lambda: Warehouse.open(str(folder)), rows)
        asked = {"warehouse": str(folder), "actor": "ada", **folders}
        services = Services(Settings.from_environment(asked, {}))
        return Recount(table, CommandLine(folder, capsys), services)

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
