"""Kernel classifiers by features: Fourier and Nyström online gradient descent.

With features z(x) whose products are near to those of the kernel (``engine.prepare.feature_maps``), a row with a
hinge loss takes a step of fixed size down its slope,

    f(x) = w·z(x)        w ← w + η y z(x)   where   y f(x) < 1

which is what a kernel learner does that adds η y k(x, ·), but with D weights instead of a row for each step. The
regret against any w in the features' space is at most ‖w‖²/(2η) + ηT/2 after T rows, as all ‖z‖ ≤ 1 (without an
intercept).

Reference
---------
J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu. Large Scale Online Kernel Learning. JMLR 17 (2016).
"""

from __future__ import annotations

from typing import Any, ClassVar

from aggro.learners.base.contract import Contract
from aggro.learners.base.learner import COMMON
from aggro.learners.base.mapped import MAP_PARAMETERS
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Numbers
from aggro.learners.base.scaled import SCALE_PARAMETER
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT
from aggro.learners.linear.base import AVERAGE
from aggro.learners.linear.classes import LinearClassifier


class GradientDescent(LinearClassifier):
    """What both share."""

    eta: Any
    step = "ogd"
    batch_size, window, half_life, multi_class = 1, "disjoint", None, "auto"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": MAP_PARAMETERS["n_components"],
        "gamma": MAP_PARAMETERS["gamma"],
        "eta": Either((POSITIVE, Choice(("auto",)), Numbers(POSITIVE))),
        "margin": POSITIVE,
        "scale": SCALE_PARAMETER,
        **COMMON,
        "average": AVERAGE,
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }
    contract: ClassVar[Contract] = Contract(
        exempt={"a row of zeros teaches nothing": "a row of zeros is a place like any other"},
        plain={"n_components": 24, "gamma": 0.5, "eta": 0.5, "average": False, "scale": None},
        tried=({"eta": [0.1, 1.0], "gamma": "auto"},),
        apart=frozenset({"eta", "gamma"}),
    )

    @property
    def C(self) -> Any:  # type: ignore[override]
        """η under the name that the steps have for it."""
        return self.eta

    @property
    def eta_(self) -> float:
        """The η that makes the predictions: the one with the fewest mistakes, if several are trained."""
        return self.C_


class FOGDClassifier(GradientDescent):
    """Fourier online gradient descent: a kernel classifier by random cosines and sines.

    aggro maps each row to D features whose inner products approximate the RBF kernel. The frequencies are drawn at
    the start and stay the same. A linear model on these features takes a step of size η for each row with a hinge
    loss. Time and memory do not grow with the number of rows.

    Parameters
    ----------
    n_components : int, default=400
        Number of features D. The error of a kernel value is about 1/√D.
    gamma : float or "auto", default="auto"
        γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" tries several values around 1/mean(‖x‖²) of the
        first 32 rows.
    eta : float, "auto" or list of float, default="auto"
        Step size η. Give a list to train several values in parallel in one pass and predict with the one that has made
        the fewest mistakes so far. "auto" tries eight values from 0.01 to 32.
    margin : float, default=1.0
        Margin below which a row has a loss.
    fit_intercept : bool, default=False
        Whether to learn an intercept, the weight of a constant feature 1. The published algorithm has none.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" compares the last iterate with a
        mean that weighs iterate t by t, and predicts with the one that has had the lower error recently.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. Rows are scaled
        before they are mapped.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale η. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for the random frequencies and for shuffling the rows. With None, both are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights of the mapped features, one row for two classes, otherwise one row per class; and intercepts.
    classes_ : array
        The classes, sorted.
    eta_ : float
        The value of η that makes the predictions. ``grid_`` lists all values, as ``C``.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import FOGDClassifier
    >>> model = FOGDClassifier(64)
    >>> for x in range(-100, 100):
    ...     model = model.learn_one({"x": x % 7}, "middle" if 2 <= x % 7 <= 4 else "edge")
    >>> [model.predict_one({"x": x}) for x in (0, 3, 6)]
    ['edge', 'middle', 'edge']
    """

    features = "fourier"
    contract: ClassVar[Contract] = Contract(
        exempt={"the order of features does not matter": "a feature's frequencies depend on those met before it"}
    )

    def __init__(
        self,
        n_components: int = 400,
        *,
        gamma: float | str = "auto",
        eta: Any = "auto",
        margin: float = 1.0,
        fit_intercept: bool = False,
        average: bool | str = "auto",
        scale: Any = "auto",
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
        self.n_components = n_components
        self.gamma = gamma
        self.eta = eta
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.average = average
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


class NOGDClassifier(GradientDescent):
    """Nyström online gradient descent: a kernel classifier by kernel values with some rows.

    The first distinct rows become landmarks. The features of a row are its kernel values with the landmarks,
    orthonormalised. A linear model on these features takes a step of size η for each row with a hinge loss. Time and
    memory do not grow with the number of rows.

    Parameters
    ----------
    n_components : int, default=100
        Number of landmarks B. Each row costs B² multiplications.
    gamma : float or "auto", default="auto"
        γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" is 1/mean(‖x‖²) of the first 32 rows. With
        "auto", or with ``scale``, landmarks are chosen only after these rows.
    eta : float, "auto" or list of float, default="auto"
        Step size η. Give a list to train several values in parallel in one pass and predict with the one that has made
        the fewest mistakes so far. "auto" tries eight values from 0.01 to 32.
    margin : float, default=1.0
        Margin below which a row has a loss.
    fit_intercept : bool, default=False
        Whether to learn an intercept, the weight of a constant feature 1. The published algorithm has none.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" compares the last iterate with a
        mean that weighs iterate t by t, and predicts with the one that has had the lower error recently.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. Rows are scaled
        before they are mapped.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale η. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights of the mapped features, one row for two classes, otherwise one row per class; and intercepts.
    classes_ : array
        The classes, sorted.
    eta_ : float
        The value of η that makes the predictions. ``grid_`` lists all values, as ``C``.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import NOGDClassifier
    >>> model = NOGDClassifier(8)
    >>> for x in range(-100, 100):
    ...     model = model.learn_one({"x": x % 7}, "middle" if 2 <= x % 7 <= 4 else "edge")
    >>> [model.predict_one({"x": x}) for x in (0, 3, 6)]
    ['edge', 'middle', 'edge']
    """

    features = "nystroem"
    contract: ClassVar[Contract] = Contract(
        exempt={"check_classifiers_classes": "no landmark is taken before 32 rows, and these are fewer, learned once"}
    )

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float | str = "auto",
        eta: Any = "auto",
        margin: float = 1.0,
        fit_intercept: bool = False,
        average: bool | str = "auto",
        scale: Any = "auto",
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
        self.n_components = n_components
        self.gamma = gamma
        self.eta = eta
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.average = average
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
