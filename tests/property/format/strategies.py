"""Random types, rows, entries and JSON values for the laws of the formats."""

import datetime as dt
import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

from branch_console.format.data_types import (
    MAX_LENGTH,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
    with_nullable,
)
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.options import Options
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.format.snapshot import CommitKind, Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag

_EXACT = Context(prec=100)
_EPOCH = dt.datetime(1970, 1, 1)
_INT_BITS = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}

longs = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=40)
file_names = texts.filter(lambda name: name not in {"", ".", ".."} and not {*"/\\"} & {*name})
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
_plain_roots = st.sampled_from(
    [
        *(TypeRoot.BOOLEAN, TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT),
        *(TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DATE),
    ]
)
_length_roots = st.sampled_from(
    [TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.BINARY, TypeRoot.VARBINARY]
)


@st.composite
def _decimals(draw: st.DrawFn) -> AtomicType:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    return AtomicType(root=TypeRoot.DECIMAL, precision=precision, scale=scale)


atomic_types: st.SearchStrategy[AtomicType] = st.one_of(
    _plain_roots.map(lambda root: AtomicType(root=root)),
    st.builds(AtomicType, root=_length_roots, length=st.sampled_from([1, 20, MAX_LENGTH])),
    st.builds(AtomicType, root=st.just(TypeRoot.TIME), precision=st.integers(0, 3)),
    st.builds(
        AtomicType,
        root=st.sampled_from([TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ]),
        precision=st.integers(0, 9),
    ),
    _decimals(),
)


