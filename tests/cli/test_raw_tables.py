"""Raw tables on the command line: nothing set, nothing prepared, nothing silent."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from helpers.messy import COLUMNS, messy_rows, write_csv
from helpers.runner import good, mistake

import aggro

USED = ("signup", "age", "income", "city", "plan", "country", "note")


@pytest.fixture(scope="module")
def rows():
    return messy_rows(6000), messy_rows(2000, seed=1)


@pytest.fixture(scope="module")
def files(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("messy")
    return write_csv(folder / "train.csv", rows[0]), write_csv(folder / "test.csv", rows[1])


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "m.aggro"
    return model, good("train", files[0], "--model", model, "--set", "average=true", "--test", files[1])


def error_of_a_pipeline(rows):
    """What scikit-learn's preprocessing, told of every column, gives the same learner; in percent."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def prepared(part):
        frame = pd.DataFrame(part)
        for name in ("age", "income"):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
        when = pd.to_datetime(frame["signup"])
        frame["days"], frame["year"] = (when - pd.Timestamp("1970-01-01")).dt.days, when.dt.year
        frame["month"], frame["weekday"], frame["hour"] = when.dt.month, when.dt.day_name(), when.dt.hour
        return frame

    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = ColumnTransformer(
        [
            ("numbers", numbers, ["age", "income", "days", "year"]),
            ("categories", OneHotEncoder(handle_unknown="ignore"), ["city", "plan", "month", "weekday", "hour"]),
            ("words", CountVectorizer(), "note"),
        ]
    )
    learn, test = map(prepared, rows)
    model = aggro.PAClassifier(average=True).fit(steps.fit_transform(learn), learn["churn"].to_numpy())
    return 100 - 100 * model.score(steps.transform(test), test["churn"].to_numpy())


def test_a_messy_file_is_learned_as_well_as_by_a_hand_made_pipeline(trained, files, rows):
    model, _ = trained
    learner, test = aggro.load(model), pd.DataFrame(rows[1])
    error = 100 - 100 * learner.score(test, test["churn"].to_numpy())
    assert error <= error_of_a_pipeline(rows) + 0.5


def test_train_says_how_it_reads_a_table_before_it_learns(trained):
    said = trained[1].err
    table = said.index("mean loss")
    for words in (
        "label: 'churn' (the last column; --label names another), classes no ",
        "numbers: 'age', 'income'",
        "categories: 'city' (7 values), 'plan' (3 values)",
        "text: 'note'",
        "dates: 'signup'",
        "left out: 'id' (its name, and nearly all values differ)",
        "header: the first line",
    ):
        assert words in said[:table]
    assert "Missing numbers and dates: " in said
    assert "stray words)" in said
    assert "constant columns, from which nothing can be learned: 'country'" in said


def test_classes_that_differ_in_capitals_alone_are_said(tmp_path):
    words = ["Yes", "yes", "NO", "no "] * 10
    (tmp_path / "a.csv").write_text("x,bought\n" + "".join(f"{k % 7},{word}\n" for k, word in enumerate(words)))
    said = good("train", tmp_path / "a.csv", "--model", tmp_path / "m.aggro").err
    assert "the classes 'NO', 'no' differ in capitals or blanks alone" in said


def test_results_for_programs_have_the_columns(files, rows, tmp_path):
    result = good("train", files[1], "--model", tmp_path / "m.aggro", "--json").json
    assert result["columns"]["label"] == ["churn"]
    assert result["columns"]["id"] == ["id"]
    assert result["columns"]["number"] == ["age", "income"]
    strays = sum(row["income"] in ("-", "unknown") for row in rows[1])
    assert result["strays"] == {"income": strays}
    gaps = sum(row["income"] in ("", "n/a") for row in rows[1])
    ages = sum(row["age"] in ("", "?") for row in rows[1])
    assert result["missing"] == {"age": ages, "income": strays + gaps}
    assert min(strays, gaps, ages) > 10


def test_predict_needs_no_flag_that_train_was_told(rows, tmp_path):
    learn = write_csv(tmp_path / "a.csv", rows[1])
    text = learn.read_bytes().decode().replace("\r\n", "\n").split("\n", 1)[1]
    data = tmp_path / "data.txt"
    data.write_bytes(text.replace("東京", "x").replace("Łódź", "y").replace("…", ".").encode("latin-1"))
    told = ("--format", "csv", "--no-header", "--encoding", "latin-1", "--label", "column9", "--category", "column6")
    told += ("--na", "unknown", "--text", "column8")
    model = tmp_path / "m.aggro"
    result = good("train", data, "--model", model, *told, "--json").json
    assert result["rows"] == 2000
    assert set(result["classes"]) == {"yes", "no"}
    out = good("predict", model, data, "--format", "csv").out.split()
    assert len(out) == 2000
    assert set(out) == {"yes", "no"}


