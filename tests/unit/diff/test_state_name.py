"""Names of states: what people write, and what addresses keep."""

import pytest

from branch_console.diff.state_name import StateName, parse_state_name
from branch_console.errors import InvalidInput

BRANCHES = ("main", "dev", "odd@7")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dev", StateName(branch="dev")),
        ("dev@7", StateName(branch="dev", snapshot_id=7)),
        ("dev@7:1a2b3c-0", StateName(branch="dev", snapshot_id=7, identity="1a2b3c-0")),
        ("tag:v1", StateName(branch="main", tag="v1")),
        ("dev@tag:v@1", StateName(branch="dev", tag="v@1")),
        ("odd@7", StateName(branch="odd@7")),
        ("odd@7@8", StateName(branch="odd@7", snapshot_id=8)),
        ("dev@1970-01-02T00:00+00:00", StateName(branch="dev", time_millis=86_400_000)),
        ("gone", StateName(branch="gone")),
    ],
)
def test_what_is_written_names_a_state_and_is_written_back(text: str, expected: StateName) -> None:
    found = parse_state_name(text, BRANCHES, "main")
    assert found == expected
    assert parse_state_name(str(found), BRANCHES, "main") == found


@pytest.mark.parametrize("text", ["@7", "dev@", "dev@soon", "dev@7:", "dev@٣", "@tag:v", "a@b@c"])
def test_other_text_names_nothing(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_state_name(text, BRANCHES, "main")
