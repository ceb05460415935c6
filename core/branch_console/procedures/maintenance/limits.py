"""How many snapshots of a branch stay: the arguments of a call over the options of the branch.

Source: Paimon CoreOptions.expireConfig and ProcedureUtils.fillInSnapshotOptions. Its procedure
forgets the options of changelogs and consumers, which its writers heed; here both are heeded.
"""

from branch_console.diff.expiry.retention import Retention
from branch_console.format.options import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_TIME_RETAINED,
    SNAPSHOT_EXPIRE_LIMIT,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
    Options,
)
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
    changelog_most = options.read(CHANGELOG_NUM_RETAINED_MAX)
    changelog_least = options.read(CHANGELOG_NUM_RETAINED_MIN)
    changelog_time = options.read(CHANGELOG_TIME_RETAINED)
    return Retention(
        retain_max=most,
        retain_min=least,
        older_than_millis=older_than,
        max_deletes=asked.max_deletes or options.read(SNAPSHOT_EXPIRE_LIMIT),
        is_changelog_kept=(changelog_most or most) > most
        or (changelog_least or least) > least
        or (changelog_time is not None and changelog_time > now_millis - older_than),
    )
