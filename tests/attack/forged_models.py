"""Forged model files: each is refused with a ModelFileError, or is a model that can be used without harm.

    python tests/attack/forged_models.py --count 100000 --seed 0 [--learner NAME]

forges so many files for each learner, with a checksum that is right, and loads them from memory by the code that loads
them from a disk. What loads is used: it predicts and learns rows of every form, explains, is saved and loaded again.
Every learner works in a process of its own, which is watched: a case that ends it, or takes too long, is named, and
the next process goes on behind it. ``--case N`` tries a single one in this process.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from attack.forgeries import WAYS, goods, revived, saved
from scipy.sparse import csr_matrix

from aggro.learners.registry import ACTIVE, LEARNERS
from aggro.models.errors import ModelFileError, blaming

NAMES = [entry.name for entry in (*LEARNERS, ACTIVE)]
PATIENCE = 60.0  # seconds without progress, after which a process is taken to hang
FIRST_CASE = 3600.0  # before the first case, much is compiled
MEMORY = 6 * 2**30
FULLY = 0.1  # share of the files that load for which everything is tried


# Use ------------------------------------------------------------------------------------------------------------


def probe(model: Any) -> None:
    """The least that a model does: predict rows and learn them."""
    rows, target = known_rows(model), a_target(model)
    quietly(lambda: model.predict(rows))
    quietly(lambda: model.partial_fit(rows, [target] * len(rows)))
    quietly(lambda: model.predict(rows))


def known_rows(model: Any) -> np.ndarray:
    inner = getattr(model, "estimator_", model)
    rows: np.ndarray = np.sin(np.arange(4.0 * min(inner._model.features.n, 5000))).reshape(4, -1)
    return rows


def a_target(model: Any) -> Any:
    inner = getattr(model, "estimator_", model)
    return next(iter(inner._model.labels.codes), 1.0)


def use(model: Any) -> None:
    """Everything that reaches compiled code."""
    rows, target = known_rows(model), a_target(model)
    pairs = [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in rows]
    inner = getattr(model, "estimator_", model)
    names = inner._model.features.names or ["a", "b"]
    named = {names[0]: 1.0, names[-1]: 2.0}
    shown = ["coef_", "intercept_", "center_", "dual_coef_", "support_vectors_", "support_", "classes_", "history_"]
    calls: list[Callable[[], Any]] = [
        lambda: [model.predict_one(x) for x in (rows[0], pairs[0], named)],
        lambda: [getattr(model, name, None) for name in shown],
        lambda: model.predict(rows),
        lambda: model.predict(csr_matrix(rows)),
        lambda: model.decision_function(rows),
        lambda: [model.explain_one(x) for x in (rows[0], named)],
        lambda: model.partial_fit(rows, [target] * len(rows)),
        lambda: model.partial_fit(csr_matrix(rows), [target] * len(rows)),
        lambda: [model.learn_one(x, target) for x in rows],
        lambda: [model.learn_one(x, target) for x in pairs],
        lambda: model.learn_one(named, target),
        lambda: model.learn_one({**named, "new": 1.0}, target),
        lambda: model.learn_one((np.array([0, 9]), np.array([1.0, 2.0])), target),
        lambda: model.learn_one(rows[0], 7),
        lambda: model.learn_one(rows[0], "new"),
        lambda: model.flush() if hasattr(model, "flush") else None,
        lambda: model.predict(rows),
        lambda: reloaded(model),
    ]
    if inner is not model:
        calls[-1:-1] = [
            lambda: [model.query_one(x) for x in rows],
            lambda: [model.ask(i, named) for i in (0, "id")],
            lambda: [model.answer(id, target) for id in model.waiting_],
        ]
    for call in calls:
        quietly(call)


def reloaded(model: Any) -> None:
    content = saved(model)
    with blaming("saved again"):
        probe(revived(content))


def quietly(call: Callable[[], Any]) -> None:
    """What a user may be told; all else is a fault."""
    try:
        call()
    except ModelFileError as error:
        raise AssertionError("what was saved cannot be loaded") from error
    except (ValueError, TypeError, AttributeError) as error:
        if isinstance(error, AttributeError) and "has no attribute" not in str(error):
            raise
        if not str(error):
            raise AssertionError("an error without a word") from error


# Cases --------------------------------------------------------------------------------------------------------------


def try_case(name: str, seed: int, number: int, fully: float = FULLY) -> str:
    """Forge a file, load it and use it; which way it was forged, and what came of it."""
    rng = random.Random(f"{seed}/{name}/{number}")
    good = rng.choice(goods(name))
    (way,) = rng.choices(list(WAYS), list(WAYS.values()))
    content = way(good, rng)
    try:
        with blaming("forged.aggro"):
            model = revived(content)
    except ModelFileError as error:
        if not str(error).startswith("forged.aggro: ") or "\n" in str(error):
            raise AssertionError(f"an error of another form: {error}") from error
        return "refused"
    if rng.random() < fully:
        use(model)
        return "used"
    probe(model)
    return "loaded"


def child(name: str, seed: int, start: int, count: int, where: str) -> None:
    """Try cases, and keep in a file which one it is and what came of the others."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    results = ("refused", "loaded", "used", "faults")
    with open(where, "r+b") as file, mmap.mmap(file.fileno(), 0) as board:
        tally = dict.fromkeys(results, 0)
        struct.pack_into("<q", board, 0, -1)
        goods(name)
        for number in range(start, start + count):
            struct.pack_into("<q", board, 0, number)
            try:
                result = try_case(name, seed, number)
            except Exception:
                result = "faults"
                print(f"--- {name} case {number}:", traceback.format_exc(limit=-4), sep="\n", flush=True)
            tally[result] += 1
            struct.pack_into("<4q", board, 8, *tally.values())


