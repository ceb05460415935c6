"""Errors say what they say in whole sentences, whoever gave the reason."""

import pickle

import pytest

from branch_console.errors import FormatError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a is broken: no footer.. Restore it.", "a is broken: no footer. Restore it."),
        ("a is broken: no footer..", "a is broken: no footer."),
        ("../a is broken. Look at b/../c.", "../a is broken. Look at b/../c."),
        ("The folder is .. and not a/.. either", "The folder is .. and not a/.. either"),
        ("It waits... for long", "It waits... for long"),
    ],
)
def test_a_reason_that_ends_its_own_sentence_gets_no_second_full_stop(
    given: str, said: str
) -> None:
    error = FormatError(given)
    assert (error.message, str(error)) == (said, said)
    assert pickle.loads(pickle.dumps(error)).message == said
