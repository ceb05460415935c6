"""We, Java and pypaimon agree: on the fixtures, and on what each of us writes."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from branch_console.format.identifier import Identifier
from branch_console.procedures.branch.fast_forward import preview_fast_forward
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.comparison import differences
from tests.support.golden import to_plain
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalFiles
from tests.support.pypaimon_peer import Pypaimon
from tests.support.warehouses import FixtureWarehouse

_PEOPLE = {"id": "INT", "name": "STRING", "amount": "BIGINT"}

# What pypaimon 2.1.0 cannot read, or reads in another way than Java.
_NOT_BY_PYPAIMON = {
    "fixtures.all_types": "MULTISET",
    "fixtures.all_types_key": "MULTISET",
    "fixtures.branches_fallback": "scan.fallback-branch is ignored",
    "fixtures.partition_binary": "folders of partitions by binary values",
    "fixtures.partition_bytes": "folders of partitions by binary values",
    "fixtures.vectors_append_64": "64-bit deletion vectors",
    "fixtures.vectors_key_64": "64-bit deletion vectors",
}


@pytest.fixture
def peer(own_copy: FixtureWarehouse) -> Iterator[Pypaimon]:
    """pypaimon on the copy of the fixture warehouse."""
    with Pypaimon(own_copy.path) as opened:
        yield opened


@pytest.mark.depth("full")
def test_pypaimon_reads_the_fixtures_as_java_does(
    own_copy: FixtureWarehouse, peer: Pypaimon
) -> None:
    read = 0
    for name, table in own_copy.expected.items():
        if name in _NOT_BY_PYPAIMON:
            continue
        for branch, answers in table["on"].items():
            place = name if branch == "main" else f"{name}$branch_{branch}"
            assert _same(peer.rows(place), answers["rows"]), place
            read += 1
    assert read > 60


def test_pypaimon_reads_what_our_branches_and_fast_forward_leave(
    own_copy: FixtureWarehouse, peer: Pypaimon, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table("fixtures.branches_ahead")
    _call(own_copy, "create_branch", table=table.name, branch="dev", tag="base")
    assert _same(peer.rows(f"{table.name}$branch_dev"), table.on("dev").rows())
    branch_rows = table.on("ahead").rows()

    _call(own_copy, "fast_forward", table=table.name, branch="ahead")

    assert table.rows() == branch_rows
    assert _same(peer.rows(table.name), branch_rows)
    assert _same(peer.rows(table.name, tag="base"), table.rows(tag="base"))
    assert _same(peer.rows(table.name, snapshot=2), table.rows(snapshot=2))


@pytest.mark.parametrize("primary_keys", [[], ["id"]], ids=["append", "keys"])
def test_three_writers_take_turns(
    primary_keys: list[str],
    own_copy: FixtureWarehouse,
    peer: Pypaimon,
    open_java: Callable[[Path], JavaPaimon],
) -> None:
    name = "turns.t"
    options = {"metadata.stats-mode": "full", "write-only": "true"}
    if primary_keys:
        options["bucket"] = "1"
    peer.create_table(name, _PEOPLE, primary_keys=primary_keys, options=options)
    table = open_java(own_copy.path).table(name)

    peer.write(name, _PEOPLE, [(1, "by pypaimon", 1), (2, "by pypaimon", 2)])
    _all_agree(own_copy, table, peer)
    table.write([(3, "by java", 3)])
    peer.create_tag(name, "fork")
    _call(own_copy, "create_branch", table=name, branch="ours", tag="fork")
    peer.create_branch(name, "theirs", "fork")
    _all_agree(own_copy, table, peer)
    peer.write(f"{name}$branch_ours", _PEOPLE, [(4, "by pypaimon on our branch", 4)])
    table.on("theirs").write([(5, "by java on its branch", 5)])
    _all_agree(own_copy, table, peer)
    _call(own_copy, "fast_forward", table=name, branch="ours")
    assert len(table.rows()) == 4
    peer.write(name, _PEOPLE, [(6, "by pypaimon after all", 6)])
    _all_agree(own_copy, table, peer)


def _all_agree(warehouse: FixtureWarehouse, table: JavaTable, peer: Pypaimon) -> None:
    ours = Warehouse.open(str(warehouse.path), read_only=True).table(table.name)
    assert differences(ours, table) == {}
    for branch in ("main", *table.branches()):
        on_branch = table.on(branch)
        assert _same(peer.rows(on_branch.name), on_branch.rows()), branch


def _call(warehouse: FixtureWarehouse, name: str, **arguments: str) -> None:
    opened = Warehouse.open(str(warehouse.path))
    rows: RowEngine = LocalFiles()
    if name == "fast_forward":
        identifier = Identifier.parse(arguments["table"])
        plan = preview_fast_forward(opened, identifier, arguments["branch"])
        assert plan.can_run, plan.reasons
        arguments["plan_id"] = plan.id
    call = ProcedureCall(
        name=name, arguments=arguments, actor="tester", operation_id=str(uuid.uuid4())
    )
    run_call(opened, rows, call, InlineStages())


def _same(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return Counter(map(repr, to_plain(list(one)))) == Counter(map(repr, to_plain(list(other))))
