"""`branch-console policy`: set, show, report and apply; `doctor` asks for a worker of schedules."""

import time
from pathlib import Path

import pytest

from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import WorkerView
from branch_console.procedures.run.kept_policies import keep_policy
from branch_console_app.services import Services
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine

POLICY = """\
version: 1
rules:
  - { branches: "tmp-*", stale_after: 3 d, drop_after: 7 d }
maintenance: { lifecycle: "0 4 * * *", doctor: "15 * * * *", zone: Europe/Berlin }
"""


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.branch("tmp-1")
    bench.append("b", branch="tmp-1")
    return bench


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file with the policy."""
    path = tmp_path / "maintenance.yaml"
    path.write_text(POLICY, encoding="utf-8")
    return str(path)


def test_a_policy_is_set_for_a_table_or_for_the_warehouse(
    console: CommandLine, bench: BranchBench, file: str
) -> None:
    assert console("policy", "show").error == (
        "error FILE_NOT_FOUND: There is no maintenance policy. Set one: branch-console policy set "
        "FILE."
    )
    done = console.json("policy", "set", file)
    assert done["message"] == "The maintenance policy of the warehouse is version 1."
    own = Path(file).with_name("own.yaml")
    own.write_text("version: 1\n", encoding="utf-8")
    done = console.json("policy", "set", str(own), "--table", "db.t")
    assert done["message"] == "The maintenance policy of db.t is version 1."
    assert console("policy", "show").out == POLICY
    assert console.json("policy", "show", "db.t") == {
        "policy_of": "db.t", "version": 1, "policy": "version: 1\n",
    }  # fmt: skip


def test_a_policy_that_cannot_be_read_is_told_before_a_job_begins(
    console: CommandLine, bench: BranchBench, file: str
) -> None:
    Path(file).write_text("version: 1\nrules:\n  - { branches: x, drop_after: soon }\n")
    answer = console("policy", "set", file)
    assert answer.code == 2
    assert answer.error == (
        "error INVALID_ARGUMENT: Line 3: rules[1].drop_after is 'soon'; it should be a time span, "
        "such as 30 d or 12 h."
    )
    assert console.json("jobs", "list")["jobs"] == []


def test_a_report_tells_each_branch_and_what_runs_next(
    console: CommandLine, bench: BranchBench, file: str
) -> None:
    console("policy", "set", file)
    document = console.json("policy", "report", "db.t")
    assert {name: document[name] for name in ("table", "policy_of", "version", "is_dry_run")} == {
        "table": "db.t", "policy_of": None, "version": 1, "is_dry_run": True,
    }  # fmt: skip
    (branch,) = document["branches"]
    due = branch.pop("due_millis")
    assert due / 86_400_000 == pytest.approx(time.time() / 86_400 + 3, abs=0.1)
    assert branch == {
        "branch": "tmp-1",
        "rule": "tmp-* (line 3)",
        "age_days": 0,
        "ahead": 1,
        "step": "warn",
        "is_due": False,
        "reason": "Nobody has committed to it.",
        # One of its two files; the other one is that of main, too.
        "exclusive_bytes": 1000,
    }
    tasks = [(each["task"], each["zone"], each["how"]) for each in document["schedules"]]
    assert tasks == [
        ("doctor", "Europe/Berlin", ""),
        ("lifecycle", "Europe/Berlin", "dry run"),
    ]
    text = console("policy", "report", "db.t").out
    assert "Nobody has committed to it." in text
    assert "0 4 * * *" in text
    applied = console.json("policy", "apply", "db.t", "--dry-run")
    assert applied["message"].startswith("Branch 'tmp-1' (rule tmp-* (line 3)), 0 days old: warn")
    assert applied["message"].endswith("1,000 bytes are needed by it alone.")
    assert "1,000 B" in text


def test_a_report_knows_no_bytes_of_what_stays_or_may_be_needed_by_what_is_broken(
    console: CommandLine, bench: BranchBench, file: str
) -> None:
    console("policy", "set", file)
    bench.branch("audit")
    bench.branch("tmp-2")
    bytes_of = {
        each["branch"]: each["exclusive_bytes"]
        for each in console.json("policy", "report", "db.t")["branches"]
    }
    assert bytes_of == {"audit": None, "tmp-1": 1000, "tmp-2": 0}
    Path(bench.table("tmp-2").paths.schema(0)).write_text("broken")
    broken = console.json("policy", "report", "db.t")["branches"]
    assert {each["exclusive_bytes"] for each in broken} == {None}


def a_worker(other_store: str | None) -> WorkerView:
    return WorkerView(
        id="w",
        process_id=1,
        host="here",
        started_millis=1,
        heartbeat_millis=2,
        is_alive=True,
        spark="cold",
        job=None,
        other_store=other_store,
    )


def test_the_doctor_asks_for_a_worker_where_something_runs_by_itself(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert console("doctor").code == 0
    keep_policy(bench.warehouse(), None, POLICY)
    own = 'version: 1\nmaintenance: { expire: "0 * * * *" }\n'
    keep_policy(bench.warehouse(), Identifier.parse("db.t"), own)
    answer = console("doctor")
    assert answer.code == 1
    assert "F33 warning  main: 3 schedules of maintenance policies have no worker." in answer.out
    (finding,) = console("doctor", "--json").document["catalog"]["findings"]
    assert finding["evidence"] == ["doctor", "lifecycle", "expire of db.t"]
    # A table alone is not asked what runs by itself.
    assert console("doctor", "db.t").code == 0
    for other_store, code in (("another", 1), (None, 0)):
        monkeypatch.setattr(Services, "worker", lambda _, other=other_store: a_worker(other))
        assert console("doctor").code == code


def test_a_policy_that_was_broken_leaves_the_rest_of_the_doctor_at_work(
    console: CommandLine, bench: BranchBench
) -> None:
    keep_policy(bench.warehouse(), None, POLICY)
    (path,) = Path(bench.file_io.root, ".branch-console", "maintenance", "warehouse").iterdir()
    path.write_text("version: 9\n")
    answer = console("doctor")
    assert answer.code == 3
    assert "The maintenance policy of the warehouse cannot be read: Line 1: version" in answer.err
