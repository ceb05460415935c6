"""Queries on Spark SQL, over views that live as long as the query.

What is run has been read by us before; here Spark's own parser is asked once more, so that a query
which Spark understands otherwise reads nothing but its sources, and starts no command.
"""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import pyarrow as pa
from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]  # no types
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # no types
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructField,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.expr.predicate import Condition
from branch_console.spark.read.readers import read_staged, read_table
from branch_console.spark.session.arrow_frames import frame_of
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.task_errors import error_of_task
from branch_console.sql.answer import single_names
from branch_console.sql.calls import refusal_of
from branch_console.sql.functions import ACCOUNT_NAMES, REFUSED_FUNCTIONS
from branch_console.sql.token_reader import quoted_name
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ChangedState, ReadState, StagedState

Source: TypeAlias = tuple[ReadState | ChangedState | StagedState, Condition | None] | pa.Table
Sources: TypeAlias = Mapping[str, Source]

_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions."
_RELATIONS: Final = "org.apache.spark.sql.catalyst.plans.logical."
_UNRESOLVED: Final = "org.apache.spark.sql.catalyst.analysis."
# What a query is made of; commands, scripts, streams and files are not among it.
_ALLOWED: Final = {
    _RELATIONS: frozenset(
        {
            "Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect",
            "Join", "LateralJoin", "LimitAll", "LocalLimit", "LocalRelation", "Offset",
            "OneRowRelation", "Pivot", "Project", "Repartition", "RepartitionByExpression",
            "Sample", "Sort", "SubqueryAlias", "Union", "UnresolvedHint", "UnresolvedWith",
            "Unpivot", "Window", "WithWindowDefinition",
        }
    ),
    _UNRESOLVED: frozenset(
        {
            "MultiAlias", "UnresolvedAlias", "UnresolvedAttribute", "UnresolvedExtractValue",
            "UnresolvedFunction", "UnresolvedGenerator", "UnresolvedHaving",
            "UnresolvedInlineTable", "UnresolvedOrdinal", "UnresolvedQualify",
            "UnresolvedRelation", "UnresolvedStar", "UnresolvedStarExceptOrReplace",
            "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases",
            "UnresolvedTableValuedFunction",
        }
    ),
}  # fmt: skip
# Where Spark's own functions are; others have been added to the session or its catalog.
_OWN_NAMESPACES: Final[tuple[list[str], ...]] = ([], ["builtin"], ["system", "builtin"])
# Of SQLSTATE: not supported, too many rows, bad values, bad statements, limits, raise_error.
_FAULTS_OF_QUERIES: Final = frozenset({"0A", "21", "22", "42", "54", "P0"})
_CODE: Final = re.compile(r"^\[[A-Za-z0-9_.]+\]\s*")
_STATE: Final = re.compile(r"\s*SQLSTATE: .*$", re.DOTALL)
# Nobody can set it here.
_ADVICE: Final = re.compile(r"If necessary,? set .* to bypass this error\.?", re.DOTALL)
_SHOWN_AS_TEXT: Final = (YearMonthIntervalType, CalendarIntervalType)

# Spark logs each error of a query with its Java stack; who asked is told a sentence.
logging.getLogger("SQLQueryContextLogger").disabled = True


def run_query(
    session: WarmSession,
    store: FileIO,
    sql: str,
    sources: Sources,
    limit: int,
    *,
    progress: Progress = lambda done, total: None,
    keeps_times: bool = False,
) -> tuple[pa.Table, str]:
    """Run a query.

    Args:
        session: The warm session.
        store: The store of the tables.
        sql: A query in Spark SQL; its tables are `sources` by name, and no other query may use
            these names.
        sources: The only sources of the query, by name.
        limit: How many rows are answered at most.
        progress: Called with tasks done and tasks known; what it raises stops the query.
        keeps_times: Whether to refuse times of the tables that are finer than Spark's.

    Returns:
        The rows, and the plan as text.

    Raises:
        InvalidInput: It cannot be run; the fact `offset` tells where in `sql` that is.
        PaimonError: It reached a bound that the settings of the session set (LIMIT_REACHED).
    """

    def answer(spark: SparkSession) -> tuple[pa.Table, str]:
        with query_frame(spark, store, sql, sources, keeps_times=keeps_times) as frame:
            return _with_plain_columns(frame).limit(limit).toArrow(), _plan_of(frame)

    return session.run(
        answer,
        description="answer a query",
        progress=progress,
        seconds=session.settings.query_seconds,
    )


