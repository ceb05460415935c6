"""Arrow tables as bytes: how rows, files and conflicts travel through columns of Spark."""

import pyarrow as pa


def to_bytes(table: pa.Table) -> bytes:
    """Pack a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.Table:
    """Unpack a table."""
    return pa.ipc.open_stream(data).read_all()
