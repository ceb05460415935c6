"""Bitmaps of 32-bit numbers as values of a column, in Roaring's portable format.

Source: Paimon RoaringBitmap32.
"""

from pyroaring import BitMap

from branch_console.errors import FormatError


def union_bitmaps(left: bytes, right: bytes) -> bytes:
    """The numbers of both bitmaps.

    Raises:
        FormatError: One of them is no such bitmap.
    """
    try:
        found = BitMap.deserialize(left) | BitMap.deserialize(right)
    except ValueError as error:
        raise FormatError(f"A value is no bitmap: {error}. Mend the row that holds it.") from error
    found.run_optimize()
    return bytes(found.serialize())
