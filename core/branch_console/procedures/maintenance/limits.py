"""How many snapshots of a branch stay: the arguments of a call over the options of the branch.

Source: Paimon CoreOptions.expireConfig and consumerChangelogOnly, and
ProcedureUtils.fillInSnapshotOptions. Its procedure forgets the options of changelogs and consumers,
which its writers heed; here both are heeded.
"""

from branch_console.diff.expiry.retention import Retention
from branch_console.format.options import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_TIME_RETAINED,
    CONSUMER_CHANGELOG_ONLY,
    SNAPSHOT_EXPIRE_LIMIT,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
    Options,
)
from branch_console.operations.changelog_requests import ExpireChangelogsRequest
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest


def retention_of(asked: ExpireSnapshotsRequest, options: Options, now_millis: int) -> Retention:
    """Return the limits for a branch.

    Args:
        asked: The request.
        options: The options of the branch, with those of the request on top.
        now_millis: The time.

    Raises:
        InvalidInput: A limit contradicts another, or is none.
    """
    most = asked.retain_max or options.read(SNAPSHOT_NUM_RETAINED_MAX)
    least = asked.retain_min or options.read(SNAPSHOT_NUM_RETAINED_MIN)
    older_than = asked.older_than_millis()
    if older_than is None:
        older_than = now_millis - options.read(SNAPSHOT_TIME_RETAINED)
    return Retention(
        retain_max=most,
        retain_min=least,
        older_than_millis=older_than,
        max_deletes=asked.max_deletes or options.read(SNAPSHOT_EXPIRE_LIMIT),
        is_changelog_kept=_outlive(options, most, least, now_millis - older_than),
    )


def changelog_retention_of(
    asked: ExpireChangelogsRequest, options: Options, now_millis: int
) -> Retention:
    """Return the limits for the decoupled changelogs of a branch; raises as `retention_of`."""
    most, least = options.read(CHANGELOG_NUM_RETAINED_MAX), options.read(CHANGELOG_NUM_RETAINED_MIN)
    older_than, age = asked.older_than_millis(), options.read(CHANGELOG_TIME_RETAINED)
    if older_than is None:
        older_than = now_millis - (options.read(SNAPSHOT_TIME_RETAINED) if age is None else age)
    return Retention(
        retain_max=asked.retain_max or most or options.read(SNAPSHOT_NUM_RETAINED_MAX),
        retain_min=asked.retain_min or least or options.read(SNAPSHOT_NUM_RETAINED_MIN),
        older_than_millis=older_than,
        max_deletes=asked.max_deletes or options.read(SNAPSHOT_EXPIRE_LIMIT),
    )


def heeds_consumers(options: Options) -> bool:
    """Whether consumers keep snapshots, and not changelogs alone, which then outlive snapshots."""
    return not options.read(CONSUMER_CHANGELOG_ONLY) or not _outlive(
        options,
        options.read(SNAPSHOT_NUM_RETAINED_MAX),
        options.read(SNAPSHOT_NUM_RETAINED_MIN),
        options.read(SNAPSHOT_TIME_RETAINED),
    )


def _outlive(options: Options, most: int, least: int, age_millis: int) -> bool:
    """Whether changelogs stay longer than snapshots of some limits do."""
    changelog_age = options.read(CHANGELOG_TIME_RETAINED)
    return (
        (options.read(CHANGELOG_NUM_RETAINED_MAX) or most) > most
        or (options.read(CHANGELOG_NUM_RETAINED_MIN) or least) > least
        or (changelog_age is not None and changelog_age > age_millis)
    )
