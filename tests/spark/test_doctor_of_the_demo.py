"""The doctor on the demo: what is sound there, and the branch that is broken on purpose."""

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

pytestmark = pytest.mark.depth("full")


def test_the_demo_is_sound_but_for_what_is_broken_on_purpose(
    demo_warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console = CommandLine(demo_warehouse, capsys)
    answer = console("doctor", "--deep", "--json")
    tables = {each["table"]: each for each in answer.document["tables"]}
    broken = {name for name, each in tables.items() if each["unchecked"]}
    assert broken
    # A branch whose newest snapshot cannot be read is not checked, so that nothing is called sound.
    assert answer.code == 3
    for name, told in tables.items():
        for finding in told["findings"]:
            assert finding["evidence"]
            assert finding["remedies"], finding
        if name not in broken:
            assert console("doctor", name, "--deep").code == 0
