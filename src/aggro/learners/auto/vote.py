"""The vote: how much each candidate counts, and what their answers make together.

With e_k the recent progressive error of candidate k, smoothed, its weight w_k is in proportion to (min e / e_k)⁴. So a
candidate that errs twice as often as the best counts a sixteenth as much. Probabilities are pooled by their weighted
geometric mean, in proportion to Π p_k^w_k, and numbers by their weighted mean.

A candidate whose error is at least ``HOPELESS`` times the least rests: it does not vote, and it learns only one stretch
of rows in ``EVERY``. That costs little, and keeps its error current, so that it can come back. When the leader's error
is seen to rise, all are awake until the next review.
"""

from __future__ import annotations

import numpy as np

POWER = 4
HOPELESS = 2.0  # times the least error; the weight would be a sixteenth
EVERY = 8  # stretches, of which a candidate that rests learns one
LEAST_SHARE = 1e-4  # of a class: no candidate can rule one out


def smoothed(errors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean errors of candidates, with one row more that was half wrong: few rows prove little."""
    return np.asarray((errors + 0.5) / (rows + 1.0))


def weights_of(errors: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """The weights of the candidates that vote, which sum to 1; 0 for the others."""
    weights = np.zeros(errors.shape[0])
    if votes.any():
        least = errors[votes].min()
        # With an error of 0 the ratio has no value: the candidates without errors share the vote.
        weights[votes] = (least / errors[votes]) ** POWER if least > 0.0 else errors[votes] == 0.0
        weights /= weights.sum()
    return weights


def hopeless(long: np.ndarray, short: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Which of the candidates that are there err so much more often than the best that they may rest.

    That is, both in their last thousand rows and in the last few of these: one that has become better may vote.
    """
    errors, least = np.minimum(long, short), long[there].min(initial=np.inf)
    return np.asarray(there & (errors > least) & (errors >= HOPELESS * least))


def log_shares(shares: np.ndarray) -> np.ndarray:
    """The logarithms of a candidate's probabilities, none of them far below the others."""
    return np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))


def shares_of(scores: np.ndarray) -> np.ndarray:
    """The probabilities whose logarithms these scores are, up to a constant for each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
