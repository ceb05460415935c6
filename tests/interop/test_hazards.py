"""R15: each hazard is set up by Java, told by the doctor, and comes about; remedied, it does not.

The doctor is asked by its command. On one copy of the warehouse Java goes on as if nobody had
asked; on another one what the doctor printed runs first, word for word.
"""

import datetime as dt
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype
import pytest

from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.sql.parser import parse_statements
from tests.support.command_line import CommandLine
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_values import Value
from tests.support.local_row_engine import LocalFiles

pytestmark = pytest.mark.shared_cells

NAME = "db.shared"
COLUMNS = {"id": "INT", "name": "STRING"}
ROWS = [(1, "ada"), (2, "bob")]
LOST = (5, "eve")
# A commit that is not write-only leaves one snapshot of its branch.
EXPIRES = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
# As a dedicated compaction job sets it for its own commits.
DEDICATED = {"write-only": "false", **EXPIRES}

Open = Callable[[Path], JavaPaimon]
Rows = list[tuple[Value, ...]]


class Scene:
    """A warehouse with one table, seen by Java, by the doctor and by our procedures."""

    def __init__(self, folder: Path, open_java: Open, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._open, self._capsys = folder, open_java, capsys
        self.java = open_java(folder)
        self.console = CommandLine(folder, capsys)
        self._calls = 0

    def copy(self, folder: Path) -> "Scene":
        """The same warehouse somewhere else, files as old as they were."""
        shutil.copytree(self.folder, folder)
        return Scene(folder, self._open, self._capsys)

    @property
    def table(self) -> JavaTable:
        return self.java.table(NAME)

    @property
    def dev(self) -> JavaTable:
        return self.table.on("dev")

    @property
    def root(self) -> Path:
        return self.folder / "db.db" / "shared"

    def create(self, **options: str) -> JavaTable:
        """Main at 1, with two rows."""
        keys = {name.replace("__", ".").replace("_", "-"): each for name, each in options.items()}
        table = self.java.create_table(NAME, COLUMNS, options=keys)
        table.write(ROWS)
        return table

    def fork(self) -> JavaTable:
        """A branch that Java made from a tag of main."""
        self.table.create_tag("t1")
        self.table.create_branch("dev", "t1")
        return self.dev

    def ours(self, procedure: str, **arguments: Argument) -> None:
        """Call a procedure of ours on the table, unless the arguments name it."""
        self._calls += 1
        call = ProcedureCall(
            name=procedure,
            arguments=arguments if procedure == "alter_table" else {"table": NAME, **arguments},
            actor="ann",
            # A copy knows the operations of what it was copied from.
            operation_id=f"{procedure.replace('_', '-')}-{self.folder.name}-{self._calls}",
        )
        run_call(Warehouse.open(str(self.folder)), LocalFiles(), call, InlineStages())

    def run(self, text: str) -> None:
        """Run what the doctor printed."""
        if text.startswith("branch-console "):
            _, command, *tables = shlex.split(text)
            assert command == "recover"
            self.ours(command, **dict(zip(["table"], tables, strict=False)))
            return
        (statement,) = parse_statements(text)
        self.ours(statement.procedure, **statement.arguments)

    def told(self, rule: str, branch: str, *more: str) -> dict[str, Any] | None:
        """What the doctor tells by a rule, None where it does not."""
        document = self.console("doctor", NAME, "--json", *more).document
        (told,) = document["tables"]
        for each in told["findings"]:
            if (each["rule"], each["branch"]) == (rule, branch):
                return dict(each)
        return None

    def remedy(self, rule: str, branch: str, *more: str) -> None:
        """Run the remedies of a finding as they are printed."""
        told = self.told(rule, branch, *more)
        assert told is not None
        assert told["remedies"], told
        for each in told["remedies"]:
            self.run(each.get("sql") or each["command"])

    def read(self, what: str) -> Rows | None:
        """The rows of a branch, of a tag of main (`main@t1`); None where files are missing.

        Java looks for a tag of a branch on main, so of `dev#bt` its files are opened.
        """
        name, _, tag = what.partition("@")
        branch, _, own_tag = name.partition("#")
        table = self.table.on(branch)
        try:
            if own_tag:
                return [(each["file_name"],) for each in table.live_files(tag=own_tag)]
            return sorted(table.rows(tag=tag or None), key=repr)
        except jpype.JException as error:
            if "FileNotFound" in error.stacktrace():
                return None
            raise

    def snapshot_ids(self, branch: str) -> list[int]:
        """The ids of the snapshots that lie there, whatever hints say."""
        folder = self.root / ("" if branch == "main" else f"branch/branch-{branch}") / "snapshot"
        return sorted(int(each.name.split("-")[1]) for each in folder.glob("snapshot-*"))

    def all_rows(self) -> set[tuple[Value, ...]]:
        """The rows of all branches."""
        names = ["main", *self.table.branches()]
        return {row for name in names for row in self.read(name) or ()}


# ---- what befalls a table ----------------------------------------------------------------------


def expire(table: JavaTable) -> None:
    """Write over all rows, and leave none of the older snapshots."""
    table.write([(9, "zoe")], overwrite={})
    table.expire_snapshots(1)


def run_dedicated_job(table: JavaTable) -> None:
    """Rewrite a branch and expire it, as a job does whose commits are not write-only."""
    for name in ("gus", "hal"):
        table.write([(9, name)], overwrite={}, options=DEDICATED)


def expire_main(scene: Scene) -> None:
    expire(scene.table)


def expire_dev(scene: Scene) -> None:
    expire(scene.dev)


def dedicated_on_dev(scene: Scene) -> None:
    run_dedicated_job(scene.dev)


def dedicated_on_main(scene: Scene) -> None:
    run_dedicated_job(scene.table)


def delete_tag_and_expire(scene: Scene) -> None:
    scene.table.delete_tag("t1")
    expire(scene.table)


def delete_tag(scene: Scene) -> None:
    scene.table.delete_tag("t1")


def delete_copied_tag(scene: Scene) -> None:
    if "t1" in scene.dev.tags():
        scene.dev.delete_tag("t1")


def commit_past_the_tag(scene: Scene) -> None:
    """Commits to main take tags away that have outlived their time."""
    time.sleep(1.1)
    scene.table.write([(6, "fay")])


def forward(scene: Scene) -> None:
    scene.table.fast_forward("dev")


def clean_orphans(scene: Scene) -> None:
    """What is named nowhere goes for good."""
    scene.table.remove_orphan_files()


def write_on_dev(scene: Scene) -> None:
    scene.dev.write([(4, "dan")])


def expire_by_a_commit(scene: Scene) -> None:
    scene.table.write([(4, "dan")], options=EXPIRES)


def expire_by_a_commit_on_dev(scene: Scene) -> None:
    scene.dev.write([(4, "dan")], options=EXPIRES)


def try_to_clean_orphans(scene: Scene) -> None:
    """A cleaning leaves the file of a commit that failed where it cannot tell what is needed."""
    (scene.root / "bucket-0" / "data-left-by-a-commit.parquet").write_text("")
    try:
        clean_orphans(scene)
    except jpype.JException:
        return


# ---- the hazards -------------------------------------------------------------------------------


def forked(scene: Scene) -> None:
    scene.create()
    scene.fork()


def without_base_tag(scene: Scene) -> None:
    forked(scene)
    scene.table.delete_tag("t1")


def expired_on_main(scene: Scene) -> None:
    forked(scene)
    expire(scene.table)


def expired_on_main_under_a_brief_tag(scene: Scene) -> None:
    table = scene.create()
    table.create_tag("t1", retained=dt.timedelta(seconds=1))
    table.create_branch("dev", "t1")
    expire(table)


def expired_on_dev(scene: Scene) -> None:
    forked(scene)
    expire(scene.dev)


def tagged_on_dev(scene: Scene) -> None:
    forked(scene)
    scene.dev.write([(3, "cas")])
    scene.dev.create_tag("bt")


def hidden_base(scene: Scene) -> None:
    forked(scene)
    scene.table.create_branch("other", "t1")
    scene.table.write([(9, "zoe")], overwrite={})
    scene.table.create_tag("later")
    scene.dev.write([(3, "cas")])


def expire_twice_on_dev(scene: Scene) -> None:
    for row in ((4, "dan"), (5, "eve")):
        scene.dev.write([row], overwrite={}, options=EXPIRES)


def foreign_pin(scene: Scene) -> None:
    scene.create()
    scene.ours("create_tag", tag="v1")
    scene.ours("create_branch", branch="dev")
    scene.dev.write([(9, "zoe")], overwrite={})
    scene.ours("create_branch", branch="sub", from_branch="dev")
    scene.ours("pin_branch", branch="sub")


def expire_past_the_pin(scene: Scene) -> None:
    scene.table.write([(4, "dan")])
    expire(scene.table)


def forwarded(scene: Scene) -> None:
    forked(scene)
    scene.dev.write([(3, "cas")])
    scene.table.fast_forward("dev")


def replaced(scene: Scene) -> None:
    table = scene.create()
    table.write([LOST])
    table.create_branch("dev")
    scene.dev.write([(7, "hal")])
    table.fast_forward("dev")


def rolled_back(scene: Scene) -> None:
    table = scene.create()
    table.write([(3, "cas")])
    table.create_tag("t2")
    table.create_branch("dev", "t2")
    table.rollback_to(1)


def merged_by_java(scene: Scene) -> None:
    forked(scene)
    scene.dev.write([(3, "cas")])
    scene.table.write([LOST])
    scene.table.merge_branch("dev")


def merged_by_us(scene: Scene, **options: str) -> None:
    """A merge of ours of which a careless operator took what protects it."""
    table = scene.create(write_only="true", **options)
    scene.ours("create_branch", branch="dev")
    scene.dev.write([(3, "cas")])
    table.write([LOST])
    scene.ours("merge_branch", branch="dev")
    scene.dev.load().consumerManager().deleteConsumer("branch-console-fence")
    for tag in table.tags():
        if tag.startswith("branch-pin-"):
            table.delete_tag(tag)


def merged_where_writers_expire(scene: Scene) -> None:
    merged_by_us(scene)
    scene.dev.set_options({"write-only": "false"})


def merged_and_kept_by_options(scene: Scene) -> None:
    merged_by_us(scene)


def merged_and_kept_endlessly(scene: Scene) -> None:
    merged_by_us(scene, snapshot__num_retained__min="2147483647")


def forwarded_twice(scene: Scene) -> None:
    forwarded(scene)
    scene.dev.write([(4, "dan")])
    scene.table.write([LOST])
    scene.table.fast_forward("dev")


def both_moved_on(scene: Scene) -> None:
    forwarded(scene)
    scene.dev.write([(4, "dan")])
    scene.table.write([LOST])


def fence_without_effect(scene: Scene) -> None:
    without_base_tag(scene)
    scene.ours("fence_branch", branch="dev")
    scene.dev.set_options({"consumer.expiration-time": "1 ms"})


def fence_removed(scene: Scene) -> None:
    without_base_tag(scene)
    scene.ours("fence_branch", branch="dev")
    scene.dev.load().consumerManager().deleteConsumer("branch-console-fence")


QUICK = {"snapshot__time_retained": "1 ms", "snapshot__num_retained__min": "1"}


def makes_tags(scene: Scene) -> None:
    table = scene.create()
    # An hour as Paimon names it, so that the next tag is of a later snapshot.
    table.create_tag("2020-01-01 00")
    scene.ours("create_branch", branch="dev", tag="2020-01-01 00")
    scene.dev.set_options(
        {"tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}
    )


def has_made_tags(scene: Scene) -> None:
    makes_tags(scene)
    scene.dev.write([(3, "cas")])


def hidden_by_a_hint(scene: Scene) -> None:
    """Main has 1 and 2, and the branch comes to it with 5 alone."""
    forked(scene)
    for row in ((3, "cas"), (4, "dan"), (6, "fay"), (7, "hal")):
        scene.dev.write([row])
    scene.dev.expire_snapshots(1)
    scene.table.write([LOST])
    scene.table.fast_forward("dev")


def held_by_a_consumer(scene: Scene) -> None:
    scene.create(**QUICK)
    for row in ((3, "cas"), (4, "dan")):
        scene.table.write([row], options={"write-only": "true"})
    scene.table.add_consumer("etl", 1)
    file = scene.root / "consumer" / "consumer-etl"
    os.utime(file, (time.time() - 2 * 86_400,) * 2)


def made_by_half(scene: Scene) -> None:
    forked(scene)
    shutil.rmtree(scene.root / "branch" / "branch-dev" / "schema")


def held_by_a_fence(scene: Scene) -> None:
    scene.create(snapshot__expire__limit="2", **QUICK)
    scene.ours("create_branch", branch="dev")
    for row in ((3, "cas"), (4, "dan"), (6, "fay"), (7, "hal")):
        scene.dev.write([row])
    # What a merge starts from is kept: that is the head of the branch now.
    scene.ours("merge_branch", branch="dev")


def no_tag_of_another_history(scene: Scene) -> bool:
    mine = {(each["id"], each["deltaManifestList"]) for each in scene.table.snapshots()}
    tags = scene.table.tags().values()
    return all((each["id"], each["deltaManifestList"]) in mine for each in tags)


def no_snapshot_is_hidden(scene: Scene) -> bool:
    return scene.snapshot_ids("main")[0] >= 5


def one_snapshot_is_left(scene: Scene) -> bool:
    return len(scene.snapshot_ids("main")) == 1


def few_are_left_on_dev(scene: Scene) -> bool:
    return len(scene.snapshot_ids("dev")) < 4


def no_orphan_is_left(scene: Scene) -> bool:
    return not list(scene.root.glob("bucket-0/data-left*"))


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """A row of the table of hazards.

    Attributes:
        make: Sets it up.
        strike: What another engine does then.
        stays: What has to be read as before.
        found: Rows that some branch has to have.
        holds: What else has to be so.
        newest_only: Whether only the newest Paimon can set it up.
    """

    rule: str
    make: Callable[[Scene], None]
    strike: Callable[[Scene], None]
    branch: str = "dev"
    severity: str = "critical"
    stays: tuple[str, ...] = ()
    found: tuple[tuple[Value, ...], ...] = ()
    holds: Callable[[Scene], bool] = lambda _: True
    newest_only: bool = False

    @property
    def id(self) -> str:
        return f"{self.rule} {self.make.__name__}, then {self.strike.__name__}".replace("_", " ")


HAZARDS = (
    Hazard(rule="F00", make=forked, strike=delete_tag_and_expire, severity="info", stays=("dev",)),
    Hazard(rule="F01", make=without_base_tag, strike=expire_dev, stays=("main",)),
    Hazard(rule="F01", make=without_base_tag, strike=dedicated_on_dev, stays=("main",)),
    Hazard(rule="F02", make=without_base_tag, strike=expire_main, stays=("dev",)),
    Hazard(rule="F02", make=without_base_tag, strike=dedicated_on_main, stays=("dev",)),
    Hazard(rule="F03", make=expired_on_main, strike=delete_tag, severity="warning", stays=("dev",)),
    Hazard(
        rule="F03",
        make=expired_on_main_under_a_brief_tag,
        strike=commit_past_the_tag,
        stays=("dev",),
    ),
    Hazard(rule="F04", make=expired_on_dev, strike=delete_copied_tag, stays=("main", "main@t1")),
    Hazard(
        rule="F05", make=tagged_on_dev, strike=expire_dev, severity="warning", stays=("dev#bt",)
    ),
    Hazard(
        rule="F06",
        make=hidden_base,
        strike=expire_twice_on_dev,
        stays=("main", "main@t1", "other"),
    ),
    Hazard(
        rule="F06",
        make=foreign_pin,
        strike=expire_past_the_pin,
        branch="main",
        stays=("main@v1", "dev", "sub"),
    ),
    Hazard(rule="F07", make=forwarded, strike=expire_main, stays=("dev",)),
    Hazard(rule="F07", make=forwarded, strike=expire_dev, stays=("main",)),
    Hazard(rule="F08", make=replaced, strike=clean_orphans, stays=("main",), found=(*ROWS, LOST)),
    Hazard(rule="F09", make=rolled_back, strike=expire_main, stays=("dev",)),
    Hazard(
        rule="F11",
        make=makes_tags,
        strike=write_on_dev,
        severity="warning",
        holds=no_tag_of_another_history,
    ),
    Hazard(
        rule="F11",
        make=has_made_tags,
        strike=write_on_dev,
        branch="main",
        severity="warning",
        holds=no_tag_of_another_history,
    ),
    Hazard(
        rule="F12",
        make=hidden_by_a_hint,
        strike=expire_main,
        branch="main",
        severity="warning",
        holds=no_snapshot_is_hidden,
    ),
    Hazard(
        rule="F13", make=merged_by_java, strike=dedicated_on_main, stays=("dev",), newest_only=True
    ),
    Hazard(rule="F13", make=merged_where_writers_expire, strike=dedicated_on_dev, stays=("main",)),
    Hazard(rule="F14", make=merged_and_kept_by_options, strike=dedicated_on_dev, stays=("main",)),
    Hazard(rule="F14", make=merged_and_kept_endlessly, strike=expire_dev, stays=("main",)),
    Hazard(
        rule="F15", make=forwarded_twice, strike=clean_orphans, stays=("main", "dev"), found=(LOST,)
    ),
    Hazard(rule="F16", make=both_moved_on, strike=forward, severity="warning", found=(LOST,)),
    Hazard(rule="F23", make=fence_without_effect, strike=dedicated_on_dev, stays=("main",)),
    Hazard(rule="F23", make=fence_removed, strike=expire_dev, stays=("main",)),
    Hazard(
        rule="F24",
        make=held_by_a_consumer,
        strike=expire_by_a_commit,
        branch="main",
        severity="warning",
        holds=one_snapshot_is_left,
    ),
    Hazard(
        rule="F25",
        make=made_by_half,
        strike=try_to_clean_orphans,
        severity="warning",
        stays=("main",),
        holds=no_orphan_is_left,
    ),
    Hazard(
        rule="F27",
        make=held_by_a_fence,
        strike=expire_by_a_commit_on_dev,
        severity="warning",
        stays=("main",),
        holds=few_are_left_on_dev,
    ),
)
IN_CI = {"F01 without base tag, then dedicated on dev", "F08 replaced, then clean orphans"}


def cases() -> Iterator[Any]:
    for each in HAZARDS:
        marks = [] if each.id in IN_CI else [pytest.mark.depth("long")]
        yield pytest.param(each, id=each.id, marks=marks)


@pytest.mark.parametrize("hazard", list(cases()))
def test_a_hazard_breaks_what_it_says_and_not_once_it_is_remedied(
    hazard: Hazard,
    open_java: Open,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    paimon_version: str,
) -> None:
    if hazard.newest_only and paimon_version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no merge; the run with the newest one has")
    scene = Scene(tmp_path / "made", open_java, capsys)
    hazard.make(scene)
    told = scene.told(hazard.rule, hazard.branch)
    assert told is not None
    assert told["severity"] == hazard.severity
    assert told["evidence"]
    before = {name: scene.read(name) for name in hazard.stays}
    assert None not in before.values()

    def is_whole(then: Scene) -> bool:
        now = {name: then.read(name) for name in hazard.stays}
        is_found = not hazard.found or set(hazard.found) <= then.all_rows()
        return now == before and is_found and hazard.holds(then)

    broken = scene.copy(tmp_path / "broken")
    hazard.strike(broken)
    assert not is_whole(broken)

    mended = scene.copy(tmp_path / "mended")
    mended.remedy(hazard.rule, hazard.branch)
    left = mended.told(hazard.rule, hazard.branch)
    assert left is None or left["severity"] == "info", left
    hazard.strike(mended)
    assert is_whole(mended)
    print(f"{hazard.id}, Paimon {paimon_version}: breaks; it does not after")
    for each in told["remedies"]:
        print(f"    {each.get('sql') or each['command']}")


def lose_a_file(scene: Scene) -> None:
    """The data file of the newest commit is gone."""
    (name,) = {each["file_name"] for each in scene.table.live_files()} - {
        each["file_name"] for each in scene.table.live_files(snapshot=1)
    }
    (file,) = scene.root.rglob(str(name))
    file.unlink()


def cut_a_file(scene: Scene) -> None:
    """The data file of the newest commit is short."""
    (name,) = {each["file_name"] for each in scene.table.live_files()} - {
        each["file_name"] for each in scene.table.live_files(snapshot=1)
    }
    (file,) = scene.root.rglob(str(name))
    file.write_bytes(file.read_bytes()[:-10])


def lose_a_manifest(scene: Scene) -> None:
    """The manifest of the newest commit is gone."""
    lists = [each["deltaManifestList"] for each in scene.table.snapshots()]
    old, new = (
        set(scene.table.on("main").load().store().manifestListFactory().create().read(each))
        for each in lists
    )
    (manifest,) = new - old
    (scene.root / "manifest" / str(manifest.fileName())).unlink()


@pytest.mark.depth("long")
@pytest.mark.parametrize(
    ("rule", "damage"), [("F20", lose_a_file), ("F20", cut_a_file), ("F21", lose_a_manifest)]
)
def test_what_is_damaged_is_told_by_a_deep_look_and_left_behind_by_the_remedy(
    rule: str,
    damage: Callable[[Scene], None],
    open_java: Open,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    paimon_version: str,
) -> None:
    scene = Scene(tmp_path / "made", open_java, capsys)
    scene.create()
    scene.table.write([LOST])
    assert scene.console("doctor", NAME, "--deep").code == 0
    damage(scene)
    with pytest.raises(jpype.JException):
        scene.table.rows()
    told = scene.told(rule, "main", "--deep")
    assert told is not None
    assert told["evidence"][0] == "snapshot 2"
    assert scene.console("doctor", NAME, "--deep", "--fail-on", "critical").code == 1
    scene.remedy(rule, "main", "--deep")
    assert sorted(scene.table.rows()) == ROWS
    assert scene.console("doctor", NAME).code == 0
    print(f"{rule} {damage.__name__}, Paimon {paimon_version}: {told['remedies'][0]['sql']}")


def tear_schema(scene: Scene) -> Path:
    """A schema of main that a branch began with is cut off."""
    return scene.root / "schema" / "schema-0"


def tear_snapshot(scene: Scene) -> Path:
    """The snapshot of main that a branch began at is empty: it was the newest one."""
    return scene.root / "snapshot" / "snapshot-1"


def tear_fork(scene: Scene) -> Path:
    """The only snapshot of a branch is empty."""
    return scene.root / "branch" / "branch-dev" / "snapshot" / "snapshot-1"


@pytest.mark.parametrize(
    ("place", "branch"),
    [
        pytest.param(tear_schema, "main", marks=pytest.mark.depth("full")),
        pytest.param(tear_snapshot, "main", marks=pytest.mark.depth("full")),
        pytest.param(tear_fork, "dev", marks=pytest.mark.depth("long")),
    ],
)
@pytest.mark.parametrize("keeps", [0.9, 0], ids=["cut off", "empty"])
def test_what_is_cut_off_comes_back_from_its_copy_and_java_reads_again(
    place: Callable[[Scene], Path],
    branch: str,
    keeps: float,
    open_java: Open,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    paimon_version: str,
) -> None:
    scene = Scene(tmp_path / "made", open_java, capsys)
    scene.create()
    scene.ours("create_branch", branch="dev")
    if place is tear_snapshot:
        scene.table.write([LOST])
    before = {name: scene.read(name) for name in ("main", "dev")}
    path = place(scene)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keeps)])
    torn = Scene(scene.folder, open_java, capsys)
    with pytest.raises(jpype.JException):
        torn.table.on(branch).rows(snapshot=1 if place is tear_snapshot else None)
    told = torn.told("F21", branch)
    assert told is not None
    assert told["evidence"] == [str(path)]
    torn.remedy("F21", branch)
    assert path.read_bytes() == whole
    mended = Scene(scene.folder, open_java, capsys)
    assert {name: mended.read(name) for name in ("main", "dev")} == before
    assert sorted(mended.table.rows(snapshot=1)) == ROWS
    assert mended.told("F21", branch) is None
    print(f"F21 {place.__name__}, Paimon {paimon_version}: {told['remedies'][0]['sql']}")


