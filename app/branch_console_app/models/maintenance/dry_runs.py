"""A dry run in words: what would go, what stays, and what is typed before it runs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.diff.expiry.dry_run import CleaningDryRun, ExpiryDryRun
from branch_console.diff.expiry.storage_cost import FileAmount
from branch_console.operations.argument import Argument
from branch_console.procedures.call.consequence import Preview
from branch_console_app.models.parts.wording import code, full_count, plural, shortened, size

_SHOWN_LETTERS: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DryRun:
    """The plan of a command that removes something.

    Attributes:
        preview: The consequences, with the id of the plan that a run keeps to.
        lines: The plan line by line.
    """

    preview: Preview
    lines: ExpiryDryRun | CleaningDryRun

    @property
    def words(self) -> "DryRunWords":
        """The dry run in words."""
        if isinstance(self.lines, ExpiryDryRun):
            return words_of_expiry(self.lines)
        return words_of_cleaning(self.lines)

    def to_object(self, table: str) -> dict[str, object]:
        """Return the plan as JSON values; `table` is the name of the table."""
        return self.lines.to_object(self.preview.plan_id, table, self.preview.holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunWords:
    """The text of a dry run and of its button.

    Attributes:
        headline: The objects that would be removed, as Markdown.
        more: Sentences about objects that stay, with the reasons.
        typed: The amount that a person types before it runs; None if nothing is removed.
        label: The label of the button.
    """

    headline: str
    more: tuple[str, ...]
    typed: str | None
    label: str


def words_of_expiry(dry_run: ExpiryDryRun) -> DryRunWords:
    """Say what an expiry would do."""
    going = [each for each in dry_run.due if each.goes]
    held = len(dry_run.due) - len(going)
    more = []
    if held:
        more.append(
            f"{plural(held, 'snapshot')} {_are(held)} due but {_stay(held)}: something still "
            f"needs {'it' if held == 1 else 'them'}."
        )
    if dry_run.earlier:
        operations = plural(len(dry_run.earlier), "earlier operation")
        more.append(f"Undo would no longer bring back what {operations} took.")
    if dry_run.kept_count:
        more.append(f"{plural(dry_run.kept_count, 'snapshot')} {_are(dry_run.kept_count)} not due.")
    if going:
        branches = len({each.branch for each in going})
        headline = (
            f"**{plural(len(going), 'snapshot')} of {plural(branches, 'branch', 'branches')} would "
            f"expire.** {_freed(dry_run)}"
        )
        noun = plural(len(going), "snapshot")
        return DryRunWords(
            headline=headline,
            more=tuple(more),
            typed=str(len(going)),
            label=f"Expire {noun}",
        )
    if dry_run.earlier:
        count = dry_run.released.file_count
        return DryRunWords(
            headline=f"**{amount_words(dry_run.released)} of earlier operations would be "
            "removed.** No snapshot is due.",
            more=tuple(more),
            typed=str(count),
            label=f"Remove {plural(count, 'file')}",
        )
    return DryRunWords(
        headline="**No snapshot is due by these limits.** Nothing would change.",
        more=tuple(more),
        typed=None,
        label="Expire",
    )


def words_of_cleaning(dry_run: CleaningDryRun) -> DryRunWords:
    """Say what a cleaning of orphan files would do."""
    fresh, earlier = dry_run.orphans.num_rows, dry_run.earlier.num_rows
    count = fresh + earlier
    more = []
    if fresh and dry_run.grace_millis:
        minutes = plural(dry_run.grace_millis // 60_000, "minute")
        more.append(
            f"{plural(fresh, 'file')} {_are(fresh)} noted now, and removed by the first cleaning "
            f"after {minutes}."
        )
    if earlier:
        more.append(f"{plural(earlier, 'file')} that earlier cleanings noted would be removed now.")
    if dry_run.unknown:
        unknown = len(dry_run.unknown)
        more.append(
            f"{plural(unknown, 'file')} {_stay(unknown)}: nothing names "
            f"{'it' if unknown == 1 else 'them'} either, but Paimon gives no file such a name."
        )
    if not count:
        return DryRunWords(
            headline="**No file is an orphan.** All that is old enough is named.",
            more=tuple(more),
            typed=None,
            label="Remove orphan files",
        )
    total = _total(dry_run)
    return DryRunWords(
        headline=f"**{amount_words(total)} {_are(count)} named by no snapshot, tag or changelog of "
        "any branch.**",
        more=tuple(more),
        typed=str(count),
        label=f"Remove {plural(count, 'orphan file')}",
    )


def amount_words(amount: FileAmount) -> str:
    """Write some files as how many there are, and their bytes."""
    return f"{plural(amount.file_count, 'file')} with {size(amount.byte_count)}"


def amount_help(amount: FileAmount) -> str:
    """Write some files in full."""
    return f"{full_count(amount.byte_count)} bytes in {full_count(amount.file_count)} files"


def choice_digest(procedure: str, arguments: Mapping[str, Argument]) -> str:
    """Return what tells a filled-in form from another one, short enough for an address."""
    asked = repr((procedure, sorted(arguments.items(), key=str)))
    return hashlib.sha256(asked.encode()).hexdigest()[:8]


def _freed(dry_run: ExpiryDryRun) -> str:
    if not dry_run.released.file_count:
        return "No file is freed: other snapshots, tags or branches still need all of them."
    freed = amount_words(dry_run.released)
    if not dry_run.grace_millis:
        return f"{freed} would be removed at once."
    minutes = plural(dry_run.grace_millis // 60_000, "minute")
    return f"{freed} would be freed {minutes} later, by the next expiry."


def _total(dry_run: CleaningDryRun) -> FileAmount:
    parts = (dry_run.orphans, dry_run.earlier)
    return FileAmount(
        file_count=sum(each.num_rows for each in parts),
        byte_count=sum(sum(each["file_size"].to_pylist()) for each in parts),
    )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _stay(number: int) -> str:
    return "stays" if number == 1 else "stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanLine:
    """A file that nothing names.

    Attributes:
        shown: Its path within the table, cut in the middle where it is long.
        fate: When it goes, as a badge.
        help: Its whole path as Markdown, where that is cut.
    """

    path: str
    shown: str
    byte_count: int
    fate: str
    help: str | None


def orphan_lines(dry_run: CleaningDryRun, folder: str) -> tuple[OrphanLine, ...]:
    """Return the files of a dry run, those first that go now.

    Args:
        dry_run: The result of the dry run.
        folder: The folder of the table.
    """
    is_now = not dry_run.grace_millis
    parts = ((dry_run.earlier, True), (dry_run.orphans, is_now))
    return tuple(
        OrphanLine(
            path=row["path"],
            shown=(shown := shortened(row["path"].removeprefix(f"{folder}/"), _SHOWN_LETTERS)),
            byte_count=row["file_size"],
            help=None if row["path"].endswith(shown) else code(row["path"]),
            fate=":red-badge[\N{MINUS SIGN} be removed]"
            if goes_now
            else ":orange-badge[… be noted]",
        )
        for files, goes_now in parts
        for row in files.select(["path", "file_size"]).to_pylist()
    )
