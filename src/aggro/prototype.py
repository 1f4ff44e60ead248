"""Learners made of one Python function ``(w, x, y, ...) -> w'``, to try an update before anyone compiles it.

``aggro.update`` turns the function into a scikit-learn estimator that runs through the interpreter, some 50,000 rows a
second. It needs NumPy and scikit-learn, and no Numba. An update that turns out well can then be written as a
step (``aggro.step``) or as a learner with its own rule (``aggro.register``), which are compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["Prototype", "update"]

MIXIN_OF_TASK: dict[str, type[Any]] = {"classification": ClassifierMixin, "regression": RegressorMixin}
INTERCEPT = "fit_intercept"


def update(
    function: Any = None,
    *,
    task: str = "classification",
    start: Callable[[int], Any] | None = None,
    score: Callable[[Any, np.ndarray], float] | None = None,
) -> Any:
    """Turn a plain function ``(w, x, y, ...) -> w'`` into a learner that runs through the interpreter.

    The decorated name becomes a scikit-learn estimator class: it has ``fit``, ``partial_fit``, ``predict`` and
    ``progressive_error_``, and ``aggro.evaluate`` compares it with compiled learners. Arguments after the first three
    are its parameters; each needs a default. ``name.update`` is the function itself.

    Parameters
    ----------
    function : callable
        Gets the weights ``w``, one row ``x`` and its target ``y``, and returns the new weights, or ``w`` if the row
        changes nothing. A classifier's ``y`` is 1.0 or -1.0; with more than two classes the function is called once
        for each class, with weights of its own, and ``y`` says whether the row is of that class.
    task : {"classification", "regression"}, default="classification"
        What the learner predicts: the class with the highest score, or the score.
    start : callable, default=None
        Makes the first weights for a number of features. A tuple of arrays lets the learner remember more than
        weights. Zeros by default.
    score : callable, default=None
        The score ``(w, x) -> float`` of a row. ``w @ x`` by default, with the first array if ``w`` is a tuple.

    Returns
    -------
    estimator : class
        The learner. Its parameter ``fit_intercept``, True by default, lets every ``x`` end with a 1.

    Examples
    --------
    >>> import aggro
    >>> @aggro.update
    ... def pa1(w, x, y, C=1.0):
    ...     loss = max(0.0, 1.0 - y * (w @ x))
    ...     return w + min(C, loss / (x @ x)) * y * x
    >>> model = pa1(C=0.1).fit([[0.0, 1.0], [1.0, 0.0]], ["ham", "spam"])
    >>> model, model.predict([[1.0, 0.0]]).tolist()
    (pa1(C=0.1), ['spam'])
    """
    if function is None:
        return lambda decorated: update(decorated, task=task, start=start, score=score)
    if task not in MIXIN_OF_TASK:
        raise ValueError(f"task must be 'classification' or 'regression', got {task!r}.")
    if not inspect.isfunction(function):
        raise TypeError(f"aggro.update turns a function (w, x, y, ...) into a learner, got {function!r}.")
    body = {
        "__doc__": function.__doc__,
        "__init__": init_of(function),
        "__module__": function.__module__,
        "__qualname__": function.__qualname__,
        "update": staticmethod(function),
        "start": staticmethod(start or np.zeros),
        "score_row": staticmethod(score or linear),
    }
    return type(function.__name__, (MIXIN_OF_TASK[task], Prototype), body)


def linear(w: Any, x: np.ndarray) -> float:
    """The product of the weights and a row; of a tuple the first array are the weights."""
    return float((w[0] if isinstance(w, tuple) else w) @ x)


def init_of(function: Any) -> Any:
    """The constructor of a learner: its parameters are those of the function after (w, x, y)."""
    name = function.__name__
    given = list(inspect.signature(function).parameters.values())
    if len(given) < 3 or any(one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in given[:3]):
        raise TypeError(f"{name} must take the weights, a row and its target: def {name}(w, x, y, ...).")
    settings = given[3:]
    for one in settings:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise TypeError(f"{name} takes {one}: name each parameter, such as C=1.0.")
        if one.default is one.empty:
            raise TypeError(f"The parameter {one.name!r} of {name} has no default. Write {one.name}=1.0, or the like.")
        if one.name == INTERCEPT:
            raise TypeError(f"Every such learner has a parameter {INTERCEPT!r}. Give that of {name} another name.")
    settings = [one.replace(kind=one.KEYWORD_ONLY) for one in settings]
    settings.append(inspect.Parameter(INTERCEPT, inspect.Parameter.KEYWORD_ONLY, default=True))
    signature = inspect.Signature(settings)

    def __init__(self: Any, **values: Any) -> None:
        bound = signature.bind(**values)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([first, *settings])  # type: ignore[attr-defined]
    return __init__


class Prototype(BaseEstimator):  # type: ignore[misc]
    """A learner whose update is a Python function; ``aggro.update`` makes its subclasses.

    Attributes
    ----------
    weights_ : list
        What the function returned last: for each class, or one for two classes and for numbers.
    classes_ : array
        The classes, sorted; only of classifiers.
    n_seen_, n_updates_ : int
        Rows seen, and rows that changed the weights.
    progressive_error_ : float
        The share of rows predicted wrongly before they were learned; the mean absolute error of a regressor.
    """

    row_by_row = True  # ``aggro.evaluate`` predicts and learns its rows one after the other
    update: Any
    start: Any
    score_row: Any
    weights_: list[Any]
    classes_: np.ndarray
    n_seen_: int
    n_updates_: int
    errors_: float

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from scratch, in one pass over the rows in order."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning, one row after the other; if a row fails, none of them is learned.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels, or the numbers to predict.
        classes : array, default=None
            All classes that will come; needed at the first call, unless all of them are in ``y``.

        Returns
        -------
        self : object
            The learner.
        """
        first = not hasattr(self, "weights_")
        X, y = self._checked(X, y=y, reset=first)
        names = self._names(y, classes)
        targets = y if names is None else np.searchsorted(names, y)
        count = 1 if names is None or len(names) <= 2 else len(names)
        width = X.shape[1] + bool(self.__dict__[INTERCEPT])
        weights = [self.start(width) for _ in range(count)] if first else list(self.weights_)
        settings = {name: value for name, value in self.get_params().items() if name != INTERCEPT}
        updates, errors = 0, 0.0
        for number, x in enumerate(self._rows(X)):
            scores = [self.score_row(w, x) for w in weights]
            target = targets[number]
            errors += abs(target - scores[0]) if names is None else winner(scores) != target
            moved = False
            for k, w in enumerate(weights):
                sign = float(target) if names is None else 1.0 if target == (k if count > 1 else 1) else -1.0
                weights[k] = self._updated(w, x, sign, settings, number)
                moved |= not same(weights[k], w)
            updates += moved
        self.n_seen_ = getattr(self, "n_seen_", 0) + X.shape[0]
        self.n_updates_ = getattr(self, "n_updates_", 0) + updates
        self.errors_ = getattr(self, "errors_", 0.0) + float(errors)
        self.weights_ = weights
        if names is not None:
            self.classes_ = names
        return self

    @property
    def progressive_error_(self) -> float:
        """The share of mistakes before each row was learned; the mean absolute error of a regressor."""
        check_is_fitted(self)
        return self.errors_ / self.n_seen_

    @available_if(lambda learner: isinstance(learner, ClassifierMixin))
    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: of the second of two classes, or one column for each class."""
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, or its number."""
        scores = self._scores(X)
        if isinstance(self, RegressorMixin):
            return scores
        return self.classes_[[winner(np.atleast_1d(row)) for row in scores]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        scores = np.array([[self.score_row(w, x) for w in self.weights_] for x in self._rows(X)])
        return scores[:, 0] if len(self.weights_) == 1 else scores

    def _checked(self, X: Any, reset: bool, **targets: Any) -> Any:
        """The rows as an array or CSR matrix; with targets, these too."""
        if isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping):
            raise ValueError(
                f"{type(self).__name__} takes rows of numbers, got dicts. Put DictVectorizer of "
                "sklearn.feature_extraction before it."
            )
        if "y" in targets:
            targets["y_numeric"] = isinstance(self, RegressorMixin)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, **targets)

    def _names(self, y: np.ndarray, classes: Any) -> np.ndarray | None:
        """The classes, which are those of the first call; None for numbers."""
        if isinstance(self, RegressorMixin):
            return None
        check_classification_targets(y)
        names: np.ndarray = getattr(self, "classes_", np.unique(y if classes is None else classes))
        new = np.setdiff1d(y, names)
        if len(new):
            raise ValueError(
                f"The label {new.tolist()[0]!r} is new: {type(self).__name__} began with {names.tolist()}. Name all "
                "classes at the first call: partial_fit(X, y, classes=[...])."
            )
        if len(names) < 2:
            raise ValueError(
                f"{type(self).__name__} got one class, {names.tolist()}, and needs two to tell apart. Name all classes "
                "at the first call: partial_fit(X, y, classes=[...])."
            )
        return names

    def _rows(self, X: Any) -> Iterator[np.ndarray]:
        """Row after row as dense arrays, with a 1 at the end if there is an intercept."""
        for i in range(X.shape[0]):
            x = X[[i]].toarray()[0] if hasattr(X, "toarray") else X[i]
            yield np.append(x, 1.0) if self.__dict__[INTERCEPT] else x.copy()

    def _updated(self, w: Any, x: np.ndarray, y: float, settings: dict[str, Any], number: int) -> Any:
        """The weights that the function makes of a copy of ``w``, checked."""
        name = type(self).__name__
        copied = tuple(part.copy() for part in w) if isinstance(w, tuple) else w.copy()
        new = self.update(copied, x, y, **settings)
        parts, before = (one if isinstance(one, tuple) else (one,) for one in (new, w))
        if len(parts) != len(before) or any(np.shape(p) != np.shape(b) for p, b in zip(parts, before, strict=True)):
            got = "None" if new is None else "shapes " + ", ".join(str(np.shape(part)) for part in parts)
            shapes = ", ".join(str(np.shape(part)) for part in before)
            raise ValueError(
                f"{name} returned {got} for row {number}, and must return the new weights, of shape {shapes}; or w, if "
                "the row changes nothing."
            )
        made = tuple(np.asarray(part, np.float64) for part in parts)
        if not all(np.isfinite(part).all() for part in made):
            raise ValueError(f"{name} returned weights that are not finite for row {number}. Does it divide by zero?")
        return made if isinstance(w, tuple) else made[0]


def winner(scores: Any) -> int:
    """The number of the class with the highest score; one score is that of the second of two classes."""
    return int(scores[0] >= 0.0) if len(scores) == 1 else int(np.argmax(scores))


def same(a: Any, b: Any) -> bool:
    """Whether an update left the weights as they were."""
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
    return all(np.array_equal(one, other) for one, other in pairs)
