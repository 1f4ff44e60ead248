"""Learners from outside the library: the one of the tutorial, and classes that lack something."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from helpers.pages import ROOT, save_files

import aggro
from aggro.engine.rule import RULES, Rule
from aggro.learners.base.contract import Contract
from aggro.learners.base.tasks import Regressor
from aggro.learners.linear.vector import Line
from aggro.learners.registry import OWN, find
from aggro.models import ModelFileError
from aggro.testing import ContractError, check_learner
from aggro.testing.check import ANY_ORDER
from aggro.testing.variants import Variant

PAGE = ROOT / "docs" / "tutorials" / "an-update-of-your-own.md"
pytestmark = pytest.mark.xdist_group("learners from outside")  # each process compiles them anew


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """The tutorial's file, imported; its own tests run the contract on it."""
    folder = tmp_path_factory.mktemp("plugin")
    (name,) = save_files(PAGE, folder)
    sys.path.insert(0, str(folder))
    sys.modules.pop(name, None)
    yield importlib.import_module(name)
    sys.path.remove(str(folder))
    del sys.modules[name], OWN["MetricRegressor"]


def bare(mine):
    return OWN["MetricRegressor"].load()


def test_one_step_solves_its_problem(mine):
    """The derivative of the problem vanishes: d·(w′ − w) = ±τ·x, with loss 0 or τ = C."""
    rng = np.random.default_rng(0)
    model = mine.MetricRegressor(C=0.2, epsilon=0.1).fit(rng.standard_normal((30, 4)), rng.standard_normal(30))
    for x, y in zip(rng.standard_normal((40, 4)), 3.0 * rng.standard_normal(40), strict=True):
        state = model._model.state
        w, d, f = state.w[:4].copy(), np.sqrt(1.0 + state.g[:4]), model.predict_one(x)
        tau_x = d * (model.learn_one(x, y)._model.state.w[:4] - w)
        tau = tau_x @ x / (x @ x)
        np.testing.assert_allclose(tau_x, tau * x, atol=1e-12)
        left = abs(y - model.predict_one(x)) - 0.1
        if abs(y - f) <= 0.1:
            assert tau == 0.0
        else:
            assert np.sign(tau) == np.sign(y - f)
            assert abs(left) < 1e-9 or (left > 0.0 and abs(tau) == pytest.approx(0.2))


def test_it_is_in_the_registry_and_in_the_shells(mine):
    from sklearn.base import is_regressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from aggro.interop import river

    entry = find("MetricRegressor")
    assert (entry.task, entry.module) == ("regression", "my_learners")
    assert is_regressor(mine.MetricRegressor())
    assert issubclass(river.MetricRegressor, entry.load())
    assert river.MetricRegressor is river.MetricRegressor
    X = np.random.default_rng(0).standard_normal((50, 3))
    assert make_pipeline(StandardScaler(), mine.MetricRegressor()).fit(X, X[:, 0]).predict(X).shape == (50,)
    with pytest.raises(AttributeError):
        river.Nonsense  # noqa: B018


def test_a_model_file_needs_its_learner(mine, tmp_path, monkeypatch):
    path = tmp_path / "m.aggro"
    mine.MetricRegressor().fit(np.eye(2), [1.0, 2.0]).save(path)
    assert type(aggro.load(path)) is mine.MetricRegressor
    monkeypatch.delitem(OWN, "MetricRegressor")
    with pytest.raises(
        ModelFileError, match=r"no learner 'MetricRegressor'.* If it is your own, import what defines it"
    ):
        aggro.load(path)
    with pytest.raises(ValueError, match=r"not one of the learners that aggro has. Enter your own with aggro.register"):
        mine.MetricRegressor().fit(np.eye(2), [1.0, 2.0]).save(path)


def test_a_learner_that_breaks_the_contract_is_told_what_it_breaks(mine, monkeypatch):
    """This one learns from every row, and forgets to say that a row is not finite."""

    class Hasty(mine.Metric):
        pass

    def score(state, params, X, i, out):
        q = mine.score(state, params, X, i, out)
        return 1.0 if q != q else q

    def update(state, params, X, i, y, s, out, q):
        for j in range(state.w.shape[0]):
            state.w[j] += 1e-3 * s
        return True

    from aggro.engine.jit.compile import inline

    kinds = {"init": lambda *given: Hasty(*mine.init(*given)), "grow": lambda *given: Hasty(*mine.grow(*given))}
    hasty_score = inline(score)
    rule = Rule(
        state=Hasty,
        **kinds,
        score=hasty_score,
        score_averaged=hasty_score,
        loss_of=mine.loss_of,
        update=inline(update),
        columns=lambda state: 1,
    )

    class HastyRegressor(bare(mine)):
        def __init__(
            self,
            C=1.0,
            epsilon=0.1,
            max_iter=1,
            tol=None,
            shuffle=False,
            warm_start=False,
            random_state=None,
            n_features=None,
        ):
            vars(self).update({name: given for name, given in locals().items() if name != "self" and name[0] != "_"})

        def _rule_for(self, classes):
            return rule

    try:
        with pytest.raises(ContractError) as caught:
            check_learner(aggro.register(HastyRegressor))
    finally:
        OWN.pop("HastyRegressor", None)
    broken = {line.split(": ")[1] for line in str(caught.value).splitlines()[1:]}
    assert {"bad_rows_change_nothing", "a_row_without_loss_changes_no_bit", "zero_rows_are_harmless"} & broken
    assert "bad_rows_change_nothing" in broken
    assert "a_row_without_loss_changes_no_bit" in broken
    assert "dense_is_csr" not in broken


