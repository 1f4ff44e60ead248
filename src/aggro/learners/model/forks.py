"""``os.fork`` beside threads that learn: the child begins with whole models, and with locks that it can take.

A child has the thread that forked and no other. What another thread held at that moment would be held for ever there,
and what it was changing would stay half changed. So the fork waits until nobody changes a state in place, and
until nothing is being compiled (``engine.jit.compile``), which are moments. Passes over many rows, which may be long,
work on a copy: the child does without it, and gets their locks anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar
from weakref import ref

import aggro.engine.jit.compile  # noqa: F401  it registers first, so that its lock is taken after those of models

Result = TypeVar("Result")
# By number, since a dict is copied in one step. Locks are re-entrant: a signal handler, or what the garbage collector
# calls, may make a model while this thread has them.
LIVE_MODELS: dict[int, ref[Any]] = {}
MODEL_NUMBERS = count()
ENLISTING = threading.RLock()
FORKING = threading.RLock()  # two threads may fork at once
TURNS: dict[int, ref[Turn]] = {}
AFTER_FORK: list[tuple[Callable[[], Any], Callable[[], Any]]] = []  # the fork: in the parent and in the child


class Turn:
    """A lock that may be held for long; a forked child renews it if another thread held it.

    Use it as ``with turn.lock``: methods of Python's own to enter and leave could be interrupted half-way.
    """

    def __init__(self) -> None:
        self.renew()
        watch(TURNS, self)

    def renew(self) -> None:
        """Replace the lock by a new one that nobody holds."""
        self.lock: Any = threading.RLock()
        self.in_call = threading.Lock()  # while ``thread`` is in the middle of a call
        self.thread = 0

    def check_free(self) -> None:
        """Refuse a call from within another one of this thread."""
        if self.in_call.locked() and self.thread == threading.get_ident():
            raise RuntimeError(NESTED_CALL)

    def alone(self, work: Callable[..., Result], *args: Any) -> Result:
        """Call ``work`` while no other thread has the lock; refuse that within another call of this thread."""
        self.check_free()
        with self.lock:
            self.thread = threading.get_ident()
            with self.in_call:
                return work(*args)


NESTED_CALL = (
    "This model is in the middle of a call, and a signal handler, or a method of an object among the data or "
    "parameters, has called it again. Let it return first; nothing was done by the inner call."
)


def watch(known: dict[int, ref[Any]], new: Any) -> None:
    """Keep a weak reference to an object, for as long as it lives."""
    number = next(MODEL_NUMBERS)
    with ENLISTING:
        known[number] = ref(new, lambda _: known.pop(number, None))


def living(known: dict[int, ref[Any]]) -> list[Any]:
    """All watched objects that are alive."""
    return [one for one in (each() for each in known.copy().values()) if one is not None]


BEGINNING = Turn()  # two threads may bring the first rows to one learner at once


def turn_of(owner: Any) -> Turn:
    """The turn that calls to this object take, made with the first of them."""
    turn: Turn | None = owner.__dict__.get("_lock")
    if turn is None:
        # Two threads may get here at once: ``setdefault`` under the lock lets both have the same turn.
        with BEGINNING.lock:
            turn = owner.__dict__.setdefault("_lock", Turn())
    return turn


def enlist(model: Any) -> None:
    """Watch over the locks of a model."""
    watch(LIVE_MODELS, model)


def take(lock: Any, renew: Callable[[], Any]) -> None:
    """Take a lock that is free, or this thread's own; if another thread has it, the child renews it."""
    if lock.acquire(blocking=False):
        AFTER_FORK.append((lock.release, lock.release))
    else:
        AFTER_FORK.append((lambda: None, renew))


def wait(lock: Any) -> None:
    """Take a lock that is held for moments."""
    lock.acquire()
    AFTER_FORK.append((lock.release, lock.release))


def before() -> None:
    """Wait until no state is being changed in place."""
    wait(FORKING)
    # Models may be made while the guards of others are awaited: go on until no new ones are there.
    guarded: set[int] = set()
    while True:
        ENLISTING.acquire()
        new = {number: each for number, each in LIVE_MODELS.copy().items() if number not in guarded}
        if not new:
            break
        # Released while waiting: the thread that holds a guard may have to enlist a model before it lets go.
        ENLISTING.release()
        guarded.update(new)
        for model in living(new):
            wait(model.guard)
            # A pass may be long, so the fork does not wait for it: its lock is renewed in the child.
            take(model.learning, model.renew)
    # Still held: no model is made between here and the fork.
    AFTER_FORK.append((ENLISTING.release, ENLISTING.release))
    for turn in living(TURNS):
        take(turn.lock, turn.renew)


def in_parent() -> None:
    """Go on."""
    while AFTER_FORK:
        AFTER_FORK.pop()[0]()


def in_child() -> None:
    """Go on, without what other threads held."""
    while AFTER_FORK:
        AFTER_FORK.pop()[1]()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
