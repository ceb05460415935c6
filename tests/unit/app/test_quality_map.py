"""The map of drift by partition and column: what is drawn, and what is left out and named."""

from branch_console.quality.drift import Measure, Rating
from branch_console.quality.drift_map import Base, DriftCell, DriftMap, PartitionDrift
from branch_console_app.charts.quality_map import quality_map_figure
from branch_console_app.models.compare.quality_map import quality_map


def cell(column: str, severity: float) -> DriftCell:
    rating = Rating.ALARM if severity > 1 else Rating.CALM
    return DriftCell(
        column=column, rating=rating, severity=severity, measure=Measure.PSI, value=severity / 5
    )


def partition(name: str, *cells: DriftCell) -> PartitionDrift:
    return PartitionDrift(partition=name, rows=(900, 400), base=Base.PARTITION, cells=cells)


def test_the_worst_columns_are_drawn_and_the_others_counted() -> None:
    found = DriftMap(
        partitions=(
            partition("dt=<b>2</b>", *(cell(f"c{at}", at / 10) for at in range(25))),
            partition("dt=1", cell("c1", 2.0), cell("c24", 0.0)),
            partition("dt=0"),
        ),
        left_out=7,
    )
    drift = quality_map(found)
    assert drift is not None
    assert drift.partitions == ("dt=<b>2</b>", "dt=1")
    assert drift.columns[:2] == ("c24", "c23")
    assert len(drift.columns) == 20
    assert drift.left_out == (
        "1 partition with too few rows to rate",
        "7 partitions in which fewer rows differ",
        "5 columns that drifted less",
    )
    assert "Most in dt=<b>2</b>, c24: alarm, PSI 0.480" in drift.alt
    assert drift.find("dt=1", "c24") is not None
    assert drift.find("dt=1", "c23") is None
    selected = drift.find("dt=1", "c1")
    figure = quality_map_figure(drift, selected=selected, uirevision="x")
    marks = [
        (carried[0], carried[1], sign, width)
        for trace in figure.data
        for carried, sign, width in zip(
            trace.customdata, trace.text, trace.marker.line.width, strict=True
        )
    ]
    assert len(marks) == 22
    assert ("dt=1", "c1", "!", 3) in marks
    assert ("dt=1", "c24", "", 0) in marks
    assert "<b>" not in "".join(figure.layout.yaxis.ticktext)


def test_without_a_rated_column_there_is_no_map() -> None:
    assert quality_map(None) is None
    assert quality_map(DriftMap(partitions=(partition("dt=0"),), left_out=0)) is None
