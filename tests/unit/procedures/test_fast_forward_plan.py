"""The decision on a fast-forward, as a table of histories."""

from dataclasses import dataclass, replace
from operator import attrgetter

import pytest

from branch_console.diff.fast_forward import ForwardDecision, Verdict, WayOut, plan_forward_move
from branch_console.diff.history_move import BranchHistory
from branch_console.errors import ErrorKind
from branch_console.format.data_types import INT, DataField
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag


def snapshot(text: str, *, uuids: bool = True) -> Snapshot:
    """`2`, or `2x` for another snapshot with id 2; `2@1` was written with schema 1."""
    name, _, schema_id = text.partition("@")
    snapshot_id = int("".join(character for character in name if character.isdigit()))
    return Snapshot(
        uuid=f"uuid-{name}" if uuids else None,
        id=snapshot_id,
        schema_id=int(schema_id or 0),
        base_manifest_list=f"base-{name}",
        delta_manifest_list=f"delta-{name}",
        commit_user="etl" if name.endswith("x") else "ann",
        commit_identifier=snapshot_id,
        commit_kind=CommitKind.APPEND,
        time_millis=snapshot_id,
        delta_record_count=10,
        total_record_count=10 * snapshot_id,
    )


def schema(text: str) -> TableSchema:
    """`1`, or `1x` for another schema with id 1."""
    schema_id = int(text.rstrip("x"))
    return TableSchema(
        id=schema_id,
        fields=(DataField(id=0, name=f"column_{text}", type=INT),),
        highest_field_id=0,
        partition_keys=(),
        primary_keys=(),
        options=Options({}),
    )


