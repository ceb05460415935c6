"""Rounds of ours and the peers side by side, and what can be said of them afterwards."""

import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

OURS = "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One contestant in one round: a process of its own.

    Attributes:
        cold: Seconds of the first call, after imports and opening the catalog.
        warm: Seconds of each later call in the same process.
        peak_rss_bytes: The most memory the process ever held.
        process: Seconds from start to end, imports included.
        answer: What it found, to be compared.
    """

    contestant: str
    cold: float
    warm: tuple[float, ...]
    peak_rss_bytes: int
    process: float
    answer: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """Somebody who does the work in a process: its command, given a folder and a scratch folder.

    Attributes:
        max_rounds: In how many rounds it takes part; the report says how often each did.
        bound_seconds: How long one turn may take before the benchmark gives up.
    """

    name: str
    command: Callable[[Path], Sequence[str]]
    max_rounds: int | None = None
    bound_seconds: float = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure that must be reached."""

    text: str
    value: float | None
    is_met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All samples of one case, with targets and wrong answers."""

    benchmark: str
    case: Mapping[str, int | str]
    samples: tuple[Sample, ...]
    targets: tuple[Target, ...] = ()
    wrong: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)

    def of(self, contestant: str) -> list[Sample]:
        """The samples of one contestant, in order."""
        return [sample for sample in self.samples if sample.contestant == contestant]

    @property
    def contestants(self) -> list[str]:
        """All that took part, ours first."""
        return list(dict.fromkeys([OURS, *(sample.contestant for sample in self.samples)]))

    def cold(self, contestant: str) -> list[float]:
        """Seconds of each first call."""
        return [sample.cold for sample in self.of(contestant)]

    def warm(self, contestant: str) -> list[float]:
        """The median of the later calls of each round."""
        return [statistics.median(sample.warm) for sample in self.of(contestant) if sample.warm]

    def ratios(self, peer: str, kind: str) -> list[float]:
        """Peer by ours, round by round: above 1 we are faster."""
        ours, theirs = getattr(self, kind)(OURS), getattr(self, kind)(peer)
        return [other / own for own, other in zip(ours, theirs, strict=False) if own > 0]


def hold(
    contestants: Sequence[Contestant],
    folder: Path,
    rounds: int,
    expected: Mapping[str, int],
    *,
    rehearsed: bool = False,
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Let each take its turn, round by round, another one first each time.

    Args:
        contestants: Who takes part.
        folder: What they work on.
        rounds: How often.
        expected: What each has to find.
        rehearsed: Whether a turn is taken twice, of which the second one counts. Some machines drop
            a program and its files from memory within seconds; to load them again is the disk's
            time. Who takes part in a few rounds only, because a turn takes so long, does not
            rehearse.

    Returns:
        The samples, and a sentence for each answer that is not `expected`.
    """
    samples: list[Sample] = []
    wrong: list[str] = []
    for number in range(rounds):
        turn = number % len(contestants)
        for each in (*contestants[turn:], *contestants[:turn]):
            if each.max_rounds is not None and number >= each.max_rounds:
                continue
            if rehearsed and each.max_rounds is None:
                _run(each, folder)
            sample = _run(each, folder)
            samples.append(sample)
            shared = {key: value for key, value in expected.items() if key in sample.answer}
            if not shared or any(sample.answer[key] != value for key, value in shared.items()):
                wrong.append(f"{each.name} found {dict(sample.answer)}, expected {dict(expected)}")
    return tuple(samples), tuple(wrong)


def new_folder(place: Path) -> Path:
    """A folder of its own for a case, so that none of an earlier one has to go.

    Nothing that is written is removed before the last turn: for minutes after many files went, ext4
    looks for a place for each new one past theirs, and makes a file in 0.7 ms instead of 0.02.
    """
    return Path(tempfile.mkdtemp(dir=place))


