"""The online sequential extreme learning machine; its rule is in ``learners.first_order.hidden_layer``.

References
----------
N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan. A fast and accurate online sequential learning algorithm
for feedforward networks. IEEE Transactions on Neural Networks 17, 2006.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import Rule
from aggro.learners.base.contract import Contract
from aggro.learners.base.formula import Formula, KernelValues, Linear, Sigmoids, Stage, columns_kept, standardised_by
from aggro.learners.base.learner import COMMON
from aggro.learners.base.params import Choice, Constraint, Flag, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier
from aggro.learners.first_order.hidden_layer import (
    HIDDEN,
    HIDDEN_UNITS,
    INPUTS_MET,
    MEASURED_ROWS,
    RBF_UNITS,
    SIGMOID_UNITS,
    Hidden,
    HiddenParams,
    code_addresses,
)
from aggro.learners.maths.dense_row import standardised
from aggro.learners.model.model import Model, View

ACTIVATIONS = {"sigmoid": SIGMOID_UNITS, "rbf": RBF_UNITS}
CHEAP_PRODUCTS = 2**18  # multiplications, in less time than a copy takes
LEAST_RIDGE = 1e-9  # of ridge
LARGEST_GAMMA = 1e9  # of gamma
SETTLED_ROWS = 256  # rows after which the features that most rows have got their random numbers


class OSELMClassifier(Classifier):
    """Online sequential extreme learning machine: a random hidden layer, and exact least squares on it.

    A standardised row x becomes h_i = 1/(1 + exp(−(a_i·x/√m + b_i))), where m is the number of its entries. The
    random a_i and b_i stay fixed. The scores are β_c·h. After each row, β is the solution of ridge regression on all
    rows so far with targets ±1. All classes share the hidden layer. Each row costs the square of the number of hidden
    units.

    Parameters
    ----------
    n_hidden : int, default=100
        Number of hidden units.
    activation : {"sigmoid", "rbf"}, default="sigmoid"
        The hidden values: "sigmoid" as above, or "rbf", exp(−γ‖x − a_i‖²/M), where M is the number of features.
    gamma : float, default=1.0
        Multiplies a and b ("sigmoid") or the squared distances ("rbf").
    ridge : float, default=0.01
        Penalty λ of the ridge regression.
    scale : bool, default=True
        Whether to standardise features with the means and standard deviations so far.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. One pass is exact. Further passes count each row again, which
        weakens ``ridge``.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default=False
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They multiply the weights of the rows. Predictions take the class with the lowest
        expected cost. "balanced" derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for the hidden layer and for shuffling the rows.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    weights_ : array
        β, (1, n_hidden) for two classes, otherwise (n_classes, n_hidden).
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows learned (all of them), and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean squared error and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import OSELMClassifier, streams
    >>> model = OSELMClassifier(40, random_state=0)
    >>> for chunk in streams.rotating_xor(2000, turn=0.0):
    ...     model = model.learn_chunk(chunk)
    >>> [int(model.predict_one(x)) for x in ([1, 1], [-1, 1], [-1, -1], [1, -1])]
    [1, -1, 1, -1]
    """

    _random = True
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_hidden": Number(1, 2**13, integer=True),
        "activation": Choice(tuple(ACTIVATIONS)),
        "gamma": Number(0.0, LARGEST_GAMMA, open_low=True),
        "ridge": Number(LEAST_RIDGE),
        "scale": Flag(),
        **{name: COMMON[name] for name in ("max_iter", "tol", "shuffle", "warm_start", "random_state", "n_features")},
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }
    contract = Contract(
        exempt={
            "the order of features does not matter": "the layer is random, feature by feature in the order of their "
            "numbers",
        },
        plain={"n_hidden": 12},
    )

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        activation: str = "sigmoid",
        gamma: float = 1.0,
        ridge: float = 0.01,
        scale: bool = True,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.gamma = gamma
        self.ridge = ridge
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _rule_for(self, classes: int) -> Rule:
        return HIDDEN

    def _params_for(self, rule: Rule) -> HiddenParams:
        kind, scale = ACTIVATIONS[self.activation], int(self.scale)
        return HiddenParams(int(self.n_hidden), kind, float(self.gamma), float(self.ridge), scale, 0, 0, 0)

    def _bound(self, model: Model, params: Any) -> Any:
        return params._replace(seed=int(np.uint64(model.seed).astype(np.int64)), **code_addresses())

    def _common_start(self) -> int:
        """Random numbers are by the order in which features appear, and rows are standardised before they meet them."""
        return SETTLED_ROWS

    def _check_change(self, state: Hidden) -> None:
        # The random layer has learned rows of one kind, and so many units.
        if int(state.marks[HIDDEN_UNITS]) != self.n_hidden or bool(state.moments.shape[1]) != bool(self.scale):
            raise ValueError(
                f"n_hidden={self.n_hidden!r} with scale={self.scale!r} is not the setting that this model learned "
                "with. Set them back, or call fit to start over."
            )

    def _learns_at_once(self, state: Hidden, n: int) -> bool:
        return n * state.P.size < CHEAP_PRODUCTS

    def transform(self, X: Any) -> np.ndarray:
        """Compute the hidden values of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        H : array of shape (n_samples, n_hidden)
            The hidden values.
        """
        units = int(self.n_hidden)
        return self._scores(X, more=units)[:, -units:].copy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names for the hidden units."""
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(int(self.n_hidden))], dtype=object)

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the hidden units in the scores."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            # The last row of B is the spare one for classes to come; the last columns pad the units to whole eights.
            shown = self._by_class(view.labels, view.state.B[:-1, : int(view.state.marks[HIDDEN_UNITS])].T)
        return shown[None, :] if shown.ndim == 1 else shown.T

    def _formula(self, view: View) -> Formula:
        state, params, n, units = view.state, view.params, view.n_features, int(view.state.marks[HIDDEN_UNITS])
        # Features that were not met have no random weights, and drop out.
        met = state.order[:n] != 0
        A, B = state.A[:, :units], state.B[:-1, :units]
        weights = A[1 : 1 + n][met]
        scaled = (standardised_by(state.moments, int(state.marks[MEASURED_ROWS]), n),) if state.moments.shape[1] else ()
        if params.kind == SIGMOID_UNITS:
            hidden: Stage = Sigmoids(weights, A[0].copy())
        else:
            hidden = KernelValues("rbf", params.gamma / max(int(state.marks[INPUTS_MET]), 1), 0.0, 1, weights.T)
        return (*scaled, *columns_kept(met), hidden, Linear(B.T, np.zeros(B.shape[0])))

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each unit's rise above what it is for a row at the means, shared out by what the features put into it."""
        # A row at the means is 0 after standardising: from there each feature raises or lowers a unit's input.
        state, params = view.state, view.params
        raw = np.zeros(state.order.shape[0])
        raw[indices] = values
        z, _ = standardised(state.moments, int(state.marks[MEASURED_ROWS]), raw)
        # Features that were not met are left out, as in ``project``.
        z[state.order == 0] = 0.0
        A, B = state.A[:, : int(state.marks[HIDDEN_UNITS])], state.B[:-1, : int(state.marks[HIDDEN_UNITS])]
        # The input of a sigmoid is linear in the row; that of a Gaussian is a sum over features, too: −γ/M Σ(z_j² −
        # 2a_j z_j + a_j²).
        if params.kind == SIGMOID_UNITS:
            inputs, start = z[:, None] * A[1:] / np.sqrt(max(int(np.count_nonzero(z)), 1)), A[0]
        else:
            per = params.gamma / max(int(state.marks[INPUTS_MET]), 1)
            inputs, start = -per * (z[:, None] - 2.0 * A[1:]) * z[:, None], -per * A[0]
        risen = inputs.sum(axis=0)
        # A unit's rise is shared out by the features' parts in its input.
        from_, to = activated(params.kind, start), activated(params.kind, start + risen)
        # An input that has not risen gives no part, and must not divide.
        safe = np.where(risen == 0.0, 1.0, risen)
        parts = (inputs * np.where(risen == 0.0, 0.0, (to - from_) / safe)) @ B.T
        shown = parts[indices]
        # What the features that the row lacks contribute stands in the intercept.
        return shown, from_ @ B.T + parts.sum(axis=0) - shown.sum(axis=0)


def activated(kind: int, v: np.ndarray) -> np.ndarray:
    """What a unit makes of its input."""
    v = np.clip(v, -700.0, 700.0)
    return 1.0 / (1.0 + np.exp(-v)) if kind == SIGMOID_UNITS else np.exp(v)  # type: ignore[no-any-return]
