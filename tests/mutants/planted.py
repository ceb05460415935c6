"""The planted faults: where, what becomes of what, and the tests that must find it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault.

    Attributes:
        name: What is wrong.
        file: Where it is planted.
        old: What stands there, once.
        new: What stands there instead.
        tests: Files and names of the tests that must fail, each of them.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS: Final = (
    Mutant(
        name="a flipped conflict cell",
        file="core/branch_console/merge/conflict_matrix.py",
        old="TableOperation.DELETE:      (C,  OK, OK, OK,   OK, C,    M2, OK,   M5,   M9)",
        new="TableOperation.DELETE:      (C,  OK, OK, OK,   OK, OK,   M2, OK,   M5,   M9)",
        tests=(
            "tests/unit/merge/test_conflict_matrix.py::test_a_cell_of_the_table_matrix",
            "tests/unit/procedures/test_merge_branch.py"
            "::test_a_delete_conflicts_with_rows_that_the_target_inserted",
        ),
    ),
    Mutant(
        name="a merge of a part that counts as one of the whole",
        file="core/branch_console/diff/catalog_base.py",
        old="{name for name, covers in parts if object_id not in covers}",
        new="set[str]()",
        tests=(
            "tests/unit/diff/test_catalog_base.py"
            "::test_a_merge_of_a_part_is_a_base_only_of_that_part",
            "tests/property/test_catalog_laws.py::test_k6_a_part_and_then_the_whole_is_the_whole",
        ),
    ),
    Mutant(
        name="an object put back and nobody judged again",
        file="core/branch_console/merge/catalog/final_places.py",
        old="while places.settle_databases() or places.settle_homes() or places.settle_tables():",
        new="if places.settle_databases() or places.settle_homes() or places.settle_tables():",
        tests=(
            "tests/unit/merge/test_catalog_merge.py"
            "::test_putting_one_table_back_can_be_in_the_way_of_another",
        ),
    ),
    Mutant(
        name="a step that waits for no place",
        file="core/branch_console/merge/catalog/catalog_steps.py",
        old="if self._key(new[each]) in taken",
        new="if not taken",
        tests=(
            "tests/unit/merge/test_catalog_plan.py"
            "::test_steps_come_in_the_order_in_which_places_become_free",
        ),
    ),
    Mutant(
        name="a lost retry",
        file="core/branch_console/commit/base/retry_policy.py",
        old="for retry in range(self.max_retries):",
        new="for retry in range(self.max_retries - 1):",
        tests=(
            "tests/unit/commit/test_file_store_commit.py"
            "::test_c13_retries_are_counted_and_the_loss_is_told",
        ),
    ),
    Mutant(
        name="a publish that overwrites",
        file="core/branch_console/storage/local_publisher.py",
        old="link: Callable[[str, str], None] = os.link,",
        new="link: Callable[[str, str], None] = os.replace,",
        tests=(
            "tests/unit/storage/test_file_publisher.py"
            "::test_the_first_publish_wins_and_the_second_changes_nothing",
            "tests/unit/commit/test_commit_statements.py::test_c03_a_snapshot_file_never_changes",
            "tests/reliability/test_commit_storm.py"
            "::test_of_many_processes_no_commit_is_lost_doubled_or_failed",
        ),
    ),
    Mutant(
        name="a wrong bucket hash",
        file="core/branch_console/format/values/bucket.py",
        old="hashed += np.uint32(0xE6546B64)",
        new="hashed += np.uint32(0xE6546B65)",
        tests=(
            "tests/golden/test_format_golden.py::test_rows_lie_in_the_bucket_that_their_key_gives",
        ),
    ),
    Mutant(
        name="a dropped deletion vector",
        file="core/branch_console/procedures/merge/deletion_vectors.py",
        old="vectors = {**read_masks(target, masks_of(given_up)), **wanted}",
        new="vectors = dict(wanted)",
        tests=("tests/unit/procedures/test_merge_masks.py::test_a_bucket_has_one_file_of_vectors",),
    ),
    Mutant(
        name="a schema id taken from the wrong branch",
        file="core/branch_console/procedures/merge/file_messages.py",
        old='ids = [id_map.get(each, each) for each in files["schema_id"].to_pylist()]',
        new='ids = files["schema_id"].to_pylist()',
        tests=(
            "tests/interop/test_merge_columns.py::test_each_side_added_a_column_under_the_same_ids",
        ),
    ),
    Mutant(
        name="a missing fsync",
        file="core/branch_console/storage/durable.py",
        old="        os.fsync(descriptor)",
        new="        os.fstat(descriptor)",
        tests=(
            "tests/unit/storage/test_durable.py"
            "::test_a_data_file_is_on_the_disk_before_its_writer_goes_on",
            "tests/unit/storage/test_durable.py"
            "::test_a_published_file_is_on_the_disk_before_it_has_its_name",
        ),
    ),
    Mutant(
        name="a stale cache",
        file="core/branch_console/storage/metadata_cache.py",
        old='version = f"{status.size}|{status.modified_millis}|{status.etag}"',
        new='version = f"{status.size}"',
        tests=(
            "tests/unit/storage/test_metadata_cache.py"
            "::test_a_look_at_a_file_far_away_brings_its_bytes_along",
        ),
    ),
    Mutant(
        name="a role check removed",
        file="core/branch_console/procedures/run/procedure.py",
        old="    check_role(call.role, planned.preview.role, procedure.what)\n",
        new="",
        tests=(
            "tests/unit/procedures/test_preview.py::test_a_viewer_may_look_and_not_run",
            "tests/unit/procedures/test_protection.py::test_rules_are_for_approvers",
        ),
    ),
    Mutant(
        name="a cell that is not escaped",
        file="app/branch_console_app/models/parts/wording.py",
        old=r'return _MARKDOWN.sub(r"\\\1", visible(text))',
        new="return visible(text)",
        tests=("tests/unit/app/test_wording.py::test_foreign_text_is_shown_as_it_is_in_markdown",),
    ),
)
