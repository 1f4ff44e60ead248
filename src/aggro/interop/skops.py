"""Which types of a model a file of skops' may have: skops, and MLflow by way of it, load none that are not named."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

try:
    from skops.io import dumps, get_untrusted_types
except ImportError as error:
    raise ImportError("aggro.interop.skops needs skops. Install it with: pip install skops") from error

PARTS = ("encoding", "engine", "estimators", "learners", "published", "streams")  # whose classes hold what is learned


def trusted_types(model: Any) -> list[str]:
    """Name the classes of aggro in a model, a pipeline, or the file of one (a path).

    The names are for ``trusted`` of ``skops.io.load`` and ``skops_trusted_types`` of ``mlflow.sklearn.log_model``.
    Other types that skops asks about are left out: look at them before you trust them.
    """
    path = isinstance(model, (str, os.PathLike))
    found = get_untrusted_types(file=model) if path else get_untrusted_types(data=dumps(model))
    return [name for name in found if is_ours(name)]


def is_ours(name: str) -> bool:
    """Whether this is a class of aggro that holds what is learned: a file may name any function."""
    module, _, last = name.rpartition(".")
    if not module.startswith(tuple(f"aggro.{part}." for part in PARTS)):
        return False
    # The name comes from the file, so it is resolved only inside our own packages, and must be a class.
    try:
        return isinstance(getattr(import_module(module), last, None), type)
    except ImportError:
        return False
