"""MERGE INTO as text: its clauses, where its expressions stand, and what is wrong with it."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.sql.merges import ClauseAction, MatchKind
from branch_console.sql.parser import parse_statements
from branch_console.sql.writes import parse_write

HEAD = "MERGE INTO db.t USING db.s ON t.id = s.id "


def test_clauses_come_in_their_order_with_what_they_see() -> None:
    write = parse_write(
        "MERGE INTO db.`t$branch_dev` AS t\n"
        "USING (SELECT id, x FROM db.s VERSION AS OF 3 WHERE x > 1) AS n (id, x) ON t.id = n.id\n"
        "WHEN NOT MATCHED THEN INSERT (id, t.x) VALUES (n.id, coalesce(n.x, 0))\n"
        "WHEN MATCHED AND CASE WHEN n.x = 1 THEN true END THEN DELETE\n"
        "WHEN MATCHED THEN UPDATE SET x = CASE WHEN n.x = 2 THEN 1 END, y = (n.x, 2)\n"
        "WHEN NOT MATCHED BY SOURCE AND t.x IS NULL THEN UPDATE SET t.x = -1"
    )
    merge = write.merge
    assert merge is not None
    assert write.target.on("main").full_name == "db.t$branch_dev"
    views = [reference.identifier.full_name for reference in write.query.references]
    over = write.query.over([f"v{number}" for number in range(len(views))])
    assert merge.source.of(over) == (
        "SELECT * FROM (SELECT id, x FROM v0 AS `s` WHERE x > 1) AS n (id, x)"
    )
    assert (merge.source_name, merge.condition.of(over)) == ("n", "t.id = n.id")
    insert, update = ClauseAction.INSERT, ClauseAction.UPDATE
    assert [
        (
            each.match_kind,
            each.action,
            None if each.condition is None else each.condition.of(over),
            {column.name: part.of(over) for column, part in each.values or ()},
        )
        for each in merge.clauses
    ] == [
        (MatchKind.NOT_MATCHED, insert, None, {"id": "n.id", "x": "coalesce(n.x, 0)"}),
        (MatchKind.MATCHED, ClauseAction.DELETE, "CASE WHEN n.x = 1 THEN true END", {}),
        (MatchKind.MATCHED, update, None, {"x": "CASE WHEN n.x = 2 THEN 1 END", "y": "(n.x, 2)"}),
        (MatchKind.NOT_MATCHED_BY_SOURCE, update, "t.x IS NULL", {"x": "-1"}),
    ]
    (_, value) = (merge.clauses[0].values or ())[1]
    assert str(write.query.place_of(value.start)) == "Line 3, column 54"


def test_a_merge_of_rows_is_none_of_branches() -> None:
    rows, branches = parse_statements(
        f"{HEAD} WHEN MATCHED THEN UPDATE SET *; MERGE BRANCH a ON TABLE db.t", "dev"
    )
    assert (rows.procedure, rows.arguments["table"]) == ("merge_into", "db.t$branch_dev")
    assert branches.procedure == "merge_branch"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("MERGE INTO db.t USING db.s ON t.id = s.id", "column 42: found the end; expected WHEN"),
        ("MERGE INTO db.t USING db.t ON 1 = 1 WHEN MATCHED THEN DELETE", "column 23: source and"),
        ("MERGE INTO db.t USING s ON 1 = 1 WHEN MATCHED THEN DELETE", "found 'ON'; expected"),
        ("MERGE INTO db.t USING db.s, db.u ON 1 = 1 WHEN MATCHED THEN DELETE", "column 27: found"),
        (
            "MERGE INTO db.t USING db.s a JOIN db.u ON 1 = 1 WHEN MATCHED THEN DELETE",
            "column 30: found 'JOIN'; expected ON",
        ),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO db.t USING db.s ON 1 = 1 WHEN MATCHED THEN DELETE",
            "column 7: found 'WITH' after MERGE; expected INTO",
        ),
        (f"{HEAD}WHEN MATCHED THEN INSERT *", "column 61: found 'INSERT'; expected UPDATE or"),
        (f"{HEAD}WHEN NOT MATCHED THEN DELETE", "column 65: found 'DELETE'; expected INSERT"),
        (f"{HEAD}WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *", "column 86: there is no row of"),
        (f"{HEAD}WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", "column 86: there are 2 columns"),
        (f"{HEAD}WHEN NOT MATCHED THEN INSERT VALUES (1)", "column 72: found 'VALUES'; expected"),
        (
            f"{HEAD}WHEN MATCHED THEN DELETE WHEN MATCHED AND t.x = 1 THEN DELETE",
            "column 98: an earlier clause is for every row that is MATCHED",
        ),
        (f"{HEAD}WHEN MATCHED THEN UPDATE SET u.x = 1", "column 72: 'u' is not the table"),
        (f"{HEAD}WHEN MATCHED AND THEN DELETE", "column 60: found 'THEN'; expected an expr"),
        (f"{HEAD}WHEN MATCHED THEN DELETE x", "column 68: found 'x'; expected WHEN"),
        (f"{HEAD}WHEN MATCHED AND (t.x = 1 THEN DELETE", "column 80: found the end; expected"),
        (f"{HEAD}WHEN MATCHED THEN UPDATE SET x = reflect('a', 'b')", "column 76: reflect"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, wanted: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_statements(text)
    assert error.value.message.startswith("Line 1, ")
    assert wanted in error.value.message, error.value.message
