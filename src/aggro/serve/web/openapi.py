"""The OpenAPI document, made of the table of operations."""

from __future__ import annotations

import re
from typing import Any

from aggro.serve.web.operations import OPERATIONS, PUBLIC, Operation

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
PLAIN_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}  # of /v2
NAME_SCHEMA = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
REFUSED = ("400", "401", "403", "404", "408", "409", "413", "415", "421", "422", "429", "503")


def document() -> dict[str, Any]:
    """The whole document."""
    import aggro

    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "aggro", "version": aggro.__version__, "description": "Models that learn in production."},
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR, "PlainError": PLAIN_ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def described(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary}
    # Two paths share this handler, and an operationId must be unique.
    if operation.path.startswith("/v1/models/{name}/invocations"):
        found["operationId"] += "-of-model"
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": NAME_SCHEMA, "example": "default"}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": name == "record", "schema": {"type": "string"}}
        for name in operation.query
    ]
    if operation.key:
        schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        content: dict[str, Any] = {"application/json": {"schema": operation.body, "example": operation.example}}
        if operation.lines:
            content["application/x-ndjson"] = {"schema": {"type": "string"}}
        for kind in operation.kinds:
            content[kind] = {"schema": {"type": "string", "format": "binary"}}
        # Only PUT, which makes the default learner without one, may come without a body.
        found["requestBody"] = {"required": operation.method != "PUT", "content": content}
    kind = operation.gives
    schema = {"type": "object"} if kind == "application/json" else {"type": "string"}
    answers: dict[str, Any] = {
        str(status): {"description": "Done", "content": {kind: {"schema": schema}}} for status in operation.answers
    }
    plainly = operation.path.startswith("/v2")
    refused = {"schema": {"$ref": "#/components/schemas/" + ("PlainError" if plainly else "Error")}}
    # Listed for every operation, since guard and limits refuse before the handler.
    for status in REFUSED:
        answers[status] = {"description": "Refused, with the reason", "content": {"application/json": refused}}
    if operation.lines:
        answers["200"]["content"]["application/x-ndjson"] = {"schema": {"type": "string"}}
    # Here 503 is an answer of the handler and no problem, so its schema differs.
    if operation.path in ("/ready", "/ping", "/v2/health/ready"):
        answers["503"] = {"description": "Not yet", "content": {kind: {"schema": schema}}}
    found["responses"] = answers
    if operation.scope != PUBLIC:
        # The empty alternative: where the server runs without tokens, none is sent.
        found["security"] = [{"token": []}, {}]
        found["description"] = f"Needs a token of the scope {operation.scope}, where tokens are needed."
    return found
