"""How counts, sizes, times and foreign names are written: one spelling for every page.

Names come from other people's files. They are shown, never run: `code` and `plain` make them inert
in Markdown, `chart_text` in the small HTML that charts understand.
"""

import html
import re
from datetime import UTC, datetime, tzinfo
from typing import Final

MINUS: Final = "\N{MINUS SIGN}"
NOT_READ: Final = "\N{EN DASH}"
NULL: Final = "NULL"
_FULL_UP_TO: Final = 999_999
_ID_LENGTH: Final = 8
_LONGEST_LINE: Final = 400
_SHORT_UNITS: Final = ((1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"))
_BYTE_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_AGES: Final = (
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
)
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:^=&])")
_WRITTEN: Final = re.compile(
    r"(?P<fence>`+)(?P<pad> ?)(?P<name>.+?)(?P=pad)(?P=fence)(?!`)|\\(?P<escaped>.)|\*\*"
)
# A list of values, such as that of a rule, has its quotes beside brackets and commas.
_QUOTED: Final = re.compile(r"(?<!\S)'([\w.@$/*-]+)'(?=[.,:;?]?(?:\s|$))")
# An apostrophe has a letter before it.
_IN_QUOTES: Final = re.compile(r"(?<!\w)(?P<quote>['\"]).+?(?P=quote)(?!\w)")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def count(number: int | None) -> str:
    """Write a count: in full up to 999,999, then as `1.24 M`; what was not read is a dash."""
    if number is None:
        return NOT_READ
    size = abs(number)
    sign = MINUS if number < 0 else ""
    if size <= _FULL_UP_TO:
        return f"{sign}{size:,}"
    factor, unit = next(each for each in _SHORT_UNITS if size >= each[0])
    return f"{sign}{size / factor:.2f} {unit}"


def full_count(number: int | None) -> str:
    """Write a count in full, for tooltips and receipts."""
    return NOT_READ if number is None else f"{number:,}".replace("-", MINUS)


def signed(number: int | None) -> str:
    """Write a change: with its sign, 0 without one."""
    return f"+{count(number)}" if number and number > 0 else count(number)


def plural(number: int, noun: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 commit`, `12 commits`."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def size(number: int | None) -> str:
    """Write a size in IEC units: `1.5 MiB`."""
    if number is None:
        return NOT_READ
    value = float(abs(number))
    unit = 0
    while value >= 1024 and unit < len(_BYTE_UNITS) - 1:
        value /= 1024
        unit += 1
    sign = MINUS if number < 0 else ""
    digits = 0 if unit == 0 or value >= 100 else 1
    return f"{sign}{value:,.{digits}f} {_BYTE_UNITS[unit]}"


def age(millis: int | None, now_millis: int) -> str:
    """Write how long ago something was: `3 days ago`."""
    if millis is None:
        return NOT_READ
    seconds = (now_millis - millis) // 1000
    if seconds < -60:
        return "in the future"
    if seconds < 60:
        return "just now"
    length, noun = next(each for each in _AGES if seconds >= each[0])
    return f"{plural(seconds // length, noun)} ago"


def span(millis: int) -> str:
    """Write how long something lasts, in its largest unit: `8 months`."""
    return age(0, millis).removesuffix(" ago")


def moment(millis: int | None, zone: tzinfo | None = None) -> str:
    """Write a point in time with its offset, as receipts need it."""
    if millis is None:
        return NOT_READ
    try:
        at = datetime.fromtimestamp(millis / 1000, tz=zone or UTC)
    except (ValueError, OverflowError, OSError):
        # Another writer's clock may say anything; the page must not fail on it.
        return f"{millis} ms"
    offset = at.strftime("%z")
    return f"{at:%Y-%m-%d %H:%M:%S} {offset[:3]}:{offset[3:]}"


def day_and_time(millis: int, zone: tzinfo | None = None) -> str:
    """Write a point in time as people say it: `25 Nov, 21:58`."""
    at = datetime.fromtimestamp(millis / 1000, tz=zone or UTC)
    return f"{at.day} {at:%b}, {at:%H:%M}"


def date_and_time(millis: int, zone: tzinfo | None = None) -> str:
    """Write a point in time of any year: `25 Nov 2026, 21:58`."""
    try:
        at = datetime.fromtimestamp(millis / 1000, tz=zone or UTC)
    except (ValueError, OverflowError, OSError):
        return f"{millis} ms"  # as in `moment`
    return f"{at.day} {at:%b %Y}, {at:%H:%M}"


def clock(millis: int, zone: tzinfo | None = None) -> str:
    """Write the time of day."""
    return f"{datetime.fromtimestamp(millis / 1000, tz=zone or UTC):%H:%M:%S}"


def duration(millis: int | None) -> str:
    """Write how long something took: `850 ms`, `12.4 s`, `3 min 05 s`."""
    if millis is None:
        return NOT_READ
    if millis < 1_000:
        return f"{max(millis, 0)} ms"
    if millis < 60_000:
        return f"{millis / 1000:.1f} s"
    minutes, seconds = divmod(millis // 1000, 60)
    if minutes < 60:
        return f"{minutes} min {seconds:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def visible(text: str) -> str:
    """Show what cannot be seen: control characters and marks that turn the direction of text."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def code(name: str) -> str:
    """Write a foreign name as a Markdown code span; nothing in it is read as Markdown or HTML."""
    text = visible(name) or " "
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def plain(text: str) -> str:
    """Write foreign text as Markdown that shows exactly that text."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def prose(text: str) -> str:
    """Write a sentence of the library as Markdown: the names that it quotes become code spans."""
    # What lies between two names is at even places, the names at odd ones.
    parts = _QUOTED.split(text)
    return "".join(code(each) if at % 2 else plain(each) for at, each in enumerate(parts))


def bare(text: str) -> str:
    """Return what Markdown of `code` and `plain` says, for terminals and documents."""
    return _WRITTEN.sub(lambda found: found["name"] or found["escaped"] or "", text)


def chart_text(text: str) -> str:
    """Write foreign text for labels of charts, which understand a little HTML."""
    return html.escape(visible(text), quote=False)


def short_id(operation_id: str) -> str:
    """Cut the id of an operation, which is also the id of its job, as pages show it."""
    return operation_id[:_ID_LENGTH]


def shortened(text: str, length: int) -> str:
    """Cut a long text in its middle: both ends of a name tell more than its start."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[: length - 1 - head]}…{text[len(text) - head :]}"


def cut_at_word(text: str, length: int) -> str:
    """Cut a long sentence at its end, behind a whole word: its start says what it is about.

    A name in quotes stays whole or goes whole, unless the sentence begins with it. Where there is
    no place for a letter, the ellipsis is left.
    """
    text = text.strip()
    if len(text) <= length:
        return text
    if length <= 2:
        return "…"
    end = len(text[: length - 2].rsplit(maxsplit=1)[0])
    quoted = (each.span() for each in _IN_QUOTES.finditer(text))
    end = next((first for first, last in quoted if 0 < first < end < last), end)
    return f"{text[:end].rstrip()} …"


def one_line(text: str) -> str:
    """Write a text of several lines, such as the comment of a table, as one that is not endless."""
    return cut_at_word(" ".join(text.split()), _LONGEST_LINE)


def listed(names: list[str], most: int = 3) -> str:
    """Write names as a sentence part: `a, b and 4 more`."""
    if len(names) <= most:
        return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return f"{', '.join(names[:most])} and {len(names) - most} more"
