"""The quality of two sides as one HTML file: all of it is there, and nothing in it runs."""

from dataclasses import replace
from html.parser import HTMLParser

from branch_console.quality.comparison import QualityComparison, Scope
from branch_console.quality.drift import Measure, Rating
from branch_console.quality.drift_map import Base, DriftCell, DriftMap, PartitionDrift
from branch_console_app.models.compare.quality_report import quality_report
from tests.unit.app.test_compare_quality import compared

EVIL = "<script>alert(1)</script><img src=x onerror='a()'>&amp;\u202e"


class Reading(HTMLParser):
    """Tags, and what people read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [
            name for name, _ in attrs if name.startswith("on") or name in ("src", "href")
        ]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def report() -> QualityComparison:
    steady = [EVIL, "b"] * 200
    moved = compared(steady, [EVIL] * 400, "STRING")
    whole = replace(moved, columns=tuple(replace(each, name=EVIL) for each in moved.columns))
    cell = DriftCell(column=EVIL, rating=Rating.ALARM, severity=2.0, measure=Measure.PSI, value=0.4)
    partition = PartitionDrift(partition=EVIL, rows=(400, 400), base=Base.OWN, cells=(cell,))
    return QualityComparison(
        before=f"main@1:{EVIL}",
        after="dev@2",
        scopes=(whole, replace(whole, scope=Scope.MERGED)),
        units_read=2,
        units_known=1,
        bytes_read=1_024,
        notes=(f"Column {EVIL!r} is not compared.",),
        finished_millis=0,
        open_conflicts=3,
        drift_map=DriftMap(partitions=(partition,), left_out=4),
    )


def test_all_of_a_comparison_stands_in_the_file_and_nothing_runs() -> None:
    text = quality_report(f"db.{EVIL}", report())
    seen = Reading(text)
    assert not seen.tags & {"script", "img", "link", "iframe"}
    assert seen.links == []
    assert "default-src 'none'" in text
    words = "\n".join(seen.words)
    shown = "<script>alert(1)</script><img src=x onerror='a()'>&amp;\\u202e"
    assert shown in words
    assert "\u202e" not in text
    for wanted in (
        f"whole sides: {shown} is beyond the alarm threshold",
        f"merged result: {shown} is beyond the alarm threshold",
        "3 conflicts not settled yet: the values of A are measured for them.",
        "! alarm",
        "Difference (Merged \N{MINUS SIGN} A)",
        "A 50.00 %, B 100.00 %",
        "A 50.00 %, Merged 100.00 %",
        "Left out: 4 partitions in which fewer rows differ.",
        "2 units read",
    ):
        assert wanted in words, wanted
