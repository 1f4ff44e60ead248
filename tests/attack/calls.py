"""Random sequences of public calls, hostile values among them, on every learner.

A model gets every call. Its twin gets only those that the model took. After a call that was refused the model must
be what it was, to the bit, private parts too; after a call that only asks, as well; and in the end the two must be the
same. Errors must be of the kinds that the documentation names: anything else, or a crash, is a fault.

    python tests/attack/calls.py --count 100000 --seed 0

runs that many sequences, over all learners in turn. With NUMBA_BOUNDSCHECK=1 compiled code checks its indices too.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import os
import pickle
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix

import aggro
from aggro import published
from aggro.engine.limits import HEAVIEST, LARGEST_VALUE, LIGHTEST
from aggro.learners.registry import LEARNERS, VOTES
from aggro.models.state_check import flatten
from aggro.streams import Chunk
from aggro.testing.variants import Variant, arrays, variants

EXPECTED = (ValueError, TypeError, KeyError, MemoryError, NotImplementedError)
CALLS = 8
LEARNING = ("learn_one", "partial_fit", "learn_chunk", "fit", "flush")
WIDTHS = (3, 3, 3, 4, 1, 7)


# What a model is ---------------------------------------------------------------------------------------------------


def fingerprint(model):
    """All that a model knows, private parts too, as something to compare."""
    inner = model.__dict__.get("estimator_", model)
    own = inner.__dict__.get("_model")
    if own is None:
        return (active_part(model),)
    features, labels = own.features, own.labels
    known = (own.width, own.n_iter, own.seed, features.n, features.reserved, features.names and tuple(features.names))
    index = tuple(features.index.values()) == tuple(range(len(features.names or ())))
    classes = tuple(labels.codes.items()), labels.reserved, own.busy, own.readers[0]
    state = tuple((array.dtype.str, array.shape, array.tobytes()) for array in arrays(own.state))
    voting = tuple(fingerprint(candidate.learner) for candidate in getattr(own, "candidates", ()))
    return known, index, classes, type(own.state), state, voting, active_part(model)


def active_part(model):
    """What an active learner has beside the learner inside."""
    if "estimator_" not in model.__dict__:
        return ()
    gate, waiting = model._gate, model.__dict__.get("_waiting")
    if not gate.counts.any() and not waiting.ids():
        return ()  # begun, but nothing has happened yet
    return gate.counts.tobytes(), gate.sums.tobytes(), tuple(waiting.ids()), waiting.gone


def misfit(model):
    """What does not fit among the things that compiled code believes of a model, or nothing."""
    own = model.__dict__.get("estimator_", model).__dict__.get("_model")
    if own is None:
        return ""
    if own.features.n > own.width:
        return f"{own.features.n} features, and room for {own.width}"
    reader = own.features.reader
    if reader is not None and (reader.names is not own.features.names or reader.index is not own.features.index):
        return "dicts are read by names of another moment"
    names = own.features.names or []
    if own.features.index != {name: j for j, name in enumerate(names)}:
        return "names and their positions differ"
    for name, array in flatten(own.state).items():
        if not (array.flags.writeable and array.flags.c_contiguous):
            return f"the array {name} of the state is read-only, or not in C order"
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return f"finite rows have made the array {name} of the state not finite"
    return ""


def unsavable(model, path):
    """Why a model that has learned cannot be saved, or nothing."""
    if "_model" not in model.__dict__.get("estimator_", model).__dict__:
        return ""
    try:
        model.save(path)
    except ValueError as error:
        return f"what was learned cannot be saved ({error})"
    return ""


# Hostile values ----------------------------------------------------------------------------------------------------


class Sulky:
    """A number that does not want to be one."""

    def __float__(self):
        raise ValueError("not today")


class Fickle(int):
    """A label that is equal to what it likes."""

    def __eq__(self, other):
        return random.random() < 0.5

    def __hash__(self):
        return 1


class Pairs(Mapping):
    """A mapping that says a key as often as it was given."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        return iter([key for key, _ in self.pairs])

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, key):
        return next(value for name, value in self.pairs if name == key)


