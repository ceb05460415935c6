from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import ErrorKind, NotAllowed, Refused
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role
from tests.support.branch_bench import NOW, BranchBench
from tests.support.lifecycle import metadata, preview, run

_ICEBERG = {"metadata.iceberg.storage": "table-location"}
_VERBS: dict[str, tuple[str, dict[str, Argument]]] = {
    "fast-forward": ("fast_forward", {"branch": "dev"}),
    "merge": ("merge_branch", {"branch": "dev"}),
    "pick": ("cherry_pick", {"branch": "dev", "snapshot": 3}),
    "revert": ("revert", {"snapshot": 2}),
    "roll back": ("rollback", {"snapshot": 1}),
    "cut back": ("rollback", {"snapshot": 1, "cut": True}),
    "replace main": ("replace_main", {"branch": "dev"}),
    "tag": ("create_tag", {"tag": "new"}),
    "delete a tag": ("delete_tag", {"tag": "old"}),
    "undo": ("undo", {"operation": "back"}),
}


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table that Iceberg readers see, and a branch ahead of main."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.append("b")
    bench.tag("old")
    run(bench, "create_tag", "back", tag="later")
    change_schema(bench.table(), bench.store, [set_options(_ICEBERG)], now_millis=NOW)
    bench.branch("dev")
    bench.append("c", branch="dev")
    return bench


@pytest.mark.parametrize("verb", _VERBS)
def test_a_verb_that_would_leave_iceberg_behind_is_refused_by_the_option(
    bench: BranchBench, verb: str
) -> None:
    name, arguments = _VERBS[verb]
    before = metadata(bench)
    with pytest.raises(Refused, match=r"metadata\.iceberg\.storage") as refused:
        run(bench, name, **arguments)
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    assert "The Iceberg table would be out of date." in refused.value.message
    assert metadata(bench) == before


@pytest.mark.parametrize("verb", _VERBS)
def test_an_operator_goes_on_and_the_receipt_keeps_the_reason(
    bench: BranchBench, verb: str
) -> None:
    name, arguments = _VERBS[verb]
    given: dict[str, Any] = {**arguments, "without_callbacks": "nobody reads it"}
    found = preview(bench, name, **given)
    assert found.role is Role.OPERATOR
    assert any("is out of date until Paimon" in each.text for each in found.consequences)
    with pytest.raises(NotAllowed):
        run(bench, name, "editor", role="editor", **given)
    receipt = run(bench, name, **given)
    noted = "Without what 'metadata.iceberg.storage' asks for: nobody reads it"
    assert noted in receipt.notes


def test_a_branch_is_written_as_iceberg_tells_of_main_alone(bench: BranchBench) -> None:
    bench.append("d", branch="dev")
    receipt = run(bench, "rollback", table="db.t$branch_dev", snapshot=3)
    assert not any("Without what" in each for each in receipt.notes)


def test_rows_of_main_are_not_written(bench: BranchBench) -> None:
    with pytest.raises(NotAllowed, match=r"writes Iceberg metadata after each commit"):
        bench.append("d")
