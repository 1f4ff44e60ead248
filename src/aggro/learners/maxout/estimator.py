"""Passive-aggressive learning with a max-out embedding (PAMO): boundaries that bend, at a fixed cost a row.

The row is projected onto h units, each the largest of k linear pieces, and a linear model learns on the projection.
What it leaves of a row's loss, the pieces learn. The problems and their solutions are in ``learners.maxout.rule``,
scores in ``learners.maxout.scores``, moves in ``learners.maxout.updates``, and where the pieces start in
``learners.maxout.start``.

References
----------
J. Jorge, R. Paredes. Passive-Aggressive online learning with nonlinear embeddings. Pattern Recognition 79, 2018.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.passes import run
from aggro.engine.rows import CSR
from aggro.engine.rule import Rule
from aggro.learners.base.contract import Contract
from aggro.learners.base.formula import Formula, LargestPieces, Linear, Scaled, UnitRows, scaled_rows
from aggro.learners.base.learner import COMMON
from aggro.learners.base.params import Choice, Constraint, Either, Flag, Kind, Number
from aggro.learners.base.progress import Watch
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier
from aggro.learners.maths.dense_row import inverse_deviations
from aggro.learners.maxout.block import run_ahead
from aggro.learners.maxout.row import (
    BY_RMS,
    BY_STANDARD,
    CHOSEN_AVERAGE,
    MAXOUT_UNITS,
    NORM_MEASURED,
    PENDING_MOVES,
    RARE_BY_RMS,
)
from aggro.learners.maxout.rule import (
    MAXOUT_RULE,
    Maxout,
    MaxoutParams,
    code_addresses,
    moments_of,
    piece_mean,
    room_ahead,
)
from aggro.learners.maxout.updates import AUTO_HALF_LIFE, NEVER_FORGET
from aggro.learners.model.features import frozen
from aggro.learners.model.model import NO_ORDER, Model, View
from aggro.learners.model.row_blocks import as_matrix, taken

PROJECTED_TOGETHER = 2**12  # numbers in the pieces, from which on rows are projected together
FEW_PROJECTED = 4  # rows, for which that is not worth it
DENSE_ROWS = 1024  # rows that are made dense at a time
COMMON_START = 1000  # rows
MAXOUT_SCALES = {None: 0, False: 0, True: BY_STANDARD, "standard": BY_STANDARD, "rms": BY_RMS, "auto": RARE_BY_RMS}


class PAMOClassifier(Classifier):
    """Passive-aggressive classifier with a max-out embedding (PAMO-I and PAMO-II).

    A row x is standardised, extended by a constant 1 and divided by its norm. Its embedding is z_i = max_j u_ij·x,
    divided by its norm, and its score is w·z. A row with loss ℓ = [1 − y w·z]₊ > 0

    - changes w by min(C, (1 − α)ℓ) y z, which corrects the share 1 − α of the loss;
    - finds the embedding ẑ nearest to z that has no loss with the new w;
    - moves the winning piece of each unit by ±min(C_r, [|e| − ε]₊) x, where e = ẑ_i − u_ij·x.

    With ``always`` (PAMO-II) every row makes the last step, with ẑ = z if it has no loss, so that the pieces learn
    the right length. Several classes share the embedding; the true class is learned against its best competitor.

    For the algorithm as published, with its settings, use ``PAMOClassifier(64, n_pieces=2, alpha=0.9, average=False,
    half_life=None)``.

    Parameters
    ----------
    n_units : int, default=128
        Number of units h of the embedding.
    n_pieces : int, default=4
        Number of linear pieces k per unit.
    C : float, default=0.125
        The largest step of the class weights for one row.
    C_r : float, default=0.125
        The largest step of a piece for one row. 0 keeps the initial embedding.
    alpha : float, default=0.8
        Share of each loss that the embedding corrects. With 1, the class weights keep their initial values.
    epsilon : float, default=0.0
        Errors of a unit up to this size cause no update of its pieces.
    always : bool, default=False
        Whether rows without loss move the pieces too (PAMO-II).
    select : {"winner", "nearest"}, default="winner"
        Which piece of a unit moves: the one with the largest output, or the one nearest to the value it should
        have.
    scale : {"standard", "rms", "auto"}, bool or None, default=True
        True or "standard": standardise features with the means and variances so far. "rms": divide by the root mean
        square of the non-zero values. "auto": use "standard" for features that at least a quarter of the rows have,
        and "rms" for rarer ones. False or None: leave rows as they are; their features should then have similar
        scales.
    fit_intercept : bool, default=True
        Whether to append a constant 1 to each row before it is divided by its norm.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of the iterates since the last but one power of two of rows. "auto"
        predicts with that mean or with the last iterate, whichever has made fewer mistakes recently.
    half_life : float, "auto" or None, default="auto"
        Length of the mean: it covers between this many and twice as many of the last rows. "auto" restarts the mean
        when the last iterate makes clearly fewer mistakes. None never restarts it. Not available with
        ``average=False``.
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
        Seed for the initial pieces and weights, and for shuffling the rows.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    pieces_ : array
        The pieces (n_units, n_pieces, n_features + 1) that make the predictions. The last column belongs to the
        constant.
    weights_ : array
        Weights of the units, (1, n_units) for two classes, otherwise (n_classes, n_units).
    mean_, scale_ : array
        Means and standard deviations of the features so far, if ``scale`` is on.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed weights or pieces, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import PAMOClassifier, streams
    >>> model = PAMOClassifier(n_units=8, random_state=0)
    >>> for chunk in streams.rotating_xor(2000, turn=0.0):
    ...     model = model.learn_chunk(chunk)
    >>> [int(model.predict_one(x)) for x in ([1, 1], [-1, 1], [-1, -1], [1, -1])]
    [1, -1, 1, -1]
    """

    _random = True
    _auto_passes = 5
    half_life = None  # of files and pickles that are older than this parameter
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_units": Number(1, 2**16, integer=True),
        "n_pieces": Number(1, 2**10, integer=True),
        "C": Number(0.0, open_low=True),
        "C_r": Number(0.0),
        "alpha": Number(0.0, 1.0),
        "epsilon": Number(0.0),
        "always": Flag(),
        "select": Choice(("winner", "nearest")),
        "scale": Either((Choice(("standard", "rms", "auto")), Flag(), Kind(None, "None"))),
        **COMMON,
        "average": Either((Flag(), Choice(("auto",)))),
        "half_life": Either((Number(1.0), Choice(("auto",)), Kind(None, "None"))),
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }
    contract = Contract(
        exempt={
            "the order of features does not matter": "pieces start at random, feature by feature in the order of their "
            "numbers",
            "a row of zeros teaches nothing": {("scale", True): "it counts for the spread of the features"},
            "an unknown feature is a zero": "to the norm of a row, a feature that is known and zero so far is none",
        },
        plain={"n_units": 64, "n_pieces": 2, "alpha": 0.9, "average": False, "half_life": None},
        tried=(
            {"average": True, "always": True},
            {"average": True, "half_life": 8.0},
            {"scale": False},
            {"scale": "auto"},
        ),
        apart=frozenset({"half_life"}),
    )

    def __init__(
        self,
        n_units: int = 128,
        *,
        n_pieces: int = 4,
        C: float = 0.125,
        C_r: float = 0.125,
        alpha: float = 0.8,
        epsilon: float = 0.0,
        always: bool = False,
        select: str = "winner",
        scale: bool | str | None = True,
        fit_intercept: bool = True,
        average: bool | str = "auto",
        half_life: float | str | None = "auto",
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
        self.n_units = n_units
        self.n_pieces = n_pieces
        self.C = C
        self.C_r = C_r
        self.alpha = alpha
        self.epsilon = epsilon
        self.always = always
        self.select = select
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.average = average
        self.half_life = half_life
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _rule_for(self, classes: int) -> Rule:
        return MAXOUT_RULE

    def _params_for(self, rule: Rule) -> MaxoutParams:
        return MaxoutParams(
            units=int(self.n_units),
            pieces=int(self.n_pieces),
            C=float(self.C),
            C_r=float(self.C_r),
            alpha=float(self.alpha),
            epsilon=float(self.epsilon),
            always=int(self.always),
            nearest=int(self.select == "nearest"),
            scale=MAXOUT_SCALES[self.scale],
            bias=float(self.fit_intercept),
            average=CHOSEN_AVERAGE if self.average == "auto" else int(self.average),
            half_life=NEVER_FORGET
            if self.half_life is None
            else AUTO_HALF_LIFE
            if self.half_life == "auto"
            else float(self.half_life),
            seed=0,
            score_at=0,
            learn_at=0,
            ahead=room_ahead(0, 0, 0, 0, (2, 0)),
        )

    def _bound(self, model: Model, params: Any) -> Any:
        return params._replace(seed=int(np.uint64(model.seed).astype(np.int64)), **code_addresses())

    def _check_change(self, state: Maxout) -> None:
        # Parameters may be set while a model learns, unless they change what the state keeps.
        units, pieces = int(state.marks[MAXOUT_UNITS]), state.U.shape[1] // state.W.shape[1]
        if (units, pieces) != (self.n_units, self.n_pieces):
            raise ValueError(
                f"n_units={self.n_units!r} and n_pieces={self.n_pieces!r} were set after learning began with "
                f"{units} and {pieces}. Set them back, or call fit to start over."
            )
        # The sums over iterates cannot be made up later.
        if self.average and not state.lag.shape[0]:
            raise ValueError(
                f"average={self.average!r} was set after learning began, and the iterates so far are gone. Call fit "
                "to start over."
            )
        windowed = self.half_life is not None or self.average == "auto"
        if windowed and not state.window.shape[0]:
            name, value = ("half_life", self.half_life) if self.half_life is not None else ("average", "auto")
            raise ValueError(
                f"{name}={value!r} was set after learning began, and recent mistakes are gone. Call fit to start over."
            )
        kept = state.moments.shape[0] if state.moments.shape[1] else 0
        if kept != moments_of(MAXOUT_SCALES[self.scale]):
            raise ValueError(
                f"scale={self.scale!r} was set after learning began, and the pieces have learned the other kind of "
                "rows. Set it back, or call fit to start over."
            )

    def _check_together(self) -> None:
        super()._check_together()
        if self.half_life is not None and not self.average:
            raise ValueError(
                f"half_life={self.half_life!r} is that of the mean of the iterates, and average=False asks for none. "
                'Set average=True or average="auto", or half_life=None.'
            )

    def _learns_at_once(self, state: Maxout, n: int) -> bool:
        return n <= DENSE_ROWS

    def _common_start(self) -> int:
        """What unit i stands for is settled by the first rows; only units that stand for the same can be averaged."""
        return COMMON_START

    def _pass(
        self, model: Model, learn_rows: Any, state: Any, params: Any, *rest: Any, watch: Watch | None = None
    ) -> tuple[Any, int]:
        """Where the pieces are many numbers, the next rows are projected together."""
        # Looking ahead pays for large projections, many rows, and rows that are dense once they are scaled.
        X, y, s, order, start, stop, *flags = rest
        sparse = isinstance(X, CSR) and not self.scale
        if learn_rows is not run or state.U.size < PROJECTED_TOGETHER or stop - start < FEW_PROJECTED or sparse:
            return super()._pass(model, learn_rows, state, params, *rest, watch=watch)
        # Room for as many rows as moves may wait: then U is written, and what was found no longer holds.
        width, columns = state.order.shape[0], state.U.shape[1]
        ahead = room_ahead(PENDING_MOVES, 1 + bool(self.average), columns, width, state.moments.shape)
        params = params._replace(ahead=ahead)
        # Copies of rows in order, a part at a time: the compiled loop reads dense rows alone.
        for first in range(start, stop, DENSE_ROWS):
            last = min(first + DENSE_ROWS, stop)
            rows = taken(X, order, first, last)
            if isinstance(rows, CSR):
                rows = frozen(as_matrix(rows, rows.n_cols, sparse=False))
            bad = run_ahead(state, params, rows, y[first:last], s[first:last], NO_ORDER, *flags)
            if bad >= 0:
                return state, first + int(bad)
            if watch is not None:
                watch.note(last, state.tally)
        return state, -1

    # The embedding --------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Compute the embedding of each row: the normalised outputs of the units.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : array of shape (n_samples, n_units)
            The embedding.
        """
        units = int(self.n_units)
        return self._scores(X, more=units)[:, -units:].copy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names for the columns of the embedding."""
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(int(self.n_units))], dtype=object)

    def _predicting(self) -> tuple[View, np.ndarray, np.ndarray]:
        """The pieces (entries, pieces, units) and weights (classes, units) that predict, by order of appearance."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            return view, *predicting(view)

    @property
    def pieces_(self) -> np.ndarray:
        """The pieces that make the predictions; the last column belongs to the constant."""
        view, U, _ = self._predicting()
        kept = np.r_[1 : 1 + view.n_features, 0]
        return np.ascontiguousarray(U[kept].transpose(2, 1, 0))

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the units in the scores."""
        view, _, W = self._predicting()
        shown = self._by_class(view.labels, W.T)
        return shown[None, :] if shown.ndim == 1 else shown.T

    @property
    def mean_(self) -> np.ndarray:
        """Means of the features over the rows so far."""
        return self._moments()[0]

    @property
    def scale_(self) -> np.ndarray:
        """Standard deviations of the features over the rows so far."""
        return self._moments()[1]

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        model = self._attribute()
        if not model.state.moments.shape[1]:
            raise AttributeError("With scale=False, means and deviations are not counted")
        with model.reading() as view:
            moments = view.state.moments[:, : view.n_features]
            return moments[0].copy(), np.sqrt(moments[1] / max(int(view.state.marks[NORM_MEASURED]), 1))

    def _formula(self, view: View) -> Formula:
        n = view.n_features
        U, W = predicting(view)
        # Without an intercept the first row of the pieces is not used.
        first = 0 if view.params.bias else 1
        pieces = Linear(U[first : 1 + n].reshape(1 + n - first, -1), np.zeros(U.shape[1] * U.shape[2]))
        embedded = (UnitRows(float(view.params.bias)), pieces, LargestPieces(*U.shape[1:]), UnitRows())
        scores = (*embedded, Linear(W.T, np.zeros(W.shape[0])))
        if not view.params.scale:
            return scores
        return (scaled_by_moments(view, n), *scores)

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each unit is linear in the row, through its winning piece; what the row lacks is in the intercept."""
        U, W = predicting(view)
        x = entries(view, indices, values)
        p = np.tensordot(x, U, 1)
        # The map is linear where the winners stay the same: each unit counts by its winning piece.
        winners = p.argmax(axis=0)
        z = p.max(axis=0)
        norm = np.linalg.norm(z)
        through = U[:, winners, np.arange(winners.shape[0])] / (norm or 1.0)  # (entries, units)
        parts = x[:, None] * (through @ W.T)
        # What features that the row lacks contribute, when they are centred, is in the intercept with the constant.
        shown = parts[1 + indices]
        return shown, parts.sum(axis=0) - shown.sum(axis=0)


