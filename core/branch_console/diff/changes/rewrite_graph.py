"""The files that hold rows of other files, by what commits read when they rewrote files.

Rows without a key have no identity. One branch may pick a file as it was written while another has
a rewrite of it. Only the commit that rewrote the file shows that both contain the same rows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple, TypeAlias

from branch_console.diff.changes.file_history import FileHistory, Step, keys_of
from branch_console.diff.file_masks import MaskKey
from branch_console.diff.table_operation import TableOperation

_Uses: TypeAlias = Mapping[str, Set[int]]
"""The rewrites by which rows of each file came into a file."""


class _Rewrite(NamedTuple):
    """Files of one bucket that were read, and written again as others, by identity."""

    read: frozenset[str]
    written: frozenset[str]


class RewriteGraph:
    """The rewrites by which files came from other files.

    Args:
        logs: What tells it; a commit may stand in several.
    """

    def __init__(self, logs: Sequence[FileHistory]) -> None:
        self._rewrites = tuple(dict.fromkeys(_rewrites_of(logs)))
        self._made_by: dict[str, set[int]] = defaultdict(set)
        self._read_by: dict[str, set[int]] = defaultdict(set)
        for number, each in enumerate(self._rewrites):
            for index, files in ((self._made_by, each.written), (self._read_by, each.read)):
                for file in files:
                    index[file].add(number)

    def files_sharing_rows(self, coming: Set[str], held: Set[str]) -> dict[str, str]:
        """Return the added files whose rows are already in a file that stays.

        Files that one commit wrote have different rows.

        Args:
            coming: Files that are added, by identity.
            held: Files that are in the state already and stay.

        Returns:
            For each such file, a held file that contains rows of it or of the files it was made
            from.
        """
        near = self._relatives(coming)
        known = {each: self._uses(each) for each in sorted(near & held)}
        found = {}
        for each in sorted(coming & near) if known else ():
            mine = self._uses(each)
            for other, its in known.items():
                if other != each and _overlap(each, mine, other, its):
                    found[each] = other
                    break
        return found

    def _relatives(self, files: Set[str]) -> Set[str]:
        """Return the origins of files, and all files made of these."""
        made_of = _closure(files & self._made_by.keys(), self._parents)
        return _closure(made_of | (files & self._read_by.keys()), self._children)

    def _uses(self, file: str) -> _Uses:
        found: dict[str, set[int]] = defaultdict(set)
        for one in _closure({file}, self._parents):
            for number in self._made_by.get(one, ()):
                for read in self._rewrites[number].read:
                    found[read].add(number)
        return found

    def _parents(self, file: str) -> Set[str]:
        numbers = self._made_by.get(file, ())
        return frozenset[str]().union(*(self._rewrites[each].read for each in numbers))

    def _children(self, file: str) -> Set[str]:
        numbers = self._read_by.get(file, ())
        return frozenset[str]().union(*(self._rewrites[each].written for each in numbers))


def _rewrites_of(logs: Sequence[FileHistory]) -> Iterator[_Rewrite]:
    keys = {identity: key for log in logs for identity, key in keys_of(log.entries)}
    for step in (each for log in logs for each in log.steps):
        # In the place of what was overwritten come other rows.
        if step.operation is not TableOperation.OVERWRITE:
            yield from _by_bucket(step, keys)
    for log in logs:
        for done in (*log.compactions, *log.settled_compactions):
            if done.after:
                yield _Rewrite(done.before, done.after)


def _by_bucket(step: Step, keys: Mapping[str, MaskKey]) -> Iterator[_Rewrite]:
    for place in sorted({keys[each][:2] for each in step.written}):
        read, written = (
            frozenset(each for each in files if keys[each][:2] == place)
            for files in (step.read, step.written)
        )
        if read:
            yield _Rewrite(read, written)


def _closure(files: Iterable[str], step: Callable[[str], Set[str]]) -> Set[str]:
    found = set(files)
    reached = list(found)
    while reached:
        new = step(reached.pop()) - found
        found |= new
        reached += new
    return found


def _overlap(one: str, its: _Uses, other: str, others: _Uses) -> bool:
    """Whether a file was made of the other, or both of a third one at different times."""
    both = its.keys() & others.keys()
    return one in others or other in its or any(its[each].isdisjoint(others[each]) for each in both)


NO_REWRITES: Final = RewriteGraph(())
