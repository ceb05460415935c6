"""A maintenance policy is read key by key, and what is wrong in it is told with its line."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from branch_console.diff.lifecycle.cron import Cron
from branch_console.diff.lifecycle.policy import (
    LADDER,
    LifecycleStep,
    MaintenancePolicy,
    ScheduledTask,
)
from branch_console.errors import InvalidInput

DAY = 86_400_000
POLICY = """\
version: 1
defaults: { stale_after: 30 d, archive_after: 60 d, drop_after: 90 d, unmerged: warn }
rules:
  - { branches: "tmp-*", stale_after: 3 d, drop_after: 7 d, unmerged: archive }
  - { branches: "release-*", never: [archive, drop] }
  - { branches: "rescue-*", release_after: 30 d }
maintenance: { expire: "0 */6 * * *", tags: "30 * * * *", doctor: "15 * * * *",
               orphans: "0 3 * * 0", lifecycle: "0 4 * * *", grace: 10 min, dry_run: true }
"""


def days(policy: MaintenancePolicy, branch: str) -> tuple[float | None, ...]:
    """The ages at which a branch is warned about, archived and dropped."""
    ages = policy.rule_for(branch).ages
    return tuple(ages[each] / DAY if each in ages else None for each in LADDER)


def of_rule(text: str, defaults: str = "") -> MaintenancePolicy:
    """A policy with one rule for the branches `x`."""
    return MaintenancePolicy.from_yaml(
        f"version: 1\ndefaults: {{ {defaults} }}\nrules:\n  - {{ branches: x, {text} }}\n"
    )


def test_the_policy_of_the_design_is_read() -> None:
    policy = MaintenancePolicy.from_yaml(POLICY)
    assert days(policy, "dev") == (30, 60, 90)
    assert policy.rule_for("dev").name == "defaults"
    temporary = policy.rule_for("tmp-1")
    assert (temporary.name, temporary.unmerged) == ("tmp-* (line 4)", LifecycleStep.ARCHIVE)
    # A default age gives way to a step after it that the rule has earlier.
    assert days(policy, "tmp-1") == (3, 7, 7)
    assert policy.rule_for("release-1").never == {LifecycleStep.ARCHIVE, LifecycleStep.DROP}
    assert policy.rule_for("rescue-7").ages[LifecycleStep.RELEASE] == 30 * DAY
    assert LifecycleStep.RELEASE not in policy.rule_for("dev").ages
    assert {each: cron.text for each, cron in policy.schedules.items()} == {
        ScheduledTask.EXPIRE: "0 */6 * * *",
        ScheduledTask.TAGS: "30 * * * *",
        ScheduledTask.DOCTOR: "15 * * * *",
        ScheduledTask.ORPHANS: "0 3 * * 0",
        ScheduledTask.LIFECYCLE: "0 4 * * *",
    }
    assert (policy.grace, policy.is_dry_run, policy.zone) == ("10 min", True, "UTC")


@pytest.mark.parametrize(
    ("rule", "defaults", "ages"),
    [
        ("stale_after: 3 d", "", (3, None, None)),
        ("drop_after: 7 d", "", (7, 7, 7)),
        ("stale_after: 3 d, drop_after: 7 d", "", (3, 7, 7)),
        ("stale_after: 100 d", "stale_after: 30 d, archive_after: 60 d", (100, 100, None)),
        ("drop_after: 10 d", "stale_after: 30 d, archive_after: 60 d", (10, 10, 10)),
        ("archive_after: 40 d", "stale_after: 10 d, drop_after: 20 d", (10, 40, 40)),
        ("unmerged: drop", "stale_after: 30 d, drop_after: 90 d", (30, 90, 90)),
        ("stale_after: 12 h", "", (0.5, None, None)),
    ],
)
def test_ages_rise_along_the_ladder(
    rule: str, defaults: str, ages: tuple[float | None, ...]
) -> None:
    assert days(of_rule(rule, defaults), "x") == ages


def test_the_first_rule_that_matches_decides() -> None:
    policy = MaintenancePolicy.from_yaml(
        "version: 1\nrules:\n"
        "  - { branches: 'a-1', stale_after: 1 d }\n"
        "  - { branches: 'a-*', stale_after: 2 d }\n"
        "  - { branches: '*', stale_after: 3 d }\n"
    )
    found = [days(policy, each)[0] for each in ("a-1", "a-2", "b", "A-1")]
    assert found == [1, 2, 3, 3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules: []", "Line 1: the maintenance policy has no 'version'."),
        ("version: 2", "Line 1: version is not 1, the one that is known."),
        ("version: 1\nrule: []", "Line 2: rule is not known; there may be version, defaults, "
         "rules, maintenance."),
        ("version: 1\ndefaults: { never: [drop] }", "Line 2: defaults.never is not known; there "
         "may be stale_after, archive_after, drop_after, unmerged."),
        ("version: 1\nrules:\n  - { stale_after: 3 d }", "Line 3: rules[1] has no 'branches'."),
        ("version: 1\nrules:\n  - { branches: ' ' }", "Line 3: rules[1].branches is blank; it "
         "should be a pattern of names, such as 'tmp-*'."),
        ("version: 1\nrules:\n  - { branches: x, stale_after: 3 }", "Line 3: rules[1].stale_after "
         "is '3'; it should be a time span, such as 30 d or 12 h."),
        ("version: 1\nrules:\n  - { branches: x, stale_after: 0 d }", "Line 3: "
         "rules[1].stale_after is '0 d'; it should be a time span, such as 30 d or 12 h."),
        ("version: 1\nrules:\n  - { branches: x, stale_after: 5 d, drop_after: 4 d }", "Line 3: "
         "rules[1].drop_after is less than the age of a step before it."),
        ("version: 1\nrules:\n  - { branches: x, unmerged: release }", "Line 3: rules[1].unmerged "
         "is 'release'; it may be warn, archive, drop."),
        ("version: 1\nrules:\n  - { branches: x, never: [archive] }", "Line 3: rules[1].never "
         "names archive without drop, which comes only after it; name both."),
        ("version: 1\nmaintenance: { sweep: '0 4 * * *' }", "Line 2: maintenance.sweep is not "
         "known; there may be expire, tags, doctor, orphans, lifecycle, zone, grace, dry_run."),
        ("version: 1\nmaintenance:\n  expire: '61 * * * *'", "Line 3: maintenance.expire is "
         "'61 * * * *': it should be an expression of cron, such as '0 4 * * *'."),
        ("version: 1\nmaintenance:\n  expire: '@daily'", "Line 3: maintenance.expire is '@daily': "
         "it should be an expression of cron, such as '0 4 * * *'."),
        ("version: 1\nmaintenance:\n  expire: '0 0 31 2 *'", "Line 3: maintenance.expire is "
         "'0 0 31 2 *': it names a time that never comes."),
        ("version: 1\nmaintenance:\n  zone: Mars/Base", "Line 3: maintenance.zone is 'Mars/Base'; "
         "it should be a time zone, such as Europe/Berlin."),
        ("version: 1\nmaintenance:\n  zone: ../etc/passwd", "Line 3: maintenance.zone is "
         "'../etc/passwd'; it should be a time zone, such as Europe/Berlin."),
        ("version: 1\nmaintenance:\n  grace: soon", "Line 3: maintenance.grace is 'soon': a number "
         "with a unit is expected; it may be 10 min, or 0 s."),
        ("version: 1\nmaintenance:\n  grace: 10", "Line 3: maintenance.grace is '10', without a "
         "unit; it may be 10 min, or 0 s."),
        ("version: 1\nmaintenance:\n  dry_run: perhaps", "Line 3: maintenance.dry_run should be "
         "true or false."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_line_and_key(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as error:
        MaintenancePolicy.from_yaml(text)
    assert error.value.message == told


def test_an_empty_policy_does_nothing() -> None:
    policy = MaintenancePolicy.from_yaml("")
    assert days(policy, "dev") == (None, None, None)
    assert policy.schedules == {}


@pytest.mark.parametrize(
    ("day", "hours"),
    [
        # In spring the clock jumps over the time, in autumn it passes it twice.
        (datetime(2026, 3, 28, 12, tzinfo=UTC), [13, 36.5]),
        (datetime(2026, 10, 24, 12, tzinfo=UTC), [12.5, 13.5]),
        (datetime(2026, 6, 1, 12, tzinfo=UTC), [12.5, 36.5]),
    ],
)
def test_a_schedule_keeps_the_clock_of_its_zone(day: datetime, hours: list[float]) -> None:
    cron = Cron.parse("30 2 * * *", "Europe/Berlin")
    times = cron.times_after(round(day.timestamp() * 1000))
    found = [datetime.fromtimestamp(next(times) / 1000, UTC) for _ in hours]
    assert found == [day + timedelta(hours=each) for each in hours]


def test_seconds_may_stand_in_front() -> None:
    start = datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")).timestamp() * 1000
    assert Cron.parse("*/5 * * * * *").next_after(round(start)) == start + 5_000
    assert Cron.parse("*/5 * * * *").next_after(round(start)) == start + 300_000
