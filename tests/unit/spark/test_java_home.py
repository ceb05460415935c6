import subprocess
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, NotFound
from branch_console.spark.session.java_home import MISSING_MODULE, find_java


def fake_java(home: Path, version: str, *, has_module: bool = True) -> Path:
    """A `java` that answers the probe the way a runtime of that version does."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    refusal = f'case "$*" in *{MISSING_MODULE}*) exit 1 ;; esac\n' if not has_module else ""
    java.write_text(
        "#!/bin/sh\n" + refusal + f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\necho \"$@\"\n"
    )
    java.chmod(0o755)
    return home


def broken_java(home: Path) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (home / "bin" / "java").chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a", "21")
    on_path = fake_java(tmp_path / "b", "17")
    found = find_java(java_home=str(home), path=str(on_path / "bin"), cache=tmp_path)
    assert (found.home, found.version, found.is_shim) == (home, 21, False)


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, version: str) -> None:
    old = fake_java(tmp_path / "old", version)
    new = fake_java(tmp_path / "new", "17")
    assert find_java(java_home=str(old), path=str(new / "bin"), cache=tmp_path).home == new


def test_a_java_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    broken = broken_java(tmp_path / "broken")
    new = fake_java(tmp_path / "new", "25")
    for home in (broken, tmp_path / "missing"):
        assert find_java(java_home=str(home), path=str(new / "bin"), cache=tmp_path).home == new


def test_a_link_on_the_path_leads_to_the_home_the_runtime_names(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "17")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    found = find_java(java_home="", path=str(tmp_path / "links"), cache=tmp_path)
    assert found.home == home


def test_without_a_java_the_packaged_one_runs_behind_the_shim(tmp_path: Path) -> None:
    found = find_java(java_home="", path="", cache=tmp_path)
    assert found.is_shim
    assert found.version >= 17
    answer = subprocess.run(
        [found.home / "bin" / "java", MISSING_MODULE, "-Dname=a b", "-version"],
        capture_output=True,
        check=True,
    )
    assert b"version" in answer.stderr


def test_the_shim_drops_only_the_missing_module(tmp_path: Path) -> None:
    packaged = fake_java(tmp_path / "has a space", "25", has_module=False)
    found = find_java(java_home="", path="", cache=tmp_path / "cache", packaged=packaged)
    answer = subprocess.run(
        [found.home / "bin" / "java", "-Da=b c", MISSING_MODULE, "--add-opens=x", "*"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "-Da=b c --add-opens=x *\n"


def test_the_shim_is_written_once(tmp_path: Path) -> None:
    packaged = fake_java(tmp_path / "jdk", "25", has_module=False)
    homes = [
        find_java(java_home="", path="", cache=tmp_path / "cache", packaged=packaged).home
        for _ in range(2)
    ]
    assert homes[0] == homes[1]
    assert [file.name for file in (homes[0] / "bin").iterdir()] == ["java"]


def test_a_cache_that_cannot_be_written_does_not_stop_it(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    packaged = fake_java(tmp_path / "jdk", "25", has_module=False)
    found = find_java(java_home="", path="", cache=tmp_path / "cache", packaged=packaged)
    assert (found.home / "bin" / "java").is_file()


def test_no_java_at_all_is_said_with_what_was_tried(tmp_path: Path) -> None:
    broken = broken_java(tmp_path / "broken")
    with pytest.raises(NotFound, match="Java 17 or newer") as caught:
        find_java(java_home=str(broken), path="", cache=tmp_path, packaged=tmp_path / "none")
    assert caught.value.kind is ErrorKind.NO_JAVA
    assert caught.value.facts["tried"] == (
        str(broken / "bin" / "java"),
        str(tmp_path / "none" / "bin" / "java"),
    )
