"""Forks beside threads that learn: children have whole models and locks that they can take."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")

DEADLINE = 120  # seconds in which a child that hangs is given up: an ordinary one takes hundredths of one

SCRIPT = """
import os, signal, sys, threading
import numpy as np
from aggro import PAClassifier, PARegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 8))
y = X[:, 0] > 0
known = {f"f{j}": 1.0 for j in range(5)}
by_row, by_pass, by_chunk = (PAClassifier(average=True).partial_fit(X[:50], y[:50]) for _ in range(3))
by_dict = PARegressor().learn_one(known, 1.0)
ended = threading.Event()


def forever(work):
    def loop():
        while not ended.is_set():
            work()

    return threading.Thread(target=loop, daemon=True)


def rows():
    for i in range(50):
        by_row.learn_one(X[i], bool(y[i]))


def dicts():
    for i in range(50):
        by_dict.learn_one(known, float(i))
        by_dict.predict_one(known)


def beginners():
    PAClassifier().partial_fit(X[:20], y[:20])  # holds the lock of first rows


works = [rows, dicts, beginners, lambda: by_pass.partial_fit(X, y), lambda: by_chunk.partial_fit(X[:4], y[:4])]
threads = [forever(work) for work in works]


def child():
    # Whole: as many rows were counted as are in the average.
    for model in (by_row, by_pass, by_chunk):
        before = model.n_seen_
        model.learn_one(X[0], bool(y[0])).partial_fit(X[:100], y[:100]).partial_fit(X, y)
        assert model.n_seen_ == before + 1 + 100 + len(X), (model.n_seen_, before)
        model.predict_one(X[1]), model.predict(X[:9])
        assert not model._model.busy
    by_dict.learn_one(known, 1.0).predict_one(known)
    PAClassifier().learn_one(X[0], 1)
    PAClassifier().partial_fit(X[:20], y[:20])


for work in works:
    work()
for thread in threads:
    thread.start()
for k in range(int(sys.argv[1])):
    made = os.fork()
    if not made:
        signal.alarm(int(sys.argv[2]))
        try:
            child()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(made, 0)
    assert status == 0, f"child {k}: {status}"
ended.set()
for thread in threads:
    thread.join(60)
    assert not thread.is_alive()
print("ok")
"""


def test_children_learn_beside_threads_that_learn():
    command = [sys.executable, "-c", SCRIPT, "40", str(DEADLINE)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=2 * DEADLINE)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["ok"]


def learn_in_child(model, X, y):
    signal.alarm(DEADLINE)
    model.partial_fit(X, y)
    return model.n_seen_


def test_a_pool_of_forks_learns_while_this_process_does():
    from aggro import PAClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] > 0
    model, ended = PAClassifier().partial_fit(X, y), threading.Event()

    def learn():
        while not ended.is_set():
            model.partial_fit(X, y)

    thread = threading.Thread(target=learn, daemon=True)
    thread.start()
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            seen = pool.starmap_async(learn_in_child, [(PAClassifier(), X, y)] * 4).get(DEADLINE)
    finally:
        ended.set()
        thread.join(DEADLINE)
    assert seen == [200] * 4


def test_a_fork_waits_for_what_is_being_compiled():
    """A child can compile at once, though another thread was compiling."""
    from numba.core.compiler_lock import global_compiler_lock

    held, done = threading.Event(), []

    def compiling():
        with global_compiler_lock:
            held.set()
            while not done:
                ended.wait(0.01)
            done.append("compiled")

    ended = threading.Event()
    thread = threading.Thread(target=compiling)
    thread.start()
    held.wait()
    threading.Timer(0.05, done.append, ["go"]).start()
    made = os.fork()
    if not made:
        signal.alarm(DEADLINE)
        with global_compiler_lock:
            os._exit(0 if done[-1:] == ["compiled"] else 1)
    assert os.waitpid(made, 0)[1] == 0
    thread.join()


def test_a_child_is_told_that_it_cannot_read_its_parents_stream():
    from aggro.streams.io.prefetch import ahead

    results = ahead(lambda x: x, iter(range(1000)))
    assert next(results) == 0
    made = os.fork()
    if not made:
        signal.alarm(DEADLINE)
        try:
            next(results)
        except RuntimeError as error:
            os._exit(0 if "Open it in the child" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(made, 0)[1] == 0
    assert sum(results) == sum(range(1000))
