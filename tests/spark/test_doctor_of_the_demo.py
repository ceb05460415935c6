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
    for told in tables.values():
        for finding in told["findings"]:
            assert finding["evidence"]
            assert finding["remedies"], finding
    sound = {
        name: all(each["severity"] == "info" for each in told["findings"])
        for name, told in tables.items()
        if name not in broken
    }
    # A branch of the airports was made by half.
    assert {name for name, is_sound in sound.items() if not is_sound} == {"air.airports"}
    for name, is_sound in sound.items():
        assert console("doctor", name, "--deep").code == (0 if is_sound else 1)
