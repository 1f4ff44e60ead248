"""Every path of the service, once: who handles it, which scope it needs, what it takes and gives.

Routes, the checks of scopes and the OpenAPI document are made of this table. The examples work: a test sends them all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.web import administration, examples, inference, label_studio, mlflow, monitoring
from aggro.serve.web.service import Service

Handler = Callable[[Service, Request], Awaitable[Response]]
PUBLIC = ""  # a scope that everybody has

RECORD = {
    "description": "An object, whose values may be objects and lists, a text, or a list of numbers.",
    "oneOf": [
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": ["string", "number", "boolean", "null", "object", "array"]},
        },
        {"type": "string"},
        {"type": "array", "items": {"type": "number"}, "minItems": 1},
    ],
}
LABEL_SCHEMA = {"type": ["string", "number", "boolean"], "description": "A class, or the number to predict."}
ID = {"type": "string", "minLength": 1, "maxLength": 200}
PERSON = {"type": "string", "minLength": 1, "maxLength": 200}
VISIT = {"plan": "basic", "age": 31, "note": "wants a refund"}
OTHER = {"plan": "pro", "age": 52, "note": "happy with the service"}


def array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


def shape(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """An object of these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


FLAGS = {name: {"type": "boolean"} for name in ("probabilities", "reasons", "store")}
PREDICT = {
    "oneOf": [
        shape(("record",), record=RECORD, id=ID, **FLAGS),
        shape(("records",), records=array(RECORD), ids=array(ID), **FLAGS),
    ]
}
WEIGHT_SCHEMA = {"type": "number", "minimum": 0}
LEARN_SCHEMA = {
    "oneOf": [
        shape(("label",), record=RECORD, label=LABEL_SCHEMA, id=ID, weight=WEIGHT_SCHEMA),
        shape(
            ("labels",), records=array(RECORD), labels=array(LABEL_SCHEMA), ids=array(ID), weights=array(WEIGHT_SCHEMA)
        ),
    ]
}
ASK = {"oneOf": [shape(("record",), record=RECORD, id=ID), shape(("records",), records=array(RECORD), ids=array(ID))]}
ANSWER_SCHEMA = {
    "oneOf": [
        shape(("id", "label"), id=ID, label=LABEL_SCHEMA, person={"type": "string"}),
        shape(("ids", "labels"), ids=array(ID), labels=array(LABEL_SCHEMA)),
    ]
}
SPEC = shape(
    learner={"type": "string"},
    settings={"type": "object"},
    records={"type": "object", "description": "Settings of the RecordLearner around it, such as text or ngrams."},
)
TENSOR = shape(
    ("name", "shape", "datatype", "data"),
    name={"type": "string"},
    shape={"type": "array", "items": {"type": "integer"}},
    datatype={"type": "string"},
    data={"type": "array"},
)


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    scope: str
    do: Handler
    summary: str
    body: dict[str, Any] | None = None  # the schema of the request's body
    example: Any = None
    lines: bool = False  # the body may be NDJSON
    key: bool = False  # takes an Idempotency-Key
    answers: tuple[int, ...] = (200,)
    query: tuple[str, ...] = ()
    kinds: tuple[str, ...] = field(default=())  # other media types of the body
    gives: str = "application/json"
    also: str = ""  # another path of the same

    @property
    def name(self) -> str:
        """What metrics and OpenAPI call it."""
        return f"{self.do.__module__.rpartition('.')[2]}_{self.do.__name__}" + ("-get" if self.query else "")


INTERFACE = (
    '<View><Text name="note" value="$note"/><Choices name="outcome" toName="note">'
    '<Choice value="leaves"/><Choice value="stays"/></Choices></View>'
)
ANNOTATED = {"from_name": "outcome", "to_name": "note", "type": "choices", "value": {"choices": ["leaves"]}}

