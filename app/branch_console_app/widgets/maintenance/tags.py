"""Tags: what each keeps, and which are past their time."""

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.operations.tag_requests import ExpireTagsRequest
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.location import Location
from branch_console_app.widgets.branches.tag_list import show_tags
from branch_console_app.widgets.maintenance.dry_run import is_dry_run_asked
from branch_console_app.widgets.parts.preview import show_command


def show_tag_expiry(identifier: Identifier, place: Location) -> None:
    """Draw the tab: the tags of the branch, and the form that expires them."""
    show_tags(identifier, place)
    st.markdown("**Expire tags**")
    help_of = ExpireTagsRequest.help_of
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        older = st.text_input(
            "Made before", key="mt_tags_before", bind="query-params",
            placeholder="only those past their time", width=260,
        )  # fmt: skip
        grace = st.text_input(
            "Remove files after", key="mt_tags_wait", bind="query-params", help=help_of("grace"),
            placeholder="10 min", width=180,
        )  # fmt: skip
    request = ExpireTagsRequest(
        table=identifier.full_name, older_than=older or None, grace=grace or None
    )
    if is_dry_run_asked(request):
        show_command(Form.of(request, "Expire tags", ":material/label_off:"), place)
