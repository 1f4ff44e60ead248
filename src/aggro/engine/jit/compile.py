"""The decorators of compiled code: the only place that knows Numba's settings.

============== ================ ================= ==============================================================
decorator      called from      stays a function  for
============== ================ ================= ==============================================================
``kernel``     Python           yes               the loops over rows: the GIL is released, the code kept on disk
``quick``      Python           yes               calls that are over before the GIL could be handed on
``inline``     compiled code    no                the functions of a rule, and most others
``part``       compiled code    yes               large pieces, which would be compiled anew in every caller
``exact``      compiled code    no                what must be computed to the letter
``exact_part`` compiled code    yes               the same, where it is large or seldom needed
``allocating`` compiled code    yes               an ``exact_part`` that makes arrays of its own
``handing_on`` compiled code    no                what returns arrays that it was given, or that others made
``python_too`` both             no                small functions that Python calls as they are written
============== ================ ================= ==============================================================

All but the exact ones are compiled with ``fastmath``: sums may be re-ordered and fused. That NaN or infinity is absent
is never assumed, since the passes find bad rows by looking for them. To the letter means that nothing is re-ordered:
for rows where a product would overflow in another order, and for sums that must not depend on how a stream is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, wraps
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core import types
from numba.extending import register_jitable

from aggro.engine.jit.announce import AT_EACH_START, announced
from aggro.engine.jit.private.names import is_there, options_there

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
SETTINGS = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}
# Pieces are called from compiled code alone: no wrappers for Python, and nothing is optimised twice.
PIECE_SETTINGS: dict[str, Any] = dict(SETTINGS)
if is_there("PARTIAL"):
    from aggro.engine.jit.private.partial import PieceCompiler

    PIECE_SETTINGS |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PieceCompiler}
INLINE = {**PIECE_SETTINGS, **options_there()}
# Whether compiled code is called by its address, and reads tuples that stay unpacked.
BY_ADDRESS = not numba.config.DISABLE_JIT and is_there("ADDRESSES")
ON_DISK = not numba.config.DISABLE_JIT and is_there("DISK_CACHE")
if ON_DISK:
    from aggro.engine.jit.private.disk_cache import COMPILE_WAYS, KeptCode, take_turns, undisturbed

    COMPILE_WAYS.extend((sorted(INLINE), BY_ADDRESS))
else:
    undisturbed = nullcontext  # type: ignore[assignment]


ENTRY_POINTS: set[int] = set()  # by id; they live as long as the process


def entry_point(function: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """A function that Python calls, with these settings; what is ours and no closure is kept on disk."""
    if numba.config.DISABLE_JIT:
        return quietly(function)
    compiled = njit(**settings)(function)
    ENTRY_POINTS.add(id(compiled))
    # Code from outside is not part of the stamp, and a closure holds values that the key does not name.
    if ON_DISK and not is_outside(function) and function.__closure__ is None:
        compiled._cache = KeptCode(function)
        take_turns(compiled)
    say_what_takes_long(compiled)
    return compiled


def say_what_takes_long(compiled: Any) -> None:
    """Let an entry point say, if compiling it takes long, that it is being compiled: see ``engine.jit.announce``."""
    compile_or_load = compiled.compile

    def announcing(signature: Any) -> Any:
        # Compiled already: nothing to say, and no thread to start.
        if tuple(getattr(signature, "args", signature)) in compiled.overloads:
            return compile_or_load(signature)
        kept: list[Any] = []  # looked for in the thread that waits: it costs time, and most code is there at once

        def compiles() -> bool:
            """Not if the code is on disk, and reading it takes long."""
            if not kept:
                kept.append(getattr(compiled._cache, "is_there", None))
            return kept[0] is None or not kept[0](signature, compiled.targetctx.codegen())

        with announced(lambda: announcement(compiled, signature), compiles), undisturbed():
            return compile_or_load(signature)

    compiled.compile = announcing


def announcement(compiled: Any, signature: Any) -> str:
    """What is being compiled, in words that somebody knows who does not know the code."""
    # The types of the arguments tell which learner it is, and whether rows are sparse.
    kinds = tuple(getattr(signature, "args", signature))
    homes = [str(getattr(getattr(kind, "instance_class", None), "__module__", "")) for kind in kinds]
    learner = next((home.split(".")[2] for home in homes if home.startswith("aggro.learners.")), None)
    own = next((home for home in homes if home and home.partition(".")[0] not in ("aggro", "builtins")), None)
    place = str(compiled.py_func.__module__)
    what = "what learns and predicts"
    if own is not None:
        what = f"a rule from {own}"
    elif learner is not None:
        sparse = any(getattr(getattr(kind, "instance_class", None), "__name__", "") == "CSR" for kind in kinds)
        dense = any(isinstance(kind, types.Array) and kind.ndim == 2 for kind in kinds)
        what = f"the {learner} learners" + (" for sparse rows" if sparse else " for dense rows" if dense else "")
    elif place.startswith("aggro.streams."):
        what = "what reads files"
    once = "once in this process"
    if ON_DISK and isinstance(compiled._cache, KeptCode):
        stored = compiled._cache.cache_path is not None
        once = "once for this machine" if stored else f"{AT_EACH_START}, as it cannot be stored here"
    return f"compiling {what}, {once}; it takes some seconds …"


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as it is written, without NumPy's warnings: compiled code has none."""

    @wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return call


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point: called from Python, GIL released, cached on disk."""
    return entry_point(function, SETTINGS)


def quick(function: Callable[..., Any]) -> Any:
    """Compile an entry point that is over in less time than handing over the GIL takes. It makes no arrays."""
    uncounted = {name: value for name, value in options_there().items() if name == "_nrt"}
    return entry_point(function, {**SETTINGS, "nogil": False, **uncounted})


def piece(**changed: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for what compiled code alone calls: ``INLINE``, but for what is changed."""
    return lambda function: njit(**{**INLINE, **changed})(function)


