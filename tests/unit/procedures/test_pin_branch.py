from pathlib import Path

import pytest

from branch_console.diff.health.finding import HazardSeverity
from branch_console.errors import NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.browse.branches import list_branches
from tests.support.branch_bench import BranchBench
from tests.support.health import unfence
from tests.support.lifecycle import metadata, preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def findings(bench: BranchBench, branch: str) -> tuple[str, ...]:
    items = list_branches(bench.warehouse(), bench.identifier)
    found = next(each.findings for each in items if each.name == branch)
    return tuple(each.sentences for each in found if each.severity is not HazardSeverity.INFO)


def test_a_lost_base_tag_is_made_again_byte_for_byte(bench: BranchBench) -> None:
    before = metadata(bench)
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])
    assert findings(bench, "dev")
    run(bench, "pin_branch", branch="dev")
    assert metadata(bench) == before
    assert findings(bench, "dev") == ()
    event = bench.table().ledger.events()[-1]
    assert (event.kind, event.branch, event.base_tag) == (
        LineageKind.PINNED,
        "dev",
        "branch-base-dev",
    )


def test_a_pin_that_stands_is_said(bench: BranchBench) -> None:
    before = metadata(bench)
    with pytest.raises(Refused, match="keeps snapshot 1 already") as caught:
        run(bench, "pin_branch", branch="dev")
    assert caught.value.kind == "NOTHING_TO_DO"
    assert metadata(bench) == before


def test_a_name_that_means_something_else_is_left_alone(bench: BranchBench) -> None:
    bench.append("x")
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])
    bench.tag("branch-base-dev")
    run(bench, "pin_branch", branch="dev")
    tags = bench.table().tags
    assert tags.get("branch-base-dev").snapshot.id == 2
    assert tags.get("branch-base-dev-2").snapshot.id == 1
    with pytest.raises(Refused, match="it is the base tag of branch 'dev'"):
        run(bench, "delete_tag", "away", tag="branch-base-dev-2")


def test_a_branch_made_elsewhere_is_pinned_where_it_began(bench: BranchBench) -> None:
    main, other = bench.table().paths, bench.table("other").paths
    for source, target in (
        (main.schema(0), other.schema(0)),
        (main.snapshot(1), other.snapshot(1)),
    ):
        bench.store.publisher.publish(target, Path(source).read_bytes())
    bench.store.remover.remove([main.tag("branch-base-dev")])
    run(bench, "pin_branch", branch="other")
    assert bench.table().tags.get("branch-base-other").snapshot.id == 1


def test_a_branch_made_elsewhere_is_pinned_at_the_oldest_that_it_holds(bench: BranchBench) -> None:
    bench.tag("v1")
    main, other = bench.table().paths, bench.table("other").paths
    for source, target in (
        (main.schema(0), other.schema(0)),
        (main.tag("v1"), other.tag("v1")),
        (main.snapshot(1), other.snapshot(1)),
    ):
        bench.store.publisher.publish(target, Path(source).read_bytes())
    bench.append("x", branch="other")
    bench.store.remover.remove([other.snapshot(1), main.tag("branch-base-dev")])
    run(bench, "pin_branch", branch="other")
    assert bench.table().tags.get("branch-base-other").snapshot.id == 1


def test_what_cannot_be_pinned(bench: BranchBench) -> None:
    run(bench, "create_branch", "bare", branch="bare", empty=True)
    with pytest.raises(Refused, match="began empty"):
        run(bench, "pin_branch", branch="bare")
    with pytest.raises(NotFound):
        run(bench, "pin_branch", branch="nope")


def test_what_was_cut_off_is_pinned_where_it_left_main(bench: BranchBench) -> None:
    bench.append("b")
    bench.append("c")
    run(bench, "rollback", "cut", snapshot=2, cut=True)
    assert findings(bench, "rescue-cut") == ()
    # Somebody took the pin of the cut away.
    bench.store.remover.remove([bench.table().paths.tag("branch-pin-cut")])
    assert "Pin it" in findings(bench, "rescue-cut")[0]
    run(bench, "pin_branch", branch="rescue-cut")
    # The head of the rescue branch has an id that main will give to somebody else.
    tag = "branch-base-rescue-cut"
    assert bench.table().tags.get(tag).snapshot == bench.table().head()
    assert findings(bench, "rescue-cut") == ()
    with pytest.raises(Refused, match="keeps snapshot 2 already"):
        run(bench, "pin_branch", "again", branch="rescue-cut")
    with pytest.raises(Refused, match="it is the base tag of branch 'rescue-cut'"):
        run(bench, "delete_tag", "away", tag=tag)


def test_what_was_cut_off_stays_at_risk_once_its_fork_expired(bench: BranchBench) -> None:
    bench.append("b")
    bench.append("c")
    run(bench, "rollback", "cut", snapshot=2, cut=True)
    # Somebody took the pin of the cut away.
    bench.store.remover.remove([bench.table().paths.tag("branch-pin-cut")])
    bench.append("d")
    paths = bench.table().paths
    bench.store.remover.remove([paths.snapshot(1), paths.snapshot(2)])
    assert "Pin it" in findings(bench, "rescue-cut")[0]


def test_a_replaced_main_is_pinned_where_the_branch_left_it(bench: BranchBench) -> None:
    bench.append("x")
    run(bench, "replace_main", "swap", branch="dev")
    run(bench, "pin_branch", branch="rescue-swap")
    assert bench.table().tags.get("branch-base-rescue-swap").snapshot.id == 1
    assert findings(bench, "rescue-swap") == ()


def test_a_pin_of_another_history_says_which_tags_of_main_it_hides(bench: BranchBench) -> None:
    bench.branch("sub", from_branch="dev")
    warned = [each.text for each in preview(bench, "pin_branch", branch="sub").consequences]
    assert any("may delete files of tag 'branch-base-dev'" in each for each in warned)
    run(bench, "fence_branch", "fence", branch="main")
    calm = [each.text for each in preview(bench, "pin_branch", branch="sub").consequences]
    assert not any("may delete files" in each for each in calm)


def test_a_pin_of_main_s_own_history_hides_nothing(bench: BranchBench) -> None:
    bench.tag("v1")
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])
    told = [each.text for each in preview(bench, "pin_branch", branch="dev").consequences]
    assert not any("may delete files" in each for each in told)


def test_what_a_replaced_branch_was_is_at_risk_from_that_branch(bench: BranchBench) -> None:
    bench.branch("other", from_branch="dev")
    bench.append("x", branch="other")
    bench.append("c", branch="dev")
    run(bench, "fast_forward", "swap", branch="other", target="dev", force=True)
    unfence(bench, "dev", "rescue-swap")
    told = " ".join(findings(bench, "rescue-swap"))
    assert "Expiry on 'dev' may delete files that this branch needs." in told