@contextmanager
def query_frame(
    spark: SparkSession, store: FileIO, sql: str, sources: Sources, *, keeps_times: bool = False
) -> Iterator[DataFrame]:
    """Open a query as a frame, whose rows are read within.

    Args:
        spark: The Spark session of the query.
        store: The store of the tables.
        sql: As for `run_query`.
        sources: As for `run_query`.
        keeps_times: Whether to refuse times of the tables that are finer than Spark's.

    Raises:
        InvalidInput: It cannot be run; the fact `offset` tells where in `sql` that is.
    """
    try:
        with _errors_in_a_sentence(sql):
            try:
                yield _open(spark, store, sql, sources, keeps_times=keeps_times)
            except AnalysisException as error:
                if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
                    raise
                # Among all columns there may be one that was meant.
                _open(spark, store, sql, sources, all_columns=True)
                raise
    finally:
        for name in sources:
            spark.catalog.dropTempView(name)


def _open(
    spark: SparkSession,
    store: FileIO,
    sql: str,
    sources: Sources,
    *,
    all_columns: bool = False,
    keeps_times: bool = False,
) -> DataFrame:
    for name, source in sources.items():
        if isinstance(source, tuple):
            state, condition = source
            columns = None if all_columns else state.columns
            frame = (
                read_staged(
                    spark, store, state, columns=columns, filters=condition, keeps_times=keeps_times
                )
                if isinstance(state, StagedState)
                else read_table(
                    spark, store, state, columns=columns, filters=condition, keeps_times=keeps_times
                )
            )
        else:
            frame = frame_of(spark, source)
        frame.createOrReplaceTempView(name)
    nodes = check_reads_only(spark, sql, frozenset(sources))
    frame = spark.sql(sql)
    if any(_is_account_name(node) for node in nodes):
        _check_names_a_column(frame)
    return frame


def check_reads_only(
    spark: SparkSession, sql: str, sources: frozenset[str]
) -> Sequence[Mapping[str, Any]]:
    """Refuse what Spark's own parser takes for anything but a query of the sources.

    A Spark Connect server shows its plans to nobody; there our own reading of the query counts.

    Returns:
        The nodes of the plan before names are looked up, none if a server has it.

    Raises:
        InvalidInput: It would read or do something else.
    """
    if not hasattr(spark, "_jsparkSession"):
        return ()
    parser: Any = spark._jsparkSession.sessionState().sqlParser()
    nodes = list(_nodes(json.loads(parser.parsePlan(sql).toJSON())))
    aliases = {str(n["identifier"]["name"]).lower() for n in nodes if "SubqueryAlias" in n["class"]}
    for node in nodes:
        if not _is_harmless(node, sources | aliases):
            raise InvalidInput(
                f"Spark reads this as more than a query of tables ({node['class']}), so it is not "
                "run.",
                kind=ErrorKind.UNSUPPORTED,
            )
    return nodes


def _is_account_name(node: Mapping[str, Any]) -> bool:
    """Whether a name without a table may be a function that tells the server's account."""
    is_name = str(node["class"]).endswith(".UnresolvedAttribute")
    return is_name and _parts(node["nameParts"])[-1].strip("`") in ACCOUNT_NAMES


def _check_names_a_column(frame: DataFrame) -> None:
    """Refuse the account of the server, which Spark tells if no column has the name.

    Raises:
        InvalidInput: It would be told.
    """
    analyzed = json.loads(frame._jdf.queryExecution().analyzed().toJSON())
    if any(str(node["class"]).endswith(".CurrentUser") for node in _nodes(analyzed)):
        raise InvalidInput(
            f"No table has a column 'user', and the function user {REFUSED_FUNCTIONS['user']}, so "
            "it is not run here.",
            kind=ErrorKind.UNSUPPORTED,
        )


def _nodes(plan: object) -> Iterator[dict[str, Any]]:
    """The nodes of a plan as JSON, with those of expressions and subqueries."""
    if isinstance(plan, list):
        for each in plan:
            yield from _nodes(each)
    elif isinstance(plan, dict):
        if "class" in plan:
            yield plan
        for each in plan.values():
            yield from _nodes(each)


