"""Merge a branch of the catalog, guided: one verdict, a line an object, one list of conflicts."""

from enum import StrEnum
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.catalog_merge.catalog_resolution import CatalogResolution
from branch_console_app import reads, state
from branch_console_app.models.branches.head_checks import has_catalog_options
from branch_console_app.models.merge.catalog_checks import tables_of_plan
from branch_console_app.models.merge.catalog_merge import Extent, catalog_merge_state
from branch_console_app.models.merge.merge_preview import SeenPlan
from branch_console_app.models.merge.merge_state import (
    MergeAction,
    MergeStanding,
    MergeState,
    NextStep,
)
from branch_console_app.models.parts.actions import Action, Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, count, plain
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.catalog_confirm import show_catalog_confirm
from branch_console_app.widgets.merge.catalog_conflicts import CatalogResolver, conflicts_title
from branch_console_app.widgets.merge.catalog_objects import show_merged_objects
from branch_console_app.widgets.merge.checking import CheckedBranches, CheckedUnit, check_merge
from branch_console_app.widgets.merge.plan import show_options
from branch_console_app.widgets.merge.verdict import draw_verdict, update_button
from branch_console_app.widgets.parts.dialogs import offer, show_dialog
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.problem import guarded, show_not_found
from branch_console_app.widgets.parts.same_as import show_same_as

PROCEDURE = "merge_catalog_branch"
_EVERYTHING = "The whole catalog"
_VIEW = ("of", "source", "target", "strict", "scope", "isolation")


class _Part(StrEnum):
    OBJECTS = "objects"
    CONFLICTS = "conflicts"


def is_asked_for() -> bool:
    """Whether the address asks for a merge of the catalog or of a database."""
    return state.parameter("of") in list(Extent)


def show(place: Location) -> None:
    """Draw the page.

    Args:
        place: Where it is; the database counts where one is merged.
    """
    home = Location(warehouse=place.warehouse)
    is_whole = state.parameter("of") == Extent.CATALOG
    database = None if is_whole else place.database
    show_location(Location(warehouse=place.warehouse, database=database))
    st.subheader("Merge :gray[of] the catalog" if is_whole else
                 f"Merge :gray[of database] {plain(database or '')}", anchor=False)  # fmt: skip
    names = (MAIN_BRANCH, *reads.catalog_branch_names())
    source, target = state.parameter("source"), state.parameter("target") or MAIN_BRANCH
    for side, name in (("source", source), ("target", target)):
        if name is not None and name not in names:
            show_not_found(
                "Branch", name, names, page=PageName.MERGE, place_of=lambda _: place,
                view_of=partial(_view_with, side),
            )  # fmt: skip
            return
    _show_choice(names, source, target, database)
    slot = st.empty()
    if source is None or source == target:
        st.info("Choose two branches: the source brings its changes, the target gets them.")
        state.link(PageName.CATALOG, "Branches of the catalog", home, icon=":material/graph_2:")
        return
    with guarded("The preview cannot be made. Nothing was changed."):
        try:
            _show_merge(slot, _arguments(source, target, database), home)
        except PaimonError:
            # Else the head would go on saying that the merge is being checked.
            slot.empty()
            raise


def _view_with(side: str, name: str) -> dict[str, str | None]:
    return {**state.view_of(*_VIEW), side: name}


def _arguments(source: str, target: str, database: str | None) -> dict[str, Argument]:
    return {
        "branch": source,
        "target": target,
        "database": database,
        "strict": state.parameter("strict") == "1" or None,
        "scope": state.parameter("scope"),
        "isolation": state.parameter("isolation"),
    }


def _show_choice(
    names: tuple[str, ...], source: str | None, target: str, database: str | None
) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        sources = [name for name in names if name != target]
        st.selectbox(
            "Source", sources, index=sources.index(source) if source in sources else None,
            key=f"cm-source-{source}-{target}", on_change=_choose,
            args=("source", f"cm-source-{source}-{target}"), placeholder="Choose a branch",
            width=250, filter_mode="contains",
        )  # fmt: skip
        st.button(
            "", icon=":material/swap_horiz:", help="Swap source and target", key="cm-swap",
            on_click=state.set_parameters, args=({"source": target, "target": source},),
            disabled=source is None,
        )  # fmt: skip
        st.selectbox(
            "Target", names, index=names.index(target), key=f"cm-target-{source}-{target}",
            on_change=_choose, args=("target", f"cm-target-{source}-{target}"), width=250,
            filter_mode="contains",
        )  # fmt: skip
        parts = [_EVERYTHING, *reads.databases()]
        if database is not None and database not in parts:
            parts.append(database)
        st.selectbox(
            "What", parts, index=0 if database is None else parts.index(database),
            key=f"cm-what-{database}", on_change=_choose_extent, args=(f"cm-what-{database}",),
            width=200, filter_mode="contains",
            format_func=lambda each: each if each == _EVERYTHING else f"Database {each}",
        )  # fmt: skip


def _choose(name: str, key: str) -> None:
    chosen = state.value_of(key)
    if chosen:
        state.set_parameter(name, str(chosen))


