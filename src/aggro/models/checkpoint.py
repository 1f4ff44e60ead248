"""A checkpoint is a model file that also says where its stream stands.

Both are written in one step, so they always belong together: a run that goes on from a checkpoint has learned
every row before the position once, and none after it.
"""

from __future__ import annotations

from typing import Any

from aggro.models.container import Path, opened
from aggro.models.header import Header
from aggro.models.loading import build

__all__ = ["load_checkpoint"]


def load_checkpoint(path: Path, *, shell: bool = True) -> tuple[Any, Any]:
    """Bring a learner back, and the position that was saved with it.

    Parameters
    ----------
    path : path
        A file that ``save`` has written.
    shell : bool, default=True
        Whether the learner has scikit-learn's manners.

    Returns
    -------
    learner : learner
        It goes on learning to the bit as the saved one would.
    position : JSON
        What ``save`` was given, as JSON gives it back (a tuple as a list); None if it was given none.
    """
    with opened(path) as container:
        header = Header.parse(container.text)
        return build(container, header, shell), header.position
