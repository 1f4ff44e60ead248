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

from aggro.learners.first_order.base import FirstOrder
from aggro.learners.first_order.corrections import ALMA, PERCEPTRON, ROMMA
from aggro.learners.first_order.planes import PlaneParams
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.learner import COMMON, NONE
from aggro.learners.shared.mapped import FEATURES
from aggro.learners.shared.params import Constraint, Either, Flag, Number
from aggro.learners.shared.scaled import SCALE
from aggro.learners.shared.tasks import CALIBRATION, CLASS_WEIGHT

MOST = np.finfo(np.float64).max
ALL_THREE: dict[str, Constraint] = {
    "scale": SCALE,
    **FEATURES,
    **COMMON,
    "class_weight": CLASS_WEIGHT,
    "calibration": CALIBRATION,
}


class Perceptron(FirstOrder):
    """The perceptron, and its average.

    A row that is predicted wrongly, y w·x ≤ 0, moves w by y x; others leave it alone. On rows of norm up to R that can
    be separated with margin γ it makes at most (R/γ)² mistakes. Several classes are learned one against the rest. A
    weight on a row multiplies its move.

    Parameters
    ----------
    scale : {"auto", "standard", "rms"}, bool or None, default="auto"
        How features are scaled on the way, by what is known of them so far; None leaves rows as they are.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for classes that
        no plane divides; made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=True
        Predict with the mean of all iterates instead of the last.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they weigh rows, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and the frequencies of ``features="fourier"``, which are
        always the same without it.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, else (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that were learned, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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

    With x̂ = x/‖x‖, the k-th correction is made at a row with y w·x̂ ≤ (1 − α)B/√k: w moves by (C/√k) y x̂, and is
    divided by its norm if that is above 1. On rows that can be separated, w comes to have at least 1 − α times the
    largest margin there is. Several classes are learned one against the rest, each with its own k.

    Parameters
    ----------
    alpha : float, default=0.9
        How far from the largest margin w may end, above 0 and up to 1. A small one needs more corrections.
    B : float, default=None
        The margin that is asked for at the first correction is (1 − α)B. None: √8/α, as the paper's theorem has it.
    C : float, default=√2
        The length of the first move; a weight on the row scales it.
    scale : {"auto", "standard", "rms"}, bool or None, default="auto"
        How features are scaled on the way, by what is known of them so far; None leaves rows as they are.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for classes that
        no plane divides; made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=True
        Predict with the mean of all iterates instead of the last.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they weigh rows, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and the frequencies of ``features="fourier"``, which are
        always the same without it.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, else (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that were learned, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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
        B = min(8**0.5 / self.alpha, MOST) if self.B is None else float(self.B)
        return PlaneParams(ALMA, 0.0, 1.0 - float(self.alpha), B, float(self.C), 0, 0.0, 0)


class ROMMAClassifier(FirstOrder):
    """The relaxed online maximum margin algorithm (ROMMA), and its aggressive form.

    At a row that is predicted wrongly, w becomes the shortest vector w′ that is right about this row, y w′·x ≥ 1, and
    in the half-space w′·w ≥ ‖w‖², which stands for all rows before. With ``aggressive``, so it does at every row with
    y w·x < 1. Several classes are learned one against the rest. Weights on rows, but for 0, change nothing.

    Parameters
    ----------
    aggressive : bool, default=False
        Whether rows that are predicted rightly, but with y w·x < 1, are learned too.
    scale : {"auto", "standard", "rms"}, bool or None, default="auto"
        How features are scaled on the way, by what is known of them so far; None leaves rows as they are.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for classes that
        no plane divides; made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=True
        Predict with the mean of all iterates instead of the last.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they weigh rows, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and the frequencies of ``features="fourier"``, which are
        always the same without it.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, else (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that were learned, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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
