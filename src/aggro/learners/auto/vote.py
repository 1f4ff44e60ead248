"""The vote: how much each candidate counts, and what their answers make together.

With e_k the recent progressive error of candidate k, smoothed, its weight is in proportion to (min e / e_k)⁴. So a
candidate that errs twice as often as the best counts a sixteenth as much.

A candidate whose error is at least ``HOPELESS`` times the least rests: it does not vote, and it learns only one stretch
of rows in ``EVERY``. That costs little, and keeps its error current, so that it can come back after a change.
"""

from __future__ import annotations

import numpy as np

POWER = 4.0
HOPELESS = 2.0  # times the least error; the weight would be a sixteenth
STRETCH, EVERY = 128, 8  # a candidate that rests learns one stretch of rows in so many
LEAST_SHARE = 1e-9  # of a class, so that its logarithm is finite


def smoothed(errors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean errors of candidates, with one row more that was half wrong: few rows prove little."""
    return np.asarray((errors + 0.5) / (rows + 1.0))


def weights_of(errors: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """The weights of the candidates that vote, which sum to 1; 0 for the others."""
    shares = np.zeros(errors.shape[0])
    if votes.any():
        least = errors[votes].min()
        ratios = least / errors[votes] if least > 0.0 else (errors[votes] == 0.0).astype(float)
        shares[votes] = ratios**POWER
        shares /= shares.sum()
    return shares


def hopeless(errors: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Which of the candidates that are there err so much more often than the best that they may rest."""
    return np.asarray(there & (errors >= HOPELESS * errors[there].min(initial=np.inf)) & (errors > 0.0))


def log_shares(shares: np.ndarray) -> np.ndarray:
    """The logarithms of shares of classes, none of them infinite."""
    return np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))