class Liar(np.ndarray):
    """An array that says it is longer than it is."""

    @property
    def shape(self):
        return (10**6,)


def as_array(values):
    """The values as an array, where they can be one."""
    try:
        return np.array(values)
    except (ValueError, TypeError, OverflowError):
        return values


class Hostile:
    """Values for calls: mostly good ones, so that there is something to lose."""

    def __init__(self, rng, variant):
        self.rng = rng
        self.numpy = np.random.default_rng(rng.randrange(2**32))
        self.variant = variant
        self.least = 0.0 if not variant.params.get("signed", True) else -3.0

    def number(self):
        if self.rng.random() < 0.93:
            return self.rng.choice([0.0, 1.0, self.rng.uniform(self.least, 3.0), self.rng.randint(int(self.least), 3)])
        return self.rng.choice(
            [float("nan"), float("inf"), -1e308, 1e308, 5e-324, 10**400, "1.5", None, Sulky(), 1j, b"1", np.float32(2),
             np.int64(2), True, [1.0], np.array([1.0, 2.0]), -0.0, 1e155,
             LARGEST_VALUE, -LARGEST_VALUE, 1e49, 1e-49, 1e-160]
        )  # fmt: skip

    def label(self):
        if not self.variant.classifies:
            return self.number() if self.rng.random() < 0.9 else self.rng.choice(["a", None, float("nan"), [1], {}])
        if self.rng.random() < 0.93:
            return self.rng.choice("aabbbc")
        return self.rng.choice(
            ["new", "", "a\0", 1, 2.5, None, float("nan"), [1], {}, b"a", Fickle(3), np.str_("a"), "x" * 100, True,
             10**30]
        )  # fmt: skip

    def weight(self):
        if self.rng.random() < 0.8:
            return self.rng.choice([1.0, 1.0, 1, 0.5, 2.0, 0.0])
        return self.rng.choice(
            [
                -1.0,
                float("nan"),
                "1",
                None,
                1e308,
                1e-320,
                np.float32(0.5),
                [1.0],
                Sulky(),
                HEAVIEST,
                LIGHTEST,
                1e8,
                1e-14,
            ]
        )

    def width(self):
        return self.rng.choice(WIDTHS)

    def array(self):
        """One row as an array, or what might pass for one."""
        row = self.numpy.uniform(self.least, 3.0, self.width())
        kind = self.rng.randrange(14)
        if kind == 0:
            row[self.rng.randrange(row.shape[0])] = self.rng.choice(
                [np.nan, np.inf, -1e308, LARGEST_VALUE, -LARGEST_VALUE]
            )
        return {
            1: lambda: row.astype(np.float32), 2: lambda: row.tolist(), 3: lambda: row[None],
            4: lambda: row.astype(object), 5: lambda: row.view(Liar), 6: lambda: np.zeros(0), 7: lambda: row[::-1],
        }.get(kind, lambda: row)()  # fmt: skip

    def dict(self):
        names = self.rng.sample(["u", "v", "w", 1, ("t",), "x" + str(self.rng.randrange(40))], self.rng.randrange(5))
        row = {name: self.number() for name in names}
        if self.rng.random() < 0.05:
            return Pairs([*row.items(), *list(row.items())[:1]])
        return row

    def pair(self):
        n = self.rng.randrange(5)
        indices = [self.rng.randrange(4) for _ in range(n)]
        values = [self.number() for _ in range(n)]
        if self.rng.random() < 0.1:
            indices.append(self.rng.choice([-1, 2**31 - 1, 2**40, 300, 1.5, "1", None]))
            values.append(1.0)
        if self.rng.random() < 0.05:
            values.append(1.0)
        return (as_array(indices), as_array(values)) if self.rng.random() < 0.3 else (indices, values)

    def row(self):
        kind = self.rng.randrange(20)
        if kind == 0:
            return self.rng.choice([None, 3, "abc", set(), (), ([1], [2], [3]), object(), b"12", [[1.0]]])
        return (self.array, self.dict, self.pair)[self.form if kind < 17 else self.rng.randrange(3)]()

    form = 0  # of most rows in this sequence: a model of names refuses arrays

    def matrix(self, n):
        """Rows as a matrix, dense or sparse, or what might pass for one."""
        width = self.width()
        X = self.numpy.uniform(self.least, 3.0, (n, width)) * (self.numpy.random((n, width)) < 0.7)
        kind = self.rng.randrange(20)
        if kind == 0 and X.size:
            X.flat[self.rng.randrange(X.size)] = self.rng.choice([np.nan, np.inf, LARGEST_VALUE, -1e308, 1e49])
        if kind in (1, 2, 3, 4, 5):
            return self.spoiled(csr_matrix(X))
        return {
            6: lambda: X.astype(np.float32), 7: lambda: X.astype(object), 8: lambda: X[:, :0], 9: lambda: X.ravel(),
            10: lambda: X.astype(complex), 11: lambda: X.tolist(), 12: lambda: np.asfortranarray(X),
        }.get(kind, lambda: X)()  # fmt: skip

    def spoiled(self, X):
        """A sparse matrix, perhaps with one of its parts changed."""
        kind = self.rng.randrange(12)
        if kind == 0 and X.nnz:
            X.indices[self.rng.randrange(X.nnz)] = self.rng.choice([-1, 99, 2**31 - 1, -(2**31)])
        elif kind == 1 and X.shape[0]:
            X.indptr[self.rng.randrange(X.indptr.shape[0])] = self.rng.choice([-1, 0, 99, 2**31 - 1])
        elif kind == 2 and X.nnz:
            X.indices[:] = 0
        elif kind == 3:
            X.data = X.data[:-1]
        elif kind == 4:
            X.indices = X.indices.view(Liar)
        elif kind == 5:
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        elif kind == 6 and X.nnz:
            X.data[0] = self.rng.choice([np.nan, np.inf])
        elif kind == 7:
            X.indices = X.indices.astype(np.float64)
        return X

    def targets(self, n):
        found = [self.label() for _ in range(n)]
        if self.rng.random() < 0.1:
            return self.rng.choice([[*found, found[0]] if found else None, None, [found], np.zeros((n, 2)), "a", 3])
        return as_array(found) if self.rng.random() < 0.5 else found

    def weights(self, n):
        if self.rng.random() < 0.6:
            return None
        found = [self.weight() for _ in range(n)]
        return found if self.rng.random() < 0.9 else found[1:]

    def chunk(self, n):
        X = self.matrix(n)
        width = X.shape[1] if getattr(X, "ndim", 0) == 2 else 3
        names = None
        if self.rng.random() < 0.5:
            names = self.rng.choices(["u", "v", "w", "x", "y", "z", "extra"], k=width)
            if self.rng.random() < 0.8:
                names = list(dict.fromkeys(names))
        return Chunk(X, self.targets(n), self.weights(n), names)

    def setting(self):
        return self.rng.choice(
            [("C", 0.5), ("C", -1.0), ("C", "auto"), ("C", "x"), ("average", True), ("average", False), ("step", "pa2"),
             ("step", "no"), ("batch_size", 3), ("batch_size", 1), ("class_weight", "balanced"), ("class_weight", None),
             ("class_weight", {"a": 2.0}), ("class_weight", {"a": -1}), ("half_life", 5.0), ("half_life", None),
             ("epsilon", 0.2), ("gamma", 0.3), ("gamma", "auto"), ("budget", 2), ("budget", None), ("n_units", 3),
             ("scale", False), ("fit_intercept", False), ("window", "sliding"), ("multi_class", "joint"),
             ("multi_class", "ovr"), ("queue", 3), ("max_iter", 2), ("max_iter", 0), ("radius", 2.0), ("delta", 0.5),
             ("target_rate", 0.2), ("budget_policy", "oldest"), ("kernel", "poly"), ("kernel", "precomputed")]
        )  # fmt: skip


