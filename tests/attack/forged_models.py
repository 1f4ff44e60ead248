"""Forged model files: each is refused with a ModelFileError, or is a model that can be used without harm.

    python tests/attack/forged_models.py --count 100000 --seed 0 [--learner NAME]

forges so many files for each learner, with a checksum that is right, and loads them from memory by the code that loads
them from a disk. What loads is used: it predicts and learns rows of every form, explains, is saved and loaded again.
Every learner works in a process of its own, which is watched: a case that ends it, or takes too long, is named, and
the next process goes on behind it. ``--case N`` tries a single one in this process.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import math
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
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from models import forge
from models.old import recipes
from scipy.sparse import csr_matrix

import aggro
from aggro.engine.fields import Each, Numbers, described
from aggro.learners.registry import ACTIVE, LEARNERS
from aggro.models.container import DTYPES, Container, write
from aggro.models.errors import Flaw, ModelFileError, blaming
from aggro.models.loading import revive
from aggro.models.saving import _snapshot

NAMES = [entry.name for entry in (*LEARNERS, ACTIVE)]
PATIENCE = 60.0  # seconds without progress, after which a process is taken to hang
FIRST_CASE = 600.0  # the first ones compile
MEMORY = 6 * 2**30
FULLY = 0.1  # share of the files that load for which everything is tried


class Good(NamedTuple):
    """A file as ``save`` writes it, and what it is made of."""

    title: str
    raw: bytes  # its table of arrays and its header
    data: bytes
    header: dict[str, Any]
    table: dict[str, Any]
    bounds: list[tuple[str, Any, Numbers]]  # array, the places in it, and what is said of them
    state: Any


def extra(title: str) -> Any:
    """Models that are too large, or too special, to be kept as files."""
    X, y = recipes.X, recipes.THREE
    if title == "Maxout-ahead":
        wide = np.tile(X, (2, 7))
        return aggro.PAMOClassifier(n_units=24, n_pieces=8, random_state=0).fit(wide, np.tile(recipes.TWO, 2))
    if title == "Support-given":
        return aggro.KernelPAClassifier(kernel="precomputed").fit(X @ X.T, y)
    if title == "Support-window":
        model = aggro.KernelPARegressor(batch_size=4, window="sliding", average=True)
        return model.partial_fit(X, recipes.NUMBERS)
    return aggro.PAClassifier(multi_class="joint", batch_size=3).partial_fit(X, y, classes=["new"])


EXTRAS = ("Maxout-ahead", "Support-given", "Support-window", "Groups-joint")


@cache
def every_good() -> dict[str, list[Good]]:
    """Good files of each learner."""
    found: dict[str, list[Good]] = {name: [] for name in NAMES}
    for title in (*recipes.TITLES, *EXTRAS):
        content = saved(recipes.made(title) if title in recipes.TITLES else extra(title))
        header, table, data = forge.parts(content)
        with_active = revived(content)
        state = getattr(with_active, "estimator_", with_active)._model.state
        bounds = [found for name, array, said in described(state) for found in bounds_in(name, array, said)]
        good = Good(title, forge.raw(content), data, header, table, bounds, state)
        found[type(with_active).__name__].append(good)
    return found


def bounds_in(name: str, array: np.ndarray, said: tuple[Any, ...]) -> list[tuple[str, Any, Numbers]]:
    """Each thing that is said of an array in numbers, and of which places."""
    whole = (slice(None),) * array.ndim
    found: list[tuple[str, Any, Numbers]] = []
    for promise in said or (Numbers(),):
        if isinstance(promise, Numbers):
            found.append((name, whole, promise))
        elif isinstance(promise, Each):
            for k, part in enumerate(promise.parts):
                axis = promise.axis % array.ndim
                found.append((name, (*whole[:axis], slice(k, k + 1), *whole[axis + 1 :]), part))
    return found if array.size else []


def revived(content: bytes) -> Any:
    """What a file of these bytes holds, by the code that loads files."""
    return revive(Container(io.BytesIO(content)), shell=False)


def saved(model: Any) -> bytes:
    """What ``save`` would write, without waiting for a disk."""
    file = io.BytesIO()
    try:
        header, arrays = _snapshot(model, None)
        write(file, header.text(), arrays)
    except Flaw as flaw:
        raise ValueError(flaw.fault) from flaw
    return file.getvalue()


# Ways to forge ------------------------------------------------------------------------------------------------

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 5e-324, 1e-300, 1e150, -1e150, 1e300, -1e300, 1.7e308, 2.0**53, 2.0**63, 1e19]
WILD = [math.nan, math.inf, -math.inf]
WHOLE = [0, 1, -1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 255, 256, 4095, 4096, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1]
LARGE = [2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(2**63), -(2**63) - 1]
WORDS = [
    "",
    "a",
    "low",
    "yes",
    "Line",
    "Bank",
    "PARegressor",
    "joint",
    "balanced",
    "inf",
    "auto",
    "merge",
    "\ud800",
    "0",
]
KEYS = ["tuple", "dict", "bytes", "float", "C", "average", "x", "format", "width"]


def view(good: Good, name: str, data: bytearray) -> np.ndarray:
    """One array of a file, in place."""
    entry = good.table[name]
    start, end = entry["data_offsets"]
    return np.frombuffer(memoryview(data)[start:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])


def fitting(value: Any, dtype: np.dtype) -> Any:
    """The value as this kind of number can hold it."""
    if dtype.kind == "f":
        return float(value) if abs(value) < 1.7e308 or not math.isfinite(value) else math.copysign(1.7e308, value)
    if dtype.kind == "b":
        return bool(value)
    limits = np.iinfo(dtype)
    return min(max(int(value) if math.isfinite(value) else limits.max, limits.min), limits.max)


def at_a_bound(good: Good, rng: random.Random) -> bytes:
    """Numbers at, just inside and just outside what a field says, or quite beyond."""
    data = bytearray(good.data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        name, places, numbers = rng.choice(good.bounds)
        array = view(good, name, data)
        part = array[places]
        if not part.size:
            continue
        limit = rng.choice(numbers.limits(good.state))
        nearby = [limit, limit - 1, limit + 1, np.nextafter(limit, -np.inf), np.nextafter(limit, np.inf)]
        usual = FLOATS + WILD if array.dtype.kind == "f" else WHOLE
        value = fitting(rng.choice(nearby if math.isfinite(limit) and rng.random() < 0.7 else usual), array.dtype)
        if rng.random() < 0.8:
            part[tuple(rng.randrange(n) for n in part.shape)] = value
        else:
            part[...] = value
    return forge.seal(good.raw, bytes(data))


def any_bytes(good: Good, rng: random.Random) -> bytes:
    """Bytes in the arrays that are anything."""
    data = bytearray(good.data)
    entry = rng.choice(list(good.table.values()))
    start, end = entry["data_offsets"] if rng.random() < 0.7 else (0, len(data))
    for _ in range(rng.choice([1, 1, 2, 3, 8]) if end > start else 0):
        data[rng.randrange(start, end)] = rng.choice([0, 1, 2, 0x3F, 0x40, 0x7F, 0x80, 0xF0, 0xFF, rng.randrange(256)])
    return forge.seal(good.raw, bytes(data))


def any_numbers(good: Good, rng: random.Random) -> bytes:
    """Floats anywhere in the arrays that are no weights, such as a stream would never bring."""
    data = bytearray(good.data)
    names = [name for name, entry in good.table.items() if entry["dtype"] == "F64" and name[:5] != "tally"]
    for name in rng.sample(names, min(len(names), rng.choice([1, 1, 2, 9]))):
        array = view(good, name, data).reshape(-1)
        array[slice(rng.randrange(array.size), None, rng.choice([1, 3])) if array.size else ...] = rng.choice(FLOATS)
    return forge.seal(good.raw, bytes(data))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, but the value itself."""
    children = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [found for key, child in children for found in [(*path, key), *places(child, (*path, key))]]


