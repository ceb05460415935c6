"""The words under Help: those of the document, each with one meaning."""

from pathlib import Path

from branch_console_app.models.parts.glossary import Word, find_words, parse_words

DOCUMENT = Path(__file__).parents[3] / "assets/docs/words.md"


def test_every_word_of_the_document_is_read_once() -> None:
    words = parse_words(DOCUMENT.read_text(encoding="utf-8"))
    names = [word.name for word in words]
    assert len(set(names)) == len(names) > 25
    assert {"merge base", "source, target", "dropped change", "publish"} <= set(names)
    assert all(word.meaning for word in words)


def test_a_word_of_that_name_comes_before_a_meaning_that_speaks_of_it() -> None:
    words = (Word(name="head", meaning="of a branch"), Word(name="branch", meaning="a line"))
    assert [word.name for word in find_words("Branch", words)] == ["branch", "head"]
    assert find_words("zebra", words) == ()
