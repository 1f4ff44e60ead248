"""The MLflow flavour, with MLflow itself and a store on this machine's disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from serve.records import customers

import aggro

mlflow = pytest.importorskip("mlflow", reason="aggro[mlflow] is not installed")
pytest.importorskip("sqlalchemy", reason="mlflow-skinny is installed, which keeps no runs; aggro[mlflow] does")
pytestmark = pytest.mark.xdist_group("mlflow")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store in a folder, and an experiment in it."""
    folder = tmp_path_factory.mktemp("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")  # MLflow keeps no new runs in plain files
    mlflow.create_experiment("visits", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("visits")
    yield
    mlflow.set_tracking_uri(before)


@pytest.fixture
def frame():
    import pandas as pd

    return pd.DataFrame([record for record, _ in customers(200)])


@pytest.fixture
def learner(frame):
    labels = [label for _, label in customers(200)]
    return aggro.RecordLearner(aggro.PAClassifier(random_state=0)).partial_fit(frame, labels)


def test_a_learner_comes_back_and_goes_on(learner, frame, tmp_path, store):
    from aggro.interop import mlflow as flavour

    flavour.save_model(learner, tmp_path / "model", input_example=frame[:3], metadata={"owner": "shop"})
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".pkl", ".pickle", ".skops")]
    assert f"aggro=={aggro.__version__}" in (tmp_path / "model" / "requirements.txt").read_text()
    again = flavour.load_model(str(tmp_path / "model"))
    assert (again.predict(frame) == learner.predict(frame)).all()
    more = customers(50, seed=3)
    for one in (learner, again):
        for record, label in more:
            one.learn_one(record, label)
    learner.save(tmp_path / "a.aggro")
    again.save(tmp_path / "b.aggro")
    assert (tmp_path / "a.aggro").read_bytes() == (tmp_path / "b.aggro").read_bytes()


def test_the_pyfunc_predicts_raw_records_from_a_frame(learner, frame, store):
    from aggro.interop import mlflow as flavour

    with mlflow.start_run():
        info = flavour.log_model(learner, "churn", input_example=frame[:3], registered_model_name="churn")
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    assert (loaded.predict(frame) == learner.predict(frame)).all()
    assert (mlflow.pyfunc.load_model("models:/churn/1").predict(frame[:5]) == learner.predict(frame[:5])).all()
    assert [column.name for column in loaded.metadata.signature.inputs] == [*frame.columns]
    assert loaded.metadata.signature.outputs is not None
    folder = mlflow.artifacts.download_artifacts(artifact_uri=info.model_uri)
    assert [*mlflow.models.Model.load(folder).load_input_example(folder)["plan"]] == [*frame["plan"][:3]]
    with pytest.raises(mlflow.exceptions.MlflowException, match="missing inputs"):
        loaded.predict(frame.drop(columns="age"))
    assert flavour.load_model(info.model_uri).n_seen_ == learner.n_seen_


def test_a_learner_of_numbers(tmp_path, store):
    from aggro.interop import mlflow as flavour

    X = np.random.default_rng(0).normal(size=(100, 3))
    learner = aggro.PARegressor().fit(X, X @ [1.0, 2.0, 3.0])
    flavour.save_model(learner, tmp_path / "model", input_example=X[:2])
    assert np.array_equal(mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(X), learner.predict(X))


