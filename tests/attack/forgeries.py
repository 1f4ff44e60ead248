"""Forged model files: good ones of every learner, and many ways to change them; the checksum is made right again."""

from __future__ import annotations

import copy
import io
import json
import math
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from helpers import forge
from models.old import recipes

import aggro
from aggro.engine.fields import Each, Numbers, described
from aggro.learners.registry import ACTIVE, LEARNERS
from aggro.models.container import DTYPE_CODES, Container, write
from aggro.models.errors import Flaw
from aggro.models.header import Header
from aggro.models.loading import build
from aggro.models.saving import _snapshot


class Good(NamedTuple):
    """A file as ``save`` writes it, and what it is made of."""

    title: str
    raw: bytes  # its table of arrays and its header
    data: bytes
    header: dict[str, Any]
    table: dict[str, Any]
    bounds: list[tuple[str, Any, Numbers]]  # array, the places in it, and what is said of them
    state: Any


# Learners with a budget of their own.
BUDGETED: dict[str, tuple[str, dict[str, Any]]] = {
    "Support-bpas": ("BPASClassifier", {"budget": 4, "average": True}),
    "Support-bogd": ("BOGDClassifier", {"budget": 4, "sampling": "weighted", "random_state": 0}),
    "Support-bsgd": ("BSGDClassifier", {"budget": 4}),
    "Support-bsgd-project": ("BSGDClassifier", {"budget": 4, "budget_policy": "project"}),
    "Support-random": ("RandomizedBudgetPerceptron", {"budget": 4, "random_state": 0}),
    "Support-forgetron": ("Forgetron", {"budget": 4}),
    "Support-projectron": ("Projectron", {"budget": 4, "plus": True}),
}


def extra(title: str) -> Any:
    """Models that are too large, or too special, to be kept as files."""
    X, y = recipes.X, recipes.THREE
    if title in LATER:
        return forge.fitted(title)
    if title in BUDGETED:
        name, settings = BUDGETED[title]
        return getattr(aggro, name)(**settings).partial_fit(X, y)
    if title == "Maxout-ahead":
        wide = np.tile(X, (2, 7))
        return aggro.PAMOClassifier(n_units=24, n_pieces=8, random_state=0).fit(wide, np.tile(recipes.TWO, 2))
    if title == "Support-given":
        return aggro.KernelPAClassifier(kernel="precomputed").fit(X @ X.T, y)
    if title == "Support-window":
        model = aggro.KernelPARegressor(batch_size=4, window="sliding", average=True)
        return model.partial_fit(X, recipes.NUMBERS)
    return aggro.PAClassifier(multi_class="joint", batch_size=3).partial_fit(X, y, classes=["new"])


EXTRAS = {
    "Maxout-ahead": "PAMOClassifier",
    "Support-given": "KernelPAClassifier",
    "Support-window": "KernelPARegressor",
    "Groups-joint": "PAClassifier",
    **{title: name for title, (name, _) in BUDGETED.items()},
}
SPECIAL = {recipes.SPARSE: "KernelPAClassifier", recipes.ACTIVE: ACTIVE.name}
LEARNER = {title: made[0] for title, made in recipes.RECIPES.items()} | SPECIAL | EXTRAS
LATER = {entry.name: entry.name for entry in LEARNERS if entry.name not in LEARNER.values()}  # than the recipes
LEARNER |= LATER


@cache
def goods(name: str) -> list[Good]:
    """Good files of a learner, each with another kind of state or other settings."""
    return [good_of(title) for title, learner in LEARNER.items() if learner == name]


def good_of(title: str) -> Good:
    content = saved(recipes.made(title) if title in recipes.TITLES else extra(title))
    header, table, data = forge.parts(content)
    model = revived(content)
    state = getattr(model, "estimator_", model)._model.state
    bounds = [found for name, array, said in described(state) for found in bounds_in(name, array, said)]
    return Good(title, forge.raw(content), data, header, table, bounds, state)


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
    container = Container(io.BytesIO(content))
    return build(container, Header.parse(container.text), shell=False)


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
    return np.frombuffer(memoryview(data)[start:end], DTYPE_CODES[entry["dtype"]]).reshape(entry["shape"])


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
        size = math.prod(shape) * np.dtype(DTYPE_CODES[entry["dtype"]]).itemsize
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
    _, table, data = forge.parts(rng.choice(old_files()))
    return forge.forge(good.header, table, data)


@cache
def old_files() -> list[bytes]:
    return [path.read_bytes() for path in sorted((Path(recipes.__file__).parent / "0.1.0").glob("*.aggro"))]


WAYS: dict[Callable[[Good, random.Random], bytes], int] = {
    at_a_bound: 40, any_bytes: 18, any_numbers: 8, other_header: 12, other_questions: 6, other_table: 4,
    other_shapes: 3, no_json: 3, damaged: 4, of_another: 2,
}  # fmt: skip
