"""What the plots draw: the numbers of the lines and bars, the words, and where these stand."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt
from helpers.figures import assert_readable
from matplotlib.colors import to_hex

from aggro import ActiveLearner, KernelPAClassifier, PAUniclass, RecordLearner, plot, streams
from aggro.evaluate import Curve, compare, progressive
from aggro.plot.colours import DARK, LIGHT
from aggro.plot.end_labels import EndLabels
from aggro.published import PAClassifier, PARegressor

ROWS = 2 ** np.arange(12)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def learned(model, rows=1000, **options):
    for chunk in streams.twonorm(rows, chunk=500, **options):
        model.learn_chunk(chunk)
    return model


def curve(errors, measure="mistakes"):
    return Curve(ROWS, np.asarray(errors, dtype=float), 1.0, measure)


def end_labels(ax):
    (labels,) = (one for one in ax.artists if isinstance(one, EndLabels))
    return labels.names


# History ----------------------------------------------------------------------------------------------


def test_history_is_the_error_and_the_loss_by_rows():
    model = learned(PAClassifier(0.01))
    ax = plot.history(model)
    mistakes, loss = ax.lines
    marks = model.history_[model.history_["rows"] >= 8]
    assert mistakes.get_xdata().tolist() == loss.get_xdata().tolist() == [*marks["rows"], 1000]
    np.testing.assert_array_equal(mistakes.get_ydata(), [*marks["mistakes"] / marks["rows"], model.n_mistakes_ / 1000])
    np.testing.assert_array_equal(loss.get_ydata()[:-1], marks["loss"])
    assert marks["loss"][-1] / 2 < loss.get_ydata()[-1] < marks["loss"][-1] * 2
    assert [text.get_text() for text in end_labels(ax)] == ["mistakes", "mean loss"]
    assert ax.get_title(loc="left") == "Mistakes so far, and mean loss"


@pytest.mark.parametrize(("measure", "label"), [("error", "mistakes"), ("loss", "mean loss")])
def test_history_draws_one_measure_if_asked(measure, label):
    (line,) = plot.history(learned(PAClassifier()), measure=measure).lines
    assert line.get_label() == label


def test_history_of_several_is_a_line_each():
    models = {"C = 1": learned(PAClassifier()), "C = 0.01": learned(PAClassifier(0.01))}
    ax = plot.history(models)
    assert [line.get_label() for line in ax.lines] == list(models)
    assert [line.get_ydata()[-1] for line in ax.lines] == [m.n_mistakes_ / 1000 for m in models.values()]


def test_history_of_other_tasks_and_of_a_learner_inside():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    (line,) = plot.history(PARegressor().fit(X, X[:, 0])).lines
    assert line.get_label() == "mean loss"
    detector = PAUniclass().fit(X)
    outside, _ = plot.history(detector).lines
    assert outside.get_label() == "outside"
    assert outside.get_ydata()[-1] == detector.n_mistakes_ / 100
    active = learned(ActiveLearner(PAClassifier(), delta=0.1, strategy="margin", replay=0, random_state=0))
    mistakes, _ = plot.history(active).lines
    assert mistakes.get_xdata()[-1] == active.n_queries_


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (PAClassifier(), {}, "PAClassifier has no history_"),
        ({}, {}, "empty"),
        (PARegressor().fit([[1.0], [2.0]], [1.0, 2.0]), {"measure": "error"}, "measure='loss'"),
        (PARegressor().fit([[1.0], [2.0]], [1.0, 2.0]), {"measure": "f1"}, "'f1' is not known"),
    ],
)
def test_what_has_no_history_is_refused(given, options, said):
    already = plt.get_fignums()
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        plot.history(given, **options)
    assert plt.get_fignums() == already


# Curves -----------------------------------------------------------------------------------------------


def test_curves_are_drawn_as_they_are_from_the_eighth_row_on():
    given = {"falling": curve(1.0 / ROWS), "flat": curve(np.full(12, 0.5))}
    ax = plot.curves(given, peers=["flat"], floor=("best possible", 0.01))
    falling, flat, floor = ax.lines
    assert falling.get_xdata().tolist() == ROWS[3:].tolist()
    assert falling.get_ydata().tolist() == (1.0 / ROWS)[3:].tolist()
    assert to_hex(falling.get_color()) == LIGHT["s0"]
    assert to_hex(flat.get_color()) == LIGHT["peer"]
    assert flat.get_linestyle() == "--"
    assert floor.get_ydata()[0] == 0.01
    assert "best possible" in {text.get_text() for text in ax.texts}
    assert [text.get_text() for text in end_labels(ax)] == ["falling", "flat"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    ax.figure.canvas.draw()
    assert "1,024" in {tick.get_text() for tick in ax.get_xticklabels()}
    assert "10%" in {tick.get_text() for tick in ax.get_yticklabels()}


def test_what_compare_returns_is_drawn_with_its_measure():
    X = np.random.default_rng(0).standard_normal((64, 3))
    chunk = streams.Chunk(X, X[:, 0])
    losses = compare({"a": PARegressor(), "b": PARegressor(0.1)}, [chunk])
    ax = plot.curves(losses)
    assert ax.get_title(loc="left") == "Mean loss so far"
    ax.figure.canvas.draw()
    assert not any("%" in tick.get_text() for tick in ax.get_yticklabels())
    shares = compare({"a": PAUniclass()}, [chunk])
    assert plot.curves(shares).get_title(loc="left") == "Outside so far"
    with pytest.raises(ValueError, match="several measures"):
        plot.curves({**losses, "c": shares["a"]})


def test_a_curve_draws_itself_and_axes_take_more_of_them():
    one = progressive(PAClassifier(), streams.twonorm(1000))
    ax = one.plot("one")
    assert ax.lines[0].get_ydata()[-1] == one.error
    two = progressive(PAClassifier(0.01), streams.twonorm(4000))
    assert two.plot("two", ax=ax) is ax
    assert [text.get_text() for text in end_labels(ax)] == ["one", "two"]
    assert len({line.get_color() for line in ax.lines}) == 2
    assert ax.get_xlim()[1] == 4000
    assert [text.get_text() for text in end_labels(one.plot())] == [f"{one.error:.2%}"]


def test_errors_of_zero_have_a_place():
    ax = plot.curves({"none": curve(np.zeros(12)), "late": curve(np.r_[np.full(6, 0.5), np.zeros(6)])})
    ax.figure.canvas.draw()
    assert all(np.isfinite(ax.get_ylim()))


@pytest.mark.parametrize(
    ("given", "said"), [({}, "no curve"), ({"a": Curve(ROWS[:0], ROWS[:0], 0.0)}, "'a' has no rows")]
)
def test_nothing_to_draw_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        plot.curves(given)


LONG = "PAClassifier(C=0.125, step='pa2', average=True, half_life=300, margin=2.0, multi_class='joint')"


@pytest.mark.parametrize("names", [[LONG, "a $x_1$ b", LONG + "!"], [f"learner number {k}" for k in range(30)]])
@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("width", [3.5, 8.0])
def test_labels_stay_inside_and_apart(names, layout, width):
    figure, axes = plt.subplots(1, 2 if width > 4 else 1, figsize=(width, 4.0), layout=layout, squeeze=False)
    for ax in axes[0]:
        plot.curves({name: curve(np.linspace(0.5, 0.1 + k / 1000, 12)) for k, name in enumerate(names)}, ax=ax)
    assert_readable(figure)
    assert axes[0, 0].bbox.width > 60


def test_labels_move_when_the_figure_gets_smaller():
    ax = plot.curves({f"number {k}": curve(np.full(12, 0.5)) for k in range(12)})
    assert_readable(ax.figure)
    ax.figure.set_size_inches(5.0, 2.6)
    assert_readable(ax.figure)


def test_dark_grounds_have_their_own_colours():
    with plt.style.context("dark_background"):
        ax = plot.curves({"a": curve(np.full(12, 0.5))})
    assert to_hex(ax.lines[0].get_color()) == DARK["s0"]


# Weights ----------------------------------------------------------------------------------------------


def shown(ax):
    """Features and values, from the top down."""
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    return list(zip(names, [bar.get_width() for bar in ax.patches], strict=True))


def test_the_largest_weights_by_name_and_class():
    model = PAClassifier()
    for words_, label in [("cheap pills", "spam"), ("monday notes", "work"), ("cheap cheap $x$", "spam")]:
        model.learn_one({word: float(words_.split().count(word)) for word in words_.split()}, label)
    ax = plot.weights(model, 3)
    weights = dict(zip(model.feature_names_in_, model.coef_[0], strict=True))
    largest = sorted(weights.items(), key=lambda item: -abs(item[1]))[:3]
    assert shown(ax) == largest
    sides = ["work" if value > 0 else "spam" for _, value in largest]
    assert [text.get_text() for text in ax.texts] == sides
    assert len({bar.get_facecolor() for bar in ax.patches}) == len(set(sides))
    assert_readable(ax.figure)


def test_of_several_classes_each_has_its_own_weights():
    X = np.eye(3)
    model = PAClassifier().fit(X, ["a", "b", "c"])
    ax = plot.weights(model, 100, names=["x", "y", "z"])
    drawn = {(name, text.get_text()): value for (name, value), text in zip(shown(ax), ax.texts, strict=True)}
    assert drawn == {
        ("xyz"[j], "abc"[i]): model.coef_[i, j] for i in range(3) for j in range(3) if model.coef_[i, j] != 0.0
    }


def test_a_pipeline_has_words():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    pipe = make_pipeline(CountVectorizer(), PAClassifier()).fit(["cheap pills", "monday notes"], ["spam", "work"])
    assert {name for name, _ in shown(plot.weights(pipe))} == {"cheap", "pills", "monday", "notes"}


def test_raw_records_have_columns_and_words():
    model = RecordLearner()
    for plan, note, outcome in [("basic", "wants a refund", "leaves"), ("pro", "all is well", "stays")]:
        model.learn_one({"plan": plan, "note": note}, outcome)
    names = {name for name, _ in shown(plot.weights(model))}
    assert {"plan=basic", "note:refund"} <= names <= set(model.feature_names_)
    assert plot.history(model).lines[0].get_xdata()[-1] == 2


def test_numbers_and_centres_and_learners_inside():
    X = np.random.default_rng(0).standard_normal((50, 2))
    regressor = PARegressor().fit(X, 3.0 * X[:, 1])
    (first, value), _ = shown(plot.weights(regressor))
    assert (first, value) == ("feature 1", regressor.coef_[1])
    assert not plot.weights(regressor).texts
    assert plot.weights(PAUniclass().fit(X)).get_title(loc="left") == "Largest values of the centre"
    active = ActiveLearner(PAClassifier(), delta=1.0, random_state=0).fit(X, X[:, 0] > 0)
    assert len(shown(plot.weights(active))) == 2


def test_names_that_are_too_long_for_a_line_are_shortened():
    model = PAClassifier().learn_one({"a word " * 20: 1.0}, "yes").learn_one({"b": 1.0}, "no" * 40)
    figure, ax = plt.subplots(figsize=(5.0, 3.0))
    assert plot.weights(model, ax=ax) is ax
    assert_readable(figure)


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (lambda: PAClassifier(), {}, "has no weights by feature"),
        (lambda: KernelPAClassifier().fit([[1.0], [2.0]], [0, 1]), {}, "has no weights by feature"),
        (lambda: PAClassifier().fit([[0.0], [0.0]], [0, 1]), {}, "are 0"),
        (lambda: PAClassifier().fit([[1.0], [2.0]], [0, 1]), {"names": ["a", "b"]}, "2 names for 1 features"),
        (lambda: PAClassifier().fit([[1.0], [2.0]], [0, 1]), {"n": 0}, "n=0"),
    ],
)
def test_what_has_no_weights_is_refused(make, options, said):
    model = make()  # here, and not while tests are collected: every worker would wait for its compiled code
    with pytest.raises(ValueError, match=said):
        plot.weights(model, **options)
    assert not plt.get_fignums()


# Confusion --------------------------------------------------------------------------------------------


def cells(ax):
    return {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in ax.texts}


@pytest.mark.parametrize(
    "given",
    [
        (["cat", "cat", "dog", "dog", "cow"], ["cat", "dog", "dog", "dog", "cat"]),
        ({"cat": {"cat": 1, "dog": 1}, "dog": {"dog": 2}, "cow": {"cat": 1}},),
    ],
)
def test_confusion_counts_each_pair(given):
    ax = plot.confusion(*given)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["cat", "cow", "dog"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["cat", "cow", "dog"]
    assert cells(ax) == {(0, 0): "1", (0, 2): "1", (1, 0): "1", (2, 2): "2"}
    assert ax.get_title(loc="left") == "3 of 5 right (60.0%)"
    image = ax.images[0].get_array()
    assert to_hex(image[0, 0]) == LIGHT["s0"]
    assert to_hex(image[0, 2]) == LIGHT["s1"]
    assert image[2, 2, 3] > image[0, 0, 3] > image[1, 1, 3] == 0.0  # by the share of a line
    assert_readable(ax.figure)


def test_confusion_of_a_matrix_in_the_order_given():
    ax = plot.confusion([[5, 1], [0, 2000]], labels=["no", "yes"])
    assert cells(ax) == {(0, 0): "5", (0, 1): "1", (1, 1): "2,000"}


def test_labels_of_any_kind_are_sorted_and_none_is_last():
    ax = plot.confusion([10, 9, "b", "a"], [9, 9, None, "a"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["9", "10", "a", "b", "None"]


@pytest.mark.parametrize("n", [2, 12, 40])
def test_labels_of_a_confusion_matrix_do_not_overlap(n):
    labels = [f"a long label, {k}" for k in range(n)]
    assert_readable(plot.confusion(labels, labels).figure)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (([1, 2], [1]), {}, "2 true labels and 1 predicted"),
        (([1, 2],), {}, "predicted labels too"),
        (([], []), {}, "no rows"),
        (([1, 2], [1, 3]), {"labels": [1, 2]}, "lacks 3"),
        (({"a": {"a": -1}},), {}, "below 0"),
    ],
)
def test_what_cannot_be_counted_is_refused(given, options, said):
    with pytest.raises(ValueError, match=said):
        plot.confusion(*given, **options)
    assert not plt.get_fignums()


# Without matplotlib -----------------------------------------------------------------------------------


def test_without_matplotlib_one_error_says_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
from aggro import plot, evaluate, streams, PAClassifier
curve = evaluate.progressive(PAClassifier(), streams.twonorm(100))
for draw in (lambda: plot.confusion([1], [1]), curve.plot):
    try:
        draw()
    except ImportError as error:
        print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.count("pip install 'aggro[plot]'") == 2, ran.stderr
