"""The journals of expiry: which names leave which branch, and whose files go."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.errors import FormatError
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    counted,
    derived,
    needed,
    since,
    some_texts,
    texts,
    values,
)
from branch_console.format.journals.terms import PLAN_ID, REASON, UNDOES, OperationJournal
from branch_console.format.json_text import JsonObject

MAINTENANCE_CLAIM: Final = "$maintenance"
"""The name that a release or undo of expiries claims, so that a table has one of them at a time.

No branch can have this name.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredSnapshot:
    """A snapshot whose name leaves its branch.

    Attributes:
        delta_manifest_list: Tells it from another one that took its number.
    """

    id: int
    delta_manifest_list: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRetirement:
    """The snapshots that leave one branch, rising.

    Attributes:
        successor: The snapshot behind them, which the branch begins with from then on.
        keeps_changelogs: Whether each becomes a changelog that outlives it.
    """

    branch: str
    snapshots: tuple[RetiredSnapshot, ...]
    successor: RetiredSnapshot
    keeps_changelogs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireJournal(OperationJournal):
    """An expiry.

    Attributes:
        retirements: The names removed from each branch.
        releases: Earlier expiries whose grace is over, and whose files go now.
        grace_millis: How long its own names are kept for undo; 0 lets their files go at once.
    """

    retirements: tuple[BranchRetirement, ...] = ()
    releases: tuple[str, ...] = ()
    grace_millis: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningJournal(OperationJournal):
    """A cleaning of orphan files.

    Attributes:
        older_than_millis: Only files that were written before this time are orphans.
        releases: Earlier cleanings whose grace is over, and whose files go now.
        grace_millis: How long undo keeps what it notes; 0 lets it go at once.
        empties: Earlier cleanings whose files go from the trash for good.
        trash_keep_millis: How long what goes waits in the trash; 0 removes it at once.
    """

    older_than_millis: int
    releases: tuple[str, ...] = ()
    grace_millis: int = 0
    empties: tuple[str, ...] = ()
    trash_keep_millis: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanJournal(OperationJournal):
    """A cleaning that is taken back: what it noted stays.

    Attributes:
        cleaning: The operation that noted it.
    """

    cleaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexpireJournal(OperationJournal):
    """An expiry that is taken back: its names return.

    Attributes:
        expiry: The operation that has them.
        branches: Each branch that it took names from, and what that branch is called now.
    """

    expiry: str = ""
    branches: tuple[tuple[str, str], ...] = ()


def _retirements(raw: JsonObject, key: str) -> tuple[BranchRetirement, ...]:
    return tuple(
        BranchRetirement(
            branch=each.get("branch", str),
            snapshots=(snapshots := _snapshots(each)),
            successor=RetiredSnapshot(
                id=each.find("successorId", int) or snapshots[-1].id + 1,
                delta_manifest_list=each.get("successor", str),
            ),
            keeps_changelogs=each.find("keepsChangelogs", bool) or False,
        )
        for each in raw.objects(key)
    )


def _snapshots(raw: JsonObject) -> tuple[RetiredSnapshot, ...]:
    first, names = raw.get("firstId", int), raw.texts("deltaManifestLists")
    if not all(names) or not names:
        raise FormatError(f"The {raw.what} has a branch without manifest lists of its snapshots.")
    ids = raw.find("ids", list)
    if ids is None:
        ids = list(range(first, first + len(names)))
    if len(ids) != len(names) or not all(type(each) is int for each in ids):
        raise FormatError(f"The {raw.what} has 'ids' that are not one number a snapshot.")
    return tuple(
        RetiredSnapshot(id=number, delta_manifest_list=name)
        for number, name in zip(ids, names, strict=True)
    )


def _objects(retirements: Iterable[BranchRetirement]) -> list[dict[str, object]]:
    return [
        {
            "branch": each.branch,
            "firstId": each.snapshots[0].id,
            "deltaManifestLists": [snapshot.delta_manifest_list for snapshot in each.snapshots],
            "successor": each.successor.delta_manifest_list,
            "keepsChangelogs": each.keeps_changelogs,
            **_gaps(each),
        }
        for each in retirements
    ]


def _gaps(retirement: BranchRetirement) -> dict[str, object]:
    """The ids where they do not follow each other: below a hint EARLIEST may be a gap."""
    ids = [each.id for each in retirement.snapshots]
    found: dict[str, object] = {}
    if ids[-1] - ids[0] != len(ids) - 1:
        found["ids"] = ids
    if retirement.successor.id != ids[-1] + 1:
        found["successorId"] = retirement.successor.id
    return found


EXPIRE_JOURNAL: Final = Codec(
    what="journal of an expiry",
    reads={
        1: Layout(
            ExpireJournal,
            PLAN_ID,
            REASON,
            derived("claims", lambda _: MAINTENANCE_CLAIM),
            values("retirements", _retirements, _objects),
            texts("releases"),
            since("graceMillis", int, default=0),
        )
    },
)
CLEANING: Final = "remove_orphan_files"
"""The procedure whose journals are those of cleanings."""
CLEANING_JOURNAL: Final = Codec(
    what="journal of a cleaning of orphan files",
    reads={
        1: Layout(
            CleaningJournal,
            PLAN_ID,
            REASON,
            derived("claims", lambda _: MAINTENANCE_CLAIM),
            needed("olderThanMillis", int),
            texts("releases"),
            since("graceMillis", int, default=0),
            some_texts("empties"),
            counted("trashKeepMillis"),
        )
    },
)
UNCLEAN: Final = (
    derived("claims", lambda _: MAINTENANCE_CLAIM),
    needed("cleaning", str),
    PLAN_ID,
    REASON,
    UNDOES,
)
UNEXPIRE: Final = (
    derived("claims", lambda _: MAINTENANCE_CLAIM),
    needed("expiry", str),
    values(
        "branches",
        lambda raw, key: tuple(
            (each.get("then", str), each.get("now", str)) for each in raw.objects(key)
        ),
        lambda pairs: [{"then": then, "now": now} for then, now in pairs],
    ),
    PLAN_ID,
    REASON,
    UNDOES,
)
