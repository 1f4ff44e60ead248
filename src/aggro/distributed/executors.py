"""Who runs the tasks: a Dask cluster, or this very process.

Both give the same bits. A task is a function of this package, and takes the results of other tasks as they come.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol


class ClusterLost(RuntimeError):
    """The cluster went away, or lost a task too often. What was mixed last is kept."""


class Executor(Protocol):
    """Runs tasks; what ``submit`` gives stands for a result, and may be given to other tasks."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task, which may run at once or later."""

    def submit_all(self, function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """A task for each of these lists of arguments."""

    def result(self, handle: Any) -> Any:
        """What a task gave."""

    def as_completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results of small tasks as they come, each with its number."""

    def check(self, version: str) -> None:
        """Refuse to work with another version of this package."""


class Here:
    """This process, one task after another."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result itself."""
        return function(*[_computed(one) for one in arguments])

    def submit_all(self, function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """The results themselves."""
        return [self.submit(function, *one) for one in arguments]

    def result(self, handle: Any) -> Any:
        """The same."""
        return handle

    def as_completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """All of them, in order."""
        yield from enumerate(handles)

    def check(self, version: str) -> None:
        """It is this one."""


def _computed(argument: Any) -> Any:
    """A piece of a Dask collection becomes what it stands for; all else stays."""
    if hasattr(argument, "__dask_graph__"):
        return argument.compute(scheduler="synchronous")
    return argument


class OnDask:
    """A cluster, by its client.

    A worker that dies takes results along, and the scheduler runs their tasks again. So nothing is handed to workers
    but as a task: what is only scattered could not be had again.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future."""
        with self._watched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a model is large for a task: it must be in one
            if any(hasattr(one, "__dask_graph__") for one in arguments):
                from dask.delayed import delayed

                return self.client.compute(delayed(function, pure=False)(*arguments))
            return self.client.submit(function, *arguments, pure=False)

    def submit_all(self, function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Futures; pieces of collections go to the scheduler all at once, since each time takes a while."""
        if not any(hasattr(part, "__dask_graph__") for one in arguments for part in one):
            return [self.submit(function, *one) for one in arguments]
        with self._watched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from dask.delayed import delayed

            made = delayed(function, pure=False)
            return list(self.client.compute([made(*one) for one in arguments]))

    def result(self, handle: Any) -> Any:
        """What it gave, or the error that it ended with."""
        with self._watched():
            return _result(handle)

    def as_completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As they come."""
        from distributed import as_completed

        number = {handle.key: k for k, handle in enumerate(handles)}
        with self._watched():
            for handle in as_completed(handles, loop=self.client.loop):  # which need not be the current client
                yield number[handle.key], _result(handle)

    def check(self, version: str) -> None:
        """Refuse workers with another version of this package, before they are sent any of its objects."""

        def there() -> str:  # inside, so that it goes by value: a worker may not have this module
            try:
                import aggro

                return str(aggro.__version__)
            except ImportError:
                return ""

        with self._watched():
            found = self.client.run(there)
        for worker, theirs in sorted(found.items()):
            if theirs != version:
                raise RuntimeError(
                    f"The worker {worker} has aggro {theirs or 'not at all'}, and the client has {version}: models of "
                    "two versions cannot be combined. Install the same version everywhere."
                )

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """What goes wrong with the cluster, in one sentence."""
        from asyncio import CancelledError
        from concurrent.futures import CancelledError as Cancelled

        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            yield
        except _OfTask as error:
            own = error.args[0]
            raise own from own.__cause__
        except KilledWorker as error:
            raise ClusterLost(
                f"Workers died again and again on the same task ({error.task}): most often for lack of memory. "
                "Give smaller partitions, or workers with more memory."
            ) from error
        except (CommClosedError, CancelledError, Cancelled, FutureCancelledError, TimeoutError, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, CommClosedError | ConnectionError | TimeoutError):
                raise  # of a file
            raise ClusterLost(f"The cluster {self._name()} does not answer any more ({_said(error)}).") from error
        except RuntimeError as error:
            if self.client.status == "running":
                raise  # of a task
            raise ClusterLost(f"The client of the cluster {self._name()} was closed ({_said(error)}).") from error

    def _name(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", "") or "")


class _OfTask(Exception):
    """An error that a task ended with, on its way past who looks for those of the cluster."""


def _result(handle: Any) -> Any:
    """What a task gave. Its own error is no word about the cluster, whatever it is called."""
    from distributed.scheduler import KilledWorker

    try:
        return handle.result()
    except Exception as error:
        if handle.status == "error" and not isinstance(error, KilledWorker):
            raise _OfTask(error) from error
        raise


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def executor_for(client: Any) -> Executor:
    """The given client's cluster; that of the current client, if there is one; else this process."""
    if client is not None:
        return OnDask(client)
    import sys

    if "distributed" in sys.modules:  # nobody has made a client if nobody has imported it
        from distributed import default_client

        try:
            return OnDask(default_client())
        except ValueError:
            pass
    return Here()
