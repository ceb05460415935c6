"""The plan of a merge of two branches of the catalog: what the preview shows is what a run does.

A plan is a pure function of both states, their bases, the plans of the tables and the rules; its id
is their digest, so that a run can tell whether anything that a person agreed to has changed.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from branch_console.diff.catalog_base import contents_to_note
from branch_console.diff.catalog_state import CatalogState, TableState
from branch_console.diff.three_way import ThreeWay
from branch_console.format.catalog.catalog_version import SourceContent
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.merge.catalog.catalog_merge import CatalogMerge, CatalogSides, merge_catalog
from branch_console.merge.catalog.catalog_steps import CatalogStep, ordered_steps
from branch_console.merge.catalog.object_merge import ObjectKind, ObjectMerge
from branch_console.merge.catalog.object_rules import ObjectRules
from branch_console.merge.conflict import Conflict
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import FastForwardPlan, MergeVerdict, cost_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCost:
    """How much a merge of the catalog does; sizes in bytes.

    Attributes:
        steps: How many steps there are of each kind, by kind.
        snapshots: How many tables get a snapshot.
        undecided: The number of tables whose rows have to be compared first.
        bytes_to_copy: The bytes of files that the branches may not share.
        is_counted: Whether the files of all tables were looked at: not of one that takes over the
            history of the source, or that no plan is known of yet.
    """

    steps: Mapping[str, int]
    snapshots: int = 0
    undecided: int = 0
    files_added: int = 0
    records_added: int = 0
    bytes_added: int = 0
    bytes_to_copy: int = 0
    is_counted: bool = True

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "steps": dict(self.steps),
            "snapshots": self.snapshots,
            "undecided": self.undecided,
            "files_added": self.files_added if self.is_counted else None,
            "records_added": self.records_added if self.is_counted else None,
            "bytes_added": self.bytes_added if self.is_counted else None,
            "bytes_to_copy": self.bytes_to_copy,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CatalogMergePlan:
    """The decision on all objects.

    Attributes:
        id: The digest of all that it rests on and of what it decides.
        versions: The versions of the ledger, such as `main@41`; several bases are joined by commas.
        objects: The objects; those that keep the merge from running come first.
        covers: The objects that a merge of a part is about; None for all.
        sources: What the version of the merge notes of the tables of the source, by their ids.
        reported: Sentences that concern no single object.
        heads: The heads of the tables that the plan is about, by id, as (target, source); a run
            checks them.
        states: Both branches and the base, as they were read.
        result: The objects of the target after the merge.
    """

    id: str
    source: str
    target: str
    versions: ThreeWay[str]
    verdict: MergeVerdict
    objects: tuple[ObjectMerge, ...]
    reported: tuple[str, ...]
    cost: CatalogCost
    steps: tuple[CatalogStep, ...]
    heads: Mapping[str, tuple[SnapshotIdentity | None, SnapshotIdentity | None]]
    states: ThreeWay[CatalogState]
    result: CatalogState
    covers: frozenset[str] | None = None
    sources: Mapping[str, SourceContent] = field(default_factory=dict)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All open conflicts, of tables too."""
        return tuple(conflict for each in self.objects for conflict in each.conflicts)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Why it cannot run at all."""
        return tuple(block for each in self.objects for block in each.blocks)

    @property
    def can_run(self) -> bool:
        """Whether a run would change the target, as far as is known."""
        return self.verdict in (MergeVerdict.CLEAN, MergeVerdict.UNDECIDED)

    @property
    def decisions(self) -> str:
        """The digest of what somebody decides on who runs it: of another plan it may be the same.

        How much comes is none of it; what becomes of which object is, and what is overruled.
        """
        parts = [
            (
                each.id,
                each.merged_name,
                each.reported,
                [found.id for found in each.conflicts],
                [block.text for block in each.blocks],
            )
            for each in self.objects
        ]
        return hashlib.sha256(repr((parts, self.reported)).encode()).hexdigest()[:16]

    def blocked(self, blocks: Mapping[str, Block]) -> "CatalogMergePlan":
        """Return the plan of a merge that cannot run, with what blocks objects, by their ids."""
        objects = tuple(
            replace(each, blocks=(*each.blocks, blocks[each.id])) if each.id in blocks else each
            for each in self.objects
        )
        parts = (self.id, [(key, block.text) for key, block in sorted(blocks.items())])
        return replace(
            self,
            id=hashlib.sha256(repr(parts).encode()).hexdigest()[:16],
            verdict=MergeVerdict.REFUSED,
            objects=tuple(sorted(objects, key=_rank)),
        )

    def to_object(self) -> dict[str, object]:
        """Return the plan as JSON values, as the command line prints it."""
        return {
            "id": self.id,
            "verdict": str(self.verdict),
            "source": self.source,
            "target": self.target,
            "base": self.versions.base,
            "ours": self.versions.ours,
            "theirs": self.versions.theirs,
            "version": None,
            "steps": len(self.steps),
            "objects": [each.to_object() for each in self.objects],
            "blocks": [{"kind": str(each.kind), "text": each.text} for each in self.blocks],
            "reported": list(self.reported),
            "cost": self.cost.to_object(),
        }


def plan_catalog_merge(
    sides: CatalogSides,
    rules: ObjectRules,
    *,
    newest_commits: Mapping[str, int] | None = None,
    policy: str = "",
) -> CatalogMergePlan:
    """Decide what a merge of two branches of the catalog does.

    Args:
        sides: Both branches, their base, and the plans of the tables that the source changed.
        rules: The choices about objects.
        newest_commits: When others last wrote to tables of the target, by id, in milliseconds.
        policy: The digest of the policy that the plans of the tables follow.
    """
    merge = merge_catalog(sides, rules)
    steps = ordered_steps(
        sides.states.ours, merge, newest_commits=newest_commits or {}, fold=sides.fold
    )
    verdict = _verdict(merge, steps)
    states = sides.states
    heads = {
        each.id: (_head(states.ours.tables.get(each.id)), _head(states.theirs.tables.get(each.id)))
        for each in merge.objects
        if each.id in states.ours.tables or each.id in states.theirs.tables
    }
    versions = ThreeWay(
        base=states.base.version, ours=states.ours.version, theirs=states.theirs.version
    )
    parts = (
        versions,
        repr(rules),
        policy,
        sorted(sides.covers) if sides.covers is not None else None,
        str(verdict),
        sorted((each, repr(found)) for each, found in heads.items()),
        # A table can be altered without a commit.
        sorted((each, *_schemas(states, each)) for each in heads),
        [_step_facts(each) for each in steps],
        [
            (each.id, [found.id for found in each.conflicts], each.plan and each.plan.id)
            for each in merge.objects
        ],
        [block.text for each in merge.objects for block in each.blocks],
    )
    return CatalogMergePlan(
        id=hashlib.sha256(repr(parts).encode()).hexdigest()[:16],
        source=versions.theirs.rpartition("@")[0],
        target=versions.ours.rpartition("@")[0],
        versions=versions,
        verdict=verdict,
        objects=tuple(sorted(merge.objects, key=_rank)),
        reported=merge.reported,
        cost=_cost(merge, steps),
        steps=steps,
        heads=heads,
        states=states,
        result=merge.result,
        covers=sides.covers,
        sources=contents_to_note(states, sides.covers),
    )


def _verdict(merge: CatalogMerge, steps: tuple[CatalogStep, ...]) -> MergeVerdict:
    if any(each.blocks for each in merge.objects):
        return MergeVerdict.REFUSED
    if merge.conflicts:
        return MergeVerdict.CONFLICTS
    if any(each.is_undecided for each in merge.objects):
        return MergeVerdict.UNDECIDED
    is_nothing = not steps and not merge.is_noted
    return MergeVerdict.UP_TO_DATE if is_nothing else MergeVerdict.CLEAN


def _rank(merged: ObjectMerge) -> tuple[bool, bool, str, str]:
    is_open = bool(merged.blocks or merged.conflicts)
    return not is_open, merged.kind is ObjectKind.TABLE, merged.name, merged.id


def _cost(merge: CatalogMerge, steps: tuple[CatalogStep, ...]) -> CatalogCost:
    plans = [each.plan for each in merge.objects if each.brings_content]
    costs = [cost_of(plan) for plan in plans if plan is not None]
    return CatalogCost(
        steps=Counter(str(each.kind) for each in steps),
        snapshots=sum(each.brings_content for each in merge.objects),
        undecided=sum(each.is_undecided for each in merge.objects),
        files_added=sum(each.files_added for each in costs),
        records_added=sum(each.records_added for each in costs),
        bytes_added=sum(each.bytes_added for each in costs),
        bytes_to_copy=sum(each.bytes_to_copy for each in costs),
        is_counted=not any(plan is None or isinstance(plan, FastForwardPlan) for plan in plans),
    )


def _head(table: TableState | None) -> SnapshotIdentity | None:
    return None if table is None else table.head


def _schemas(states: ThreeWay[CatalogState], table_id: str) -> tuple[int, ...]:
    sides = (states.ours.tables.get(table_id), states.theirs.tables.get(table_id))
    return tuple(-1 if each is None else each.schema for each in sides)


def _step_facts(step: CatalogStep) -> tuple[object, ...]:
    properties = (sorted(step.properties_before.items()), sorted(step.properties_after.items()))
    return str(step.kind), step.id, step.before, step.after, properties
