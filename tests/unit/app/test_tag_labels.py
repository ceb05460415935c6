"""Names of tags in charts."""

from branch_console.format.tag import Tag
from branch_console.procedures.branch.rollback_tags import PIN_PREFIX
from branch_console.procedures.browse.page_values import TagItem
from branch_console.procedures.history.share_pins import SHARE_PIN_PREFIX
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console_app.models.branches.tag_labels import spaced_labels, split_tags, tag_label
from tests.unit.app.histories import snapshot


def test_people_see_the_tags_that_people_made() -> None:
    assert tag_label(["branch-base-dev", "2013-q1"]) == "2013-q1"
    assert tag_label(["branch-base-dev"]) == ""
    own = (BASE_TAG_PREFIX, SHARE_PIN_PREFIX, PIN_PREFIX)
    assert tag_label([f"{prefix}{'8' * 32}" for prefix in own]) == ""
    assert tag_label(["v1", "v2", "v3"]) == "v1 +2"


def test_a_label_that_would_run_into_the_next_is_left_out() -> None:
    assert spaced_labels([(1.0, "a"), (2.0, "b"), (9.0, "c")]) == ["", "b", "c"]
    assert spaced_labels([(9.0, "c"), (1.0, "a")]) == ["c", "a"]
    assert spaced_labels([(8.0, "a"), (9.0, "")]) == ["a", ""]


def test_a_label_is_not_written_over_the_flag_of_a_tag_without_a_label() -> None:
    assert spaced_labels([(5.0, "a"), (7.0, "b"), (9.0, "c")]) == ["", "", "c"]


def test_the_tags_of_a_snapshot_are_split_from_those_of_others() -> None:
    head, older = snapshot("head", 4), snapshot("older", 3)
    tags = [
        TagItem(name="now", tag=Tag(name="now", snapshot=head)),
        TagItem(name="then", tag=Tag(name="then", snapshot=older)),
        TagItem(name="torn", tag=None),
    ]
    assert split_tags(tags, head) == (("now",), 2)
    assert split_tags(tags, None) == ((), 3)
