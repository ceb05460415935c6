"""What the health of branches tells of files that several of them share."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.health.finding import HazardSeverity
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.preview import preview_call
from tests.support.branch_bench import NOW, BranchBench
from tests.support.commit_tables import data_files, message
from tests.support.health import findings, forget_base_tag_copy, rules, unfence
from tests.support.lifecycle import run

KEPT = {"snapshot.num-retained.min": "1000000000"}


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1, dev from there at 2; other engines expire snapshots of both."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    unfence(bench, "dev")
    forget_base_tag_copy(bench, "dev")
    return bench


def keep_snapshots(bench: BranchBench, *branches: str, by: dict[str, str] | None = None) -> None:
    for branch in branches:
        change_schema(bench.table(branch), bench.store, [set_options(by or KEPT)], now_millis=NOW)


def drop_pins(bench: BranchBench) -> None:
    """Take the tags of main away that a merge or a fast-forward left there."""
    main = bench.table()
    names = [name for name in main.tags.names() if name.startswith("branch-pin-")]
    bench.store.remover.remove([main.paths.tag(name) for name in names])


def run_remedies(bench: BranchBench, rule: str, branch: str = "dev") -> None:
    """Run what a finding says to run."""
    for number, remedy in enumerate(findings(bench)[branch][rule].remedies):
        arguments = {key: each for key, each in remedy.arguments.items() if key != "table"}
        bench.call(remedy.procedure, operation=f"{rule}-{branch}-{number}", **arguments)


def fast_forward(bench: BranchBench) -> None:
    bench.call("fast_forward", operation="ff", branch="dev")


def replace_main(bench: BranchBench) -> None:
    bench.append("x")
    bench.call("replace_main", operation="ff", branch="dev")


def by_other_software(bench: BranchBench) -> None:
    main, dev = bench.table().paths, bench.table("dev").paths
    bench.store.publisher.publish(main.snapshot(2), Path(dev.snapshot(2)).read_bytes())


@pytest.mark.parametrize("move", [fast_forward, replace_main, by_other_software])
def test_what_main_took_over_is_at_risk_until_a_tag_keeps_it(
    bench: BranchBench, move: Callable[[BranchBench], None]
) -> None:
    assert findings(bench) == {}
    move(bench)
    if move is not by_other_software:
        assert "dev" not in findings(bench)
    unfence(bench, "dev")
    drop_pins(bench)
    (finding,) = findings(bench)["dev"].values()
    assert (finding.rule, finding.severity) == ("F07", HazardSeverity.CRITICAL)
    assert finding.sentences == (
        "It shares all up to snapshot 2 with 'main', and no tag on main keeps that. Of what one of "
        "them removes, expiry by other engines deletes files that the other needs. Tag snapshot 2 "
        "of main for good, or fence 'main' and 'dev'. Or drop the branch."
    )
    # A tag that ends by itself keeps nothing for good.
    bench.call("create_tag", operation="brief", tag="brief", snapshot=2, time_retained="P1D")
    assert rules(bench, "dev") == ["F07"]
    run_remedies(bench, "F07")
    assert "dev" not in findings(bench)


@pytest.mark.parametrize("option", [KEPT, {"write-only": "true"}], ids=["kept", "write-only"])
def test_options_that_keep_snapshots_are_told_as_all_that_protects(
    bench: BranchBench, option: dict[str, str]
) -> None:
    fast_forward(bench)
    unfence(bench, "dev")
    drop_pins(bench)
    keep_snapshots(bench, "main", by=option)
    assert rules(bench, "dev") == ["F07"]
    keep_snapshots(bench, "dev", by=option)
    (finding,) = findings(bench)["dev"].values()
    assert (finding.rule, finding.severity) == ("F14", HazardSeverity.CRITICAL)
    (key,) = option
    assert f"'{key}' of 'main' and '{key}' of 'dev' are all that protects it." in finding.text
    assert "A dedicated compaction job" in finding.breaks
    assert finding.evidence[:3] == (f"main: {key}", f"dev: {key}", "F07")
    run_remedies(bench, "F14")
    assert "dev" not in findings(bench)


def test_what_went_on_since_a_fast_forward_stays_at_risk_where_it_has_expired(
    bench: BranchBench,
) -> None:
    fast_forward(bench)
    unfence(bench, "dev")
    drop_pins(bench)
    bench.append("c")
    bench.append("d", branch="dev")
    paths = bench.table().paths
    for snapshot_id in (1, 2):
        Path(paths.snapshot(snapshot_id)).unlink()
    finding = findings(bench)["dev"]["F07"]
    assert finding.advice == "Fence 'main' and 'dev'. Or drop the branch."
    run_remedies(bench, "F07")
    assert "F07" not in rules(bench, "dev")


def test_an_undone_fast_forward_shares_nothing_more(bench: BranchBench) -> None:
    fast_forward(bench)
    run(bench, "undo", "back", operation="ff")
    assert "dev" not in findings(bench)


def test_a_branch_that_another_one_took_over_shares_with_that(bench: BranchBench) -> None:
    bench.branch("release")
    bench.call("fast_forward", operation="ff", branch="dev", target="release")
    unfence(bench, "dev", "release")
    assert rules(bench, "dev") == ["F07"]
    text = findings(bench)["dev"]["F07"].sentences
    assert text.startswith("It shares all up to snapshot 2 with 'release', and no tag on main")
    assert "Fence 'release' and 'dev'." in text
    run_remedies(bench, "F07")
    assert "dev" not in findings(bench)


def test_a_base_tag_on_another_branch_than_main_keeps_nothing_from_other_engines(
    bench: BranchBench,
) -> None:
    bench.branch("sub", from_branch="dev")
    unfence(bench, "sub")
    text = "Its base tag 'branch-base-sub' stands on 'dev', and other engines"
    assert {"F01", "F02"} <= {*rules(bench, "sub")}
    assert findings(bench)["sub"]["F02"].text.startswith(text)
    keep_snapshots(bench, "dev", "sub")
    assert "F14" in rules(bench, "sub")
    assert {"F01", "F02"}.isdisjoint(rules(bench, "sub"))
    # A fence on each side keeps both.
    for name in ("dev", "sub"):
        bench.call("fence_branch", operation=f"fence-{name}", branch=name)
    assert findings(bench) == {}


def merged(tmp_path: Path) -> BranchBench:
    """Main with a commit of its own that merged dev, when neither expired by itself."""
    bench = BranchBench(tmp_path, options={"write-only": "true"})
    bench.append("a")
    bench.branch("dev")
    bench.append("b", "c", branch="dev")
    bench.append("x")
    receipt = bench.call("merge_branch", operation="merge", branch="dev")
    assert (receipt.counts.files_shared, receipt.counts.files_written) == (2, 0)
    assert findings(bench) == {}
    unfence(bench, "dev")
    forget_base_tag_copy(bench, "dev")
    drop_pins(bench)
    return bench


def test_merged_files_are_at_risk_until_a_fence_and_a_tag_keep_them(tmp_path: Path) -> None:
    bench = merged(tmp_path)
    assert rules(bench, "dev") == ["F14"]
    keep_snapshots(bench, "main", by={"write-only": "false"})
    finding = findings(bench)["dev"]["F13"]
    assert finding.severity is HazardSeverity.CRITICAL
    assert finding.text == "Merges made it share 2 data files with 'main'."
    assert finding.advice == "Fence 'dev' and tag snapshot 3 of main for good."
    # Each of the remedies alone is too little.
    bench.call("create_tag", operation="kept", tag="kept", snapshot=3)
    assert rules(bench, "dev") == ["F14"]
    bench.call("fence_branch", operation="fence", branch="dev")
    assert "dev" not in findings(bench)


def test_a_tag_behind_a_commit_that_removes_keeps_nothing_merged(tmp_path: Path) -> None:
    bench = merged(tmp_path)
    keep_snapshots(bench, "main", by={"write-only": "false"})
    bench.call("fence_branch", operation="fence", branch="dev")
    assert rules(bench, "dev") == ["F13"]
    bench.append("y")
    bench.tag("added")
    assert "dev" not in findings(bench)
    bench.store.remover.remove([bench.table().paths.tag("added")])
    overwrite(bench, "b", "z")
    bench.tag("removed")
    assert rules(bench, "dev") == ["F13"]


def test_an_undone_merge_shares_nothing_more(tmp_path: Path) -> None:
    bench = merged(tmp_path)
    run(bench, "undo", "back", operation="merge")
    assert "dev" not in findings(bench)


def test_files_that_a_merge_copied_are_not_shared(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.append("x")
    # A fence would have no effect, so that files are copied.
    keep_snapshots(bench, "dev", by={"consumer.expiration-time": "1 d"})
    path = Path(bench.path) / "bucket-0" / "data-b.parquet"
    path.parent.mkdir()
    path.write_bytes(b"rows")
    receipt = bench.call("merge_branch", operation="merge", branch="dev")
    assert receipt.counts.files_shared == 0
    unfence(bench, "dev")
    assert {"F13", "F14"}.isdisjoint(rules(bench, "dev"))


def test_a_tag_of_another_history_hides_those_of_main(bench: BranchBench) -> None:
    bench.branch("sub", from_branch="dev")
    bench.append("x")
    pin = ProcedureCall(
        name="pin_branch",
        arguments={"table": "db.t", "branch": "sub"},
        actor="ann",
        operation_id="pin",
    )
    foretold = [each.text for each in preview_call(bench.warehouse(), pin).consequences]
    bench.call("pin_branch", operation="pin", branch="sub")
    # What the finding says is said before the tag is made, in the same words.
    assert findings(bench)["main"]["F06"].sentences.startswith(tuple(foretold))
    assert findings(bench)["main"]["F06"].sentences == (
        "Tag 'branch-base-sub' names snapshot 2 of another history than main's. For each later "
        "snapshot that another engine expires on main, it spares only the files of this tag. "
        "Expiry on main may delete files of tag 'branch-base-dev'. Fence main, so that other "
        "engines delete nothing. Or delete the tag once no branch stands on it."
    )
    keep_snapshots(bench, "main")
    assert rules(bench, "main") == ["F14"]
    run_remedies(bench, "F14", "main")
    assert "main" not in findings(bench)
    assert rules(bench, "main", HazardSeverity.INFO) == ["F06"]


def test_what_a_cut_leaves_hides_tags_of_main_until_main_has_passed_it(bench: BranchBench) -> None:
    bench.append("b")
    bench.append("c")
    bench.branch("feature")
    bench.tag("later")
    for name in "def":
        bench.append(name)
    bench.call("rollback", operation="cut", snapshot=2, cut=True)
    assert findings(bench)["main"]["F06"].text.startswith("Tag 'branch-base-feature' names")
    for name in ("g", "h"):
        bench.append(name)
    assert "Tag 'branch-base-feature'" in findings(bench)["main"]["F06"].text
    # A tag of its own behind it, and nothing left that an expiry could go by the other for.
    bench.tag("own")
    for snapshot_id in (1, 2, 3):
        Path(bench.table().paths.snapshot(snapshot_id)).unlink()
    assert "main" not in findings(bench)


def test_tags_of_main_that_have_expired_are_its_own(bench: BranchBench) -> None:
    bench.tag("v1")
    for name in "bcd":
        bench.append(name)
        bench.tag(f"v-{name}")
    for snapshot_id in (1, 2, 3):
        Path(bench.table().paths.snapshot(snapshot_id)).unlink()
    assert findings(bench) == {}


def overwrite(bench: BranchBench, gone: str, new: str) -> None:
    """Replace a file of main by another one."""
    change = message(deleted_files=data_files([gone]), new_files=data_files([new]))
    bench.committer().commit([change], user="etl", identifier=1)


def test_a_later_tag_of_main_hides_the_base_tag_of_a_branch(bench: BranchBench) -> None:
    overwrite(bench, "a", "x")
    bench.tag("later")
    assert [*findings(bench)] == ["dev"]
    (finding,) = findings(bench)["dev"].values()
    assert (finding.rule, finding.severity) == ("F06", HazardSeverity.CRITICAL)
    assert finding.sentences == (
        "On main tag 'later' hides tag 'branch-base-dev', which keeps the snapshot that this "
        "branch started from. For each snapshot that another engine expires, it spares only the "
        "files of the nearest tag with a lower number. Expiry on 'dev' may delete files of tag "
        "'branch-base-dev' and of all that was made there. Fence it."
    )
    keep_snapshots(bench, "main")
    assert rules(bench, "dev") == ["F06"]
    keep_snapshots(bench, "dev")
    assert rules(bench, "dev") == ["F14"]
    run_remedies(bench, "F14")
    assert findings(bench) == {}
    assert findings(bench, HazardSeverity.INFO)["dev"]["F06"].severity is HazardSeverity.INFO


def test_a_tag_of_main_hides_no_base_tag_that_the_branch_has_not_reached(
    bench: BranchBench,
) -> None:
    overwrite(bench, "a", "x")
    bench.append("y")
    bench.tag("later")
    assert findings(bench) == {}
    bench.append("c", branch="dev")
    assert "tag 'later' hides" in findings(bench)["dev"]["F06"].text


def test_a_tag_of_main_that_holds_what_the_branch_began_with_hides_nothing(
    bench: BranchBench,
) -> None:
    bench.append("x")
    bench.tag("later")
    assert findings(bench) == {}


def test_a_tag_of_main_hides_nothing_of_what_has_expired_by_a_newer_one(
    bench: BranchBench,
) -> None:
    overwrite(bench, "a", "x")
    bench.tag("later")
    bench.append("y")
    bench.tag("latest")
    for name in "cd":
        bench.append(name, branch="dev")
    assert "tags 'later' and 'latest' hide tag" in findings(bench)["dev"]["F06"].text
    for snapshot_id in (1, 2, 3):
        Path(bench.table("dev").paths.snapshot(snapshot_id)).unlink()
    assert "tag 'latest' hides tag" in findings(bench)["dev"]["F06"].text


def merge_as_paimon(bench: BranchBench, *names: str, target: str = "main") -> None:
    """Commit data files of another branch as Paimon's own merge does."""
    added = message(new_files=data_files(names))
    made = bench.committer(target).commit([added], user="a-uuid", identifier=0)
    assert made is not None
    path = Path(bench.table(target).paths.snapshot(made.id))
    path.write_text(json.dumps({**json.loads(path.read_text()), "uuid": f"uuid-{made.id}"}))


