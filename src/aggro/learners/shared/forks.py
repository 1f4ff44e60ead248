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
from typing import Any
from weakref import WeakSet

import aggro.engine.jit.compile  # noqa: F401  it registers first, so that its lock is taken after those of models
from aggro.learners.shared.one_row_code import PLACING

MODELS: WeakSet[Any] = WeakSet()
ENLISTING = threading.Lock()
FORKING = threading.RLock()  # two threads may fork at once
TURNS: WeakSet[Turn] = WeakSet()
AFTER: list[tuple[Callable[[], Any], Callable[[], Any]]] = []  # the fork: in the parent and in the child


class Turn:
    """A lock that may be held for long, and that a child gets anew if another thread holds it.

    Use it as ``with turn.lock``: methods of Python's own to enter and leave could be interrupted half-way.
    """

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()
        with ENLISTING:
            TURNS.add(self)

    def is_mine(self) -> bool:
        """Whether this very thread holds it."""
        return bool(self.lock._is_owned())

    def renew(self) -> None:
        """Nobody holds it."""
        self.lock = threading.RLock()


BEGINNING = Turn()  # two threads may bring the first rows to one learner at once


def turn_of(owner: Any) -> Turn:
    """The turn that calls to this object take, made with the first of them."""
    turn: Turn | None = owner.__dict__.get("_lock")
    if turn is None:
        with BEGINNING.lock:
            turn = owner.__dict__.setdefault("_lock", Turn())
    return turn


def enlist(model: Any) -> None:
    """Watch over the locks of a model."""
    with ENLISTING:
        MODELS.add(model)


def take(lock: Any, renew: Callable[[], Any]) -> None:
    """Take a lock that is free, or this thread's own; if another thread has it, the child renews it."""
    if lock.acquire(blocking=False):
        AFTER.append((lock.release, lock.release))
    else:
        AFTER.append((lambda: None, renew))


def wait(lock: Any) -> None:
    """Take a lock that is held for moments."""
    lock.acquire()
    AFTER.append((lock.release, lock.release))


def before() -> None:
    """Wait until no state is being changed in place."""
    wait(FORKING)
    guarded: set[int] = set()
    while True:
        with ENLISTING:
            models = list(MODELS)
        for model in models:
            if id(model) not in guarded:
                guarded.add(id(model))
                wait(model.guard)
                take(model.learning, model.renew)
        ENLISTING.acquire()
        if len(MODELS) == len(models):
            break
        ENLISTING.release()  # there is a new one
    AFTER.append((ENLISTING.release, ENLISTING.release))
    wait(PLACING)
    for turn in list(TURNS):
        take(turn.lock, turn.renew)


def in_parent() -> None:
    """Go on."""
    while AFTER:
        AFTER.pop()[0]()


def in_child() -> None:
    """Go on, without what other threads held."""
    while AFTER:
        AFTER.pop()[1]()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
