"""C10, C25: folding entries gives what a map would, however they are grouped into manifests."""

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.errors import FormatError
from branch_console.format.manifest_entry import FileKind
from branch_console.table.manifest_scan import live_files

_NAMES = st.sampled_from("abcdef")
_COLUMNS = pa.schema(
    [
        ("kind", pa.int32()),
        ("identity", pa.string()),
        ("file_name", pa.string()),
        ("manifest", pa.string()),
        ("bucket", pa.int32()),
        ("level", pa.int32()),
        ("position", pa.int32()),
    ]
)


def _entries(history: list[tuple[FileKind, str]]) -> pa.Table:
    rows = [
        {
            "kind": int(kind),
            "identity": f"id-{name}",
            # All files share one name, so only the identity tells them apart.
            "file_name": "data.parquet",
            "manifest": "m",
            "bucket": 0,
            "level": 0,
            "position": position,
        }
        for position, (kind, name) in enumerate(history)
    ]
    return pa.Table.from_pylist(rows, _COLUMNS)


@st.composite
def _histories(draw: st.DrawFn) -> list[tuple[FileKind, str]]:
    """What commits leave: a file is added where it is not live, and deleted where it is."""
    live: set[str] = set()
    history = []
    for name in draw(st.lists(_NAMES, max_size=40)):
        history.append((FileKind.DELETE if name in live else FileKind.ADD, name))
        live ^= {name}
    return history


def _as_a_map_would(history: list[tuple[FileKind, str]]) -> list[int]:
    live: dict[str, int] = {}
    for position, (kind, name) in enumerate(history):
        if kind is FileKind.ADD:
            live[name] = position
        else:
            del live[name]
    return sorted(live.values())


@given(_histories())
def test_live_files_are_those_a_map_would_keep(history: list[tuple[FileKind, str]]) -> None:
    assert live_files(_entries(history))["position"].to_pylist() == _as_a_map_would(history)


@given(_histories(), st.lists(st.integers(0, 40), max_size=4))
def test_merging_manifests_never_changes_what_is_live(
    history: list[tuple[FileKind, str]], cuts: list[int]
) -> None:
    entries = _entries(history)
    edges = [0, *sorted(min(cut, len(history)) for cut in cuts), len(history)]
    parts = [entries.slice(start, end - start) for start, end in itertools.pairwise(edges)]
    # A part that is complete in itself may be rewritten to its own live files.
    rewritten = [part if _refers_back(part) else live_files(part) for part in parts]
    found = live_files(pa.concat_tables(rewritten))
    # Of a file that went and came back within a part, either ADD may be the one that stays.
    live = {f"id-{history[position][1]}" for position in _as_a_map_would(history)}
    assert sorted(found["identity"].to_pylist()) == sorted(live)


def _refers_back(part: pa.Table) -> bool:
    try:
        live_files(part)
    except FormatError:
        return True
    return False


@given(_histories(), _NAMES)
def test_a_contradiction_is_never_overlooked(
    history: list[tuple[FileKind, str]], name: str
) -> None:
    is_live = any(history[position][1] == name for position in _as_a_map_would(history))
    wrong = FileKind.ADD if is_live else FileKind.DELETE
    with pytest.raises(FormatError):
        live_files(_entries([*history, (wrong, name)]))
