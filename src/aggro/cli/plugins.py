"""``--plugin``: a Python file, or an installed module, that registers learners and steps of the user's own."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from aggro.cli.console import Mistake


def load_plugins(written: list[str] | None) -> list[str] | None:
    """Run each plugin, which registers what it defines."""
    for name in written or []:
        try:
            # A path to a file, or a module that is installed.
            load_file(Path(name)) if name.endswith(".py") else import_module(name)
        except Mistake:
            raise
        except Exception as error:
            raise Mistake(f"The plugin {name} cannot be loaded: {blame(error, name)}") from error
    return written


def load_file(path: Path) -> None:
    if not path.is_file():
        raise Mistake(f"There is no plugin {path}.")
    taken = sys.modules.get(path.stem)
    # A module of that name would be hidden, or hide the plugin from pickles.
    if taken is not None and not is_from(taken, path):
        raise Mistake(f"The plugin {path} cannot be called {path.stem!r}: a module has that name. Rename the file.")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Entered before it runs, as import does it: classes of the plugin are looked up by this name.
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # A half-run module must not be found by a second try.
        del sys.modules[path.stem]
        raise


def is_from(module: Any, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()


def blame(error: Exception, name: str) -> str:
    """The error in one line, with the line of the plugin that it came from."""
    what = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, SyntaxError):  # which names its line itself
        return what
    file = Path(name).name
    # The last line of the plugin itself, whatever library the error came from.
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == file]
    said = what if isinstance(error, TypeError) else f"{type(error).__name__}: {what}"
    return f"{said} (line {lines[-1]})" if lines else said
