"""F20, F21: files that a state needs and that are missing, cut short or in contradiction."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from branch_console.diff.health.finding import (
    EXPIRE,
    ROLLBACK,
    UNDO,
    UNEXISTING,
    UNTAG,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.diff.history_move import count
from branch_console.format.identifier import MAIN_BRANCH, Identifier

_MOST_EVIDENCE: Final = 20
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedState:
    """A snapshot, a tag or a changelog of which not all is there.

    Attributes:
        name: Its name, such as `snapshot 3`.
        snapshot_id: The id of a snapshot; None for others.
        tag: The name of a tag; None for others.
        tagged_id: The id of the snapshot that a tag names; None for others, or if it is not known.
        data: Data files and index files with what is wrong with each, in words.
        lost: Those of data that are data files and gone, so that a branch can do without them.
        metadata: Manifests, lists and other metadata with what is wrong with each.
        is_torn: Whether its own file cannot be decoded, so that no call can begin from it.
    """

    name: str
    snapshot_id: int | None = None
    tag: str | None = None
    tagged_id: int | None = None
    data: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    is_torn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashPlace:
    """The place of a file in the trash of a table.

    Attributes:
        folder: The folder of the cleaning that put it there.
        path: Its path there.
    """

    folder: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDamage:
    """The files that a branch lacks.

    Attributes:
        head_id: Its newest snapshot; None if it has none that can be read.
        whole_ids: Its snapshots of which all is there, rising.
        damaged: The others, and tags of which not all is there.
        cleanings: The cleanings that put a missing file into the trash, from where undo brings it
            back, by what is wrong with that file in words; without files that lie in no trash.
        unlisted: Where other missing files lie in the trash of a cleaning whose list cannot be
            read, so that no undo brings them back; by what is wrong with each, too.
    """

    branch: str
    head_id: int | None
    whole_ids: tuple[int, ...]
    damaged: Sequence[DamagedState]
    cleanings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unlisted: Mapping[str, TrashPlace] = field(default_factory=dict)


def damage_findings(table: str, damage: BranchDamage) -> Iterator[HealthFinding]:
    """Yield what is missing for a branch: data files first, then metadata.

    Args:
        table: Its name, for remedies.
        damage: The damage that was found.
    """
    data = [each for each in damage.damaged if each.data]
    # What cannot be decoded itself is told as such, with its copies.
    metadata = [each for each in damage.damaged if each.metadata and not each.is_torn]
    if data:
        yield _finding("F20", table, damage, data)
    if metadata:
        yield _finding("F21", table, damage, metadata)


def move_back_words(places: Sequence[TrashPlace]) -> str:
    """Ask for files that no undo brings back to be moved out of the trash, as a clause.

    Args:
        places: Where they lie, one at least.
    """
    if len(places) == 1:
        what = places[0].path
    else:
        numbers = Counter(each.folder for each in places)
        named = [
            f"{folder} ({number:,} of these files)"
            for folder, number in sorted(numbers.items())[:_MOST_NAMED]
        ]
        if len(numbers) > _MOST_NAMED:
            named.append(count(len(numbers) - _MOST_NAMED, "other folder"))
        what = f"everything below {' and below '.join(named)}"
    return f"Move {what} back by hand to the same path below the table"


def _finding(
    rule: str, table: str, damage: BranchDamage, states: Sequence[DamagedState]
) -> HealthFinding:
    is_data = rule == "F20"
    found = (state.data if is_data else state.metadata for state in states)
    wrong = sorted({each for every in found for each in every})
    what = "data or index file" if is_data else "metadata file"
    text = "; ".join(wrong[:_MOST_NAMED])
    waiting = [each for each in wrong if each in damage.cleanings]
    cleanings = sorted({one for each in waiting for one in damage.cleanings[each]})
    places = [damage.unlisted[each] for each in wrong if each in damage.unlisted]
    remedies: tuple[Remedy, ...] = ()
    # Files in the trash come back, so no rows need to be given up.
    if cleanings:
        remedies = tuple(_call(UNDO, table=table, operation=each) for each in cleanings)
        advice = _undo_advice(len(waiting), len(wrong))
    elif places:
        advice = _move_advice(places, len(wrong))
    else:
        gives_up = is_data and _can_give_up(damage, states)
        remedies = tuple(_remedies(table, damage, states, cuts=not is_data, gives_up=gives_up))
        advice = _advice(table, damage, remedies, gives_up=gives_up)
    return HealthFinding(
        rule=rule,
        severity=HazardSeverity.CRITICAL,
        branch=damage.branch,
        evidence=(
            *(f"operation {each}" for each in cleanings),
            *waiting,
            *(each.name for each in states),
            *(each for each in wrong if each not in damage.cleanings),
        )[:_MOST_EVIDENCE],
        text=f"{count(len(wrong), what)} of {_names(states)} "
        f"{'is not as its' if len(wrong) == 1 else 'are not as their'} manifests say: "
        f"{text.removesuffix('.')}.",
        breaks="Whoever reads there fails now.",
        advice=advice,
        remedies=remedies,
    )


def _can_give_up(damage: BranchDamage, states: Sequence[DamagedState]) -> bool:
    """Whether the head only lacks data files, so that it can go on without their rows."""
    head = next((each for each in states if each.snapshot_id == damage.head_id), None)
    return head is not None and head.data == head.lost and not head.metadata


def _undo_advice(waiting: int, wrong: int) -> str:
    """The advice where some of the files wait in the trash, given how many of how many."""
    them = "it" if waiting == 1 else "them"
    text = f"{_in_trash(waiting, wrong)} of the table. Undo what put {them} there"
    return f"{text}{_others(waiting, wrong)}"


def _move_advice(places: Sequence[TrashPlace], wrong: int) -> str:
    """The advice where a list of the trash cannot be read.

    Args:
        places: Where files lie in the trash.
        wrong: How many files are missing or broken.
    """
    found = len(places)
    them = "it" if found == 1 else "them"
    text = (
        f"{_in_trash(found, wrong)} of the table, of which a list cannot be read, so that no undo "
        f"brings {them} back. {move_back_words(places)}"
    )
    return f"{text}{_others(found, wrong)}"


def _in_trash(waiting: int, wrong: int) -> str:
    subject = ("It" if waiting == 1 else "They") if waiting == wrong else f"{waiting:,} of them"
    return f"{subject} {'waits' if waiting == 1 else 'wait'} in the trash"


def _others(waiting: int, wrong: int) -> str:
    return "." if waiting == wrong else ", then look again for the others."


def _advice(table: str, damage: BranchDamage, remedies: Sequence[Remedy], *, gives_up: bool) -> str:
    restore = "Restore the files from a copy."
    whole = _newest_whole(damage)
    if gives_up and whole is not None:
        name = _name(table, damage)
        return (
            f"{restore} Where there is none, go on without their rows, or without what was "
            f"committed since snapshot {whole}: CALL sys.rollback(table => '{name}', "
            f"snapshot => {whole})."
        )
    if gives_up:
        return f"{restore} Where there is none, go on without their rows."
    if remedies:
        return f"{restore} Where there is none, go on without them."
    if damage.branch == MAIN_BRANCH:
        return restore
    return f"{restore} Where there is none, drop the branch with reclaim."


def _remedies(
    table: str,
    damage: BranchDamage,
    states: Sequence[DamagedState],
    *,
    cuts: bool,
    gives_up: bool,
) -> Iterator[Remedy]:
    """The calls after which the head of the branch names nothing that is missing."""
    name = _name(table, damage)
    ids = [each.snapshot_id for each in states if each.snapshot_id is not None]
    is_torn = any(each.is_torn and each.snapshot_id is not None for each in damage.damaged)
    cut_to: int | None = None
    if gives_up:
        yield Remedy(
            procedure=UNEXISTING,
            arguments=MappingProxyType({"table": name}),
            # Rows are gone for good then, so the statement says of which branch.
            statement=f"CALL sys.{UNEXISTING}(table => '{name}', confirm => '{damage.branch}')",
        )
    # Neither a rollback nor an expiry runs on a history that cannot be decoded.
    elif not is_torn and damage.head_id is not None and damage.head_id in ids:
        whole = _newest_whole(damage)
        if whole is not None and cuts:
            cut_to = whole
            yield _cut(name, damage.branch, whole)
        elif whole is not None:
            yield _call(ROLLBACK, table=name, snapshot=whole)
    elif not is_torn and damage.head_id is not None and ids:
        kept = damage.head_id - max(ids)
        first = min((*damage.whole_ids, *ids))
        yield _call(
            EXPIRE,
            table=name,
            retain_max=kept,
            retain_min=kept,
            max_deletes=max(ids) - first + 1,
        )
    for state in states:
        # The cut removes the tags of the snapshots that it removes.
        leaves = cut_to is not None and state.tagged_id is not None and state.tagged_id > cut_to
        if state.tag is not None and not leaves:
            yield _call(UNTAG, table=name, tag=state.tag)


def _newest_whole(damage: BranchDamage) -> int | None:
    """The newest snapshot before the head of which all is there."""
    head_id = damage.head_id
    whole = [each for each in damage.whole_ids if head_id is not None and each < head_id]
    return whole[-1] if whole else None


def _name(table: str, damage: BranchDamage) -> str:
    return Identifier.parse(table).on_branch(damage.branch).full_name


def _call(procedure: str, **arguments: str | int) -> Remedy:
    return Remedy(procedure=procedure, arguments=MappingProxyType(arguments))


def _cut(table: str, branch: str, snapshot_id: int) -> Remedy:
    # Commits leave the history, so the statement says of which branch.
    return Remedy(
        procedure=ROLLBACK,
        arguments=MappingProxyType({"table": table, "snapshot": snapshot_id, "cut": True}),
        statement=f"CALL sys.{ROLLBACK}(table => '{table}', snapshot => {snapshot_id}, "
        f"cut => true, confirm => '{branch}')",
    )


def _names(states: Sequence[DamagedState]) -> str:
    first = ", ".join(each.name for each in states[:_MOST_NAMED])
    more = len(states) - _MOST_NAMED
    return first if more <= 0 else f"{first} and {more:,} more"
