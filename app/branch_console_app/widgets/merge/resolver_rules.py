"""Rules that settle many conflicts at once, tried before they are kept; the policy as a file."""

import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy, PolicyChoice, PredicateRule, Settle
from branch_console.merge.policy_draft import (
    laid_over,
    with_column_rule,
    with_kind_rule,
    with_predicate,
    with_table_rule,
)
from branch_console.merge.reapply_policy import conflicts_where, reapply_policy
from branch_console.merge.resolution import by_hand
from branch_console_app import state
from branch_console_app.models.merge.resolver import (
    WHOLE_ROW,
    CellLine,
    Group,
    Shown,
    cell_lines,
    of_group,
)
from branch_console_app.models.merge.resolver_rules import (
    SIDES,
    RuleEffect,
    RuleLine,
    RuleScope,
    current_rule,
    effect_of,
    effect_words,
    left_open_words,
    no_base_words,
    open_without_base,
    overturn_words,
    rows_of_group,
    rule_lines,
    rule_of_group,
    sequence_words,
    settling_of,
    side_word,
    sides_of_kind,
)
from branch_console_app.models.parts.wording import code, count, plain, plural, prose
from branch_console_app.widgets.merge.resolver import Resolver, tell
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import show_problem
from branch_console_app.widgets.parts.rows import Column

_MATCHES = 10
_ANY = "any column"
_UPLOAD = "resolver-policy"
_SCOPE_WORDS = {
    RuleScope.COLUMN: "Column",
    RuleScope.PREDICATE: "Condition",
    RuleScope.TABLE: "Whole table",
    RuleScope.KIND: "Kind of conflict",
}
_TAKE_WORDS = {
    Settle.OURS: "Keep target",
    Settle.THEIRS: "Take source",
    Settle.BASE: "Back to base",
}
_FOR = Column(label="Rule", weight=3.0)
_TAKES = Column(label="Takes", weight=1.4)
_DECIDES = Column(label="Conflicts settled", weight=1.4, align="right")
_GO = Column(label="", weight=0.6)
_COLUMNS = (_FOR, _TAKES, _DECIDES, _GO)
_KEY = Column(label="Key", weight=2.0)
_CELL = Column(label="Column", weight=1.2)
_WAS = Column(label="Base", weight=1.2)
_OURS = Column(label="Target", weight=1.2)
_THEIRS = Column(label="Source", weight=1.2)
_MATCH_COLUMNS = (_KEY, _CELL, _WAS, _OURS, _THEIRS)