def junk(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON."""
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind == 7:
        return [junk(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 8:
        return {rng.choice(KEYS): junk(rng, depth + 1) for _ in range(rng.randrange(3))}
    choices: list[Any] = [None, rng.random() < 0.5, rng.randrange(-3, 70), rng.choice(LARGE), rng.choice(FLOATS)]
    return [*choices, rng.choice(WORDS), rng.uniform(-3, 3)][kind]


def edited(value: Any, rng: random.Random) -> Any:
    """JSON with up to three places changed, removed, doubled or exchanged."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 2, 3])):
        every = places(value)
        if not every:
            break
        home = inner = value
        *way, key = rng.choice(every)
        for step in way:
            home = home[step]
        inner = home[key]
        action = rng.randrange(6)
        if action == 0:
            del home[key]
        elif action == 1 and isinstance(home, dict):
            home[rng.choice(KEYS)] = junk(rng)
        elif action == 1:
            home.append(copy.deepcopy(inner) if rng.random() < 0.5 else junk(rng))
        elif action <= 3 and type(inner) is int:
            home[key] = inner + rng.choice([-1, 1, 8, -8, 2**31, 2**63])
        elif action <= 3 and isinstance(inner, list):
            home[key] = inner + inner[: rng.randrange(1, 3)] if rng.random() < 0.5 else inner[1:]
        else:
            home[key] = junk(rng)
    return value


def other_header(good: Good, rng: random.Random) -> bytes:
    return forge.forge(edited(good.header, rng), good.table, good.data)


def other_questions(good: Good, rng: random.Random) -> bytes:
    """The part of a header that only an active learner has; or the parameters."""
    part = "active" if "active" in good.header else "parameters"
    return forge.forge({**good.header, part: edited(good.header[part], rng)}, good.table, good.data)


def other_table(good: Good, rng: random.Random) -> bytes:
    return forge.forge(good.header, edited(good.table, rng), good.data)


def other_shapes(good: Good, rng: random.Random) -> bytes:
    """Shapes and a width that agree with the file's size, so that only their meaning is wrong."""
    header, table, data = dict(good.header), {}, b""
    for name, entry in sorted(good.table.items(), key=lambda item: item[1]["data_offsets"]):
        shape = [max(0, n + rng.choice([0, 0, 0, 0, 0, -1, 1, 8])) for n in entry["shape"]]
        start, end = entry["data_offsets"]
        size = math.prod(shape) * np.dtype(DTYPES[entry["dtype"]]).itemsize
        table[name] = {**entry, "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += (good.data[start:end] + bytes(size))[:size]
    header["width"] = max(0, header["width"] + rng.choice([0, 0, 1, -1, 8]))
    header["n_features"] = rng.choice([header["n_features"], header["width"]])
    return forge.forge(header, table, data)


def no_json(good: Good, rng: random.Random) -> bytes:
    """Text that a reader of JSON may stumble over."""
    text = json.dumps(good.header)
    deep = rng.choice([20, 900, 10**4])
    odd = ["NaN", "Infinity", "1" * 5000, "1e999", "-0", "[" * deep + "]" * deep, '{"tuple":[' * deep + "]}" * deep]
    odd += [
        '"\\ud800"',
        '{"a":1,"a":2}',
        '{"dict":[[1,2],[1.0,3]]}',
        "\x00",
        '{"float":"nan"}',
        "1E400",
        "--1",
        "\u00e9",
    ]
    start = rng.choice([i for i, letter in enumerate(text) if letter == ":"]) + 1
    end = rng.choice([start, min((i for i in range(start, len(text)) if text[i] in ",}"), default=start)])
    return forge.forge(text[:start] + rng.choice(odd) + text[end:], good.table, good.data)


def damaged(good: Good, rng: random.Random) -> bytes:
    """What a disk or a network does to a file; the checksum is that of the whole one."""
    content = bytearray(forge.seal(good.raw, good.data))
    a, b = sorted(rng.randrange(len(content)) for _ in range(2))
    way = rng.randrange(4)
    if way == 0:
        return bytes(content[:a])
    if way == 1:
        content[a] ^= 1 << rng.randrange(8)
        return bytes(content)
    return bytes(content[:a] + (content[a:b] * 2 if way == 2 else bytes(b - a)) + content[b:])


def of_another(good: Good, rng: random.Random) -> bytes:
    """The header of one file and the arrays of another."""
    other = rng.choice([good for found in every_good().values() for good in found])
    return forge.forge(good.header, other.table, other.data)


WAYS: dict[Callable[[Good, random.Random], bytes], int] = {
    at_a_bound: 40, any_bytes: 18, any_numbers: 8, other_header: 12, other_questions: 6, other_table: 4,
    other_shapes: 3, no_json: 3, damaged: 4, of_another: 2,
}  # fmt: skip


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
    good = rng.choice(every_good()[name])
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
        every_good()
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
            what = f"takes more than {patience:.0f} s" if hangs else f"ends with {process.returncode}"
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
