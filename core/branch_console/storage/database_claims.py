"""The register of claims in a database: SQLite for one machine, PostgreSQL for many."""

from __future__ import annotations

import hashlib
import os
import socket
import time
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.schema import CreateTable

from branch_console.errors import InvalidInput, StorageError
from branch_console.storage.publish_claims import Claim

_BUSY_SECONDS: Final = 30

_METADATA: Final = sa.MetaData()
_REGISTER: Final = sa.Table(
    "branch_console_claim_register",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.String(36), nullable=False),
)
_CLAIMS: Final = sa.Table(
    "branch_console_claims",
    _METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("token", sa.String(36), nullable=False),
    sa.Column("data", sa.LargeBinary),  # null once it is settled
)
_WRITERS: Final = sa.Table(
    "branch_console_claim_writers",
    _METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("token", sa.String(36), primary_key=True),
    sa.Column("writer", sa.String(36), primary_key=True),
    sa.Column("who", sa.Text, nullable=False),
)


class DatabaseClaims:
    """Claims in three small tables, made on first use."""

    def __init__(self, url: str, warehouse: str) -> None:
        """Open the register.

        Args:
            url: `sqlite:////path` or `postgresql+psycopg://…`, as SQLAlchemy takes it.
            warehouse: The warehouse of the paths, so that warehouses can share a database.

        Raises:
            InvalidInput: The URL names no database.
            StorageError: The database does not answer.
        """
        self._warehouse = warehouse
        try:
            arguments = {"timeout": _BUSY_SECONDS} if url.startswith("sqlite") else {}
            self._engine = sa.create_engine(url, connect_args=arguments)
        except (SQLAlchemyError, ImportError) as error:
            raise InvalidInput(
                f"The store option claims names no database: {error}. Give sqlite:////path or "
                "postgresql+psycopg://user@host/database."
            ) from error
        # Its connections would otherwise stay open at the server until they are collected.
        weakref.finalize(self, self._engine.dispose)
        self.id = self._find_id()

    def claim(self, path: str, data: bytes, token: str) -> Claim | None:
        """Claim a path for these bytes; None, or the claim that is there and stays."""
        digest = self._digest(path)
        try:
            with self._transaction() as connection:
                connection.execute(
                    sa.insert(_CLAIMS).values(digest=digest, path=path, token=token, data=data)
                )
                self._add_writer(connection, digest, token)
        except IntegrityError:
            with self._transaction() as connection:
                return self._find(connection, digest)
        return None

    def join(self, path: str, token: str, writer: str) -> bool:
        """Set out to write the bytes of another's claim; False if it is settled or gone."""
        digest = self._digest(path)
        unsettled = (
            sa.select(
                _CLAIMS.c.digest, _CLAIMS.c.token, sa.literal(writer), sa.literal(_this_process())
            )
            .where(
                _CLAIMS.c.digest == digest, _CLAIMS.c.token == token, _CLAIMS.c.data.is_not(None)
            )
            .with_for_update()
        )
        names = ["digest", "token", "writer", "who"]
        with self._transaction() as connection:
            joined = connection.execute(
                sa.insert(_WRITERS).from_select(names, unsettled),
                execution_options={"preserve_rowcount": True},  # else PostgreSQL's driver drops it
            )
            return joined.rowcount == 1

    def settle(self, path: str, token: str, writer: str) -> None:
        """Report that the file is written, and this writer done."""
        digest = self._digest(path)
        own = (_WRITERS.c.digest == digest, _WRITERS.c.token == token, _WRITERS.c.writer == writer)
        with self._transaction() as connection:
            connection.execute(
                sa.update(_CLAIMS)
                .where(_CLAIMS.c.digest == digest, _CLAIMS.c.token == token)
                .values(data=None)
            )
            connection.execute(sa.delete(_WRITERS).where(*own))

    def take_over(self, path: str, data: bytes, *, old: str, token: str) -> bool:
        """Claim a path again whose file is gone; False if `old` is unsettled or somebody writes."""
        digest = self._digest(path)
        writers = sa.select(_WRITERS.c.writer).where(
            _WRITERS.c.digest == digest, _WRITERS.c.token == old
        )
        # Nobody joins a settled claim, so writers that are not there now will not come.
        settled = (_CLAIMS.c.digest == digest, _CLAIMS.c.token == old, _CLAIMS.c.data.is_(None))
        with self._transaction() as connection:
            taken = connection.execute(
                sa.update(_CLAIMS)
                .where(*settled, ~sa.exists(writers))
                .values(token=token, data=data)
            )
            if taken.rowcount == 1:
                self._add_writer(connection, digest, token)
            return taken.rowcount == 1

    def _add_writer(self, connection: sa.Connection, digest: str, token: str) -> None:
        values = {"digest": digest, "token": token, "writer": token, "who": _this_process()}
        connection.execute(sa.insert(_WRITERS).values(values))

    def _find(self, connection: sa.Connection, digest: str) -> Claim | None:
        row = connection.execute(sa.select(_CLAIMS).where(_CLAIMS.c.digest == digest)).one()
        writers = sa.select(_WRITERS.c.who).where(
            _WRITERS.c.digest == digest, _WRITERS.c.token == row.token
        )
        return Claim(
            token=row.token,
            data=row.data,
            is_settled=row.data is None,
            writers=tuple(connection.execute(writers).scalars()),
        )

    def _find_id(self) -> str:
        for table in _METADATA.sorted_tables:
            try:
                self._make(table)
            except (IntegrityError, StorageError):
                # PostgreSQL fails the second of two who make a table at once, by one error or
                # another; by then the table is there.
                self._make(table)
        try:
            with self._transaction() as connection:
                connection.execute(sa.insert(_REGISTER).values(number=1, id=str(uuid.uuid4())))
        except IntegrityError:
            pass  # not the first who opens it
        with self._transaction() as connection:
            return str(connection.execute(sa.select(_REGISTER.c.id)).scalar_one())

    def _make(self, table: sa.Table) -> None:
        with self._transaction() as connection:
            connection.execute(CreateTable(table, if_not_exists=True))

    def _digest(self, path: str) -> str:
        return hashlib.sha256(f"{self._warehouse}\0{path}".encode()).hexdigest()

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            where = self._engine.url.render_as_string(hide_password=True)
            raise StorageError(
                f"The database of the claims, {where}, did not answer: {error}. Whether a file "
                "was published is not known; look before trying again."
            ) from error


def _this_process() -> str:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    return f"process {os.getpid()} on {socket.gethostname()} at {began} UTC"
