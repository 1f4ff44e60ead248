"""What every request handler is given: the models, the limits, who is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from aggro.serve.limits import Limits
from aggro.serve.models import Models
from aggro.serve.problems import Problem
from aggro.serve.questions import Leases
from aggro.serve.tokens import Tokens

THREADS = 4
Found = TypeVar("Found")


class Service:
    """The models of one folder, as HTTP sees them."""

    def __init__(self, models: Models, needs_token: bool = False, hosts: tuple[str, ...] = ()) -> None:
        self.models = models
        self.limits: Limits = models.limits
        self.needs_token = needs_token
        self.hosts = hosts  # names that requests may call the server by, beside those of this machine
        self.tokens = Tokens(models.store, models.limits.tokens)
        self.leases = Leases(models.limits.lease)
        self.requests: dict[tuple[str, int], int] = {}  # how many, by operation and status
        self.seconds: dict[str, float] = {}  # in all, by operation
        self.warm = False  # what a new model needs has been compiled
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="aggro-http")

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[operation, status] = self.requests.get((operation, status), 0) + 1
        self.seconds[operation] = self.seconds.get(operation, 0.0) + seconds

    async def in_thread(self, do: Callable[[], Found]) -> Found:
        """Something that takes its time, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, do)

    async def done(self, future: Future[Any]) -> Any:
        """The answer of a model's thread."""
        try:
            async with asyncio.timeout(self.limits.answer_timeout):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            text = "The request is still in the queue. Send it again, with the same Idempotency-Key."
            raise Problem(503, "timeout", text, retry_after=5) from None