def _run(contestant: Contestant, folder: Path) -> Sample:
    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    started = time.perf_counter()
    run = subprocess.run(
        contestant.command(folder),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        # What it leaves there goes with the folder, see `new_folder`.
        env={**os.environ, "TMPDIR": str(scratch)},
        timeout=contestant.bound_seconds,
        check=False,
    )
    process = time.perf_counter() - started
    if run.returncode:
        raise RuntimeError(f"{contestant.name} failed:\n{run.stderr[-3000:]}")
    said = json.loads(run.stdout.splitlines()[-1])
    return Sample(
        contestant=contestant.name,
        cold=said["cold"],
        warm=tuple(said["warm"]),
        peak_rss_bytes=said["peak_rss_kib"] * 1024,
        process=process,
        answer=said["answer"],
    )


def p95(values: Iterable[float]) -> float:
    """The value that one in twenty exceeds; of few values the greatest."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]


def at_most(text: str, value: float | None, limit: float) -> Target:
    """A figure that may not be greater; without a value it was not measured."""
    return Target(text=text, value=value, is_met=None if value is None else value <= limit)


def at_least(text: str, value: float | None, limit: float) -> Target:
    """A figure that may not be smaller; without a value it was not measured."""
    return Target(text=text, value=value, is_met=None if value is None else value >= limit)


def describe_machine(folder: Path) -> dict[str, Any]:
    """What the figures depend on: machine, versions, and how fast it does simple things there."""
    return {
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "per_second": calibrate(new_folder(folder)),
    }


def calibrate(folder: Path, count: int = 300) -> dict[str, int]:
    """How many files a second are created, synced, linked and renamed, and steps of a loop."""
    rates = {
        "create": _rate(count, lambda n: (folder / f"c{n}").write_bytes(b"x" * 900)),
        "fsync": _rate(count // 10, lambda n: _sync(folder / f"c{n}")),
        "link": _rate(count, lambda n: (folder / f"l{n}").hardlink_to(folder / f"c{n}")),
        "rename": _rate(count, lambda n: (folder / f"l{n}").rename(folder / f"r{n}")),
    }
    started = time.perf_counter()
    sum(range(2_000_000))
    return {**rates, "loop": round(2_000_000 / (time.perf_counter() - started))}


def _rate(count: int, call: Callable[[int], object]) -> int:
    started = time.perf_counter()
    for number in range(count):
        call(number)
    return round(count / (time.perf_counter() - started))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


HEADING = (
    f"{'case':<40}{'who':<14}{'n':>3}{'cold s':>9}{'p95':>8}{'warm s':>9}{'RSS MB':>8}"
    f"{'cold x':>9}{'(spread)':>15}{'warm x':>10}"
)


def report(result: Result) -> str:
    """A result as text: one line a contestant, then the targets."""
    lines = []
    case = " ".join(
        f"{value:,} {key}" if isinstance(value, int) else value
        for key, value in result.case.items()
    )
    for name in result.contestants:
        lines.append(f"{case:<40}{name:<14}{_figures(result, name)}")
        case = ""
    lines += [f"{'':<40}{name:<14} absent: {why}" for name, why in result.absent.items()]
    lines += [f"  {_verdict(target)}  {target.text}" for target in result.targets]
    lines += [f"  WRONG  {text}" for text in result.wrong]
    return "\n".join(lines)


def _figures(result: Result, name: str) -> str:
    samples, cold, warm = result.of(name), result.cold(name), result.warm(name)
    rss = max(sample.peak_rss_bytes for sample in samples) / 1e6
    text = f"{len(samples):>3}{statistics.median(cold):>9.3f}{p95(cold):>8.3f}"
    text += f"{statistics.median(warm):>9.3f}" if warm else f"{'-':>9}"
    text += f"{rss:>8.0f}"
    if name == OURS:
        return text
    ratios, warm_ratios = result.ratios(name, "cold"), result.ratios(name, "warm")
    spread = f"({min(ratios):.1f}-{max(ratios):.1f})"
    text += f"{statistics.median(ratios):>9.1f}{spread:>15}"
    return text + (f"{statistics.median(warm_ratios):>10.1f}" if warm_ratios else "")


def _verdict(target: Target) -> str:
    if target.is_met is None:
        return "not measured"
    value = f"{target.value:.3g}"
    return f"{'met   ' if target.is_met else 'MISSED'} {value:>8}"


def to_json(results: Sequence[Result], **more: object) -> str:
    """All samples and targets, for later comparison."""
    return json.dumps({**more, "results": [asdict(result) for result in results]}, indent=1)
