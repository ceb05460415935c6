"""Whether branches may hold files in common: every kind of holder, and what hides a pin."""

from dataclasses import replace

import pytest

from branch_console.diff.file_safety import (
    FileSafety,
    Holder,
    PinPlace,
    decide,
    hiding_tags,
)
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from tests.support.table_files import a_snapshot


def snapshot(number: int, history: str = "main") -> Snapshot:
    lists = {
        "base_manifest_list": f"base-{history}-{number}",
        "delta_manifest_list": f"delta-{history}-{number}",
    }
    return replace(a_snapshot(number), uuid=None, **lists)


def tag(name: str, of: Snapshot) -> Tag:
    return Tag(name=name, snapshot=of)


NEXT = PinPlace(snapshot_id=4, snapshot=None)
PINNED = PinPlace(snapshot_id=3, snapshot=snapshot(3), is_pinned=True)
HIDDEN = PinPlace(snapshot_id=4, snapshot=None, hidden_by=("foreign",))
MAIN = Holder(branch="main", is_fenced=False, pins=(NEXT,))
DEV = Holder(branch="dev", is_fenced=False)
FENCED = Holder(branch="dev", is_fenced=True)
IGNORED = Holder(branch="dev", is_fenced=False, obstacles=("consumer.expiration-time",))


@pytest.mark.parametrize(
    ("holders", "shares", "fences", "pins"),
    [
        ((), True, (), ()),
        ((FENCED,), True, (), ()),
        ((DEV,), True, ("dev",), ()),
        # What is fenced already spares no other branch its fence or its pin.
        ((FENCED, replace(DEV, branch="test")), True, ("test",), ()),
        ((FENCED, MAIN), True, (), (NEXT,)),
        ((FENCED, replace(IGNORED, branch="test")), False, (), ()),
        ((MAIN, FENCED), True, (), (NEXT,)),
        ((MAIN, DEV), True, ("dev",), (NEXT,)),
        ((replace(MAIN, is_fenced=True), FENCED), True, (), ()),
        ((replace(MAIN, pins=(PINNED,)), FENCED), True, (), ()),
        ((replace(MAIN, pins=(PINNED, NEXT)), FENCED), True, (), (NEXT,)),
        ((replace(MAIN, pins=()), FENCED), True, (), ()),
        # Options of main are nothing to a pin.
        ((replace(IGNORED, branch="main", pins=(NEXT,)),), True, (), (NEXT,)),
        ((MAIN, IGNORED), False, (), ()),
        ((replace(MAIN, pins=(HIDDEN,)), FENCED), False, (), ()),
        ((replace(MAIN, pins=(HIDDEN,), is_fenced=True), FENCED), True, (), ()),
    ],
)
def test_the_answer_for_each_kind_of_holder(
    holders: tuple[Holder, ...],
    shares: bool,
    fences: tuple[str, ...],
    pins: tuple[PinPlace, ...],
) -> None:
    found = decide(holders)
    assert (found.shares, found.fences, found.pins) == (shares, fences, pins)
    assert bool(found.reasons) is not shares
    if shares:
        assert decide(holders, can_copy=False) == found


def test_main_is_fenced_if_no_pin_holds_and_files_cannot_be_copied() -> None:
    main = replace(MAIN, pins=(HIDDEN,))
    found = decide((main, DEV), can_copy=False)
    assert found == FileSafety(fences=("main", "dev"))
    ignored = replace(main, obstacles=("consumer.changelog-only",))
    assert not decide((ignored, DEV), can_copy=False).shares
    assert not decide((IGNORED,), can_copy=False).shares


def test_reasons_name_the_option_and_the_tag() -> None:
    two = replace(IGNORED, obstacles=("consumer.changelog-only", "consumer.expiration-time"))
    texts = [decide((each,)).reasons[0] for each in (IGNORED, two, replace(MAIN, pins=(HIDDEN,)))]
    assert texts[0].startswith("Option 'consumer.expiration-time' of 'dev' lets other engines")
    assert "'consumer.changelog-only' and 'consumer.expiration-time' of 'dev' let other" in texts[1]
    assert texts[2].startswith("Tag 'foreign' of main names snapshots that are not of main's")
    # Whoever reads the steps of a copy finds none.
    assert decide((DEV, IGNORED)) == FileSafety(reasons=(texts[0],))
    many = (replace(HIDDEN, hidden_by=tuple("hgfe")), replace(HIDDEN, hidden_by=tuple("dacbe")))
    (text,) = decide((replace(MAIN, pins=many),)).reasons
    names = ", ".join(repr(each) for each in "abcdefgh")
    assert text.startswith(f"Tags {names} of main name snapshots")


@pytest.mark.parametrize(
    ("at", "hides"),
    [
        # Expiry goes by ids, so only what has the pin's id or a higher one takes its place.
        (snapshot(2, "dev"), False),
        (snapshot(3, "dev"), True),
        (snapshot(9, "dev"), True),
        # Tags of main's own history hold what the pin holds, or come after it was removed.
        (snapshot(3), False),
        (snapshot(4), False),
        # Nothing tells whose a tag is whose snapshot main does not list.
        (snapshot(5), True),
    ],
)
def test_a_tag_of_another_history_hides_a_pin_by_its_id(at: Snapshot, hides: bool) -> None:
    own = [snapshot(1), snapshot(2), snapshot(4)]
    found = hiding_tags(3, snapshot(3).identity, [tag("other", at)], own)
    assert found == (("other",) if hides else ())


def test_a_tag_with_the_id_of_a_snapshot_that_is_not_made_yet_hides_its_pin() -> None:
    assert hiding_tags(4, None, [tag("other", snapshot(4))], ()) == ("other",)
    assert hiding_tags(4, None, [tag("older", snapshot(3))], ()) == ()
    # Others were faster to make it: what is listed under the number tells.
    assert hiding_tags(4, None, [tag("mine", snapshot(4))], [snapshot(4)]) == ()
