"""The end of a log, by words."""

from branch_console_app.models.parts.log_text import tail_of

TEXT = "INFO one\nWARNING two\nINFO three two\n"


def test_the_last_lines_come_oldest_first() -> None:
    assert tail_of(TEXT, most=2) == ["WARNING two", "INFO three two"]


def test_all_words_must_be_in_a_line() -> None:
    assert tail_of(TEXT, "TWO info") == ["INFO three two"]
    assert tail_of(TEXT, "nothing") == []


def test_a_filter_comes_before_the_cut() -> None:
    assert tail_of(TEXT, "one", most=1) == ["INFO one"]
