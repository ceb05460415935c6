import json

import pytest

from branch_console.errors import FormatError
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.format.snapshot import SnapshotIdentity

_ONE = SnapshotIdentity(uuid="u1", manifest_lists=("a-0", "a-1"))
_TWO = SnapshotIdentity(uuid=None, manifest_lists=("b-0", "b-1"))
RECEIPT = Receipt(
    operation_id="op-1",
    statement="CALL fast_forward('db.t', 'dev')",
    actor="anna",
    plan_id="plan-1",
    rescue_branch="rescue-1",
    moves=(
        HeadMove(branch="main", before=_ONE, before_id=3, after=_TWO, after_id=5),
        HeadMove(branch="new", before=None, before_id=None, after=_TWO, after_id=5),
    ),
    counts=Counts(snapshots_added=2, files_verified=7),
    notes=("größer", 'with "quotes"'),
    started_millis=1,
    finished_millis=2,
)
EVENT = LineageEvent(
    id="e1",
    branch="dev",
    operation_id="op-1",
    actor="anna",
    kind=LineageKind.FAST_FORWARDED,
    source_branch="main",
    time_millis=5,
    before=_ONE,
    after=_TWO,
    parents=(_ONE, _TWO),
    owner="team",
    reason="a fix",
    base_tag="branch-base-dev",
    receipt=RECEIPT,
)


def test_receipts_come_back() -> None:
    assert Receipt.from_json(RECEIPT.to_json()) == RECEIPT


def test_a_receipt_shows_the_counts_that_are_not_zero() -> None:
    assert RECEIPT.to_object()["counts"] == {"snapshots_added": 2, "files_verified": 7}


def test_counts_of_a_newer_release_are_no_error() -> None:
    raw = RECEIPT.to_object()
    raw["counts"] = {"snapshots_added": 2, "files_verified": 7, "stars_counted": 9}
    assert Receipt.from_json(json.dumps(raw)) == RECEIPT


def test_events_come_back_with_their_receipt() -> None:
    assert LineageEvent.from_json(EVENT.to_json()) == EVENT


@pytest.mark.parametrize("kind", list(LineageKind))
def test_an_event_with_little_to_say_comes_back(kind: LineageKind) -> None:
    event = LineageEvent(
        id="e1", branch="dev", operation_id="op", actor="anna", kind=kind, time_millis=5
    )
    assert LineageEvent.from_json(event.to_json()) == event
    assert set(json.loads(event.to_json())) == {
        *("id", "branch", "operationId", "actor", "kind", "timeMillis", "parents"),
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "vanished"}, "unknown 'kind'"),
        ({"parents": None}, "no 'parents'"),
        ({"before": {"uuid": "u"}}, "no 'baseManifestList'"),
        ({"receipt": {}}, "no 'operationId'"),
        ({"receipt": {**RECEIPT.to_object(), "counts": {"rows_added": "x"}}}, "not a whole number"),
    ],
)
def test_an_event_that_is_not_one_says_why(change: dict[str, object], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        LineageEvent.from_json(json.dumps({**json.loads(EVENT.to_json()), **change}))
