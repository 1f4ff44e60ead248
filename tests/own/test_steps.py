"""Steps of one's own: the same numbers as built-in ones, the twin's numbers, and no step that does harm."""

from __future__ import annotations

import copy
import math
import pickle

import numba
import numpy as np
import pytest
from learners.linear import twins
from numba.core import event
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import aggro
from aggro.engine.user_steps import OWN_STEPS, StepError
from aggro.learners.linear.vector import Line
from aggro.learners.registry import find
from aggro.models import ModelFileError
from aggro.published import PAClassifier, PARegressor
from aggro.testing import ContractError, check_learner, check_step
from aggro.testing.check import WEIGHTS_SCALE_C
from aggro.testing.variants import (
    Variant,
    assert_same_model,
    decisions,
    learn_rows,
    learned,
    plain_settings,
    stream,
    variants,
)

# Each process compiles such steps anew: one of them is enough.
pytestmark = pytest.mark.xdist_group("steps of one's own")

CLASSES, NUMBERS = find("PAClassifier"), find("PARegressor")


@aggro.step
def own_pa(loss, q, C):
    return loss / q


@aggro.step
def own_pa1(loss, q, C):
    return min(C, loss / q)


@aggro.step(hinge=False)
def own_ls(loss, q, C):
    return loss / (q + 0.5 / C)


@aggro.step
def slack(loss, q, C):
    return min(C, loss / (q + 1.0 / C))


COPIES = {"pa1": own_pa1, "ls": own_ls}  # few: each is compiled for each kind of state and rows
BUILT_IN = [v for v in variants(CLASSES) if v.params.get("step") == "pa1"]
BUILT_IN += [v for v in variants(NUMBERS) if v.params.get("step") in COPIES]
FORMS = [(v, np.asarray) for v in BUILT_IN] + [(v, csr_matrix) for v in BUILT_IN if v.params["step"] == "pa1"]


@pytest.mark.parametrize(("variant", "form"), FORMS, ids=str)
def test_a_copy_of_a_built_in_step_learns_the_same(variant, form):
    """To the bit in one vector; many share vector arithmetic, which a step of one's own is asked outside of."""
    X, y = stream(variant, n=200)
    weights = np.where(np.arange(200) % 3, 1.0, 0.3)
    mine = Variant(variant.entry, {**variant.params, "step": COPIES[variant.params["step"]]}, variant.plain)
    for more in ({}, {"sample_weight": weights}):
        a, b = variant.new(C=0.2).fit(form(X), y, **more), mine.new(C=0.2).fit(form(X), y, **more)
        assert a.n_updates_ > 20
        if isinstance(a._model.state, Line):
            # A step of one's own does not say which loss it minimises: drift is looked for in another one.
            assert learned(a) == learned(b)
            assert (a.n_updates_, a.history_.tolist()) == (b.n_updates_, b.history_.tolist())
        else:
            np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-9, atol=1e-12)


def tau(loss, q, C):
    return min(C, loss / (q + 1.0 / C)) if loss > 0.0 else 0.0


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_twin_learns_the_same_classes(multi_class, average, classes):
    X, y = stream(Variant(CLASSES), n=120, classes=classes)
    model = PAClassifier(0.3, step=slack, multi_class=multi_class, average=average)
    twin = twins.Classifier(6, step=tau, C=0.3, multi_class=multi_class, average=average)
    compare_with_twin(model, twin, X, y)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_twin_learns_the_same_numbers(average, fit_intercept):
    X, y = stream(Variant(NUMBERS), n=120)
    model = PARegressor(0.3, step="slack", average=average, fit_intercept=fit_intercept)
    compare_with_twin(model, twins.Regressor(6, step=tau, C=0.3, average=average, fit_intercept=fit_intercept), X, y)


def compare_with_twin(model, twin, X, y):
    for x, target in zip(X, y, strict=True):
        model.learn_one(x, target)
        twin.learn(x, target)
    coef, intercept = twin.shown()
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-9, atol=1e-12)
    assert (model.n_updates_, model.n_mistakes_) == (twin.updates, twin.mistakes)
    assert model.n_updates_ > 10


