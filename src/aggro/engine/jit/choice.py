"""Functions that are chosen by the type of their first argument, when the code that calls them is compiled.

So one loop serves every rule, at no cost over a loop written for that rule, and is kept on disk: Numba could not keep
a loop that is given functions as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from aggro.engine.jit.compile import INLINE


def chosen_by_type(name: str, find: Callable[[type | None], Any]) -> Callable[..., Any]:
    """A function that calls what ``find`` says of the class of its first argument.

    The first argument is a NamedTuple; of all else that compiled code may be given, the class is None. Python
    can call it too, with the JIT off.
    """

    def function(*args):
        return find(type(args[0]))(*args)

    function.__name__ = function.__qualname__ = name

    @overload(function, jit_options=INLINE)
    def compiled(*args):
        chosen = find(getattr(args[0], "instance_class", None))
        return lambda *args: chosen(*args)

    return function
