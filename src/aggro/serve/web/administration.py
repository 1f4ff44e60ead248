"""Handlers for models as a whole: create, describe, download, history, snapshots, delete."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve import learners
from aggro.serve.keys import digest_of
from aggro.serve.model import Model
from aggro.serve.problems import Problem
from aggro.serve.web.examples import model_of
from aggro.serve.web.requests import Json, body_of, content_type, key_of, parsed
from aggro.serve.web.service import Service

MODEL_FILE_TYPES = ("application/octet-stream", "application/vnd.aggro")


async def models(service: Service, request: Request) -> Response:
    """All models, in short."""
    found = [
        {"name": m.name, "learner": m.spec.get("learner"), "task": m.task, "rows": m.board.rows} for m in service.models
    ]
    return Json({"models": found, "failed": service.models.failed})


async def create(service: Service, request: Request) -> Response:
    """Make a model, from a description or from a model file."""
    name = request.path_params["name"]
    if content_type(request) in MODEL_FILE_TYPES:
        # Model files have a limit of their own, far above that of requests.
        data = await body_of(service, request, service.limits.upload)
        model, new = await service.in_thread(lambda: service.models.upload(name, data))
        await service.in_thread(model.warm)  # so that no prediction waits for a compiler
    else:
        body = await body_of(service, request)
        # PUT without a body makes the default learner.
        spec = learners.check_spec(parsed(service, body) if body.strip() else {})
        model, new = await service.in_thread(lambda: service.models.create(name, spec))
    return Json(await service.in_thread(lambda: described(model)), 201 if new else 200)


async def describe(service: Service, request: Request) -> Response:
    """A model's description, counters, recent error and drift."""
    model = model_of(service, request)
    return Json(await service.in_thread(lambda: described(model)))


def described(model: Model) -> dict[str, Any]:
    board = model.board_now()
    waiting, asked = model.waiting.counts()
    # Held for these two calls only: the learning thread waits for readers of the old copy.
    with model.replicas.reading() as side:
        facts = learners.facts_of(side.learner)
        classes = learners.classes_of(side.learner)
    rows, size = model.journal.size()
    return {
        "name": model.name,
        "learner": model.spec.get("learner"),
        "settings": model.spec.get("settings") or {},
        "records": model.spec.get("records") or {},
        "task": model.task,
        "rows": board.rows,
        "updates": facts["updates"],
        "error": board.error,
        "recent_error": board.recent_error,
        "judged": board.judged,
        "drifts": facts["drifts"],
        "drift_rows": facts["drift_rows"],
        "classes": classes,
        "columns": facts.get("columns", {}),
        "waiting": waiting,
        "asked": asked,
        "expired": model.waiting.expired,
        "predictions": model.predictions,
        "queue": model.queue_length(),
        "position": model.position,
        "journal": {"first": model.journal.first(), "rows": rows, "bytes": size},
        "snapshots": [one.facts() for one in model.snapshots.listed()],
        "lost": model.lost,
    }


async def history(service: Service, request: Request) -> Response:
    """Error over time, classes, the last mistakes with reasons, alarms: what the page shows."""
    model = model_of(service, request)
    return Json(await service.in_thread(lambda: history_of(model)))


def history_of(model: Model) -> dict[str, Any]:
    board = model.board_now()
    # The newest first, and a few: each explanation costs a pass over a record.
    mistakes = [{**one, "reasons": None} for one in reversed([*board.mistakes][-10:])]
    with model.replicas.reading() as side:
        facts = learners.facts_of(side.learner)
        for one in mistakes:
            try:
                one["reasons"] = learners.explain(side.learner, one["record"], one["prediction"], most=5)["reasons"]
            # The model as it is now may be unable to explain an old record; the mistake is shown without reasons.
            except (*learners.REFUSALS, Problem):
                continue
    return {
        "name": model.name,
        "task": model.task,
        "rows": board.rows,
        "judged": board.judged,
        "error": board.error,
        "recent_error": board.recent_error,
        "plain_error": board.plain_error,
        "commonest": board.commonest or None,
        "curve": [{"judged": int(n), "error": e, "recent_error": r} for n, e, r in board.curve],
        "losses": facts.get("curve", []),
        "classes": {name: {"examples": n, "mistakes": wrong} for name, (n, wrong) in board.classes.items()},
        "mistakes": mistakes,
        "alarms": list(board.alarms),
        "drifts": facts["drifts"],
        "drift_rows": facts["drift_rows"],
        "labels": [{"answered": int(n), "estimated_error": e} for n, e in board.gain],
        "estimated_error": board.estimated_error,
        "more_labels_help": board.verdict(),
    }


async def weights(service: Service, request: Request) -> Response:
    """The largest weights, in words."""
    model = model_of(service, request)

    def find() -> list[dict[str, Any]]:
        with model.replicas.reading() as side:
            return learners.largest_weights(side.learner)

    return Json({"weights": await service.in_thread(find)})


async def download(service: Service, request: Request) -> Response:
    """The model as a file, for ``aggro.load``, ``aggro predict`` and others."""
    model = model_of(service, request)

    def read() -> bytes:
        with model.replicas.reading() as side:
            return learners.as_file(side.learner)

    headers = {"Content-Disposition": f'attachment; filename="{model.name}.aggro"'}
    return Response(await service.in_thread(read), media_type=MODEL_FILE_TYPES[0], headers=headers)


async def snapshot(service: Service, request: Request) -> Response:
    """Take a snapshot now."""
    model = model_of(service, request)
    await body_of(service, request)
    return Json(await service.done(model.snapshot()))


async def restore(service: Service, request: Request) -> Response:
    """Go back to an earlier snapshot."""
    model, key, body = model_of(service, request), key_of(request), await body_of(service, request)
    found = parsed(service, body)
    position = found.get("snapshot") if isinstance(found, dict) else None
    # bool is a kind of int in Python, and true is no position.
    if not isinstance(position, int) or isinstance(position, bool) or found.keys() != {"snapshot"}:
        raise Problem(422, "no_snapshot", 'Expected {"snapshot": n}, one of those that GET lists.')
    return Json(await service.done(model.restore(position, key, digest_of(b"restore", body) if key else b"")))


async def delete(service: Service, request: Request) -> Response:
    """Delete a model, its journal and its snapshots."""
    name = request.path_params["name"]
    await service.in_thread(lambda: service.models.delete(name))
    return Json({"deleted": name})
