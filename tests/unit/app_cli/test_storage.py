"""`branch-console storage`: whose the files are, in lines, in JSON and as rows of SQL."""

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.expiry_bench import ExpiryBench


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Main and a branch that share one file of three."""
    bench = ExpiryBench(tmp_path / "warehouse")
    bench.add("a")
    bench.branch("dev")
    bench.add("b", branch="dev")
    bench.add("c")
    return bench


def test_each_owner_has_a_line_and_each_pair(console: CommandLine, bench: ExpiryBench) -> None:
    answer = console("storage", "db.t")
    assert answer.code == 0
    assert answer.lines == [
        "needed by  what    files    alone  with others  history  reclaimable",
        "main       branch      2  1,000 B      1,000 B      0 B          0 B",
        "dev        branch      2  1,000 B      1,000 B      0 B          0 B",
        "",
        "total        2.9 KiB in 3 files, each file counted once",
        "reclaimable  0 B in 0 files",
        "orphans      nobody has looked for them: branch-console orphans",
        "",
        "shared by  and  files     size",
        "main       dev      1  1,000 B",
    ]


def test_the_document_has_bytes_by_owner_and_pair(console: CommandLine, bench: ExpiryBench) -> None:
    document = console.json("storage", "db.t$branch_dev")
    assert document["table"] == "db.t"
    assert document["total"] == {"file_count": 3, "byte_count": 3000}
    assert [each["owner"]["name"] for each in document["owners"]] == ["main", "dev"]
    assert document["owners"][1]["exclusive"] == {"file_count": 1, "byte_count": 1000}
    (pair,) = document["overlaps"]
    assert pair["amount"] == {"file_count": 1, "byte_count": 1000}
    assert document["orphans"] is None
    assert document["holds"] == {}


def test_sql_answers_with_a_row_for_each_owner(console: CommandLine, bench: ExpiryBench) -> None:
    for text in ("SHOW STORAGE ON TABLE db.t", "CALL sys.storage('db.t')"):
        main, dev = console.json("sql", text)["rows"]
        assert (main["needed_by"], main["exclusive_bytes"]) == ("main", 1000)
        assert dev["overlaps"] == [{"with": "main", "files": 1, "bytes": 1000}]


def test_a_table_that_is_not_there_is_told(console: CommandLine, bench: ExpiryBench) -> None:
    assert console("storage", "db.nope").code == 3


def test_a_branch_that_cannot_be_read_is_named_beside_the_figures(
    console: CommandLine, bench: ExpiryBench
) -> None:
    Path(bench.table("dev").paths.snapshot(2)).write_text("{")
    answer = console("storage", "db.t")
    assert answer.code == 0
    assert answer.lines[1].startswith("main       branch      2")
    assert not any(line.startswith("dev") for line in answer.lines)
    said = "Branch 'dev' cannot be read: its bytes are not counted"
    assert said in " ".join(answer.err.split())
    document = console.json("storage", "db.t")
    (unread,) = document["unread"]
    assert unread["owner"] == {"kind": "branch", "name": "dev"}
    assert unread["error"]["code"]
    assert not unread["is_counted"]
    asked = console.json("sql", "SHOW STORAGE ON TABLE db.t")
    assert [each["head_bytes"] for each in asked["rows"]] == [2000, None]
    assert any(note.startswith(said) for note in asked["notes"])
