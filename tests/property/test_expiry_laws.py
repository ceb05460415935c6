"""L1, L2, L4, L5, L7: whatever happened to a table, an expiry removes nothing that is needed."""

import itertools
import shutil
from pathlib import Path
from random import Random

from branch_console.errors import FormatError, PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.preview import preview_call
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import store_of, tree
from tests.support.examples import Examples
from tests.support.expiry_bench import AT_ONCE, LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.foreign_expiry import expire_as_paimon

_STEPS = 12


class History:
    """A table to which anything may happen, and of which nothing that is named may go missing."""

    def __init__(self, bench: ExpiryBench, rng: Random) -> None:
        self.bench = bench
        self.rng = rng
        self.numbers = itertools.count(1)
        self.now = LATER
        self.log: list[str] = []
        self.expired = 0
        self.lost: set[str] = set()
        bench.add("first-1", "first-2")

    def step(self) -> None:
        """Let one thing happen, and look whether all that is named is there."""
        act = self.rng.choice(
            (
                self.write, self.write, self.write, self.rewrite, self.rewrite, self.branch,
                self.tag, self.untag, self.merge, self.roll_back, self.drop, self.expire,
                self.expire, self.expire, self.expire_killed, self.expire_and_undo,
                self.expire_as_paimon,
            )
        )  # fmt: skip
        self.log.append(act.__name__)
        try:
            act()
        except FormatError:
            # Where Paimon broke something, ours removes nothing at all.
            assert self.lost, self.log
        broken = set(self.bench.broken())
        if act == self.expire_as_paimon:
            self.lost |= broken
        assert broken <= self.lost, self.log

    def write(self) -> None:
        self.bench.add(f"f{next(self.numbers)}", branch=self.any_branch())

    def rewrite(self) -> None:
        branch = self.any_branch()
        live = sorted(self.bench.live_names(branch))
        gone = set(self.rng.sample(live, self.rng.randint(0, len(live))))
        self.bench.swap(gone, (f"f{next(self.numbers)}",), branch=branch)

    def branch(self) -> None:
        self.call("create_branch", branch=f"b{next(self.numbers)}")

    def tag(self) -> None:
        self.bench.tag(f"t{next(self.numbers)}")

    def untag(self) -> None:
        own = [name for name in self.bench.table().tags.names() if name.startswith("t")]
        if own:
            self.call("delete_tag", tag=self.rng.choice(own))

    def merge(self) -> None:
        others = self.branches()[1:]
        if others:
            self.call("merge_branch", branch=self.rng.choice(others))

    def roll_back(self) -> None:
        branch = self.any_branch()
        ids = self.bench.snapshot_ids(branch)
        name = "db.t" if branch == MAIN_BRANCH else f"db.t$branch_{branch}"
        self.call(
            "rollback", table=name, snapshot=self.rng.choice(ids), cut=self.rng.random() < 0.5
        )

    def drop(self) -> None:
        others = self.branches()[1:]
        if others and self.rng.random() < 0.3:
            self.call("drop_branch", branch=self.rng.choice(others))

    def expire(self) -> None:
        """What a preview says is what a run does, and a second run finds nothing (L4, L5)."""
        self.now += self.rng.choice((0, 300_000, 8 * 86_400_000))
        branch, grace = self.any_branch(), self.rng.choice(("0 s", "10 min"))
        most = self.rng.randint(1, 3)
        given = {"retain_max": most, "options": AT_ONCE, "grace": grace}
        name = "db.t" if branch == MAIN_BRANCH else f"db.t$branch_{branch}"
        operation = f"expire-{next(self.numbers)}"
        call = ProcedureCall(
            name="expire_snapshots",
            arguments={"table": name, **given},
            actor="ann",
            operation_id=operation,
            role="operator",
        )
        preview = preview_call(self.bench.warehouse(clock=lambda: self.now), call)
        before = self.files()
        done = self.bench.expire(
            operation, branch=branch, now=self.now, retain_max=most, grace=grace
        )
        assert done.plan_id == preview.plan_id, self.log
        self.expired += done.counts.snapshots_removed
        went = len(before - self.files()) - done.counts.snapshots_removed
        told = sum(int(each.split()[0]) for each in done.notes if "were removed" in each)
        assert went == told, (self.log, done.notes)
        again = self.bench.expire(
            f"{operation}-again", branch=branch, now=self.now, retain_max=most, grace=grace
        )
        assert again.counts.snapshots_removed == 0, self.log

    def expire_killed(self) -> None:
        """An expiry that dies anywhere is finished by recovery (L2)."""
        branch = self.any_branch()
        at = At(call=self.rng.randint(1, 25), when=self.rng.choice((When.BEFORE, When.AFTER)))
        faulty = FaultyStore(inner=store_of(self.bench.root), fault=at)
        try:
            self.bench.expire(
                f"expire-{next(self.numbers)}", branch=branch, now=self.now, store=faulty.store
            )
        except Killed:
            assert set(self.bench.broken()) <= self.lost, self.log
        self.now += 3_600_000  # a young one might be at work yet
        recover_table(self.bench.warehouse(clock=lambda: self.now), self.bench.table())

    def expire_and_undo(self) -> None:
        """Undo within the grace brings back every byte (L7)."""
        branch, operation = self.any_branch(), f"expire-{next(self.numbers)}"
        # What is over from before goes first; a limit of so many takes nothing more.
        self.bench.expire(
            f"{operation}-due",
            branch=branch,
            now=self.now,
            retain_max=None,
            options="snapshot.num-retained.min=90",
        )
        before = self.bytes()
        done = self.bench.expire(operation, branch=branch, now=self.now, grace="10 min")
        if done.counts.snapshots_removed:
            self.call("undo", operation=operation)
            assert self.bytes() == before, self.log

    def expire_as_paimon(self) -> None:
        expire_as_paimon(self.bench.table(self.any_branch()))

    def branches(self) -> list[str]:
        names = self.bench.table().branches.names()
        return [MAIN_BRANCH, *(name for name in names if not name.startswith("rescue-"))]

    def any_branch(self) -> str:
        return self.rng.choice(self.branches())

    def call(self, name: str, **arguments: str | int | bool) -> None:
        """Call a procedure, which may refuse, or need rows that nobody wrote."""
        try:
            self.bench.run(name, f"op-{next(self.numbers)}", self.now, arguments)
        except (PaimonError, AttributeError) as error:
            self.log.append(f"  {type(error).__name__}")

    def files(self) -> set[str]:
        return set(self.bytes())

    def bytes(self) -> dict[str, bytes]:
        return {
            path: data
            for path, data in tree(self.bench.root).items()
            if "branch-lineage" not in path and not path.endswith(("EARLIEST", "LATEST"))
        }


def test_no_expiry_removes_what_any_reference_needs(
    tmp_path: Path, seed: int, examples: Examples
) -> None:
    print(f"--seed {seed}")
    expired = 0
    for number in range(examples(12, quick=2, long=10_000)):
        folder = tmp_path / "history"
        history = History(ExpiryBench(folder), Random(f"{seed} {number}"))
        for _ in range(_STEPS):
            history.step()
        expired += history.expired
        shutil.rmtree(folder)
    assert expired
    print(f"{expired} snapshots expired")
