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
from aggro.learners.base.learner import COMMON
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Regressor
from aggro.learners.base.weights import NumberWeights
from aggro.learners.linear.bank import GRID, BankParams
from aggro.learners.linear.base import AVERAGE, LINEAR_PARAMETERS, Linear, group_rule
from aggro.learners.linear.classes import LinearClassifier
from aggro.learners.linear.given_weights import GivenWeights
from aggro.learners.linear.grid import Problem
from aggro.learners.linear.vector import LINE, LineParams

if TYPE_CHECKING:
    from aggro.learners.linear.minibatch import GroupParams


class PAClassifier(LinearClassifier):
    """Passive-aggressive linear classifier.

    Each row changes w by τ y x. With q = ‖x‖² (+ 1 with an intercept) and the loss ℓ = [m − y f]₊, the step τ is

    - ``step="pa"``: τ = ℓ/q; afterwards the row has the margin m;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C for one row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = (m − y f)/(q + 1/(2C)), least squares without a hinge.

    A row without loss changes nothing. There is no learning rate, and memory stays constant.

    Parameters
    ----------
    C : float, "auto" or list of float, default="auto"
        Aggressiveness: the largest step τ for one row (``pa1``), or the inverse penalty on large steps (``pa2``,
        ``ls``). ``pa`` does not use it. Give a list to train several values in parallel in one pass and predict
        with the one that has made the fewest mistakes so far. "auto" is such a list: eight values from 3e-4 to 1 if
        rows are scaled, otherwise sixteen from 1e-5 to 316.
    step : {"pa", "pa1", "pa2", "ls", "ogd", "auto"} or a step of your own, default="pa1"
        How a row changes the weights: one of the steps above, or a step made with :func:`aggro.step` (the object or its
        name). "auto" trains the first four in parallel and predicts with the best so far. "ogd" is plain online
        gradient descent: τ = C for every row with a loss.
    margin : float, default=1.0
        Margin m below which a row has a loss and changes the model.
    multi_class : {"ovr", "joint", "auto"}, default="auto"
        How to learn several classes. "ovr" learns each class against the rest. "joint" learns the true class
        against its best competitor. "auto" uses one weight vector for two classes and "joint" for more ("ovr" in
        mini-batches).
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" compares the last iterate with a
        mean that weighs iterate t by t, and predicts with the one that has had the lower error recently.
    half_life : float or "auto", default=None
        Number of rows after which past rows count half, for streams that change. The weights fade, or, with
        ``average``, the mean of the iterates does. "auto" lets sliding means with half-lives of 100 and 1,000 rows
        compete with the iterates of ``average="auto"``, whatever ``average`` is.
    batch_size : int, default=1
        Number of rows to learn at once, by solving their joint problem exactly. Not available for ``pa``, whose joint
        problem may have no solution. Rows of an incomplete mini-batch wait: ``fit`` learns them at its end, and
        ``flush`` learns them at any time.
    window : {"disjoint", "sliding"}, default="disjoint"
        How mini-batches are formed if ``batch_size`` is above 1. "disjoint": each row is in one mini-batch. "sliding":
        each row forms a mini-batch with the ``batch_size`` − 1 rows before it.
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
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes, unless a half-life is set: then the order of
        the rows is their order in time.
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
    C_, step_ : float, str
        The values of C and ``step`` that make the predictions, if several are trained. ``grid_`` lists all.
    average_, half_life_ : bool, float or None
        The iterate that makes the predictions, if several compete: whether it is a mean, and its half-life.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights (mini-batches, with ``batch_size``), and rows predicted wrongly
        before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

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
        **LINEAR_PARAMETERS,
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

    Each row changes w by τ sign(y − f) x. With q = ‖x‖² (+ 1 with an intercept) and the loss ℓ = [|y − f| − ε]₊, the
    step τ is

    - ``step="pa"``: τ = ℓ/q; afterwards the error is ε;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C for one row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = |y − f|/(q + 1/(2C)), least squares without ε.

    Parameters
    ----------
    C : float, "auto" or list of float, default="auto"
        Aggressiveness: the largest step τ for one row (``pa1``), or the inverse penalty on large steps (``pa2``,
        ``ls``). ``pa`` does not use it. Give a list to train several values in parallel in one pass and predict
        with the one that has the lowest loss so far. "auto" is such a list: eight values from 3e-4 to 1 if rows are
        scaled, otherwise sixteen from 1e-5 to 316.
    step : {"pa", "pa1", "pa2", "ls", "ogd", "auto"} or a step of your own, default="ls"
        How a row changes the weights: one of the steps above, or a step made with :func:`aggro.step` (the object or its
        name). "auto" trains the first four in parallel and predicts with the best so far. "ogd" is plain online
        gradient descent: τ = C for every row with a loss.
    epsilon : float, default=0.1
        Errors up to this size cause no update. ``ls`` does not use it.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" compares the last iterate with a
        mean that weighs iterate t by t, and predicts with the one that has had the lower error recently.
    half_life : float or "auto", default=None
        Number of rows after which past rows count half, for streams that change. The weights fade, or, with
        ``average``, the mean of the iterates does. "auto" lets sliding means with half-lives of 100 and 1,000 rows
        compete with the iterates of ``average="auto"``, whatever ``average`` is.
    batch_size : int, default=1
        Number of rows to learn at once, by solving their joint problem exactly. Not available for ``pa``, whose joint
        problem may have no solution. Rows of an incomplete mini-batch wait: ``fit`` learns them at its end, and
        ``flush`` learns them at any time.
    window : {"disjoint", "sliding"}, default="disjoint"
        How mini-batches are formed if ``batch_size`` is above 1. "disjoint": each row is in one mini-batch. "sliding":
        each row forms a mini-batch with the ``batch_size`` − 1 rows before it.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the
        mean and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values.
        "auto" uses "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones.
        Targets are scaled too, so C and ``epsilon`` are in standard deviations of the target. Predictions and
        ``coef_`` are in the original units.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for curved relations. "fourier"
        uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream. ``coef_`` then refers
        to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes, unless a half-life is set: then the order of
        the rows is their order in time.
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
        Weights (n_features,) and intercept (1,).
    C_, step_ : float, str
        The values of C and ``step`` that make the predictions, if several are trained. ``grid_`` lists all.
    average_, half_life_ : bool, float or None
        The iterate that makes the predictions, if several compete: whether it is a mean, and its half-life.
    n_seen_, n_updates_ : int
        Rows seen, and rows that changed the weights (mini-batches, with ``batch_size``).
    history_ : structured array
        Progressive mean loss, at each power of two of rows.

    Examples
    --------
    >>> from aggro import PARegressor
    >>> model = PARegressor()
    >>> for x in (1.0, 2.0, 3.0, 4.0) * 50:
    ...     model = model.learn_one([x], 2 * x + 1)
    >>> round(model.predict_one([2.5]), 1)
    6.0
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **LINEAR_PARAMETERS,
        "epsilon": Number(0.0),
        **COMMON,
        "average": AVERAGE,
    }

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
        """Train from scratch, or continue with ``warm_start``, in up to ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            The numbers to predict.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.
        coef_init, intercept_init : array, default=None
            Initial weights and intercept, in the shapes of ``coef_`` and ``intercept_``. Rows are then not scaled.

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
