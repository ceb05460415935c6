"""Two people decide at a time: what does not touch comes together, what does is told."""

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.policy import Policy, PolicyChoice, PredicateRule, choose
from branch_console.merge.policy_draft import (
    laid_over,
    policy_to_compare_by,
    rebase,
    with_column_rule,
    with_kind_rule_in,
    with_predicate,
    with_table_rule,
    without_choices,
    without_predicate,
)
from tests.unit.merge.merged_rows import TABLE, keyed, merge

SCHEMA = keyed({"id": "INT NOT NULL", "a": "INT"})
FOUND = merge(SCHEMA, [(1, 1), (2, 1)], [(1, 2), (2, 2)], [(1, 3), (2, 3)]).conflicts
OURS, MAX = PolicyChoice.parse("ours"), PolicyChoice.parse("max")
SEEN = Policy.from_yaml("""
version: 1
rows: row
kinds: {added on both: theirs}
tables:
  '*': {take: base}
  db.t:
    kinds: {added on both: ours}
    columns: {a: min}
    where: [{when: id = 7, take: theirs}, {when: id = 8, take: ours, column: a}]
objects:
  '*': {object gone: ours}
  db: {property: theirs}
""")


def chosen(policy: Policy, at: int, take: Take, by: str = "ada", millis: int = 1) -> Policy:
    choices = choose(FOUND.slice(at, 1), take, decided_by=by, time_millis=millis)
    return policy.with_choices(TABLE, choices)


def test_choices_of_different_cells_both_stand() -> None:
    ours, theirs = chosen(SEEN, 0, Take.OURS), chosen(SEEN, 1, Take.THEIRS, "bob")
    joined = rebase(SEEN, ours, theirs)
    assert sorted(joined.for_table(TABLE)[-1].choices["take"].to_pylist()) == ["ours", "theirs"]
    assert rebase(SEEN, theirs, ours).for_table(TABLE)[-1].where == SEEN.tables[1].where


def test_another_choice_of_the_same_cell_stands_and_is_told() -> None:
    newest = chosen(SEEN, 0, Take.THEIRS, "bob")
    with pytest.raises(Refused, match=r"a of .*by bob, as 'theirs'") as refused:
        rebase(SEEN, chosen(SEEN, 0, Take.OURS), newest)
    assert refused.value.kind is ErrorKind.COMMIT_CONFLICT
    first = chosen(SEEN, 0, Take.BASE)
    with pytest.raises(Refused, match="choice"):
        rebase(first, chosen(first, 0, Take.OURS), without_choices(first, TABLE, _ids(0)))


def test_the_same_choice_of_two_people_is_one() -> None:
    newest = chosen(SEEN, 0, Take.OURS, "bob")
    assert rebase(SEEN, chosen(SEEN, 0, Take.OURS, "ada", 9), newest).digest


def test_rules_come_together_unless_they_are_of_one_thing() -> None:
    mine = with_predicate(SEEN, TABLE, PredicateRule(when="id = 9", take=OURS))
    newest = without_predicate(SEEN, TABLE, PredicateRule(when="id = 7", take=OURS))
    joined = rebase(SEEN, mine, newest)
    assert [rule.when for rule in joined.for_table(TABLE)[-1].where] == ["id = 8", "id = 9"]
    for other in (
        with_column_rule(SEEN, TABLE, "a", MAX),
        with_column_rule(SEEN, TABLE, "a", None),
    ):
        with pytest.raises(Refused, match="column"):
            rebase(SEEN, with_column_rule(SEEN, TABLE, "a", OURS), other)
    taken = rebase(SEEN, with_table_rule(SEEN, TABLE, OURS), mine).for_table(TABLE)[-1]
    assert taken.take == OURS
    assert len(taken.where) == 3


def test_a_kind_in_one_table_is_decided_beside_the_same_kind_in_another() -> None:
    option = ConflictKind.OPTION
    mine = with_kind_rule_in(SEEN, TABLE, option, OURS)
    joined = rebase(
        SEEN, mine, with_kind_rule_in(SEEN, "db.u", option, PolicyChoice.parse("theirs"))
    )
    assert {
        each.table: [(rule.kind, str(rule.take)) for rule in each.kinds] for each in joined.tables
    } == {
        "*": [],
        TABLE: [(ConflictKind.ADD_ADD, "ours"), (option, "ours")],
        "db.u": [(option, "theirs")],
    }
    assert with_kind_rule_in(mine, TABLE, option, None).to_yaml() == SEEN.to_yaml()
    with pytest.raises(Refused, match="kind in table"):
        rebase(SEEN, mine, with_kind_rule_in(SEEN, TABLE, option, PolicyChoice.parse("theirs")))


def test_nothing_gets_lost_on_the_way() -> None:
    policy = chosen(chosen(SEEN, 0, Take.BASE), 1, Take.OURS)
    for same in (rebase(Policy(), Policy(), policy), laid_over(Policy(), policy)):
        assert same.to_yaml() == policy.to_yaml()
    assert without_choices(policy, TABLE, _ids(0, 1)).to_yaml() == SEEN.to_yaml()


def test_a_file_counts_where_both_say_something() -> None:
    over = with_column_rule(Policy(), TABLE, "a", MAX)
    joined = laid_over(SEEN, over).for_table(TABLE)[-1]
    assert [str(rule.take) for rule in joined.columns] == ["max"]
    assert len(joined.where) == 2


def test_only_what_bears_on_which_rows_conflict_asks_for_another_comparison() -> None:
    assert policy_to_compare_by(SEEN) == "version: 1\nrows: row\n"
    kinds = "version: 1\nrows: cell\nkinds:\n  option: ours\n"
    assert policy_to_compare_by(Policy.from_yaml(f"{kinds}  added on both: ours\n")) == kinds
    in_table = with_kind_rule_in(SEEN, TABLE, ConflictKind.OPTION, OURS)
    assert policy_to_compare_by(in_table) == (
        "version: 1\nrows: row\ntables:\n  db.t:\n    kinds:\n      option: ours\n"
    )
    assert policy_to_compare_by(with_column_rule(Policy(), TABLE, "a", MAX)) is None


def _ids(*at: int) -> pa.Array:
    return FOUND["conflict_id"].combine_chunks().take(pa.array(at))