def test_what_is_not_ours_is_refused(tmp_path, store):
    from aggro.interop import mlflow as flavour

    class Other(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input: list[str]) -> list[str]:
            return model_input

    mlflow.pyfunc.save_model(tmp_path / "other", python_model=Other(), pip_requirements=[])
    with pytest.raises(ValueError, match="was not saved by aggro"):
        flavour.load_model(str(tmp_path / "other"))
    with pytest.raises(ValueError, match="learned nothing"):
        flavour.save_model(aggro.PAClassifier(), tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


def test_the_progress_is_logged_with_its_rows(learner, store):
    from aggro.interop import mlflow as flavour

    with mlflow.start_run() as run:
        flavour.log_progress(learner)
    client = mlflow.MlflowClient()
    points = {point.step: point.value for point in client.get_metric_history(run.info.run_id, "progressive_error")}
    history = learner.history_
    assert points == {int(row["rows"]): pytest.approx(row["mistakes"] / row["rows"]) for row in history}
    found = client.get_run(run.info.run_id).data
    assert found.metrics["rows"] == 200
    assert found.metrics["recent_error"] == pytest.approx(learner.recent_error_)
    assert found.tags["aggro.learner"] == "RecordLearner(PAClassifier)"


def test_a_process_that_never_imported_aggro_loads_it(learner, frame, tmp_path, store):
    from aggro.interop import mlflow as flavour

    flavour.save_model(learner, tmp_path / "model")
    frame.to_json(tmp_path / "rows.json", orient="records")
    code = (
        "import sys, mlflow.pyfunc, pandas as pd\n"
        "print(*mlflow.pyfunc.load_model(sys.argv[1]).predict(pd.read_json(sys.argv[2])))"
    )
    line = [sys.executable, "-c", code, tmp_path / "model", tmp_path / "rows.json"]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=Path(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [*learner.predict(frame)]


@pytest.fixture
def automatic(store):
    from aggro.interop import mlflow as flavour

    flavour.autolog()
    yield flavour
    flavour.autolog(disable=True)


def last_run():
    (run,) = mlflow.search_runs(max_results=1, output_format="list", order_by=["attributes.start_time DESC"])
    return run


def test_fit_logs_by_itself(automatic, frame):
    labels = [label for _, label in customers(200)]
    learner = aggro.RecordLearner(aggro.PAClassifier(C=0.5, random_state=0)).fit(frame, labels)
    assert mlflow.active_run() is None
    run = last_run()
    assert run.data.tags["aggro.learner"] == "RecordLearner(PAClassifier)"
    assert run.data.params["estimator__C"] == "0.5"
    assert run.data.metrics["rows"] == learner.n_seen_
    last = learner.history_[-1]
    assert run.data.metrics["progressive_error"] == pytest.approx(last["mistakes"] / last["rows"])
    (model,) = mlflow.search_logged_models(filter_string=f"source_run_id = '{run.info.run_id}'", output_format="list")
    assert (mlflow.pyfunc.load_model(model.model_uri).predict(frame) == learner.predict(frame)).all()


def test_partial_fit_logs_what_is_new_to_the_active_run(automatic, frame):
    before = len(mlflow.search_runs(output_format="list"))
    learner = aggro.PAClassifier(random_state=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = np.where((X[:, 0] > 0) == (np.arange(4000) < 2000), "a", "b")
    learner.partial_fit(X[:100], y[:100])  # no run: nothing is logged
    assert len(mlflow.search_runs(output_format="list")) == before
    with mlflow.start_run() as run:
        for k in range(100, 4000, 100):
            learner.partial_fit(X[k : k + 100], y[k : k + 100])
    client = mlflow.MlflowClient()
    steps = [point.step for point in client.get_metric_history(run.info.run_id, "progressive_error")]
    assert sorted(steps) == [2**k for k in range(12)]  # each once
    assert learner.n_drifts_ > 0
    drifts = [point.step for point in client.get_metric_history(run.info.run_id, "drift")]
    assert drifts == learner.drift_rows_.tolist()


def test_a_store_that_fails_does_not_stop_the_training(automatic, frame, monkeypatch):
    labels = [label for _, label in customers(200)]

    def fails(*_, **__):
        raise OSError("no store")

    monkeypatch.setattr(automatic, "log_since", fails)
    with pytest.warns(UserWarning, match="MLflow could not log this call of fit: no store"):
        learner = aggro.PARegressor().fit(np.arange(8.0).reshape(4, 2), [1.0, 2, 3, 4])
    assert learner.n_seen_ > 0
    automatic.autolog(disable=True)
    runs = len(mlflow.search_runs(output_format="list"))
    aggro.RecordLearner().fit(frame, labels)
    assert len(mlflow.search_runs(output_format="list")) == runs


def test_a_pipeline_goes_by_way_of_skops(store):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    trusted = pytest.importorskip("aggro.interop.skops").trusted_types
    X = np.random.default_rng(0).standard_normal((60, 3))
    pipe = make_pipeline(StandardScaler(), aggro.PAClassifier()).fit(X, X[:, 0] > 0)
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(pipe, name="pipe", skops_trusted_types=trusted(pipe))
    assert (mlflow.sklearn.load_model(info.model_uri).predict(X) == pipe.predict(X)).all()
