"""Handlers for those who run the service: metrics for Prometheus, health, readiness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from aggro.serve.exposition import Sample, family
from aggro.serve.web.requests import Json
from aggro.serve.web.service import Service


async def health(service: Service, request: Request) -> Response:
    """The process lives."""
    return Json({"status": "ok"})


async def ready(service: Service, request: Request) -> Response:
    """Models are recovered and compiled, so that requests are served at once."""
    state = {"ready": service.warm, "notes": service.models.notes, "failed": service.models.failed}
    return Json(state, 200 if service.warm else 503)


async def metrics(service: Service, request: Request) -> Response:
    """Counters in Prometheus' text format."""
    # In a thread: the counts come from the database.
    lines = await service.in_thread(lambda: list(exposed(service)))
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def exposed(service: Service) -> Iterator[str]:
    models = [*service.models]
    # Each board is copied once, so that all metrics of a model are of the same moment.
    boards = {model.name: model.board_now() for model in models}
    waiting = {model.name: model.waiting.counts() for model in models}

    def each(value: Any) -> list[Sample]:
        # None leaves the sample out: an error that is not known yet is not an error of 0.
        return [({"model": model.name}, float(found)) for model in models if (found := value(model)) is not None]

    yield from family(
        "aggro_rows", "gauge", "Examples that the model has learned.", each(lambda m: boards[m.name].rows)
    )
    yield from family("aggro_predictions_total", "counter", "Predictions given.", each(lambda m: m.predictions))
    yield from family("aggro_error", "gauge", "Progressive error.", each(lambda m: boards[m.name].error))
    yield from family(
        "aggro_recent_error", "gauge", "Error of the last 1000 examples.", each(lambda m: boards[m.name].recent_error)
    )
    yield from family("aggro_drifts", "gauge", "Rises of the error seen.", each(lambda m: boards[m.name].drifts))
    yield from family("aggro_waiting_records", "gauge", "Records without label.", each(lambda m: waiting[m.name][0]))
    yield from family(
        "aggro_questions", "gauge", "Records that the model asks about.", each(lambda m: waiting[m.name][1])
    )
    yield from family("aggro_expired_total", "counter", "Records that got no label.", each(lambda m: m.waiting.expired))
    yield from family(
        "aggro_learning_queue", "gauge", "Requests that wait to be learned.", each(lambda m: m.queue_length())
    )
    yield from family("aggro_journal_position", "gauge", "The newest entry.", each(lambda m: m.position))
    yield from followed(service)
    store = service.models.store
    yield from family("aggro_commits_total", "counter", "Transactions on disk.", [({}, store.commits)])
    yield from family("aggro_store_bytes", "gauge", "Size of the database.", [({}, store.size())])
    counts = [({"operation": name, "status": status}, n) for (name, status), n in sorted(service.requests.items())]
    yield from family("aggro_requests_total", "counter", "Requests.", counts)
    seconds = [({"operation": name}, total) for name, total in sorted(service.seconds.items())]
    yield from family("aggro_request_seconds_total", "counter", "Time spent on requests.", seconds)


def followed(service: Service) -> Iterator[str]:
    """The metrics of brokers that models learn from; none if there are none."""
    if not service.following:
        return
    of = [({"model": one.model.name, "stream": one.name}, one) for one in service.following]
    for field, name, text in (
        ("records", "aggro_follow_records_total", "Messages of a broker that were read."),
        ("learned", "aggro_follow_learned_total", "Records of a broker that were learned."),
        ("unlabelled", "aggro_follow_unlabelled_total", "Records of a broker without a label."),
        ("dead_letters", "aggro_follow_dead_letters_total", "Messages of a broker that could not be learned."),
    ):
        samples = [(labels, float(getattr(one.counts, field))) for labels, one in of]
        yield from family(name, "counter", text, samples)
    running = [(labels, 0.0 if one.failed else 1.0) for labels, one in of]
    yield from family("aggro_follow_running", "gauge", "Whether the broker is still followed.", running)
    # Brokers that cannot tell have no sample.
    lags = [(labels, float(lag)) for labels, one in of if (lag := one.lag()) is not None]
    yield from family("aggro_follow_lag", "gauge", "Messages of a broker that were not read yet.", lags)
