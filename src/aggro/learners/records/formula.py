"""Columns of numbers as the stages of a formula; cells of other kinds have none."""

from __future__ import annotations

import numpy as np

from aggro.encoding.encoder import Encoder
from aggro.encoding.vocabulary import ABSENT_KIND
from aggro.engine.prepare.moments import Moments, centres_and_factors
from aggro.learners.base.formula import Formula, Linear, NoFormula, Scaled

EXPORT_INSIDE = (
    "Export the learner inside, model.estimator_, and give it the features that model.encoded(X).X makes; or train a "
    "model of the columns that are numbers."
)


def number_stages(encoder: Encoder, n: int) -> tuple[Formula, list[str]]:
    """The stages from columns of numbers, which may be missing (NaN), to n features; and the names of those columns."""
    layout = encoder.layout()
    # Only numbers are a matrix: words, categories and dates need an encoder.
    others = [*layout.strings, *(name for name, *_ in layout.dates)]
    if others:
        shown = ", ".join(f"{name!r} ({encoder.columns[name].role.value})" for name in others[:5])
        more = " …" if len(others) > 5 else ""
        raise NoFormula(
            f"This model reads columns that are not numbers, which cannot be exported: {shown}{more}. {EXPORT_INSIDE}"
        )
    if layout.bounds:
        raise NoFormula(
            f"Column {layout.bounds[0][0]!r} has bounds such as <0.5, which cannot be exported. {EXPORT_INSIDE}"
        )
    columns, width = layout.number_columns.tolist(), len(layout.slots)
    # Missing cells have features of their own, which say that a value is missing.
    missing = {
        encoder.vocabulary.column(j): j for j in range(encoder.width) if encoder.vocabulary.kind(j) == ABSENT_KIND
    }
    places = np.zeros((2 * width, n))
    for k, (column, feature) in enumerate(zip(columns, layout.number_features.tolist(), strict=True)):
        # A column's value goes to its feature, and its flag (behind all columns) to that of the missing cell.
        for row, j in ((k, feature), (width + k, missing.get(column, n))):
            if j < n:
                places[row, j] = 1.0
    means, factors = centres_and_factors(Moments(*(part[layout.slots] for part in encoder.moments)))
    # Without scaling the stage only fills missing values with 0.
    if not encoder.options.scale:
        means, factors = np.zeros(width), np.ones(width)
    scaled = Scaled(means, factors, missing=True)
    return (scaled, Linear(places, np.zeros(n))), [name for name, *_ in layout.numbers]
