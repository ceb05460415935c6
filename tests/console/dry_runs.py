"""What the page Maintenance is told of a warehouse in memory: something to expire and to clean."""

import pyarrow as pa

from branch_console.diff.expiry.dry_run import CleaningDryRun, DueSnapshot, ExpiryDryRun
from branch_console.diff.expiry.retention import HoldKind, SnapshotHold
from branch_console.diff.expiry.storage_cost import FileAmount
from branch_console.procedures.call.consequence import loses
from branch_console.procedures.call.permissions import Role
from branch_console_app.models.maintenance.dry_runs import DryRun
from tests.console.pretend import PretendServices, preview

ETL = SnapshotHold(kind=HoldKind.CONSUMER, owner="etl", since_id=3)


def with_dry_runs(services: PretendServices) -> PretendServices:
    """The pretended warehouse, with something to expire and something to clean."""
    main = services.listed[1].branches["main"].snapshots
    told = loses("Snapshots 1 to 2 of 'main' expire.")
    services.dry_runs = {
        "expire_snapshots": DryRun(
            preview=preview("expire_snapshots", told, role=Role.OPERATOR),
            lines=ExpiryDryRun(
                due=(
                    DueSnapshot(branch="main", snapshot=main[0]),
                    DueSnapshot(branch="main", snapshot=main[1]),
                    DueSnapshot(branch="main", snapshot=main[2], holds=(ETL,)),
                ),
                kept_count=9,
                released=FileAmount(file_count=4, byte_count=4_000),
                earlier=(),
                grace_millis=600_000,
            ),
        ),
        "remove_orphan_files": DryRun(
            preview=preview("remove_orphan_files", loses("3 files go."), role=Role.OPERATOR),
            lines=CleaningDryRun(
                orphans=files(3),
                earlier=files(0),
                unknown=("/warehouse/air.db/flights/manifest/notes.txt",),
                grace_millis=600_000,
            ),
        ),
    }
    return services


def files(count: int) -> pa.Table:
    folder = "/warehouse/air.db/flights/bucket-0"
    return pa.table(
        {
            "path": pa.array(
                [f"{folder}/data-{each}.parquet" for each in range(count)], pa.string()
            ),
            "file_size": pa.array([1024] * count, pa.int64()),
        }
    )
