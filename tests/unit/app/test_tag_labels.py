"""Names of tags in charts."""

from branch_console_app.models.branches.tag_labels import spaced_labels, tag_label


def test_people_see_the_tags_that_people_made() -> None:
    assert tag_label(["branch-base-dev", "2013-q1"]) == "2013-q1"
    assert tag_label(["branch-base-dev"]) == ""
    assert tag_label(["v1", "v2", "v3"]) == "v1 +2"


def test_a_label_that_would_run_into_the_next_is_left_out() -> None:
    assert spaced_labels([(1.0, "a"), (2.0, "b"), (9.0, "c")]) == ["", "b", "c"]
    assert spaced_labels([(9.0, "c"), (1.0, "a")]) == ["c", "a"]
    assert spaced_labels([(8.0, "a"), (9.0, "")]) == ["a", ""]
