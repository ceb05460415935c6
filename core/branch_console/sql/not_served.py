"""Procedures of Paimon that are not served, each with the reason and the way out.

Names are those of Spark and of Flink; who calls one is told why, and not that there is none.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_MIGRATES: Final = (
    "it takes over tables of Hive or Iceberg by their metastore, which this console does not know. "
    "Migrate them with Paimon, then open the warehouse here"
)
_COPIES: Final = (
    "it copies tables to another warehouse, and this console works in one. Copy them with Paimon"
)
_FUNCTIONS: Final = (
    "functions and views live in a catalog server, and a warehouse of files has none. Write the "
    "expression into the query"
)
_INDEXES: Final = (
    "the engine that searches an index builds it, and no index is searched here. Build it with "
    "Paimon"
)
_PRIVILEGES: Final = (
    "privileges are kept by a catalog of Paimon's own. Here a login gives each person a role"
)
_SEARCHES: Final = "no index is searched here. Search with Paimon"

NOT_SERVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "remove_unexisting_manifests": (
            "the rows of a manifest that is gone would vanish without a word. Restore the "
            "manifest, or roll back to a snapshot that does not need it"
        ),
        "repair": (
            "it brings a metastore in line with the files, and a warehouse of files has none. "
            "Repair the metastore with Paimon"
        ),
        "migrate_database": _MIGRATES,
        "migrate_table": _MIGRATES,
        "migrate_file": _MIGRATES,
        "migrate_iceberg_table": _MIGRATES,
        "clone": _COPIES,
        "clone_database": _COPIES,
        "copy": _COPIES,
        "copy_files": _COPIES,
        "create_function": _FUNCTIONS,
        "alter_function": _FUNCTIONS,
        "drop_function": _FUNCTIONS,
        "alter_view_dialect": _FUNCTIONS,
        "create_global_index": _INDEXES,
        "drop_global_index": _INDEXES,
        "rewrite_file_index": _INDEXES,
        "vector_search": _SEARCHES,
        "full_text_search": _SEARCHES,
        "init_file_based_privilege": _PRIVILEGES,
        "create_privileged_user": _PRIVILEGES,
        "drop_privileged_user": _PRIVILEGES,
        "grant_privilege_to_user": _PRIVILEGES,
        "revoke_privilege_from_user": _PRIVILEGES,
        "query_service": "it starts a service in a Flink cluster. Ask by SELECT",
        "merge_into": "it is a statement here. Write MERGE INTO",
        "data_evolution_merge_into": "it is a statement here. Write MERGE INTO",
        "drop_partition": "it is a statement here. Write TRUNCATE TABLE t PARTITION (…)",
        "alter_column_default_value": (
            "values that columns get by themselves are not changed here. Change them with Paimon"
        ),
        "compact_chain_table": (
            "the rows of chain tables are not read or written here. Compact them with Paimon"
        ),
        "reassign_row_id": (
            "rows would get ids that other branches know for other rows, and merges go by ids. "
            "Merge or revert instead"
        ),
        "rescale": (
            "a merge is refused where both sides changed a partition and one of them rescaled it. "
            "Merge open branches first, then rescale the table with Paimon"
        ),
        "refresh_object_table": (
            "object tables list the files of a folder, and have no branches. Refresh them with "
            "Paimon"
        ),
    }
)
"""Why, by the name behind `CALL sys.`, to follow a colon."""