def test_the_contract_holds_for_a_step():
    """For a bank of models; that it holds for one vector and a grid of C is what the tutorial shows."""
    skipped = check_learner(PAClassifier(0.5, step=slack)).skipped
    assert set(skipped.values()) <= {  # none is about the step
        "every row makes the weights fade",
        "every row is judged, and the judgements before it fade",
        "every row counts for the map",
        "every row counts for the scale",
        "a feature's frequencies depend on those met before it",
    }


def test_the_contract_knows_what_does_not_apply():
    passive = "a_row_without_loss_changes_no_bit"
    plain = plain_settings(NUMBERS)
    assert Variant(NUMBERS, {"step": own_ls}, plain).why_not(passive).startswith("least squares")
    assert Variant(NUMBERS, {"step": "own_pa"}, plain).why_not(WEIGHTS_SCALE_C).startswith("pa has no C")
    assert Variant(NUMBERS, {"step": slack}, plain).why_not(passive, WEIGHTS_SCALE_C) is None
    assert Variant(NUMBERS, {"step": slack, "half_life": 7.0}, plain).why_not(passive).startswith("every row")


# Steps that would do harm ----------------------------------------------------------------------------


@aggro.step
def harmful(loss, q, C):
    """One step that does whatever C says."""
    if C == 1.0:
        return math.nan
    if C == 2.0:
        return math.inf
    if C == 3.0:
        return -math.inf
    if C == 4.0:
        return 1e160
    return math.sqrt(C - 10.0)


@pytest.mark.parametrize("C", [1.0, 2.0, 3.0, 4.0, 5.0], ids=["nan", "inf", "-inf", "far", "sqrt(-5)"])
@pytest.mark.parametrize("params", [{}, {"multi_class": "joint"}, None], ids=["ovr", "joint", "regression"])
def test_a_step_that_cannot_be_taken_passes_the_row_over(C, params):
    entry = NUMBERS if params is None else CLASSES
    variant = Variant(entry, params or {}, plain_settings(entry))
    X, y = stream(variant)
    model = variant.new(C=C, step=harmful).partial_fit(X, y)
    assert (model.n_seen_, model.n_updates_) == (60, 0)
    assert not model.coef_.any()
    model = variant.new(step="pa1").partial_fit(X[:40], y[:40])
    before = learned(model)
    model.set_params(C=C, step=harmful).partial_fit(X[40:], y[40:])
    assert learned(model) == before
    assert model.n_seen_ == 60


@pytest.mark.parametrize("scale", [1e-308, 1e-200, 1e-49, 1e30, 1e49])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", [own_pa1, own_ls], ids=str)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_extreme_rows_are_learned_as_by_the_built_in_step_or_passed_over(scale, average, step, fit_intercept):
    built_in = step.__name__.removeprefix("own_")
    for entry, params in ((CLASSES, {}), (CLASSES, {"multi_class": "joint"}), (NUMBERS, {})):
        variant = Variant(entry, params, plain_settings(entry))
        X, y = stream(variant)
        given = {"average": average, "fit_intercept": fit_intercept}
        mine, theirs = (variant.new(step=s, **given).partial_fit(X, y) for s in (step, built_in))
        before = learned(mine)
        updates = mine.n_updates_
        mine.partial_fit(X[:1] * scale, y[:1])
        theirs.partial_fit(X[:1] * scale, y[:1])
        assert np.isfinite(decisions(mine, X)).all()
        if mine.n_updates_ == updates:
            assert learned(mine) == before
        else:
            np.testing.assert_allclose(decisions(mine, X), decisions(theirs, X), rtol=1e-6, atol=1e-12)


def test_a_step_as_long_as_the_row_cannot_overflow_the_weights():
    """It looks at neither loss nor norm, as a perceptron's."""

    @aggro.step(hinge=False)
    def always(loss, q, C):
        return C

    for scale in (1e30, 1e50):
        model = PARegressor(C=1e6, step=always).partial_fit(np.full((50, 3), scale), np.full(50, 1e50))
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict(np.full((1, 3), scale))).all()