def show_rest(resolver: Resolver, group: Group) -> None:
    """Draw what settles a group, or changes its rule, and what takes the last decision back."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="line-rest"):
        if group.kind is not None:
            _show_rest_buttons(resolver, group)
        # A column or a partition of an address is no whole table.
        elif group == resolver.whole:
            _show_buttons_of_all(resolver)
        if resolver.can_undo:
            st.button(
                "Undo last", icon=":material/undo:", key="resolve-undo", type="tertiary",
                on_click=resolver.undo_last, help="Take back your last decision",
            )  # fmt: skip
    sequence = sequence_words(resolver.schema, resolver.settled)
    if sequence is not None:
        st.caption(sequence)


def _show_rest_buttons(resolver: Resolver, group: Group) -> None:
    inside = of_group(resolver.settled, resolver.partitions, group, Shown.ALL)
    if not inside.num_rows:
        return  # an address names a group that the conflicts no longer have
    sides = sides_of_kind(group.kind)
    try:
        rules = [
            rule_of_group(group, inside.slice(0, 1), resolver.schema, PolicyChoice(how=side))
            for side in sides
        ]
        effects = [
            _effect_on(resolver, inside, with_predicate(resolver.policy, resolver.table, rule))
            for rule in rules
        ]
    except PaimonError as error:
        st.caption(prose(error.message))
        return
    settles = max(effect.settles for effect in effects)
    current = current_rule(resolver.policy, resolver.table, rules[0])
    if settles:
        title = f"Settle {_part(settles, group.open_number)} in this group:"
    elif current is not None:
        title = "Change the rule of this group:"
    elif group.open_number:
        st.caption(left_open_words(inside))
        return
    else:
        return
    st.markdown(f"**{title}**", width="content")
    for side, rule, effect in zip(sides, rules, effects, strict=True):
        # A rule of this very group is replaced: whoever asks for another one knows it.
        overturned = 0 if current is not None else effect.overturns
        problem = resolver.refusal or overturn_words(overturned, "Change that rule instead.")
        is_current = not settles and rule == current
        wanted = with_predicate(resolver.policy, resolver.table, rule)
        st.button(
            _TAKE_WORDS[side], key=f"rest-{rule.take}", on_click=resolver.keep,
            args=(wanted,),
            disabled=problem is not None or is_current or effect.settles == 0 < settles,
            help=(
                problem
                or ("The rule takes this now" if is_current else None)
                or effect_words(effect.settles, settles)
                or _rest_help(group, rule)
            ),
        )  # fmt: skip


def _show_buttons_of_all(resolver: Resolver) -> None:
    """Draw what settles all groups at once, by one rule for the table."""
    number = resolver.whole.open_number
    if not number:
        return
    without_base = open_without_base(resolver.settled)
    sides = sides_of_kind(ConflictKind.ADD_ADD if without_base == number else None)
    policies = [
        with_table_rule(resolver.policy, resolver.table, PolicyChoice(how=side)) for side in sides
    ]
    effects = [_effect_on(resolver, resolver.settled, wanted) for wanted in policies]
    settles = max(effect.settles for effect in effects)
    if not settles:
        st.caption(left_open_words(resolver.settled))
        return
    conflicts = "open conflict" if number == 1 else "open conflicts"
    st.markdown(f"**Settle {_part(settles, number)} {conflicts}:**", width="content")
    for side, wanted, effect in zip(sides, policies, effects, strict=True):
        problem = resolver.refusal or overturn_words(
            effect.overturns, "Change that rule, or settle the open conflicts group by group."
        )
        lacking = without_base if side is Settle.BASE else 0
        words = f" ({_part(effect.settles, number)})" if lacking else ""
        st.button(
            f"{_TAKE_WORDS[side]}{words}", key=f"rest-{side}", on_click=resolver.keep,
            args=(wanted,),
            disabled=problem is not None or effect.settles == 0,
            help=(
                problem
                or effect_words(effect.settles, settles, lacking)
                or "Saved as one rule for the whole table; decisions made before stay"
            ),
        )  # fmt: skip


def _effect_on(resolver: Resolver, conflicts: pa.Table, wanted: Policy) -> RuleEffect:
    """Return what another policy changes about some of the conflicts."""
    ids = conflicts["conflict_id"].combine_chunks()
    # What readers would see of a row follows from all conflicts of its key, also of other groups.
    before, after = (
        each.filter(pc.is_in(each["conflict_id"], ids))
        for each in (resolver.settled, reapply_policy(resolver.settled, wanted, resolver.table))
    )
    return effect_of(before, after)


def _part(settles: int, number: int) -> str:
    return f"all {count(number)}" if settles == number else f"{count(settles)} of {count(number)}"


def _rest_help(group: Group, rule: PredicateRule) -> str:
    base = "Takes the value of the merge base. " if rule.take.how is Settle.BASE else ""
    return f"{base}Saved as one rule for {plain(rows_of_group(group))}: {code(rule.when)}"


def show_rules(resolver: Resolver) -> None:
    """Draw the rules of the draft, and the form for another one."""
    lines = rule_lines(resolver.policy, resolver.table, resolver.settled)
    with st.container(border=True, key="card-rules"):
        st.markdown("##### Rules")
        st.caption(
            "If several rules match a conflict, the first of this order decides: cell, row, "
            "condition, column, whole table, kind of conflict."
        )
        if lines:
            with rows.row_list("rules"):
                rows.head("rules", _COLUMNS)
                for number, line in enumerate(lines):
                    _show_rule(resolver, number, line)
        else:
            st.caption("No rules yet.")
        chosen = by_hand(resolver.settled)
        if chosen:
            st.caption(f"{plural(chosen, 'conflict')} settled by hand, without a rule.")
        if resolver.refusal is None:
            _show_form(resolver)


def _show_rule(resolver: Resolver, number: int, line: RuleLine) -> None:
    cells = rows.row(f"rule-{number}", _COLUMNS)
    rows.text(cells[0], _FOR, f":gray[{_SCOPE_WORDS[line.scope]}] {code(line.subject)}")
    rows.text(cells[1], _TAKES, code(line.take))
    rows.text(cells[2], _DECIDES, count(line.number))
    cells[3].button(
        "", icon=":material/delete:", key=f"rule-drop-{number}", help="Delete this rule",
        on_click=resolver.keep, args=(line.removed_from(resolver.policy),), type="tertiary",
        disabled=resolver.refusal is not None,
    )  # fmt: skip


def _show_form(resolver: Resolver) -> None:
    scope = st.segmented_control(
        "New rule", list(RuleScope), default=RuleScope.COLUMN, key="rule-scope",
        format_func=lambda each: _SCOPE_WORDS[RuleScope(each)], required=True,
    )  # fmt: skip
    scope = RuleScope(scope or RuleScope.COLUMN)
    columns = [name for name in resolver.settled["column"].unique().to_pylist() if name]
    when, column = "", None
    with st.container(
        horizontal=True, gap="small", vertical_alignment="bottom", key="filters-rule"
    ):
        if scope is RuleScope.PREDICATE:
            when = st.text_input(
                "Condition", key="rule-when", width=430,
                placeholder="flight < 100 and ours.note is not null",
                help=(
                    "You can use the columns of the key, and of any column base.COLUMN, "
                    "ours.COLUMN (the target's value) and theirs.COLUMN (the source's value)."
                ),
            )  # fmt: skip
        if scope in (RuleScope.COLUMN, RuleScope.PREDICATE):
            names = columns if scope is RuleScope.COLUMN else [_ANY, *columns]
            column = st.selectbox("Column", names, key=f"rule-column-{scope}", width=190)
            column = None if column == _ANY else column
        if scope is RuleScope.KIND:
            kinds = resolver.settled["kind"].unique().to_pylist()
            column = st.selectbox("Kind", kinds, key="rule-kind", width=190)
        is_of_cells = scope is not RuleScope.KIND and column is not None
        kind = column if scope is RuleScope.KIND else None
        settling = _show_ways(resolver, kind, is_of_cells=is_of_cells)
    if settling is None or (scope is RuleScope.PREDICATE and not when.strip()):
        st.caption("Choose what the rule takes. The button *Apply rule* then appears below.")
        return
    try:
        wanted = _with_rule(resolver, scope, when, column, settling)
        effect = _effect(resolver, wanted)
        matches = (
            resolver.settled.filter(conflicts_where(resolver.settled, when, column))
            if scope is RuleScope.PREDICATE
            else None
        )
    except PaimonError as error:
        show_problem(error, headline="This rule cannot be used.")
        return
    if settling.how is Settle.BASE:
        about = resolver.settled if matches is None else matches
        if scope is RuleScope.COLUMN:
            about = about.filter(pc.equal(about["column"], column))
        lacking = no_base_words(open_without_base(about))
        if lacking:
            st.caption(lacking)
    if matches is not None:
        st.markdown(f"**{plural(matches.num_rows, 'conflict')} match.** {_effect_words(effect)}")
        _show_matches(cell_lines(matches.slice(0, _MATCHES)), matches.num_rows)
    else:
        st.markdown(_effect_words(effect))
    st.button(
        "Apply rule", icon=":material/rule:", key="rule-keep", on_click=resolver.keep,
        args=(wanted,), type="primary" if effect.does_anything else "secondary",
    )  # fmt: skip


def _show_ways(resolver: Resolver, kind: str | None, *, is_of_cells: bool) -> PolicyChoice | None:
    sides = sides_of_kind(kind)
    ways = list(Settle) if is_of_cells else [*sides, Settle.NEWEST]
    # Other ways are another widget: a way that was chosen before may not be among these.
    key = f"rule-take-{is_of_cells}{'' if sides == SIDES else '-of-added'}"
    how = st.selectbox(
        "Take", ways, index=None, key=key, width=170,
        placeholder="Choose", format_func=lambda each: side_word(Settle(each)),
    )  # fmt: skip
    if how is None:
        return None
    by, separator = None, ""
    if how is Settle.NEWEST:
        names = [each.name for each in resolver.schema.fields]
        by = st.selectbox("By", names, index=None, key="rule-by", width=170)
    if how is Settle.CONCATENATE:
        separator = st.text_input("Between them", key="rule-separator", width=110)
    return settling_of(Settle(how), by=by, separator=separator)


def _with_rule(
    resolver: Resolver, scope: RuleScope, when: str, column: str | None, take: PolicyChoice
) -> Policy:
    match scope:
        case RuleScope.TABLE:
            return with_table_rule(resolver.policy, resolver.table, take)
        case RuleScope.COLUMN:
            if column is None:
                raise InvalidInput(
                    f"No column has conflicts, only {WHOLE_ROW}s have. Use a condition.",
                    kind=ErrorKind.INVALID_ARGUMENT,
                )
            return with_column_rule(resolver.policy, resolver.table, column, take)
        case RuleScope.KIND:
            return with_kind_rule(resolver.policy, ConflictKind(column or ""), take)
        case RuleScope.PREDICATE:
            rule = PredicateRule(when=when.strip(), take=take, column=column)
            return with_predicate(resolver.policy, resolver.table, rule)


def _effect(resolver: Resolver, wanted: Policy) -> RuleEffect:
    return effect_of(resolver.settled, reapply_policy(resolver.settled, wanted, resolver.table))


def _effect_words(effect: RuleEffect) -> str:
    words = [f"Settles **{plural(effect.settles, 'conflict')}**"]
    if effect.changes:
        words.append(f"changes {count(effect.changes)} settled ones")
    if effect.opens:
        words.append(f"opens {count(effect.opens)} again")
    return f"{', '.join(words)}."


def _show_matches(lines: tuple[CellLine, ...], number: int) -> None:
    if not lines:
        return
    with rows.row_list("matches"):
        rows.head("matches", _MATCH_COLUMNS)
        for at, line in enumerate(lines):
            cells = rows.row(f"match-{at}", _MATCH_COLUMNS)
            texts = (line.key, line.column, line.base, line.ours, line.theirs)
            for cell, column, text in zip(cells, _MATCH_COLUMNS, texts, strict=True):
                rows.text(cell, column, plain(text))
    if number > len(lines):
        st.caption(f"{len(lines)} of {count(number)} are shown.")


def show_policy_file(resolver: Resolver) -> None:
    """Draw the policy as a file to take away, and the place for one that was made before."""
    with st.container(border=True, key="card-policy"):
        st.markdown("##### Policy file")
        st.caption(
            "A file with all your decisions. To repeat them, run `branch-console merge SOURCE "
            "--policy FILE` or upload the file here. Conflicts whose values have changed since "
            "then are open again."
        )
        draft = resolver.resolution.draft
        st.download_button(
            "Download", draft.policy.to_yaml, file_name=f"policy-{draft.id}-{draft.version}.yaml",
            mime="application/yaml", key="policy-download", icon=":material/download:",
            on_click="ignore", disabled=not draft.decisions,
            help=None if draft.decisions else "Nothing was decided yet",
        )  # fmt: skip
        st.file_uploader(
            "Upload a policy file", type=["yaml", "yml"], key=_UPLOAD,
            on_change=_lay_over, args=(resolver,), disabled=resolver.refusal is not None,
        )  # fmt: skip


def _lay_over(resolver: Resolver) -> None:
    text = state.uploaded_text(_UPLOAD)
    if text is None:
        return
    try:
        given = Policy.from_yaml(text)
        if not given.for_table(resolver.table) and not given.kinds:
            named = ", ".join(each.table for each in given.tables)
            others = f", only for {named}" if named else ""
            raise InvalidInput(
                f"The file has no rules for {resolver.table}{others}.",
                kind=ErrorKind.INVALID_ARGUMENT,
            )
    except PaimonError as error:
        tell(error)
        return
    for note in given.notes:
        st.toast(note, icon=":material/info:")
    resolver.keep(laid_over(resolver.policy, given))