def test_what_paimon_merged_is_at_risk_while_a_side_expires_by_itself(bench: BranchBench) -> None:
    bench.append("c", branch="dev")
    bench.append("x")
    merge_as_paimon(bench, "b", "c")
    told = findings(bench)
    assert [*told] == ["dev"]
    (finding,) = told["dev"].values()
    assert finding.rule == "F13"
    assert finding.text == "Paimon's own merge made it share 2 data files with 'main'."
    bench.append("d", branch="dev")
    bench.append("y")
    assert findings(bench) == told
    # Both hold it as one history, and nothing of it by a merge. Its base tag keeps it for main.
    bench.branch("after")
    assert [*findings(bench)] == ["dev"]
    assert findings(bench)["dev"]["F13"].advice == "Fence 'dev'."
    keep_snapshots(bench, "main", "dev")
    assert rules(bench, "dev") == ["F14"]
    run_remedies(bench, "F14")
    assert findings(bench) == {}


def test_what_paimon_merged_into_a_branch_is_told_by_that_where_main_came(
    bench: BranchBench,
) -> None:
    bench.append("x")
    bench.branch("sub")
    unfence(bench, "sub")
    forget_base_tag_copy(bench, "sub")
    merge_as_paimon(bench, "x", target="dev")
    assert [*findings(bench)] == ["dev", "sub"]
    assert "share 1 data file with 'main'" in findings(bench)["dev"]["F13"].text
    assert "share 1 data file with 'dev'" in findings(bench)["sub"]["F13"].text


def test_a_commit_that_looks_like_a_merge_but_took_nothing_is_none(bench: BranchBench) -> None:
    merge_as_paimon(bench, "x")
    assert findings(bench) == {}