def test_check_step_says_what_is_wrong():
    check_step(slack)
    check_step(own_pa)

    @aggro.step
    def backwards(loss, q, C):
        return -loss / q

    @aggro.step
    def undefined(loss, q, C):
        return math.sqrt(C - loss)

    with pytest.raises(ContractError, match=r"backwards\(loss=1e-06, q=1e-06, C=1e-06\) is -1: it goes away"):
        check_step(backwards)
    with pytest.raises(ContractError, match=r"undefined\(loss=0.1, q=1e-06, C=1e-06\)"):
        check_step(undefined)
    with pytest.raises(StepError, match="takes a step"):
        check_step(lambda loss, q, C: 0.0)


# Functions that cannot be steps ------------------------------------------------------------------------


def helper(x):
    return x


def two(loss, q):
    return loss / q


def four(loss, q, C, delta=1.0):
    return loss


def star(*numbers):
    return 1.0


def unknown_name(loss, q, C):
    return loss / nonsense  # noqa: F821


def plain_helper(loss, q, C):
    return helper(loss)


def text(loss, q, C):
    return "far"


def maybe(loss, q, C):
    if loss > C:
        return loss / q


def arrays(loss, q, C):
    return np.zeros(3)


def allocates(loss, q, C):
    return np.array([loss, q]).sum()


def attribute(loss, q, C):
    return loss.nonsense


