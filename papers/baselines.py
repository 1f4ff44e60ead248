"""What batch learners reach on the same rows, for tables beside online ones: LIBSVM, LIBLINEAR, smooth SVMs.

These see all training rows at once and as often as they like, so they are no learners of this library; they say how
much a single pass gives away. LIBSVM and LIBLINEAR are those of scikit-learn. The smooth SVM (SSVM) is here.

**SSVM.** For y = ±1, x̃ = (x, 1), the squared hinge loss with its corner rounded,

    min_w  ½‖w‖² + C Σ_i p(1 − y_i w·x̃_i)²,   p(r) = r + log(1 + exp(−αr))/α,

where p(r) − [r]₊ ≤ log(2)/α: with a large α this is ``LinearSVC(loss="squared_hinge")``. It is twice differentiable
and strictly convex. Newton's method with Armijo's rule finds the minimum from anywhere, and near it the error is
squared in each step; a step solves a system as large as w. The paper has ν = 2C.

**RSVM.** With a kernel the rows become K(x_i, x̄_j), x̄ a random part of the training rows (the reduced set), and the
same problem is solved for as many weights as that has rows.

References
----------
Y.-J. Lee, O. L. Mangasarian. SSVM: A smooth support vector machine for classification. Computational Optimization and
Applications 20, 2001.
Y.-J. Lee, O. L. Mangasarian. RSVM: Reduced support vector machines. SIAM International Conference on Data Mining, 2001.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

__all__ = ["BASELINES", "Baseline", "SmoothSVC", "run_baseline"]

ARMIJO = 1e-4  # the share of the fall that the slope promises which a step must bring
SHORTEST = 1e-12  # step


class SmoothSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Smooth support vector machine: linear (SSVM), or with a reduced Gaussian kernel (RSVM).

    Several classes are learned one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        What the squared losses count beside ½‖w‖².
    smoothing : float, default=5.0
        α: the larger, the sharper the corner of the hinge.
    kernel : {"rbf"} or None, default=None
        None is linear.
    gamma : float, default=None
        Of the kernel exp(−γ‖x − x̄‖²). None: 1 divided by the number of features and the variance of X.
    reduced : float or int, default=0.1
        The reduced set: a share of the rows, or how many.
    tol : float, default=1e-8
        Stop when no entry of the gradient is larger.
    max_iter : int, default=100
        The most steps of Newton's method.
    random_state : int or None, default=0
        Seeds which rows are the reduced set.

    Attributes
    ----------
    coef_ : array of shape (problems, weights)
        Weights of the features, or of the rows of the reduced set.
    intercept_ : array of shape (problems,)
        The last entry of each w.
    gradient_ : float
        The largest entry of the gradient where it stopped.
    n_iter_ : int
        Steps of the problem that took most.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        smoothing: float = 5.0,
        kernel: str | None = None,
        gamma: float | None = None,
        reduced: float = 0.1,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: int | None = 0,
    ) -> None:
        self.C = C
        self.smoothing = smoothing
        self.kernel = kernel
        self.gamma = gamma
        self.reduced = reduced
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the problem of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
            The model.
        """
        X = as_dense(X)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class.")
        if self.kernel not in (None, "rbf"):
            raise ValueError(f"kernel must be 'rbf' or None, got {self.kernel!r}.")
        if self.kernel is not None:
            n = int(self.reduced if self.reduced >= 1 else max(1, round(self.reduced * X.shape[0])))
            chosen = np.random.default_rng(self.random_state).permutation(X.shape[0])[:n]
            self.reduced_set_ = X[np.sort(chosen)]
            self.gamma_ = float(self.gamma or 1.0 / (X.shape[1] * (X.var() or 1.0)))
        rows = self._rows(X)
        problems = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        solved = [self._solve(rows, np.where(codes == k, 1.0, -1.0)) for k in problems]
        W = np.array([w for w, _, _ in solved])
        self.coef_, self.intercept_ = W[:, :-1], W[:, -1]
        self.gradient_, self.n_iter_ = max(g for _, g, _ in solved), max(n for _, _, n in solved)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of each row: of ``classes_[1]`` for two classes, else one column a class."""
        rows = self._rows(as_dense(X))
        scores: np.ndarray = rows[:, :-1] @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row."""
        scores = self.decision_function(X)
        winners = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        named: np.ndarray = self.classes_[winners]
        return named

    def _rows(self, X: np.ndarray) -> np.ndarray:
        """Rows as they have weights: features or kernel values, and the constant."""
        if self.kernel is not None:
            X = rbf_kernel(X, self.reduced_set_, gamma=self.gamma_)
        return np.column_stack([X, np.ones(X.shape[0])])

    def _solve(self, rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, int]:
        """Newton's method with Armijo's rule: w, the largest entry of the gradient, and steps."""
        Z = rows * y[:, None]
        w = np.zeros(Z.shape[1])
        value, gradient, hessian = smooth_problem(w, Z, self.C, self.smoothing)
        steps = 0
        while np.abs(gradient).max() > self.tol and steps < self.max_iter:
            way = -np.linalg.solve(hessian(), gradient)
            slope, length = float(gradient @ way), 1.0
            while True:
                after, gradient_after, hessian_after = smooth_problem(w + length * way, Z, self.C, self.smoothing)
                if after <= value + ARMIJO * length * slope or length < SHORTEST:
                    break
                length /= 2.0
            if length < SHORTEST:  # the fall is below rounding: this is the minimum
                break
            w, value, gradient, hessian = w + length * way, after, gradient_after, hessian_after
            steps += 1
        return w, float(np.abs(gradient).max()), steps


