"""What every request handler is given: the models, the limits, who is asking."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from aggro.serve.following import Following
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
        self.following: list[Following] = []  # brokers that models learn from
        self.warm = False  # what a new model needs has been compiled
        self._answers: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._delivering = False
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="aggro-http")

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[operation, status] = self.requests.get((operation, status), 0) + 1
        self.seconds[operation] = self.seconds.get(operation, 0.0) + seconds

    async def in_thread(self, do: Callable[[], Found]) -> Found:
        """Something that takes its time, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, do)

    async def done(self, future: Future[Any]) -> Any:
        """The answer of a model's thread, or of the store's."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Any] = loop.create_future()

        def tell(found: Future[Any]) -> None:
            self._answers.append((waiter, found))
            if not self._delivering:  # one call wakes the loop up for all answers of a group
                self._delivering = True
                loop.call_soon_threadsafe(self._deliver)

        # The client gets an answer in time; the job itself stays in the queue and is done.
        timer = loop.call_later(self.limits.answer_timeout, self._give_up, waiter)
        future.add_done_callback(tell)
        try:
            return await waiter
        finally:
            # Otherwise each request would leave a timer with its future for minutes.
            timer.cancel()

    def _deliver(self) -> None:
        self._delivering = False  # before the answers are taken: one that comes later wakes the loop up again
        while self._answers:
            waiter, found = self._answers.popleft()
            if waiter.done():  # nobody waits any more
                continue
            error = found.exception()
            if error is None:
                waiter.set_result(found.result())
            else:
                waiter.set_exception(error)

    @staticmethod
    def _give_up(waiter: asyncio.Future[Any]) -> None:
        # The client may have gone, which cancels the future.
        if not waiter.done():
            text = "The request is still in the queue. Send it again, with the same Idempotency-Key."
            waiter.set_exception(Problem(503, "timeout", text, retry_after=5))
