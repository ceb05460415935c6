"""The same tests with the newest Paimon, in processes of their own: a JVM holds one version."""

import subprocess
import sys

import pytest

from tests.interop.shards import SHARDS, files_of
from tests.support.warehouses import VERSIONS

_BOUND_SECONDS = 1800
# Without the end of a JVM in it, which may crash when all tests have passed.
_RUN = "import os, sys, pytest; end = pytest.main(sys.argv[1:]); sys.stdout.flush(); os._exit(end)"


@pytest.mark.depth("full")
@pytest.mark.timeout(_BOUND_SECONDS)
@pytest.mark.parametrize(
    "shard",
    [pytest.param(name, marks=pytest.mark.xdist_group(f"newest java, {name}")) for name in SHARDS],
)
def test_all_of_it_holds_with_the_newest_paimon_too(
    shard: str, paimon_version: str, pytestconfig: pytest.Config
) -> None:
    if paimon_version == VERSIONS[-1]:
        pytest.skip("this is the run with the newest Paimon")
    run = subprocess.run(
        [
            *(sys.executable, "-c", _RUN, "-n", "0", "-p", "no:cacheprovider"),
            *map(str, files_of(shard)),
            *("--paimon", VERSIONS[-1]),
            *("--seed", str(pytestconfig.getoption("--seed"))),
            *("--depth", pytestconfig.getoption("--depth")),
        ],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        end = f"It ended with {run.returncode}.\n{run.stderr[-2000:]}"
        pytest.fail(run.stdout[-20_000:] + end, pytrace=False)
