import pytest

from branch_console.format.options import Options
from branch_console.format.other_catalog import CatalogKind, find_catalog_sign

_HIVE = CatalogKind.HIVE


@pytest.mark.parametrize(
    ("options", "sign"),
    [
        ({}, None),
        ({"bucket": "2", "metastore": "filesystem"}, None),
        ({"metastore.partitioned-table": "false", "external": "no"}, None),
        ({"metastore.tag-to-partition": " "}, None),
        ({"metastore": "JDBC"}, ("metastore", CatalogKind.JDBC)),
        ({"metastore": "hive"}, ("metastore", _HIVE)),
        ({"metastore.partitioned-table": "TRUE"}, ("metastore.partitioned-table", _HIVE)),
        ({"metastore.tag-to-partition": "dt"}, ("metastore.tag-to-partition", _HIVE)),
        ({"EXTERNAL": "TRUE"}, ("EXTERNAL", _HIVE)),
        ({"hive.owner": "ann"}, ("hive.owner", _HIVE)),
    ],
)
def test_an_option_that_only_another_catalog_reads_tells_of_it(
    options: dict[str, str], sign: tuple[str, CatalogKind] | None
) -> None:
    assert find_catalog_sign(Options(options)) == sign
