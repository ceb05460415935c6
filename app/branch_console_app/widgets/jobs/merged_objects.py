"""The databases and tables of a merge of the catalog, in its job: a line each with its state."""

from typing import Literal

import streamlit as st

from branch_console.jobs.progress import JobView
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console_app import reads
from branch_console_app.models.jobs.merged_objects import (
    ObjectMark,
    ObjectProgress,
    object_progress,
    visible_objects,
)
from branch_console_app.models.parts.wording import count, plain

_MARKS = {
    ObjectMark.NOW: ":blue[▸]",
    ObjectMark.WAITING: ":gray[○]",
    ObjectMark.DONE: ":green[✓]",
}
_HEIGHT = 320
_MOST_SHORT = 12


def show_merged_objects_of(job: JobView) -> None:
    """Draw how far each object is; nothing of another job, or before the merge is decided."""
    if job.name != MergeCatalogRequest.procedure:
        return
    found = object_progress(reads.parts_of_job(job.id), job)
    if not found:
        return
    visible = visible_objects(found)
    done = sum(each.mark is ObjectMark.DONE for each in found)
    with st.container(border=True, key="card-objects"):
        st.markdown(f"**Databases and tables** :gray[{count(done)} of {count(len(found))} done]")
        height: int | Literal["content"] = _HEIGHT if len(visible) > _MOST_SHORT else "content"
        with st.container(height=height, border=False, gap="xxsmall", key="merge-objects"):
            st.markdown("  \n".join(_line(each) for each in visible))
        if len(found) > len(visible):
            st.caption(f"and {count(len(found) - len(visible))} more")


def _line(found: ObjectProgress) -> str:
    steps = len(found.did)
    far = f", {count(found.done)} of {count(steps)} steps" if 0 < found.done < steps else ""
    did = ", ".join(found.did)
    return f"{_MARKS[found.mark]} {plain(found.name)} :gray[{plain(did)}{far}]"
