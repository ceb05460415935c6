"""Planted drift is found in tables with a key: a branch changes rows of large buckets."""

from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest

from branch_console.format.identifier import Identifier
from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.compare.states import compare_states
from branch_console.quality.comparison import Scope
from branch_console.quality.work import plan_quality
from branch_console.spark.compare.profile_pass import NothingKept, ProfilePass
from branch_console.spark.session.session import WarmSession
from tests.support.examples import Examples
from tests.support.quality_draws import PLANTS, POPULATIONS, SHARES
from tests.support.write_bench import WriteBench


@pytest.mark.depth("full")
def test_planted_drift_is_found_in_tables_with_a_key(
    session: WarmSession, tmp_path: Path, seed: int, examples: Examples
) -> None:
    rng = np.random.default_rng([seed, 27])
    tables, is_long = examples(1, long=5), examples.depth == "long"
    changed, shares = (20_000, SHARES) if is_long else (2_000, (0.1,))
    found = {(name, share): 0 for name in PLANTS for share in shares}
    for number in range(tables):
        bench = WriteBench(tmp_path / str(number), session)
        (bench.folder / "db.db").mkdir(parents=True)
        names = {name: f"c{at}" for at, name in enumerate(PLANTS)}
        kinds = {names[name]: POPULATIONS[drawn].type for name, (drawn, _) in PLANTS.items()}
        options = {"bucket": "2", "write-only": "true"}
        bench.create(
            "t", {"id": "INT NOT NULL", "step": "INT", **kinds}, primary_keys=("id",),
            options=options,
        )  # fmt: skip
        # Of a bucket some rows are changed, and most are not.
        ids = np.arange(2 * changed, dtype=np.int32)
        columns = {
            names[name]: POPULATIONS[drawn].draw(rng, len(ids), 0)
            for name, (drawn, _) in PLANTS.items()
        }
        steps = pa.array(np.zeros(len(ids), np.int32))
        bench.insert("t", pa.table({"id": ids, "step": steps, **columns}))
        for share in shares:
            branch = f"b{share:.2f}".replace(".", "_")
            call = ProcedureCall(
                name="create_branch", arguments={"table": "db.t", "branch": branch},
                actor="test", operation_id=str(uuid4()),
            )  # fmt: skip
            create_branch(bench.warehouse, NoRowEngine(), call, InlineStages())
            which = np.sort(rng.choice(ids, changed, replace=False))
            rows = {"id": pa.array(which), "step": pa.array(np.ones(changed, np.int32))}
            for name, (_, plant) in PLANTS.items():
                at = rng.random(changed) < share
                rows[names[name]] = plant(columns[names[name]].take(pa.array(which)), at, rng)
            bench.insert(f"t$branch_{branch}", pa.table(rows))
            diff = compare_states(bench.warehouse, Identifier.parse("db.t"), "main", branch)
            made = ProfilePass(bench.warehouse.file_io, lambda: session, NothingKept())
            own = made.compare(
                bench.warehouse.table("db.t"), plan_quality(diff), finished_millis=0
            ).find_scope(Scope.OWN)
            assert own is not None
            assert own.rows == (changed, changed)
            for name in PLANTS:
                column = own.find(names[name])
                assert column is not None
                found[name, share] += column.rating.is_reported
    for name in PLANTS:
        rates = " | ".join(f"{found[name, share] / tables:.0%}" for share in shares)
        print(f"| {name} | update of {changed:,} in a table by key | {rates} |")
    missed = {each: count for each, count in found.items() if each[1] >= 0.1 and count < tables}
    assert missed == {}
