"""The quality rules: those that a result will be judged by, and what they found in one."""

import json
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from branch_console.errors import NotFound
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobView
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.compare.failing_rows import FailingRows
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.quality.findings import GateVerdict, RuleFinding, findings_of
from branch_console.quality.rules import MOST_EXAMPLES, RuleSet
from branch_console_app import reads, state
from branch_console_app.models.compare.rows import cell_text
from branch_console_app.models.parts.query_answer import text_for_address
from branch_console_app.models.parts.wording import code, count, plain, plural, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.confirm import lacks_role
from branch_console_app.widgets.parts.job_here import find_job
from branch_console_app.widgets.parts.table_picker import here

CHECK_RULES = "check_rules"
OVERRIDE = "Merge despite failing rules"
UNCHECKED = "Merge without checking the rules"
NO_REASON = "Give a reason first."
_PER_PAGE = 25
_MARKS = {
    GateVerdict.PASS: ":green[✓] pass",
    GateVerdict.INFO: ":blue[i] info",
    GateVerdict.WARN: ":orange[△] warn",
    GateVerdict.BLOCK: ":red[✕] block",
    GateVerdict.NOT_EVALUATED: ":orange[△] not evaluated",
}


def override_field(identifier: Identifier) -> str | None:
    """Ask an operator why the gate is overridden; None if nobody says, or there is no gate."""
    return None if reads.rules(identifier) is None else override_reason()


def override_reason() -> str | None:
    """Ask an operator, in a part to unfold, why a gate is overridden if it should fail."""
    with st.expander("If a quality rule fails", icon=":material/gpp_maybe:", key="gate-override"):
        st.caption(
            "A failing rule stops the merge. To merge although a rule fails, give a reason here. "
            "The receipt and the snapshot record it with your name and the findings."
        )
        return _override_field("Reason to override the rule")


def ask_for_override() -> str | None:
    """Ask an operator why a merge goes on that its rules stop: that is the reason of the merge."""
    reason = _override_field("Reason")
    st.caption("The receipt and the snapshot record it with your name and what the rules found.")
    return reason


def _override_field(label: str) -> str | None:
    refused = lacks_role(Role.OPERATOR)
    reason = st.text_input(label, key="gate-reason", disabled=refused is not None, help=refused)
    return reason.strip() or None


def show_judgement(job: JobView, title: str = "Quality rules") -> None:
    """Draw what the rules found for a job that is over; nothing if it was held to none.

    Args:
        job: The job.
        title: The title of the findings.
    """
    found = find_judgement(job)
    if found is None:
        return
    with st.container(border=True, key="card-gate"):
        st.markdown(f"**{title}**")
        queries = reads.failing_rows(job.id)
        by_table = _by_table(found)
        # Of thousands of tables a person looks for those with a rule that did not pass.
        shown = [each for each in by_table if each is None or not _is_passed(by_table[each])]
        page = st.container()
        visible = shown[rows.page_of_rows("gate_p", len(shown), _PER_PAGE)]
        with page:
            for table in visible:
                if table is not None:
                    st.markdown(f":material/table: {code(table)}")
                for finding in by_table[table]:
                    _show_finding(finding, queries, "gate-rows")
        passed = len(by_table) - len(shown)
        if passed:
            st.markdown(f":green[✓] {plural(passed, 'table')}: all rules pass")


def show_failing_rows(identifier: Identifier, job_id: str | None) -> None:
    """Draw in a dialog what blocks a merge: each rule, and rows that fail it.

    The columns of the rule come first: a dialog is too narrow for all of a wide table.

    Args:
        identifier: The table.
        job_id: The job that ran the rules.
    """
    job = find_job(job_id)
    found = None if job is None else find_judgement(job)
    if job is None or found is None:
        st.info("What the rules found is not kept any more. Run them again in a dry run.")
        return
    queries, rules = reads.failing_rows(job.id), reads.rules(identifier)
    columns = {each.id: each.columns for each in (() if rules is None else rules.rules)}
    for finding in found:
        if GateVerdict(finding.verdict).blocks:
            _show_finding(finding, queries, "dialog-rows", columns.get(finding.rule, ()))


