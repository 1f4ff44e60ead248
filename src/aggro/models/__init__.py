"""Save and load models, in files that never run code."""

from aggro.models.contents import Contents, describe
from aggro.models.errors import ModelFileError
from aggro.models.loading import load, load_checkpoint
from aggro.models.saving import save

__all__ = ["Contents", "ModelFileError", "describe", "load", "load_checkpoint", "save"]
