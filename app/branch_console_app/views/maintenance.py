"""Maintenance: what may break, what may go and what that frees; each removal by its dry run."""

from collections.abc import Callable, Mapping

import streamlit as st

from branch_console_app import state
from branch_console_app.models.maintenance.tabs import MaintenanceTab
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.tag_dialogs import TagDialogs
from branch_console_app.widgets.branches.undo_dialog import undo_dialogs
from branch_console_app.widgets.maintenance.expire import show_expire
from branch_console_app.widgets.maintenance.health import remedy_dialogs, show_health
from branch_console_app.widgets.maintenance.orphans import show_orphans
from branch_console_app.widgets.maintenance.policy import show_policy
from branch_console_app.widgets.maintenance.rescue import release_dialogs, show_rescue
from branch_console_app.widgets.maintenance.storage import show_storage
from branch_console_app.widgets.maintenance.tags import show_tag_expiry
from branch_console_app.widgets.parts.act_here import act_here, follow_act, show_act
from branch_console_app.widgets.parts.dialogs import show_dialog
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header


def show() -> None:
    """Draw the page."""
    follow_act()
    picked = pick_table(PageName.MAINTENANCE)
    if picked is None:
        return
    identifier, summary = picked
    # All other tabs are about all branches, or have a chooser of their own.
    tab = state.value_of("mt_tab") or state.parameter("mt_tab")
    has_picker = tab == MaintenanceTab.TAGS
    show_table_header(identifier, summary, PageName.MAINTENANCE, has_picker=has_picker)
    show_act(identifier)
    draws: Mapping[MaintenanceTab, Callable[[], None]] = {
        MaintenanceTab.HEALTH: lambda: show_health(identifier, here()),
        MaintenanceTab.EXPIRE: lambda: show_expire(identifier, summary, here()),
        MaintenanceTab.ORPHANS: lambda: show_orphans(identifier, summary.path, here()),
        MaintenanceTab.STORAGE: lambda: show_storage(identifier, here()),
        MaintenanceTab.TAGS: lambda: show_tag_expiry(identifier, here()),
        MaintenanceTab.RESCUE: lambda: show_rescue(identifier, summary, here()),
        MaintenanceTab.POLICY: lambda: show_policy(identifier, here()),
    }
    tabs = st.tabs(
        [str(each) for each in draws], key="mt_tab", on_change="rerun", bind="query-params"
    )
    for tab, draw in zip(tabs, draws.values(), strict=True):
        if tab.open:
            with tab:
                draw()
    show_dialog(
        {
            **remedy_dialogs(identifier, here()),
            **undo_dialogs(identifier, here(), start=act_here),
            **release_dialogs(identifier, here(), act_here),
            **TagDialogs(identifier, here()).all(),
        }
    )
