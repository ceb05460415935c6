"""The outcome of one try of a commit, and the facts that the next try needs; decided, not done."""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import TypeAlias

from branch_console.commit.snapshot.live_file_tracker import LiveFileTracker
from branch_console.errors import PaimonError
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_publisher import Published


class SnapshotState(Enum):
    """The state of a snapshot that this commit published, as far as it was checked.

    Attributes:
        NOT_LOOKED: Nobody has checked whether it is there.
        STANDS: It is in the history, or another snapshot builds on it.
        REPLACED: Another writer replaced it by a snapshot of its own.
        WITHDRAWN: Its base was gone, so it was removed again.
    """

    NOT_LOOKED = auto()
    STANDS = auto()
    REPLACED = auto()
    WITHDRAWN = auto()


class Why(StrEnum):
    """Why a commit is tried again."""

    LOST = "another snapshot has its number"
    UNKNOWN = "whether it is there is not known"
    REPLACED = "another writer replaced it"
    BASE_LOST = "what it stood on is gone, so that it was taken back"
    OTHER_REPLACED_OURS = "another writer replaced what an earlier try had published"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tried:
    """All that one try leaves to the next.

    Attributes:
        seen_id: The head before the last try; None if nobody can have made this commit.
        may_have_landed: Whether a snapshot of it was sent that may be there.
        was_sent_here: Whether that was sent from here, not perhaps by a process of before.
        live: The live files as they are known.
        failure: The error of the store in the last try; None without one.
    """

    seen_id: int | None
    may_have_landed: bool
    was_sent_here: bool = False
    live: LiveFileTracker
    failure: PaimonError | None = None

    def after(
        self,
        head: Snapshot | None,
        published: Published,
        failure: PaimonError | None,
        afresh: LiveFileTracker,
    ) -> "Tried":
        """Return what is left to the next try once a snapshot was sent.

        Args:
            head: The head it builds on.
            published: The answer of the store.
            failure: Its error, where it had one.
            afresh: Live files of which nothing is known yet.
        """
        seen_id = 0 if head is None else head.id
        match published:
            case Published.LOST:
                return replace(self, seen_id=seen_id, failure=failure)
            case Published.WON | Published.UNKNOWN:
                # A commit may build on it and outlive its replacement.
                return Tried(
                    seen_id=seen_id,
                    may_have_landed=True,
                    was_sent_here=True,
                    live=afresh,
                    failure=failure,
                )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Landed:
    """The commit stands."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TryAgain:
    """The commit does not stand, or nobody knows."""

    tried: Tried
    why: Why


Outcome: TypeAlias = Landed | TryAgain


def outcome_of(
    snapshot: Snapshot, tried: Tried, published: Published | None, state: SnapshotState
) -> Outcome:
    """Decide what follows a try.

    LOST and UNKNOWN both go round: only the next search for our own commit tells whether it is in
    the history, and until then nothing of the try may be removed (C18).

    Args:
        snapshot: The snapshot that was sent, or that an earlier try published.
        tried: The results of this try.
        published: The answer of the store; None if an earlier try was found.
        state: The state of the snapshot.
    """
    match published, state:
        case Published.LOST, _:
            why = Why.LOST
        case Published.UNKNOWN, _:
            why = Why.UNKNOWN
        case _, SnapshotState.STANDS:
            return Landed(snapshot=snapshot)
        case None, _:
            why = Why.OTHER_REPLACED_OURS
        case _, SnapshotState.WITHDRAWN:
            why = Why.BASE_LOST
        case _:
            why = Why.REPLACED
    return TryAgain(tried=tried, why=why)
