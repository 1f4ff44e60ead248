"""Which labels are taken for which others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aggro.plot.canvas import axes_for, colours_of, keep_inside, plain_text, quieten, set_title
from aggro.plot.label_places import folded

LABEL_LETTERS = 18  # of a label
LABEL_LETTER_POINTS = 6.0  # points that one takes
READABLE = 24  # classes: with more, numbers in the cells are too small to read


def confusion(y: Any, predicted: Any = None, *, labels: Sequence[Any] | None = None, ax: Any = None) -> Any:
    """Draw a confusion matrix: one line for each true label, one column for each predicted label.

    A cell shows its number of rows. It is darker the larger its share of the line. Correct predictions are on the
    diagonal, in another colour.

    Parameters
    ----------
    y : sequence, dict of dicts, or matrix
        The true labels. Without ``predicted``: counts, as ``{true: {predicted: count}}`` or as a square matrix with
        ``labels``.
    predicted : sequence, default=None
        The predicted labels, as many as true ones.
    labels : sequence, default=None
        The labels in the order to draw them; all that occur, sorted, if None.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from aggro import plot
    >>> ax = plot.confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    >>> ax.get_title(loc="left")
    '2 of 3 right (66.7%)'
    """
    table, names = counted(y, predicted, labels)
    n = len(names)
    ax = axes_for(ax, min(3.2 + 0.32 * n, 9.0))
    colours = colours_of(ax)
    # A class without rows has shares of 0, not 0 / 0.
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    ax.imshow(shaded(shares, colours), aspect="auto" if n > READABLE else "equal")
    size = min(9.0, 90.0 / n)
    # Only cells with rows get a number, and none if they are too small to read.
    for row, column in np.argwhere(table) if n <= READABLE else ():
        ink = colours["ground"] if shares[row, column] > 0.55 else colours["ink"]
        ax.text(column, row, f"{table[row, column]:,}", ha="center", va="center", color=ink, fontsize=size)
    shown = [folded(name, LABEL_LETTERS, most=1)[0] for name in names]
    # The side of a cell in points: labels that are longer are turned.
    cell = min(ax.bbox.width, ax.bbox.height) / n * 72.0 / ax.figure.dpi
    steep = LABEL_LETTER_POINTS * max(map(len, shown)) > cell
    ax.set_xticks(range(n), shown, rotation=90 if steep else 0)
    ax.set_yticks(range(n), shown)
    plain_text([*ax.get_xticklabels(), *ax.get_yticklabels()])
    quieten(ax, colours)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(length=0)
    # Lines between the cells: minor ticks stand there, at the halves.
    ax.set_xticks(np.arange(1, n) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, n) - 0.5, minor=True)
    ax.grid(which="minor", color=colours["rule"], linewidth=0.8)
    ax.tick_params(which="minor", length=0)
    ax.set_xlabel("predicted", color=colours["soft"], fontsize="small")
    ax.set_ylabel("true", color=colours["soft"], fontsize="small")
    right, rows = int(np.trace(table)), int(table.sum())
    # The slot as it was before: the title must fit into it, whatever room the labels take.
    slot = ax.get_position(original=True)
    keep_inside(ax, slot)
    set_title(ax, f"{right:,} of {rows:,} right ({right / rows:.1%})", slot)
    return ax


def shaded(shares: np.ndarray, colours: dict[str, str]) -> np.ndarray:
    """A colour for each cell: that of the first series where it is right, of the second where it is wrong."""
    from matplotlib.colors import to_rgb

    cells = np.empty((*shares.shape, 4))
    cells[:] = (*to_rgb(colours["s1"]), 0.0)
    cells[np.diag_indices(shares.shape[0])] = (*to_rgb(colours["s0"]), 0.0)
    # Even a single row is visible: a share above 0 has at least 12 % of the colour.
    cells[..., 3] = np.where(shares > 0.0, 0.12 + 0.88 * shares, 0.0)
    return cells


def counted(y: Any, predicted: Any, labels: Sequence[Any] | None) -> tuple[np.ndarray, list[str]]:
    """Counts (true, predicted), and the labels' names."""
    if predicted is not None:
        pairs = list(pairs_of(y, predicted))
        cells = dict.fromkeys(pairs, 0)
        for pair in pairs:
            cells[pair] += 1
    elif isinstance(y, Mapping):
        cells = {(true, said): count for true, line in y.items() for said, count in line.items()}
    else:
        table = np.asarray(y)
        if table.ndim != 2 or labels is None or table.shape != (len(labels), len(labels)):
            raise ValueError(
                "Give the predicted labels too, or a dict {true: {predicted: count}}, or a square matrix of counts "
                "with as many labels=."
            )
        cells = {(a, b): table[i, j] for i, a in enumerate(labels) for j, b in enumerate(labels)}
    # The order that is given must name every label, or rows would be missing from the sums.
    found = {label for pair in cells for label in pair}
    if labels is not None:
        missing = found - set(labels)
        if missing:
            raise ValueError(f"labels= lacks {sorted(map(repr, missing))[0]}, which occurs. Name all that do.")
    order = list(labels) if labels is not None else sorted(found, key=sort_key)
    table = np.zeros((len(order), len(order)), dtype=np.int64)
    place = {label: k for k, label in enumerate(order)}
    for (true, said), count in cells.items():
        table[place[true], place[said]] += int(count)
    # Checked after summing: the matrix may come from outside.
    if table.min(initial=0) < 0:
        raise ValueError("A count is below 0: a confusion matrix holds numbers of rows.")
    if table.sum() == 0:
        raise ValueError("There are no rows to count: give at least one true label and its prediction.")
    return table, [str(label) for label in order]


def pairs_of(y: Any, predicted: Any) -> zip[tuple[Any, Any]]:
    truth, said = (part.tolist() if hasattr(part, "tolist") else list(part) for part in (y, predicted))
    if len(truth) != len(said):
        raise ValueError(f"There are {len(truth)} true labels and {len(said)} predicted ones: give one for each row.")
    return zip(truth, said, strict=True)


def sort_key(label: Any) -> tuple[bool, str, Any]:
    """Numbers by value, words by letters, and None, a row that nothing could be said of, last."""
    number = isinstance(label, int | float | bool)
    # A type's name goes first, because labels of different types cannot be compared.
    return label is None, "" if number else type(label).__name__, label if number else str(label)