def _choose_extent(key: str) -> None:
    chosen = state.value_of(key)
    if chosen == _EVERYTHING:
        state.set_parameters({"of": Extent.CATALOG, "db": None})
    elif chosen:
        state.set_parameters({"of": Extent.DATABASE, "db": str(chosen)})


def _show_merge(slot: DeltaGenerator, arguments: dict[str, Argument], home: Location) -> None:
    branches = CheckedBranches(
        source=str(arguments["branch"]), target=str(arguments["target"]), unit=CheckedUnit.TABLES
    )
    resolution: CatalogResolution | None = check_merge(
        slot, (PROCEDURE, arguments), branches, lambda _: reads.begin_catalog_merge(arguments)
    )
    if resolution is None:
        return
    asked = {**arguments, "policy": resolution.policy}
    plan, preview = resolution.plan, resolution.preview
    resolver = CatalogResolver(resolution, arguments)
    # A decision makes another plan, and is no change that somebody else made.
    choice = repr((arguments, resolution.draft.version))
    seen = state.seen_plan(choice, SeenPlan(plan_id=plan.id, ours_id=None, theirs_id=None))
    is_plain = not has_catalog_options(MergeCatalogRequest.decode(PROCEDURE, asked))
    check = reads.catalog_check(tables_of_plan(plan), (plan.source, plan.target), is_plain=is_plain)
    verdict = catalog_merge_state(plan, settled=resolver.settled, seen=seen.plan_id, check=check)
    part = _part(resolver)
    with slot.container():
        _show_verdict(verdict, resolution, part, home)
    if verdict.standing is MergeStanding.STALE:
        return
    if resolver.number:
        _show_parts(part, resolution, resolver)
    if part is _Part.CONFLICTS:
        resolver.show()
    elif plan.objects:
        show_merged_objects(plan, preview, check)
    for text in plan.reported:
        st.caption(plain(text))
    show_options()
    form = Form(
        procedure=PROCEDURE,
        arguments=asked,
        label=f"Merge into {plain(plan.target)}",
        icon=":material/merge:",
    )
    show_dialog(
        {
            Action.MERGE_CATALOG: (
                f"Merge {plain(plan.source)} into {plain(plan.target)}",
                lambda _: show_catalog_confirm(
                    resolution, verdict, check, resolver.settled, form, home
                ),
            )
        }
    )
    _show_same(plan.source, plan.target, arguments)


def _part(resolver: CatalogResolver) -> _Part:
    asked = state.parameter("cm_part")
    if not resolver.number or asked not in list(_Part):
        return _Part.OBJECTS
    return _Part(asked)


def _show_parts(part: _Part, resolution: CatalogResolution, resolver: CatalogResolver) -> None:
    words = {
        _Part.OBJECTS: f"Objects ({count(len(resolution.plan.objects))})",
        _Part.CONFLICTS: conflicts_title(resolver),
    }
    key = f"cm-part-{part}-{resolver.settled}"
    st.segmented_control(
        "Part", list(_Part), default=part, key=key, required=True, label_visibility="collapsed",
        format_func=words.__getitem__, on_change=_choose, args=("cm_part", key),
    )  # fmt: skip


def _show_verdict(
    verdict: MergeState, resolution: CatalogResolution, part: _Part, home: Location
) -> None:
    """Draw the verdict with the one step that comes next."""
    plan = resolution.plan
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key="catalog-verdict"
    ):
        draw_verdict(verdict)
        match verdict.primary:
            case MergeAction(step=NextStep.UPDATE):
                update_button()
            case MergeAction(step=NextStep.SETTLE, label=label) if part is not _Part.CONFLICTS:
                st.button(
                    label, type="primary", key="settle-conflicts",
                    on_click=state.set_parameter, args=("cm_part", _Part.CONFLICTS),
                )  # fmt: skip
            case MergeAction(step=NextStep.MERGE, label=label):
                offer(
                    Action.MERGE_CATALOG, label, key="merge-catalog", icon=":material/merge:",
                    is_primary=True,
                )  # fmt: skip
            case MergeAction(step=NextStep.VIEW_JOB, label=label):
                offer(Action.MERGE_CATALOG, "Override…", key="merge-override")
                state.link(
                    PageName.JOB, label, home, view={"id": verdict.job_id},
                    icon=":material/checklist:",
                )  # fmt: skip
            case None:
                state.link(PageName.CATALOG, "Branches", home, icon=":material/graph_2:")
            case _:
                pass
    versions = plan.versions
    st.caption(
        f"Base {code(versions.base)}, target {code(versions.ours)}, source {code(versions.theirs)}"
    )


def _show_same(source: str, target: str, arguments: dict[str, Argument]) -> None:
    database = arguments["database"]
    extent = ("--catalog",) if database is None else ("--database", str(database))
    to = () if target == MAIN_BRANCH else ("--to", target)
    on = "" if database is None else f" ON DATABASE {database}"
    show_same_as(
        "merge", source, *to, *extent, "--preview", sql=f"MERGE BRANCH {source} TO {target}{on};"
    )
