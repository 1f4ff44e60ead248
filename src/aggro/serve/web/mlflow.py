"""MLflow's scoring protocol: ``/invocations`` and ``/ping``, so that its clients and platforms can ask a model.

``/invocations`` asks the model ``default``; ``/v1/models/{name}/invocations`` any other.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from aggro.serve.models import DEFAULT
from aggro.serve.problems import Problem, short
from aggro.serve.shapes import Examples, read_examples
from aggro.serve.strict_json import finite
from aggro.serve.web.examples import predicted
from aggro.serve.web.requests import Json, body_of, content_type, parsed, read
from aggro.serve.web.service import Service

MLFLOW_FORMS = ("dataframe_split", "dataframe_records", "instances", "inputs")


async def ping(service: Service, request: Request) -> Response:
    """The server can be asked."""
    return PlainTextResponse("\n", 200 if service.warm else 503)


async def version(service: Service, request: Request) -> Response:
    """The version of aggro, where MLflow's server tells its own."""
    import aggro

    return PlainTextResponse(aggro.__version__)


async def invocations(service: Service, request: Request) -> Response:
    """Predictions for a table."""
    model = service.models.find(request.path_params.get("name", DEFAULT))
    body = await body_of(service, request)

    def understood() -> Examples:
        csv = content_type(request) == "text/csv"
        records = from_csv(body) if csv else from_json(parsed(service, body))
        return read_examples({"records": records}, service.limits, ("record",))

    examples = await read(service, body, understood)
    return Json({"predictions": await predicted(service, model, examples)})


def from_csv(body: bytes) -> list[Any]:
    """Records of a CSV with a header."""
    try:
        # newline="" leaves line ends inside quotes as they are; strict refuses broken quotes.
        rows = list(csv.DictReader(io.StringIO(body.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Problem(400, "not_csv", f"The body is not CSV: {short(str(error))}.") from None
    # DictReader puts surplus cells under None.
    if any(None in row for row in rows):
        raise Problem(400, "not_csv", "A line has more cells than the header.")
    return [dict(row) for row in rows]


def from_json(body: Any) -> list[Any]:
    """Records of one of the four forms."""
    given = [form for form in MLFLOW_FORMS if isinstance(body, dict) and form in body]
    if len(given) != 1 or body.keys() - {given[0], "params", "signature_name"}:
        raise Problem(422, "bad_form", f"Expected an object with one of {', '.join(map(repr, MLFLOW_FORMS))}.")
    value = body[given[0]]
    if given[0] == "dataframe_split":
        return from_split(value)
    if isinstance(value, dict):
        return from_columns(value)
    if not isinstance(value, list):
        raise Problem(422, "bad_form", f"{given[0]!r} must be a list, or an object of columns.")
    # A list of plain numbers is one column, as MLflow reads it.
    if given[0] in ("instances", "inputs") and value and not isinstance(value[0], dict | list | str):
        return [{"x0": one} for one in value]
    return value


def from_split(value: Any) -> list[Any]:
    """Columns' names once, and rows as lists."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), list):
        raise Problem(422, "bad_form", "'dataframe_split' must be an object with 'columns' and 'data'.")
    columns, rows = value.get("columns"), value["data"]
    # Rows without names are lists of numbers.
    if columns is None:
        return list(rows)
    if not isinstance(columns, list) or any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        raise Problem(422, "bad_form", "Each row of 'data' must have a cell for each of 'columns'.")
    # pandas numbers the columns of a plain array; x0, x1, ... are the names of a list's numbers everywhere here.
    names = [name if isinstance(name, str) else f"x{finite(name)}" for name in columns]
    return [dict(zip(names, row, strict=True)) for row in rows]


def from_columns(columns: dict[str, Any]) -> list[Any]:
    """A list for each column."""
    lengths = {len(column) for column in columns.values() if isinstance(column, list)}
    if len(lengths) != 1 or not all(isinstance(column, list) for column in columns.values()):
        raise Problem(422, "bad_form", "Columns must be lists of the same length.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
