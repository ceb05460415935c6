import pytest

from branch_console.format.kept_elsewhere import Act, kept_elsewhere
from branch_console.format.options import Options


def _found(options: dict[str, str], branch: str, act: Act) -> list[str]:
    return [each.option for each in kept_elsewhere(Options(options), branch, act)]


@pytest.mark.parametrize(
    ("options", "commits", "tags"),
    [
        ({}, [], []),
        ({"metadata.iceberg.storage": "disabled"}, [], []),
        ({"metastore.partitioned-table": "false", "commit.callbacks": " "}, [], []),
        ({"metadata.iceberg.storage": "table-location"}, ["metadata.iceberg.storage"], None),
        ({"metastore.partitioned-table": "true"}, ["metastore.partitioned-table"], []),
        ({"metastore.tag-to-partition": "dt"}, [], ["metastore.tag-to-partition"]),
        (
            {
                "metastore.tag-to-partition": "dt",
                "metastore.tag-to-partition.preview": "process-time",
            },
            ["metastore.tag-to-partition.preview"],
            ["metastore.tag-to-partition"],
        ),
        ({"commit.callbacks": "org.example.Told"}, ["commit.callbacks"], []),
        ({"tag.callbacks": "org.example.Told"}, [], ["tag.callbacks"]),
    ],
)
def test_what_paimon_would_do_on_main(
    options: dict[str, str], commits: list[str], tags: list[str] | None
) -> None:
    assert _found(options, "main", Act.COMMIT) == commits
    assert _found(options, "main", Act.TAG) == (commits if tags is None else tags)


def test_only_programs_are_told_of_other_branches() -> None:
    options = {
        "metadata.iceberg.storage": "table-location",
        "metastore.partitioned-table": "true",
        "commit.callbacks": "org.example.Told",
        "tag.callbacks": "org.example.Told",
    }
    assert _found(options, "dev", Act.COMMIT) == ["commit.callbacks"]
    assert _found(options, "dev", Act.TAG) == ["tag.callbacks"]
