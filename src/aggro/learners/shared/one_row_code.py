"""The machine code that learns or scores one row, found once and then called without a search.

Numba's dispatcher spends more time on the types of a state of arrays than learning one row takes. So a function is
found by the types of the state, of its settings and of the row, and from then on called past the dispatcher. It does
not hold the loop over rows but jumps to it, by an address that it is given: the loop is the same code as for many rows.

=========== ================ =================================== ===================================
job         of engine.passes takes a pinned state and            jumps to
=========== ================ =================================== ===================================
LEARN_ROW   ``learn_row``    a pinned row                        ``run``
SCORE_ROW   ``score_row``    a pinned row                        ``score``
LEARN_DICT  ``learn_dict``   a reader and the address of a dict  ``learn_row``, and that to ``run``
SCORE_DICT  ``score_dict``   a reader and the address of a dict  ``score_row``, and that to ``score``
=========== ================ =================================== ===================================

All that was found is in ``CODE``, and a model keeps places in that list instead of functions: who walks a model, to
weigh it or to copy it, would walk on into Numba.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aggro.engine.at_once import CAN_CALL_AT_ONCE, LATER, label_at_once, learn_at_once, score_at_once
from aggro.engine.jit.compile import direct
from aggro.engine.jit.jumps import address_of
from aggro.engine.jit.objects import AN_OBJECT
from aggro.engine.jit.pinned import Pinned
from aggro.engine.passes import (
    Layout,
    OneRowCall,
    from_outside,
    layout_of,
    learn_dict,
    learn_row,
    run,
    score,
    score_dict,
    score_row,
    suited,
)

LEARN_ROW, SCORE_ROW, LEARN_DICT, SCORE_DICT = range(4)


@dataclass(frozen=True, slots=True)
class Code:
    """A function that can be called at once, and the addresses that it must be given.

    No NamedTuple: Python takes that apart in twice the time.
    """

    call: Callable[..., Any]
    at: int  # where it is itself, for compiled code
    pass_at: int  # of the loop over rows
    row_at: int = 0  # of what takes a row: for dicts


def never_fits(*_: Any) -> int:
    """In place of what learns dicts, for rules whose state must be given room first."""
    return -1


CODE = [Code(never_fits, 0, 0)]
NEVER_FITS, UNKNOWN = 0, -1  # places: of the above, and of what is yet to be found
PLACES: dict[tuple[int, int, type], int] = {}  # by the layout's number, the job and the type of the row
LAYOUTS: dict[Layout, int] = {}  # each with a number, which is quicker to look up by
PLACING = threading.Lock()


def pinned_call(call: OneRowCall) -> tuple[Pinned, int, bool]:
    """A state and what goes with it, laid out for one-row calls; its layout's number, and if that is from outside."""
    layout = layout_of(call.state, call.params)
    outside = from_outside(layout)
    with PLACING:
        number = LAYOUTS.setdefault(layout, len(LAYOUTS))
    return Pinned(call, layout, outside=outside), number, outside


def place_of(job: int, number: int, model: Pinned, row: Pinned) -> int:
    """Where the code for a job is; ``row`` is a pinned row, or a reader of dicts, which begins with one."""
    key = (number, job, type(row.value[0]))
    place = PLACES.get(key)
    if place is None:
        code = compiled(job, model, row)
        with PLACING:
            CODE.append(code)
            place = PLACES[key] = len(CODE) - 1
    return place


def compiled(job: int, model: Pinned, row: Pinned) -> Code:
    """The code for a job, compiled or found on disk."""
    one: Any = model.value
    X = row.value[0]
    layout = layout_of(one.state, one.params)
    numbers: tuple[float, ...]
    if job in (LEARN_ROW, LEARN_DICT):
        by_row, by_dict, numbers = suited(learn_row, layout), learn_dict, (0.0, 1.0)  # target and weight
        rest = (one.targets, one.weights, one.order, 0, 1, one.costs, one.averaged, one.tend_at)
        pass_at = address_of(suited(run, layout), one.state, one.params, X, *rest)
    else:
        by_row, by_dict, numbers = suited(score_row, layout), score_dict, ()
        pass_at = address_of(suited(score, layout), one.state, one.params, X, one.scores)
    if job in (LEARN_ROW, SCORE_ROW):
        given = (model, row, *numbers, 0)
        return Code(direct(by_row, *given), address_of(by_row, *given), pass_at)
    # What reads dicts is the same for all states: it takes the model as a plain address, and hands it on.
    row_at = address_of(by_row, model, Pinned((X,), type(X)), *numbers, 0)
    more = (*numbers, 0) if numbers else (0.0,)  # room for names, or the least value that a row may hold
    taken = (0, row, 0, *more, 0, 0)
    return Code(direct(by_dict, *taken), address_of(by_dict, *taken), pass_at, row_at)


# What ``engine.at_once`` has; before a model was at rest for the first time, and where there is none, Python looks.
LEARN, SCORE, LABEL = range(3)
NOT_YET: list[Callable[..., Any]] = [lambda *_: False, lambda *_: float("nan"), lambda *_: LATER]
AT_ONCE = list(NOT_YET)


def bring_at_once() -> bool:
    """Find the code of calls that are made at once; whether there is any."""
    if CAN_CALL_AT_ONCE and AT_ONCE == NOT_YET:
        one = AN_OBJECT
        AT_ONCE[:] = [
            direct(learn_at_once, one, one, one, one),
            direct(score_at_once, one, one),
            direct(label_at_once, one, one),
        ]
    return CAN_CALL_AT_ONCE
