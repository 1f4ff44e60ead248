"""What other libraries' users expect of input, parameters and warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from aggro import AROWClassifier, KernelPAClassifier, PAClassifier, PARegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = X[:, 0] > 0.0


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean", "object"])
def test_pandas_na_among_numbers_is_nan_and_its_place_is_told(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": [0.0, 1.0, 2.0], "a": pandas.array([1, pandas.NA, 0], dtype=kind)})
    with pytest.raises(ValueError, match="Input X contains NaN: the first is at row 1, column 'a'"):
        PAClassifier().fit(frame, [0, 1, 0])


def test_pandas_na_in_one_row():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="Input X contains NaN: feature 'a' is <NA>"):
        PAClassifier().learn_one({"a": pandas.NA}, 1)


@pytest.mark.parametrize("number", [np.float32(0.5), np.float16(0.5)], ids=lambda value: type(value).__name__)
def test_numbers_of_single_precision_are_parameters_without_a_warning(number):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PAClassifier(C=number).fit(X, Y).C_ == 0.5
        assert PAClassifier(C=[number, 1.0]).fit(X, Y).C_ in (0.5, 1.0)
        AROWClassifier(r=number).fit(X, Y)
        KernelPAClassifier(C=number, gamma=number).fit(X, Y)
    with pytest.raises(ValueError, match="C"):
        PAClassifier(C=np.float32("inf")).fit(X, Y)


def test_a_tol_that_is_not_met_is_warned_of():
    numbers = X @ [1.0, 2.0, 3.0]
    slow = {"C": 1e-4, "average": False, "scale": None}
    with pytest.warns(ConvergenceWarning, match="made 2 passes, all of max_iter=2.*tol=1e-09. Raise max_iter"):
        PARegressor(max_iter=2, tol=1e-9, **slow).fit(X, numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PARegressor(max_iter=50, tol=1e9, **slow).fit(X, numbers).n_iter_ == 2
        PARegressor(max_iter=2, **slow).fit(X, numbers)
        PARegressor(tol=1e-9, **slow).fit(X, numbers)  # max_iter="auto" follows the number of rows
