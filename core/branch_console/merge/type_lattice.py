"""The order of column types by the values they can represent; merges widen along it only.

Paimon's own check also allows a type to narrow, so a merge cannot use it to decide by itself.
"""

from branch_console.format.data_types import (
    MAX_DECIMAL_PRECISION,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
    is_widening,
    with_nullable,
)


def can_widen(left: DataType, right: DataType) -> bool:
    """Whether every value of `left` is one of `right`, outermost nullability aside.

    Fields of rows go by id: a wider row may have more fields that allow null, never fewer.
    """
    match left, right:
        case AtomicType(), AtomicType():
            return with_nullable(left, True) == with_nullable(right, True) or is_widening(
                left, right
            )
        case ArrayType(), ArrayType():
            return _part_widens(left.element, right.element)
        case MultisetType(), MultisetType():
            return _part_widens(left.element, right.element)
        case VectorType(), VectorType():
            return left.length == right.length and _part_widens(left.element, right.element)
        case MapType(), MapType():
            return _part_widens(left.key, right.key) and _part_widens(left.value, right.value)
        case RowType(), RowType():
            return _row_widens(left, right)
        case _:
            return False


def join_types(left: DataType, right: DataType) -> DataType | None:
    """Return the narrowest type that holds all values of both, or None if there is none.

    A type that one of them is already stays as that one writes it, so of rows with the same fields
    the right one gives their names and order.
    """
    nullable = left.nullable or right.nullable
    if can_widen(left, right):
        return with_nullable(right, nullable)
    if can_widen(right, left):
        return with_nullable(left, nullable)
    match left, right:
        case AtomicType(), AtomicType():
            joined: DataType | None = _join_atomic(left, right)
        case ArrayType(), ArrayType():
            element = join_types(left.element, right.element)
            joined = element and ArrayType(element=element)
        case MultisetType(), MultisetType():
            element = join_types(left.element, right.element)
            joined = element and MultisetType(element=element)
        case VectorType(), VectorType() if left.length == right.length:
            element = join_types(left.element, right.element)
            joined = element and VectorType(element=element, length=left.length)
        case MapType(), MapType():
            key, value = join_types(left.key, right.key), join_types(left.value, right.value)
            joined = MapType(key=key, value=value) if key and value else None
        case RowType(), RowType():
            joined = _join_rows(left, right)
        case _:
            joined = None
    return joined and with_nullable(joined, nullable)


def _part_widens(left: DataType, right: DataType) -> bool:
    return (right.nullable or not left.nullable) and can_widen(left, right)


def _row_widens(left: RowType, right: RowType) -> bool:
    before = {field.id: field.type for field in left.fields}
    after = {field.id: field.type for field in right.fields}
    return (
        before.keys() <= after.keys()
        and all(_part_widens(kind, after[number]) for number, kind in before.items())
        and all(kind.nullable for number, kind in after.items() if number not in before)
    )


def _join_rows(left: RowType, right: RowType) -> RowType | None:
    fields: list[DataField] = []
    others = {field.id: field for field in right.fields}
    for field in left.fields:
        other = others.pop(field.id, None)
        joined = join_types(field.type, other.type) if other else with_nullable(field.type, True)
        if joined is None:
            return None
        fields.append(DataField(id=field.id, name=field.name, type=joined))
    fields += [
        DataField(id=field.id, name=field.name, type=with_nullable(field.type, True))
        for field in others.values()
    ]
    is_one = len({field.name for field in fields}) == len(fields)
    return RowType(fields=tuple(fields)) if is_one else None


def _join_atomic(left: AtomicType, right: AtomicType) -> AtomicType | None:
    """The join of two types neither of which holds the other."""
    roots = {left.root, right.root}
    length = max(left.length or 0, right.length or 0)
    if roots <= {TypeRoot.CHAR, TypeRoot.VARCHAR}:
        return AtomicType(root=TypeRoot.VARCHAR, length=length)
    if roots <= {TypeRoot.BINARY, TypeRoot.VARBINARY}:
        return AtomicType(root=TypeRoot.VARBINARY, length=length)
    if TypeRoot.DECIMAL in roots:
        return _join_decimals(left, right)
    both = AtomicType(root=TypeRoot.DOUBLE)
    return both if is_widening(left, both) and is_widening(right, both) else None


def _join_decimals(left: AtomicType, right: AtomicType) -> AtomicType | None:
    scale = max(left.scale or 0, right.scale or 0)
    fitting = (
        AtomicType(root=TypeRoot.DECIMAL, precision=precision, scale=scale)
        for precision in range(max(scale, 1), MAX_DECIMAL_PRECISION + 1)
    )
    return next(
        (each for each in fitting if is_widening(left, each) and is_widening(right, each)), None
    )
