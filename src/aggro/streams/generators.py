"""Streams made of random numbers, for demonstrations and tests.

A row depends on the seed and its number alone, never on how many there are or how they are cut into chunks:
rows are drawn in blocks of a fixed size, each from a seed of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from aggro.streams.chunk import Chunk

GENERATED_ROWS = 1024
WORD_SEEDS, CONCEPT_SEEDS = 1, 2  # kinds of seeds, so that streams with one seed are not alike


def twonorm(n: int = 10_000, d: int = 20, *, chunk: int = 1024, seed: int = 0) -> Iterator[Chunk]:
    """Generate Breiman's two-norm: normal clouds with unit variance around ±(a, …, a), a = 2/√d.

    The best possible error is Φ(−2) ≈ 2.28 % whatever d is.
    """

    def rows(rng: np.random.Generator, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Labels are drawn before features: the order of the draws is part of what a seed means.
        y = np.where(rng.random(GENERATED_ROWS) < 0.5, -1, 1)
        return rng.standard_normal((GENERATED_ROWS, d)) + y[:, None] * (2.0 / np.sqrt(d)), y

    return _stream(n, chunk, (seed,), rows)


def rotating_xor(
    n: int = 1000,
    *,
    every: int = 100,
    turn: float = 20.0,
    radius: float = 1.0,
    spread: float = 0.3,
    chunk: int = 1024,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate four Gaussian clouds in the plane that turn counterclockwise; opposite clouds have the same class.

    No straight line separates the classes, and no fixed curve does for long. A learner must be nonlinear, and forget.

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    every : int, default=100
        The clouds turn after this many rows.
    turn : float, default=20.0
        Degrees of each turn. After 90 degrees in total the classes have swapped places.
    radius : float, default=1.0
        Distance of the cloud centres from the origin. They start on the diagonals.
    spread : float, default=0.3
        Standard deviation of each cloud, in both directions.
    chunk : int, default=1024
        Number of rows in a chunk.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    stream : iterator of Chunk
        X is (rows, 2), y is −1 or 1.
    """

    def rows(rng: np.random.Generator, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cloud = rng.integers(0, 4, GENERATED_ROWS)
        # The angle depends on the row's number alone, whatever the block or the chunk.
        angle = np.pi / 4 + cloud * (np.pi / 2) + np.radians(turn) * (numbers // every)
        means = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        # Opposite clouds have numbers of the same parity, and so the same class.
        return means + spread * rng.standard_normal((GENERATED_ROWS, 2)), np.where(cloud % 2 == 0, 1, -1)

    return _stream(n, chunk, (seed,), rows)


def drifting(
    n: int = 10_000,
    d: int = 10,
    *,
    turn: float = 0.01,
    jump: int | None = None,
    noise: float = 0.0,
    chunk: int = 1024,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate two classes that a turning hyperplane separates; it can also jump.

    Parameters
    ----------
    n : int, default=10000
        Number of rows.
    d : int, default=10
        Features, normal with unit variance; at least 2.
    turn : float, default=0.01
        Degrees by which the normal of the hyperplane turns with each row, in a random plane.
    jump : int, default=None
        Number of rows after which a new random hyperplane replaces the old one. None means never.
    noise : float, default=0.0
        Share of flipped labels. It is the best possible error.
    chunk : int, default=1024
        Number of rows in a chunk.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    stream : iterator of Chunk
        X is (rows, d), y is −1 or 1.
    """
    if d < 2:
        raise ValueError(f"d must be at least 2 for a hyperplane to turn, got {d}.")

    def rows(rng: np.random.Generator, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # All draws come before the loop over concepts, so that turn and jump leave the features as they are.
        X = rng.standard_normal((GENERATED_ROWS, d))
        flipped = rng.random(GENERATED_ROWS) < noise
        concepts = numbers // jump if jump is not None else np.zeros(GENERATED_ROWS, np.int64)
        above = np.empty(GENERATED_ROWS, bool)
        # A block may straddle a jump: each of its rows is labelled by the concept of its own number.
        for concept in np.unique(concepts):
            here = concepts == concept
            u, v = _turning_plane(seed, int(concept), d)
            angle = np.radians(turn) * numbers[here]
            # The normal is cos(angle)·u + sin(angle)·v, so it keeps length 1 as it turns in the plane of u and v.
            above[here] = np.cos(angle) * (X[here] @ u) + np.sin(angle) * (X[here] @ v) > 0.0
        return X, np.where(above != flipped, 1, -1)

    return _stream(n, chunk, (seed,), rows)


def _turning_plane(seed: int, concept: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two orthogonal directions of length 1."""
    frame, _ = np.linalg.qr(np.random.default_rng((seed, CONCEPT_SEEDS, concept)).standard_normal((d, 2)))
    return frame[:, 0], frame[:, 1]


def sparse_text(
    n: int = 10_000,
    vocabulary: int = 20_000,
    *,
    words: float = 40.0,
    zipf: float = 1.1,
    signal: float = 0.1,
    classes: int = 2,
    named: bool = False,
    chunk: int = 1024,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate rows like word counts: few non-zeros in many columns, some words common and most rare.

    Words follow Zipf's law. Each is drawn from the words of the class or from the words that all classes share.

    Parameters
    ----------
    n : int, default=10000
        Number of rows.
    vocabulary : int, default=20000
        Columns; half of them are words that all classes share, the others belong to one class each.
    words : float, default=40.0
        Mean number of words in a row (Poisson, at least 1).
    zipf : float, default=1.1
        The probability of the k-th word is proportional to k^−zipf.
    signal : float, default=0.1
        Share of words that belong to the class.
    classes : int, default=2
        Number of classes, equally frequent, labelled 0, 1, …
    named : bool, default=False
        Whether columns have names («word17»). Each chunk then has only the columns that occur in it.
    chunk : int, default=1024
        Number of rows in a chunk.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    stream : iterator of Chunk
        X is CSR with counts.
    """
    # Half of the vocabulary is shared; the other half is split evenly, and the shared half takes the remainder.
    own = vocabulary // 2 // classes  # words of one class
    shared = vocabulary - own * classes
    if own < 1:
        raise ValueError(f"A vocabulary of {vocabulary} words has none to spare for {classes} classes.")
    # Zipf's law as cumulative sums, not normalised: a uniform number times the last sum is looked up in them.
    laws = [np.cumsum(np.arange(1, size + 1) ** -zipf) for size in (shared, own)]

    def rows(rng: np.random.Generator, _: np.ndarray) -> tuple[Any, np.ndarray]:
        from scipy.sparse import csr_array

        y = rng.integers(0, classes, GENERATED_ROWS)
        lengths = np.maximum(1, rng.poisson(words, GENERATED_ROWS))
        # All words of a block in one array: the row of a word follows from the lengths.
        label = np.repeat(y, lengths)
        speaks = rng.random(label.size) < signal
        # One uniform number serves both laws, for a word is drawn from one of them only.
        place = rng.random(label.size)
        common, special = (np.searchsorted(law, place * law[-1]) for law in laws)
        # Columns of a class's own words stand behind the shared ones, class by class.
        columns = np.where(speaks, shared + label * own + special, common)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        X = csr_array((np.ones(label.size), columns, indptr), shape=(GENERATED_ROWS, vocabulary))
        # A word that comes twice in a row is one entry, with its count.
        X.sum_duplicates()
        return X, y

    stream = _stream(n, chunk, (seed, WORD_SEEDS), rows)
    return map(_with_names, stream) if named else stream


def _with_names(chunk: Chunk) -> Chunk:
    used = np.unique(chunk.X.indices)
    return Chunk(chunk.X[:, used], chunk.y, names=[f"word{column}" for column in used.tolist()])


def _stream(
    n: int,
    chunk: int,
    seed: tuple[int, ...],
    rows: Callable[[np.random.Generator, np.ndarray], tuple[Any, np.ndarray]],
) -> Iterator[Chunk]:
    """The first n rows in chunks. ``rows`` draws a whole block: it gets a generator and the rows' numbers."""

    def draw(block: int) -> tuple[Any, np.ndarray]:
        return rows(np.random.default_rng((*seed, block)), block * GENERATED_ROWS + np.arange(GENERATED_ROWS))

    drawn: dict[int, tuple[Any, np.ndarray]] = {}
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        needed = range(start // GENERATED_ROWS, -(-stop // GENERATED_ROWS))
        # Blocks that this chunk shares with the one before are kept; the others are drawn, each from its own seed.
        drawn = {block: drawn[block] if block in drawn else draw(block) for block in needed}
        here = slice(start - needed.start * GENERATED_ROWS, stop - needed.start * GENERATED_ROWS)
        X = _stacked([X for X, _ in drawn.values()])
        yield Chunk(X[here], np.concatenate([y for _, y in drawn.values()])[here])


def _stacked(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")
