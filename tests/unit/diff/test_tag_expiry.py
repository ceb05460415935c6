"""Which tags expire, and which ones a branch gets by itself."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from branch_console.diff.expiry.automatic_tags import (
    TagCreation,
    TagFormat,
    TagPeriod,
    TagRule,
    plan_automatic_tags,
    tag_rule,
)
from branch_console.diff.expiry.tags import AgedTag, expired_tags
from branch_console.errors import InvalidInput
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.tag import Tag

NOON = datetime(2026, 7, 18, 12)
DAILY = TagRule(creation=TagCreation.PROCESS_TIME, zone=UTC)


def snapshot(number: int, time: datetime, watermark: datetime | None = None) -> Snapshot:
    return Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list=f"base-{number}",
        delta_manifest_list=f"delta-{number}",
        commit_user="ann",
        commit_identifier=number,
        commit_kind=CommitKind.APPEND,
        time_millis=millis(time),
        watermark=None if watermark is None else millis(watermark),
    )


def millis(time: datetime) -> int:
    return int(time.replace(tzinfo=UTC).timestamp() * 1000)


def tag(name: str, number: int = 1, **given: object) -> Tag:
    return Tag(name=name, snapshot=snapshot(number, NOON), **given)  # type: ignore[arg-type]


AGED = (
    AgedTag(tag=tag("for good"), written=NOON),
    AgedTag(
        tag=tag("a day", create_time=NOON, time_retained_seconds=86_400.0),
        written=NOON - timedelta(days=9),
    ),
    AgedTag(
        tag=tag("a week", create_time=NOON, time_retained_seconds=604_800.0),
        written=NOON - timedelta(days=9),
    ),
    AgedTag(tag=tag("half", time_retained_seconds=60.0), written=NOON + timedelta(days=1)),
)


@pytest.mark.parametrize(
    ("hours", "older_than", "expected"),
    [
        (24, None, ()),
        (25, None, ("a day",)),
        (169, None, ("a day", "a week")),
        (1, NOON, ()),
        (1, NOON + timedelta(seconds=1), ("for good", "a day", "a week")),
        (25, NOON + timedelta(days=2), ("for good", "a day", "a week", "half")),
    ],
)
def test_tags_expire_by_their_time_or_by_the_time_they_were_made(
    hours: int, older_than: datetime | None, expected: tuple[str, ...]
) -> None:
    found = expired_tags(AGED, NOON + timedelta(hours=hours), older_than)
    assert tuple(each.name for each in found) == expected


@pytest.mark.parametrize(
    ("rule", "name", "other"),
    [
        (DAILY, "2026-07-18", "20260718"),
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC, format=TagFormat.WITHOUT_DASHES),
         "20260718", "2026-07-18"),
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC, period=TagPeriod.HOURLY),
         "2026-07-18 12", "2026-07-18"),
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC, period=TagPeriod.HOURLY,
                 format=TagFormat.WITHOUT_DASHES), "20260718 12", "2026071812"),
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC, period=TagPeriod.HOURLY,
                 format=TagFormat.WITHOUT_DASHES_AND_SPACES), "2026071812", "20260718 12"),
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC, period=TagPeriod.TWO_HOURS,
                 format=TagFormat.WITHOUT_DASHES), "2026-07-18 12", "20260718 12"),
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC, every=timedelta(minutes=30)),
         "202607181200", "2026-07-18"),
    ],
)  # fmt: skip
def test_a_name_tells_when_its_period_began(rule: TagRule, name: str, other: str) -> None:
    assert rule.name_of(NOON) == name
    begun = NOON if "12" in name else NOON.replace(hour=0)
    assert rule.time_of(name) == begun
    assert rule.time_of(other) is None
    assert rule.time_of("v1") is None
    assert rule.time_of(name.replace("07", "13")) is None


def test_the_name_of_a_day_may_go_on_behind_a_space() -> None:
    assert DAILY.time_of("2026-07-18 08") == NOON.replace(hour=0)


def days(*hours: int) -> list[Snapshot]:
    """Snapshots so many hours after noon."""
    return [
        snapshot(number, NOON + timedelta(hours=each)) for number, each in enumerate(hours, start=1)
    ]


@pytest.mark.parametrize(
    ("rule", "snapshots", "tags", "made"),
    [
        # The first snapshot names the day before it; the next ones a day that is over.
        (DAILY, days(0, 1, 13, 14, 37), {}, {"2026-07-17": 1, "2026-07-18": 3, "2026-07-19": 5}),
        (DAILY, days(0, 1), {"2026-07-17": 1}, {}),
        (DAILY, days(0, 13), {"2026-07-17": 1, "v1": 2}, {"2026-07-18": 2}),
        # A period without a snapshot has no tag, unless gaps are filled.
        (DAILY, days(0, 61), {}, {"2026-07-17": 1, "2026-07-20": 2}),
        (
            TagRule(creation=TagCreation.PROCESS_TIME, zone=UTC, fills_gaps=True),
            days(0, 61, 62, 63),
            {},
            {"2026-07-17": 1, "2026-07-18": 2, "2026-07-19": 3, "2026-07-20": 4},
        ),
        (
            TagRule(creation=TagCreation.PROCESS_TIME, zone=UTC, delay=timedelta(hours=2)),
            days(0, 13, 14),
            {},
            {"2026-07-17": 1, "2026-07-18": 3},
        ),
        (TagRule(creation=TagCreation.NONE, zone=UTC), days(0, 30), {}, {}),
        (TagRule(creation=TagCreation.BATCH, zone=UTC), days(0, 30), {}, {}),
        # No snapshot has a watermark.
        (TagRule(creation=TagCreation.WATERMARK, zone=UTC), days(0, 30), {}, {}),
    ],
)
def test_a_branch_gets_a_tag_a_period(
    rule: TagRule, snapshots: Sequence[Snapshot], tags: Mapping[str, int], made: Mapping[str, int]
) -> None:
    known = [Tag(name=name, snapshot=snapshots[number - 1]) for name, number in tags.items()]
    found = plan_automatic_tags(rule, snapshots, known)
    assert {name: each.id for name, each in found.made.items()} == made
    assert found.surplus == ()


def test_a_watermark_tells_the_time_in_its_zone() -> None:
    rule = tag_rule(
        Options(
            {
                "tag.automatic-creation": "watermark",
                "tag.creation-period": "hourly",
                "sink.watermark-time-zone": "GMT+02:00",
            }
        )
    )
    snapshots = [snapshot(1, NOON), snapshot(2, NOON, watermark=NOON)]
    assert list(plan_automatic_tags(rule, snapshots, ()).made) == ["2026-07-18 13"]


def test_only_as_many_stay_as_the_rule_keeps_once_one_more_is_made() -> None:
    rule = TagRule(creation=TagCreation.PROCESS_TIME, zone=UTC, keeps=2)
    snapshots = days(0, 13, 37, 61)
    known = [
        Tag(name="2026-07-16", snapshot=snapshots[0]),
        Tag(name="2026-07-17", snapshot=snapshots[1]),
        Tag(name="mine", snapshot=snapshots[0]),
    ]
    found = plan_automatic_tags(rule, snapshots, known)
    assert {name: each.id for name, each in found.made.items()} == {
        "2026-07-19": 3, "2026-07-20": 4,
    }  # fmt: skip
    assert found.surplus == ("2026-07-16", "2026-07-17")
    assert plan_automatic_tags(rule, snapshots[:2], known).surplus == ()


@pytest.mark.parametrize(
    "options",
    [
        {"tag.automatic-creation": "sometimes"},
        {"tag.creation-period": "weekly"},
        {"tag.creation-delay": "1 d"},
        {"sink.process-time-zone": "Nowhere/Land"},
    ],
)
def test_an_option_that_is_none_is_refused(options: Mapping[str, str]) -> None:
    with pytest.raises(InvalidInput, match="No tag was made"):
        tag_rule(Options(options))
