"""A row engine without Spark, for tests of procedures that move metadata."""

from pathlib import Path

import pyarrow as pa

from core.procedures.row_engine import FILE_PROBLEMS, NoRowEngine, Progress


class LocalFiles(NoRowEngine):
    """Checks that data files on the local disk are there, and as long as is written down."""

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Name the files that are missing or cut short."""
        problems = [
            {"path": file["path"], "problem": "missing or cut short"}
            for file in files.to_pylist()
            if not Path(file["path"]).is_file() or Path(file["path"]).stat().st_size != file["size"]
        ]
        return pa.Table.from_pylist(problems, schema=FILE_PROBLEMS)
