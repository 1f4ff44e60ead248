"""A loaded model is the saved one to the bit, and goes on as it would have."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers import forge
from helpers.variants import FEW, PLAIN, each
from safetensors import safe_open
from scipy.sparse import csr_matrix

import aggro
from aggro import models
from aggro.published import PAClassifier, PARegressor
from aggro.streams import Chunk
from aggro.testing.variants import as_dicts, as_pairs, assert_same_model, decisions, learn_rows, snapshot, stream


def chunks(X, y):
    return [
        Chunk(csr_matrix(X[i : i + 7]), y[i : i + 7], None, ["a", "b", "c", "d", "e", "f"]) for i in range(0, len(y), 7)
    ]


def learn_chunks(model, X, y):
    for chunk in chunks(X, y):
        model.learn_chunk(chunk)
    return model


def learn_csr(model, X, y):
    return model.partial_fit(csr_matrix(X), y)


FORMS = {
    "dicts": lambda model, X, y: learn_rows(model, as_dicts(X), y),
    "pairs": lambda model, X, y: learn_rows(model, as_pairs(X), y),
    "arrays": learn_rows,
    "matrix": lambda model, X, y: model.partial_fit(X, y),
    "csr": learn_csr,
    "named chunks": learn_chunks,
}


def there_and_back(model, tmp_path):
    model.save(tmp_path / "m.aggro")
    loaded = aggro.load(tmp_path / "m.aggro")
    assert snapshot(loaded)[1:] == snapshot(model)[1:]
    assert type(loaded) is type(model)
    assert (loaded._model.width, loaded._model.seed, loaded.n_iter_) == (
        model._model.width,
        model._model.seed,
        model.n_iter_,
    )
    return loaded


@each(FEW)
def test_many_new_classes_and_features_after_loading(variant, tmp_path):
    X, y = stream(variant, n=60, d=40)
    saved = learn_rows(variant.new(), as_dicts(X[:5, :2]), y[:5])
    loaded = there_and_back(saved, tmp_path)
    if variant.classifies:
        y = np.array([f"class {i % 20}" for i in range(60)])
    for model in (saved, loaded):
        learn_rows(model, as_dicts(X), y)
    assert snapshot(loaded) == snapshot(saved)


@each(PLAIN)
@pytest.mark.parametrize(
    "random_state",
    [3, np.int64(3), np.random.RandomState(3), np.random.default_rng(3)],
    ids=lambda given: type(given).__name__,
)
def test_shuffled_passes_go_on_with_the_same_seed(variant, random_state, tmp_path):
    X, y = stream(variant)
    saved = variant.new(shuffle=True, warm_start=True, max_iter=3, random_state=random_state).fit(X, y)
    loaded = there_and_back(saved, tmp_path)
    assert loaded.random_state == saved._model.seed
    assert_same_model(loaded.fit(X, y), saved.fit(X, y))


@pytest.mark.parametrize(
    "class_weight", ["balanced", {"a": 2, "b": 0.5}, {1: 2.0, 2: np.float64(0.1)}, {True: 3.0, False: 1}], ids=str
)
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_class_weights(class_weight, multi_class, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 3))
    kinds = list(class_weight) if isinstance(class_weight, dict) else ["x", "y"]
    y = np.array(kinds)[np.arange(40) % 2]
    saved = PAClassifier(class_weight=class_weight, multi_class=multi_class).partial_fit(X[:20], y[:20])
    loaded = there_and_back(saved, tmp_path)
    assert loaded.class_weight == class_weight
    if isinstance(class_weight, dict):
        assert {k: type(k) for k in loaded.class_weight} == {k: type(k) for k in class_weight}
    assert_same_model(loaded.partial_fit(X[20:], y[20:]), saved.partial_fit(X[20:], y[20:]))


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", 'ü\n"\\'],
        [3, -1, 2**40],
        [3.0, 1.0, 2.0],
        [True, False],
        [b"x", b"\xff"],
        ["", "é", "\ud800"],
        [2**70, 1, 2],
    ],
    ids=ascii,
)
def test_labels_keep_their_kind_and_order(labels, tmp_path):
    saved = PAClassifier().partial_fit(np.eye(len(labels)), np.array(labels), classes=np.array([*labels, labels[0]]))
    loaded = there_and_back(saved, tmp_path)
    assert list(loaded._model.labels.codes) == list(saved._model.labels.codes)
    assert [type(v) for v in loaded._model.labels.codes] == [type(v) for v in saved._model.labels.codes]
    assert loaded.classes_.dtype == saved.classes_.dtype
    assert loaded.predict(np.eye(len(labels))).tolist() == saved.predict(np.eye(len(labels))).tolist()


def test_reserved_classes_and_widths(tmp_path):
    saved = PAClassifier(n_features=9).partial_fit(np.eye(3), ["x", "y", "x"], classes=["z", "y", "x"])
    loaded = there_and_back(saved, tmp_path)
    assert loaded.classes_.tolist() == ["x", "y", "z"]
    assert loaded._model.features.reserved == 9
    for model in (saved, loaded):
        model.partial_fit(np.eye(9), ["x", "y", "z"] * 3)
    assert snapshot(loaded) == snapshot(saved)


def test_feature_names_of_every_kind(tmp_path):
    names = [
        "text",
        "",
        "ü",
        1,
        -7,
        2**80,
        2.5,
        float("inf"),
        None,
        ("a", 1, (None, 2.0)),
        (),
        b"raw\xff",
        np.int64(12),
        np.str_("n"),
    ]
    saved = PARegressor().learn_one(dict.fromkeys(names, 1.0), 1.0)
    loaded = there_and_back(saved, tmp_path)
    assert loaded._model.features.names == names
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    assert [type(name) for name in loaded._model.features.names] == [type(name) for name in plain]
    row = dict.fromkeys(names, 1.0)
    assert loaded.predict_one(row) == saved.predict_one(row)


def test_names_of_a_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(3), columns=["p", "q", "r"])
    saved = PARegressor().fit(frame, [1.0, 2.0, 3.0])
    loaded = there_and_back(saved, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["p", "q", "r"]
    assert loaded.predict(frame).tolist() == saved.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["r", "q", "p"]])


@pytest.mark.parametrize(
    "changes", [{"average": False}, {"multi_class": "joint"}, {"C": 0.5, "step": "pa"}, {"shuffle": True}], ids=str
)
def test_settings_that_were_changed_while_learning(changes, tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = (X[:, 0] > 0).astype(int)
    saved = PAClassifier(average=True).partial_fit(X, y).set_params(**changes)
    loaded = there_and_back(saved, tmp_path)
    for model in (saved, loaded):
        model.partial_fit(X, y)
    assert snapshot(loaded) == snapshot(saved)


def test_a_model_that_only_met_rows_of_no_weight(tmp_path):
    saved = PAClassifier().partial_fit(np.eye(2), ["a", "b"], sample_weight=[0.0, 0.0])
    loaded = there_and_back(saved, tmp_path)
    for model in (saved, loaded):
        model.partial_fit(np.eye(2), ["a", "b"])
    assert snapshot(loaded) == snapshot(saved)


@pytest.mark.parametrize("name", forge.NAMES)
def test_an_empty_first_row(name, tmp_path):
    y = 1.0
    saved = forge.fitted(name)
    fresh = type(saved)().learn_one({}, y)
    loaded = there_and_back(fresh, tmp_path)
    assert snapshot(loaded.learn_one({"x": 1.0}, 2.0)) == snapshot(fresh.learn_one({"x": 1.0}, 2.0))


@pytest.mark.parametrize("name", forge.NAMES)
def test_the_same_model_gives_the_same_bytes(name, tmp_path):
    model = forge.fitted(name, random_state=0)
    contents = set()
    for i, twin in enumerate((model, forge.fitted(name, random_state=0), model)):
        twin.save(tmp_path / f"{i}.aggro")
        contents.add((tmp_path / f"{i}.aggro").read_bytes())
    aggro.load(tmp_path / "0.aggro").save(tmp_path / "again.aggro")
    contents.add((tmp_path / "again.aggro").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("name", forge.NAMES)
def test_any_reader_of_safetensors_opens_the_file(name, tmp_path):
    model = forge.fitted(name)
    model.save(tmp_path / "m.aggro")
    with safe_open(tmp_path / "m.aggro", framework="numpy") as file:
        assert '"learner":"' + name in file.metadata()["aggro"]
        assert np.array_equal(file.get_tensor("tally.rows"), model._model.state.tally.rows)
        assert file.get_tensor("features.names").tobytes() == b'["f0","f1","f2"]'


def test_the_state_is_not_shared(tmp_path):
    model = forge.fitted("PAClassifier")
    first, second = there_and_back(model, tmp_path), there_and_back(model, tmp_path)
    before = snapshot(second)
    first.learn_one({"f0": 5.0}, "new")
    assert snapshot(second) == before


def test_without_scikit_learn(tmp_path):
    """Every learner, in one process that starts once."""
    fitted = {name: forge.fitted(name) for name in forge.NAMES}
    for name, model in fitted.items():
        model.save(tmp_path / f"{name}.aggro")
    code = (
        "import sys; from aggro import models\n"
        "for path in sys.argv[1:]:\n"
        "    bare, position = models.load_checkpoint(path, shell=False)\n"
        "    print(repr(bare.predict_one({'f0': 1.0, 'f1': -1.0})))\n"
        "    bare.learn_one({'f0': 1.0, 'new': 1.0}, bare.predict_one({})).save(path)\n"
        "    models.describe(path); models.load(path, shell=False)\n"
        "    assert not any(name.split('.')[0] in ('sklearn', 'pandas', 'pickle5') for name in sys.modules), path\n"
    )
    paths = [str(tmp_path / f"{name}.aggro") for name in fitted]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [repr(model.predict_one({"f0": 1.0, "f1": -1.0})) for model in fitted.values()]
    assert {aggro.load(path).n_seen_ for path in paths} == {31}


def test_a_checkpoint_is_a_model_and_a_position(tmp_path):
    model = forge.fitted("PARegressor")
    position = {"file": 2, "offset": 2**60, "row": 7, "list": [1, None, "ü"]}
    models.save(model, tmp_path / "m.aggro", position)
    loaded, found = models.load_checkpoint(tmp_path / "m.aggro")
    assert found == position
    assert snapshot(loaded) == snapshot(model) == snapshot(aggro.load(tmp_path / "m.aggro"))
    model.save(tmp_path / "m.aggro")
    assert models.load_checkpoint(tmp_path / "m.aggro")[1] is None
    with pytest.raises(ValueError, match="position is not JSON"):
        models.save(model, tmp_path / "m.aggro", {"offset": {1, 2}})
    with pytest.raises(ValueError, match="position is not JSON"):
        models.save(model, tmp_path / "m.aggro", float("nan"))


@pytest.mark.parametrize("average", [False, True])
def test_what_is_in_a_file(tmp_path, average):
    """The weights are those that predict."""
    model = PAClassifier(average=average)
    for _ in range(3):
        model.learn_one({"good": 2, "day": 1}, "+").learn_one({"bad": 1, "day": 1}, "-")
    models.save(model, tmp_path / "m.aggro", position=5)
    contents = models.describe(tmp_path / "m.aggro", weights=2)
    assert (contents.n_seen, contents.n_updates, contents.n_mistakes) == (6, model.n_updates_, model.n_mistakes_)
    assert contents.header.learner == "published.PAClassifier"
    assert contents.header.parameters | {"verbose": 0} == model.get_params()  # which is about this process
    assert contents.header.classes == ["+", "-"]
    assert contents.header.position == 5
    assert contents.size == (tmp_path / "m.aggro").stat().st_size
    assert contents.arrays["w"] == f"float64 [{model._model.width}]"
    weights = dict(zip(model.feature_names_in_, model.coef_[0], strict=True))
    assert [w.feature for w in contents.weights] == sorted(weights, key=lambda name: -abs(weights[name]))[:2]
    assert all(w.label == "-" and w.value == weights[w.feature] for w in contents.weights)
    model.learn_one({"odd": 3}, "?").save(tmp_path / "m.aggro")
    shown = models.describe(tmp_path / "m.aggro", weights=100).weights
    columns = model.classes_.tolist()
    names = model.feature_names_in_.tolist()
    assert all(w.value == model.coef_[columns.index(w.label), names.index(w.feature)] for w in shown)
    assert len(shown) == np.count_nonzero(model.coef_)


def test_saving_in_a_thread_while_another_learns(tmp_path):
    """Every file is a whole model of some moment."""
    from concurrent.futures import ThreadPoolExecutor

    X, y = stream(PLAIN[0], n=2000, d=20)
    model = PLAIN[0].new().partial_fit(X[:10], y[:10])
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(lambda: [model.partial_fit(X[i : i + 50], y[i : i + 50]) for i in range(0, 2000, 50)])
        learning = True
        while learning:
            learning = not done.done()
            model.save(tmp_path / "m.aggro")
            seen = aggro.load(tmp_path / "m.aggro").n_seen_
            assert seen % 50 == 10
    assert seen == 2010
    assert np.array_equal(decisions(aggro.load(tmp_path / "m.aggro"), X), decisions(model, X))
