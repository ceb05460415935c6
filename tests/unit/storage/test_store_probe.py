"""What a store takes for one name."""

from pathlib import Path

from branch_console.storage.file_io import FileIO
from branch_console.storage.store_probe import ignores_case
from tests.support.caseless_store import CaselessFileIO


def test_a_store_that_ignores_case_is_told_by_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "catalog").mkdir()
    exact, caseless = FileIO.for_url(str(tmp_path)), CaselessFileIO.of(tmp_path)
    path = f"{exact.root}/catalog"
    assert not ignores_case(exact, path)
    assert ignores_case(caseless, path)
    assert not ignores_case(caseless, f"{exact.root}/missing")
    (tmp_path / "CATALOG").mkdir()
    assert not ignores_case(exact, path), "both are there"
    assert not ignores_case(FileIO.for_url("memory://w"), "w/catalog")
