"""Health: what may break a branch, when, and the buttons that remedy it."""

import streamlit as st

from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.format.identifier import Identifier
from branch_console_app import reads, state
from branch_console_app.models.maintenance.remedies import (
    NamedRemedy,
    find_remedy,
    remedies_of,
    split_remedies,
)
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.query_answer import text_for_address
from branch_console_app.models.parts.wording import code, count, plain, plural, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.act_here import act_here
from branch_console_app.widgets.parts.dialogs import Dialogs, offer
from branch_console_app.widgets.parts.preview import show_command
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import link_to_cause

_PER_PAGE = 15
_RULE = Column(label="Rule", weight=0.7)
_SEVERITY = Column(label="Severity", weight=1.1)
_BRANCH = Column(label="Branch", weight=1.8)
_FINDING = Column(label="Finding and risk", weight=4.8)
_REMEDY = Column(label="", weight=2.5)
_COLUMNS = (_RULE, _SEVERITY, _BRANCH, _FINDING, _REMEDY)
_BADGES = {
    HazardSeverity.CRITICAL: ":red-badge[✕ critical]",
    HazardSeverity.WARNING: ":orange-badge[△ warning]",
    HazardSeverity.INFO: ":blue-badge[○ info]",
}


def show_health(identifier: Identifier, place: Location) -> None:
    """Draw the tab."""
    with guarded("The health of the table cannot be told."):
        with st.skeleton(height=240):
            found = reads.health(identifier)
        for each in found.unchecked:
            whose = "The ledger" if each.branch is None else f"Branch {code(each.branch)}"
            show_problem(each.error, headline=f"{whose} could not be checked.")
            if each.branch is not None:
                link_to_cause(place.at_branch(each.branch))
        if not found.findings:
            if not found.unchecked:
                st.success(
                    "**The table is healthy.** All quick rules ran and found nothing.",
                    icon=":material/check:",
                )
        else:
            _show_findings(found.findings, place)
    show_same_as("doctor", identifier.table_name)


def remedy_dialogs(identifier: Identifier, place: Location) -> Dialogs:
    """Title and drawing of the dialog of a remedy; which one comes with the address."""

    def draw(what: str | None) -> None:
        found = find_remedy(reads.health(identifier).findings, what)
        if found is None:
            st.info("This finding is there no more. Close this, and look at the list.")
            return
        show_command(found.form, place, act_here)

    return {Action.REMEDY: ("Remedy a finding", draw)}


def _show_findings(findings: tuple[HealthFinding, ...], place: Location) -> None:
    st.markdown(f"**{plural(len(findings), 'finding')}**")
    listed = rows.row_list("findings")
    visible = rows.page_of_rows("mt_hp", len(findings), _PER_PAGE)
    with listed:
        rows.head("findings", _COLUMNS)
        for number, finding in enumerate(findings[visible]):
            _show_finding(number, finding, place)


def _show_finding(number: int, finding: HealthFinding, place: Location) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"finding-{number}", _COLUMNS), strict=True))
    rows.text(cells[_RULE], _RULE, code(finding.rule))
    rows.text(cells[_SEVERITY], _SEVERITY, _BADGES[finding.severity])
    rows.text(cells[_BRANCH], _BRANCH, plain(finding.branch))
    evidence = ", ".join(map(plain, finding.evidence)) or None
    rows.text(cells[_FINDING], _FINDING, prose(finding.sentences), help=evidence)
    with cells[_REMEDY].container(horizontal=True, gap="small"):
        first, others = split_remedies(tuple(remedies_of(finding)))
        for order, each in first:
            _show_remedy(f"remedy-{number}-{order}", each, place)
        if others:
            with st.popover(f"{count(len(others))} more", key=f"remedies-{number}"):
                for order, each in others:
                    _show_remedy(f"remedy-{number}-{order}", each, place)


def _show_remedy(key: str, named: NamedRemedy, place: Location) -> None:
    """Draw the button of a remedy; what has no preview is a statement, or a command."""
    form = named.form
    if named.is_previewed:
        offer(Action.REMEDY, form.label, icon=form.icon, key=key, what=named.what)
    elif named.statement is not None:
        view = {"q": text_for_address(f"{named.statement};")}
        state.link(PageName.SQL, form.label, place, view=view, icon=form.icon)
    else:
        st.markdown(code(named.command))