def _with_parts(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    # Keys of a map are never null: Arrow has no others.
    keys = atomic_types.map(lambda data_type: with_nullable(data_type, False))
    fields = st.lists(inner, min_size=1, max_size=3).map(
        lambda types: tuple(
            DataField(id=i, name=f"f{i}", type=data_type) for i, data_type in enumerate(types)
        )
    )
    numbers = st.sampled_from([TypeRoot.INT, TypeRoot.FLOAT, TypeRoot.DOUBLE])
    elements = numbers.map(lambda root: AtomicType(root=root, nullable=False))
    return st.one_of(
        st.builds(ArrayType, element=inner),
        st.builds(MapType, key=keys, value=inner),
        st.builds(MultisetType, element=keys),
        st.builds(VectorType, element=elements, length=st.integers(1, 5)),
        st.builds(RowType, fields=fields),
    )


data_types: st.SearchStrategy[DataType] = st.recursive(atomic_types, _with_parts, max_leaves=4)
declared_types = st.builds(with_nullable, data_types, st.booleans())


def values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values of a type in the form of `format.values.binary_row`, None where it is nullable."""
    plain = _values(data_type)
    return st.one_of(st.none(), plain) if data_type.nullable else plain


def _values(data_type: DataType) -> st.SearchStrategy[Any]:
    match data_type:
        case AtomicType():
            return _atomic_values(data_type)
        case ArrayType(element=element):
            return st.lists(values(element), max_size=5)
        case MapType(key=key, value=value):
            return st.lists(st.tuples(_values(key), values(value)), max_size=3)
        case MultisetType(element=element):
            return st.lists(st.tuples(_values(element), st.integers(1, 9)), max_size=3)
        case VectorType(element=element, length=length):
            return st.lists(_values(element), min_size=length, max_size=length)
        case RowType(fields=fields):
            return st.fixed_dictionaries({field.name: values(field.type) for field in fields})


def _atomic_values(data_type: AtomicType) -> st.SearchStrategy[Any]:
    match data_type.root:
        case TypeRoot.BOOLEAN:
            return st.booleans()
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            bits = _INT_BITS[data_type.root]
            return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        case TypeRoot.FLOAT:
            return st.floats(width=32, allow_nan=False)
        case TypeRoot.DOUBLE:
            return st.floats(allow_nan=False)
        case TypeRoot.DECIMAL:
            limit = 10 ** (data_type.precision or 0) - 1
            scale = data_type.scale or 0
            return st.integers(-limit, limit).map(lambda i: Decimal(i).scaleb(-scale, _EXACT))
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return texts
        case TypeRoot.DATE:
            return st.dates()
        case TypeRoot.TIME:
            millis = st.integers(0, 86_399_999)
            return millis.map(lambda ms: (_EPOCH + dt.timedelta(milliseconds=ms)).time())
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return _timestamps(data_type)
        case _:
            return st.binary(max_size=40)


def _timestamps(data_type: AtomicType) -> st.SearchStrategy[Any]:
    precision = data_type.precision or 0
    if precision > 6:
        return st.integers(-(2**62), 2**62).map(lambda nanos: np.datetime64(nanos, "ns"))
    step = 1000 if precision <= 3 else 1
    zone = dt.UTC if data_type.root is TypeRoot.TIMESTAMP_LTZ else None
    micros = st.integers(-62_135_596_800_000_000 // step, 253_402_300_799_999_999 // step)
    return micros.map(lambda i: (_EPOCH + dt.timedelta(microseconds=i * step)).replace(tzinfo=zone))


@st.composite
def rows(draw: st.DrawFn) -> tuple[tuple[DataType, ...], list[tuple[Any, ...]]]:
    """Some types, and rows of them."""
    types = tuple(draw(st.lists(data_types, min_size=1, max_size=4)))
    row = st.tuples(*(values(data_type) for data_type in types))
    return types, draw(st.lists(row, max_size=6))


def for_arrow(value: Any) -> Any:
    """The value with nanoseconds as numbers: Arrow takes no others in lists or with a zone."""
    if isinstance(value, np.datetime64):
        return Decimal(int(value.astype(np.int64))).scaleb(-9)
    if isinstance(value, dict):
        return {key: for_arrow(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(for_arrow(part) for part in value)
    return value


_stats = st.fixed_dictionaries(
    {
        "min_values": st.binary(max_size=20),
        "max_values": st.binary(max_size=20),
        "null_counts": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3),
    }
)
_ints = st.integers(-(2**31), 2**31 - 1)
_wall_clocks = st.integers(-(10**13), 10**13).map(
    lambda millis: _EPOCH + dt.timedelta(milliseconds=millis)
)
entry_rows = st.fixed_dictionaries(
    {
        "kind": st.integers(0, 1),
        "partition": st.binary(max_size=20),
        "bucket": _ints,
        "total_buckets": _ints,
        "file_name": file_names,
        "file_size": longs,
        "row_count": longs,
        "min_key": st.binary(max_size=20),
        "max_key": st.binary(max_size=20),
        "key_stats": _stats,
        "value_stats": _stats,
        "min_sequence_number": longs,
        "max_sequence_number": longs,
        "schema_id": longs,
        "level": _ints,
        "extra_files": st.lists(file_names, max_size=2),
        "creation_time": st.none() | _wall_clocks,
        "delete_row_count": st.none() | longs,
        "embedded_file_index": st.none() | st.binary(max_size=20),
        "file_source": st.none() | _ints,
        "value_stats_cols": st.none() | st.lists(texts, max_size=2),
        "external_path": st.none() | texts,
        "first_row_id": st.none() | longs,
        "write_cols": st.none() | st.lists(texts, max_size=2),
        "write_cols_sequences": st.none() | st.lists(longs, max_size=2),
    }
)
manifest_rows = st.fixed_dictionaries(
    {
        "file_name": file_names,
        "file_size": longs,
        "num_added_files": longs,
        "num_deleted_files": longs,
        "partition_stats": _stats,
        "schema_id": longs,
    },
    optional={
        "min_bucket": _ints,
        "max_bucket": _ints,
        "min_level": _ints,
        "max_level": _ints,
        "min_row_id": longs,
        "max_row_id": longs,
    },
)
_ranges = st.fixed_dictionaries(
    {
        "data_file": texts,
        "offset": _ints,
        "length": _ints,
        "cardinality": st.none() | longs,
    }
)
_global_indexes = st.fixed_dictionaries(
    {
        "row_range_start": longs,
        "row_range_end": longs,
        "index_field_id": _ints,
        "extra_field_ids": st.none() | st.lists(_ints, max_size=2),
        "index_meta": st.none() | st.binary(max_size=9),
        "source_meta": st.none() | st.binary(max_size=9),
    }
)
index_rows = st.fixed_dictionaries(
    {
        "kind": st.just(0),
        "partition": st.binary(max_size=20),
        "bucket": _ints,
        "index_type": texts,
        "file_name": file_names,
        "file_size": longs,
        "row_count": longs,
        "dv_ranges": st.none() | st.lists(_ranges, max_size=3),
        "external_path": st.none() | texts,
        "global_index": st.none() | _global_indexes,
    }
)

options = st.dictionaries(names, texts, max_size=3).map(Options)


@st.composite
def table_schemas(draw: st.DrawFn) -> TableSchema:
    """Schemas whose keys are among their columns."""
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    fields = tuple(
        DataField(
            id=i,
            name=name,
            type=draw(declared_types),
            description=draw(st.none() | texts),
            default_value=draw(st.none() | texts),
        )
        for i, name in enumerate(columns)
    )
    keys = st.lists(st.sampled_from(columns), max_size=2, unique=True).map(tuple)
    return TableSchema(
        id=draw(st.integers(0, 2**62)),
        fields=fields,
        highest_field_id=draw(st.integers(0, 2**31)),
        partition_keys=draw(keys),
        primary_keys=draw(keys),
        options=draw(options),
        comment=draw(st.none() | texts),
        time_millis=draw(longs),
    )


_files = names.filter(lambda name: "/" not in name and "\\" not in name)
_counts = st.none() | longs
snapshots = st.builds(
    Snapshot,
    uuid=st.none() | names,
    id=longs,
    schema_id=longs,
    base_manifest_list=_files,
    base_manifest_list_size=_counts,
    delta_manifest_list=_files,
    delta_manifest_list_size=_counts,
    changelog_manifest_list=st.none() | _files,
    changelog_manifest_list_size=_counts,
    index_manifest=st.none() | _files,
    commit_user=texts,
    writer_version=st.none() | texts,
    commit_identifier=longs,
    commit_kind=st.sampled_from(CommitKind),
    time_millis=longs,
    total_record_count=_counts,
    delta_record_count=_counts,
    changelog_record_count=_counts,
    watermark=_counts,
    statistics=st.none() | _files,
    properties=options,
    next_row_id=_counts,
    operation=st.none() | texts,
)
tags = st.builds(
    Tag,
    name=names,
    snapshot=snapshots,
    create_time=st.none() | st.datetimes(),
    time_retained_seconds=st.none() | st.floats(0, 1e12).filter(math.isfinite),
)
identities = st.builds(
    SnapshotIdentity, uuid=st.none() | texts, manifest_lists=st.tuples(texts, texts)
)
_moves = st.builds(
    HeadMove,
    branch=texts,
    before=st.none() | identities,
    before_id=_counts,
    after=st.none() | identities,
    after_id=_counts,
)
receipts = st.builds(
    Receipt,
    operation_id=texts,
    statement=texts,
    actor=texts,
    plan_id=texts,
    rescue_branch=st.none() | texts,
    moves=st.lists(_moves, max_size=2).map(tuple),
    counts=st.builds(Counts, snapshots_added=longs, bytes_written=longs),
    notes=st.lists(texts, max_size=2).map(tuple),
    started_millis=longs,
    finished_millis=longs,
)
lineage_events = st.builds(
    LineageEvent,
    id=texts,
    branch=texts,
    operation_id=texts,
    actor=texts,
    kind=st.sampled_from(LineageKind),
    source_branch=st.none() | texts,
    time_millis=longs,
    before=st.none() | identities,
    after=st.none() | identities,
    parents=st.lists(identities, max_size=2).map(tuple),
    owner=st.none() | texts,
    reason=st.none() | texts,
    base_tag=st.none() | texts,
    receipt=st.none() | receipts,
)


@st.composite
def broken(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes cut short, or with some of them changed."""
    if draw(st.booleans()):
        return data[: draw(st.integers(0, max(len(data) - 1, 0)))]
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        if changed:
            changed[draw(st.integers(0, len(changed) - 1))] ^= draw(st.integers(1, 255))
    return bytes(changed)
