"""Users' steps: a Python function τ(loss, q, C), compiled and called in the pass like a built-in step.

For a row with loss ℓ and direction v, ‖v‖² = q, the new weights are w + τv; see ``engine.steps`` for the built-in
ones. C comes scaled by the row's weight. The settings carry the address of the compiled function, so all users' steps
share the kernels of the pass.

A row divided by m (see ``rows``) has loss ℓ/m and squared norm q/m², and a step along it is m times as long. Nothing
is known about how a user's step scales, so it is asked about the row as it was, τ' = m τ(ℓ, q, C), where q is infinite
if it is no float. A step that is not finite, that raises an exception, or that would move the weights by
‖τv‖ ≥ 1e150, is not taken: the row is passed over.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, overload

import numpy as np

from aggro.engine.jit.compile import inline, returned_for_floats
from aggro.engine.jit.errors import NumbaError, place, reason
from aggro.engine.jit.functions import address_of_function
from aggro.engine.limits import HUGE
from aggro.engine.steps import OWN_HINGED, OWN_SIGNED, Step

OWN_STEPS: dict[str, OwnStep] = {}  # those of this process, by name
BUILT_IN = tuple(one.name.lower() for one in Step)


class StepError(TypeError):
    """A function that cannot be a step; the message says why and what to do."""


class OwnStep:
    """A step of one's own, made by :func:`step`; call it to ask for τ. It is equal to its name."""

    def __init__(self, function: Callable[[float, float, float], float], name: str, hinge: bool) -> None:
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__name__, self.__wrapped__ = name, function
        self.hinge = hinge
        self.number = OWN_HINGED if hinge else OWN_SIGNED
        self.address, self.size = address_of_function(sized(compiled(function, name)))

    def __call__(self, loss: float, q: float, C: float) -> float:
        """τ, by the function as it is written."""
        return self.__wrapped__(loss, q, C)

    def __repr__(self) -> str:
        return self.__name__

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and other == self.__name__)

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __copy__(self) -> OwnStep:
        return self

    def __deepcopy__(self, memo: Any) -> OwnStep:
        return self

    def __reduce__(self) -> tuple:
        # A pickle holds the name and the module: importing that module registers the step.
        return recalled, (self.__name__, self.__module__)


def recalled(name: str, module: str) -> OwnStep:
    """The step of this name, out of a pickle; importing its module registers it."""
    if name not in OWN_STEPS:
        import_module(module)
    return OWN_STEPS[name]


@overload
def step(function: Callable[[float, float, float], float], *, name: str | None = ..., hinge: bool = ...) -> OwnStep: ...


@overload
def step(
    function: None = None, *, name: str | None = None, hinge: bool = True
) -> Callable[[Callable[[float, float, float], float]], OwnStep]: ...


