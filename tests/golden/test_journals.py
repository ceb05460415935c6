"""Journals as releases up to this one wrote them: each is read, and encodes to the very bytes.

A golden file is the intent of one procedure, with every key that it may have. Tables hold such
files for good, so none of them is ever renewed; what is new gets a file of its own.
"""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.journal import Journal
from branch_console.commit.rows.row_commit import RowCommit
from branch_console.errors import ErrorKind, FormatError
from branch_console.format.journals.codec import Codec, Either, Layout, Ways
from branch_console.format.journals.intent import Intent
from branch_console.format.journals.procedures import CATALOG_JOURNALS, JOURNALS, codec_of
from branch_console.format.journals.rows import WRITE_STEP
from branch_console.format.journals.terms import TERMS, OperationJournal
from branch_console.format.journals.written import StagedResult
from branch_console.format.json_text import to_pretty_json
from branch_console.procedures.recover import recover_table
from branch_console.procedures.registry import JOURNALLED_BY_CATALOG, PROCEDURES
from tests.support.branch_bench import NOW, BranchBench
from tests.support.golden import FOLDER

OF_CATALOG = FOLDER / "journals" / "catalog"
FILES = [*sorted((FOLDER / "journals").glob("*.json")), *sorted(OF_CATALOG.glob("*.json"))]
CODECS = (*JOURNALS.items(), *CATALOG_JOURNALS.items())
WRONG = ({"x": 1}, [{"x": 1}], [["x"]], "no base64", -1, True)


def intent_of(path: Path) -> Intent:
    return Intent.from_json(path.read_bytes())


def codec_for(path: Path) -> Codec[Any]:
    """The codec of a golden file: an undo of an operation of the catalog has another journal."""
    journals = CATALOG_JOURNALS if path.parent == OF_CATALOG else JOURNALS
    return journals[intent_of(path).procedure]


def layouts(codec: Codec[Any]) -> Iterator[Layout[Any]]:
    for shape in codec.reads.values():
        match shape:
            case Layout():
                yield shape
            case Ways():
                yield from shape.layouts.values()
            case Either():
                yield from shape.layouts


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    bench = BranchBench(tmp_path_factory.mktemp("table"))
    return Journal(bench.store, bench.table().paths)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_journal_is_read_and_encodes_to_the_same_bytes(path: Path) -> None:
    text, intent = path.read_text(encoding="utf-8"), intent_of(path)
    codec = codec_for(path)
    again = codec.encode(codec.decode(intent.plan))
    assert replace(intent, plan=again).to_json() == text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_encoded_decodes_to_the_same_journal(path: Path) -> None:
    intent = intent_of(path)
    codec = codec_for(path)
    journal = codec.decode(intent.plan)
    assert codec.decode(json.loads(json.dumps(codec.encode(journal)))) == journal
    if isinstance(journal, OperationJournal):
        terms = TERMS.decode(intent.plan)
        assert {each.name: getattr(terms, each.name) for each in fields(terms)} == {
            each.name: getattr(journal, each.name) for each in fields(terms)
        }


@pytest.mark.parametrize("codec", [each for _, each in CODECS], ids=[name for name, _ in CODECS])
def test_the_golden_files_hold_every_key_of_a_procedure(codec: Codec[Any]) -> None:
    told: dict[Layout[Any], set[str]] = {each: set() for each in layouts(codec)}
    for path in FILES:
        if codec_for(path) is not codec:
            continue
        plan = intent_of(path).plan
        for layout, keys in told.items():
            if layout.kind is type(codec.decode(plan)):
                keys.update(plan)
    missing = {
        (layout.kind.__name__, key)
        for layout, keys in told.items()
        for key in layout.names
        if key not in keys
    }
    assert missing == set()


