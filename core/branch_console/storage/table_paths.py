"""The paths of Paimon's files of a table: every path is made here.

Snapshots, schemas, tags, changelogs and consumers are per branch; manifests, indexes, statistics
and data files lie in the table's root and are shared by all branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH

SNAPSHOT_PREFIX: Final = "snapshot-"
SCHEMA_PREFIX: Final = "schema-"
TAG_PREFIX: Final = "tag-"
CHANGELOG_PREFIX: Final = "changelog-"
CONSUMER_PREFIX: Final = "consumer-"
FENCE_ID: Final = "branch-console-fence"
"""The consumer that reads nothing and keeps a branch from expiring."""
BRANCH_PREFIX: Final = "branch-"
BASE_TAG_PREFIX: Final = "branch-base-"
"""The prefix of tags that keep the forks of branches."""
EVENT_PREFIX: Final = "event-"
POLICY_PREFIX: Final = "policy-"
HOLD_PREFIX: Final = "hold-"
LATEST: Final = "LATEST"
EARLIEST: Final = "EARLIEST"
_POSTPONE_BUCKET: Final = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePaths:
    """The paths of Paimon's files of a table, seen from one branch.

    Attributes:
        data_directory: The option `data-file.path-directory`: a folder between the table and its
            partitions.
        retired_by: The operation that removed the paths from the branch; "" for the branch's own.
    """

    table: str
    branch: str = MAIN_BRANCH
    data_directory: str = ""
    retired_by: str = ""

    def on(self, branch: str) -> TablePaths:
        """The same table seen from another branch."""
        # Not by `replace`, which takes five times as long: a table may have thousands.
        return TablePaths(table=self.table, branch=branch, data_directory=self.data_directory)

    def retired(self, operation_id: str) -> TablePaths:
        """The folder of the files that one operation took from the branch, laid out as there."""
        return replace(self, retired_by=operation_id)

    @property
    def root(self) -> str:
        """The folder of what belongs to the branch alone."""
        if self.retired_by:
            return f"{self.retired_dir}/{self.retired_by}/{BRANCH_PREFIX}{self.branch}"
        is_main = self.branch == MAIN_BRANCH
        return self.table if is_main else f"{self.branch_dir}/{BRANCH_PREFIX}{self.branch}"

    @property
    def branch_dir(self) -> str:
        """The folder of all branches but main, also of those made from branches."""
        return f"{self.table}/branch"

    @property
    def snapshot_dir(self) -> str:
        """The folder of the branch's snapshots and hints."""
        return f"{self.root}/snapshot"

    def snapshot_dirs(self, branches: Iterable[str]) -> Mapping[str, str]:
        """The folders of the snapshots of many branches of the table."""
        return self._of_each(branches, "snapshot")

    @property
    def latest_hint(self) -> str:
        """The hint at the newest snapshot."""
        return f"{self.snapshot_dir}/{LATEST}"

    @property
    def earliest_hint(self) -> str:
        """The hint at the oldest snapshot."""
        return f"{self.snapshot_dir}/{EARLIEST}"

    def snapshot(self, snapshot_id: int) -> str:
        """The path of a snapshot."""
        return f"{self.snapshot_dir}/{SNAPSHOT_PREFIX}{snapshot_id}"

    @property
    def schema_dir(self) -> str:
        """The folder of the branch's schemas."""
        return f"{self.root}/schema"

    def schema_dirs(self, branches: Iterable[str]) -> Mapping[str, str]:
        """The folders of the schemas of many branches of the table."""
        return self._of_each(branches, "schema")

    def schema(self, schema_id: int) -> str:
        """The path of a schema."""
        return f"{self.schema_dir}/{SCHEMA_PREFIX}{schema_id}"

    @property
    def tag_dir(self) -> str:
        """The folder of the branch's tags."""
        return f"{self.root}/tag"

    def tag(self, name: str) -> str:
        """The path of a tag."""
        return f"{self.tag_dir}/{TAG_PREFIX}{name}"

    @property
    def changelog_dir(self) -> str:
        """The folder of the branch's decoupled changelogs."""
        return f"{self.root}/changelog"

    def changelog(self, snapshot_id: int) -> str:
        """The path of a decoupled changelog."""
        return f"{self.changelog_dir}/{CHANGELOG_PREFIX}{snapshot_id}"

    @property
    def consumer_dir(self) -> str:
        """The folder of the branch's consumers."""
        return f"{self.root}/consumer"

    def consumer(self, consumer_id: str) -> str:
        """The path of a consumer."""
        return f"{self.consumer_dir}/{CONSUMER_PREFIX}{consumer_id}"

    @property
    def manifest_dir(self) -> str:
        """The folder of manifests, manifest lists and index manifests of all branches."""
        return f"{self.table}/manifest"

    def manifest(self, name: str) -> str:
        """The path of a manifest, manifest list or index manifest."""
        return f"{self.manifest_dir}/{name}"

    def index(self, name: str) -> str:
        """The path of an index file, such as deletion vectors, within the table."""
        return f"{self.table}/index/{name}"

    def statistics(self, name: str) -> str:
        """The path of a statistics file."""
        return f"{self.table}/statistics/{name}"

    def bucket(self, partition_path: str, bucket: int) -> str:
        """The folder of a bucket's data files; `partition_path` is "" without partitions."""
        name = "bucket-postpone" if bucket == _POSTPONE_BUCKET else f"bucket-{bucket}"
        parts = (self.table, self.data_directory.strip("/"), partition_path.strip("/"), name)
        return "/".join(part for part in parts if part)

    def data_file(self, partition_path: str, bucket: int, name: str) -> str:
        """The path of a data file within the table."""
        return f"{self.bucket(partition_path, bucket)}/{name}"

    @property
    def lineage_dir(self) -> str:
        """The folder of our ledger; Paimon knows nothing of it."""
        return f"{self.table}/branch-lineage"

    def event(self, time_millis: int, event_id: str) -> str:
        """The path of an event of the ledger; names sort by time."""
        return f"{self.lineage_dir}/{EVENT_PREFIX}{time_millis:013d}-{event_id}.json"

    def row_conflicts(self, plan_id: str) -> str:
        """The path of the conflicts of rows that the merge of a plan has."""
        return f"{self.lineage_dir}/row-conflicts-{plan_id}.arrow"

    def policy_draft_dir(self, draft: str) -> str:
        """The folder of the versions of a draft, which settles conflicts of a merge to come."""
        return f"{self.lineage_dir}/drafts/{draft}"

    def policy_draft(self, draft: str, version: int) -> str:
        """Return the path of a version of a draft."""
        return f"{self.policy_draft_dir(draft)}/{POLICY_PREFIX}{version}"

    @property
    def retired_dir(self) -> str:
        """The folder of names that operations took from branches, and that undo brings back."""
        return f"{self.lineage_dir}/retired"

    def hold(self, name: str) -> str:
        """The path of the hold of a running read."""
        return f"{self.lineage_dir}/{HOLD_PREFIX}{name}.json"

    @property
    def trash_dir(self) -> str:
        """The folder of files that nothing names, and that wait there before they go for good."""
        return f"{self.lineage_dir}/trash"

    def release_list(self, operation_id: str) -> str:
        """The path of the list of files that an operation is about to remove."""
        return f"{self.lineage_dir}/release-{operation_id}.arrow"

    def _of_each(self, branches: Iterable[str], folder: str) -> Mapping[str, str]:
        # As `on` and its properties tell, which take a microsecond for each of thousands.
        start = f"{self.branch_dir}/{BRANCH_PREFIX}"
        return {
            each: f"{self.table}/{folder}" if each == MAIN_BRANCH else f"{start}{each}/{folder}"
            for each in branches
        }
