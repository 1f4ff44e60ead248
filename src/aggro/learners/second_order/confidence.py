"""Confidence-weighted learning, CW, and its soft form, SCW.

A passive-aggressive step goes along the row, each feature as far as any other. These learners know how sure they are of
each weight, and move along Σx: far where little is known, a little where much is. What a row asks for, and the closed
forms of the steps, are in ``learners.second_order.step``.

References
----------
M. Dredze, K. Crammer, F. Pereira. Confidence-weighted linear classification. ICML 2008 (``form="variance"``).
K. Crammer, M. Dredze, F. Pereira. Exact convex confidence-weighted learning. NIPS 2008 (``form="stdev"``).
J. Wang, P. Zhao, S. C. H. Hoi. Exact soft confidence-weighted learning. ICML 2012.
"""

from __future__ import annotations

from typing import Any, ClassVar

from aggro.learners.base.contract import Contract
from aggro.learners.base.params import Choice, Constraint, Either
from aggro.learners.second_order.base import CLASS_PARAMETERS, ETA, POSITIVE_OR_AUTO, ClassBelief
from aggro.learners.second_order.step import Method


class CWClassifier(ClassBelief):
    """Confidence-weighted classifier (CW).

    The model is a normal distribution N(μ, Σ) over the weights. A row with Pr(y w·x ≥ 0) < η changes it as little as
    possible, along Σx, so that this probability becomes η. With the margin m = y μ·x and v = x'Σx,

        μ ← μ + αyΣx,   Σ⁻¹ ← Σ⁻¹ + κxx'

    where α and κ have closed forms (see ``learners.second_order.step``). The model trusts every label, including
    wrong ones, and weights on rows have no effect, except that rows of weight 0 are skipped. :class:`SCWClassifier`
    and :class:`AROWClassifier` tolerate noise.

    Parameters
    ----------
    eta : float or "auto", default="auto"
        Confidence η that the model must have in a row it has learned, above 0.5. "auto" trains eight values from
        0.51 to 0.95 in parallel in one pass, and predicts with the one that has made the fewest mistakes so far.
    form : {"variance", "stdev"}, default="variance"
        The constraint on the margin. "variance" is m ≥ φv, as in the first paper. "stdev" is m ≥ φ√v, which is the
        exact probability. If labels contradict each other, "stdev" soon becomes certain of all weights and stops
        learning.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether Σ is diagonal or a full matrix. Each row then costs the number of its non-zeros, or the square of the
        number of features.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=True
        Whether to predict with the mean of all iterates instead of the last, which follows the most recent rows too
        closely.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. ``coef_`` is in the
        units of the original features.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for classes that no hyperplane
        separates. "fourier" uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream.
        ``coef_`` then refers to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They do not change the updates, since the problem has no C to scale. Predictions
        take the class with the lowest expected cost. "balanced" derives the weights from the class counts so far.
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
    eta_ : float
        The value of η that makes the predictions. ``grid_`` lists all values.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed μ or Σ, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import CWClassifier
    >>> model = CWClassifier()
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    >>> model.decision_std_one({"day": 1}) < model.decision_std_one({"day": 2})
    True
    """

    _main = "eta"
    _unit = 0
    _grid = (0.51, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95)
    _constraints: ClassVar[dict[str, Constraint]] = {
        "eta": Either((ETA, Choice(("auto",)))),
        "form": Choice(("variance", "stdev")),
        **CLASS_PARAMETERS,
    }
    contract = Contract(
        exempt={
            "a weight scales C": "there is no C for a weight to scale",
            "check_class_weight_classifiers": "weights change nothing that is learned",
        },
        plain={"eta": 0.8},
        tried=({"form": "stdev", "eta": "auto"},),
        apart=frozenset({"eta", "form"}),
    )

    def __init__(
        self,
        eta: Any = "auto",
        *,
        form: str = "variance",
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = True,
        scale: Any = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.eta = eta
        self.form = form
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _method(self) -> Method:
        return Method[self.form.upper()]

    @property
    def eta_(self) -> float:
        """The η that makes the predictions: the best so far, if several are trained."""
        return self._predicting_value()


class SCWClassifier(ClassBelief):
    """Soft confidence-weighted classifier (SCW).

    The model is a normal distribution N(μ, Σ) over the weights. Let φ be the quantile of the standard normal
    distribution at η. A row with Pr(y w·x ≥ 0) < η has the loss ℓ = φ√v − m, where m = y μ·x and v = x'Σx, and
    changes the model to

        argmin D_KL(N(μ, Σ)‖N(μ_t, Σ_t)) + Cℓ   (``scw1``)   or   + Cℓ²   (``scw2``)

    along Σx, by the closed forms in ``learners.second_order.step``.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Aggressiveness: the largest step for one row (``scw1``), or the inverse penalty on large steps (``scw2``).
        "auto" trains eight values from 0.003 to 10 (with ``features``, from 0.1 to 300) in parallel in one pass,
        and predicts with the one that has made the fewest mistakes so far.
    eta : float, default=0.75
        Confidence η that the model must have in a row it has learned, above 0.5.
    variant : {"scw1", "scw2"}, default="scw1"
        The problem to solve: "scw1" or "scw2" above.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether Σ is diagonal or a full matrix. Each row then costs the number of its non-zeros, or the square of the
        number of features.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=False
        Whether to predict with the mean of all iterates instead of the last.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. ``coef_`` is in the
        units of the original features.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for classes that no hyperplane
        separates. "fourier" uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream.
        ``coef_`` then refers to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale C. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
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
    C_ : float
        The value of C that makes the predictions. ``grid_`` lists all values.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed μ or Σ, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import SCWClassifier
    >>> model = SCWClassifier()
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    >>> model.decision_std_one({"day": 1}) < model.decision_std_one({"day": 2})
    True
    """

    _main = "C"
    _unit = 1
    _grid = tuple(10.0 ** (k / 2) for k in range(-5, 3))
    _constraints: ClassVar[dict[str, Constraint]] = {
        "C": POSITIVE_OR_AUTO,
        "eta": ETA,
        "variant": Choice(("scw1", "scw2")),
        **CLASS_PARAMETERS,
    }
    contract = Contract(
        exempt={"a weight scales C": {("C", "auto"): "the check sets C"}},
        plain={"C": 1.0},
        tried=({"variant": "scw2", "C": "auto"},),
        apart=frozenset({"C", "variant"}),
    )

    def __init__(
        self,
        C: Any = "auto",
        *,
        eta: float = 0.75,
        variant: str = "scw1",
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.eta = eta
        self.variant = variant
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _method(self) -> Method:
        return Method[self.variant.upper()]

    @property
    def C_(self) -> float:
        """The C that makes the predictions: the best so far, if several are trained."""
        return self._predicting_value()