# Calls -------------------------------------------------------------------------------------------------------------


def ask_only(values, rng):
    """A call that must change nothing, whether it is answered or refused."""
    row, X = values.row(), values.matrix(rng.randrange(4))
    return rng.choice(
        [
            lambda model: model.predict_one(row),
            lambda model: model.decision_one(row),
            lambda model: model.explain_one(row),
            lambda model: model.predict(X),
            lambda model: getattr(model, "decision_function", model.predict)(X),
            lambda model: getattr(model, "transform", model.predict)(X),
            lambda model: getattr(model, "score_samples", model.predict)(X),
            lambda model: [getattr(model, name, None) for name in ATTRIBUTES],
            lambda model: repr(model),
        ]
    )


ATTRIBUTES = (
    "coef_", "intercept_", "classes_", "history_", "grid_", "C_", "n_features_in_", "support_vectors_", "dual_coef_",
    "means_", "pieces_", "weights_", "mean_", "scale_", "center_", "radius_", "offset_", "n_mistakes_",
    "progressive_error_", "waiting_", "query_rate_", "feature_names_in_",
)  # fmt: skip


def learning(values, rng, path):
    """A call that may change the model: a name, and what to do."""
    n = rng.randrange(1, 6)
    kind = rng.randrange(22)
    if kind < 9:
        row, label, weight = values.row(), values.label(), values.weight() if rng.random() < 0.3 else 1.0
        return "learn_one", lambda model: model.learn_one(copy.copy(row), label, weight)
    if kind < 14:
        X, y, weights = values.matrix(n), values.targets(n), values.weights(n)
        return "partial_fit", lambda model: model.partial_fit(X, y, sample_weight=weights)
    if kind < 16:
        chunk = values.chunk(n)
        return "learn_chunk", lambda model: model.learn_chunk(chunk)
    if kind == 16:
        X, y, weights = values.matrix(n), values.targets(n), values.weights(n)
        return "fit", lambda model: model.fit(X, y, sample_weight=weights)
    if kind == 17:
        return "flush", lambda model: model.flush() if hasattr(model, "flush") else None
    if kind == 18:
        return "pickle", lambda model: unpickled(model)
    if kind == 19:
        return "copy", lambda model: rng_free_copy(model)
    if kind == 20:
        return "save", lambda model: saved(model, path)
    name, value = values.setting()
    return "set", lambda model: set_and_try(model, name, value)


