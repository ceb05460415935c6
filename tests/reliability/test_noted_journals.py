"""Nothing of what a procedure notes is lost on its way to the file: it reads back equal."""

from pathlib import Path
from typing import Any

import pytest

from branch_console.procedures.run import open_operation
from tests.reliability.operations import OPERATIONS, Operation

_TRIED = {"fast-forward", "settle rows", "roll back", "undo drop"}


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(
            each,
            id=each.name,
            marks=() if each.name in _TRIED else pytest.mark.depth("long"),
        )
        for each in OPERATIONS
        if not each.is_bare_commit
    ],
)
def test_what_an_operation_notes_reads_back_equal(
    operation: Operation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, noted = open_operation.Operation.begin, []

    def noting(*given: Any, codec: Any, journal: Any, **named: Any) -> Any:
        begun = begin(*given, codec=codec, journal=journal, **named)
        noted.append((begun.read(codec), journal))
        return begun

    root = tmp_path / "w"
    operation.world(root)
    monkeypatch.setattr(open_operation.Operation, "begin", noting)
    operation.run(root, None)
    assert noted
    for read, journal in noted:
        assert read == journal