inline = piece()
part = piece(forceinline=False)
exact = piece(fastmath=False)
exact_part = piece(fastmath=False, forceinline=False)
allocating = piece(fastmath=False, forceinline=False, _nrt=True)
handing_on = piece(fastmath=False, _nrt=True)
rare = literal = exact_part  # names of earlier versions, which learners from outside may use


def python_too(function: Callable[..., Any]) -> Any:
    """Leave a function as it is, for Python to call; compiled code that calls it has it ``inline``."""
    return register_jitable(**INLINE)(function)


roomy, shared = allocating, python_too  # names of earlier versions


@cache
def afresh(compiled: Any) -> Any:
    """Recompile an entry point, and the entry points that it calls, in this process, without the cache on disk.

    For code from outside this package, whose files are no part of the stamp: what was kept would be what a user's
    file said before its last edit.
    """
    if numba.config.DISABLE_JIT:
        return compiled
    function = compiled.py_func
    # The function again, with globals of its own, in which the entry points that it calls are new ones, too.
    names = dict(function.__globals__)
    used = (name for name in function.__code__.co_names if id(names.get(name)) in ENTRY_POINTS)
    names |= {name: afresh(names[name]) for name in used}
    again = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    settings = {name: value for name, value in compiled.targetoptions.items() if name != "nopython"}
    made = njit(**settings)(again)
    say_what_takes_long(made)
    return made


def from_python(made: Any) -> Any:
    """A piece as a function that Python may call; compiled in this process and not cached."""
    return njit(**SETTINGS)(lambda *args: made(*args))


def returned_for_floats(made: Any, count: int) -> tuple[bool, str]:
    """Compile a piece for this many floats; whether it returns a number, and the type of what it returns."""
    if numba.config.DISABLE_JIT:
        return True, "whatever Python says"
    made.compile((types.float64,) * count)
    (returned,) = {compiled.signature.return_type for compiled in made.overloads.values()}
    return isinstance(returned, types.Float | types.Integer | types.Boolean), str(returned)


def is_outside(kind: Any) -> bool:
    """Whether a type or a function comes from outside this package."""
    return str(kind.__module__).partition(".")[0] != "aggro"


def direct(compiled: Any, *args: Any) -> Callable[..., Any]:
    """The machine code of ``compiled`` for arguments of these types, without the type dispatch.

    Numba's dispatcher spends microseconds on finding out the types of a state of arrays, which is
    more than learning one row costs. The caller promises to pass arguments of the same types. Where there are no
    addresses it is the function as it is written, in Python: what it jumps to is compiled.
    """
    if not BY_ADDRESS:
        function = getattr(compiled, "py_func", compiled)
        return lambda *args: as_python(function(*args))
    return compiled_for(compiled, *args).entry_point  # type: ignore[no-any-return]


def as_python(result: Any) -> Any:
    """A number as compiled code hands it to Python: a float, an int or a bool."""
    return result.item() if isinstance(result, np.generic) else result


def compiled_for(compiled: Any, *args: Any) -> Any:
    """What Numba made of an entry point for arguments of these types."""
    # Found by the types; compiled only if they were not met before.
    signature = tuple(numba.typeof(arg) for arg in args)
    if signature not in compiled.overloads:
        compiled.compile(types.void(*signature).args)
    return compiled.overloads[signature]
