"""A shelf of answers: those that were used last stay."""

from branch_console.storage.shelf import Shelf


def test_the_oldest_answer_goes_where_there_are_too_many() -> None:
    shelf: Shelf[str, int] = Shelf(2)
    for number, key in enumerate("abc"):
        shelf.put(key, number)
    assert [shelf.find(key) for key in "abc"] == [None, 1, 2]


def test_an_answer_that_is_put_again_takes_no_place_of_another() -> None:
    shelf: Shelf[str, int] = Shelf(2)
    for key, number in (("a", 1), ("b", 2), ("a", 3)):
        shelf.put(key, number)
    assert [shelf.find(key) for key in "ab"] == [3, 2]


def test_an_answer_that_is_asked_for_stays_longer() -> None:
    shelf: Shelf[str, int] = Shelf(2)
    shelf.put("a", 0)
    shelf.put("b", 1)
    assert shelf.find("a") == 0
    shelf.put("c", 2)
    assert [shelf.find(key) for key in "abc"] == [0, None, 2]
