"""Counts, sizes, times and foreign names, as every page writes them."""

from datetime import timedelta, timezone

import pytest

from branch_console_app.models.parts import wording

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "\N{EN DASH}"),
        (0, "0"),
        (-1200, f"{MINUS}1,200"),
        (999_999, "999,999"),
        (1_240_000, "1.24 M"),
        (-3_000_000_000, f"{MINUS}3.00 G"),
    ],
)
def test_counts_are_full_up_to_a_million(number: int | None, text: str) -> None:
    assert wording.count(number) == text


def test_changes_carry_their_sign() -> None:
    assert [wording.signed(each) for each in (3, -12, 0, None)] == [
        "+3",
        f"{MINUS}12",
        "0",
        "\N{EN DASH}",
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (5 * 2**30, "5.0 GiB"), (None, "–")],  # noqa: RUF001
)
def test_sizes_are_in_iec_units(number: int | None, text: str) -> None:
    assert wording.size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "just now"), (60, "1 minute ago"), (7_200, "2 hours ago"), (86_400 * 3, "3 days ago"),
     (86_400 * 400, "1 year ago"), (-600, "in the future")],
)  # fmt: skip
def test_ages_are_told_from_a_given_time(seconds: int, text: str) -> None:
    assert wording.age(1_000_000_000_000 - seconds * 1000, 1_000_000_000_000) == text


def test_moments_carry_their_offset_and_odd_clocks_do_no_harm() -> None:
    zone = timezone(timedelta(hours=2))
    assert wording.moment(0, zone) == "1970-01-01 02:00:00 +02:00"
    assert wording.moment(2**62) == f"{2**62} ms"


@pytest.mark.parametrize(
    ("millis", "text"),
    [(850, "850 ms"), (12_400, "12.4 s"), (185_000, "3 min 05 s"), (7_260_000, "2 h 01 min")],
)
def test_durations(millis: int, text: str) -> None:
    assert wording.duration(millis) == text


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("dev", "`dev`"),
        ("a`b", "`` a`b ``"),
        ("``", "``` `` ```"),
        ("<script>", "`<script>`"),
        ("", "` `"),
        ("a\nb", "`a\\u000ab`"),
        ("a\u202eb", "`a\\u202eb`"),
    ],
)
def test_foreign_names_are_code_that_nothing_breaks_out_of(name: str, span: str) -> None:
    assert wording.code(name) == span


def test_foreign_text_is_shown_as_it_is_in_markdown() -> None:
    assert wording.plain("[x](y) :red[a] $b$ *c*") == (
        "\\[x\\]\\(y\\) \\:red\\[a\\] \\$b\\$ \\*c\\*"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Branch 'dev' of air.planes has no schema.",
            "Branch `dev` of air\\.planes has no schema\\.",
        ),
        ("'main' gets 'a*b'", "`main` gets `a*b`"),
        ("The target's head and the readers' files", "The target's head and the readers' files"),
        ("a row whose name is 'O'Neil'", "a row whose name is 'O'Neil'"),
        ("'two words' stay", "'two words' stay"),
        ("from 'air.t$branch_dev', 'main' stays", "from `air.t$branch_dev`, `main` stays"),
        ("one of ('AA','UA', '')", "one of \\('AA','UA', ''\\)"),
    ],
)
def test_names_that_a_sentence_quotes_are_code(text: str, shown: str) -> None:
    assert wording.prose(text) == shown


def test_foreign_text_in_charts_is_no_html() -> None:
    assert wording.chart_text("<b>x</b>&") == "&lt;b&gt;x&lt;/b&gt;&amp;"


def test_long_names_keep_both_ends() -> None:
    assert wording.shortened("abcdefghij", 5) == "ab…ij"
    assert wording.shortened("abc", 5) == "abc"


def test_a_long_sentence_is_cut_behind_a_word() -> None:
    assert wording.cut_at_word("Rule 'tail' fails now.", 16) == "Rule 'tail' …"
    assert wording.cut_at_word("Rule 'tail' fails.", 18) == "Rule 'tail' fails."
    assert wording.cut_at_word("abcdefghij", 5) == "abc …"
    assert wording.cut_at_word(f"{' ' * 20}Rule 'tail' fails now.", 16) == "Rule 'tail' …"
    assert wording.cut_at_word(" " * 20, 16) == ""
    assert [wording.cut_at_word("abcdef", length) for length in (3, 2, 1)] == ["a …", "…", "…"]


@pytest.mark.parametrize(
    ("text", "length", "shown"),
    [
        ("Rule 'a rule with spaces' fails.", 22, "Rule …"),
        ("Rule 'a rule with spaces' fails.", 31, "Rule 'a rule with spaces' …"),
        ("Rule 'a b', of main, fails.", 14, "Rule …"),
        ('Rule "a rule\'s name" fails now.', 18, "Rule …"),
        ("'a rule with spaces' fails now.", 14, "'a rule …"),
        ("The rules' table doesn't have all users' rows.", 35, "The rules' table doesn't have …"),
    ],
)
def test_a_name_in_quotes_is_not_cut(text: str, length: int, shown: str) -> None:
    assert wording.cut_at_word(text, length) == shown


def test_a_text_of_several_lines_is_one_line_and_not_endless() -> None:
    assert wording.one_line("# Flights\r\n\n  from *one* source\n") == "# Flights from *one* source"
    assert wording.one_line("word " * 200).endswith("word …")
    assert len(wording.one_line("word " * 200)) <= 400


def test_lists_of_names_end_with_a_count() -> None:
    assert wording.listed([]) == ""
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"
    assert wording.listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
