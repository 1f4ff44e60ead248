# ruff: noqa: RUF012
# my_learners.py
"""PA-I in a metric that is learned along the way: columns that have moved much move less.

    min ½ Σ_j d_j (w_j − w_tj)² + C ξ   s.t.  |y − w·x| ≤ ε + ξ,  ξ ≥ 0,     d_j = √(1 + g_j)

With ℓ = [|y − w_t·x| − ε]₊ and q = Σ_j x_j²/d_j, the solution is w_j = w_tj + sign(y − w_t·x) τ x_j/d_j,
τ = min(C, ℓ/q). g_j is the sum of x_j² over the rows that moved w.
"""

from typing import Annotated, NamedTuple

import numpy as np
from aggro.engine.compile import inline
from aggro.learners.base import COMMON
from aggro.learners.params import Number
from aggro.learners.tasks import Regressor

import aggro
from aggro.engine.fields import Numbers
from aggro.engine.rows import HUGE, TINY, entry, largest, stored
from aggro.engine.rule import Rule, Tally, grown, grown_tally, new_tally

FAR = 1e100  # rows beyond this are passed over: g must stay a float


class Metric(NamedTuple):
    tally: Tally
    w: np.ndarray  # (width,)
    g: Annotated[np.ndarray, Numbers(0.0)]  # (width,)


class MetricParams(NamedTuple):
    C: float
    epsilon: float


def init(params, width, models):
    return Metric(new_tally(models), np.zeros(width), np.zeros(width))


def grow(state, params, width, models):
    return Metric(grown_tally(state.tally, models), grown(state.w, (width,)), grown(state.g, (width,)))


@inline
def look(state, params, X, i, out):
    f = q = 0.0
    start, stop = stored(X, i)
    for k in range(start, stop):
        j, x = entry(X, i, k)
        f += state.w[j] * x
        q += x * x / np.sqrt(1.0 + state.g[j])
    if not (q < HUGE and abs(f) < HUGE):  # a value that is not finite, or just a very long row
        if not largest(X, i) < np.inf:
            return np.nan
        f = min(max(f, -HUGE), HUGE) if f == f else 0.0
    out[0] = f
    return q


@inline
def judge(state, params, y, out):
    return max(0.0, abs(y - out[0]) - params.epsilon), False


@inline
def learn(state, params, X, i, y, s, out, q):
    gap = y - out[0]
    loss = abs(gap) - params.epsilon
    if loss <= 0.0 or not TINY < q < FAR:
        return False
    a = np.sign(gap) * min(params.C * s, loss / q)
    start, stop = stored(X, i)
    for k in range(start, stop):
        j, x = entry(X, i, k)
        state.w[j] += a * x / np.sqrt(1.0 + state.g[j])
        state.g[j] += x * x
    return True


METRIC = Rule(
    state=Metric,
    init=init,
    grow=grow,
    look=look,
    judge=judge,
    learn=learn,
    peek=look,
    columns=lambda state: 1,
)


@aggro.register
class MetricRegressor(Regressor):
    """PA-I regression in a metric that is learned along the way."""

    _constraints = {
        "C": Number(0.0, open_low=True),
        "epsilon": Number(0.0),
        **{name: COMMON[name] for name in COMMON if name not in ("fit_intercept", "average")},
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        max_iter=1,
        tol=None,
        shuffle=False,
        warm_start=False,
        random_state=None,
        n_features=None,
    ):
        self.C = C
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features

    def _rule_for(self, classes):
        return METRIC

    def _params_for(self, rule):
        return MetricParams(float(self.C), float(self.epsilon))

    def _contributions(self, view, indices, values):
        return (values * view.state.w[indices])[:, None], np.zeros(1)
