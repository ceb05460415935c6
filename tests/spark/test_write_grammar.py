"""Statements that write, drawn from a grammar: our SQL against a plain model, read by Java."""

import random
from pathlib import Path

import pytest

from branch_console.errors import InvalidInput, PaimonError
from branch_console.spark.session.session import WarmSession
from tests.support.examples import Examples
from tests.support.java_child import Read, read_with_java
from tests.support.sql_expressions import SOURCE, SOURCE_COLUMNS, literal
from tests.support.statements import Statements
from tests.support.table_model import RefusedStatement
from tests.support.warehouses import VERSIONS
from tests.support.write_grammar import WRITTEN_KINDS, WriteProgram

pytestmark = pytest.mark.depth("full")

_IN_PROGRAM = 10


def test_written_rows_are_those_of_a_model(
    session: WarmSession, tmp_path: Path, rng: random.Random, examples: Examples
) -> None:
    statements = Statements(session, tmp_path)
    statements.create("src", SOURCE_COLUMNS)
    values = ", ".join(f"({', '.join(literal(v).sql for v in row.values())})" for row in SOURCE)
    statements(f"INSERT INTO db.src VALUES {values}")
    kinds = rng.sample(list(WRITTEN_KINDS), len(WRITTEN_KINDS))
    for number in range(examples(1)):
        name = f"t{number}"
        _run_program(statements, rng, name, kinds[number % len(kinds)])


def test_names_of_columns_may_hold_dots_and_ticks(session: WarmSession, tmp_path: Path) -> None:
    # Found by seed 102: a frame with such a name could not be written.
    statements, dotted, ticked = Statements(session, tmp_path), "x.y", "it`s"
    statements.create("src", SOURCE_COLUMNS)
    statements("INSERT INTO db.src VALUES (1, 5, 'x'), (2, NULL, 'y')")
    reads = []
    for name, keys in (("keyed", ("id",)), ("plain", ())):
        statements.create(
            name,
            {"id": "INT NOT NULL", dotted: "STRING", ticked: "INT"},
            primary_keys=keys,
            options={"bucket": "1"} if keys else {},
        )
        reads.append(Read(table=f"db.{name}"))
        statements(f"INSERT INTO db.{name} SELECT k, v, k FROM db.src")
        statements(f"UPDATE db.{name} SET `x.y` = `x.y` || '!', `it``s` = 7 WHERE id = 1")
        statements(
            f"MERGE INTO db.{name} AS t USING db.src AS s ON t.id = s.k + 1 "
            "WHEN MATCHED THEN UPDATE SET t.`x.y` = s.z "
            "WHEN NOT MATCHED THEN INSERT (id, `x.y`, `it``s`) VALUES (s.k + 1, s.z, s.v)"
        )
    for version in VERSIONS:
        for read, found in read_with_java(version, tmp_path, reads).items():
            assert isinstance(found, list)
            assert sorted(found) == [(1, "5!", 7), (2, "x", 2), (3, "y", None)], (version, read)


def _run_program(statements: Statements, rng: random.Random, name: str, kind_name: str) -> None:
    """Run a program, and let both versions read the table after every statement."""
    kind, log = WRITTEN_KINDS[kind_name], [kind_name]
    statements.create(
        name,
        kind.columns,
        primary_keys=kind.keys,
        partition_keys=kind.partition,
        options=kind.options,
    )
    program = WriteProgram(rng, name, kind)
    for drawn in program.statements(_IN_PROGRAM):
        log.append(f"{drawn.branch}: {drawn.sql}")
        held = {branch: table.copy() for branch, table in program.branches.items()}
        try:
            drawn.act()
        except RefusedStatement:
            program.branches.update(held)
            with pytest.raises(InvalidInput):
                statements(drawn.sql, drawn.branch)
        else:
            try:
                statements(drawn.sql, drawn.branch)
            except PaimonError as error:
                raise AssertionError("\n".join([error.message, *log])) from error
        _check(statements.folder, name, program, log)


def _check(folder: Path, name: str, program: WriteProgram, log: list[str]) -> None:
    reads = {
        Read(table=f"db.{name}" if branch == "main" else f"db.{name}$branch_{branch}"): table
        for branch, table in program.branches.items()
    }
    for version in VERSIONS:
        answers = read_with_java(version, folder, reads)
        for read, table in reads.items():
            found = answers[read]
            assert isinstance(found, list), (log, found)
            assert sorted(found, key=repr) == table.listed(), "\n".join([version, read.table, *log])
