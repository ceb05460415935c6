"""The forms of a branch's life: create, rename, protect, drop, replace main, pin, fence, repair."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import streamlit as st

from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.branch_requests import (
    CreateBranchRequest,
    DropBranchRequest,
    FenceBranchRequest,
    PinBranchRequest,
    ProtectBranchRequest,
    RenameBranchRequest,
    RepairBranchRequest,
    ReplaceMainRequest,
)
from branch_console.operations.request import Request
from branch_console.procedures.browse.page_values import BranchItem
from branch_console_app import reads, state
from branch_console_app.models.branches.broken_branches import FATES_OF_BROKEN, blocks_expiry
from branch_console_app.models.branches.start_labels import snapshot_label, start_tag_label
from branch_console_app.models.parts.actions import (
    Action,
    DroppedFiles,
    Form,
    Start,
    millis_of,
    name_problem,
    snapshot_id,
    start_arguments,
)
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.widgets.parts.act_here import act_here
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.dialogs import Dialogs
from branch_console_app.widgets.parts.preview import show_command, show_unfilled


class BranchDialogs:
    """The dialogs of one table, about the branch of the address."""

    def __init__(
        self, identifier: Identifier, items: Mapping[str, BranchItem], place: Location
    ) -> None:
        self._table = identifier.table_name
        self._identifier = identifier
        self._branch = identifier.branch
        self._items = items
        self._place = place

    def all(self) -> Dialogs:
        """Title and drawing of each dialog."""
        name = plain(self._branch)
        return {
            Action.CREATE: ("Create a branch", self.create),
            Action.RENAME: (f"Rename {name}", self.rename),
            Action.PROTECT: (f"Protection of {name}", self.protect),
            Action.DROP: (f"Drop {name}", self.drop),
            Action.REPLACE_MAIN: (f"Replace main by {name}", self.replace_main),
            Action.PIN: (f"Pin {name}", self.pin),
            Action.FENCE: (f"Fence {name}", self.fence),
            Action.REPAIR: (f"Repair {name}", self.repair),
        }

    def create(self, start_at: str | None) -> None:
        """Draw the form of a new branch; `start_at` is a snapshot id to begin at."""
        name = st.text_input("Name", key="do-name", live=True, placeholder="fix-delays")
        problem = name_problem(name, tuple(self._items))
        if problem:
            st.markdown(f":small[:red[✕ {plain(problem)}]]")
        left, right = st.columns(2, gap="small")
        owner = left.text_input(
            "Owner", key="do-owner", placeholder="nobody in particular",
            help=CreateBranchRequest.help_of("owner"),
        )  # fmt: skip
        reason = right.text_input("Reason", key="do-reason", placeholder="What is it for?")
        source = st.selectbox(
            "From branch", list(self._items), index=self._index_of(self._branch),
            key="do-from", filter_mode="contains",
        )  # fmt: skip
        starts = list(Start)
        first = Start.SNAPSHOT if start_at else Start.HEAD
        start = Start(
            st.radio("At", starts, index=starts.index(first), horizontal=True, key="do-start")
        )
        where = start_arguments(start, self._pick_start(start, source, start_at))
        if start is Start.EMPTY:
            st.warning(
                "**An empty branch has no base.** It shares no snapshot with any other branch, so "
                "it can never be merged, and fast-forward refuses it.",
                icon=":material/warning:",
            )
        if not name or problem or where is None:
            reason = _missing_name(name, problem) or f"Choose a {start} first."
            show_unfilled(CreateBranchRequest.procedure, "Create branch", ":material/add:", reason)
            return
        request = CreateBranchRequest(
            table=self._table,
            branch=name,
            from_branch=source,
            owner=owner or None,
            reason=reason or None,
        )
        form = Form.of(request, f"Create {plain(name)}", ":material/add:")
        form = replace(form, arguments={**form.arguments, **where})
        show_command(form, self._place.at_branch(name), act_here)

    def rename(self, _: str | None) -> None:
        """Draw the form of a new name."""
        item = self._items[self._branch]
        name = st.text_input("New name", key="do-name", live=True, placeholder=self._branch)
        problem = name_problem(name, tuple(self._items))
        if problem:
            st.markdown(f":small[:red[✕ {plain(problem)}]]")
        updates = False
        if item.used_by:
            st.markdown(f"Used in options by {', '.join(code(each) for each in item.used_by)}.")
            updates = st.checkbox("Change these options to the new name", key="do-options")
        request = RenameBranchRequest(
            table=self._table,
            branch=self._branch,
            to=name,
            update_options=updates,
            reason=reason_field(),
        )
        missing = _missing_name(name, problem)
        if missing is None:
            self._show(request, f"Rename to {plain(name)}", ":material/edit:", name)
        else:
            show_unfilled(request.procedure, "Rename", ":material/edit:", missing)

    def protect(self, _: str | None) -> None:
        """Draw the form of a rule: by name or by pattern, made or taken back."""
        rule = self._items[self._branch].protection
        if rule is not None:
            st.markdown(f"Protected by rule {code(rule.branch)} of {plain(rule.actor)}.")
        wishes = ["protect", "remove the protection"]
        wish = st.radio(
            "Rule", wishes, index=0 if rule is None else 1, horizontal=True, key="do-rule"
        )
        pattern = st.text_input(
            "Branch or pattern", self._branch, key="do-pattern", live=True,
            help="A pattern such as release-\\* holds for branches to come, too.",
        )  # fmt: skip
        reason = reason_field()
        is_new = wish == wishes[0]
        if not pattern:
            label, missing = (
                "Protect" if is_new else "Remove the protection",
                "Type a branch or a pattern first.",
            )
            show_unfilled(ProtectBranchRequest.procedure, label, ":material/lock:", missing)
            return
        request = ProtectBranchRequest(
            table=self._table, branch=pattern, protected=is_new, reason=reason
        )
        label = f"Protect {plain(pattern)}" if is_new else "Remove the protection"
        icon = ":material/lock:" if is_new else ":material/lock_open:"
        self._show(request, label, icon, self._branch)

    def drop(self, _: str | None) -> None:
        """Draw the consequences of a drop: its files stay, or leave with it."""
        fates = list(DroppedFiles)
        # A rescue branch that cannot be read blocks expiry as this branch does. It is the first
        # choice all the same: what is lost can come back from a copy, what is removed cannot.
        error = self._items[self._branch].error
        is_broken = error is not None and blocks_expiry(error)
        chosen = st.radio(
            "Files that only this branch needs", fates, index=0, key="do-files",
            captions=[FATES_OF_BROKEN[each] for each in fates] if is_broken else None,
        )  # fmt: skip
        fate = DroppedFiles(chosen)
        grace = None
        if fate is DroppedFiles.LATER:
            grace = st.text_input(
                "Remove files after", key="do-grace", placeholder="10 min",
                help=DropBranchRequest.help_of("grace"),
            )  # fmt: skip
        request = DropBranchRequest(
            table=self._table,
            branch=self._branch,
            reason=reason_field(),
            reclaim=fate is not DroppedFiles.STAY,
            grace="0 s" if fate is DroppedFiles.NOW else grace or None,
        )
        verb = "Drop" if fate is DroppedFiles.STAY else "Drop and free"
        label = f"{verb} {plain(self._branch)}"
        self._show(request, label, ":material/delete:", MAIN_BRANCH)

    def replace_main(self, _: str | None) -> None:
        """Draw the consequences of making main the branch's history."""
        request = ReplaceMainRequest(table=self._table, branch=self._branch, reason=reason_field())
        label = f"Replace main by {plain(self._branch)}"
        self._show(request, label, ":material/swap_vert:", MAIN_BRANCH)

    def pin(self, _: str | None) -> None:
        """Draw what a base tag would keep."""
        request = PinBranchRequest(table=self._table, branch=self._branch)
        label = f"Pin {plain(self._branch)}"
        self._show(request, label, ":material/keep:", self._branch)

    def fence(self, _: str | None) -> None:
        """Draw what a fence would keep."""
        request = FenceBranchRequest(table=self._table, branch=self._branch)
        label = f"Fence {plain(self._branch)}"
        self._show(request, label, ":material/fence:", self._branch)

    def repair(self, _: str | None) -> None:
        """Draw which schemas come from main."""
        request = RepairBranchRequest(table=self._table, branch=self._branch)
        label = f"Repair {plain(self._branch)}"
        self._show(request, label, ":material/healing:", self._branch)

    def _pick_start(self, start: Start, source: str, start_at: str | None) -> str | int | None:
        branch, zone = self._identifier.on_branch(source), state.zone()
        match start:
            case Start.HEAD | Start.EMPTY:
                return None
            case Start.TAG:
                tags = {item.name: item for item in reads.tags(branch)}
                if not tags:
                    st.info(f"{code(source)} has no tag.")
                    return None
                return st.selectbox(
                    "Tag", list(tags), index=None, key="do-tag", placeholder="Choose a tag",
                    filter_mode="contains",
                    format_func=lambda name: start_tag_label(tags[name], zone),
                )  # fmt: skip
            case Start.SNAPSHOT:
                readable = (each for each in reads.snapshots(branch) if each.snapshot is not None)
                items = {item.id: item for item in readable}
                ids, wanted = list(items), snapshot_id(start_at)
                return st.selectbox(
                    "Snapshot", ids, index=ids.index(wanted) if wanted in ids else None,
                    key="do-snapshot", placeholder="Choose a snapshot", filter_mode="contains",
                    format_func=lambda number: snapshot_label(items[number], zone),
                )  # fmt: skip
            case Start.TIME:
                head = self._items[source].head
                at = head.time_millis if head else state.now_millis()
                chosen: datetime | None = st.datetime_input(
                    f"The newest snapshot at or before ({zone or 'UTC'})",
                    datetime.fromtimestamp(at / 1000, zone or UTC).replace(tzinfo=None),
                    key="do-time", step=60, format="YYYY-MM-DD",
                )  # fmt: skip
                return None if chosen is None else millis_of(chosen, zone)

    def _index_of(self, branch: str) -> int:
        names = list(self._items)
        return names.index(branch) if branch in names else 0

    def _show(self, request: Request, label: str, icon: str, branch: str) -> None:
        ways_out = {}
        is_barred = isinstance(request, DropBranchRequest | RenameBranchRequest)
        if is_barred and self._items[self._branch].protection is not None:
            ways_out[ErrorKind.PROTECTED] = (Action.PROTECT, "Remove the protection…")
        form, place = Form.of(request, label, icon), self._place.at_branch(branch)
        show_command(form, place, act_here, ways_out)


def _missing_name(name: str, problem: str | None) -> str | None:
    """Say why a form lacks the name that it needs; None if it has it."""
    return "Type a name first." if not name else problem and "Choose another name."
