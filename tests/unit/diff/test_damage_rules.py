"""F20 and F21: what is missing for a branch, and after which call nothing names it any more."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from branch_console.diff.health.damage_rules import (
    BranchDamage,
    DamagedState,
    TrashPlace,
    damage_findings,
)
from branch_console.diff.health.finding import HazardSeverity, HealthFinding

HEAD = DamagedState(name="snapshot 5", snapshot_id=5, data=("f5 is missing",))
OLD = DamagedState(name="snapshot 2", snapshot_id=2, data=("f2 is missing",))
LOST = replace(HEAD, lost=HEAD.data)
TAG = DamagedState(name="tag v1", tag="v1", metadata=("m1 is broken",))
CHANGELOG = DamagedState(name="changelog 1", data=("c1 is missing",))


def found(
    *damaged: DamagedState,
    branch: str = "main",
    head_id: int | None = 5,
    whole: tuple[int, ...] = (1, 3, 4),
) -> dict[str, HealthFinding]:
    damage = BranchDamage(branch=branch, head_id=head_id, whole_ids=whole, damaged=damaged)
    told = {each.rule: each for each in damage_findings("db.t", damage)}
    for each in told.values():
        assert each.severity is HazardSeverity.CRITICAL
        assert each.branch == branch
        assert each.evidence
    return told


def calls(finding: HealthFinding) -> list[tuple[str, dict[str, object]]]:
    return [(each.procedure, dict(each.arguments)) for each in finding.remedies]


def test_a_head_that_lacks_a_file_goes_back_to_the_newest_whole_snapshot() -> None:
    finding = found(HEAD)["F20"]
    assert finding.evidence == ("snapshot 5", "f5 is missing")
    assert finding.text == (
        "1 data or index file of snapshot 5 is not as its manifests say: f5 is missing."
    )
    assert calls(finding) == [("rollback", {"table": "db.t", "snapshot": 4})]
    # Of a head whose manifests are broken the history is cut: no snapshot can be made of it.
    broken = DamagedState(name="snapshot 5", snapshot_id=5, metadata=("m5 is broken",))
    assert calls(found(broken, branch="dev")["F21"]) == [
        ("rollback", {"table": "db.t$branch_dev", "snapshot": 4, "cut": True})
    ]


def test_a_head_that_only_lacks_data_files_can_go_on_without_their_rows() -> None:
    finding = found(LOST, branch="dev")["F20"]
    (remedy,) = finding.remedies
    assert (remedy.procedure, dict(remedy.arguments)) == (
        "remove_unexisting_files", {"table": "db.t$branch_dev"},
    )  # fmt: skip
    assert remedy.statement == (
        "CALL sys.remove_unexisting_files(table => 'db.t$branch_dev', confirm => 'dev')"
    )
    # Rows are lost by it, so nobody runs it unasked.
    assert not remedy.only_adds
    assert finding.advice == (
        "Restore the files from a copy. Where there is none, go on without their rows, or without "
        "what was committed since snapshot 4: CALL sys.rollback(table => 'db.t$branch_dev', "
        "snapshot => 4)."
    )
    alone = found(LOST, whole=())["F20"]
    assert [each.procedure for each in alone.remedies] == ["remove_unexisting_files"]
    assert alone.advice.endswith("Where there is none, go on without their rows.")
    # An index file among them is no file that a branch can do without: deleted rows came back.
    both = replace(LOST, data=(*LOST.data, "index-1 is missing"))
    assert calls(found(both)["F20"]) == [("rollback", {"table": "db.t", "snapshot": 4})]


def told(
    *wrong: str, places: Mapping[str, str] = MappingProxyType({}), **held: list[str]
) -> HealthFinding:
    """The finding on missing files: some lie in the trash by its list, some where none is read."""
    texts = tuple(f"{each} is missing" for each in wrong)
    damage = BranchDamage(
        branch="dev",
        head_id=5,
        whole_ids=(4,),
        damaged=(replace(LOST, data=texts, lost=texts),),
        cleanings={f"{name} is missing": cleanings for name, cleanings in held.items()},
        unlisted={
            f"{name} is missing": TrashPlace(folder=place.rpartition("/")[0], path=place)
            for name, place in places.items()
        },
    )
    (finding,) = damage_findings("db.t", damage)
    return finding


def test_what_waits_in_the_trash_comes_back_before_anything_is_given_up() -> None:
    alone = told("f5", f5=["clean"])
    assert alone.evidence == ("operation clean", "f5 is missing", "snapshot 5")
    assert alone.advice == "It waits in the trash of the table. Undo what put it there."
    assert calls(alone) == [("undo", {"table": "db.t", "operation": "clean"})]
    # Other files come back with it, so nobody runs it unasked.
    assert not alone.remedies[0].only_adds
    both = told("f5", "f6", f5=["clean"], f6=["later"])
    assert [each["operation"] for _, each in calls(both)] == ["clean", "later"]
    assert both.advice == "They wait in the trash of the table. Undo what put them there."
    some = told("f4", "f5", f5=["clean"])
    assert calls(some) == calls(alone)
    assert some.evidence == ("operation clean", "f5 is missing", "snapshot 5", "f4 is missing")
    assert some.advice == (
        "1 of them waits in the trash of the table. Undo what put it there, then look again for "
        "the others."
    )
    assert told("f5", f9=["clean"]).remedies[0].procedure == "remove_unexisting_files"


def test_what_lies_in_a_trash_whose_list_is_torn_is_moved_back_by_hand() -> None:
    # Neither an undo nor giving up the rows would run.
    alone = told("f5", places={"f5": "trash/clean/f5"})
    assert alone.remedies == ()
    assert alone.advice == (
        "It waits in the trash of the table, of which a list cannot be read, so that no undo "
        "brings it back. Move trash/clean/f5 back by hand to the same path below the table."
    )
    # One move for many files, not the first few of them by name.
    places = {f"f{n}": f"trash/clean/f{n}" for n in range(1, 5)}
    some = told("f1", "f2", "f3", "f4", "f5", places=places)
    assert some.remedies == ()
    assert some.advice == (
        "4 of them wait in the trash of the table, of which a list cannot be read, so that no undo "
        "brings them back. Move everything below trash/clean (4 of these files) back by hand to "
        "the same path below the table, then look again for the others."
    )
    two = told(
        "f1", "f2", "f3", places={"f1": "trash/a/f1", "f2": "trash/b/f2", "f3": "trash/a/f3"}
    )
    assert two.advice.endswith(
        "Move everything below trash/a (2 of these files) and below trash/b (1 of these files) "
        "back by hand to the same path below the table."
    )
    five = told(*"vwxyz", places={name: f"trash/{name}/file" for name in "vwxyz"})
    assert "trash/x (1 of these files) and below 2 other folders back by hand" in five.advice
    # Undo is advised first; the doctor finds the other files again afterwards.
    both = told("f4", "f5", places={"f4": "trash/clean/f4"}, f5=["later"])
    assert calls(both) == [("undo", {"table": "db.t", "operation": "later"})]


def test_a_branch_that_nothing_mends_can_be_dropped_but_main_cannot() -> None:
    assert found(HEAD, whole=(), branch="dev")["F20"].advice == (
        "Restore the files from a copy. Where there is none, drop the branch with reclaim."
    )


def test_a_head_that_nothing_whole_stands_before_is_for_a_copy() -> None:
    finding = found(HEAD, whole=())["F20"]
    assert finding.remedies == ()
    assert finding.advice == "Restore the files from a copy."
    assert found(HEAD, head_id=None)["F20"].remedies == ()


def test_older_snapshots_that_lack_a_file_expire() -> None:
    assert calls(found(OLD)["F20"]) == [
        ("expire_snapshots", {"table": "db.t", "retain_max": 3, "retain_min": 3, "max_deletes": 2})
    ]
    assert calls(found(OLD, whole=(3, 4, 5))["F20"]) == [
        ("expire_snapshots", {"table": "db.t", "retain_max": 3, "retain_min": 3, "max_deletes": 1})
    ]


def test_a_tag_that_lacks_a_file_goes_and_a_changelog_is_for_a_copy() -> None:
    told = found(TAG, CHANGELOG)
    assert calls(told["F21"]) == [("delete_tag", {"table": "db.t", "tag": "v1"})]
    assert told["F20"].remedies == ()


def test_many_of_a_kind_are_counted_and_the_first_are_named() -> None:
    many = [
        DamagedState(name=f"snapshot {each}", snapshot_id=each, data=(f"f{each} is missing",))
        for each in range(1, 6)
    ]
    finding = found(*many)["F20"]
    assert finding.text == (
        "5 data or index files of snapshot 1, snapshot 2, snapshot 3 and 2 more are not as their "
        "manifests say: f1 is missing; f2 is missing; f3 is missing."
    )
    assert len(finding.evidence) == 10


def test_no_call_is_advised_that_cannot_begin_from_a_torn_snapshot() -> None:
    torn = DamagedState(name="snapshot 5", snapshot_id=5, metadata=("torn",), is_torn=True)
    findings = found(torn, OLD, TAG, branch="dev")
    assert findings["F20"].remedies == ()
    assert calls(findings["F21"]) == [("delete_tag", {"table": "db.t$branch_dev", "tag": "v1"})]
    # Its own file is told with its copies.
    assert found(torn, branch="dev") == {}


def test_a_tag_of_what_a_cut_takes_leaves_with_it() -> None:
    head = DamagedState(name="snapshot 5", snapshot_id=5, metadata=("broken",))
    later = DamagedState(name="tag v5", tag="v5", tagged_id=5, metadata=("broken",))
    earlier = DamagedState(name="tag v1", tag="v1", tagged_id=1, metadata=("broken",))
    told = [name for name, _ in calls(found(head, later, earlier)["F21"])]
    assert told == ["rollback", "delete_tag"]
