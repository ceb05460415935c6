"""A shelf of answers: the newest stay."""

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