def history(
    branch: str,
    snapshots: str,
    schemas: str = "0",
    tags: str = "",
    consumers: tuple[tuple[str, int], ...] = (),
    *,
    uuids: bool = True,
) -> BranchHistory:
    """`tags` as `v1=2 v2=3x`."""
    pairs = (each.split("=") for each in tags.split())
    return BranchHistory(
        branch=branch,
        snapshots=tuple(snapshot(each, uuids=uuids) for each in snapshots.split()),
        schemas=tuple(schema(each) for each in schemas.split()),
        tags=tuple(Tag(name=name, snapshot=snapshot(at, uuids=uuids)) for name, at in pairs),
        consumers=consumers,
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    source: str
    target: str
    verdict: Verdict
    source_schemas: str = "0"
    target_schemas: str = "0"
    source_tags: str = ""
    target_tags: str = ""
    reasons: tuple[ErrorKind, ...] = ()
    arrives: tuple[int, ...] = ()
    arriving_schemas: tuple[int, ...] = ()
    arriving_tags: tuple[str, ...] = ()
    removes: tuple[int, ...] = ()
    removes_schemas: tuple[int, ...] = ()
    removes_tags: tuple[str, ...] = ()

    def plan(self, *, uuids: bool = True) -> ForwardDecision:
        return plan_forward_move(
            "db.t",
            history("dev", self.source, self.source_schemas, self.source_tags, uuids=uuids),
            history("main", self.target, self.target_schemas, self.target_tags, uuids=uuids),
        )


CASES = [
    Case(
        name="the target is at the fork",
        source="2 3 4",
        target="1 2",
        verdict=Verdict.FAST_FORWARD,
        arrives=(3, 4),
    ),
    Case(
        name="the source holds the whole history",
        source="1 2 3",
        target="1 2",
        verdict=Verdict.FAST_FORWARD,
        arrives=(3,),
    ),
    Case(
        name="both are at one head",
        source="2 3",
        target="1 2 3",
        verdict=Verdict.UP_TO_DATE,
    ),
    Case(
        name="the source is behind",
        source="2",
        target="1 2 3",
        verdict=Verdict.UP_TO_DATE,
    ),
    Case(
        name="the source is behind and its tags stay where they are",
        source="2",
        source_tags="v9=2",
        target="1 2 3",
        verdict=Verdict.UP_TO_DATE,
    ),
    Case(
        name="only a schema and a tag arrive",
        source="2",
        source_schemas="0 1",
        source_tags="v1=2",
        target="1 2",
        verdict=Verdict.FAST_FORWARD,
        arriving_schemas=(1,),
        arriving_tags=("v1",),
    ),
    Case(
        name="the target moved",
        source="2 3 4",
        target="1 2 3x",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.TARGET_MOVED,),
        arrives=(3, 4),
        removes=(3,),
    ),
    Case(
        name="the target moved and has a tag and a schema of its own",
        source="2 3",
        target="1 2 3x@1",
        target_schemas="0 1",
        target_tags="v0=1 v3=3x",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.TARGET_MOVED, ErrorKind.TARGET_MOVED),
        arrives=(3,),
        removes=(3,),
        removes_schemas=(1,),
        removes_tags=("v3",),
    ),
    Case(
        name="ids alone prove nothing",
        source="1x 2x",
        target="1 2",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.NO_COMMON_HISTORY,),
        arrives=(1, 2),
        removes=(1, 2),
    ),
    Case(
        name="an empty-created source",
        source="1x",
        target="1 2 3",
        target_tags="v1=1",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.NO_COMMON_HISTORY,),
        arrives=(1,),
        removes=(1, 2, 3),
        removes_tags=("v1",),
    ),
    Case(
        name="a source without a snapshot",
        source="",
        target="1",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.BRANCH_EMPTY,),
        removes=(1,),
    ),
    Case(
        name="a target without a snapshot",
        source="1 2",
        target="",
        verdict=Verdict.FAST_FORWARD,
        arrives=(1, 2),
    ),
    Case(
        name="a target without a snapshot cannot begin in the middle",
        source="4 5",
        target="",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.SNAPSHOT_NOT_FOUND,),
        arrives=(4, 5),
    ),
    Case(
        name="the fork has expired in the source but a tag keeps it",
        source="3 4",
        source_tags="base=2",
        target="1 2",
        target_tags="base=2",
        verdict=Verdict.FAST_FORWARD,
        arrives=(3, 4),
    ),
    Case(
        name="snapshots between the fork and the source's oldest have expired",
        source="5 6",
        source_tags="base=2",
        target="1 2",
        target_tags="base=2",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.SNAPSHOT_NOT_FOUND,),
        arrives=(5, 6),
        # Replaced, the target must not have a hole between 2 and 5.
        removes=(1, 2),
    ),
    Case(
        name="a tag with two meanings",
        source="2 3",
        source_tags="v1=3",
        target="1 2",
        target_tags="v1=1",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.NAME_TAKEN,),
        arrives=(3,),
        arriving_tags=("v1",),
        removes_tags=("v1",),
    ),
    Case(
        name="a tag with one meaning on both sides",
        source="2 3",
        source_tags="v1=2",
        target="1 2",
        target_tags="v1=2 v0=1",
        verdict=Verdict.FAST_FORWARD,
        arrives=(3,),
    ),
    Case(
        name="a schema id with two meanings",
        source="2 3@1",
        source_schemas="0 1",
        target="1 2",
        target_schemas="0 1x",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.TARGET_MOVED,),
        arrives=(3,),
        arriving_schemas=(1,),
        removes_schemas=(1,),
    ),
    Case(
        name="the same schema on both sides",
        source="2 3@1",
        source_schemas="0 1",
        target="1 2",
        target_schemas="0 1",
        verdict=Verdict.FAST_FORWARD,
        arrives=(3,),
    ),
    Case(
        name="the target was altered after the fork without a commit",
        source="2 3",
        target="1 2",
        target_schemas="0 1",
        verdict=Verdict.REFUSED,
        reasons=(ErrorKind.TARGET_MOVED,),
        arrives=(3,),
        removes_schemas=(1,),
    ),
]


@pytest.mark.parametrize("uuids", [True, False], ids=["with uuids", "before Paimon 2.0"])
@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
def test_the_decision(case: Case, uuids: bool) -> None:
    plan = case.plan(uuids=uuids)
    assert plan.verdict is case.verdict
    assert tuple(reason.kind for reason in plan.reasons) == case.reasons
    assert tuple(each.id for each in plan.arrives.snapshots) == case.arrives
    assert plan.arrives.schema_ids == case.arriving_schemas
    assert tuple(tag.name for tag in plan.arrives.tags) == case.arriving_tags
    assert tuple(each.id for each in plan.would_remove.snapshots) == case.removes
    assert plan.would_remove.schema_ids == case.removes_schemas
    assert tuple(tag.name for tag in plan.would_remove.tags) == case.removes_tags


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
def test_a_legal_fast_forward_removes_nothing(case: Case) -> None:
    plan = case.plan()
    assert plan.would_remove.is_empty or plan.verdict is Verdict.REFUSED
    assert bool(plan.ways_out) == (plan.verdict is Verdict.REFUSED)
    assert plan.can_run == (plan.verdict is Verdict.FAST_FORWARD)


def test_the_refusal_says_who_moved_the_target() -> None:
    plan = plan_forward_move("db.t", history("dev", "2 3"), history("main", "2 3x 4x"))
    assert plan.reasons[0].text == (
        "Branch 'main' has 2 commits of its own since the shared snapshot 2 (by etl) that 'dev' "
        "does not hold."
    )
    assert plan.would_remove.figure.rows == 20
    assert WayOut.MERGE in plan.ways_out


