"""Handlers for records: predict, learn, ask, answer, undo, explain, and the questions of the labelling page."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from aggro.serve.keys import digest_of
from aggro.serve.model import Model
from aggro.serve.problems import Problem
from aggro.serve.questions import asks, probability, shown
from aggro.serve.shapes import MADE, Examples, check_id, check_label, check_record, read_examples
from aggro.serve.strict_json import dump, parse_text
from aggro.serve.web.guard import check_scope
from aggro.serve.web.requests import Json, body_of, check_query, is_lines, json_of, key_of, lines_of, parsed, read
from aggro.serve.web.service import Service

PREDICT_KEYS = ("record", "id", "probabilities", "reasons", "store")
PREDICTED_AT_ONCE = 100  # records that are predicted at once; more would let other requests wait
LEARNING = ("record", "label", "id", "weight")
ASKING = ("record", "id")
ANSWERING = ("id", "label")


def model_of(service: Service, request: Request) -> Model:
    """The model that the path names."""
    return service.models.find(request.path_params["name"])


# Predicting -------------------------------------------------------------------------------------------


async def predict(service: Service, request: Request) -> Response:
    """Predict one record, many, or a stream."""
    model = model_of(service, request)
    if is_lines(request):
        return await predict_lines(service, request, model)
    raw = await body_of(service, request)

    def understood() -> tuple[Any, Examples]:
        found = parsed(service, raw)
        return found, read_examples(found, service.limits, PREDICT_KEYS)

    body, examples = await read(service, raw, understood)
    # Nearly all requests hold nothing but the records and skip the flags.
    if len(body) > 1:  # not the records alone
        wanted = {name: flag(body, name) for name in ("probabilities", "reasons", "store")}
        if any(wanted.values()) or examples.ids:
            return Json(await predict_more(service, request, model, examples, wanted))
    predictions = await predicted(service, model, examples)
    return Json({"prediction": predictions[0]} if examples.one else {"predictions": predictions})


def flag(body: dict[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise Problem(422, "bad_field", f"{name!r} must be true or false.")
    return value


async def predicted(service: Service, model: Model, examples: Examples) -> list[Any]:
    """The predictions; what may take long, or may have to be compiled, is done off the event loop."""
    with model.replicas.reading() as side:
        # Short work on compiled code runs here: handing it to a thread would take longer than the prediction.
        if side.ready and len(examples.records) <= PREDICTED_AT_ONCE:
            return model.predict(examples, side)
        return await service.in_thread(lambda: model.predict(examples, side))


async def predict_more(
    service: Service, request: Request, model: Model, examples: Examples, wanted: dict[str, bool]
) -> dict[str, Any]:
    """Predictions with probabilities and reasons, and records stored under ids."""
    answer: dict[str, list[Any]] = {}

    def ask() -> None:
        with model.replicas.reading() as side:  # one model for all parts of the answer
            answer["predictions"] = model.predict(examples, side)
            if wanted["probabilities"]:
                answer["probabilities"] = model.probabilities(examples, side)
            # Of an empty model there is no prediction, and nothing to explain.
            if wanted["reasons"]:
                answer["reasons"] = [
                    model.explain(record, None, side) if prediction is not None else None
                    for record, prediction in zip(examples.records, answer["predictions"], strict=True)
                ]

    await service.in_thread(ask)
    if examples.ids or wanted["store"]:
        # Reading suffices to predict, but storing records changes what waits, which needs "learn".
        check_scope(service, request, "learn")
        ids = stored_ids(examples)
        # A record that waits already keeps its first prediction, and the answer repeats that one.
        stored = await service.done(model.waiting.put(ids, examples.records, answer["predictions"], [None] * len(ids)))
        answer["predictions"] = stored
        answer["ids"] = ids
    if examples.one:
        # One record gets single fields; many get lists under plural names.
        return {singular(name): values[0] for name, values in answer.items()}
    return dict(answer)


def singular(name: str) -> str:
    return {"predictions": "prediction", "ids": "id"}.get(name, name)


def stored_ids(examples: Examples) -> list[str]:
    """An id for each record, made where none was sent."""
    sent: list[str | None] = examples.ids or [None] * len(examples.records)
    for id in sent:
        # Ids of this form name places in the journal; a sent one would shadow an entry.
        if id is not None and id.startswith(MADE):
            raise Problem(422, "bad_id", f"Ids that begin with {MADE!r} are made by the service.")
    # Random, so that nobody can guess the id of another client's record.
    return [secrets.token_hex(12) if id is None else id for id in sent]


async def predict_lines(service: Service, request: Request, model: Model) -> Response:
    """Predict a stream of lines, answered line by line while it is read."""

    async def answers(examples: Examples) -> list[dict[str, Any]]:
        return [{"prediction": one} for one in await predicted(service, model, examples)]

    return await line_by_line(blocks_of(service, request, PREDICT_KEYS[:1]), answers)


async def line_by_line(
    blocks: AsyncIterator[tuple[int, Examples]], answers: Callable[[Examples], Awaitable[list[dict[str, Any]]]]
) -> Response:
    """Answer each block of a stream with a line for each record; what is wrong in the first has a status of its own."""
    # The first block is answered before the status is sent: mistakes mostly show at once.
    first = await anext(blocks, None)
    begun = None if first is None else await answers(first[1])

    async def lines() -> AsyncIterator[bytes]:
        found = begun
        while found is not None:
            # The answer goes out while later lines are still to come, so neither side holds the whole stream.
            yield b"".join(dump(one) + b"\n" for one in found)
            try:
                block = await anext(blocks, None)
                found = None if block is None else await answers(block[1])
            except Problem as problem:  # the answer has begun: the status cannot tell
                yield dump(problem.body()) + b"\n"
                return

    return StreamingResponse(lines(), media_type="application/x-ndjson")


# Learning ---------------------------------------------------------------------------------------------


async def learn(service: Service, request: Request) -> Response:
    """Learn one example, many, or a stream; or a label alone, by the id of a record that was predicted."""
    model = model_of(service, request)
    if is_lines(request):
        return await learn_lines(service, request, model, LEARNING)
    key, body = key_of(request), await body_of(service, request)
    examples = await read(
        service, body, lambda: read_examples(parsed(service, body), service.limits, LEARNING, by_id=True)
    )
    future = model.learn(examples, key, digest_of(b"learn", body) if key else b"")
    return Json(await service.done(future))


async def learn_lines(service: Service, request: Request, model: Model, allowed: tuple[str, ...]) -> Response:
    """Learn a stream of lines, block by block; every block that was learned is on the disk."""
    key, learned, last = key_of(request), 0, 0
    try:
        async for number, examples, text in blocks_with_text(service, request, allowed):
            # Each block has a key of its own, so a stream that is sent again skips the blocks that were learned.
            block_key = None if key is None else f"{key}#{number}"
            answer = await service.done(model.learn(examples, block_key, digest_of(b"lines", text)))
            learned += answer["learned"]
            last = number
    except Problem as problem:
        # Earlier blocks stay learned; the client learns from here where to go on.
        problem.details |= {"learned": learned, "after_line": last}
        raise
    return Json({"learned": learned})


async def blocks_of(
    service: Service, request: Request, allowed: tuple[str, ...]
) -> AsyncIterator[tuple[int, Examples]]:
    """Blocks of a stream's lines, and the number of each block's last line."""
    async for number, examples, _ in blocks_with_text(service, request, allowed):
        yield number, examples


async def blocks_with_text(
    service: Service, request: Request, allowed: tuple[str, ...]
) -> AsyncIterator[tuple[int, Examples, bytes]]:
    """Blocks of a stream's lines, with each block's last line number and text; a block ends after so many lines."""
    lines: list[tuple[int, bytes]] = []
    async for number, line in lines_of(service, request):
        lines.append((number, line))
        # Blocks bound the memory of a stream, and each is one entry and one commit.
        if len(lines) == service.limits.stream_block:
            yield lines[-1][0], block(service, lines, allowed), b"\n".join(text for _, text in lines)
            lines = []
    # The last block, which is seldom full.
    if lines:
        yield lines[-1][0], block(service, lines, allowed), b"\n".join(text for _, text in lines)


def block(service: Service, lines: list[tuple[int, bytes]], allowed: tuple[str, ...]) -> Examples:
    """The examples of some lines."""
    found = Examples([], one=False)
    ids: list[str | None] = []
    for number, line in lines:
        try:
            # Each line is checked like a request of its own, so the message can name it.
            one = read_examples(parsed(service, line), service.limits, allowed, by_id="label" in allowed)
        except Problem as problem:
            raise Problem(problem.status, problem.code, f"Line {number:,}: {problem.message}") from None
        if not one.one:
            raise Problem(422, "many", f"Line {number:,}: a line has one record.")
        found.records += one.records
        found.labels += one.labels
        # Filled up where a line has none, so that weights and ids stay in step with the records.
        found.weights += one.weights or [1.0]
        ids += one.ids or [None]
    if any(id is not None for id in ids):
        found.ids = ids
    if all(weight == 1.0 for weight in found.weights):
        found.weights = []
    if found.records and len(found.records) != len(lines):
        raise Problem(422, "mixed", f"Up to line {lines[-1][0]:,}: some lines have records and some have ids alone.")
    return found


# Asking and answering ---------------------------------------------------------------------------------


async def ask(service: Service, request: Request) -> Response:
    """Say whether a label is worth asking for; if so, the record waits for it."""
    model = model_of(service, request)
    if model.task != "classification":
        raise Problem(422, "not_a_classifier", "Only classifiers ask for labels.")
    if is_lines(request):
        blocks = blocks_of(service, request, ASKING)
        return await line_by_line(blocks, lambda examples: asked(service, model, examples))
    examples = read_examples(await json_of(service, request), service.limits, ASKING)
    found = await asked(service, model, examples)
    if examples.one:
        return Json(found[0])
    many = {"ask": "ask", "ids": "id", "predictions": "prediction", "probabilities": "probability"}
    return Json({name: [one[each] for one in found] for name, each in many.items()})


async def asked(service: Service, model: Model, examples: Examples) -> list[dict[str, Any]]:
    """For each record whether the model asks about it. Those it asks about are stored."""
    ids = stored_ids(examples)

    def judge() -> tuple[list[Any], list[float]]:
        # One copy for predictions and probabilities.
        with model.replicas.reading() as side:
            try:
                shares = model.probabilities(examples, side)
            except Problem as problem:
                # A model without probabilities asks about everything, as one that knows nothing does.
                if problem.code != "no_probabilities":
                    raise
                shares = [None] * len(ids)
            return model.predict(examples, side), [probability(one) for one in shares]

    predictions, chances = await service.in_thread(judge)
    # The draw decides; p is stored with it, because the answer counts 1/p times.
    chosen = [i for i, p in enumerate(chances) if asks(p)]
    if chosen:
        await service.done(
            model.waiting.put(
                [ids[i] for i in chosen],
                [examples.records[i] for i in chosen],
                [predictions[i] for i in chosen],
                [chances[i] for i in chosen],
            )
        )
    stored = {*chosen}
    return [
        {"ask": i in stored, "id": id, "prediction": prediction, "probability": p}
        for i, (id, prediction, p) in enumerate(zip(ids, predictions, chances, strict=True))
    ]


async def answer(service: Service, request: Request) -> Response:
    """Learn the label of a record that waits."""
    model = model_of(service, request)
    if is_lines(request):
        return await learn_lines(service, request, model, ANSWERING)
    key, body = key_of(request), await body_of(service, request)
    found = parsed(service, body)
    # Not a field of examples: it only says whose lease this is.
    person = found.pop("person", None) if isinstance(found, dict) else None
    examples = read_examples(found, service.limits, ANSWERING, by_id=True)
    # Before learning, so that two people never answer the same example.
    for id in examples.ids:
        if id is not None:
            service.leases.check(model, id, person if isinstance(person, str) else None)
    done = await service.done(model.learn(examples, key, digest_of(b"answer", body) if key else b""))
    # Ended only after the commit: if learning fails, the example stays with this person.
    for id in examples.ids:
        service.leases.end(model, str(id))
    return Json(done)


async def undo(service: Service, request: Request) -> Response:
    """Take a label back, exactly."""
    model, key, body = model_of(service, request), key_of(request), await body_of(service, request)
    id = id_in(parsed(service, body), service)
    return Json(await service.done(model.undo(id, key, digest_of(b"undo", body) if key else b"")))


async def skip(service: Service, request: Request) -> Response:
    """Show a person another example; this one waits on for its label, and for others."""
    model, body = model_of(service, request), await json_of(service, request)
    person = person_in(body, service)
    id = id_in({name: value for name, value in body.items() if name != "person"}, service)
    if model.waiting.find(id) is None:
        raise Problem(404, "unknown_id", f"No record waits under the id {ascii(id)[:60]}.")
    service.leases.skip(model, id, person)
    return Json({"skipped": id})


def person_in(body: Any, service: Service) -> str:
    """Who is labelling."""
    person = body.get("person") if isinstance(body, dict) else None
    if not isinstance(person, str) or not 0 < len(person) <= service.limits.name:
        raise Problem(422, "no_person", "The field 'person' is missing: any name that tells people apart.")
    return person


def id_in(body: Any, service: Service) -> str:
    """The id that a body is about."""
    if not isinstance(body, dict) or body.keys() != {"id"}:
        raise Problem(422, "no_id", 'Expected {"id": "..."}.')
    check_id(body["id"], service.limits)
    return str(body["id"])


async def question(service: Service, request: Request) -> Response:
    """The next example for a person to label. Nobody else gets the same one."""
    model, body = model_of(service, request), await json_of(service, request)
    person = person_in(body, service)
    if body.keys() - {"person", "id"}:
        raise Problem(422, "unknown_field", 'Expected {"person": "..."}, and an "id" if one is to come first.')
    wanted = body.get("id")
    if wanted is not None:
        check_id(wanted, service.limits)

    # Off the event loop: scoring candidates and reading the store take a while.
    def find() -> dict[str, Any]:
        # The lease first: progress is of the moment at which the example is shown.
        found = service.leases.next(model, person, wanted)
        waiting, asked = model.waiting.counts()
        board = model.board_now()
        progress = {
            "waiting": waiting,
            "asked": asked,
            "labels": board.rows,
            "answered": board.answered,
            "estimated_error": board.estimated_error,
            "recent_error": board.recent_error,
            "gain": board.gain,
            "more_labels_help": board.verdict(),
        }
        return {"question": None if found is None else shown(model, found), "progress": progress}

    return Json(await service.in_thread(find))


# Explaining -------------------------------------------------------------------------------------------


async def explain(service: Service, request: Request) -> Response:
    """The reasons for one prediction: POST a body, or GET with the record as a query parameter."""
    model = model_of(service, request)
    if request.method == "GET":
        check_query(request, ("record", "label"))
        if "record" not in request.query_params:
            raise Problem(422, "no_record", "The query parameter 'record' is missing; it is a record as JSON.")
        # Query parameters are texts, so the record is JSON inside one.
        body: Any = {name: as_json(service, text) for name, text in request.query_params.items()}
    else:
        body = await json_of(service, request)
    if not isinstance(body, dict) or "record" not in body or body.keys() - {"record", "label"}:
        raise Problem(422, "no_record", 'Expected {"record": {...}} and, if you like, a "label".')
    # The record has the limits that it has when it is predicted.
    check_record(body["record"], service.limits)
    label = body.get("label")
    if label is not None:
        check_label(label, service.limits)

    def find() -> dict[str, Any]:
        with model.replicas.reading() as side:
            return model.explain(body["record"], label, side)

    return Json(await service.in_thread(find))


def as_json(service: Service, text: str) -> Any:
    """A query parameter as JSON, or as the text that it is."""
    try:
        return parse_text(text, service.limits.number_digits)
    except Problem:
        # A broken object is a mistake; any other text, such as a label, may stand without quotes.
        if text[:1] in ("{", "["):
            raise
        return text
