"""The picture of ``aggro compare``: every word inside, none on another."""

from __future__ import annotations

import io

import numpy as np
import pytest
from helpers.figures import assert_readable
from matplotlib.figure import Figure

from aggro.cli.plot import draw_png
from aggro.evaluate import Curve

ROWS = 2 ** np.arange(16)
LONG = "PAClassifier(C=0.125, step='pa2', average=True, half_life=300, margin=2.0)"


@pytest.mark.parametrize("names", [["pa1"], [LONG, "a $b$ c"], [f"{k}: {LONG}" for k in range(20)]], ids=len)
@pytest.mark.parametrize("title", ["rows.svm", ", ".join(f"a-rather-long-name-of-a-file-{k}.svm" for k in range(12))])
def test_the_picture_keeps_its_words_inside(names, title, monkeypatch):
    saved, save = [], Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *args, **more: (saved.append(figure), save(figure, *args, **more))
    )
    curves = {name: Curve(ROWS, np.geomspace(0.5, 0.01 + k / 1e4, 16), 1.0) for k, name in enumerate(names)}
    file = io.BytesIO()
    draw_png(file, title, curves)
    assert file.getvalue().startswith(b"\x89PNG")
    (figure,) = saved
    assert_readable(figure)
    (axes,) = figure.axes
    assert axes.bbox.width > 0.5 * figure.bbox.width
    assert [line.get_label() for line in axes.lines] == names
