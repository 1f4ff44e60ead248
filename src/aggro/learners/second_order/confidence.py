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

from aggro.learners.second_order.base import CLASSES, ETA, POSITIVE_OR_AUTO, ClassBelief
from aggro.learners.second_order.step import Method
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.params import Choice, Constraint, Either


class CWClassifier(ClassBelief):
    """Confidence-weighted classifier.

    The weights are believed to be N(μ, Σ). A row for which Pr(y w·x ≥ 0) < η moves the belief as little as makes
    it η, along Σx: with the margin m = y μ·x and v = x'Σx,

        μ ← μ + αyΣx,   Σ⁻¹ ← Σ⁻¹ + κxx'

    (``learners.second_order.step`` has α and κ). There is nothing soft about it: labels that are wrong are believed
    too, and a weight on a row changes nothing, unless it is 0. :class:`SCWClassifier` and :class:`AROWClassifier`
    forgive.

    Parameters
    ----------
    eta : float or "auto", default="auto"
        η, above 0.5: how sure the model is to be of a row that it has learned. With "auto" eight values from 0.51
        to 0.95 learn side by side in one pass, and the one with the fewest progressive mistakes predicts.
    form : {"variance", "stdev"}, default="variance"
        The constraint m ≥ φv, which stands in the place of the probability in the first paper, or m ≥ φ√v, which
        is the probability itself. Where labels contradict each other, "stdev" soon believes to know all weights, and
        learns no more.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether weights are believed to vary each by itself, or together. A row costs its non-zeros, or the square
        of the width.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=True
        Predict with the mean of all iterates instead of the last, which believes the last rows too much.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, by what was seen so far, the row itself counted. "standard": subtract
        the mean, divide by the standard deviation. "rms": divide by the root mean square of the values
        that are not 0. "auto": the first for features that at least a quarter of the rows have, the
        second for rare ones. ``coef_`` is in units of the features as they came.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for classes that
        no plane divides; made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    max_iter : int or "auto", default=1
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes. The problem has no C to scale, so all rows teach alike; but the decision is that
        of least cost by the probabilities;
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
    eta_ : float
        What predicts, of the values that learn side by side; ``grid_`` lists all.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the belief, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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
        **CLASSES,
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
        """The eta that predicts: the one that has done best, where several learn."""
        return self._predicting_value()


class SCWClassifier(ClassBelief):
    """Soft confidence-weighted classifier.

    The weights are believed to be N(μ, Σ). With φ the quantile of the normal distribution at η, a row for which
    Pr(y w·x ≥ 0) < η has the loss ℓ = φ√v − m, m = y μ·x and v = x'Σx, and the belief moves to

        argmin D_KL(N(μ, Σ)‖N(μ_t, Σ_t)) + Cℓ   (``scw1``)   or   + Cℓ²   (``scw2``)

    along Σx, by the closed forms in ``learners.second_order.step``.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Aggressiveness: the most a row may move the belief (``scw1``), or how little is forgiven (``scw2``). With
        "auto" eight values from 0.003 to 10 (with ``features``, from 0.1 to 300) learn side by side in one pass, and
        the one with the fewest progressive mistakes predicts.
    eta : float, default=0.75
        η, above 0.5: how sure the model is to be of a row that it has learned.
    variant : {"scw1", "scw2"}, default="scw1"
        The problem, as above.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether weights are believed to vary each by itself, or together. A row costs its non-zeros, or the square
        of the width.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=False
        Predict with the mean of all iterates instead of the last.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, by what was seen so far, the row itself counted. "standard": subtract
        the mean, divide by the standard deviation. "rms": divide by the root mean square of the values
        that are not 0. "auto": the first for features that at least a quarter of the rows have, the
        second for rare ones. ``coef_`` is in units of the features as they came.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for classes that
        no plane divides; made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    max_iter : int or "auto", default=1
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale C, and the decision is that of least cost by the probabilities;
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
    C_ : float
        What predicts, of the values that learn side by side; ``grid_`` lists all.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the belief, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

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
        **CLASSES,
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
        """The C that predicts: the one that has done best, where several learn."""
        return self._predicting_value()