MODEL_PATH = "/v1/models/{name}"
LABEL_STUDIO_PATH = "/label-studio/{name}"
OPERATIONS = (
    Operation("POST", f"{MODEL_PATH}/predict", "read", examples.predict, "Predict one record, many, or a stream",
              PREDICT, {"record": VISIT, "probabilities": True}, lines=True),
    Operation("POST", f"{MODEL_PATH}/learn", "learn", examples.learn, "Learn examples, or a label by its record's id",
              LEARN_SCHEMA, {"record": VISIT, "label": "leaves"}, lines=True, key=True),
    Operation("POST", f"{MODEL_PATH}/ask", "learn", examples.ask, "Say whether a label is worth asking for",
              ASK, {"record": OTHER, "id": "visit-7"}, lines=True),
    Operation("POST", f"{MODEL_PATH}/answer", "learn", examples.answer, "Learn the label of a record that waits",
              ANSWER_SCHEMA, {"id": "visit-7", "label": "stays"}, lines=True, key=True),
    Operation("POST", f"{MODEL_PATH}/undo", "learn", examples.undo, "Take a label back, exactly",
              shape(("id",), id=ID), {"id": "visit-7"}, key=True),
    Operation("POST", f"{MODEL_PATH}/skip", "learn", examples.skip, "Show a person another example; this one waits on",
              shape(("id", "person"), id=ID, person=PERSON), {"id": "visit-7", "person": "Ada"}),
    Operation("POST", f"{MODEL_PATH}/question", "learn", examples.question, "The next example for a person to label",
              shape(("person",), person=PERSON, id=ID), {"person": "Ada"}),
    Operation("POST", f"{MODEL_PATH}/explain", "read", examples.explain, "The reasons for one prediction",
              shape(("record",), record=RECORD, label=LABEL_SCHEMA), {"record": VISIT}),
    Operation("GET", f"{MODEL_PATH}/explain", "read", examples.explain, "The reasons for one prediction",
              query=("record", "label")),
    Operation("GET", "/v1/models", "read", administration.models, "All models"),
    Operation("GET", MODEL_PATH, "read", administration.describe, "Description, counters, recent error, drift"),
    Operation("PUT", MODEL_PATH, "admin", administration.create, "Make a model, or upload a model file",
              SPEC, {"learner": "PAClassifier", "settings": {"C": 0.1}, "records": {"text": "note"}},
              answers=(200, 201), kinds=administration.MODEL_FILE_TYPES),
    Operation("DELETE", MODEL_PATH, "admin", administration.delete, "Delete a model"),
    Operation("GET", f"{MODEL_PATH}/download", "read", administration.download, "The model as a file",
              gives=administration.MODEL_FILE_TYPES[0]),
    Operation("GET", f"{MODEL_PATH}/history", "read", administration.history, "Error over time, mistakes, alarms"),
    Operation("GET", f"{MODEL_PATH}/weights", "read", administration.weights, "The largest weights"),
    Operation("POST", f"{MODEL_PATH}/snapshot", "admin", administration.snapshot, "Take a snapshot"),
    Operation("POST", f"{MODEL_PATH}/restore", "admin", administration.restore, "Go back to an earlier snapshot",
              shape(("snapshot",), snapshot={"type": "integer"}), {"snapshot": 1}, key=True),
    Operation("POST", f"{MODEL_PATH}/invocations", "read", mlflow.invocations, "MLflow's scoring protocol",
              {"type": "object"}, {"dataframe_records": [VISIT]}, kinds=("text/csv",)),
    Operation("POST", "/invocations", "read", mlflow.invocations, "MLflow's scoring protocol, model default",
              {"type": "object"}, {"dataframe_split": {"columns": [*VISIT], "data": [[*VISIT.values()]]}},
              kinds=("text/csv",)),
    Operation("GET", "/ping", PUBLIC, mlflow.ping, "MLflow: the server can be asked", gives="text/plain"),
    Operation("GET", "/version", "read", mlflow.version, "The version of aggro", gives="text/plain"),
    Operation("GET", "/v2", "read", inference.server, "Open Inference Protocol: this server"),
    Operation("GET", "/v2/health/live", PUBLIC, inference.live, "Open Inference Protocol: the server lives"),
    Operation("GET", "/v2/health/ready", PUBLIC, inference.server_ready, "Open Inference Protocol: models are ready"),
    Operation("GET", "/v2/models/{name}", "read", inference.metadata, "Open Inference Protocol: inputs and outputs",
              also="/v2/models/{name}/versions/1"),
    Operation("GET", "/v2/models/{name}/ready", "read", inference.model_ready, "Open Inference Protocol: one model",
              also="/v2/models/{name}/versions/1/ready"),
    Operation("POST", "/v2/models/{name}/infer", "read", inference.infer, "Open Inference Protocol: predictions",
              {"type": "object", "properties": {"inputs": array(TENSOR)}, "required": ["inputs"]},
              {"inputs": [{"name": "plan", "shape": [1], "datatype": "BYTES", "data": ["basic"]},
                          {"name": "age", "shape": [1], "datatype": "FP64", "data": [31.0]}]},
              also="/v2/models/{name}/versions/1/infer"),
    Operation("GET", f"{LABEL_STUDIO_PATH}/health", "read", label_studio.health, "Label Studio: the backend lives"),
    Operation("POST", f"{LABEL_STUDIO_PATH}/setup", "read", label_studio.setup, "Label Studio: connect a project",
              {"type": "object"}, {"project": "1.1", "schema": INTERFACE}),
    Operation("POST", f"{LABEL_STUDIO_PATH}/predict", "read", label_studio.predict, "Label Studio: guesses for tasks",
              {"type": "object"}, {"tasks": [{"id": 1, "data": VISIT}], "project": "1.1", "label_config": INTERFACE}),
    Operation("POST", f"{LABEL_STUDIO_PATH}/webhook", "learn", label_studio.webhook,
              "Label Studio: learn from annotations",
              {"type": "object"}, {"action": "ANNOTATION_CREATED", "task": {"id": 1, "data": VISIT},
                                   "annotation": {"id": 1, "result": [ANNOTATED]}}),
    Operation("GET", "/metrics", "read", monitoring.metrics, "Counters for Prometheus", gives="text/plain"),
    Operation("GET", "/health", PUBLIC, monitoring.health, "The process lives"),
    Operation("GET", "/ready", PUBLIC, monitoring.ready, "Models are recovered and compiled"),
)  # fmt: skip