def raises(loss, q, C):
    if q > 1.0:
        raise ValueError("too long")
    return loss / q


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (two, r"'two' must take three arguments \(loss, q, C\), and takes \(loss, q\)"),
        (four, r"and takes \(loss, q, C, delta=1.0\)"),
        (star, r"and takes \(\*numbers\)"),
        (unknown_name, "'unknown_name' cannot be compiled.*nonsense"),
        (plain_helper, r"'plain_helper' cannot be compiled .*'helper'.* decorate that with @numba.njit"),
        (text, "'text' must return a number"),
        (maybe, "'maybe' must return a number whatever it is asked, and returns OptionalType"),
        (arrays, "'arrays' .*cannot make arrays"),
        (allocates, "'allocates' .*cannot make arrays"),
        (attribute, "'attribute' cannot be compiled .*nonsense"),
        (raises, "'raises' must return a number for every row and cannot raise"),
        (5, "made of a function"),
        (len, "made of a function"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_one_clear_error_for_what_cannot_be_a_step(function, said):
    known = dict(OWN_STEPS)
    with pytest.raises(StepError, match=said) as caught:
        aggro.step(function)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.__cause__ is None
    assert known == OWN_STEPS


def test_names_are_taken_once():
    with pytest.raises(StepError, match="'pa2' is taken: it is a built-in step"):
        aggro.step(lambda loss, q, C: loss, name="pa2")
    with pytest.raises(StepError, match=r"'slack' is taken: .* has a step of that name"):

        @aggro.step(name="slack")
        def other(loss, q, C):
            return loss

    with pytest.raises(StepError, match="a name such as"):
        aggro.step(lambda loss, q, C: loss)


def test_learners_refuse_what_is_no_step():
    for given in (tau, "hubre", 3, None):
        with pytest.raises(ValueError, match=r"'step' parameter of PAClassifier must be .* made with aggro.step"):
            PAClassifier(step=given).partial_fit([[1.0]], [1])
    with pytest.raises(ValueError, match="Did you mean 'slack'"):
        PAClassifier(step="slakc").partial_fit([[1.0]], [1])


# A step as a thing -------------------------------------------------------------------------------------


def edited(factor):
    @aggro.step
    def edited_step(loss, q, C):
        return factor * loss / q

    return edited_step


def test_the_same_function_again_takes_its_place():
    """As when a cell of a notebook is run anew; models that hold the old one keep it."""
    old = edited(1.0)
    kept = PARegressor(step=old, epsilon=0.0).partial_fit([[1.0]], [1.0])
    new = edited(0.5)
    by_name = PARegressor(step="edited_step", epsilon=0.0).partial_fit([[1.0]], [1.0])
    assert [kept.predict_one([1.0]), by_name.predict_one([1.0])] == [1.0, 0.5]
    assert PARegressor(step=new, epsilon=0.0).learn_one([1.0], 1.0).predict_one([1.0]) == 0.5
    assert kept.learn_one([1.0], 2.0).predict_one([1.0]) == 2.0


@numba.njit
def refuses_large(x):
    if x > 0.5:
        raise ValueError("too large")
    return x


@aggro.step
def raises_inside(loss, q, C):
    return refuses_large(loss)


@aggro.step
def indexes_outside(loss, q, C):
    return (0.25, 0.5)[int(loss * 10.0)]


@pytest.mark.parametrize("own", [raises_inside, indexes_outside], ids=repr)
@pytest.mark.parametrize("C", [1.0, [0.5, 1.0]])
def test_an_exception_inside_a_step_passes_the_row_over(own, C, capfd):
    """In place of an arbitrary number, which the caller of a function at an address would read."""
    model = PARegressor(C, step=own, epsilon=0.0).partial_fit([[1.0]], [0.75])
    assert (model.n_seen_, model.n_updates_, model.coef_.tolist()) == (1, 0, [0.0])
    assert model.learn_one([1.0], 0.05).n_updates_ == 1
    assert "ignored" not in capfd.readouterr().err
    with pytest.raises(ContractError):
        check_step(own)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_new_step_compiles_no_learner():
    """Its function alone: the code of the pass is that of the built-in steps."""
    X, y = stream(Variant(NUMBERS))
    PARegressor(step=own_pa1).partial_fit(X, y)
    with event.install_recorder("numba:compile") as found:
        new = aggro.step(lambda loss, q, C: min(C, loss / q), name="as_new")
        PARegressor(step=new).partial_fit(X, y)
    modules = {entry.data["dispatcher"].py_func.__module__ for _, entry in found.buffer}
    assert not [name for name in modules if name.startswith(("aggro.learners", "aggro.engine.passes"))]


def test_a_step_may_change_while_a_model_learns():
    X, y = stream(Variant(NUMBERS))
    mixed = PARegressor(0.1, step="pa2").partial_fit(X[:20], y[:20])
    learn_rows(mixed.set_params(step=own_pa1), X[20:40], y[20:40])
    learn_rows(mixed.set_params(step="pa"), X[40:], y[40:])
    same = PARegressor(0.1, step="pa2").partial_fit(X[:20], y[:20])
    learn_rows(same.set_params(step="pa1"), X[20:40], y[20:40])
    assert_same_model(mixed, learn_rows(same.set_params(step="pa"), X[40:], y[40:]))


def test_copies_clones_pickles_and_searches():
    assert copy.deepcopy(slack) is copy.copy(slack) is pickle.loads(pickle.dumps(slack)) is slack
    assert slack == "slack"
    assert slack != "pa1"
    assert repr(slack) == "slack"
    assert slack(1.0, 1.0, 1.0) == 0.5
    assert clone(PAClassifier(step=slack)).step is slack
    X, y = stream(Variant(CLASSES))
    search = GridSearchCV(PAClassifier(), {"step": ["pa1", slack], "C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4


def test_a_model_file_names_its_step_and_needs_it(tmp_path, monkeypatch):
    path = tmp_path / "m.aggro"
    model = PAClassifier(step=slack).partial_fit(np.eye(3), [1, 0, 1])
    model.save(path)
    loaded = aggro.load(path)
    assert loaded.step == slack
    assert_same_model(loaded.partial_fit(np.eye(3), [0, 1, 0]), model.partial_fit(np.eye(3), [0, 1, 0]))
    monkeypatch.delitem(OWN_STEPS, "slack")
    with pytest.raises(ModelFileError, match=r"there is no step 'slack'\. If it is your own, import what defines it"):
        aggro.load(path)
