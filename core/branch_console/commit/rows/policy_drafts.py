"""Drafts of policies, kept beside the conflicts that they settle: each version a file of its own.

A version is published only if there is none, so of two people who build on one version one is
told; no choice overwrites another unseen.
"""

from typing import Final, Protocol

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.storage.file_io import FileReader
from branch_console.storage.table_paths import POLICY_PREFIX

# Who builds on a version looks for a newer one right before publishing, not fifty versions before.
_KEPT: Final = 50


class DraftPlace(Protocol):
    """The place of drafts: with a table, or with the catalog."""

    def policy_draft_dir(self, draft: str) -> str:
        """The folder of the versions of a draft."""

    def policy_draft(self, draft: str, version: int) -> str:
        """The path of a version of a draft."""


def find_policy_draft(files: FileReader, paths: DraftPlace, draft: str) -> tuple[int, str] | None:
    """Return the newest version of a draft and its text, None if there is none yet."""
    versions = _versions(files, paths, draft)
    if not versions:
        return None
    return versions[-1], files.read(paths.policy_draft(draft, versions[-1])).decode()


def publish_policy_draft(
    store: CommitStore, paths: DraftPlace, draft: str, version: int, text: str
) -> bool:
    """Publish a version of a draft; False if somebody else has published it with other content.

    Versions that nobody can build on any more are removed.
    """
    data = text.encode()
    _, kept = publish_once(store, paths.policy_draft(draft, version), data)
    if kept != data:
        return False
    old = [each for each in _versions(store.files, paths, draft) if each <= version - _KEPT]
    store.remover.discard(paths.policy_draft(draft, each) for each in old)
    return True


def _versions(files: FileReader, paths: DraftPlace, draft: str) -> list[int]:
    names = files.names(paths.policy_draft_dir(draft))
    texts = (name.removeprefix(POLICY_PREFIX) for name in names if name.startswith(POLICY_PREFIX))
    return sorted(int(text) for text in texts if text.isdecimal())
