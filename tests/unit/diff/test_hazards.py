"""Each rule of health on histories that have its hazard, and on the same without it."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.fork_inference import best_forks
from branch_console.diff.health.facts import BranchFacts, HazardFork, TableFacts
from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.diff.health.hazards import Hazards
from branch_console.diff.lineage import build_lineage
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.tag import Tag
from tests.support.golden import Golden


def snapshot(number: int, line: str, kind: CommitKind = CommitKind.APPEND) -> Snapshot:
    """A snapshot that its line and number make known everywhere."""
    return Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list=f"manifest-list-{line}-{number}-0",
        delta_manifest_list=f"manifest-list-{line}-{number}-1",
        commit_user=line,
        commit_identifier=2**63 - 1,
        commit_kind=kind,
        time_millis=1_000 * number,
    )


M1, M2, M3, M4 = (snapshot(number, "main") for number in range(1, 5))
OVER = snapshot(2, "main", CommitKind.OVERWRITE)
D2, D3 = (snapshot(number, "dev") for number in (2, 3))
E1, E2 = (snapshot(number, "empty") for number in (1, 2))


def tags(*given: tuple[str, Snapshot], days: float | None = None) -> tuple[Tag, ...]:
    seconds = None if days is None else days * 86_400
    return tuple(
        Tag(name=name, snapshot=named, time_retained_seconds=seconds) for name, named in given
    )


def facts(
    branch: str,
    snapshots: Iterable[Snapshot],
    *,
    fork: Snapshot | None = None,
    named: tuple[Tag, ...] = (),
    **more: object,
) -> BranchFacts:
    found = BranchFacts(
        trace=BranchTrace(branch=branch, snapshots=tuple(snapshots), tags=named),
        fork=None
        if fork is None
        else HazardFork(parent="main", identity=fork.identity, snapshot_id=fork.id),
    )
    return replace(found, **more)  # type: ignore[arg-type]


def event(kind: LineageKind, branch: str, source: str | None = None) -> LineageEvent:
    return LineageEvent(
        id=f"{kind}-{branch}",
        branch=branch,
        operation_id=f"{kind}-{branch}",
        actor="ann",
        kind=kind,
        source_branch=source,
        time_millis=1,
    )


def findings(
    *branches: BranchFacts,
    events: tuple[LineageEvent, ...] = (),
    lost: tuple[str, ...] = (),
    older: tuple[str, ...] = (),
    tips: tuple[str, ...] = (),
) -> dict[str, dict[str, HealthFinding]]:
    """All findings, by branch and rule."""
    traces = [each.trace for each in branches]
    table = TableFacts(
        table="db.t",
        branches={each.trace.branch: each for each in branches},
        lineage=build_lineage(traces, events, best_forks(traces, events)),
        count_taken=lambda *_: 0,
        lost_commits=lambda _: lost,
        older_lists=lambda: older,
        lost_tips=lambda lists: tuple(each for each in tips if each in lists),
    )
    hazards = Hazards(table)
    return {name: {each.rule: each for each in hazards.of(name)} for name in hazards.branches}


def bad(found: dict[str, dict[str, HealthFinding]]) -> dict[str, str]:
    """What is worse than an info, as `branch rule` and how bad it is."""
    return {
        f"{name} {rule}": str(finding.severity)
        for name, each in found.items()
        for rule, finding in each.items()
        if finding.severity is not HazardSeverity.INFO
    }


T1 = tags(("t1", M1))
MAIN = facts("main", [M1, M2], named=T1)
DEV = facts("dev", [M1, D2], fork=M1)


def test_f00_one_tag_keeps_what_a_branch_began_at() -> None:
    found = findings(MAIN, DEV)
    assert bad(found) == {}
    (finding,) = found["dev"].values()
    assert (finding.rule, finding.severity) == ("F00", HazardSeverity.INFO)
    (remedy,) = finding.remedies
    assert remedy.arguments == {"table": "db.t", "branch": "dev", "twin": True}
    twins = facts("main", [M1, M2], named=tags(("t1", M1), ("t1-twin", M1)))
    assert findings(twins, DEV)["dev"] == {}
    # Of a main that never expires the tag is not needed.
    assert findings(replace(MAIN, is_fenced=True), DEV)["dev"] == {}


@pytest.mark.parametrize(
    ("is_main_fenced", "is_fenced", "wanted"),
    [
        (False, False, {"dev F01": "critical", "dev F02": "critical"}),
        (False, True, {"dev F02": "critical"}),
        (True, False, {"dev F01": "critical"}),
        (True, True, {}),
    ],
)
def test_f01_and_f02_no_tag_keeps_what_a_branch_began_at(
    is_main_fenced: bool, is_fenced: bool, wanted: dict[str, str]
) -> None:
    main = facts("main", [M1, M2], is_fenced=is_main_fenced)
    found = findings(main, replace(DEV, is_fenced=is_fenced))
    assert bad(found) == wanted
    for rule, procedures in {"F01": ["pin_branch", "fence_branch"], "F02": ["pin_branch"]}.items():
        if rule in found["dev"]:
            assert [each.procedure for each in found["dev"][rule].remedies] == procedures
            assert found["dev"][rule].needs_pin


def test_a_branch_that_holds_nothing_or_began_with_nothing_needs_no_tag() -> None:
    main = facts("main", [M1, M2])
    assert findings(main, facts("dev", [], fork=M1))["dev"] == {}
    assert findings(main, facts("dev", [E1], began_empty=True))["dev"] == {}


def test_f03_the_last_tag_on_what_expired_on_main() -> None:
    main = facts("main", [M3], named=tags(("t1", M1)))
    assert bad(findings(main, DEV)) == {"dev F03": "warning"}
    # No fence of main keeps what a deleted tag takes along.
    assert bad(findings(replace(main, is_fenced=True), DEV)) == {"dev F03": "warning"}
    twins = facts("main", [M3], named=tags(("t1", M1), ("t1-twin", M1)))
    assert bad(findings(twins, DEV)) == {}


def test_f03_a_tag_that_ends_by_itself() -> None:
    brief = tags(("t1", M1), days=7)
    found = findings(facts("main", [M3], named=brief), DEV)
    assert bad(found) == {"dev F03": "critical"}
    assert found["dev"]["F03"].evidence == ("tag t1",)
    there = facts("main", [M1, M2], named=brief)
    assert bad(findings(there, DEV)) == {"dev F03": "warning"}
    assert bad(findings(replace(there, is_fenced=True), DEV)) == {}


def test_f04_a_tag_of_a_branch_on_what_expired_there() -> None:
    dev = facts("dev", [D3], fork=M1, named=tags(("t1", M1)))
    found = findings(MAIN, dev)
    assert found["dev"]["F04"].severity is HazardSeverity.CRITICAL
    assert "F04" in findings(MAIN, replace(dev, is_fenced=True))["dev"]
    assert "F04" not in findings(MAIN, facts("dev", [M1, D2], fork=M1, named=T1))["dev"]
    # Only the branch holds what is deleted with this one.
    own = facts("dev", [D3], fork=M1, named=tags(("own", D2)))
    assert "F04" not in findings(MAIN, own)["dev"]


def test_f05_tags_of_a_branch_without_a_fence() -> None:
    dev = facts("dev", [M1, D2], fork=M1, named=tags(("own", D2), ("t1", M1)))
    finding = findings(MAIN, dev)["dev"]["F05"]
    assert (finding.severity, finding.evidence) == (HazardSeverity.WARNING, ("tag own",))
    assert finding.fences("dev")
    assert "F05" not in findings(MAIN, replace(dev, is_fenced=True))["dev"]


def test_f06_a_later_tag_of_main_hides_the_base_tag() -> None:
    main = facts("main", [M1, OVER], named=tags(("t1", M1), ("later", OVER)))
    assert bad(findings(main, DEV)) == {"dev F06": "critical"}
    fenced = findings(main, replace(DEV, is_fenced=True))
    assert bad(fenced) == {}
    assert fenced["dev"]["F06"].remedies == ()
    assert bad(findings(main, replace(DEV, kept_by="write-only"))) == {"dev F14": "critical"}


def test_f06_and_f11_a_tag_of_a_branch_on_main() -> None:
    main = facts("main", [M1, M2, M3], named=tags(("t1", M1), ("auto", D2)))
    wanted = {"main F06": "critical", "main F11": "warning"}
    assert bad(findings(main, DEV)) == wanted
    # A pin of a branch of a branch hides tags of main as well, and is where it has to be.
    sub = facts("sub", [D2], fork=D2)
    assert bad(findings(main, DEV, sub)) == {"main F06": "critical", "sub F03": "warning"}


def test_f11_an_option_by_which_a_branch_makes_tags_on_main() -> None:
    dev = replace(DEV, tag_option="tag.automatic-creation=batch")
    assert bad(findings(MAIN, dev)) == {"dev F11": "warning"}


def test_f07_a_history_shared_since_a_fast_forward() -> None:
    main = facts("main", [M1, D2], named=T1)
    found = findings(main, DEV)
    assert bad(found) == {"dev F07": "critical"}
    assert [each.procedure for each in found["dev"]["F07"].remedies] == [
        "fence_branch",
        "create_tag",
    ]
    kept = facts("main", [M1, D2], named=tags(("t1", M1), ("d2", D2)))
    assert bad(findings(kept, DEV)) == {}
    fenced = replace(DEV, is_fenced=True)
    assert bad(findings(main, fenced)) == {"dev F07": "critical"}
    assert bad(findings(replace(main, is_fenced=True), fenced)) == {}


def test_f08_a_branch_that_began_with_nothing_over_main() -> None:
    main = facts("main", [E1, E2])
    dev = facts("dev", [E1, E2], began_empty=True)
    older = ("manifest-list-main-1-0",)
    assert bad(findings(main, dev, older=older))["dev F08"] == "critical"
    assert "dev F08" not in bad(findings(main, dev))
    forked = facts("dev", [E1, E2], fork=E1)
    assert "dev F08" not in bad(findings(main, forked, older=older))
    ours = (event(LineageKind.REPLACED, "main", "dev"),)
    assert "dev F08" not in bad(findings(main, dev, older=older, events=ours))


def test_f09_main_rolled_back_below_the_fork() -> None:
    other = snapshot(2, "again")
    main = facts("main", [M1, other])
    dev = facts("dev", [M2, D3], fork=M2)
    found = findings(main, dev)
    assert bad(found) == {"dev F09": "critical"}
    assert bad(findings(replace(main, is_fenced=True), dev)) == {}
    # Where it has expired on main nothing was rolled back.
    assert set(bad(findings(facts("main", [M3, M4]), dev))) == {"dev F01", "dev F02"}
    # What Java copied into the branch tells where it began, also if main has less left.
    guessed = facts("dev", [M2, D3], fork=M1, named=tags(("t2", M2)))
    assert "dev F09" in bad(findings(facts("main", [M1]), guessed))
    again = snapshot(2, "again")
    begun = facts("dev", [M2, D3], fork=again, named=tags(("t2", M2)))
    assert "dev F09" in bad(findings(facts("main", [again]), begun))
    # The same where the guess has no id, and not where no tag tells.
    nameless = replace(dev, fork=HazardFork(parent="main", identity=M2.identity, snapshot_id=None))
    assert "dev F09" not in bad(findings(main, nameless))
    tagged = replace(nameless, trace=guessed.trace)
    assert "dev F09" in bad(findings(main, tagged))
    # A branch of ours has a fork that the ledger knows, so that nothing is guessed.
    ours = replace(guessed, base_tag="branch-base-dev")
    assert "dev F09" not in bad(findings(facts("main", [M1]), ours))
    # What main gave up by expiry it gives to no other snapshot.
    expired = facts("dev", [M2, D3], fork=M3, named=tags(("t2", M2)))
    assert "dev F09" not in bad(findings(facts("main", [M3, M4]), expired))


def test_f09_is_remedied_by_a_tag_on_what_main_still_lists_and_else_by_a_fence() -> None:
    again = [snapshot(number, "again") for number in (2, 3)]
    dev = facts("dev", [M1, M2, D3], fork=M2)

    def remedy(*branches: BranchFacts) -> tuple[str, object]:
        (found,) = findings(*branches)["dev"]["F09"].remedies
        return found.procedure, found.arguments.get("snapshot", found.arguments.get("branch"))

    assert remedy(facts("main", [M1, *again]), dev) == ("create_tag", 1)
    # It expired on main, and only another branch lists it.
    other = facts("other", [M1, again[0]])
    assert remedy(facts("main", again), dev, other) == ("fence_branch", "main")
    # They share nothing at all.
    assert remedy(facts("main", again), dev) == ("fence_branch", "main")


def test_f10_branches_that_other_engines_dropped() -> None:
    made = (event(LineageKind.FORKED, "old", "main"), event(LineageKind.FORKED, "dev", "main"))
    found = findings(MAIN, DEV, events=made)
    assert found["main"]["F10"].severity is HazardSeverity.INFO
    assert found["main"]["F10"].evidence == ("branch old",)
    dropped = (*made, event(LineageKind.DROPPED, "old"))
    assert "F10" not in findings(MAIN, DEV, events=dropped)["main"]


def test_f12_snapshots_below_the_hint() -> None:
    main = facts("main", [M1, M2, M3], named=T1, below_earliest=(1, 2))
    assert bad(findings(main, DEV)) == {"main F12": "warning"}


def test_f14_options_are_all_that_protects() -> None:
    main = facts("main", [M1, D2], named=T1, kept_by="write-only")
    assert bad(findings(main, DEV)) == {"dev F07": "critical"}
    dev = replace(DEV, kept_by="snapshot.num-retained.min")
    finding = findings(main, dev)["dev"]["F14"]
    assert finding.severity is HazardSeverity.CRITICAL
    assert finding.evidence[:2] == ("main: write-only", "dev: snapshot.num-retained.min")
    plain = facts("main", [M1, M2], kept_by="write-only")
    assert bad(findings(plain, replace(DEV, is_fenced=True))) == {"dev F14": "critical"}
    assert bad(findings(plain, replace(DEV, kept_by="write-only"))) == {"dev F14": "critical"}


def test_f15_and_f16_another_fast_forward() -> None:
    main = facts("main", [M1, D2, snapshot(3, "main")], named=tags(("t1", M1), ("d2", D2)))
    dev = facts("dev", [M1, D2, D3], fork=M1)
    assert bad(findings(main, dev)) == {"dev F16": "warning"}
    lost = ("manifest/manifest-list-x-1",)
    found = findings(main, dev, lost=lost)
    assert bad(found) == {"dev F15": "critical", "dev F16": "warning"}
    assert found["dev"]["F15"].evidence == lost
    ours = (event(LineageKind.FAST_FORWARDED, "main", "dev"),)
    assert bad(findings(main, dev, lost=lost, events=ours)) == {"dev F16": "warning"}
    # What merely left main at one snapshot has diverged, which is no hazard.
    assert bad(findings(MAIN, DEV, lost=lost)) == {}


def test_f17_a_rescue_branch_lists_snapshots_of_main_that_nothing_keeps() -> None:
    # Main was cut back to snapshot 3; the rescue branch has its history, of which one is pinned.
    pinned = tags(("t3", M3))
    main = facts("main", [M1, M2, M3], named=pinned)
    rescue = facts("rescue-1", [M1, M2, M3, M4], fork=M3, is_fenced=True)
    came = (event(LineageKind.RESCUED, "rescue-1", "main"),)
    found = findings(main, rescue, events=came)
    assert bad(found) == {}
    finding = found["rescue-1"]["F17"]
    assert finding.evidence == ("snapshot 1 of main", "snapshot 2 of main")
    assert [dict(each.arguments) for each in finding.remedies] == [
        {"table": "db.t", "tag": f"shared-rescue-1-{number}", "snapshot": number}
        for number in (1, 2)
    ]
    # The remedy remedies it, as does a main that never expires; of other branches nobody asks it.
    kept = replace(main, trace=replace(main.trace, tags=(*pinned, *tags(("s1", M1), ("s2", M2)))))
    assert "F17" not in findings(kept, rescue, events=came)["rescue-1"]
    fenced = replace(main, is_fenced=True)
    assert "F17" not in findings(fenced, rescue, events=came)["rescue-1"]
    assert "F17" not in findings(main, rescue)["rescue-1"]


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"has_fence": True, "fence_obstacles": ("consumer.expiration-time",)}, "has no effect"),
        ({"has_fence": True}, "was reset"),
        ({"was_fenced": True}, "is gone"),
    ],
)
def test_f23_a_fence_that_holds_nothing(state: dict[str, object], text: str) -> None:
    found = findings(MAIN, replace(DEV, **state))  # type: ignore[arg-type]
    assert bad(found) == {"dev F23": "critical"}
    finding = found["dev"]["F23"]
    assert text in finding.text
    assert finding.fences("dev") == (not state.get("fence_obstacles"))
    mended = replace(DEV, is_fenced=True, has_fence=True, was_fenced=True)
    assert bad(findings(MAIN, mended)) == {}
    assert "F23" not in findings(MAIN, DEV)["dev"]


def test_findings_come_with_the_worst_first_and_in_whole_sentences() -> None:
    main = facts("main", [M1, M2])
    dev = facts("dev", [M1, D2], fork=M1, named=tags(("own", D2)), below_earliest=(1,))
    found = list(findings(main, dev)["dev"].values())
    assert [each.rule for each in found] == ["F01", "F02", "F05", "F12"]
    for each in found:
        for sentence in (each.text, each.breaks, each.advice):
            assert sentence[0].isupper()
            assert sentence.endswith(".")


def receipt(files: int) -> Receipt:
    return Receipt(
        operation_id="m",
        statement="MERGE",
        actor="ann",
        plan_id="p",
        counts=Counts(files_shared=files),
        started_millis=1,
        finished_millis=1,
    )


def merged(after: Snapshot, source: str, target: str = "main", files: int = 2) -> LineageEvent:
    made = event(LineageKind.MERGED, target, source)
    return replace(made, after=after.identity, receipt=receipt(files), parents=(D2.identity,))


FENCED = replace(DEV, is_fenced=True)
KEPT = replace(DEV, kept_by="write-only")
BARE = facts("main", [M1, M2])
FORWARDED = facts("main", [M1, D2], named=T1)
REPLACED = facts("main", [E1, E2])
EMPTY = facts("dev", [E1, E2], began_empty=True)
BOTH = facts("main", [M1, D2, M3], named=tags(("t1", M1), ("d2", D2)))
MOVED = facts("dev", [M1, D2, D3], fork=M1)
SUB = replace(
    facts("sub", [D2, D3]),
    fork=HazardFork(parent="dev", identity=D2.identity, snapshot_id=2),
)
MERGED = facts("main", [M1, M2, M3], named=T1)
DROP = replace(
    event(LineageKind.DROPPED, "old"), receipt=replace(receipt(0), rescue_branch="rescue-old")
)
NAMES_OLD = (("scan.fallback-branch", "old"),)
SCENES: dict[str, tuple[tuple[BranchFacts, ...], dict[str, tuple[object, ...]]]] = {
    "F00": ((MAIN, DEV), {}),
    "F01 F02": ((BARE, replace(DEV, base_tag="branch-base-dev")), {}),
    "F01 F02 without a tag": ((BARE, DEV), {}),
    "F01 of a branch of a branch": ((MAIN, DEV, SUB), {}),
    "F02 of a branch of a tagged branch": (
        (MAIN, replace(FENCED, trace=replace(DEV.trace, tags=tags(("b", D2)))), SUB),
        {},
    ),
    "F02 of a fork without an id": (
        (
            BARE,
            replace(DEV, fork=HazardFork(parent="main", identity=M1.identity, snapshot_id=None)),
        ),
        {},
    ),
    "F03 last": ((facts("main", [M3], named=T1), DEV), {}),
    "F03 brief": ((facts("main", [M3], named=tags(("t1", M1), days=7)), DEV), {}),
    "F03 brief and listed": ((facts("main", [M1], named=tags(("t1", M1), days=7)), DEV), {}),
    "F04": ((MAIN, facts("dev", [D3], fork=M1, named=tags(("t1", M1), ("t2", M1)))), {}),
    "F04 fenced": (
        (MAIN, replace(facts("dev", [D3], fork=M1, named=T1), is_fenced=True)),
        {},
    ),
    "F05": ((MAIN, facts("dev", [M1, D2], fork=M1, named=tags(("own", D2)))), {}),
    "F06": ((facts("main", [M1, OVER], named=tags(("t1", M1), ("later", OVER))), DEV), {}),
    "F06 fenced": (
        (facts("main", [M1, OVER], named=tags(("t1", M1), ("later", OVER))), FENCED),
        {},
    ),
    "F06 F11": (
        (facts("main", [M1, M2, M3], named=tags(("t1", M1), ("auto", D2))), DEV),
        {"events": (event(LineageKind.FORKED, "dev", "main"),)},
    ),
    "F11 of an unknown branch": (
        (
            facts("main", [M1, M2, M3], named=tags(("t1", M1), ("auto", D2))),
            replace(DEV, tag_option="tag.automatic-creation=batch"),
        ),
        {},
    ),
    "F07": ((FORWARDED, DEV), {}),
    "F07 fenced": ((FORWARDED, FENCED), {}),
    "F07 expired on main": ((facts("main", [D3]), facts("dev", [M1, D2, D3], fork=M1)), {}),
    "F08": ((REPLACED, EMPTY), {"older": ("l1",), "tips": ("l1",)}),
    "F08 without a way back": ((REPLACED, EMPTY), {"older": ("l1",)}),
    "F09": ((facts("main", [M1, snapshot(2, "x")]), facts("dev", [M2, D3], fork=M2)), {}),
    "F09 with something in common": (
        (facts("main", [M1, snapshot(2, "x")]), facts("dev", [M1, M2, D3], fork=M2)),
        {},
    ),
    "F09 with nothing in common": (
        (facts("main", [snapshot(2, "x")]), facts("dev", [M2, D3], fork=M2)),
        {},
    ),
    "F09 of a fenced main": (
        (
            replace(facts("main", [M1, snapshot(2, "x")]), is_fenced=True),
            facts("dev", [M2, D3], fork=M2),
        ),
        {},
    ),
    "F09 of what main cut from its end": (
        (facts("main", [M1]), facts("dev", [M2, D3], fork=M1, named=tags(("t2", M2)))),
        {},
    ),
    "a base tag that the ledger names, of another branch's history": (
        (facts("main", [M1], named=tags(("base", E1))), replace(DEV, base_tag="base")),
        {},
    ),
    "a parent that cannot be read": ((MAIN, SUB), {}),
    "a brief tag on a fenced main": (
        (
            replace(facts("main", [M1], named=tags(("t1", M1), days=7)), is_fenced=True),
            DEV,
        ),
        {},
    ),
    "a brief tag beside a lasting one": (
        (facts("main", [M1, M2], named=(*tags(("t1", M1), days=7), *tags(("t2", M1)))), DEV),
        {},
    ),
    "F10 of a branch that cannot be read": (
        (MAIN, DEV),
        {"events": (event(LineageKind.FORKED, "dev", "main"),)},
    ),
    "F17": (
        (
            facts("main", [M1, M2, M3], named=tags(("t3", M3))),
            facts("rescue-1", [M1, M2, M3, M4], fork=M3, is_fenced=True),
        ),
        {"events": (event(LineageKind.RESCUED, "rescue-1", "main"),)},
    ),
    "F10": (
        (MAIN, DEV),
        {"events": tuple(event(LineageKind.FORKED, each, "main") for each in ("old", "older"))},
    ),
    "F12": ((facts("main", [M1, M2, M4], named=T1, below_earliest=(1, 2)), DEV), {}),
    "F13": ((MERGED, DEV), {"events": (merged(M3, "dev"),)}),
    "F13 pinned": (
        (replace(MERGED, trace=replace(MERGED.trace, tags=tags(("t1", M1), ("m3", M3)))), DEV),
        {"events": (merged(M3, "dev"),)},
    ),
    "F13 fenced": ((MERGED, FENCED), {"events": (merged(M3, "dev"),)}),
    "F13 of a state that is gone": ((MERGED, DEV), {"events": (merged(M4, "dev"),)}),
    "F14": ((replace(FORWARDED, kept_by="write-only"), KEPT), {}),
    "F15": ((BOTH, MOVED), {"lost": ("m/l1", "m/l2"), "tips": ("l1",)}),
    "F15 without a way back": ((BOTH, MOVED), {"lost": ("m/l1",)}),
    "F16": ((BOTH, MOVED), {}),
    "F22": ((replace(MAIN, named_branches=NAMES_OLD), DEV), {}),
    "F22 dropped by us": ((replace(MAIN, named_branches=NAMES_OLD), DEV), {"events": (DROP,)}),
    "F23": ((MAIN, replace(DEV, was_fenced=True)), {}),
    "F23 reset": ((MAIN, replace(DEV, has_fence=True)), {}),
    "F23 with options": (
        (MAIN, replace(DEV, has_fence=True, fence_obstacles=("consumer.a", "consumer.b"))),
        {},
    ),
    "F23 gone and options": (
        (MAIN, replace(DEV, was_fenced=True, fence_obstacles=("consumer.a",))),
        {},
    ),
    "F25": ((replace(MAIN, missing_schemas=(0,)), replace(DEV, missing_schemas=(0, 1))), {}),
}


def test_what_is_told_stays_as_it_was_read(golden: Golden) -> None:
    told = {
        name: [
            f"{each.rule} {each.severity} {each.branch} [{', '.join(each.evidence)}] "
            f"{each.sentences} {[(one.procedure, dict(one.arguments)) for one in each.remedies]}"
            for of_branch in findings(*branches, **more).values()  # type: ignore[arg-type]
            for each in of_branch.values()
        ]
        for name, (branches, more) in SCENES.items()
    }
    lines = [line for name, each in told.items() for line in (f"# {name}", *each)]
    golden.check("hazards.txt", "\n".join(lines) + "\n")


UNKNOWN_ID = HazardFork(parent="main", identity=M1.identity, snapshot_id=None)


def fences(*branches: str) -> list[dict[str, object]]:
    return [{"table": "db.t", "branch": each} for each in branches]


def remedies(finding: HealthFinding) -> list[dict[str, object]]:
    return [dict(each.arguments) for each in finding.remedies]


def test_f07_says_nothing_where_no_other_engine_expires() -> None:
    found = findings(replace(FORWARDED, is_fenced=True), FENCED)
    assert "F07" not in found["dev"]


def test_f07_of_a_branch_whose_fork_has_no_number() -> None:
    dev = facts("dev", [M1, D2, D3], fork=M1)
    assert "F07" in findings(FORWARDED, replace(dev, fork=UNKNOWN_ID))["dev"]


def test_f07_of_a_branch_of_a_branch_and_main() -> None:
    sub = replace(SUB, trace=replace(SUB.trace, snapshots=(M1, D2, D3)))
    found = findings(BARE, DEV, sub)
    assert found["sub"]["F07"].evidence == ("snapshot 1 of sub", "branch main")
    # What its own parent lost of it is told as a rollback.
    lost = facts("dev", [M1, M2, D3], fork=M2)
    assert set(bad(findings(facts("main", [M1, snapshot(2, "x")]), lost))) == {"dev F09"}


def test_two_branches_that_share_what_main_never_had_are_fenced() -> None:
    dev = facts("dev", [M1, D2, D3], fork=M1)
    sub = facts("sub", [M1, D2, snapshot(3, "sub")], fork=M1)
    main = facts("main", [M1, M2], named=T1)
    moved = (event(LineageKind.FAST_FORWARDED, "sub", "dev"),)
    found = findings(main, dev, sub, lost=("manifest/manifest-list-x-1",), events=moved)["dev"]
    assert remedies(found["F07"]) == fences("sub", "dev")
    assert found["F07"].advice == "Fence 'sub' and 'dev'. Or drop the branch."
    # A fast-forward of another branch took nothing from main.
    assert not {"F15", "F16"} & found.keys()


def test_f15_is_not_told_where_main_is_all_of_a_branch_that_began_empty() -> None:
    found = findings(REPLACED, EMPTY, older=("l1",), lost=("m/l1",))["dev"]
    assert "F08" in found
    assert "F15" not in found


@pytest.mark.parametrize(
    "other",
    [
        event(LineageKind.MERGED, "main", "dev"),
        event(LineageKind.FAST_FORWARDED, "main", "sub"),
        event(LineageKind.FAST_FORWARDED, "sub", "dev"),
    ],
)
def test_f15_is_taken_back_by_our_own_move_of_main_to_that_branch_alone(
    other: LineageEvent,
) -> None:
    assert "F15" in findings(BOTH, MOVED, lost=("m/l1",), events=(other,))["dev"]


def test_f16_needs_commits_of_both_that_nobody_merged() -> None:
    tagged = tags(("t1", M1), ("d2", D2))
    assert "F16" not in findings(facts("main", [M1, D2], named=tagged), MOVED)["dev"]
    behind = facts("dev", [M1, D2], fork=M1)
    assert "F16" not in findings(BOTH, behind)["dev"]
    into_dev = replace(merged(D3, "main", "dev"), parents=(M3.identity,))
    assert "F16" not in findings(BOTH, MOVED, events=(into_dev,))["dev"]


@pytest.mark.parametrize(
    ("main", "dev"),
    [
        (facts("main", []), EMPTY),
        (facts("main", [M1]), EMPTY),
        (REPLACED, facts("dev", [], began_empty=True)),
    ],
    ids=["an empty main", "another main", "an empty branch"],
)
def test_f08_needs_a_main_that_begins_as_the_branch_does(
    main: BranchFacts, dev: BranchFacts
) -> None:
    assert "F08" not in findings(main, dev, older=("l1",))["dev"]


def test_f08_without_a_main_that_can_be_read() -> None:
    assert "F08" not in findings(EMPTY, older=("l1",))["dev"]


CAME = (event(LineageKind.RESCUED, "rescue-1", "main"),)


def test_f17_tells_of_snapshots_of_main_alone_and_not_of_the_head() -> None:
    main = facts("main", [M1, M2, M3])
    own = [M1, snapshot(2, "x"), snapshot(3, "x"), snapshot(4, "x")]
    found = findings(main, facts("rescue-1", own, fork=M1, is_fenced=True), events=CAME)
    assert found["rescue-1"]["F17"].evidence == ("snapshot 1 of main",)
    cut = facts("rescue-1", [M1, M2], fork=M2, is_fenced=True)
    assert findings(main, cut, events=CAME)["rescue-1"]["F17"].evidence == ("snapshot 1 of main",)
    forked = (event(LineageKind.FORKED, "rescue-1", "main"),)
    assert "F17" not in findings(main, cut, events=forked)["rescue-1"]


@pytest.mark.parametrize(("number", "procedures"), [(20, {"create_tag"}), (21, {"fence_branch"})])
def test_f17_pins_few_snapshots_and_fences_main_for_many(number: int, procedures: set[str]) -> None:
    history = [snapshot(each, "main") for each in range(1, number + 2)]
    rescue = facts("rescue-1", history, fork=history[-1], is_fenced=True)
    finding = findings(facts("main", history), rescue, events=CAME)["rescue-1"]["F17"]
    assert {each.procedure for each in finding.remedies} == procedures
    assert finding.advice == ("Fence main." if number > 20 else "Tag them on main for good.")
    assert len(finding.evidence) == 20


def test_f13_names_the_branch_that_a_merge_came_from() -> None:
    into_dev = replace(merged(D2, "main", "dev"), parents=(M1.identity,))
    finding = findings(MAIN, DEV, events=(into_dev,))["dev"]["F13"]
    assert finding.evidence == ("2 data files", "branch main")


def test_f13_of_what_a_pin_keeps_asks_for_the_other_branch_alone() -> None:
    pinned = replace(MERGED, trace=replace(MERGED.trace, tags=tags(("t1", M1), ("m3", M3))))
    came = (merged(M3, "dev"),)
    assert "F13" not in findings(pinned, FENCED, events=came)["dev"]
    # Main is no side any more, so the option of the branch is all that protects.
    told = findings(pinned, KEPT, events=came)["dev"]
    assert told["F14"].evidence[0] == "dev: write-only"
    assert remedies(told["F14"]) == fences("dev")


def test_f13_of_a_fenced_main_asks_for_no_tag() -> None:
    main = replace(MERGED, is_fenced=True)
    assert remedies(findings(main, DEV, events=(merged(M3, "dev"),))["dev"]["F13"]) == fences("dev")


def test_f13_of_a_merge_whose_state_nobody_noted_asks_for_fences() -> None:
    nobody = replace(merged(M3, "dev"), after=None)
    found = findings(MERGED, DEV, events=(nobody,))["dev"]
    assert remedies(found["F13"]) == fences("main", "dev")


def test_f13_of_several_merges_needs_a_pin_of_each() -> None:
    events = (merged(M2, "dev"), replace(merged(M3, "dev"), id="another"))
    one = replace(MERGED, trace=replace(MERGED.trace, tags=tags(("t1", M1), ("m2", M2))))
    assert remedies(findings(one, FENCED, events=events)["dev"]["F13"])[-1]["snapshot"] == 3


def test_f01_names_the_tag_of_the_parent_that_stands_on_the_fork_alone() -> None:
    parent = replace(DEV, trace=replace(DEV.trace, tags=tags(("other", M1))))
    assert "other" not in findings(MAIN, parent, SUB)["sub"]["F01"].text
    on_it = replace(DEV, trace=replace(DEV.trace, tags=tags(("other", M1), ("b", D2))))
    assert "Its base tag 'b' stands on 'dev'" in findings(MAIN, on_it, SUB)["sub"]["F01"].text


def test_f03_a_brief_tag_of_what_expired_on_a_fenced_main_is_told() -> None:
    brief = facts("main", [M3], named=tags(("t1", M1), days=7), is_fenced=True)
    assert bad(findings(brief, DEV)) == {"dev F03": "critical"}


def test_a_main_that_cannot_be_read_or_is_empty_was_not_rolled_back() -> None:
    assert "F09" not in findings(DEV)["dev"]
    assert "F09" not in findings(facts("main", []), DEV)["dev"]


@pytest.mark.parametrize(
    ("main", "dev"),
    [
        # The ledger knows where it began, so no tag has to tell.
        (facts("main", [M1]), {"base_tag": "branch-base-dev"}),
        # What the tag names is not what the branch begins with.
        (facts("main", [M1]), {"named": tags(("t1", D3))}),
        # Main has expired it.
        (facts("main", [M3, M4]), {}),
        # Another branch holds it.
        (facts("main", [M1, M2]), {}),
    ],
)
def test_f09_is_not_guessed_of_a_branch_that_tells_otherwise(
    main: BranchFacts, dev: dict[str, object]
) -> None:
    given: dict[str, object] = {"fork": M1, "named": tags(("t2", M2)), **dev}
    found = findings(main, facts("dev", [M2, D3], **given))  # type: ignore[arg-type]
    assert "F09" not in found["dev"]


def test_f05_leaves_out_what_main_keeps_and_what_expired_on_the_branch() -> None:
    dev = facts("dev", [D3], fork=M1, named=tags(("gone", D2), ("own", D3)))
    assert findings(MAIN, dev)["dev"]["F05"].evidence == ("tag own",)


def test_f04_of_what_another_branch_only_tags_or_only_builds_on() -> None:
    mine = facts("dev", [D3], fork=M1, named=tags(("own", D2)))
    assert "F04" not in findings(MAIN, mine)["dev"]
    tagging = facts("sub", [M1], fork=M1, named=tags(("theirs", D2)))
    assert "F04" in findings(MAIN, mine, tagging)["dev"]
    building = facts("sub", [D2, snapshot(3, "sub")], fork=D2)
    assert "F04" in findings(MAIN, mine, building)["dev"]


def test_f11_leaves_a_tag_that_the_branch_has_already() -> None:
    main = facts("main", [M1, M2, M3], named=tags(("t1", M1), ("auto", D2)))
    known = (event(LineageKind.FORKED, "dev", "main"),)
    has_it = facts("dev", [M1, D2], fork=M1, named=tags(("auto", D2)))
    for dev, procedures in ((DEV, ["create_tag", "delete_tag"]), (has_it, ["delete_tag"])):
        finding = findings(main, dev, events=known)["main"]["F11"]
        assert [each.procedure for each in finding.remedies] == procedures
