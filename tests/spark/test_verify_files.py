from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from branch_console.spark.files.verify_files import verify_data_files
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.table.file_checks import FILE_PROBLEMS, FILES_TO_VERIFY

ROWS = pa.table({"a": list(range(7)), "b": ["x"] * 7})


def listed(*files: tuple[str, int, int]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(FILES_TO_VERIFY.names, file, strict=True)) for file in files],
        schema=FILES_TO_VERIFY,
    )


def problems(found: pa.Table) -> list[tuple[str, str]]:
    assert found.schema == FILE_PROBLEMS
    return [(Path(row["path"]).name, row["problem"]) for row in found.to_pylist()]


def write(folder: Path) -> dict[str, tuple[str, int, int]]:
    pq.write_table(ROWS, folder / "good.parquet")
    orc.write_table(ROWS, folder / "good.orc")
    (folder / "torn.parquet").write_bytes((folder / "good.parquet").read_bytes()[:-6])
    (folder / "other.avro").write_bytes(b"not a columnar file")
    return {path.name: (str(path), path.stat().st_size, ROWS.num_rows) for path in folder.iterdir()}


def test_files_that_are_as_listed_are_no_problem(session: WarmSession, tmp_path: Path) -> None:
    files = write(tmp_path)
    found = verify_data_files(
        lambda: session,
        FileIO.for_url(str(tmp_path)),
        listed(files["good.parquet"], files["good.orc"], files["other.avro"]),
    )
    assert problems(found) == []


def test_each_kind_of_problem_is_told(session: WarmSession, tmp_path: Path) -> None:
    files = write(tmp_path)
    parquet, size, rows = files["good.parquet"]
    (tmp_path / "longer.parquet").write_bytes(Path(parquet).read_bytes() + b"x")
    (tmp_path / "fewer.parquet").write_bytes(Path(parquet).read_bytes())
    found = verify_data_files(
        lambda: session,
        FileIO.for_url(str(tmp_path)),
        listed(
            files["torn.parquet"],
            (str(tmp_path / "gone.parquet"), 1, 1),
            (str(tmp_path / "longer.parquet"), size, rows),
            (str(tmp_path / "fewer.parquet"), size, rows + 2),
            (files["good.orc"][0], files["good.orc"][1], 9),
        ),
    )
    told = problems(found)
    assert told[:4] == [
        ("fewer.parquet", "It has 7 rows by its footer, the manifest says 9."),
        ("gone.parquet", "The file is missing."),
        ("good.orc", "It has 7 rows by its footer, the manifest says 9."),
        ("longer.parquet", f"It has {size + 1} bytes, the manifest says {size}."),
    ]
    assert told[4][0] == "torn.parquet"
    assert told[4][1].startswith("It cannot be read: ")


def test_many_files_are_checked_with_progress(session: WarmSession, tmp_path: Path) -> None:
    path, size, rows = write(tmp_path)["good.parquet"]
    told: list[tuple[int, int | None]] = []
    found = verify_data_files(
        lambda: session,
        FileIO.for_url(str(tmp_path)),
        listed(*[(path, size, rows)] * 2000, (path, size, rows + 1)),
        lambda *counts: told.append(counts),
    )
    assert found.num_rows == 1
    assert told[0] == (0, 2001)
    assert told[-1] == (2001, 2001)
    assert told == sorted(told)


def test_a_listener_that_raises_stops_the_check(session: WarmSession, tmp_path: Path) -> None:
    path, size, rows = write(tmp_path)["good.parquet"]

    def stop(done: int, total: int | None) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        verify_data_files(
            lambda: session, FileIO.for_url(str(tmp_path)), listed((path, size, rows)), stop
        )


def test_a_store_without_native_paths_reads_only_ranges(
    session: WarmSession, tmp_path: Path
) -> None:
    write(tmp_path)
    memory = fsspec.filesystem("memory")
    files = []
    for name in ("good.parquet", "good.orc"):
        memory.pipe_file(f"/verify/{name}", (tmp_path / name).read_bytes())
        files.append((f"/verify/{name}", (tmp_path / name).stat().st_size, ROWS.num_rows))
    wrong = [(path, size, rows + 1) for path, size, rows in files]
    store = FileIO.for_url("memory://verify")
    assert problems(verify_data_files(lambda: session, store, listed(*files))) == []
    assert verify_data_files(lambda: session, store, listed(*wrong)).num_rows == 2


def test_no_files_need_no_run(session: WarmSession, tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    assert verify_data_files(lambda: session, store, FILES_TO_VERIFY.empty_table()).num_rows == 0
