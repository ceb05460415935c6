"""The quality of two states compared in this process, and kept as a worker keeps it."""

from app.services import Services
from core.format.identifier import Identifier
from core.jobs.kept_profiles import KeptQuality
from core.procedures.compare_quality import quality_name
from core.procedures.compare_states import compare_states
from core.quality.comparison import QualityComparison
from core.quality.work import plan_quality
from core.spark.profile_pass import SHARED_BYTES, NothingKept, ProfilePass
from core.spark.session import WarmSession


def keep_quality(
    services: Services,
    identifier: Identifier,
    before: str,
    after: str,
    *,
    shared_bytes: int = SHARED_BYTES,
) -> QualityComparison:
    """Let a page find what the data of two states look like, as a job would have kept it."""
    warehouse = services.warehouse
    diff = compare_states(warehouse, identifier, before, after)
    made = ProfilePass(warehouse.file_io, _no_spark, NothingKept(), shared_bytes=shared_bytes)
    found = made.compare(
        warehouse.table(identifier), plan_quality(diff), finished_millis=warehouse.clock()
    )
    kept = KeptQuality(folder=services.job_settings.quality_path)
    kept.keep(quality_name(identifier, diff, reads_all=False), found)
    return found


def _no_spark() -> WarmSession:
    raise AssertionError("few rows need no Spark")
