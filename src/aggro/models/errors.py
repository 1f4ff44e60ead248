"""What can be wrong with a model file, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

HOW_TO_RESTORE = "Take the file from a backup, or train the model again."
PLUGIN = "If it is your own, import what defines it first (on the command line: --plugin FILE); else upgrade aggro."
UPGRADE = "Upgrade aggro, or train the model again with this one."
WRONG_FILE = "Give a file that aggro has saved."


class ModelFileError(ValueError):
    """A file is not a complete model. ``file``, ``fault`` and ``remedy`` are the parts of the message."""

    def __init__(self, file: str, fault: str, remedy: str) -> None:
        super().__init__(f"{file}: {fault}{'' if fault.endswith('?') else '.'} {remedy}")
        self.file, self.fault, self.remedy = file, fault, remedy

    def __reduce__(self) -> tuple:
        return type(self), (self.file, self.fault, self.remedy)


class Flaw(Exception):
    """A fault, found where the file's name is not known."""

    def __init__(self, fault: str, remedy: str = HOW_TO_RESTORE) -> None:
        super().__init__(fault)
        self.fault, self.remedy = fault, remedy


@contextmanager
def blaming(file: str) -> Iterator[None]:
    """Every flaw found inside is this file's."""
    try:
        yield
    except Flaw as flaw:
        raise ModelFileError(file, flaw.fault, flaw.remedy) from flaw.__cause__
    except RecursionError as error:
        raise ModelFileError(file, "the header is nested too deeply", HOW_TO_RESTORE) from error
