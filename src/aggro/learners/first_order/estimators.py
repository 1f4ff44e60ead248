"""Perceptron, ALMA and ROMMA as users type them. The algorithms are in ``learners.first_order.corrections``.

References
----------
F. Rosenblatt. The perceptron. Psychological Review 65, 1958.
Y. Freund, R. E. Schapire. Large margin classification using the perceptron algorithm. Machine Learning 37, 1999.
C. Gentile. A new approximate maximal margin classification algorithm. JMLR 2, 2001.
Y. Li, P. M. Long. The relaxed online maximum margin algorithm. Machine Learning 46, 2002.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.learners.base.contract import Contract
from aggro.learners.base.learner import COMMON, NONE
from aggro.learners.base.mapped import MAP_PARAMETERS
from aggro.learners.base.params import Constraint, Either, Flag, Number
from aggro.learners.base.scaled import SCALE_PARAMETER
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT
from aggro.learners.first_order.base import FirstOrder
from aggro.learners.first_order.corrections import ALMA, PERCEPTRON, ROMMA
from aggro.learners.first_order.planes import PlaneParams

LARGEST_FLOAT = np.finfo(np.float64).max
ALL_THREE: dict[str, Constraint] = {
    "scale": SCALE_PARAMETER,
    **MAP_PARAMETERS,
    **COMMON,
    "class_weight": CLASS_WEIGHT,
    "calibration": CALIBRATION,
}


class Perceptron(FirstOrder):
    """The perceptron, averaged by default.

    A row that is predicted wrongly, y w·x ≤ 0, changes w by y x; other rows change nothing. If a margin γ separates
    the classes and rows have norm at most R, the perceptron makes at most (R/γ)² mistakes. Several classes are
    learned one-vs-rest. A weight on a row multiplies its update.

    Parameters
    ----------
    scale : {"auto", "standard", "rms"}, bool or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. None leaves rows as
        they are.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for classes that no hyperplane
        separates. "fourier" uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream.
        ``coef_`` then refers to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=True
        Whether to predict with the mean of all iterates instead of the last.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
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
        Seed for shuffling the rows and for the random frequencies of ``features="fourier"``. With None, the frequencies
        are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, otherwise (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import Perceptron
    >>> model = Perceptron(scale=None)
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    """

    _constraints: ClassVar[dict[str, Constraint]] = ALL_THREE
    contract = Contract(
        exempt={
            "check_class_weight_classifiers": {
                ("scale", None): "weights lengthen moves, and rows far longer than the intercept's 1 hardly move it"
            }
        }
    )

    def __init__(
        self,
        *,
        scale: str | bool | None = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        fit_intercept: bool = True,
        average: bool = True,
        max_iter: int | str = "auto",
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _algorithm(self) -> PlaneParams:
        return PlaneParams(PERCEPTRON, 0.0, 0.0, 0.0, 1.0, 0, 0.0, 0)


class ALMAClassifier(FirstOrder):
    """The approximate large margin algorithm, for the Euclidean norm (ALMA₂).

    With x̂ = x/‖x‖, the k-th correction happens at a row with y w·x̂ ≤ (1 − α)B/√k. It adds (C/√k) y x̂ to w, and
    divides w by its norm if that is above 1. If the classes are separable, w converges to a margin of at least 1 − α
    times the largest possible one. Several classes are learned one-vs-rest, each with its own k.

    Parameters
    ----------
    alpha : float, default=0.9
        How far the margin of w may end below the largest possible margin, above 0 and up to 1. A smaller value
        needs more corrections.
    B : float, default=None
        The first correction is made at margins up to (1 − α)B. None means √8/α, as in the theorem of the paper.
    C : float, default=√2
        Length of the first correction. A weight on the row scales it.
    scale : {"auto", "standard", "rms"}, bool or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. None leaves rows as
        they are.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for classes that no hyperplane
        separates. "fourier" uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream.
        ``coef_`` then refers to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=True
        Whether to predict with the mean of all iterates instead of the last.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
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
        Seed for shuffling the rows and for the random frequencies of ``features="fourier"``. With None, the frequencies
        are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, otherwise (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro import ALMAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 5))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = ALMAClassifier(0.5, scale=None).fit(X, y)
    >>> bool(np.linalg.norm([*model.coef_[0], *model.intercept_]) <= 1.0 + 1e-9)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "alpha": Number(0.0, 1.0, open_low=True),
        "B": Either((Number(0.0, open_low=True), NONE)),
        "C": Number(0.0, open_low=True),
        **ALL_THREE,
    }

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        B: float | None = None,
        C: float = 2**0.5,
        scale: str | bool | None = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        fit_intercept: bool = True,
        average: bool = True,
        max_iter: int | str = "auto",
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.B = B
        self.C = C
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _algorithm(self) -> PlaneParams:
        B = min(8**0.5 / self.alpha, LARGEST_FLOAT) if self.B is None else float(self.B)
        return PlaneParams(ALMA, 0.0, 1.0 - float(self.alpha), B, float(self.C), 0, 0.0, 0)


class ROMMAClassifier(FirstOrder):
    """The relaxed online maximum margin algorithm (ROMMA), and its aggressive form.

    At a row that is predicted wrongly, w becomes the shortest vector w′ that satisfies two conditions: it predicts
    this row correctly, y w′·x ≥ 1, and it lies in the half-space w′·w ≥ ‖w‖², which stands for all earlier rows. With
    ``aggressive`` the same happens at every row with y w·x < 1. Several classes are learned one-vs-rest. Weights on
    rows have no effect, except that rows of weight 0 are skipped.

    Parameters
    ----------
    aggressive : bool, default=False
        Whether to learn rows that are predicted correctly but have y w·x < 1, too.
    scale : {"auto", "standard", "rms"}, bool or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. None leaves rows as
        they are.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for classes that no hyperplane
        separates. "fourier" uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream.
        ``coef_`` then refers to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=True
        Whether to predict with the mean of all iterates instead of the last.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
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
        Seed for shuffling the rows and for the random frequencies of ``features="fourier"``. With None, the frequencies
        are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, otherwise (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import ROMMAClassifier
    >>> model = ROMMAClassifier(aggressive=True, scale=None, fit_intercept=False, average=False)
    >>> for x, y in [([2.0, 0.0], "+"), ([0.0, 4.0], "-")]:
    ...     model = model.learn_one(x, y)
    >>> model.decision_function([[2.0, 0.0], [0.0, 4.0]]).tolist()
    [-1.0, 1.0]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"aggressive": Flag(), **ALL_THREE}
    contract = Contract(
        exempt=dict.fromkeys(
            ("a weight scales C", "check_class_weight_classifiers"),
            "a row is a constraint or is none, whatever its weight",
        )
    )

    def __init__(
        self,
        *,
        aggressive: bool = False,
        scale: str | bool | None = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        fit_intercept: bool = True,
        average: bool = True,
        max_iter: int | str = "auto",
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.aggressive = aggressive
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _algorithm(self) -> PlaneParams:
        return PlaneParams(ROMMA, 1.0, 0.0, 0.0, 1.0, int(self.aggressive), 0.0, 0)
