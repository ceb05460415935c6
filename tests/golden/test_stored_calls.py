"""Calls as an earlier release stored them with its jobs: a worker reads them, and keeps them.

The file holds a call of each procedure with every argument that it had then. Queues hold such calls
for as long as a job waits, so that no line is ever renewed; what is new gets a line of its own.
"""

import json
from typing import Final

import pytest

from branch_console.operations.agreement import Agreement
from branch_console.operations.declared import REQUESTS
from branch_console.operations.request import Request
from branch_console.procedures.call.call import ProcedureCall
from tests.support.golden import FOLDER

LINES: Final = (FOLDER / "stored_calls.jsonl").read_text(encoding="utf-8").splitlines()


def name_of(line: str) -> str:
    return str(json.loads(line)["name"])


@pytest.mark.parametrize("line", LINES, ids=name_of)
def test_a_stored_call_is_read_and_encodes_to_the_same_bytes(line: str) -> None:
    call = ProcedureCall.from_json(line)
    assert call.to_json() == line
    asked = call.request(Request)
    assert type(asked) is REQUESTS[call.name]
    # What is declared is read as it was said; what no procedure reads any more is passed over.
    assert asked.encode().items() <= call.arguments.items()
    agreed = {name: value for name, value in call.arguments.items() if name in asked.terms}
    assert Agreement.decode(call.name, agreed).encode() == agreed
    left = call.arguments.keys() - asked.encode().keys() - agreed.keys()
    assert left <= {"plan_again", "decisions", "reason"}
