"""L8: what is told from masks is what a fold of every reference tells, one after the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.diff.expiry.reachability import (
    ReferredManifests,
    reach,
    unbalanced,
)
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    FileOwner,
    OwnedReference,
    OwnerKind,
    storage_cost,
)
from branch_console.format.file_columns import FILE_COLUMNS
from branch_console.format.manifest_entry import FileKind

# Few names and levels, so that files are added again, upgraded, and named alike in two buckets.
_FILES = st.tuples(st.integers(1, 6), st.integers(0, 2))
Entry = tuple[int, int, FileKind, bool]


def columns(manifests: Sequence[Sequence[Entry]]) -> pa.Table:
    """The entries of manifests: name, level, kind, whether a compaction made the file."""
    rows = [
        {
            # Two files in three share their first half with another one.
            "identity": (name * 3 + level) // 2,
            "name": name * 10 + (name * 3 + level) % 2,
            "file_size": name,
            "kind": int(kind),
            "is_compacted": is_compacted,
            "manifest": number,
            "position": position,
        }
        for number, entries in enumerate(manifests)
        for position, (name, level, kind, is_compacted) in enumerate(entries)
    ]
    return pa.Table.from_pylist(rows, FILE_COLUMNS)


def name_of(entry: Entry) -> int:
    name, level, _, _ = entry
    return name * 10 + (name * 3 + level) % 2


def needed(manifests: Sequence[Sequence[Entry]], reference: ReferredManifests) -> set[int]:
    """The names that a reference needs, found by looking at one entry after the other."""
    live: set[tuple[int, int]] = set()
    names: set[int] = set()
    for number in reference.live:
        for entry in manifests[number]:
            live ^= {entry[:2]}
            names |= {name_of(entry)}
    found = {name_of((*each, FileKind.ADD, False)) for each in live}
    for number in reference.added:
        found |= {name_of(each) for each in manifests[number] if each[2] is FileKind.ADD}
    for number in reference.written:
        found |= {name_of(each) for each in manifests[number] if not each[3]}
    return found


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[Entry]], list[ReferredManifests]]:
    """Histories of commits that add and delete, with forks; their manifests are never rewritten."""
    manifests: list[list[Entry]] = []
    states: list[tuple[tuple[int, ...], frozenset[tuple[int, int]]]] = [((), frozenset())]
    references = []
    for _ in range(draw(st.integers(1, 8))):
        listed, live = draw(st.sampled_from(states))
        entries: list[Entry] = []
        now = set(live)
        for name, level in draw(st.lists(_FILES, max_size=6, unique=True)):
            kind = FileKind.DELETE if (name, level) in now else FileKind.ADD
            now ^= {(name, level)}
            entries.append((name, level, kind, draw(st.booleans())))
        state = ((*listed, len(manifests)), frozenset(now))
        manifests.append(entries)
        states.append(state)
    for listed, _ in draw(st.lists(st.sampled_from(states), min_size=1, max_size=70)):
        extra = st.lists(st.integers(0, len(manifests) - 1), max_size=2, unique=True)
        references.append(
            ReferredManifests(
                owner=draw(st.integers(0, 66)),
                live=listed,
                added=tuple(draw(extra)),
                written=tuple(draw(extra)),
            )
        )
    return manifests, references


@given(histories())
def test_masks_tell_what_a_fold_of_each_reference_tells(
    history: tuple[list[list[Entry]], list[ReferredManifests]],
) -> None:
    manifests, references = history
    found = reach(columns(manifests), references)
    by_owner: dict[int, set[int]] = {}
    for reference in references:
        by_owner.setdefault(reference.owner, set()).update(needed(manifests, reference))
    for owner, names in by_owner.items():
        assert set(found.names[found.needed_by(owner)].tolist()) == names
        others = set().union(*(each for key, each in by_owner.items() if key != owner))
        assert set(found.names[found.only_needed_by(owner)].tolist()) == names - others
    assert unbalanced(columns(manifests), references, found.names).tolist() == []


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([(1, 0, FileKind.ADD, False)] * 2, id="added twice"),
        pytest.param([(1, 0, FileKind.DELETE, False)], id="deleted and never added"),
        pytest.param([(1, 0, FileKind.ADD, False)] * 3, id="added three times"),
    ],
)
def test_what_looks_dead_and_was_added_twice_is_damage(entries: list[Entry]) -> None:
    manifests = [[each] for each in entries]
    listed = tuple(range(len(manifests)))
    fine = ReferredManifests(owner=0, live=(0,) if len(listed) > 1 else ())
    for at in (0, 63, 64):
        references = [fine] * at + [ReferredManifests(owner=1, live=listed)]
        found = unbalanced(
            columns(manifests), references, reach(columns(manifests), references).names
        )
        assert found.tolist() == [name_of(entries[0])]
    assert (
        unbalanced(columns(manifests), [fine], reach(columns(manifests), [fine]).names).tolist()
        == []
    )


def test_a_table_without_entries_needs_no_file() -> None:
    found = reach(columns([]), [ReferredManifests(owner=70, live=(0, 1))])
    assert found.needed_by(70).tolist() == []


OWNERS = tuple(FileOwner(kind=OwnerKind.BRANCH, name=str(number)) for number in range(67))
_INDEX_FILES = st.dictionaries(st.sampled_from("abcd"), st.just(7), max_size=3)


@dataclass
class Fold:
    """What one owner needs, by the names and sizes of files, each looked at by itself."""

    needed: dict[object, int] = field(default_factory=dict)
    head: dict[object, int] = field(default_factory=dict)
    stays: dict[object, int] = field(default_factory=dict)


def amount(sizes: Mapping[object, int]) -> FileAmount:
    return FileAmount(file_count=len(sizes), byte_count=sum(sizes.values()))


@given(histories(), st.data())
def test_the_storage_of_each_owner_is_what_a_fold_of_its_references_tells(
    history: tuple[list[list[Entry]], list[ReferredManifests]], data: st.DataObject
) -> None:
    manifests, references = history
    owned = [
        OwnedReference(
            owner=each.owner,
            manifests=each,
            index_files=data.draw(_INDEX_FILES),
            is_head=data.draw(st.booleans()),
            is_going=data.draw(st.booleans()),
        )
        for each in references
    ]
    folds = [Fold() for _ in OWNERS]
    for each in owned:
        # The largest of the entries of a name counts, and all of these tests have one size a name.
        sizes: dict[object, int] = {
            name: name // 10 for name in needed(manifests, each.manifests)
        } | each.index_files
        fold = folds[each.owner]
        fold.needed |= sizes
        fold.head |= sizes if each.is_head else {}
        fold.stays |= {} if each.is_going else sizes
    found = storage_cost(columns(manifests), owned, OWNERS)
    for number, cost in enumerate(found.owners):
        fold = folds[number]
        others = set[object]().union(*(each.needed for each in folds if each is not fold))
        alone = {name: size for name, size in fold.needed.items() if name not in others}
        assert cost.head == amount(fold.head)
        assert cost.history == amount(without(fold.needed, fold.head))
        assert cost.exclusive == amount(alone)
        assert cost.shared == amount(without(fold.needed, alone))
        assert cost.reclaimable == amount(without(alone, fold.stays))
    every = {name: size for fold in folds for name, size in fold.needed.items()}
    stays = {name for fold in folds for name in fold.stays}
    assert found.total == amount(every)
    assert found.reclaimable == amount(without(every, stays))
    shared = {each.owners: each.amount for each in found.overlaps}
    for left, right in combinations(sorted({each.owner for each in owned}), 2):
        both = folds[left].needed.keys() & folds[right].needed.keys()
        expected = amount({name: every[name] for name in both})
        none = FileAmount(file_count=0, byte_count=0)
        assert shared.pop((OWNERS[left], OWNERS[right]), none) == expected
    assert not shared


def without(sizes: Mapping[object, int], others: Iterable[object]) -> dict[object, int]:
    gone = set(others)
    return {name: size for name, size in sizes.items() if name not in gone}
