"""``--dask``: the cluster that a command works on, for as long as it works.

``local`` is one of processes on this computer, as many as there are cores; anything else is one that is there already.
What Dask has to say goes to its own log, if somebody keeps one: here it would stand between the lines of a command.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from aggro.cli.console import Mistake, shown

LOCAL_CLUSTER = re.compile(r"local(?::([1-9]\d{0,3}))?")
SCHEDULER_ADDRESS = re.compile(r"(?:[a-z]+://)?[^/\s:]+:\d{1,5}|[a-z]+://\S+")
LOGGERS = ("distributed", "tornado", "asyncio")
LONGEST_FILE = 2**20  # letters that a scheduler's may have
SCHEDULER_TIMEOUT = 5  # seconds in which a scheduler must answer
DASK_PANEL = "On Dask"
EXPECTED_CLUSTER = "local, local:N for N processes, an address such as tcp://host:8786, or a scheduler's file"
MERGE_WEIGHTS = ("rows", "uniform", "updates")  # as aggro.mixing has them
SIZE_IN_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?", re.IGNORECASE)
PARTITION_BYTES = 2**26  # as aggro.streams has it


def complete_weights(incomplete: str) -> list[str]:
    return [name for name in MERGE_WEIGHTS if name.startswith(incomplete)]


def complete_clusters(incomplete: str) -> list[str]:
    return [name for name in ("local", "tcp://") if name.startswith(incomplete)]


def size(written: str) -> int:
    """Bytes as people write them: 67108864, 64MB, 64MiB."""
    # The whole text must be a size, or «64 MB of memory» would pass as 64.
    match = SIZE_IN_BYTES.fullmatch(str(written).strip())
    if match is None:
        raise Mistake(f"--partition-bytes: {written!r} is not a size. Write bytes, such as 1000000, or 64MB.")
    # The place of the letter among « kmg» is the power.
    power = " kmg".index(match[2].lower() or " ")
    found = int(float(match[1]) * (1024 if match[3] else 1000) ** power)
    if found < 1:
        raise Mistake(f"--partition-bytes: {written!r} is less than a byte.")
    return found


Dask = Annotated[
    str | None,
    typer.Option(
        metavar="SCHEDULER",
        rich_help_panel=DASK_PANEL,
        autocompletion=complete_clusters,
        help="Train on partitions in parallel: local, tcp://host:8786 or a scheduler file.",
    ),
]
PartitionBytes = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        parser=size,
        rich_help_panel=DASK_PANEL,
        help="Size of a partition, such as 16MB; at least 1MiB.  [default: 64MiB]",
    ),
]
Mix = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        rich_help_panel=DASK_PANEL,
        autocompletion=complete_weights,
        help=f"Weigh partitions by {', '.join(MERGE_WEIGHTS)} when merging.  [default: rows]",
    ),
]


def check_dask(where: str | None, partition_bytes: int | None, mix: str | None) -> None:
    """Refuse what cannot be, before anything is read."""
    if where is None:
        for said, what in ((partition_bytes, "--partition-bytes"), (mix, "--mix")):
            if said is not None:
                raise Mistake(f"{what} needs --dask: without it there are no partitions.")
        return
    if mix is not None and mix not in MERGE_WEIGHTS:
        raise Mistake(f"--mix: unknown choice {mix!r}. There are: {', '.join(MERGE_WEIGHTS)}.")
    # Looked up, not imported: Dask takes its time, and the check comes before any reading.
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise Mistake("--dask needs Dask: pip install 'aggro[dask]'.")
    if LOCAL_CLUSTER.fullmatch(where) is not None:
        return
    # A file is a scheduler's file; its content is checked now, not when the data are cut.
    if os.path.isfile(where):
        address_in(where)
    elif where.startswith("local:") or SCHEDULER_ADDRESS.fullmatch(where) is None:
        if where.endswith(".json"):
            raise Mistake(f"--dask: there is no file {where!r}. Expected {EXPECTED_CLUSTER}.")
        raise Mistake(f"--dask: {where!r} is not a scheduler. Expected {EXPECTED_CLUSTER}.")


@contextmanager
def connected(where: str, plugins: Sequence[str] = ()) -> Iterator[Any]:
    """A client of the cluster; one that was begun here is ended, whatever happens."""
    match = LOCAL_CLUSTER.fullmatch(where)
    # The stack closes in reverse order: first the client, then the cluster.
    with quiet(), contextlib.ExitStack() as stack:
        if match is not None:
            # «local» alone means all cores.
            cluster = local_cluster(int(match[1] or 0) or cores())
            stack.callback(ended, cluster.close)
            client = new_client(where, address=cluster)
        elif os.path.isfile(where):
            client = new_client(where, address=address_in(where))
        else:
            client = new_client(where, address=where)
        stack.callback(ended, client.close)
        give_plugins(client, plugins)
        yield client


def address_in(path: str) -> str:
    """The address in a scheduler's file."""
    try:
        # Bounded: any file could be named here.
        with open(path, encoding="utf-8") as file:
            address = json.loads(file.read(LONGEST_FILE))["address"]
        if isinstance(address, str):
            return address
    except (OSError, ValueError, LookupError, TypeError):
        pass
    raise Mistake(
        f"--dask: {shown(path)} is not a scheduler file, which holds an address. Expected {EXPECTED_CLUSTER}."
    )


