"""An MLflow flavour (the extra ``aggro[mlflow]``): save, log and load learners, and log how their learning went.

What is saved is aggro's own file, which holds numbers and text: nothing is pickled. The model that MLflow loads as a
``pyfunc`` takes a frame of raw records, if the learner does.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

import aggro
from aggro import __version__
from aggro.learners.base.inside import task_of
from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY, VOTES
from aggro.models import load

try:
    import mlflow
    import mlflow.models  # which MLflow imports late
    import mlflow.pyfunc
except ImportError as error:
    raise ImportError("aggro.interop.mlflow needs MLflow. Install it with: pip install 'aggro[mlflow]'") from error

__all__ = ["autolog", "load_model", "log_model", "log_progress", "save_model"]

FLAVOR = "aggro"
FILE = "model.aggro"
LONGEST_PARAMETER = 250  # characters of a parameter
ALL = [*(entry.name for entry in (*LEARNERS, *VOTES)), ACTIVE.name, RECORD_ENTRY.name]
AUTOMATIC = {"enabled": False, "log_models": True}
INSIDE: ContextVar[bool] = ContextVar("aggro_inside", default=False)  # of a call that logs when it ends
LOGGED: WeakKeyDictionary[Any, tuple[str, int]] = WeakKeyDictionary()  # the run, and the rows up to which it has all


def save_model(
    learner: Any,
    path: Any,
    *,
    input_example: Any = None,
    signature: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    mlflow_model: Any = None,
) -> None:
    """Save a learner in a folder, as an MLflow model.

    Parameters
    ----------
    learner : learner
        Any learner of aggro that has learned something.
    path : path
        The folder, which must not be there yet.
    input_example : frame, default=None
        A few rows, as they are for ``predict``. They are saved with the model, and the signature follows from them.
    signature : ModelSignature, default=None
        The columns and types of input and output. None to infer them from ``input_example``.
    pip_requirements : list of str, default=None
        What a server must install; None for this version of aggro.
    metadata : dict, default=None
        Anything to be saved with the model.
    mlflow_model : mlflow.models.Model, default=None
        What the flavour is added to. MLflow gives it.
    """
    model = mlflow.models.Model() if mlflow_model is None else mlflow_model
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, FILE)
        learner.save(file)
        # From predictions of the learner itself, so that the types are those that a server will send.
        if signature is None and input_example is not None:
            signature = mlflow.models.infer_signature(input_example, learner.predict(input_example))
        model.add_flavor(FLAVOR, aggro_version=__version__, data=f"data/{FILE}", learner=name_of(learner))
        mlflow.pyfunc.save_model(
            path=os.fspath(path),
            loader_module=__name__,
            data_path=file,
            mlflow_model=model,
            signature=signature,
            input_example=input_example,
            # The file's format belongs to this version.
            pip_requirements=[f"aggro=={__version__}"] if pip_requirements is None else pip_requirements,
            metadata=metadata,
        )


def log_model(learner: Any, name: str = "model", *, registered_model_name: str | None = None, **options: Any) -> Any:
    """Log a learner as a model of the active run, or of a new one.

    Parameters
    ----------
    learner : learner
        Any learner of aggro that has learned something.
    name : str, default="model"
        The model's name in the run.
    registered_model_name : str, default=None
        Register it under this name, too.
    **options
        ``input_example``, ``signature``, ``pip_requirements`` and ``metadata``, as of ``save_model``.

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        With ``model_uri``, for ``load_model`` and ``mlflow.pyfunc.load_model``.
    """
    return mlflow.models.Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        learner=learner,
        registered_model_name=registered_model_name,
        **options,
    )


def load_model(model_uri: str) -> Any:
    """Load a learner, which predicts and goes on learning as the saved one would.

    Parameters
    ----------
    model_uri : str
        Such as "models:/churn/3", "runs:/<run>/model", or a folder.
    """
    folder = mlflow.artifacts.download_artifacts(artifact_uri=os.fspath(model_uri))
    flavors = mlflow.models.Model.load(folder).flavors
    # MLflow's own error would name a file that is missing and not say why.
    if FLAVOR not in flavors:
        raise ValueError(f"{model_uri} was not saved by aggro.interop.mlflow; it has the flavours {sorted(flavors)}.")
    return load(os.path.join(folder, flavors[FLAVOR]["data"]))


def log_progress(learner: Any) -> None:
    """Log to the active run how the learning went: each loss and error with the row at which it was.

    Parameters
    ----------
    learner : learner
        Any learner of aggro. Each row was predicted before it was learned, so these are errors on new data.
    """
    log_since(learner, 0)
    mlflow.set_tag("aggro.learner", name_of(learner))


def log_since(learner: Any, seen: int) -> None:
    """Log to the active run how the learning went after so many rows."""
    classification = task_of(learner) == "classification"
    # history_ has a line at each power of two of rows, so even long streams log few points.
    for line in learner.history_:
        rows = int(line["rows"])
        if rows <= seen:
            continue
        found = {"progressive_loss": float(line["loss"])}
        if classification:
            found["progressive_error"] = float(line["mistakes"]) / rows
        mlflow.log_metrics(found, step=rows)
    for row in learner.drift_rows_.tolist():
        if row > seen:
            mlflow.log_metric("drift", 1.0, step=int(row))
    recent = learner.recent_error_
    last = {"rows": float(learner.n_seen_), "updates": float(learner.n_updates_), "drifts": float(learner.n_drifts_)}
    # recent != recent is true of NaN alone: no recent error is known yet, so none is logged.
    mlflow.log_metrics({**last, **({} if recent != recent else {"recent_error": float(recent)})}, step=learner.n_seen_)


def autolog(*, log_models: bool = True, disable: bool = False) -> None:
    """Log the training of all learners by itself, from now on.

    ``fit`` logs the parameters, the progress as ``log_progress`` does, and the model: to the active run, or to one of
    its own. ``partial_fit`` logs the parameters and what is new of the progress, and only if a run is active, since a
    stream calls it again and again. ``learn_one`` logs nothing: call ``log_progress`` now and then.

    Parameters
    ----------
    log_models : bool, default=True
        Whether ``fit`` logs the model, too.
    disable : bool, default=False
        Log nothing by itself any more.
    """
    AUTOMATIC.update(enabled=not disable, log_models=log_models)
    if disable:
        return
    # Methods are wrapped in the class that defines them, once, so that subclasses inherit the wrapper.
    for kind in {one for name in ALL for one in getattr(aggro, name).__mro__ if one.__module__.startswith("aggro.")}:
        for method in ("fit", "partial_fit"):
            found = kind.__dict__.get(method)
            if found is not None and not hasattr(found, "logs_to_mlflow"):
                setattr(kind, method, logging(method, found))


def logging(method: str, original: Any) -> Any:
    """A method that logs after it has learned; of calls inside one another, the outermost does."""

    @wraps(original)
    def learn(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        # fit may call partial_fit, or a learner inside; only the outermost call is a training.
        if not AUTOMATIC["enabled"] or INSIDE.get():
            return original(self, X, *arguments, **options)
        token = INSIDE.set(True)
        try:
            found = original(self, X, *arguments, **options)
            try:
                log_training(method, self, X)
            except Exception as error:  # the training is worth more than its log
                warnings.warn(f"MLflow could not log this call of {method}: {error}", UserWarning, stacklevel=2)
        finally:
            INSIDE.reset(token)
        return found

    learn.logs_to_mlflow = True  # type: ignore[attr-defined]
    return learn


def log_training(method: str, learner: Any, X: Any) -> None:
    """Log one call of ``fit`` or ``partial_fit``."""
    run = mlflow.active_run()
    if method == "partial_fit":
        if run is not None:
            logged = LOGGED.get(learner, ("", 0))
            # A new run gets the whole history; the same run only what it does not have.
            seen = logged[1] if logged[0] == run.info.run_id else 0
            log_parameters(learner, new=seen == 0)
            log_since(learner, seen)
            LOGGED[learner] = run.info.run_id, int(learner.n_seen_)
        return
    # fit is a training of its own, so it has a run even if none is active.
    with nullcontext() if run is not None else mlflow.start_run():
        log_parameters(learner, new=True)
        log_since(learner, 0)
        if AUTOMATIC["log_models"]:
            # Three rows show the columns and types; of lists and sparse rows no signature can be inferred.
            log_model(learner, input_example=X[:3] if hasattr(X, "iloc") or hasattr(X, "dtype") else None)


def log_parameters(learner: Any, new: bool) -> None:
    """Log the parameters of a learner to the active run, which may have those of another already."""
    if not new:
        return
    mlflow.set_tag("aggro.learner", name_of(learner))
    # MLflow refuses to change a parameter of a run: two learners in one run may differ.
    with suppress(mlflow.MlflowException):
        mlflow.log_params({name: str(value)[:LONGEST_PARAMETER] for name, value in learner.get_params().items()})


def name_of(learner: Any) -> str:
    """The learner's class, and that of the learner inside it."""
    inner = learner.__dict__.get("estimator_")
    return type(learner).__name__ if inner is None else f"{type(learner).__name__}({name_of(inner)})"


class Predictor:
    """A learner as MLflow's ``pyfunc`` calls it."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """The prediction for each row of a frame."""
        return self.learner.predict(model_input)


def _load_pyfunc(path: str) -> Predictor:
    """What MLflow calls to load the model: the name is MLflow's."""
    return Predictor(load(path))
