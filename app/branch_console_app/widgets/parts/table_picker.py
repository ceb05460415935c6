"""The table and branch of a page: found by the address, or an error that says what is missing."""

import streamlit as st

from branch_console.errors import ErrorKind, NotFound, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.options import MERGE_ENGINE
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.procedures.browse.page_values import TableKind, TableSummary
from branch_console_app import reads, state
from branch_console_app.models.parts.location import Location, warehouse_key
from branch_console_app.models.parts.wording import code, plain, plural, prose
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.lost_branch import show_no_branch
from branch_console_app.widgets.parts.problem import show_not_found, show_problem

_LISTED_TABLES = 50
_OF_ALL_BRANCHES = frozenset({PageName.BRANCHES, PageName.COMPARE, PageName.MERGE})
_NOT_THERE = frozenset(
    {ErrorKind.TABLE_NOT_FOUND, ErrorKind.DATABASE_NOT_FOUND, ErrorKind.BRANCH_NOT_FOUND}
)


def here() -> Location:
    """Return the location, with the open warehouse filled in."""
    place = state.location()
    if place.warehouse:
        return place
    return Location(
        warehouse=warehouse_key(get_services().settings.get_warehouse()),
        database=place.database,
        table=place.table,
        branch=place.branch,
        snap=place.snap,
    )


def is_open_warehouse(place: Location) -> bool:
    """Say so where the address names another warehouse than the one that is open."""
    open_key = warehouse_key(get_services().settings.get_warehouse())
    if place.warehouse == open_key:
        return True
    show_not_found(
        "Warehouse",
        place.warehouse or "",
        [open_key],
        page=PageName.OVERVIEW,
        place_of=lambda key: Location(warehouse=key),
    )
    return False


def pick_table(page: PageName) -> tuple[Identifier, TableSummary] | None:
    """Return the table and branch of the address, or draw why there is none.

    Args:
        page: The page that asks; links to other names lead to it.
    """
    place = here()
    if not is_open_warehouse(place):
        return None
    if not place.database or not place.table:
        _offer_tables(page, place)
        return None
    try:
        identifier = _table_of(f"{place.database}.{place.table}").on_branch(place.branch_or_main)
        summary = reads.table(identifier)
    except PaimonError as error:
        found = _find_beside_broken(page, place, error)
        if found is None:
            _explain(page, place, error)
        return found
    return identifier, summary


def _find_beside_broken(
    page: PageName, place: Location, error: PaimonError
) -> tuple[Identifier, TableSummary] | None:
    """Return what a page can show while the branch of the address cannot be read.

    The page of the branches is about all of them; a page about one shows main, and says so.
    """
    branch = place.branch_or_main
    if branch == MAIN_BRANCH or error.kind in _NOT_THERE:
        return None
    try:
        main = _table_of(f"{place.database}.{place.table}")
        summary = reads.table(main)
    except PaimonError:
        return None
    if branch not in summary.branches:
        return None
    if page in _OF_ALL_BRANCHES:
        return main.on_branch(branch), summary
    with st.container(border=True, key="card-broken-branch"):
        st.markdown(
            f":red[✕] {code(branch)} cannot be read, so this page shows {code(MAIN_BRANCH)}. "
            f"{prose(error.message)} {code(error.kind)}"
        )
        link_to_cause(place.at_branch(branch))
    return main, summary


def link_to_cause(place: Location) -> None:
    """Draw the link to the card of a branch that cannot be read."""
    state.link(PageName.BRANCHES, "See cause and fix", place, icon=":material/healing:")


def _table_of(name: str) -> Identifier:
    """Return the table of that name: its system tables and its branches are no tables here."""
    identifier = Identifier.parse(name)
    if identifier.full_name != identifier.table_name:
        raise NotFound(f"There is no table {name!r}.", kind=ErrorKind.TABLE_NOT_FOUND)
    return identifier


def show_table_header(
    identifier: Identifier,
    summary: TableSummary,
    page: PageName,
    *,
    title: str | None = None,
    has_picker: bool = True,
) -> None:
    """Draw the location line, the table's name and kind, and the branch picker.

    Args:
        identifier: The table on its branch.
        summary: The summary of the table.
        page: The page that asks.
        title: What the page does, where it is about more than one branch and needs no picker; it
            compares rows, so that how they are laid out is not told.
        has_picker: Whether the branch of the address matters to what is shown below.
    """
    place = here()
    show_location(place)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="table-head"):
        name = plain(identifier.table)
        words = f"{title} {name}" if title else name
        st.subheader(words, anchor=False, width="content")
        traits = _traits(summary)
        for label, meaning in traits if title is None else traits[:-1]:
            st.badge(label, color="gray", help=meaning)
        st.space("stretch")
        if title is None and has_picker:
            pick_branch(summary, page)
    for error in summary.broken_events:
        st.warning(
            "The history of operations is incomplete, and with it what is protected. "
            f"{prose(error.message)} Until the file is back, nothing is changed that a rule may "
            "forbid."
        )