def predicting(view: View) -> tuple[np.ndarray, np.ndarray]:
    """The pieces (entries, pieces, units) and weights (classes, units) of the model that predicts."""
    state = view.state
    H, units = state.W.shape[1], int(state.marks[MAXOUT_UNITS])
    U, W = piece_mean(state, view.params.average)
    return U.reshape(U.shape[0], -1, H)[:, :, :units], W[:, :units]


def scaled_by_moments(view: View, n: int) -> Scaled:
    """How the first n features are scaled."""
    moments, scale, rows = (
        view.state.moments[:, :n],
        int(view.params.scale),
        max(int(view.state.marks[NORM_MEASURED]), 1),
    )
    if scale == BY_STANDARD:
        return Scaled(moments[0].copy(), inverse_deviations(moments, rows))
    means, squares, had = moments
    # As in the compiled loop: rare features are divided by the root of the mean square of their values.
    divided = np.full(n, True) if scale == BY_RMS else 4.0 * had < rows
    square = np.where(divided, (squares + rows * means * means) / np.maximum(had, 1.0), squares / rows)
    factors = inverse_deviations(np.vstack([means, square]), 1)
    return Scaled(np.where(divided, 0.0, means), factors, divided & (had == 0.0))


def entries(view: View, indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The row as it is projected: standardised, the constant in front, divided by its norm."""
    state, params = view.state, view.params
    row = np.zeros(state.order.shape[0])
    row[indices] = values
    if params.scale:
        row = scaled_rows(scaled_by_moments(view, row.shape[0]), row[None])[0]
    x = np.concatenate([[params.bias], row])
    # Divided by the largest entry first: squares of huge values would overflow.
    largest = np.abs(x).max()
    x = x / largest if largest else x
    scaled: np.ndarray = x / (np.linalg.norm(x) or 1.0)
    return scaled
