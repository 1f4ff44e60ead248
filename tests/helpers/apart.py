"""Learners that began as one and learned apart: what must be true of all mixtures."""

import copy
from itertools import permutations

import numpy as np

import aggro
from aggro.learners.base.inside import model_of
from aggro.mixing import merge
from aggro.mixing.mixture import added_up, finished, known_of, taken, union


def two_classes(n, seed=0, noise=0.1, classes=("no", "yes")):
    """Rows of eight features, four of which tell two classes apart, but for some labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8)) * [1, 2, 0.5, 1, 3, 1, 1, 1] + [0, 3, 0, 0, -2, 0, 1, 0]
    y = ((X - [0, 3, 0, 0, -2, 0, 1, 0]) @ [1, 0.5, -2, 1, 0, 0, 0, 0] > 0).astype(int)
    wrong = rng.random(n) < noise
    return X, np.array(classes)[np.where(wrong, 1 - y, y)]


def several_classes(n, seed=0):
    """Rows around four places."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(99).normal(size=(4, 8)) * 2.0
    c = rng.integers(4, size=n)
    return places[c] + rng.normal(size=(n, 8)), np.array(["a", "b", "c", "d"])[c]


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8)) * [1, 2, 0.5, 1, 3, 1, 1, 1] + [0, 3, 0, 0, -2, 0, 1, 0]
    return X, X @ [1, 0.5, -2, 1, 1, 0, 0, 0.2] + 4.0 + 0.3 * rng.normal(size=n)


def apart(base, X, y, n=3):
    """n copies of the base, each with its part of the rows, in which classes first appear in the same order."""
    found = []
    for part in np.array_split(np.arange(X.shape[0]), n):
        if y is not None and y.dtype.kind == "U":
            firsts = np.unique(y[part], return_index=True)[1]
            part = part[[*firsts, *np.delete(np.arange(part.shape[0]), firsts)]]
        one = copy.deepcopy(base)
        found.append(one.partial_fit(X[part]) if y is None else one.partial_fit(X[part], y[part]))
    return found


def started(make, X, y, rows):
    """A base that has learned these many rows, or none."""
    base = make()
    if rows:
        base = base.partial_fit(X[:rows]) if y is None else base.partial_fit(X[:rows], y[:rows])
    return base


def arrays(state, name=""):
    """All arrays of a state, by name."""
    if isinstance(state, np.ndarray):
        yield name, state
    else:
        for field, part in zip(state._fields, state, strict=True):
            yield from arrays(part, f"{name}.{field}")


def same_state(first, second):
    """Whether two learners have learned the same, to the bit."""
    states = [dict(arrays(model_of(one).state)) for one in (first, second)]
    return states[0].keys() == states[1].keys() and all(
        np.array_equal(states[0][name], states[1][name]) for name in states[0]
    )


def alone(base, learner):
    """A mixture of one, by way of sums."""
    known = union(known_of(base, base), [known_of(learner, base)])
    return finished(added_up([taken(copy.deepcopy(learner), base, known, "rows")]), base, known)


def check_mixture(base, learners, X, y, path):
    """What is true whatever is mixed; the mixture."""
    mixed = merge(base, learners)
    assert same_state(merge(base, learners[:1]), learners[0])
    for order in permutations(learners):
        assert same_state(merge(base, order), mixed)
    counted(base, learners, mixed)
    lives(mixed, X, y, path)
    return mixed


def counted(base, learners, mixed):
    """Every row counts once."""

    def rows(learner, name):
        return getattr(learner, name) if model_of(learner) is not None else 0

    for name in ("n_seen_", "n_updates_", "n_mistakes_"):
        if hasattr(learners[0], name):
            wanted = sum(rows(one, name) for one in learners) - (len(learners) - 1) * rows(base, name)
            assert getattr(mixed, name) == wanted, name
    names = [dict(zip(known_of(one, one).classes, model_of(one).state.tally.classes, strict=False)) for one in learners]
    began = model_of(base)
    start = {} if began is None else dict(zip(known_of(base, base).classes, began.state.tally.classes, strict=False))
    for k, name in enumerate(known_of(mixed, mixed).classes):
        wanted = sum(one.get(name, 0) for one in names) - (len(learners) - 1) * start.get(name, 0)
        assert model_of(mixed).state.tally.classes[k] == wanted


