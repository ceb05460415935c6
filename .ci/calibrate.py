"""Measures how fast the processors of this machine are beside those whose minutes CI is held to.

A fixed piece of work, half of it the interpreter and half of it C, is done on two cores at once as
the tests use them. The fastest of many rounds counts: what else runs meanwhile only makes others
slower. Only the standard library is needed, so it runs before anything is installed.
"""

import sys
import time
import zlib
from hashlib import blake2b
from multiprocessing import Pool

# Seconds of one round on the two cores (AMD EPYC, family 26, Python 3.11) on which a full run was
# given 18 minutes.
REFERENCE_SECONDS = 0.089
MINUTES = 18
_CORES = 2
_ROUNDS = 12


def round_seconds(_: int = 0) -> float:
    """Return the processor seconds of one round of the work."""
    started = time.process_time()
    rows = {f"key-{number % 5_000}": number * 7 % 1_013 for number in range(120_000)}
    total = 0
    for number in range(500_000):
        total = (total * 31 + number) & 0xFFFFFF
    lines = sorted(f"{name}:{value}" for name, value in rows.items() for _ in range(8))
    data = "\n".join(lines).encode() + total.to_bytes(4, "little")
    for level in (1, 6):
        blake2b(zlib.decompress(zlib.compress(data * 8, level))).digest()
    return time.process_time() - started


def ratio() -> float:
    """Return how many times longer than the reference the work takes here."""
    with Pool(_CORES) as pool:
        seconds = pool.map(round_seconds, range(_CORES * _ROUNDS), chunksize=1)
    return min(seconds) / REFERENCE_SECONDS


def verdict(took: int, measured: float) -> str:
    """Say whether a whole run of so many seconds stayed within the minutes of this machine."""
    bound = round(MINUTES * 60 * measured)
    said = "within" if took <= bound else f"{took - bound} s over"
    return f"all took {took} s, {said} {MINUTES} min x {measured:.2f} = {bound} s"


def main(arguments: list[str]) -> None:
    """Print the ratio, or after `--judge SECONDS RATIO` the verdict on a run."""
    match arguments:
        case []:
            print(f"{ratio():.2f}")
        case ["--judge", took, measured]:
            print(verdict(int(took), float(measured)))
        case _:
            sys.exit("usage: calibrate.py [--judge SECONDS RATIO]")


if __name__ == "__main__":
    main(sys.argv[1:])
