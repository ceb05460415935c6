"""Merges of tables with a primary key that real Paimon wrote, read and compacted by it again."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.file_moves import Strategy
from branch_console.merge.plan import MergeVerdict, verdict_of
from tests.support.depths import by_night
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import COPIED, KEPT, SHARED, MergeBench, three_way

pytestmark = pytest.mark.shared_cells

Open: TypeAlias = Callable[..., MergeBench]

_ENGINES: Final[Mapping[str, Mapping[str, str]]] = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.amount.aggregate-function": "sum",
        "fields.day.aggregate-function": "last_value",
    },
}
_SKIP_LEVEL_0: Final[Mapping[str, Mapping[str, str]]] = {
    "first-row": {"merge-engine": "first-row"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
}


@pytest.fixture
def open_bench(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Open:
    """Makes a table of keys 1 to 40 in two commits, and a branch."""

    def make(options: Mapping[str, str], **shape: Any) -> MergeBench:
        bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, options=options, **shape)
        bench.insert("main", *range(1, 25))
        bench.insert("main", *range(20, 41))
        bench.branch("dev")
        return bench

    return make


@pytest.mark.parametrize(
    "compacted", by_night(("neither", "source", "target", "both"), but=("neither", "both"))
)
@pytest.mark.parametrize("engine", _ENGINES)
def test_disjoint_keys_of_one_bucket_are_replayed_whoever_compacted(
    engine: str, compacted: str, open_bench: Open
) -> None:
    sharing = COPIED if compacted == "both" else SHARED
    bench = open_bench({**sharing, **_ENGINES[engine]})
    base = bench.rows["main"]
    bench.insert("dev", *range(10, 20), amount=2)
    bench.insert("dev", *range(12, 15), amount=3)
    bench.insert("main", *range(30, 50), amount=4)
    for branch, names in (("dev", ("source", "both")), ("main", ("target", "both"))):
        if compacted in names:
            bench.compact(branch)
    bench.insert("main", 60, 61, amount=4)
    assert bench.plan().strategies == {Strategy.REPLAY: 1}
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


@pytest.mark.parametrize("target", ["compacted", "changed"])
def test_rows_written_after_a_compaction_that_dropped_deletes_are_the_newest(
    target: str, open_bench: Open
) -> None:
    """A writer of Paimon counts on from what a compaction left: lower than what was deleted."""
    bench = open_bench(SHARED)
    base = bench.rows["main"]
    bench.delete("dev", *range(1, 36))
    bench.compact("dev")
    bench.insert("dev", 3, 4, 50, amount=7)
    match target:
        case "compacted":
            bench.compact("main")
        case "changed":
            bench.insert("main", 38, 60, amount=4)
            bench.insert("dev", 39, amount=8)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


def test_new_keys_are_replayed_into_a_bucket_that_the_target_overwrote(open_bench: Open) -> None:
    bench = open_bench(SHARED)
    base = bench.rows["main"]
    bench.insert("dev", *range(50, 55), amount=2)
    bench.overwrite("main", *range(1, 30))
    assert bench.plan().strategies == {Strategy.REPLAY: 1}
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


def test_keys_that_the_source_deleted_are_deleted(open_bench: Open) -> None:
    bench = open_bench(SHARED)
    base = bench.rows["main"]
    bench.delete("dev", *range(5, 10))
    bench.insert("main", *range(30, 33), amount=4)
    bench.compact("main")
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


@pytest.mark.parametrize("engine", [*_ENGINES, *_SKIP_LEVEL_0])
@pytest.mark.parametrize("compacted", [False, True], ids=["written", "compacted"])
def test_partitions_that_only_the_source_changed_are_adopted(
    engine: str, compacted: bool, open_bench: Open
) -> None:
    options = {**_ENGINES, **_SKIP_LEVEL_0}[engine]
    sharing = KEPT if engine in _SKIP_LEVEL_0 else SHARED
    bench = open_bench({**sharing, **options}, partitioned=True)
    base = bench.rows["main"]
    bench.insert("dev", 10, 14, 50, 54, amount=2)
    bench.insert("main", 11, 12, 51, 52, amount=4)
    if compacted:
        bench.compact("dev")
        bench.compact("main")
    assert bench.plan().strategies == {Strategy.ADOPT: 1}
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


@pytest.mark.depth("full")
@pytest.mark.parametrize("engine", _SKIP_LEVEL_0)
def test_adopted_files_and_what_masks_them_outlive_the_expiry_of_the_source(
    engine: str, open_bench: Open
) -> None:
    bench = open_bench({**COPIED, **_SKIP_LEVEL_0[engine]}, partitioned=True)
    base = bench.rows["main"]
    # The second write masks rows of the first, whose file the merge copies.
    bench.insert("dev", 50, 54, 57, 58, 61, 62, amount=2)
    bench.insert("dev", 50, 54, 10, amount=3)
    bench.insert("main", 11, 12, 51, 52, amount=4)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check()
    # This one masks rows of files that the target has as copies since then.
    base = bench.rows["dev"]
    bench.insert("dev", 57, 58, 10, amount=5)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check()
    bench.insert("dev", 10, 50, 57, 1, 2, amount=7)
    bench.compact("dev")
    bench.expire("dev")
    bench.check()
    _check_all_that_follows_but_a_merge(bench)


@pytest.mark.parametrize("engine", _SKIP_LEVEL_0)
def test_a_bucket_that_both_sides_changed_is_written_anew_where_level_0_shows_nothing(
    engine: str, open_bench: Open
) -> None:
    bench = open_bench({**KEPT, **_SKIP_LEVEL_0[engine]})
    base = bench.rows["main"]
    bench.insert("dev", 3, 5, 50, 51, amount=2)
    bench.insert("main", 7, 60, 61, amount=4)
    if engine == "deletion vectors":
        bench.delete("dev", 10, 20)
        bench.delete("main", 11, 20)
    assert bench.plan().strategies == {Strategy.REWRITE: 1}
    ours = bench.rows["main"]
    merged = three_way(base, ours, bench.rows["dev"])
    receipt = bench.merge(rows=merged)
    bench.check()
    bench.call("undo", operation=receipt.operation_id)
    bench.rows["main"] = ours
    bench.check()
    bench.earlier.pop()
    bench.merge(rows=merged)
    _check_all_that_follows(bench)


def test_rows_that_two_deletion_vectors_hide_conflict_by_key(open_bench: Open) -> None:
    bench = open_bench({**KEPT, "deletion-vectors.enabled": "true"})
    bench.insert("dev", 3, 5, amount=2)
    bench.insert("main", 3, 6, amount=4)
    before = bench.files()
    with pytest.raises(Refused) as refused:
        bench.merge(rows={})
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert refused.value.facts["conflicts"] == 1
    after = bench.files()
    assert {name: after[name] for name in before} == before
    assert all("branch-lineage" in name for name in after.keys() - before.keys())


def test_sums_that_two_sides_raised_hold_both_raises_in_a_bucket_written_anew(
    open_bench: Open,
) -> None:
    bench = open_bench({**KEPT, **_ENGINES["aggregation"], "deletion-vectors.enabled": "true"})
    sums = bench.rows["main"]
    bench.insert("dev", 3, 5, 50, amount=2)
    bench.insert("main", 3, 7, 60, amount=4)
    ours, theirs = bench.rows["main"], bench.rows["dev"]
    assert bench.plan().strategies == {Strategy.REWRITE: 1}
    merged = {**ours, **{key: theirs[key] for key in (5, 50)}, 3: (*ours[3][:2], sums[3][2] + 6)}
    bench.merge(rows=merged)
    _check_all_that_follows(bench)


def test_an_overwritten_partition_takes_the_place_of_the_one_it_replaced(open_bench: Open) -> None:
    bench = open_bench(SHARED, partitioned=True)
    base = bench.rows["main"]
    bench.overwrite("dev", 10, 14, amount=6)
    bench.insert("main", 11, 12, amount=4)
    bench.compact("main")
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


def test_a_key_has_one_bucket_after_dynamic_buckets_were_adopted(open_bench: Open) -> None:
    options = {**COPIED, "bucket": "-1", "dynamic-bucket.target-row-num": "8"}
    bench = open_bench(options, partitioned=True)
    base = bench.rows["main"]
    bench.insert("dev", *(10, 14), *range(101, 131, 4), amount=2)
    bench.insert("main", *(11, 12), *range(103, 131, 4), amount=4)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check()
    bench.insert("dev", *range(201, 231, 4), amount=3)
    bench.compact("dev")
    bench.expire("dev")
    # Java looks every key up in the adopted index: none gets a second bucket.
    bench.insert("main", *range(1, 41), *range(101, 131, 4), amount=5)
    bench.check()
    _check_all_that_follows_but_a_merge(bench)


_DYNAMIC: Final = {"bucket": "-1", "dynamic-bucket.target-row-num": "8"}


def test_a_key_has_one_bucket_after_both_sides_filled_dynamic_buckets(open_bench: Open) -> None:
    bench = open_bench({**SHARED, **_DYNAMIC})
    base = bench.rows["main"]
    # In another order on each side, so that a key gets different buckets: 101 to 110 are new to
    # both and equal, the others to one side alone.
    bench.insert("dev", *range(120, 140), amount=2)
    bench.insert("dev", *range(101, 111), *range(5, 8), amount=3)
    bench.delete("dev", 8, 9, 38)
    bench.insert("main", *range(110, 100, -1), amount=3)
    bench.insert("main", *range(140, 160), 30, amount=4)
    bench.delete("main", 10, 38)
    assert len(_buckets(bench, "dev", 101) | _buckets(bench, "main", 101)) == 2
    assert set(bench.plan().strategies) == {Strategy.DELTA}
    ours = bench.rows["main"]
    merged = three_way(base, ours, bench.rows["dev"])
    receipt = bench.merge(rows=merged)
    bench.check()
    bench.call("undo", operation=receipt.operation_id)
    bench.rows["main"] = ours
    bench.check()
    bench.earlier.pop()
    bench.merge(rows=merged)
    bench.check()
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    # Java looks every key up in the index of its bucket: none gets a second bucket.
    bench.insert("main", *merged, *range(301, 320), amount=5)
    bench.check()
    _check_all_that_follows_but_a_merge(bench)


def test_a_key_that_both_sides_placed_conflicts_by_its_values(open_bench: Open) -> None:
    bench = open_bench({**SHARED, **_DYNAMIC}, partitioned=True)
    bench.insert("dev", *range(121, 141), 101, 6, 33, amount=2)
    bench.insert("main", 101, *range(141, 161), 33, amount=4)
    ours, theirs = bench.rows["main"], bench.rows["dev"]
    before = bench.files()
    with pytest.raises(Refused) as refused:
        bench.merge(rows={})
    assert refused.value.facts["conflicts"] == 2
    after = bench.files()
    assert {name: after[name] for name in before} == before
    policy = "version: 1\ntables: {db.t: {take: theirs}}"
    bench.call("merge_branch", branch="dev", policy=policy)
    bench.rows["main"] = ours | theirs
    bench.check()
    bench.insert("main", *bench.rows["main"], amount=5)
    bench.check()
    _check_all_that_follows_but_a_merge(bench)


@pytest.mark.depth("full")
def test_no_key_gets_a_second_bucket_over_a_random_history(
    open_bench: Open, rng: Random, examples: Examples
) -> None:
    bench = open_bench({**SHARED, **_DYNAMIC}, partitioned=rng.random() < 0.5)
    for _ in range(examples(4, long=40)):
        base = bench.rows["main"]
        both = rng.sample(range(201, 400), 6)
        for branch, own in (("dev", range(1, 200, 2)), ("main", range(2, 200, 2))):
            bench.insert(branch, *rng.sample(own, rng.randint(1, 20)), amount=rng.randint(2, 9))
            bench.insert(branch, *rng.sample(both, len(both)), amount=7)
            held = [each for each in own if each in bench.rows[branch]]
            if rng.random() < 0.5:
                bench.delete(branch, *rng.sample(held, min(len(held), 4)))
            if rng.random() < 0.3:
                bench.compact(branch)
        bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
        bench.check(others=False)
        bench.merge("main", "dev", rows=bench.rows["main"])
        bench.check(others=False)
    # Java looks every key up: what has two buckets would be there twice.
    for branch in ("main", "dev"):
        bench.insert(branch, *bench.rows[branch], amount=1)
    bench.check()
    _check_all_that_follows_but_a_merge(bench)


def _buckets(bench: MergeBench, branch: str, key: int) -> set[int]:
    """The buckets that hold a key on a branch."""
    rows = bench.table(branch).system_table("files").records()
    return {
        each["bucket"]
        for each in rows
        if int(each["min_key"].strip("[]")) <= key <= int(each["max_key"].strip("[]"))
    }


@pytest.mark.parametrize("options", [SHARED, COPIED], ids=["shared", "copied"])
def test_merges_repeat_go_back_and_cross(options: dict[str, str], open_bench: Open) -> None:
    bench = open_bench(options)
    bench.insert("dev", 10, 11, amount=2)
    bench.insert("main", 30, 31, amount=4)
    both = bench.rows["main"] | {each: bench.rows["dev"][each] for each in (10, 11)}
    bench.merge(rows=both)
    bench.merge("main", "dev", rows=both)
    bench.check()
    bench.insert("dev", 12, 13, amount=2)
    bench.compact("dev")
    bench.insert("main", 32, 33, amount=4)
    bench.merge(rows=bench.rows["main"] | {each: bench.rows["dev"][each] for each in (12, 13)})
    bench.check()
    bench.insert("main", 34, 35, amount=4)
    bench.compact("main")
    bench.insert("dev", 14, 15, amount=2)
    new = {each: bench.rows["main"][each] for each in (32, 33, 34, 35)}
    bench.merge("main", "dev", rows=bench.rows["dev"] | new)
    bench.check()
    bench.delete("dev", 14, 15)
    bench.merge(rows=bench.rows["dev"])
    _check_all_that_follows(bench)


def _check_all_that_follows(bench: MergeBench) -> None:
    """Java reads all of it, and another merge has nothing to do; then Java goes on."""
    bench.check()
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    _check_all_that_follows_but_a_merge(bench)


def _check_all_that_follows_but_a_merge(bench: MergeBench) -> None:
    """Java reads what was, writes on, compacts fully and expires; a key is there once."""
    bench.check_history()
    bench.compact("main")
    bench.check()
    bench.go_on()
    keys = Counter(row[0] for row in bench.table().rows())
    assert set(keys.values()) == {1}
    options = bench.table().schemas()[-1]["options"]
    if not ({"write-only", "snapshot.num-retained.min"} & options.keys()):
        for branch in ("dev", "main"):
            bench.expire(branch)
            bench.check()
