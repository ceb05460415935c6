"""The forms about one snapshot: name it, take a name away, make it the head again."""

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.operations.branch_requests import RollbackRequest
from branch_console.operations.request import Request
from branch_console.operations.tag_requests import CreateTagRequest, DeleteTagRequest
from branch_console_app import reads
from branch_console_app.models.parts.actions import (
    KEPT_FOR,
    TAG_PREFIX,
    Action,
    Form,
    kept_for,
    snapshot_id,
)
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.dialogs import Dialogs
from branch_console_app.widgets.parts.preview import show_command, show_unfilled
from branch_console_app.widgets.parts.problem import show_no_snapshot

_ADDS = "add a snapshot with its content"
_CUTS = "cut the history back"


class TagDialogs:
    """The dialogs of one branch; the snapshot or tag they are about comes with the address."""

    def __init__(self, identifier: Identifier, place: Location) -> None:
        self._identifier = identifier
        self._place = place

    def all(self) -> Dialogs:
        """Title and drawing of each dialog."""
        name = plain(self._identifier.branch)
        return {
            Action.TAG: (f"Tag a snapshot of {name}", self.create),
            Action.DELETE_TAG: (f"Delete a tag of {name}", self.delete),
            Action.ROLLBACK: (f"Roll {name} back", self.roll_back),
        }

    def create(self, snapshot: str | None) -> None:
        """Draw the form of a tag: new, or moved here."""
        if snapshot is not None and snapshot_id(snapshot) is None:
            show_no_snapshot(snapshot)
            return
        name = st.text_input("Name", key="do-name", live=True, placeholder="2013-q1")
        left, right = st.columns(2, gap="small", vertical_alignment="bottom")
        words = left.selectbox(
            "Kept", list(KEPT_FOR), key="do-kept", accept_new_options=True,
            help="Or a duration as ISO 8601 has it, such as P45D or PT12H. A tag that expires "
            "frees its snapshot.",
        )  # fmt: skip
        taken = name in {item.name for item in reads.tags(self._identifier)}
        moves = right.checkbox("Move the tag of this name here", key="do-move") if taken else False
        request = CreateTagRequest(
            table=self._identifier.full_name,
            tag=name,
            snapshot=snapshot_id(snapshot),
            time_retained=kept_for(words),
            replace=moves,
        )
        if name and (moves or not taken):
            label = f"{'Move' if moves else 'Create'} tag {plain(name)}"
            self._show(request, label, ":material/sell:")
        else:
            missing = "Type a name first."
            if taken:
                missing = f"There is a tag {code(name)} already. Choose another name, or move it."
            show_unfilled(request.procedure, "Create tag", ":material/sell:", missing)

    def delete(self, tag: str | None) -> None:
        """Draw the consequences of taking a name away."""
        request = DeleteTagRequest(
            table=self._identifier.full_name, tag=tag or "", reason=reason_field()
        )
        self._show(request, f"Delete tag {plain(tag or '')}", ":material/delete:")

    def roll_back(self, place: str | None) -> None:
        """Draw the form of a rollback to a snapshot or a tag: history stays by default."""
        tag = place.removeprefix(TAG_PREFIX) if place and place.startswith(TAG_PREFIX) else None
        way = st.radio("How", [_ADDS, _CUTS], key="do-way", horizontal=True)
        if way == _CUTS:
            st.caption("For operators: the newer snapshots leave the history into a rescue branch.")
        request = RollbackRequest(
            table=self._identifier.full_name,
            snapshot=None if tag is not None else snapshot_id(place),
            tag=tag,
            cut=way == _CUTS,
            reason=reason_field(),
        )
        label = f"Roll {plain(self._identifier.branch)} back to {plain(tag or str(place))}"
        self._show(request, label, ":material/history:")

    def _show(self, request: Request, label: str, icon: str) -> None:
        show_command(Form.of(request, label, icon), self._place)
