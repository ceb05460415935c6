"""What programs may rely on: the names of `branch_console.api` and their signatures."""

import inspect
import re
from pathlib import Path

import pytest

from branch_console import api
from branch_console.operations.argument import Declared
from tests.support.branch_bench import BranchBench
from tests.support.golden import Golden


def test_the_promised_names_keep_their_signatures(golden: Golden) -> None:
    lines = []
    for name in sorted(api.__all__):
        thing = getattr(api, name)
        if inspect.isfunction(thing) or issubclass(thing, Declared):
            text = f"{name}{inspect.signature(thing)}"
            text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)
            lines.append(re.sub(r"(: |-> )'([^']*)'", r"\1\2", text))
        else:
            lines.append(f"class {name}")
    golden.check("api.txt", "\n".join(lines) + "\n")


def test_a_typed_request_is_the_same_as_one_by_name(tmp_path: Path) -> None:
    typed = api.ask(api.MergeRequest(table="db.t", source="dev", strict=True))
    named = api.request("merge_branch", table="db.t", branch="dev", target="main", strict=True)
    assert (typed.name, typed.arguments) == (named.name, named.arguments)
    bench = BranchBench(tmp_path)
    bench.append("a")
    table = bench.table().identifier.full_name
    asked = api.ask(api.CreateBranchRequest(table=table, branch="dev"))
    assert api.run(api.open_warehouse(str(tmp_path)), asked).moves[0].branch == "dev"


def test_a_program_previews_runs_compares_and_recovers(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    table = bench.table().identifier.full_name
    warehouse = api.open_warehouse(str(tmp_path))
    asked = api.request("create_branch", table=table, branch="dev")
    shown = api.preview(warehouse, asked)
    assert shown.procedure == "create_branch"
    assert [each.name for each in api.branches(warehouse, table)] == ["main"]
    receipt = api.run(warehouse, asked)
    assert api.run(warehouse, asked) == receipt
    assert [each.name for each in api.branches(warehouse, table)] == ["main", "dev"]
    assert api.compare(warehouse, table, "main", "dev").is_empty
    assert api.recover(warehouse).operation_id
    with pytest.raises(api.PaimonError) as error:
        api.request("create_branch", tabel=table)
    assert error.value.kind is api.ErrorKind.INVALID_ARGUMENT
