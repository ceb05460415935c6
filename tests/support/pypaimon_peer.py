"""pypaimon, the Python implementation of Paimon, in a process and an environment of its own."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.requirements import need_pypaimon

_ROOT = Path(__file__).resolve().parents[2]


class PypaimonError(Exception):
    """What pypaimon raised."""


class Pypaimon:
    """A warehouse, opened by pypaimon; a context manager that ends its process."""

    def __init__(self, warehouse: Path) -> None:
        self._process = subprocess.Popen(
            [str(need_pypaimon()), "-m", "tests.support.pypaimon_child", str(warehouse)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> "Pypaimon":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def rows(
        self, table: str, *, snapshot: int | None = None, tag: str | None = None
    ) -> list[list[Any]]:
        """The rows of `db.t` or `db.t$branch_b`, in the plain form of `tests.support.golden`."""
        options = {}
        if snapshot is not None:
            options["scan.snapshot-id"] = str(snapshot)
        if tag is not None:
            options["scan.tag-name"] = tag
        found: list[list[Any]] = self._ask("rows", table=table, options=options)
        return found

    def create_table(
        self,
        table: str,
        fields: Mapping[str, str],
        *,
        partition_keys: Sequence[str] = (),
        primary_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Make a table of INT, BIGINT and STRING columns."""
        self._ask(
            "create_table",
            table=table,
            fields=dict(fields),
            partition_keys=list(partition_keys),
            primary_keys=list(primary_keys),
            options=dict(options or {}),
            # Without one it writes a null, which Java reads as the text "null".
            comment="Made by pypaimon",
        )

    def write(self, table: str, fields: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """Commit rows as one batch."""
        self._ask("write", table=table, fields=dict(fields), rows=[list(row) for row in rows])

    def create_tag(self, table: str, tag: str) -> None:
        """Tag the head."""
        self._ask("create_tag", table=table, tag=tag)

    def create_branch(self, table: str, branch: str, tag: str | None = None) -> None:
        """Make a branch from a tag, or an empty one."""
        self._ask("create_branch", table=table, branch=branch, tag=tag)

    def branches(self, table: str) -> list[str]:
        """All branches but main."""
        found: list[str] = self._ask("branches", table=table)
        return found

    def _ask(self, request: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": request, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PypaimonError(f"pypaimon ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PypaimonError(answer["error"])
        return answer["answer"]