def test_consumers_that_would_read_again_are_listed() -> None:
    target = history("main", "1 2 3x", consumers=(("behind", 2), ("next", 3), ("past", 4)))
    plan = plan_forward_move("db.t", history("dev", "2 3"), target)
    assert plan.would_remove.consumers == (("past", 4),)


def test_without_a_common_history_there_is_no_merge_to_offer() -> None:
    plan = plan_forward_move("db.t", history("dev", "1x"), history("main", "1"))
    assert plan.ways_out == (WayOut.COMPARE, WayOut.REPLACE)
    assert plan.can_replace


def test_the_id_changes_with_whatever_the_decision_rests_on() -> None:
    source, target = history("dev", "2 3", tags="a=2"), history("main", "1 2")
    ids = {
        plan_forward_move("db.t", *sides).id
        for sides in (
            (source, target),
            (history("dev", "2 3 4", tags="a=2"), target),
            (source, history("main", "1 2 3x")),
            (replace(source, tags=()), target),
            (source, replace(target, schemas=(schema("0"), schema("1")))),
        )
    }
    assert len(ids) == 5
    assert plan_forward_move("db.t", source, target).id in ids


def test_the_plan_prints_as_json_values() -> None:
    plan = plan_forward_move("db.t", history("dev", "2 3"), history("main", "1 2"))
    printed = plan.to_object()
    assert printed["verdict"] == "fast-forward"
    assert printed["arrives"] == {
        "snapshots": [
            {
                "id": 3,
                "identity": "uuid-3",
                "schema_id": 0,
                "user": "ann",
                "kind": "APPEND",
                "time_millis": 3,
                "rows": 10,
                "records": 10,
            }
        ],
        "schemas": [],
        "tags": [],
        "rows": 10,
        "records": 10,
    }


def from_dev(snapshots: str, inherited: str) -> BranchHistory:
    """A branch of a branch: what it builds on stands on `dev`, down to what main holds too."""
    found = tuple(snapshot(each) for each in inherited.split())
    ancestor_branches = {each.id: "main" if each is found[0] else "dev" for each in found}
    return replace(history("sub", snapshots), inherited=found, listed_on=ancestor_branches)


def test_what_lies_on_the_branch_in_between_arrives_from_there() -> None:
    plan = plan_forward_move("db.t", from_dev("3 4", "1 2"), history("main", "1"))
    assert plan.verdict is Verdict.FAST_FORWARD
    assert plan.fork == snapshot("1")
    assert [each.id for each in plan.arrives.snapshots] == [2, 3, 4]
    assert plan.arrives.listed_on == {2: "dev"}
    assert plan.notes[0] == (
        "Snapshot 2 comes from branch 'dev', which 'sub' was made from: the history lies on it."
    )


def test_a_branch_of_a_branch_is_refused_for_what_the_target_did() -> None:
    plan = plan_forward_move("db.t", from_dev("3 4", "1 2"), history("main", "1 2x"))
    assert [each.kind for each in plan.reasons] == [ErrorKind.TARGET_MOVED]
    assert WayOut.MERGE in plan.ways_out
    assert [each.id for each in plan.arrives.snapshots] == [2, 3, 4]
    assert [each.id for each in plan.would_remove.snapshots] == [2]


def test_a_hole_in_the_branch_in_between_is_told() -> None:
    plan = plan_forward_move("db.t", from_dev("4 5", "1 3"), history("main", "1"))
    assert [each.kind for each in plan.reasons] == [ErrorKind.SNAPSHOT_NOT_FOUND]
    assert plan.reasons[0].text.startswith("Snapshots 2 of 'sub' have expired")


def test_a_branch_of_a_branch_already_holds_what_it_lies_on() -> None:
    plan = plan_forward_move("db.t", history("main", "1"), from_dev("3 4", "1 2"))
    assert plan.verdict is Verdict.UP_TO_DATE
    assert plan.notes == ("Branch 'sub' already contains 'main', and more commits.",)


def test_a_branch_of_a_branch_cannot_follow_a_target_that_moved() -> None:
    plan = plan_forward_move("db.t", history("main", "1 2x"), from_dev("3 4", "1 2"))
    assert [each.kind for each in plan.reasons] == [ErrorKind.TARGET_MOVED]
    assert "3 commits of its own since the shared snapshot 1" in plan.reasons[0].text
    # It does not hold the shared snapshot itself, so replaced it would hold nothing before.
    assert [each.id for each in plan.would_remove.snapshots] == [3, 4]
    assert [each.id for each in plan.arrives.snapshots] == [1, 2]
