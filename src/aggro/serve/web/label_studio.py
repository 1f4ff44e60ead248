"""Label Studio's machine-learning backend: guesses for its tasks, and learning from every annotation.

The address of the backend is ``/label-studio/{model}``. Label Studio calls ``health``, ``setup`` and ``predict`` there;
its webhooks, which a project is told of, call ``webhook``. A task's data are the record, as far as they are plain
values. ``<Choices>`` are classes, ``<Number>`` and ``<Rating>`` are numbers. The score of a guess is its probability:
a project can show the tasks first that the model is least sure of.

An annotation is learned under an id of its own: one that comes twice is learned once, one that is changed or deleted is
taken back, exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from xml.etree import ElementTree

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.model import Model
from aggro.serve.problems import Problem, short
from aggro.serve.shapes import Examples, check_label, check_record, read_examples
from aggro.serve.web.examples import model_of
from aggro.serve.web.requests import Json, json_of
from aggro.serve.web.service import Service

CONTROLS = {"choices": "classification", "number": "regression", "rating": "regression"}  # tags, and their tasks
LEARNED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
KNOWN_BEFORE = ("already_learned", "already_undone", "unknown_id")


class Control(NamedTuple):
    """The tag of a labelling interface that the model fills in."""

    kind: str  # "choices", "number" or "rating"
    name: str
    to_name: str
    choices: tuple[str, ...]  # as results name them


async def health(service: Service, request: Request) -> Response:
    """The backend lives."""
    model_of(service, request)
    return Json({"status": "UP"})


async def setup(service: Service, request: Request) -> Response:
    """A project is connected: check that the model can fill in its labelling interface."""
    model, body = model_of(service, request), await json_of(service, request)
    control_in(field(body, "schema", str), model)
    return Json({"model_version": version_of(model)})


async def predict(service: Service, request: Request) -> Response:
    """Guesses for tasks, in their order."""
    model, body = model_of(service, request), await json_of(service, request)
    control = control_in(field(body, "label_config", str), model)
    records = [record_of(task) for task in field(body, "tasks", list)]
    # read_examples refuses an empty list; here no tasks are no error.
    if not records:
        return Json({"results": [], "model_version": version_of(model)})
    examples = read_examples({"records": records}, service.limits, ("record",))
    return Json(await service.in_thread(lambda: guesses(model, control, examples)))


def guesses(model: Model, control: Control, examples: Examples) -> dict[str, Any]:
    """The answer to ``predict``."""
    version = version_of(model)
    # One copy for predictions and probabilities, so that the score is that of the label.
    with model.replicas.reading() as side:
        predictions = model.predict(examples, side)
        try:
            shares = model.probabilities(examples, side)
        except Problem:  # a regressor has none, nor has a model that knows nothing
            shares = [None] * len(predictions)
    results = []
    for prediction, share in zip(predictions, shares, strict=True):
        found: dict[str, Any] = {"result": result_of(control, prediction), "model_version": version}
        if control.kind == "choices":
            # A score of 0 where the interface lacks the label: the task then counts as the least certain.
            found["score"] = (share or {}).get(str(prediction), 0.0) if found["result"] else 0.0
        results.append(found)
    return {"results": results, "model_version": version}


async def webhook(service: Service, request: Request) -> Response:
    """An annotation was made, changed or deleted: learn it, learn it anew, or take it back."""
    model, body = model_of(service, request), await json_of(service, request)
    action = field(body, "action", str)
    learned = undone = 0
    if action in LEARNED:
        for annotation, task in annotations_in(body):
            id = id_of(annotation)
            # The old label is taken back first, under the same id that the new one gets.
            if action == "ANNOTATION_UPDATED":
                undone += await done(service, model.undo(id))
            learned += await learn(service, model, annotation, task, id)
    elif action == "ANNOTATIONS_DELETED":
        for annotation in field(body, "annotations", list):
            undone += await done(service, model.undo(id_of(annotation)))
    return Json({"learned": learned, "undone": undone})


async def learn(service: Service, model: Model, annotation: dict[str, Any], task: dict[str, Any], id: str) -> bool:
    """Learn one annotation, unless it says nothing; whether it was learned now."""
    label = label_in(annotation, model)
    if label is None:
        return False
    record = record_of(task)
    check_record(record, service.limits)
    check_label(label, service.limits)
    return await done(service, model.learn(Examples([record], one=True, labels=[label], ids=[id])))


async def done(service: Service, future: Any) -> bool:
    """Wait for a change of the model; False if it was made before, since webhooks may come twice."""
    try:
        await service.done(future)
    except Problem as problem:
        # Webhooks may come twice; the second must not fail.
        if problem.code not in KNOWN_BEFORE:
            raise
        return False
    return True


# What Label Studio sends ------------------------------------------------------------------------------


def field(body: Any, name: str, kind: type) -> Any:
    """One field of a request."""
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        words: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
        raise Problem(422, "bad_field", f"The field {name!r} is missing, or is not {words[kind]}.")
    return value


def control_in(config: str, model: Model) -> Control:
    """The first tag of a labelling interface that suits the model's task."""
    # Entities can expand without bound, so declarations are refused before the parser sees them.
    if "<!" in config.replace("<!--", ""):
        raise Problem(422, "bad_config", "A labelling interface must not have a document type or entities.")
    try:
        root = ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise Problem(422, "bad_config", f"The labelling interface is not XML: {error}.") from None
    for tag in root.iter():
        kind = tag.tag.lower() if isinstance(tag.tag, str) else ""
        if CONTROLS.get(kind) == model.task and tag.get("name") and tag.get("toName"):
            # An alias, where there is one, is what Label Studio writes into results.
            choices = [one.get("alias") or one.get("value") or "" for one in tag.iter() if one.tag == "Choice"]
            return Control(kind, tag.get("name", ""), tag.get("toName", "").split(",")[0], tuple(choices))
    # Nothing suits: the message names the tags that would.
    wanted = " or ".join(f"<{kind.title()}>" for kind, task in CONTROLS.items() if task == model.task) or "no tag"
    raise Problem(
        422, "no_control", f"The labelling interface has no {wanted}; the model {model.name!r} does {model.task}."
    )