def smooth_problem(w: np.ndarray, Z: np.ndarray, C: float, alpha: float) -> tuple[float, np.ndarray, Any]:
    """The value at w, the gradient, and a function that gives the matrix of second derivatives; Z has rows y x̃."""
    r = 1.0 - Z @ w
    p = np.logaddexp(0.0, alpha * r) / alpha
    first = np.exp(alpha * np.minimum(r, 0.0)) / (1.0 + np.exp(-alpha * np.abs(r)))  # p′, without overflow
    second = alpha * first * (1.0 - first)
    value = 0.5 * float(w @ w) + C * float(p @ p)

    def hessian() -> np.ndarray:
        curved = 2.0 * C * (first * first + p * second)
        second_derivatives: np.ndarray = np.eye(w.shape[0]) + (Z * curved[:, None]).T @ Z
        return second_derivatives

    return value, w - 2.0 * C * ((p * first) @ Z), hessian


def as_dense(X: Any) -> np.ndarray:
    dense: np.ndarray = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return dense


class Baseline(NamedTuple):
    """What a batch learner reached, and in which time."""

    name: str
    error: float  # the share of the test rows that are predicted wrongly
    fit_seconds: float
    predict_seconds: float
    model: Any


BASELINES: dict[str, Any] = {
    "libsvm": SVC,
    "liblinear": LinearSVC,
    "ssvm": SmoothSVC,
    "rsvm": lambda **settings: SmoothSVC(**{"kernel": "rbf", **settings}),
}


def run_baseline(
    name: str, X: Any, y: Any, X_test: Any, y_test: Any, *, scale: bool = True, **settings: Any
) -> Baseline:
    """Fit a batch learner on training rows, and count its errors on test rows.

    Parameters
    ----------
    name : {"libsvm", "liblinear", "ssvm", "rsvm"}
        Which: scikit-learn's ``SVC`` and ``LinearSVC``, or :class:`SmoothSVC`, linear or with a reduced kernel.
    X, y : array or sparse matrix, and array
        The training rows and their labels.
    X_test, y_test : array or sparse matrix, and array
        The test rows and theirs.
    scale : bool, default=True
        Whether features are divided by their deviation on the training rows, and, if X is dense, centred.
    **settings
        Parameters of the learner.

    Returns
    -------
    result : Baseline
        The error as a share, the seconds of fitting and of predicting, and the fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from papers.baselines import run_baseline
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> y = X[:, 0] > X[:, 1]
    >>> bool(run_baseline("ssvm", X[:200], y[:200], X[200:], y[200:]).error < 0.1)
    True
    """
    if name not in BASELINES:
        raise ValueError(f"There is no baseline {name!r}. There are: {', '.join(BASELINES)}.")
    learner = BASELINES[name](**settings)
    model = make_pipeline(StandardScaler(with_mean=not hasattr(X, "tocsr")), learner) if scale else learner
    begin = time.perf_counter()
    model.fit(X, y)
    between = time.perf_counter()
    error = float((model.predict(X_test) != np.asarray(y_test)).mean())
    return Baseline(name, error, between - begin, time.perf_counter() - between, model)