def active_call(values, rng):
    row, label, id = values.row(), values.label(), rng.choice([1, "q", None, 2.5, 2])
    return rng.choice(
        [
            ("query_one", lambda model: (model.query_one(row), None)[1]),
            ("ask about", lambda model: (model.ask(id, row), None)[1]),
            ("answer", lambda model: (model.answer(id, label), None)[1]),
            ("forget", lambda model: (model.forget(id), None)[1]),
        ]
    )


def unpickled(model):
    """By way of a pickle whose buffers are lent, and read-only."""
    buffers = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])


def rng_free_copy(model):
    return copy.deepcopy(model)


def saved(model, path):
    model.save(path)
    return aggro.load(path)


def set_and_try(model, name, value):
    """Set a parameter; one that cannot be followed is set back, as its error says."""
    if name not in model.get_params(deep=False):
        return
    before = getattr(model, name)
    setattr(model, name, value)
    try:
        model.predict_one({})
        model.partial_fit(np.zeros((0, 3)), [])  # refused, but only after the parameters were looked at
    except EXPECTED as error:
        if "0 sample" not in str(error):
            setattr(model, name, before)


# Sequences ---------------------------------------------------------------------------------------------------------


class Fault(AssertionError):
    """What was found, and how to see it again."""


def sequence(make, variant, seed, path, counts):
    """One random sequence of calls on a model of its own and its twin."""
    rng = random.Random(seed)
    values = Hostile(rng, variant)
    values.form = rng.randrange(3)
    model, twin = make(), make()
    is_active = hasattr(model, "query_one")
    said = []
    for _ in range(CALLS):
        before = fingerprint(model)
        if rng.random() < 0.3:
            name, call = "question", ask_only(values, rng)
        elif is_active and rng.random() < 0.5:
            name, call = active_call(values, rng)
        else:
            name, call = learning(values, rng, path)
        said.append(name)
        where = f"{variant}, seed {seed}, after {said}"
        try:
            found = call(model)
        except EXPECTED as error:
            counts["refused"] += 1
            if not str(error).strip("'\" "):
                raise Fault(f"{where}: {error!r} says nothing") from error
            if name != "set" and fingerprint(model) != before:
                raise Fault(f"{where}: refused ({error!r}), and yet the model changed") from error
            continue
        except Exception as error:
            if isinstance(error, AttributeError) and "learned nothing" in str(error):
                continue
            raise Fault(f"{where}: {type(error).__name__}: {error}") from error
        counts["taken"] += 1
        if wrong := misfit(model) or (name in LEARNING and unsavable(model, path)):
            raise Fault(f"{where}: {wrong}")
        if name == "question":
            if fingerprint(model) != before:
                raise Fault(f"{where}: a question changed the model")
            continue
        again = call(twin)
        if name in ("pickle", "copy", "save"):
            model, twin = found, again
    if fingerprint(model) != fingerprint(twin):
        raise Fault(f"{variant}, seed {seed}: the model differs from its twin after {said}")


