"""Overview: tables, what needs attention, filters, and an empty warehouse."""

from pathlib import Path

from branch_console.errors import StorageError
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import PretendServices


def test_it_lists_every_table_with_its_figures(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    labels = [label for label, _ in page.links()]
    assert ":gray[air.]flights" in labels
    assert "88,000" in page.text
    assert "Tables 5" in page.text


def test_a_broken_table_is_named_with_its_file_and_spoils_no_other(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    assert "/warehouse/air.db/weather/schema/schema-0" in page.text
    assert "`half-made`" in page.text
    assert ":gray[sea.]empty" in [label for label, _ in page.links()]


def test_names_are_text(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    assert ":gray[air.]\\<b\\>bold\\</b\\>" in [label for label, _ in page.links()]
    assert not any(element.allow_html for element in page.at.markdown)


def test_the_filter_of_the_address_is_kept(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_q="carr")
    labels = [label for label, _ in page.links()]
    assert ":gray[air.]carriers" in labels
    assert ":gray[air.]flights" not in labels


def test_a_filter_that_finds_nothing_says_so(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_q="zzz")
    assert "None of 5 tables is like that." in page.text


def test_only_what_needs_attention_can_be_listed(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_state="broken")
    labels = [label for label, _ in page.links()]
    assert ":gray[air.]weather" in labels
    assert ":gray[air.]flights" not in labels


def test_an_empty_warehouse_says_how_to_fill_it(tmp_path: Path) -> None:
    page = Console(PretendServices(settings(tmp_path))).open()
    assert "No tables under" in page.text
    assert "branch-console demo" in page.text


def test_another_warehouse_in_the_address_is_not_this_one(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(wh="other-123456")
    assert "**Warehouse `other-123456` was not found.**" in page.text
    assert "No name is close. Those that there are:" in page.text
    (query,) = (query for label, query in page.links() if label.startswith("`warehouse-"))
    assert not air_console(tmp_path).open(wh=query.removeprefix("wh=")).at.error
    assert not page.at.metric


def test_a_warehouse_that_does_not_answer_is_a_card(tmp_path: Path) -> None:
    services = PretendServices(settings(tmp_path))
    services.unreachable = StorageError("s3://lake did not answer in 30 s.")
    page = Console(services).open()
    assert "**This page cannot be shown.**" in page.text
    assert "`STORE_UNREACHABLE`" in page.text


def test_the_role_is_told(tmp_path: Path) -> None:
    page = air_console(tmp_path, role="viewer").open()
    assert "everyone here has the role viewer" in page.text
