"""How two types stand to each other, by asking both ways."""

from enum import StrEnum

from branch_console.format.data_types import DataType
from branch_console.merge.type_lattice import can_widen


class TypeOrder(StrEnum):
    """How one type stands to another."""

    SAME = "same"
    WIDER = "wider"
    NARROWER = "narrower"
    INCOMPARABLE = "incomparable"


def compare_types(left: DataType, right: DataType) -> TypeOrder:
    """Say what `right` is to `left`, outermost nullability aside."""
    match can_widen(left, right), can_widen(right, left):
        case True, True:
            return TypeOrder.SAME
        case True, False:
            return TypeOrder.WIDER
        case False, True:
            return TypeOrder.NARROWER
        case _:
            return TypeOrder.INCOMPARABLE