def test_a_learner_of_two_classes_is_told_of_the_third():
    """By the pass at the row where it comes, which leaves the model as it was, and by the contract."""
    from aggro.learners.linear import PAClassifier

    class TwoClasses(PAClassifier):
        def _rule_for(self, classes):
            return super()._rule_for(2)

    said = r"TwoClasses can tell two classes apart, and a third one came: .*OneVsRestClassifier\(TwoClasses\(\)\)"
    X, y = np.eye(6), np.array(["a", "b", "a", "b", "c", "a"])
    try:
        kind = aggro.register(TwoClasses)
        plain = {"C": 1.0, "step": "pa1", "scale": None, "average": False}
        with pytest.raises(ValueError, match=said):
            kind(**plain).fit(X, y)
        model = kind(**plain).partial_fit(X[:4], y[:4])
        before = model.decision_function(X)
        for learn in (lambda: model.partial_fit(X[3:], y[3:]), lambda: model.learn_one(X[4], "c")):
            with pytest.raises(ValueError, match=said):
                learn()
            assert (model.decision_function(X) == before).all()
            assert model.classes_.tolist() == ["a", "b"]
        with pytest.raises(ContractError, match=said):
            check_learner(kind)
        with pytest.raises(ContractError, match=said):
            check_learner(kind(**plain))
    finally:
        OWN.pop("TwoClasses", None)


def test_skips_have_names_and_unknown_learners_are_refused(mine):
    with pytest.raises(ValueError, match="There is no check 'dense'"):
        check_learner(mine.MetricRegressor, skip={"dense": "why not"})
    with pytest.raises(TypeError, match=r"Regressor is not in the registry: enter it with aggro\.register"):
        check_learner(Regressor)


def test_a_learner_says_itself_which_claims_do_not_hold(mine, monkeypatch):
    why = "its metric follows all rows"
    one = {("C", 1.0): why, "epsilon": why}
    monkeypatch.setattr(bare(mine), "contract", Contract(exempt={"dense_is_csr": one, ANY_ORDER: why}), raising=False)
    assert Variant(find("MetricRegressor")).why_not("dense_is_csr") == why
    assert Variant(find("MetricRegressor"), {"C": 2.0}).why_not("dense_is_csr") is None
    assert Variant(find("MetricRegressor"), {"C": 2.0, "epsilon": 0.3}).why_not("dense_is_csr") == why
    assert Variant(find("MetricRegressor"), {"C": 2.0}).why_not("a weight scales C", ANY_ORDER) == why
    monkeypatch.setattr(bare(mine), "contract", Contract(exempt={"dense_is_sparse": why}))
    with pytest.raises(ValueError, match="The contract of MetricRegressor is about 'dense_is_sparse', which nothing"):
        check_learner(mine.MetricRegressor)


# Classes that lack something -------------------------------------------------------------------------------


def without(*names, **changes):
    """A class like the tutorial's, and what is wrong with it."""

    def made(mine):
        base = bare(mine)
        body = {name: getattr(base, name) for name in ("_constraints", "__init__", "_params_for", "_contributions")}
        body |= {"_rule_for": base._rule_for, **changes}
        return type("Lacking", (Regressor,), {name: part for name, part in body.items() if name not in names})

    return made


def rename(**changes):
    return lambda mine: type("Lacking", (bare(mine),), changes)


def fewer(mine):
    kept = {name: c for name, c in bare(mine)._constraints.items() if name != "C"}
    return rename(_constraints=kept)(mine)


def no_store(mine):
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

    return rename(__init__=__init__)(mine)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (without("_rule_for"), "it has no _rule_for"),
        (without("_contributions"), "it has no _contributions"),
        (without("_constraints"), "it has no _constraints"),
        (fewer, "'C' is in one of __init__ and _constraints, and not in the other"),
        (no_store, "__init__ does not store 'epsilon'"),
        (rename(_rule_for=lambda self, classes: "pa"), "_rule_for gave 'pa', not a Rule"),
        (lambda mine: type("Lacking", (), {}), "must be a subclass of Classifier or Regressor"),
        (lambda mine: mine.MetricRegressor, "without scikit-learn around it"),
        (lambda mine: 5, "takes a learner's class"),
        (lambda mine: type("PARegressor", (bare(mine),), {}), "'PARegressor' is taken: aggro has a learner"),
        (lambda mine: type("MetricRegressor", (bare(mine),), {}), "'MetricRegressor' is taken: 'my_learners' has"),
    ],
)
def test_a_class_that_lacks_something_is_told_so(mine, make, said):
    before = dict(OWN)
    with pytest.raises(TypeError, match=said):
        aggro.register(make(mine))
    assert before == OWN


def test_a_state_has_one_rule():
    rule = RULES[Line]
    with pytest.raises(ValueError, match="Line has a rule already"):
        Rule(Line, rule.init, rule.grow, rule.score, rule.loss_of, rule.update, rule.score_averaged, rule.columns)
    assert RULES[Line] is rule


def test_installed_packages_are_found_by_name(tmp_path, monkeypatch):
    """An entry point is loaded when its learner is asked for, and no sooner."""
    save_files(PAGE, tmp_path)
    (tmp_path / "my_learners.py").rename(tmp_path / "installed_learners.py")
    info = tmp_path / "installed_learners-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed_learners\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[aggro.learners]\nMetricRegressor = installed_learners:MetricRegressor\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(OWN, "MetricRegressor", None)
    del OWN["MetricRegressor"]
    find("PAClassifier")
    assert "installed_learners" not in sys.modules
    assert find("MetricRegressor").module == "installed_learners"
