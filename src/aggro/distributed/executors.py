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
        """The result of a task: the handle itself, since tasks run as soon as they are submitted."""
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
        self.version = ""  # that all must have

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future."""
        with self._watched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a model is large for a task: it must be in one
            # Pieces of collections are graphs of their own, so the whole task goes to compute().
            if any(hasattr(one, "__dask_graph__") for one in arguments):
                return self.client.compute(self._delayed(function, arguments))
            # Not pure: the same call is a task of its own, or Dask would hand out an old result by its key.
            return self.client.submit(checked, self.version, function, *arguments, key=_key(function), pure=False)

    def submit_all(self, function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Futures; pieces of collections go to the scheduler all at once, since each time takes a while."""
        if not any(hasattr(part, "__dask_graph__") for one in arguments for part in one):
            return [self.submit(function, *one) for one in arguments]
        with self._watched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(self.client.compute([self._delayed(function, one) for one in arguments]))

    def _delayed(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        from dask.delayed import delayed

        return delayed(checked, pure=False)(self.version, function, *arguments, dask_key_name=_key(function))

    def result(self, handle: Any) -> Any:
        """What it gave, or the error that it ended with."""
        with self._watched():
            return _result(handle)

    def as_completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As they come."""
        from distributed import as_completed

        # Futures come back in the order in which they end, so each is found again by its key.
        number = {handle.key: k for k, handle in enumerate(handles)}
        with self._watched():
            for handle in as_completed(handles, loop=self.client.loop):  # which need not be the current client
                yield number[handle.key], _result(handle)

    def check(self, version: str) -> None:
        """Refuse a cluster with another version of this package, before it is sent any of its objects.

        It waits until there is a worker. Those that come later find out with their first task.
        """

        def there() -> str:  # inside, so that it goes by value: a worker may not have this module
            try:
                import aggro

                return str(aggro.__version__)
            except ImportError:
                return ""

        self.version = version
        with self._watched():
            refuse_other("The scheduler", self.client.run_on_scheduler(there), version)  # it unpacks all tasks
            self.client.submit(there, pure=False).result()  # some clusters have workers only when there is a task
            # All workers of this moment, in the order of their addresses for the message.
            found = self.client.run(there)
        for worker, theirs in sorted(found.items()):
            refuse_other(f"The worker {worker}", theirs, version)

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
            # The task's own error goes to the user as it was, before anything below can take it for the cluster's.
            own = error.args[0]
            raise own from own.__cause__
        except KilledWorker as error:
            raise ClusterLost(
                f"Workers died again and again on the same task ({error.task}), usually because they ran out of memory "
                "or do not have aggro. Use smaller partitions or more memory. The logs of the workers say more."
            ) from error
        except (CommClosedError, CancelledError, Cancelled, FutureCancelledError, TimeoutError, OSError) as error:
            # Files raise OSError as well, and the cluster is not to blame for them.
            if isinstance(error, OSError) and not isinstance(error, CommClosedError | ConnectionError | TimeoutError):
                raise  # of a file
            raise ClusterLost(f"The cluster {self._name()} does not answer any more ({_said(error)}).") from error
        except RuntimeError as error:
            # dask raises RuntimeError for a closed client, but so may any task.
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
        # A killed worker is the cluster's affair, though it ends the task in error.
        if handle.status == "error" and not isinstance(error, KilledWorker):
            raise _OfTask(error) from error
        raise


def _said(error: BaseException) -> str:
    told = getattr(error, "msg", None) or str(error)  # of a future that was cancelled: without its number
    return " ".join(str(told).split())[:200].rstrip(".") or type(error).__name__


def _key(function: Callable[..., Any]) -> str:
    """The name of a task, as Dask's pages show it."""
    from uuid import uuid4

    return f"{function.__name__}-{uuid4()}"


def checked(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, on a worker that has this version."""
    import aggro

    # Workers that came after check() are caught here, with their first task.
    if aggro.__version__ != version:
        from distributed import get_worker

        refuse_other(f"The worker {get_worker().address}", aggro.__version__, version)
    return function(*arguments)


def refuse_other(who: str, theirs: str, version: str) -> None:
    """Refuse another version of this package; "" is none."""
    if theirs != version:
        raise RuntimeError(
            f"{who} has {f'aggro {theirs}' if theirs else 'no aggro'}, and the client has {version}: models of two "
            "versions cannot be combined. Install the same version everywhere."
        )


def executor_for(client: Any) -> Executor:
    """The given client's cluster; that of the current client, if there is one; else this process."""
    if client is not None:
        # By its methods: distributed need not be installed where no client is given.
        if not hasattr(client, "submit") or not hasattr(client, "run_on_scheduler"):
            raise TypeError(
                f"client must be a Client of dask.distributed, got {client!r}. Say Client(address) for an address."
            )
        # Its calls return coroutines, which nothing here would await.
        if client.asynchronous:
            raise TypeError(
                "The client is asynchronous, and nobody would wait for it. Make it without asynchronous=True."
            )
        return OnDask(client)
    import sys

    if "distributed" in sys.modules:  # nobody has made a client if nobody has imported it
        from distributed import default_client

        try:
            return OnDask(default_client())
        except ValueError:
            pass
    return Here()
