"""The search: which names words find, in which order, and how many of each kind."""

from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.search import Hit, HitKind, find_hits

PLACE = Location(database="air", table="flights")


def hit(kind: HitKind, name: str, context: str = "") -> Hit:
    return Hit(kind=kind, name=name, page="branches", place=PLACE, context=context)


def names(words: str, *known: Hit) -> dict[HitKind, list[str]]:
    return {group.kind: [each.name for each in group.hits] for group in find_hits(words, known)}


def test_nothing_is_found_without_words() -> None:
    assert find_hits("  ", [hit(HitKind.TABLE, "air.flights")]) == ()


def test_each_word_has_to_stand_in_the_name_or_in_what_it_belongs_to() -> None:
    known = (
        hit(HitKind.BRANCH, "fix-delays", "air.flights"),
        hit(HitKind.BRANCH, "fix-wind", "air.weather"),
    )
    assert names("FIX flights", *known) == {HitKind.BRANCH: ["fix-delays"]}
    assert names("fix rail", *known) == {}


def test_the_whole_name_comes_first_then_those_that_begin_so() -> None:
    known = [hit(HitKind.TABLE, name) for name in ("a.old_t", "t.x", "a.t2", "a.t")]
    assert names("t", *known) == {HitKind.TABLE: ["a.t", "t.x", "a.old_t", "a.t2"]}


def test_kinds_stand_in_their_order_with_eight_hits_and_the_number_of_all() -> None:
    known = [hit(HitKind.TAG, f"v{number}") for number in range(41)]
    tags, pages = find_hits("v", [hit(HitKind.PAGE, "Overview"), *known])
    assert (tags.kind, len(tags.hits), tags.total) == (HitKind.TAG, 8, 41)
    assert (pages.kind, pages.total) == (HitKind.PAGE, 1)