def makers():
    """A function that makes each learner with each of its settings, and an active learner around some."""
    found = []
    for entry in LEARNERS:
        for variant in variants(entry):
            found.append((variant, lambda variant=variant: variant.new(**seeded(variant))))
    for variant in [Variant(entry) for entry in LEARNERS if entry.task == "classification"]:
        inner = seeded(variant)
        found.append(
            (
                variant,
                lambda v=variant, s=inner: aggro.ActiveLearner(
                    v.new(**s), delta=1.0, strategy="margin", replay=0, random_state=0
                ),
            )
        )
    return found + [(variant, lambda variant=variant: variant.new(**seeded(variant))) for variant in voting()]


def voting():
    """A vote of candidates that are quick."""
    plain = {"AutoClassifier": ("PAClassifier", "Perceptron"), "AutoRegressor": ("PARegressor", "AROWRegressor")}
    settings = {entry.name: [getattr(published, name)() for name in plain[entry.name]] for entry in VOTES}
    return [Variant(entry, {"estimators": settings[entry.name]}) for entry in VOTES]


def seeded(variant):
    return {"random_state": 0} if variant.has("random_state") else {}


def attack(count, seed, only=None):
    """So many sequences, over all learners and settings in turn; returns what was counted."""
    chosen = [(variant, make) for variant, make in makers() if only is None or variant.entry.name == only]
    counts = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.aggro")
        for k in range(count):
            variant, make = chosen[k % len(chosen)]
            sequence(make, variant, seed * 10**9 + k, path, counts)
            counts["sequences"] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learner", default=None)
    parser.add_argument("--parts", type=int, default=20, help="how often to say how far it is")
    given = parser.parse_args()
    faulthandler.enable()
    total = Counter()
    ends = [given.count * k // given.parts for k in range(given.parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        total += attack(end - start, given.seed * 1000 + part, given.learner)
        print(", ".join(f"{value:,} {name}" for name, value in sorted(total.items())), flush=True)


if __name__ == "__main__":
    main()