def scores_of(learner, X):
    """What it says of rows."""
    return learner.decision_function(X) if hasattr(learner, "decision_function") else learner.predict(X)


def lives(mixed, X, y, path):
    """It can be saved and loaded, answers, and goes on learning."""
    assert np.isfinite(scores_of(mixed, X)).all()
    mixed.save(path / "mixed.aggro")
    loaded = aggro.load(path / "mixed.aggro")
    assert same_state(loaded, mixed)
    assert np.array_equal(scores_of(loaded, X), scores_of(mixed, X))
    for one in (loaded, copy.deepcopy(mixed)):
        if y is None:
            one.partial_fit(X)
        else:
            one.partial_fit(X, y)
        assert one.n_seen_ == mixed.n_seen_ + X.shape[0]
        assert np.isfinite(scores_of(one, X)).all()


def error(learner, X, y):
    """The share of wrong labels, or the root of the mean squared error."""
    found = learner.predict(X)
    return float(np.mean(found != y)) if y.dtype.kind in "US" else float(np.sqrt(np.mean((found - y) ** 2)))


# By name -----------------------------------------------------------------------------------------------------------

WORDS = {name: [f"{name}{k}" for k in range(4)] for name in ("red", "green", "blue")}


def told(learner, *classes, rounds=12):
    """Let a learner read texts of these classes, in this order; each has words of its own, and some of all."""
    for k in range(rounds):
        for name in classes:
            words = WORDS[name]
            row = {words[k % 4]: 1.0, words[(k + 1) % 4]: 1.0, "the": 1.0, f"rare{k % 3}": 0.5}
            learner = learner.learn_one(row, name)
    return learner


def check_names(base, *orders):
    """Partitions that know different classes and words, or met them in another order: words speak for their class."""
    learners = [told(copy.deepcopy(base), *classes) for classes in orders]
    mixed = merge(base, learners)
    counted(base, learners, mixed)
    known = sorted({name for classes in orders for name in classes})
    assert list(mixed.classes_) == known
    words = mixed.feature_names_in_.tolist()
    assert set(words) == {word for one in learners for word in one.feature_names_in_}
    coef = mixed.coef_ if mixed.coef_.shape[0] > 1 else np.vstack([-mixed.coef_, mixed.coef_])
    for k, name in enumerate(known):
        for word in WORDS[name]:
            column = coef[:, words.index(word)]
            assert column.argmax() == k or not column.any(), (orders, word)
    assert coef.any() or max(map(len, orders)) == 1  # of one class, some learn nothing
    return mixed


def check_answers(base, *orders):
    """The same where every partition has seen all classes: texts are of the class that their words are of."""
    mixed = merge(base, [told(copy.deepcopy(base), *classes) for classes in orders])
    for name in orders[0]:
        for word in WORDS[name]:
            assert mixed.predict_one({word: 1.0, "the": 1.0}) == name, (orders, word)


TWO = [(("red", "green"), ("green", "red")), (("red",), ("green", "red")), (("red",), ("green",))]
THREE = [
    (("red", "green", "blue"), ("blue", "red", "green")),
    (("green",), ("red", "blue"), ("blue", "green")),
    (("red", "green"), ("green", "blue"), ("blue", "red")),
]


def texts(path, rows, seed, words=4000):
    """A table with a column of text, whose words are many; good and bad ones tell the label."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        label = int(rng.integers(2))
        note = " ".join([("bad", "good")[label], *(f"w{k}" for k in rng.integers(words, size=8))])
        lines.append(f"{rng.standard_normal():.3f},{note},{('no', 'yes')[label]}")
    path.write_text("number,note,label\n" + "\n".join(lines) + "\n")
    return str(path)
