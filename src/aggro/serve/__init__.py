"""``aggro serve``: models that learn in production, over HTTP.

Open ``model.py`` first: one served model, its queue and the thread that learns. ``store.py`` keeps everything on disk,
``recovery.py`` brings a model back from it, and ``web/`` speaks HTTP. The service uses what users of the library use:
learners, ``save`` and ``load``.
"""

from aggro.serve.limits import Limits
from aggro.serve.models import Models
from aggro.serve.problems import Problem

__all__ = ["Limits", "Models", "Problem"]
