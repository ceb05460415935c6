"""Results of dry runs, kept beside the ledger until a merge publishes or discards them.

Whoever holds the claim of a result decides over the files that it names. Without a claim they are
nobody's: the next one to claim them may publish them, or remove them.
"""

from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import FormatError
from branch_console.format.journals.written import StagedResult
from branch_console.storage.file_io import FileReader
from branch_console.storage.table_paths import TablePaths

_SUFFIX: Final = ".json"
_CLAIM: Final = ".claim"


def keep_staged(store: CommitStore, paths: TablePaths, staged: StagedResult) -> bool:
    """Keep a result; False if another one of the same plan is kept already."""
    data = staged.to_json().encode()
    _, kept = publish_once(store, _path(paths, staged.plan_id), data)
    return kept == data


def find_staged(files: FileReader, paths: TablePaths, plan_id: str) -> StagedResult | None:
    """Return the kept result of a plan; None if there is none, or none that can be read."""
    kept = files.find(_path(paths, plan_id))
    if kept is None:
        return None
    try:
        return StagedResult.from_json(kept)
    except FormatError:
        # Of another release, or cut short: the merge is computed anew.
        return None


def staged_results(files: FileReader, paths: TablePaths) -> tuple[StagedResult, ...]:
    """Return all kept results that can be read."""
    names = files.names(_folder(paths))
    plans = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    found = (find_staged(files, paths, each) for each in sorted(plans))
    return tuple(each for each in found if each is not None)


def claim_staged(store: CommitStore, paths: TablePaths, plan_id: str, holder: str) -> bool:
    """Take a result for one operation; True if it is that one's, now or since before."""
    data = holder.encode()
    _, held_by = publish_once(store, _path(paths, plan_id, _CLAIM), data)
    return held_by == data


def is_claimed(files: FileReader, paths: TablePaths, plan_id: str) -> bool:
    """Whether somebody decides over a result already."""
    return files.exists(_path(paths, plan_id, _CLAIM))


def forget_staged(store: CommitStore, paths: TablePaths, plan_id: str) -> None:
    """Forget a result; its caller decides what happens to its files."""
    # For good and first: a result that came back without its claim would look like nobody's.
    store.remover.remove([_path(paths, plan_id)])
    store.remover.discard([_path(paths, plan_id, _CLAIM)])


def _folder(paths: TablePaths) -> str:
    return f"{paths.lineage_dir}/staged"


def _path(paths: TablePaths, plan_id: str, suffix: str = _SUFFIX) -> str:
    return f"{_folder(paths)}/{plan_id}{suffix}"