@pytest.mark.depth("long")
def test_java_goes_on_where_the_newest_snapshot_of_main_was_moved_out_of_the_table(
    open_java: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Scene(tmp_path / "made", open_java, capsys)
    made.create()
    made.table.write([LOST])
    snapshot = made.root / "snapshot" / "snapshot-2"
    snapshot.write_bytes(snapshot.read_bytes()[:40])
    # Java remembers what it has read, so each copy is new to it.
    torn = made.copy(tmp_path / "torn")
    with pytest.raises(jpype.JException):
        torn.table.rows()
    told = torn.told("F21", "main")
    assert told is not None
    assert told["remedies"] == []
    assert "move it and the file LATEST beside it out of the table" in told["advice"]
    snapshot.rename(tmp_path / snapshot.name)
    with_hint = made.copy(tmp_path / "with-hint")
    # The hint alone leads Java to a snapshot that is not there.
    with pytest.raises(jpype.JException):
        with_hint.table.rows()
    snapshot.with_name("LATEST").rename(tmp_path / "LATEST")
    mended = made.copy(tmp_path / "mended")
    assert sorted(mended.table.rows()) == ROWS
    assert mended.told("F21", "main", "--deep") is None
    mended.table.write([(6, "fay")])
    assert sorted(mended.table.rows()) == [*ROWS, (6, "fay")]


@pytest.mark.depth("long")
def test_f22_a_branch_that_is_gone_takes_rows_along_without_a_word(
    open_java: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str], paimon_version: str
) -> None:
    scene = Scene(tmp_path / "made", open_java, capsys)
    table = scene.java.create_table(NAME, {"id": "INT", "name": "STRING"}, partition_keys=["name"])
    table.write(ROWS)
    table.create_branch("dev")
    scene.dev.write([LOST])
    table.set_options({"scan.fallback-branch": "dev"})
    assert sorted(table.rows()) == [*ROWS, LOST]
    # By hand, or by a release that did not guard it.
    shutil.rmtree(scene.root / "branch" / "branch-dev")
    assert sorted(table.rows()) == ROWS
    told = scene.told("F22", "main")
    assert told is not None
    scene.remedy("F22", "main")
    assert scene.told("F22", "main") is None
    assert sorted(table.rows()) == ROWS
    print(f"F22, Paimon {paimon_version}: {told['remedies'][0]['sql']}")


@pytest.mark.depth("long")
def test_f10_what_only_a_dropped_branch_held_is_an_orphan_and_nothing_else(
    open_java: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(tmp_path / "made", open_java, capsys)
    scene.create()
    scene.ours("create_branch", branch="dev")
    scene.ours("create_branch", branch="other")
    scene.dev.write([(3, "cas")])
    scene.table.on("other").write([(4, "dan")])
    scene.table.drop_branch("dev")
    before = {name: scene.read(name) for name in ("main", "other")}
    for file in scene.root.rglob("*"):
        os.utime(file, (time.time() - 2 * 86_400,) * 2)
    told = scene.told("F10", "main")
    assert told is not None
    assert told["severity"] == "info"
    files = len(list(scene.root.rglob("data-*")))
    (statement,) = (each["sql"] for each in told["remedies"])
    scene.run(statement)
    scene.run(statement.replace(")", ", grace => '0 s')"))
    assert {name: scene.read(name) for name in before} == before
    assert len(list(scene.root.rglob("data-*"))) <= files
