"""Java and we write the same tables in turns: each goes on from what the other has left."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from branch_console.spark.session.session import WarmSession
from tests.support.java_paimon import JavaPaimon
from tests.support.requirements import need_java_paimon
from tests.support.write_bench import Row, WriteBench

pytestmark = pytest.mark.depth("full")

_COLUMNS = {"id": "INT", "day": "STRING", "amount": "INT"}
_COMMON = {"snapshot.num-retained.min": "1000", "write-only": "true"}
_VECTORS = {"deletion-vectors.enabled": "true", "write-only": "false"}
_KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "fixed": (("id", "day"), {"bucket": "2"}),
    "dynamic": (("id", "day"), {"bucket": "-1", "dynamic-bucket.target-row-num": "5"}),
    "key_vectors": (("id", "day"), {"bucket": "1", **_VECTORS}),
    "append": ((), {"bucket": "-1"}),
    "append_vectors": ((), {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "bucketed": ((), {"bucket": "2", "bucket-key": "id", "write-only": "false"}),
}


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> WriteBench:
    return WriteBench(folder=tmp_path, session=session)


def test_java_and_we_go_on_from_each_other(
    bench: WriteBench, paimon_version: str, rng: random.Random
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(bench.folder, paimon_version)
    for name, (keys, options) in _KINDS.items():
        table = java.create_table(
            f"db.{name}",
            _COLUMNS,
            partition_keys=("day",),
            primary_keys=keys,
            options={**_COMMON, **options},
        )
        expected: list[Row] = []
        log = [name]
        for turn in range(2):
            rows = [(i, rng.choice(("a", "b")), turn) for i in rng.sample(range(30), k=12)]
            expected = _put(expected, rows, has_keys=bool(keys))
            table.write(rows)
            log.append(f"java {rows}")
            assert sorted(table.rows()) == sorted(expected), log
            rows = [(i, rng.choice(("a", "b")), -turn) for i in rng.sample(range(30), k=12)]
            expected = _put(expected, rows, has_keys=bool(keys))
            bench.insert(name, rows)
            log.append(f"we {rows}")
            assert sorted(table.rows()) == sorted(expected), log
            gone = rng.randrange(2, 6)
            expected = [row for row in expected if row[0] % gone]
            bench.delete(name, f"id % {gone} = 0")
            log.append(f"we delete % {gone}")
            assert sorted(table.rows()) == sorted(expected), log
            if turn == 1:
                log.append("we compact")
                bench.compact(name)
            elif name != "append_vectors":
                log.append("java compacts")
                table.compact(options={"compaction.min.file-num": "2"})
            assert sorted(table.rows()) == sorted(expected), log
        assert bench.files(name) >= bench.named_files(name)


def _put(rows: list[Row], new: Iterable[Row], *, has_keys: bool) -> list[Row]:
    new = list(new)
    taken: set[Any] = {row[:2] for row in new} if has_keys else set()
    return [*(row for row in rows if row[:2] not in taken), *new]
