"""Kernel classifiers by features: Fourier and Nyström online gradient descent.

With features z(x) whose products are near to those of the kernel (``engine.feature_maps``), a row with a hinge loss
takes a step of fixed size down its slope,

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

from aggro.learners.linear.base import AVERAGE, POSITIVE
from aggro.learners.linear.classes import LinearClassifier
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.learner import COMMON
from aggro.learners.shared.mapped import FEATURES
from aggro.learners.shared.params import Choice, Constraint, Either, Numbers
from aggro.learners.shared.scaled import SCALE
from aggro.learners.shared.tasks import CALIBRATION, CLASS_WEIGHT


class GradientDescent(LinearClassifier):
    """What both share."""

    eta: Any
    step = "ogd"
    batch_size, window, half_life, multi_class = 1, "disjoint", None, "auto"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": FEATURES["n_components"],
        "gamma": FEATURES["gamma"],
        "eta": Either((POSITIVE, Choice(("auto",)), Numbers(POSITIVE))),
        "margin": POSITIVE,
        "scale": SCALE,
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
        """The η that predicts: the one with the fewest mistakes, where several learn."""
        return self.C_


class FOGDClassifier(GradientDescent):
    """Fourier online gradient descent: a kernel classifier by random cosines and sines.

    Rows become D features whose products are near to those of the RBF kernel, the same for all rows and drawn
    beforehand, and a linear model of them takes steps of size η for rows with a hinge loss. Time and memory do not grow
    with the rows.

    Parameters
    ----------
    n_components : int, default=400
        How many features D; the error of a kernel value is about 1/√D.
    gamma : float or "auto", default="auto"
        γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": several around 1 over
        the mean of ‖x‖² in the first 32 rows.
    eta : float, "auto" or list of float, default="auto"
        The size η of a step. With "auto" eight values from 0.01 to 32 learn side by side, and the one with the
        fewest progressive mistakes predicts. A list is a grid of one's own.
    margin : float, default=1.0
        The margin that a row must have to be passed over.
    fit_intercept : bool, default=False
        Whether to learn an intercept, as a constant feature 1; the published learner has none.
    average : bool or "auto", default="auto"
        Predict with the mean of all iterates instead of the last. With "auto" the last iterate or the mean
        weighted by the rows' numbers, whichever has made fewer mistakes of late.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, before they are mapped: see :class:`PAClassifier`.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto" is True.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale η, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the frequencies, and the order of the rows with ``shuffle``; without it both are always the same.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights of the features that rows are mapped to: one row for two classes, else one a class; and intercepts.
    classes_ : array
        The classes, sorted.
    eta_ : float
        The η that predicts; ``grid_`` lists all, as ``C``.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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

    The first rows that differ are landmarks. A row's features are its kernel values with them, made orthonormal, and a
    linear model of them takes steps of size η for rows with a hinge loss. Time and memory do not grow with the rows.

    Parameters
    ----------
    n_components : int, default=100
        How many landmarks B; a row costs B² multiplications.
    gamma : float or "auto", default="auto"
        γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": 1 over the mean of ‖x‖²
        in the first 32 rows, which are no landmarks then; nor are they if rows are scaled.
    eta : float, "auto" or list of float, default="auto"
        The size η of a step. With "auto" eight values from 0.01 to 32 learn side by side, and the one with the
        fewest progressive mistakes predicts. A list is a grid of one's own.
    margin : float, default=1.0
        The margin that a row must have to be passed over.
    fit_intercept : bool, default=False
        Whether to learn an intercept, as a constant feature 1; the published learner has none.
    average : bool or "auto", default="auto"
        Predict with the mean of all iterates instead of the last. With "auto" the last iterate or the mean
        weighted by the rows' numbers, whichever has made fewer mistakes of late.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, before they are mapped: see :class:`PAClassifier`.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto" is True.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale η, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights of the features that rows are mapped to: one row for two classes, else one a class; and intercepts.
    classes_ : array
        The classes, sorted.
    eta_ : float
        The η that predicts; ``grid_`` lists all, as ``C``.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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