def attack(name: str, seed: int, count: int, start: int = 0, patience: float = PATIENCE) -> Counter[str]:
    """Try so many cases for one learner; how many were refused, loaded and used, and how many were at fault."""
    total: Counter[str] = Counter(refused=0, loaded=0, used=0, faults=0, crashes=0, hangs=0)
    end = start + count
    with tempfile.NamedTemporaryFile() as board:
        while start < end:
            board.seek(0)
            board.write(struct.pack("<5q", -1, 0, 0, 0, 0))
            board.flush()
            order = [name, str(seed), str(start), str(end - start), board.name]
            process = subprocess.Popen([sys.executable, __file__, "--child", *order])
            hangs = waits_in_vain(process, Path(board.name), patience)
            number, *tally = struct.unpack("<5q", Path(board.name).read_bytes())
            total.update(dict(zip(("refused", "loaded", "used", "faults"), tally, strict=True)))
            if process.returncode == 0:
                break
            total["hangs" if hangs else "crashes"] += 1
            what = "takes too long" if hangs else f"ends with {process.returncode}"
            print(f"--- {name} case {number} {what}", flush=True)
            if number < start:
                break  # before the first case: no use to go on
            start = number + 1
    return total


def waits_in_vain(process: subprocess.Popen[bytes], board: Path, patience: float) -> bool:
    """Wait for a process to end; whether it had to be stopped, because it got no further."""
    last, since = -2, time.monotonic()
    while True:
        try:
            process.wait(0.5)
            return False
        except subprocess.TimeoutExpired:
            number = struct.unpack("<q", board.read_bytes()[:8])[0]
            if number != last:
                last, since = number, time.monotonic()
            elif time.monotonic() - since > (patience if number >= 0 else FIRST_CASE):
                process.kill()
                process.wait()
                return True


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        name, seed, start, count, where = sys.argv[2:]
        child(name, int(seed), int(start), int(count), where)
        return 0
    parser = argparse.ArgumentParser(description="Forge model files, load them, and use what loads.")
    parser.add_argument("--count", type=int, default=1000, help="files for each learner")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first case")
    parser.add_argument("--learner", choices=NAMES, action="append", help="these learners alone")
    parser.add_argument("--case", type=int, help="try this case alone, in this process")
    given = parser.parse_args()
    names = given.learner or NAMES
    if given.case is not None:
        for name in names:
            print(name, given.case, try_case(name, given.seed, given.case, fully=1.0))
        return 0
    harm = 0
    for name in names:
        began = time.monotonic()
        total = attack(name, given.seed, given.count, given.start)
        seconds = time.monotonic() - began
        print(name, *(f"{n} {what}" for what, n in total.items()), f"{seconds:.0f} s", sep="  ", flush=True)
        harm += total["faults"] + total["crashes"] + total["hangs"]
    return int(harm > 0)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")
    sys.exit(main())