def test_predict_and_python_agree_with_each_other(trained, files, rows):
    model, _ = trained
    learner = aggro.load(model)
    lines = good("predict", model, files[1]).out.split()
    assert lines == learner.predict(pd.DataFrame(rows[1])).tolist()
    assert lines[:50] == [learner.predict_one(row) for row in rows[1][:50]]
    raw = {"plan": "basic", "note": "wants a refund"}
    assert learner.predict_one(raw) == "yes"
    explained = learner.explain_one(raw)
    assert next(iter(explained)) == "note:refund"
    assert "plan=basic" in explained


def test_a_file_whose_columns_do_not_match_is_refused(trained, tmp_path):
    model, _ = trained
    other = tmp_path / "other.csv"
    other.write_text("colour,size\nred,1\nblue,2\n")
    said = mistake("predict", model, other)
    assert "none of the columns that the model was trained on" in said
    assert "'signup'" in said
    assert "'colour', 'size'" in said
    said = mistake("train", other, "--from", model, "--model", tmp_path / "n.aggro")
    assert "no column can be used as a feature: 'colour' is ignore (not known to the model)" in said


def test_a_part_that_does_not_match_is_said_with_counts(trained, rows, tmp_path):
    model, _ = trained
    part = write_csv(tmp_path / "part.csv", rows[1], ("id", "age", "note", "plan"))
    part.write_text(part.read_text().replace("plan", "pan", 1))
    ran = good("predict", model, part)
    assert "the data lack 5 of the columns" in ran.err
    assert "1 column(s) are unknown to the model and were ignored: 'pan'" in ran.err
    strange = write_csv(tmp_path / "strange.csv", [{**row, "note": "völlig andere Wörter"} for row in rows[1]])
    assert "words and categories" in good("predict", model, strange).err
    assert "are not known to the model" in good("predict", model, strange).err


def test_no_feature_known_by_a_plain_model_is_an_error(tmp_path):
    data, other = tmp_path / "a.vw", tmp_path / "b.vw"
    data.write_text("1 |a x y\n-1 |a z\n" * 5)
    other.write_text("1 |b p q\n-1 |b r\n" * 5)
    good("train", data, "--model", tmp_path / "m.aggro", "--named")
    assert "knows none of the features" in mistake("predict", tmp_path / "m.aggro", other)
    assert good("predict", tmp_path / "m.aggro", data).out.split()[:2] == ["1", "-1"]


def test_the_first_column_of_a_file_of_messages_is_its_label(tmp_path):
    data = tmp_path / "sms.tsv"
    words = {"ham": "see you at home then", "spam": "win a free prize now"}
    labels = [("ham", "spam")[i % 3 == 0] for i in range(300)]
    data.write_text("".join(f"{label}\t{words[label]} {i}\n" for i, label in enumerate(labels)))
    ran = good("train", data, "--model", tmp_path / "m.aggro", "--json")
    assert ran.json["rows"] == 300
    assert ran.json["classes"] == ["ham", "spam"]
    assert ran.json["error"] < 0.1
    assert "label: 'column1' (the first column; the last one, 'column2', is text; --label names another)" in ran.err
    assert "header: none (guessed)" in ran.err
    shown = good("show", tmp_path / "m.aggro").out
    assert "column2:prize" in shown or "column2:win" in shown or "column2:free" in shown


def test_as_many_classes_as_rows_cannot_be_meant(files, tmp_path):
    said = mistake("train", files[1], "--model", tmp_path / "m.aggro", "--label", "note")
    assert "is probably not the label" in said
    assert "--label with one of 'id'" in said
    said = mistake("train", files[1], "--model", tmp_path / "m.aggro", "--label", "id", "--task", "classification")
    assert "--task regression" in said
    assert not (tmp_path / "m.aggro").exists()


def test_one_class_cannot_be_meant(files, tmp_path):
    said = mistake("train", files[1], "--model", tmp_path / "m.aggro", "--label", "country")
    assert "every row has the label 'EU'" in said
    assert "--label" in said
    assert not (tmp_path / "m.aggro").exists()


def test_no_column_to_learn_from_is_said(rows, tmp_path):
    data = write_csv(tmp_path / "a.csv", rows[1], ("id", "churn"))
    said = mistake("train", data, "--model", tmp_path / "m.aggro")
    assert "no column can be used as a feature: 'id' is id" in said
    assert "--category" in said