def _is_harmless(node: Mapping[str, Any], relations: frozenset[str]) -> bool:
    package, dot, name = str(node["class"]).rpartition(".")
    if package + dot == _EXPRESSIONS:
        return True
    if name not in _ALLOWED.get(package + dot, frozenset()):
        return False
    if name == "UnresolvedRelation":
        return ".".join(_parts(node["multipartIdentifier"])) in relations
    if name in ("UnresolvedFunction", "UnresolvedTableValuedFunction"):
        *namespace, function = _parts(node.get("nameParts", node.get("name")))
        return namespace in _OWN_NAMESPACES and refusal_of(function) is None
    return True


def _parts(listed: object) -> list[str]:
    return str(listed).strip("[]").lower().split(", ")


def _plan_of(frame: Any) -> str:
    if hasattr(frame, "_jdf"):
        jvm = frame.sparkSession._jvm
        return str(jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted"))
    return str(frame._explain_string(mode="formatted"))


def _with_plain_columns(frame: DataFrame) -> DataFrame:
    """The same rows with a name of its own for each column, and types that Arrow has."""
    plain = frame.toDF(*single_names(frame.columns))
    return plain.select(*(_plain_column(field) for field in plain.schema.fields))


def _plain_column(field: StructField) -> Column:
    column = F.col(quoted_name(field.name))
    if _holds_variant(field.dataType):
        return F.to_json(column, {"ignoreNullFields": "false"}).alias(field.name)
    if isinstance(field.dataType, _SHOWN_AS_TEXT):
        return column.cast("string").alias(field.name)
    if isinstance(field.dataType, StructType | ArrayType | MapType):
        # PySpark takes the required parts of a row that is null for nulls if none may be.
        return column.cast(_of_optional_parts(field.dataType)).alias(field.name)
    return column


def _holds_variant(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_holds_variant(field.dataType) for field in kind.fields)
        case ArrayType():
            return _holds_variant(kind.elementType)
        case MapType():
            return _holds_variant(kind.keyType) or _holds_variant(kind.valueType)
    return isinstance(kind, VariantType)


def _of_optional_parts(kind: DataType) -> DataType:
    match kind:
        case StructType():
            parts = [(field.name, _of_optional_parts(field.dataType)) for field in kind.fields]
            return StructType([StructField(name, part) for name, part in parts])
        case ArrayType():
            return ArrayType(_of_optional_parts(kind.elementType))
        case MapType():
            return MapType(kind.keyType, _of_optional_parts(kind.valueType))
    return kind


@contextmanager
def _errors_in_a_sentence(sql: str) -> Iterator[None]:
    """Make errors of the query itself ours; those of tasks and stores stay."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        fault = error_of_task(error) or _fault_of(sql, error)
        if fault is None:
            raise
        raise fault from error
    except PaimonError as error:
        if isinstance(error, InvalidInput) or error.kind is not ErrorKind.UNEXPECTED:
            raise
        # A session tells errors of its runs as failures of its own.
        cause = error.__cause__
        is_spark = isinstance(cause, PySparkException | Py4JJavaError)
        fault = _fault_of(sql, cause) if is_spark else None
        if fault is None:
            raise
        raise fault from error


def _fault_of(sql: str, error: Any) -> InvalidInput | None:
    """The same error as one of the query, None if it is none."""
    cause: Any = error
    if isinstance(error, Py4JJavaError):
        # PySpark leaves some errors of running queries as Java's, and inside of others.
        cause = error.java_exception
        while cause is not None and not _says_its_state(cause):
            cause = cause.getCause()
    if cause is None or (cause.getSqlState() or "")[:2] not in _FAULTS_OF_QUERIES:
        return None
    text = _CODE.sub("", cause.getMessage() or str(error))
    text = _ADVICE.sub("", _STATE.sub("", text))
    return InvalidInput(
        " ".join(text.split()).rstrip(".") + ".",
        kind=ErrorKind.INVALID_ARGUMENT,
        offset=_offset_in(sql, cause.getQueryContext()),
    )


def _offset_in(sql: str, contexts: Iterable[Any]) -> int:
    """Return the position of an error in a query; 0 if Spark reports it in another text."""
    for each in contexts:
        start, fragment = int(each.startIndex()), str(each.fragment())
        if start >= 0 and sql[start:].startswith(fragment):
            return start
    return 0


def _says_its_state(error: Any) -> bool:
    gateway = SparkContext._gateway
    is_spark = is_instance_of(gateway, error, "org.apache.spark.SparkThrowable")
    return bool(is_spark and error.getCondition() and error.getSqlState())