def cores() -> int:
    """Those that this process may use."""
    # Job systems may allow fewer than there are.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_cluster(processes: int) -> Any:
    """Processes of one thread each: learning takes a core, and two learners in one process wait for each other."""
    import dask
    from distributed import LocalCluster

    given = "distributed.nanny.pre-spawn-environ"  # what workers have in their environment from their first moment on
    # Workers inherit this: they must be silent from their first line on.
    silent = {"AGGRO_QUIET": "1", "DASK_LOGGING__DISTRIBUTED": "critical"}
    # Ctrl-C is for the command, which ends the workers in order.
    with aside_from_interrupts(), dask.config.set({given: {**dask.config.get(given, {}), **silent}}):
        try:
            return LocalCluster(
                n_workers=processes,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # a port for its pages, whichever is free
                silence_logs=logging.CRITICAL,
            )
        except (OSError, RuntimeError) as error:
            raise Mistake(f"--dask local: no processes can be started here ({said(error)}).") from error


def new_client(where: str, **to: Any) -> Any:
    from distributed import Client

    try:
        # Not the default client of the process, which may have another one.
        return Client(timeout=SCHEDULER_TIMEOUT, set_as_default=False, **to)
    except Exception as error:  # what a wrong address, file or answer leads to is not told apart
        raise Mistake(
            f"--dask: there is no scheduler at {where} ({said(error)}). Start one with 'dask scheduler', or use "
            "--dask local."
        ) from error


def said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def give_plugins(client: Any, plugins: Sequence[str]) -> None:
    """Let workers know the learners and steps of the user's own."""
    for name in plugins:
        try:
            # A file goes to the workers; a module must be installed there.
            if name.endswith(".py"):
                client.upload_file(name)
            else:
                from importlib import import_module

                client.run(import_module, name)
        except Exception as error:  # whatever a plugin may do
            raise Mistake(f"The plugin {name} cannot be loaded by the workers: {said(error)}.") from error


def ended(close: Callable[..., Any]) -> None:
    """What is to end ends, and if it cannot, there is nobody to whom that matters any more."""
    with contextlib.suppress(Exception):
        close(timeout=10)


@contextmanager
def aside_from_interrupts() -> Iterator[None]:
    """Processes that are begun inside do not hear Ctrl-C, which is for the command alone: it ends them in order.

    What a thread does not hear, those that it begins do not, nor their processes. A Ctrl-C inside is heard afterwards.
    """
    # Only the main thread hears signals, and some systems have no masks.
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which would unblock signals in the thread that begins it
    # Blocked here, so that threads and processes inherit the mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, Dask logs nothing."""
    import distributed  # noqa: F401  (it sets the levels of its loggers when it is imported)

    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOGGERS]
    loggers = [logging.getLogger(name) for name in {*LOGGERS, *known}]  # some have a level of their own
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