def record_of(task: Any) -> dict[str, Any]:
    """The record of a task: those of its data that are plain values."""
    data = field(task, "data", dict)
    return {name: value for name, value in data.items() if not isinstance(value, dict | list)}


def annotations_in(body: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The annotations of a webhook, each with its task; Label Studio sends one of each, or lists."""
    annotations = body.get("annotation")
    if isinstance(annotations, dict):
        # Matched by id, since the two lists need not be in the same order.
        return [(annotations, field(body, "task", dict))]
    found = field(body, "annotation", list)
    tasks = {number_in(task, "id"): task for task in field(body, "task", list)}
    return [(one, tasks[number]) for one in found if (number := number_in(one, "task")) in tasks]


def number_in(value: Any, name: str) -> int:
    """A number by which Label Studio tells things apart."""
    number = value.get(name) if isinstance(value, dict) else None
    if type(number) is not int:
        raise Problem(422, "no_id", f"Expected a whole number as {name!r}, got {short(number)}.")
    return number


def id_of(annotation: Any) -> str:
    """The id under which an annotation is learned."""
    return f"label-studio-{number_in(annotation, 'id')}"


def label_in(annotation: dict[str, Any], model: Model) -> Any:
    """What an annotation says; None if it was skipped, or has no result for the model."""
    if annotation.get("was_cancelled"):
        return None
    results = annotation.get("result")
    # An interface may have several tags; results of those that do not suit the task are passed over.
    for one in results if isinstance(results, list) else []:
        kind = one.get("type") if isinstance(one, dict) else None
        value = one.get("value") if isinstance(one, dict) else None
        if not isinstance(kind, str) or CONTROLS.get(kind) != model.task or not isinstance(value, dict):
            continue
        found = value.get(kind)
        # Numbers and ratings stand alone; choices come as a list.
        if not isinstance(found, list):
            return found
        if len(found) > 1:
            raise Problem(422, "several_labels", f'Expected one choice, got {len(found)}: set choice="single".')
        return found[0] if found else None
    return None


# What it is answered ----------------------------------------------------------------------------------


def result_of(control: Control, prediction: Any) -> list[dict[str, Any]]:
    """A prediction as the result of an annotation; empty if there is none that the interface could show."""
    value: Any = prediction
    if control.kind == "choices":
        # A class that the interface does not offer could not be shown, and would be an invalid annotation.
        if str(prediction) not in control.choices:
            return []
        value = [str(prediction)]
    elif prediction is None:
        return []
    elif control.kind == "rating":
        # Stars begin at 1.
        value = max(1, round(prediction))
    place = {"from_name": control.name, "to_name": control.to_name, "type": control.kind}
    return [{**place, "value": {control.kind: value}}]


def version_of(model: Model) -> str:
    """The version of a model: it changes with all that is learned."""
    return f"{model.name}-{model.position}"
