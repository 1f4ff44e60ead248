"""Passive-aggressive classification and regression with linear models.

Each row asks for the smallest change of the weights that would have got it right:

    w_{t+1} = argmin ½‖w − w_t‖²   s.t.  loss(w; x_t, y_t) = 0        (softened with C)

and the answer is a closed form, w_t + τ v, with no learning rate to tune. The steps are in
``engine.steps``, the rule for one weight vector in ``learners.linear.vector``, for many in ``learners.linear.bank``,
for groups of rows in ``learners.linear.minibatch``.

Two classes share one weight vector, since the two one-vs-rest problems mirror each other; when a
third class appears the vector is split into w and −w, and the new class begins at zero.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003.
A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert. An empirical study about online
learning with generalized passive-aggressive approaches (the step ``ls``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from aggro.engine.rule import Rule
from aggro.engine.user_steps import OwnStep
from aggro.learners.linear.bank import GRID, BankParams
from aggro.learners.linear.base import AVERAGE, LINEAR, POSITIVE, Linear, group_rule
from aggro.learners.linear.classes import LinearClassifier
from aggro.learners.linear.given_weights import GivenWeights
from aggro.learners.linear.grid import Problem
from aggro.learners.linear.vector import LINE, LineParams
from aggro.learners.shared.learner import COMMON
from aggro.learners.shared.params import Choice, Constraint, Number
from aggro.learners.shared.tasks import CALIBRATION, CLASS_WEIGHT, Regressor
from aggro.learners.shared.weights import NumberWeights

if TYPE_CHECKING:
    from aggro.learners.linear.minibatch import GroupParams


class PAClassifier(LinearClassifier):
    """Passive-aggressive linear classifier.

    For each row, w moves by τ y x, where with q = ‖x‖² (+ 1 with an intercept), ℓ = [m − y f]₊

    - ``step="pa"``: τ = ℓ/q, the row is right after the step;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C a row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = (m − y f)/(q + 1/(2C)), least squares, no hinge.

    One pass, constant memory, no learning rate; a row with ℓ = 0 changes nothing.

    Parameters
    ----------
    C : float, "auto" or list of float, default="auto"
        Aggressiveness: the most a row may move the weights (``pa1``), or how little is forgiven
        (``pa2``, ``ls``). ``pa`` has no C. With "auto" several values learn side by side in one pass, and
        the one with the fewest progressive mistakes predicts: eight from 3e-4 to 1 if rows are scaled,
        else sixteen from 1e-5 to 316. A list is a grid of one's own.
    step : {"pa", "pa1", "pa2", "ls", "ogd", "auto"} or a step of one's own, default="pa1"
        The step, as above, or one made with :func:`aggro.step`, itself or by its name; "auto" lets the
        first four learn side by side, as several C do. "ogd" is no step of this kind but one of online
        gradient descent: τ = C for every row with a loss.
    margin : float, default=1.0
        The margin m that a row must have to be passed over.
    multi_class : {"ovr", "joint", "auto"}, default="auto"
        One problem per class in a single pass, or the multi-prototype step: the best wrong class
        against the true one. "auto": one vector for two classes, and joint from the third on
        (mini-batches: "ovr").
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool or "auto", default="auto"
        Predict with the mean of all iterates instead of the last. With "auto" the last iterate or the mean
        weighted by the rows' numbers, whichever has made fewer mistakes of late.
    half_life : float or "auto", default=None
        For streams that change: after so many rows what was learned counts half. The weights fade, or,
        with ``average``, the mean of the iterates does. With "auto" sliding means with half-lives of 100
        and 1,000 rows compete with what ``average="auto"`` has, whatever ``average`` is.
    batch_size : int, default=1
        How many rows are learned at once, by the exact solution of their common problem; not for
        ``pa``, whose problem may have none. Rows of an incomplete group wait: ``fit`` learns them at its
        end, elsewhere ``flush`` does.
    window : {"disjoint", "sliding"}, default="disjoint"
        With ``batch_size`` above 1, each row is in one group, or a group is the last ``batch_size``
        rows, at every row.
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
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": unless a half-life is given.
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
    C_, step_ : float, str
        What predicts, of the values of C and the steps that learn side by side; ``grid_`` lists all.
    average_, half_life_ : bool, float or None
        Which iterate predicts, where several compete: whether it is a mean, and its half-life.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows (or groups of rows) that changed the weights, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

    Examples
    --------
    >>> from aggro import PAClassifier
    >>> model = PAClassifier()
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     guess = model.predict_one(x)
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **LINEAR,
        "margin": POSITIVE,
        "multi_class": Choice(("ovr", "joint", "auto")),
        **COMMON,
        "average": AVERAGE,
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }

    def __init__(
        self,
        C: Any = "auto",
        *,
        step: str | OwnStep = "pa1",
        margin: float = 1.0,
        multi_class: str = "auto",
        fit_intercept: bool = True,
        average: bool | str = "auto",
        half_life: float | str | None = None,
        batch_size: int = 1,
        window: str = "disjoint",
        scale: Any = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: float | str = "auto",
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
        self.C = C
        self.step = step
        self.margin = margin
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.average = average
        self.half_life = half_life
        self.batch_size = batch_size
        self.window = window
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


class PARegressor(GivenWeights, Linear, NumberWeights, Regressor):
    """Passive-aggressive linear regression.

    For each row, w moves by τ sign(y − f) x, where with q = ‖x‖² (+ 1 with an intercept) and
    ℓ = [|y − f| − ε]₊

    - ``step="pa"``: τ = ℓ/q, the row is within ε after the step;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C a row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = |y − f|/(q + 1/(2C)), least squares, ε unused.

    Parameters
    ----------
    C : float, "auto" or list of float, default="auto"
        Aggressiveness, as in :class:`PAClassifier`.
    step : {"pa", "pa1", "pa2", "ls", "ogd", "auto"} or a step of one's own, default="ls"
        The step, as above, or one made with :func:`aggro.step`, itself or by its name; "auto" lets the
        first four learn side by side, as several C do. "ogd" is no step of this kind but one of online
        gradient descent: τ = C for every row with a loss.
    epsilon : float, default=0.1
        Errors up to this size are passed over; not by ``ls``.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool or "auto", default="auto"
        Predict with the mean of all iterates instead of the last. With "auto" the last iterate or the mean
        weighted by the rows' numbers, whichever has made fewer mistakes of late.
    half_life : float or "auto", default=None
        For streams that change: after so many rows what was learned counts half. The weights fade, or,
        with ``average``, the mean of the iterates does. With "auto" sliding means with half-lives of 100
        and 1,000 rows compete with what ``average="auto"`` has, whatever ``average`` is.
    batch_size : int, default=1
        How many rows are learned at once, by the exact solution of their common problem; not for
        ``pa``, whose problem may have none. Rows of an incomplete group wait: ``fit`` learns them at its
        end, elsewhere ``flush`` does.
    window : {"disjoint", "sliding"}, default="disjoint"
        With ``batch_size`` above 1, each row is in one group, or a group is the last ``batch_size``
        rows, at every row.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, by what was seen so far, the row itself counted. "standard": subtract
        the mean, divide by the standard deviation. "rms": divide by the root mean square of the values
        that are not 0. "auto": the first for features that at least a quarter of the rows have, the
        second for rare ones. Targets are scaled too, so that C and ``epsilon`` are in
        units of their standard deviation; predictions and ``coef_`` are in units as they came.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for curves;
        made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": unless a half-life is given.
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
        Weights (n_features,) and intercept (1,).
    C_, step_ : float, str
        What predicts, of the values of C and the steps that learn side by side; ``grid_`` lists all.
    average_, half_life_ : bool, float or None
        Which iterate predicts, where several compete: whether it is a mean, and its half-life.
    n_seen_, n_updates_ : int
        Rows seen and rows (or groups of rows) that changed the weights.
    history_ : structured array
        Progressive mean loss at each power of two of rows.

    Examples
    --------
    >>> from aggro import PARegressor
    >>> model = PARegressor()
    >>> for x in (1.0, 2.0, 3.0, 4.0) * 50:
    ...     model = model.learn_one([x], 2 * x + 1)
    >>> round(model.predict_one([2.5]), 1)
    6.0
    """

    _constraints: ClassVar[dict[str, Constraint]] = {**LINEAR, "epsilon": Number(0.0), **COMMON, "average": AVERAGE}

    def __init__(
        self,
        C: Any = "auto",
        *,
        step: str | OwnStep = "ls",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        average: bool | str = "auto",
        half_life: float | str | None = None,
        batch_size: int = 1,
        window: str = "disjoint",
        scale: Any = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: float | str = "auto",
        max_iter: int | str = "auto",
        tol: float | None = None,
        shuffle: bool | str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.step = step
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.average = average
        self.half_life = half_life
        self.batch_size = batch_size
        self.window = window
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, coef_init: Any = None, intercept_init: Any = None
    ) -> Self:
        """Learn from scratch (or go on, with ``warm_start``), ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            The numbers to predict.
        sample_weight : array of shape (n_samples,), default=None
            Scales C for each row; a row of weight 0 is not there at all.
        coef_init, intercept_init : array, default=None
            Weights and intercept to begin with, in the shapes of ``coef_`` and ``intercept_``. Rows are then learned
            unscaled.

        Returns
        -------
        self : object
            The learner.
        """
        if coef_init is None and intercept_init is None:
            return super().fit(X, y, sample_weight)
        self._fit_from(X, y, sample_weight, coef_init, intercept_init, None)
        return self

    def _rule_for(self, classes: int) -> Rule:
        if self.batch_size > 1:
            return self._rule(group_rule())
        return self._rule(GRID if self._is_grid() else LINE)

    def _params_for(self, rule: Rule) -> LineParams | BankParams | GroupParams:
        return self._params(rule, Problem.NUMBER, float(self.epsilon))
