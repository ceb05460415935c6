"""The process of the console has its pages loaded before anybody asks for one."""

import os
import subprocess
import sys
from pathlib import Path

import branch_console_app
from tests.support.source_roots import python_path

_FIRST_PAGE = """
import gc, sys
from streamlit.testing.v1 import AppTest
from branch_console_app.cli.console_process import load_pages

load_pages()
loaded = set(sys.modules)
page = AppTest.from_file(sys.argv[1], default_timeout=60).run()
assert not page.exception, page.exception
print(gc.get_freeze_count(), *sorted(set(sys.modules) - loaded))
"""
_HEAVY = ("branch_console", "dbos._client", "pandas", "plotly", "pyarrow", "sqlalchemy.orm")


def test_whoever_opens_the_first_page_waits_for_no_imports(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": python_path(),
        "BRANCH_CONSOLE_WAREHOUSE": str(tmp_path / "warehouse"),
        "BRANCH_CONSOLE_STATE_DIR": str(tmp_path / "state"),
    }
    script = Path(branch_console_app.__file__).with_name("main.py")
    run = subprocess.run(
        [sys.executable, "-c", _FIRST_PAGE, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    frozen, *imported = run.stdout.split()
    assert int(frozen) > 100_000
    assert not [name for name in imported if name.startswith(_HEAVY)]