def test_each_procedure_has_a_codec() -> None:
    assert set(PROCEDURES) <= set(JOURNALS)
    assert {name: verb.codec for name, verb in PROCEDURES.items()} == {
        name: JOURNALS[name] for name in PROCEDURES
    }
    of_catalog = {name: verb.codec for name, verb in JOURNALLED_BY_CATALOG.items()}
    # No merge of the catalog begins yet.
    assert of_catalog == dict(CATALOG_JOURNALS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_broken_journal_is_told_with_its_file(path: Path, ledger: Journal) -> None:
    intent, refused = intent_of(path), 0
    codec = codec_for(path)
    for broken in broken_plans(intent.plan):
        error = refusal(ledger, replace(intent, plan=broken), codec)
        if error is None:
            continue
        refused += 1
        name = f"/intent-{intent.operation_id}.json"
        assert f"{name} is broken: The " in error.message
        assert "Put the file back from a copy" in error.message
        assert str(error.facts["path"]).endswith(name)
    assert refused >= len(intent.plan)


def refusal(ledger: Journal, intent: Intent, codec: Codec[Any]) -> FormatError | None:
    """How an intent is refused, None where it is read; anything else that is raised is a fault."""
    try:
        ledger.decode(intent, codec)
    except FormatError as error:
        return error
    return None


def broken_plans(plan: Any) -> Iterator[Any]:
    """The plan without each of its keys, and with a value of another type at each place."""
    if isinstance(plan, dict):
        for key, value in plan.items():
            yield {name: each for name, each in plan.items() if name != key}
            for wrong in WRONG:
                yield {**plan, key: wrong}
            for broken in broken_plans(value):
                yield {**plan, key: broken}
    elif isinstance(plan, list):
        for number, value in enumerate(plan[:2]):
            for broken in broken_plans(value):
                yield [*plan[:number], broken, *plan[number + 1 :]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_journal_of_a_newer_release_is_refused(path: Path, ledger: Journal) -> None:
    intent = intent_of(path)
    for version in (2, 9):
        newer = replace(intent, plan={**intent.plan, "version": version})
        with pytest.raises(FormatError) as caught:
            ledger.decode(newer, codec_for(path))
        assert caught.value.kind is ErrorKind.UNKNOWN_VERSION
        what = codec_for(path).what
        assert caught.value.message.endswith(
            f"intent-{intent.operation_id}.json cannot be read. The {what} was written by a newer "
            f"release: it has version {version}, and 1 is the newest that this release reads. "
            "Nothing was changed. Upgrade Branch Console, then run: branch-console recover."
        )


def test_a_second_version_is_written_with_its_number_and_the_first_is_still_read() -> None:
    first, second = layouts(JOURNALS["create_tag"]), layouts(JOURNALS["delete_tag"])
    codec: Codec[Any] = Codec(
        what="journal of a tag", version=2, reads={1: next(first), 2: next(second)}
    )
    old = codec.decode({"tag": "v1", "content": "{}", "snapshotId": 3})
    new = codec.decode({"version": 2, "tag": "v1", "content": "{}"})
    assert (type(old).__name__, type(new).__name__) == ("TagJournal", "UntagJournal")
    assert codec.encode(new) == {"version": 2, "tag": "v1", "content": "{}"}


def test_records_have_the_name_of_an_earlier_release() -> None:
    plan = dict(intent_of(FOLDER / "journals" / "fast_forward.json").plan)
    plan["rows"] = plan.pop("records")
    assert JOURNALS["fast_forward"].decode(plan).records == plan["rows"]


def test_a_way_that_is_not_known_is_told() -> None:
    for way, told in (({"way": "back"}, "the unknown 'way' 'back'"), ({}, "no 'way'")):
        with pytest.raises(FormatError, match=f"The journal of an undo has {told}"):
            JOURNALS["undo"].decode({**way, "undoes": "op"})


def test_the_journal_of_a_procedure_that_only_a_newer_release_has_is_refused() -> None:
    with pytest.raises(
        FormatError, match="A newer release made an operation 'merge_catalog'"
    ) as told:
        codec_of("merge_catalog")
    assert told.value.kind is ErrorKind.UNKNOWN_VERSION
    assert codec_of("rollback") is JOURNALS["rollback"]


STEP = FOLDER / "journals" / "steps" / "write_rows_publish.json"


def test_the_second_entry_of_a_write_encodes_to_the_same_bytes() -> None:
    text = STEP.read_text(encoding="utf-8")
    step = WRITE_STEP.decode(json.loads(text))
    commit = RowCommit.from_step(step)
    assert to_pretty_json(WRITE_STEP.encode(commit.to_step(step.seen_id))) == text
    assert set(WRITE_STEP.encode(step)) == set(json.loads(text))


def test_a_broken_second_entry_of_a_write_is_told_with_its_file(ledger: Journal) -> None:
    step, refused = json.loads(STEP.read_text(encoding="utf-8")), 0
    for broken in broken_plans(step):
        try:
            ledger.decode_step("op", "publish", json.dumps(broken).encode(), WRITE_STEP)
        except FormatError as error:
            refused += error.message.split(" is broken: ")[0].endswith("/step-op-publish.json")
    assert refused > 2 * len(step)


KEPT = sorted((FOLDER / "journals" / "kept").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_a_dry_run_kept_is_read_and_encodes_to_the_same_bytes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert StagedResult.from_json(text).to_json() == text


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_a_dry_run_kept_is_refused_where_it_is_broken(path: Path) -> None:
    refused = 0
    for broken in broken_plans(json.loads(path.read_text(encoding="utf-8"))):
        try:
            StagedResult.from_json(json.dumps(broken))
        except FormatError as error:
            refused += error.message.startswith("The ")
    assert refused > len(KEPT)


def test_rows_whose_entry_cannot_be_read_are_told_and_the_others_recovered(
    tmp_path: Path,
) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    journal = Journal(bench.store, bench.table().paths)
    for name, procedure in (("rows-1", "stage_rows"), ("write-1", "write_rows")):
        intent = replace(intent_of(FOLDER / "journals" / f"{procedure}.json"), operation_id=name)
        journal.begin(replace(intent, plan={"host": 3}))
    whole = replace(intent_of(FOLDER / "journals" / "protect_branch.json"), operation_id="whole")
    journal.begin(whole)
    warehouse = bench.warehouse(clock=lambda: NOW + 7_200_000)
    found = {each.operation_id: each for each in recover_table(warehouse, bench.table())}
    assert found["whole"].ending == "done"
    for name in ("rows-1", "write-1"):
        assert found[name].ending is None
        assert f"intent-{name}.json is broken" in found[name].message
