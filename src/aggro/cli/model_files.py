"""Model files as commands open and write them: what goes wrong is said in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aggro.cli.console import Mistake


@contextmanager
def blaming_the_file(path: Path) -> Iterator[None]:
    """What goes wrong inside is wrong with this file, or with its disk."""
    from aggro.models import ModelFileError

    try:
        yield
    except ModelFileError as error:
        raise Mistake(str(error)) from error
    except PermissionError as error:
        raise Mistake(f"{path}: {error.strerror}. Give yourself the right to read it, or take a copy.") from error
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror or error}.") from error


def load_model(path: Path) -> Any:
    """The learner in a file, without scikit-learn around it; of an active learner the one inside."""
    from aggro.models import load

    with blaming_the_file(path):
        learner = load(path, shell=False)
    return getattr(learner, "estimator_", learner)


def load_to_read(path: Path, reading: Any) -> tuple[Any, Any]:
    """The learner in a file, not asking, and how to read data for it: as was said now, and else as in training."""
    learner, position = load_with_position(path)
    said = position.get("reading") if isinstance(position, dict) else None
    # Without the one that asks: predictions need only the learner, and the encoder that makes its features.
    if hasattr(learner, "columns_"):
        inner = learner.estimator_
        learner = learner.go_on_with(getattr(inner, "estimator_", inner), learner.encoder_)
    else:
        learner = getattr(learner, "estimator_", learner)
    return learner, reading.or_as(said if isinstance(said, dict) else {})


def load_with_position(path: Path) -> tuple[Any, Any]:
    """The learner in a file, an active one too, and where its stream stands."""
    from aggro.models import load_checkpoint

    with blaming_the_file(path):
        return load_checkpoint(path, shell=False)


def save_model(learner: Any, path: Path, position: Any = None) -> None:
    """Write a learner to a file, whole or not at all, and where its stream stands."""
    from aggro.models import save

    with blaming_the_file(path):
        save(learner, path, position)