def test_a_column_that_dominates_is_said(tmp_path):
    data = tmp_path / "long.csv"
    note = " ".join(f"word{k}" for k in range(200))
    data.write_text("x,note,y\n" + "".join(f"{i % 7},{note},{'ab'[i % 7 > 3]}\n" for i in range(100)))
    assert "column 'note' has 100% of ‖x‖²" in good("train", data, "--model", tmp_path / "m.aggro").err


def test_roles_that_are_said_count(files, tmp_path):
    options = ("--category", "age", "--ignore", "signup,city", "--text", "plan", "--number", "id")
    result = good("train", files[1], "--model", tmp_path / "m.aggro", *options, "--json").json
    assert {role: sorted(names) for role, names in result["columns"].items()} == {
        "number": ["id", "income"],
        "ignore": ["city", "signup"],
        "category": ["age", "country"],
        "text": ["note", "plan"],
        "label": ["churn"],
    }
    assert "has no column 'agge'" in mistake("train", files[1], "--model", tmp_path / "n.aggro", "--number", "agge")


def test_settings_of_the_encoder(files, tmp_path):
    model = tmp_path / "m.aggro"
    good("train", files[1], "--model", model, "--set", "ngrams=2", "--set", "words=presence", "--set", "C=0.1")
    learner = aggro.load(model)
    assert (learner.ngrams, learner.words, learner.estimator_.C) == (2, "presence", 0.1)
    assert any(" " in name for name in learner.feature_names_ if name.startswith("note:"))
    svm = tmp_path / "a.svm"
    svm.write_text("1 1:1\n-1 2:1\n")
    assert "is not a table" in mistake("train", svm, "--model", model, "--set", "ngrams=2")


def test_compare_encodes_as_train_does(trained, files):
    figures = good("compare", files[0], "--learners", "PAClassifier(average=true)", "--json").json["learners"]
    alone = good("train", files[0], "--model", trained[0], "--set", "average=true", "--json").json
    assert figures["PAClassifier(average=true)"]["error"] == alone["error"]


def test_going_on_from_a_model_is_learning_in_one_go(files, rows, tmp_path):
    both = write_csv(tmp_path / "both.csv", rows[0] + rows[1])
    good("train", files[0], "--model", tmp_path / "a.aggro")
    good("train", files[1], "--from", tmp_path / "a.aggro", "--model", tmp_path / "a.aggro")
    good("train", both, "--model", tmp_path / "b.aggro")
    one, two = aggro.load(tmp_path / "a.aggro"), aggro.load(tmp_path / "b.aggro")
    assert one.feature_names_ == two.feature_names_
    assert np.array_equal(one.coef_, two.coef_)


def test_resuming_a_table_ends_with_the_same_bytes(files, tmp_path):
    whole, parts = tmp_path / "a.aggro", tmp_path / "b.aggro"
    good("train", files[0], "--model", whole, "--passes", "2")
    good("train", files[0], "--model", parts, "--passes", "2", "--checkpoint", "1000", "--resume")
    assert whole.read_bytes() == parts.read_bytes()


def test_a_regressor_reads_stray_words_among_its_targets_as_missing(files, rows, tmp_path):
    options = ("--learner", "PARegressor", "--label", "income", "--json")
    result = good("train", files[1], "--model", tmp_path / "m.aggro", *options).json
    missing = sum(row["income"] in ("", "n/a", "-", "unknown") for row in rows[1])
    assert (result["rows"], result["unlabelled"]) == (2000 - missing, missing)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_other_tables_come_out_alike(form, rows, files, tmp_path):
    frame = pd.DataFrame(rows[1])
    for name in ("age", "income"):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    data = tmp_path / f"data.{form}"
    if form == "jsonl":
        lines = ({k: None if v != v else v for k, v in row.items()} for row in frame.to_dict("records"))
        data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        frame.to_parquet(data)
    good("train", files[1], "--model", tmp_path / "a.aggro")
    good("train", data, "--model", tmp_path / "b.aggro")
    one, two = aggro.load(tmp_path / "a.aggro"), aggro.load(tmp_path / "b.aggro")
    assert sorted(one.feature_names_) == sorted(two.feature_names_)
    assert one.n_mistakes_ == two.n_mistakes_


def test_the_columns_of_the_messy_file(trained):
    roles = {name: column.role.value for name, column in aggro.load(trained[0]).columns_.items()}
    assert list(roles) == list(COLUMNS)
    assert [name for name, role in roles.items() if role in ("number", "category", "text", "date")] == list(USED)
