"""The columns that tell files apart, decoded without the others."""

import random
import tarfile
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.format.manifest_entry import (
    MANIFEST_ENTRY,
    decode_manifest,
    encode_manifest,
    file_identity,
)
from branch_console.table import manifest_query
from branch_console.table.manifest_query import NAMED_FILE, ManifestSource, query_manifests

_ARCHIVES: Final = sorted((Path(__file__).parents[2] / "data" / "warehouses").glob("*.tar.gz"))


@pytest.fixture(autouse=True)
def _queries_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_query, "_SMALL", -1)


@pytest.mark.parametrize("archive", _ARCHIVES, ids=lambda each: each.name.removesuffix(".tar.gz"))
def test_manifests_of_other_writers_give_the_same_names_without_their_other_columns(
    archive: Path, tmp_path: Path
) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    whole: dict[str, pa.Table] = {}
    for path in sorted(tmp_path.rglob("manifest/manifest-*")):
        if "list" in path.name:
            continue
        try:
            whole[str(path)] = decode_manifest(path.read_bytes(), path.name)
        except FormatError:
            continue  # the manifest of index files
    sources = [
        ManifestSource(path=path, file=path, count=entries.num_rows)
        for path, entries in whole.items()
    ]
    found = query_manifests(sources, NAMED_FILE)
    assert len(found) > len(sources) / 2 > 5
    for path, entries in found.items():
        assert entries.schema == NAMED_FILE
        assert entries.equals(whole[path].select(NAMED_FILE.names)), path


@pytest.mark.parametrize("seed", range(8))
def test_columns_of_any_length_are_passed_over(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)

    def some_bytes() -> bytes:
        return rng.randbytes(rng.choice((0, 1, 63, 64, 200, 9_000)))

    def names() -> list[str]:
        return [f"é{rng.random()}" for _ in range(rng.choice((0, 1, 2, 70)))]

    def stats() -> dict[str, object]:
        counts = [rng.choice((None, 0, -1, 2**60)) for _ in range(rng.choice((0, 1, 70)))]
        return {
            "min_values": some_bytes(),
            "max_values": some_bytes(),
            "null_counts": rng.choice((None, counts)),
        }

    def number() -> int:
        return rng.choice((0, 1, -1, 127, 2**31, -(2**62)))

    rows = [
        {
            "kind": rng.randrange(2),
            "partition": some_bytes(),
            "bucket": rng.randrange(300),
            "total_buckets": rng.choice((-1, 4)),
            "file_name": f"data-{place}-é.parquet",
            "file_size": rng.choice((0, 127, 2**40)),
            "row_count": number(),
            "min_key": some_bytes(),
            "max_key": some_bytes(),
            "key_stats": stats(),
            "value_stats": stats(),
            "min_sequence_number": number(),
            "max_sequence_number": number(),
            "schema_id": number(),
            "level": rng.randrange(6),
            "extra_files": names(),
            "creation_time": rng.choice((None, 5_000)),
            "delete_row_count": rng.choice((None, number())),
            "embedded_file_index": rng.choice((None, some_bytes())),
            "file_source": rng.choice((None, 0, 1)),
            "value_stats_cols": rng.choice((None, names())),
            "external_path": rng.choice((None, f"oss://elsewhere/{place}")),
            "first_row_id": rng.choice((None, number())),
            "write_cols": rng.choice((None, names())),
            "identity": "",
            "manifest": "manifest-a",
            "position": place,
        }
        for place in range(rng.choice((1, 50, 400)))
    ]
    made = pa.Table.from_pylist(rows, MANIFEST_ENTRY)
    at = MANIFEST_ENTRY.get_field_index("identity")
    made = made.set_column(at, MANIFEST_ENTRY.field(at), file_identity(made))
    path = tmp_path / "manifest-a"
    path.write_bytes(encode_manifest(made))
    source = ManifestSource(path=str(path), file=str(path), count=made.num_rows)
    (found,) = query_manifests([source], NAMED_FILE).values()
    assert found.equals(made.select(NAMED_FILE.names))
