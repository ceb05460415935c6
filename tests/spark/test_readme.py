"""The Python of the README runs as it stands there."""

import re
from pathlib import Path

import pytest

from branch_console.spark.session.session import WarmSession

README = Path(__file__).parents[2] / "README.md"


def test_the_notebook_examples_run(
    session: WarmSession, demo_warehouse: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        # Spark asks the data source in a process that stands where Spark was started.
        code = snippet.replace("./warehouse", str(demo_warehouse))
        exec(compile(code, str(README), "exec"), {"spark": session.spark})
        assert "|carrier|" in capfd.readouterr().out
