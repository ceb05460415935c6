"""The messages and checks of statements about databases, for main and catalog branches alike."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from branch_console.errors import AlreadyExists, ErrorKind, InvalidInput, NotFound
from branch_console.format.identifier import check_object_name
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Preview,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogPlan
from branch_console.procedures.run.receipts import receipt_without_change

_SYSTEM_DATABASE: Final = "sys"
"""The database of Paimon's system tables [Catalog.SYSTEM_DATABASE_NAME]."""

_NAMED: Final = 10


def checked_name(name: str) -> str:
    """Return the name of a new database; raises InvalidInput if none can have it."""
    check_object_name(name)
    if "." in name or name.lower() == _SYSTEM_DATABASE:
        raise InvalidInput(
            f"{name!r} is not a usable name of a database: it must not hold '.', and Paimon keeps "
            f"{_SYSTEM_DATABASE!r} for itself.",
            kind=ErrorKind.INVALID_NAME,
        )
    return name


def holding(branches: Collection[str]) -> str:
    """Say that branches of the catalog hold something, such as `catalog branch 'dev' holds`."""
    named = ", ".join(map(repr, branches))
    is_one = len(branches) == 1
    return f"catalog branch {named} holds" if is_one else f"catalog branches {named} hold"


def given_values(title: str, properties: Mapping[str, str | None]) -> dict[str, str]:
    """Return the properties of a new database; raises InvalidInput if one has no value."""
    if None in properties.values():
        raise InvalidInput(f"{title}: a property has a value, which is not null.")
    return {key: value for key, value in properties.items() if value is not None}


def properties_of(procedure: str, text: str | None) -> dict[str, str | None]:
    """Return the properties of a JSON object; None for those that it takes away.

    Raises:
        InvalidInput: They are no JSON object of texts.
    """
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(
        key and (value is None or isinstance(value, str)) for key, value in found.items()
    ):
        raise InvalidInput(
            f"The argument 'properties' of {procedure} must be a JSON object of texts, such as "
            '{"comment": "flights"}. Nothing was changed.',
            kind=ErrorKind.INVALID_OPTION,
        )
    return found


def with_properties(old: Mapping[str, str], changed: Mapping[str, str | None]) -> Mapping[str, str]:
    """Return properties with some set, and taken away where the change says None."""
    merged = {**old, **changed}
    return {key: value for key, value in sorted(merged.items()) if value is not None}


def property_sentence(key: str, before: str | None, after: str | None) -> str:
    """Say how a property changes."""
    if after is None:
        return f"Property {key!r}, which was {before!r}, goes."
    return f"Property {key!r} becomes {after!r}" + (
        "; it had no value." if before is None else f"; it was {before!r}."
    )


def property_sentences(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Say how each property changes that does."""
    changed = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    return " ".join(property_sentence(key, before.get(key), after.get(key)) for key in changed)


def new_database_id(operation_id: str) -> str:
    """Return the id of a database that an operation makes, the same one for a repeated try."""
    return f"d-{hashlib.sha256(operation_id.encode()).hexdigest()[:16]}"


def some_names(names: Collection[str]) -> str:
    """Write names for a sentence, of many the first."""
    more = len(names) - _NAMED
    return ", ".join(list(names)[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def listed(tables: Iterable[str]) -> str:
    """Name some tables in a sentence."""
    names = [repr(each) for each in tables]
    return f"{'table' if len(names) == 1 else 'tables'} {some_names(names)}"


def going_along(tables: Collection[str]) -> str:
    """Say which tables go with their database."""
    return f"With it {'goes' if len(tables) == 1 else 'go'} {listed(tables)}"


def no_database(name: str, known: Iterable[str]) -> NotFound:
    """Return the error for a database that is not there, with near names."""
    hint = did_you_mean(nearest_names(name, known))
    return NotFound(
        f"There is no database {name!r}.{hint}", kind=ErrorKind.DATABASE_NOT_FOUND, database=name
    )


def name_taken(name: str) -> AlreadyExists:
    """Return the error for a name that a database has."""
    return AlreadyExists(
        f"There is a database {name!r} already. Nothing was changed; choose another name.",
        database=name,
    )


def nothing_to_do(warehouse: Warehouse, call: ProcedureCall, title: str, text: str) -> CatalogPlan:
    """Return the plan of a call that would change nothing; `text` says so."""
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(call, text),
        consequences=(keeps(text),),
        typed_name=None,
        role=Role.VIEWER,
        undo=NOTHING_TO_UNDO,
    )
    now = warehouse.clock()
    receipt = receipt_without_change(
        call, preview.plan_id, (text,), started_millis=now, finished_millis=now
    )
    return CatalogPlan(preview=preview, journal=OperationJournal(), earlier_receipt=receipt)
