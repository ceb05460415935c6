"""The quality of two states compared in this process, and kept as a worker keeps it."""

from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_profiles import KeptQuality
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.compare.quality import quality_name, with_base, with_result
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.merge.trial_merge import trial_merge
from branch_console.quality.comparison import QualityComparison
from branch_console.quality.work import plan_quality
from branch_console.spark.compare.profile_pass import SHARED_BYTES, NothingKept, ProfilePass
from branch_console.spark.session.session import WarmSession
from branch_console_app.services import Services


def keep_quality(
    services: Services,
    identifier: Identifier,
    before: str,
    after: str,
    *,
    shared_bytes: int = SHARED_BYTES,
    merges: bool = False,
) -> QualityComparison:
    """Let a page find what the data of two states look like, as a job would have kept it.

    What merging the second into the first would leave is looked at where no row must be settled.
    """
    warehouse = services.warehouse
    diff = compare_states(warehouse, identifier, before, after)
    made = ProfilePass(warehouse.file_io, _no_spark, NothingKept(), shared_bytes=shared_bytes)
    table, now = warehouse.table(identifier), warehouse.clock()
    planned = with_base(plan_quality(diff), table)
    if merges:
        call = services.call("compare_quality", {"table": identifier.table_name})
        with trial_merge(warehouse, NoRowEngine(), call, diff, lambda *_: None) as result:
            work = with_result(planned, result)
            found = made.compare(table, work, merged=result.state, finished_millis=now)
    else:
        found = made.compare(table, planned, finished_millis=now)
    kept = KeptQuality(folder=services.job_settings.quality_path)
    kept.keep(quality_name(identifier, diff, reads_all=False, merges=merges), found)
    return found


def _no_spark() -> WarmSession:
    raise AssertionError("few rows need no Spark")
