"""A part of a merge of the catalog: one step, which is followed and undone by its own id."""

from dataclasses import dataclass

from branch_console.merge.catalog.catalog_steps import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPart:
    """One object of the catalog, and the change that a merge made to it.

    Attributes:
        operation_id: The operation of the step, such as `op-91-t1`, for `undo`.
        object_id: The database or table: a merge may change one of them in several steps.
        name: What the target called the object as the merge began, or calls it since.
    """

    operation_id: str
    object_id: str
    kind: StepKind
    name: str