def step(function: Any = None, *, name: str | None = None, hinge: bool = True) -> Any:
    """Turn a function τ(loss, q, C) into a step of your own.

    The function takes three floats and returns the step size τ: the weights move by τv, where v is the row's
    direction. The decorator compiles it, so it may use numbers, ``math``, NumPy functions of numbers, and functions
    compiled with ``numba.njit``. Names from outside are constants, with the values they have at that moment.

    Use it as the parameter ``step`` of a learner, as an object or by its name: ``PAClassifier(step=capped)``,
    ``PARegressor(step="capped")``.

    Parameters
    ----------
    function : callable
        τ(loss, q, C). ``loss`` is the loss of the row, ``q`` the squared norm of the direction v, and ``C`` the
        aggressiveness times the weight of the row. If the result is not finite, the row is skipped.
    name : str, default=None
        Name of the step in model files and on the command line. The default is the name of the function.
    hinge : bool, default=True
        Whether rows without loss are skipped. Without a hinge, aggro calls the step for every row, and ``loss`` is the
        signed gap margin − y·f in classification and |y − f|, without epsilon, in regression.

    Returns
    -------
    step : OwnStep
        The step. Call it to compute τ.

    Examples
    --------
    >>> import aggro
    >>> @aggro.step
    ... def half(loss, q, C):
    ...     return min(C, 0.5 * loss / q)
    >>> half(1.0, 2.0, C=1.0)
    0.25
    >>> model = aggro.PAClassifier(step=half)
    >>> model.learn_one({"good": 1.0}, "+").learn_one({"bad": 1.0}, "-").predict_one({"bad": 1.0})
    '-'
    """
    if function is None:
        return lambda decorated: step(decorated, name=name, hinge=hinge)
    # A function that Numba has compiled already is taken as it was written.
    function = getattr(function, "py_func", function)
    if not inspect.isfunction(function):
        raise StepError(f"A step is made of a function of (loss, q, C), got {function!r}.")
    name = function.__name__ if name is None else name
    if not (isinstance(name, str) and name.isidentifier()):
        raise StepError(f"A step needs a name such as 'capped', got {name!r}. Use @aggro.step(name=...).")
    # The same function again is an edit and may replace the old one; another function may not take its name.
    taken = OWN_STEPS.get(name)
    if name.lower() in (*BUILT_IN, "auto") or (taken and origin(taken.__wrapped__) != origin(function)):
        owner = f"{taken.__module__!r} has a step of that name" if taken else "it is a built-in step"
        raise StepError(f"The name {name!r} is taken: {owner}. Choose another with @aggro.step(name=...).")
    OWN_STEPS[name] = made = OwnStep(function, name, bool(hinge))  # the same again, edited, takes its own place
    return made


def origin(function: Any) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def step_of(chosen: str | OwnStep) -> Step | OwnStep:
    """The step that a parameter names."""
    if isinstance(chosen, OwnStep):
        return chosen
    return Step[chosen.upper()] if chosen in BUILT_IN else OWN_STEPS[chosen]


def code_of(chosen: Step | OwnStep) -> tuple[int, int]:
    """The step as the settings carry it: its number, and the address of a user's function, else 0."""
    return (chosen.number, chosen.address) if isinstance(chosen, OwnStep) else (int(chosen), 0)


def name_of(chosen: Step | OwnStep) -> str:
    """The step as users write it."""
    return repr(chosen) if isinstance(chosen, OwnStep) else chosen.name.lower()


def compiled(function: Any, name: str) -> Any:
    """The function for compiled code; one clear error if it cannot be."""
    # Looked at before Numba is asked, whose own errors would be hard to read.
    takes = list(inspect.signature(function).parameters.values())
    positional = [p for p in takes if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) != 3 or len(takes) != 3:
        listed = ", ".join(map(str, takes))
        raise StepError(f"The step {name!r} must take three arguments (loss, q, C), and takes ({listed}).")
    # An exception would end the pass in the middle of a row.
    if any(instruction.opname in ("RAISE_VARARGS", "RERAISE") for instruction in dis.get_instructions(function)):
        raise StepError(
            f"The step {name!r} must return a number for every row and cannot raise. "
            "Return 0.0, or nan, to pass a row over."
        )
    piece = inline(function)
    try:
        is_number, returned = returned_for_floats(piece, 3)
    except (NumbaError, NotImplementedError) as error:
        raise StepError(f"The step {name!r} cannot be compiled{place(error)}: {reason(error)}") from None
    if not is_number:
        raise StepError(f"The step {name!r} must return a number whatever it is asked, and returns {returned}.")
    return piece


def sized(tau: Any) -> Any:
    """The step for a row that was divided by m."""

    def size(loss: float, q: float, C: float, m: float) -> float:
        # The step is asked about the row as it was; ‖τv‖² = τ²q must stay far below the largest float.
        try:
            move = m * np.float64(tau(loss * m, q * m * m, C))
        # A function that it calls may raise, or an index be out of range. No exception can leave a function that is
        # called by its address, so the row is passed over.
        except Exception:
            return np.nan
        return move if move * move * q < HUGE else np.nan

    return size