def pick_branch(summary: TableSummary, page: PageName) -> None:
    """Draw the branch picker; a choice changes the address."""
    current = here().branch_or_main
    names = summary.branches_with_main
    key = f"branch-picker-{page}-{current}"
    st.selectbox(
        "Branch",
        names,
        index=names.index(current) if current in names else None,
        key=key,
        on_change=_change_branch,
        args=(key,),
        label_visibility="collapsed",
        filter_mode="contains",
        icon=":material/account_tree:",
        width=230,
    )


def _change_branch(key: str) -> None:
    chosen = state.value_of(key)
    if chosen:
        state.move_to(here().at_branch(chosen))


def _traits(summary: TableSummary) -> list[tuple[str, str]]:
    """Return what kind of table it is in a word or two, each with its meaning."""
    schema = summary.schema
    traits = [("append only", "The table has no primary key.")]
    if summary.kind is TableKind.PRIMARY_KEY:
        engine = schema.options.read(MERGE_ENGINE)
        keys = plain(", ".join(schema.primary_keys))
        traits = [
            (f"key {keys}", "The primary key of the table."),
            (plain(engine), "The merge engine: how Paimon combines records that have one key."),
        ]
    if schema.partition_keys:
        names = plain(", ".join(schema.partition_keys))
        traits.append((f"by {names}", f"The table is partitioned by {names}."))
    return [*traits, (bucket_words(schema), "How many buckets a partition of the table has.")]


def bucket_words(schema: TableSchema) -> str:
    """Say how rows find their bucket."""
    match schema.bucket_mode:
        case BucketMode.HASH_FIXED:
            return plural(schema.num_buckets, "bucket")
        case BucketMode.BUCKET_UNAWARE:
            return "no buckets"
        case BucketMode.POSTPONE_MODE:
            return "postponed buckets"
        case mode:
            return f"{mode} buckets"


def _offer_tables(page: PageName, place: Location) -> None:
    """Draw the tables to choose from: this page is about one."""
    show_location(place)
    names = reads.table_names()
    if not names:
        st.subheader("No tables yet", anchor=False)
        st.info(f"No tables under {code(get_services().settings.get_warehouse())}.")
        home = Location(warehouse=place.warehouse)
        state.link(PageName.OVERVIEW, "Overview: how to begin", home, icon=":material/dashboard:")
        return
    st.subheader("Which table do you want to see?", anchor=False)
    st.caption("This page is about one table.")
    for name in names[:_LISTED_TABLES]:
        target = place.at_table(name.database, name.table)
        state.link(page, code(name.table_name), target, icon=":material/table:")
    if len(names) > _LISTED_TABLES:
        home = Location(warehouse=place.warehouse)
        state.link(PageName.OVERVIEW, f"Search all {plural(len(names), 'table')}", home)


def _explain(page: PageName, place: Location, error: PaimonError) -> None:
    """Draw why the table or branch of the address cannot be shown, and where to go instead."""
    show_location(place)
    name = f"{place.database}.{place.table}"
    match error.kind:
        case ErrorKind.TABLE_NOT_FOUND | ErrorKind.DATABASE_NOT_FOUND:
            known = reads.table_names()
            places = {each.table_name: place.at_table(each.database, each.table) for each in known}
            show_not_found("Table", name, list(places), page=page, place_of=places.__getitem__)
        case ErrorKind.BRANCH_NOT_FOUND:
            _explain_branch(page, place, error)
        case _:
            subject = f"{code(name)} on {code(place.branch_or_main)} cannot be read."
            show_problem(error, headline=subject)
            if place.branch_or_main != MAIN_BRANCH:
                st.caption("The other branches are fine:")
                state.link(page, code(MAIN_BRANCH), place.at_branch(MAIN_BRANCH))


def _explain_branch(page: PageName, place: Location, error: PaimonError) -> None:
    identifier = Identifier.parse(f"{place.database}.{place.table}")
    try:
        names = [item.name for item in reads.branches(identifier, MAIN_BRANCH)]
    except NotFound:
        show_problem(error)
        return
    show_no_branch(identifier, place.branch_or_main, names, page=page, place_of=place.at_branch)