def _by_table(found: Sequence[RuleFinding]) -> Mapping[str | None, Sequence[RuleFinding]]:
    """Return the findings of each table, the table with the gravest one first."""
    by_table: dict[str | None, list[RuleFinding]] = {}
    for finding in found:
        by_table.setdefault(finding.table, []).append(finding)
    return by_table


def _is_passed(found: Sequence[RuleFinding]) -> bool:
    return all(finding.verdict == GateVerdict.PASS for finding in found)


def find_judgement(job: JobView) -> Sequence[RuleFinding] | None:
    """Return what the rules found for a job that is over; None if it was held to none."""
    if job.name != CHECK_RULES and not any(step.name == STAGE for step in job.steps):
        return None
    try:
        return findings_of(reads.answer(job.id).rows.to_pylist())
    except NotFound:
        return None


def show_rules(rules: RuleSet, title: str, when: str) -> None:
    """Draw rules that are not judged yet, and when they will be."""
    number = plural(len(rules.rules), "rule")
    with st.container(border=True, key="card-gates"):
        st.markdown(f"**{title}** :gray[{number}]")
        st.caption(when)
        frame = pd.DataFrame(
            {
                "Rule": [each.id for each in rules.rules],
                "Condition": [each.text for each in rules.rules],
                "Severity": [str(each.severity) for each in rules.rules],
            }
        )
        st.dataframe(
            frame, hide_index=True, key="gate-rules", row_height=rows.TABLE_ROW,
            height=rows.table_height(len(frame), 8), alt=f"{number} of {rules.table}",
        )  # fmt: skip


def _show_finding(
    finding: RuleFinding, everything: FailingRows, key: str, first: Sequence[str] = ()
) -> None:
    verdict = GateVerdict(finding.verdict)
    st.markdown(f"{_MARKS[verdict]} \u2002 {prose(finding.said)}")
    if verdict is not GateVerdict.PASS:
        st.caption(f"Condition: {plain(finding.asked)}")
    if finding.examples:
        shown = _failing_rows(finding.examples, first)
        with st.expander(_rows_title(finding), expanded=verdict is GateVerdict.BLOCK):
            st.dataframe(
                shown, hide_index=True, row_height=rows.TABLE_ROW,
                height=rows.table_height(len(shown), 8), key=f"{key}-{finding.name}",
                alt=f"Rows that fail {finding.name}",
            )  # fmt: skip
    query = everything.queries.get(finding.rule)
    if not finding.failures or verdict is GateVerdict.PASS or query is None:
        return
    in_address = text_for_address(query)
    if not everything.is_judged:
        st.caption(
            f"The counts are of the result of the merge. The query reads "
            f"{code(everything.branch)}: another number of rows can fail there."
        )
    if in_address is None:
        st.caption(f"The rows of {code(everything.branch)} that fail:")
        st.code(query, language="sql")
    else:
        state.link(
            PageName.SQL, f"Open in SQL: the rows of {code(everything.branch)} that fail", here(),
            view={"q": in_address}, icon=":material/database_search:",
        )  # fmt: skip


def _failing_rows(examples: Sequence[str], first: Sequence[str]) -> pd.DataFrame:
    """Return rows of JSON as a table; a column is text unless all its values are of one plain kind.

    NULL is seen in a text, and neither NaN among numbers nor a map has a type of its own in Arrow.

    Args:
        examples: The rows.
        first: The columns to begin with.
    """
    records = [json.loads(each) for each in examples]
    names = sorted(records[0], key=lambda name: name not in first)
    found = pd.DataFrame(records, columns=names, dtype=object)
    for name in found.columns:
        column = found[name]
        kinds = set(map(type, column))
        is_plain = kinds <= {int, float} or kinds in ({bool}, {str})
        found[name] = column.infer_objects() if is_plain else column.map(cell_text)
    return found


def _rows_title(finding: RuleFinding) -> str:
    shown, failures = len(finding.examples), finding.failures
    if finding.shows_new:
        # Beyond so many no more are looked up.
        first = "first " if shown >= MOST_EXAMPLES else ""
        before = finding.failures_before
        earlier = "" if before is None else f", {count(before)} before"
        return (
            f"Rows that newly fail ({first}{count(shown)}). In all, {count(failures)} fail{earlier}"
        )
    if failures is None or failures <= shown:
        return f"Failing rows ({count(shown)})"
    return f"Failing rows (first {count(shown)} of {count(failures)})"
