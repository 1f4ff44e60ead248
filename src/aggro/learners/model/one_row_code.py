"""The machine code that learns or scores one row, found once and then called without a search.

Numba's dispatcher spends more time on the types of a state of arrays than learning one row takes. So a function is
found by the types of the state, of its settings and of the row, and from then on called past the dispatcher. It does
not hold the loop over rows but jumps to it, by an address that it is given: the loop is the same code as for many rows.

=========== ================ =================================== ===================================
job         of engine.passes takes a pinned state and            jumps to
=========== ================ =================================== ===================================
LEARN_ROW   ``learn_row``    a pinned row                        ``run``
SCORE_ROW   ``score_row``    a pinned row                        ``score_rows``
LEARN_DICT  ``learn_dict``   a reader and the address of a dict  ``learn_row``, and that to ``run``
SCORE_DICT  ``score_dict``   a reader and the address of a dict  ``score_row``, and that to ``score_rows``
=========== ================ =================================== ===================================

All that was found is in ``CODE_AT``, and a model keeps its keys there instead of functions: who walks a model, to
weigh it or to copy it, would walk on into Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from aggro.engine.jit.compile import direct
from aggro.engine.jit.jumps import address_of
from aggro.engine.jit.pinned import Pinned
from aggro.engine.passes import (
    Layout,
    OneRowCall,
    from_outside,
    layout_of,
    learn_dict,
    learn_row,
    run,
    score_dict,
    score_row,
    score_rows,
    suited,
)

LEARN_ROW, SCORE_ROW, LEARN_DICT, SCORE_DICT = range(4)


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled function that can be called directly, and the addresses that it must be given.

    No NamedTuple: Python takes that apart in twice the time.
    """

    call: Callable[..., Any]
    pass_at: int  # of the loop over rows
    row_at: int = 0  # of what takes a row: for dicts


def never_fits(*_: Any) -> int:
    """Replace the code that learns dicts, for rules that must make room in the state first; it always returns -1."""
    return -1


NEVER_FITS, NOT_FOUND = 0, -1  # places: of the above, and of what is yet to be found
CODE_AT = {NEVER_FITS: Code(never_fits, 0)}
PLACES: dict[tuple[int, int, type], int] = {}  # by the layout's number, the job and the type of the row
LAYOUTS: dict[Layout, int] = {}  # each with a number, which is quicker to look up by
# There is no lock here, which a signal handler that uses a model could wait for: each step below is one call of a dict.
PLACE_NUMBERS = count(NEVER_FITS + 1)


def pinned_call(call: OneRowCall) -> tuple[Pinned, int]:
    """Pack a state and its arguments for one-row calls; return them and the number of their layout."""
    layout = layout_of(call.state, call.params)
    number = LAYOUTS.get(layout)
    if number is None:
        number = LAYOUTS.setdefault(layout, next(PLACE_NUMBERS))
    return Pinned(call, layout, outside=from_outside(layout)), number


def place_of(job: int, number: int, model: Pinned, row: Pinned) -> int:
    """The key in ``CODE_AT`` of the code for a job; ``row`` is a packed row, or a dict reader that begins so."""
    key = (number, job, type(row.value[0]))
    place = PLACES.get(key)
    if place is None:
        place = next(PLACE_NUMBERS)
        CODE_AT[place] = compiled(job, model, row)
        # Another thread may have compiled the same code meanwhile: all calls use the place that was entered first.
        place = PLACES.setdefault(key, place)
    return place


def compiled(job: int, model: Pinned, row: Pinned) -> Code:
    """Compile the code for a job, or load it from the disk cache."""
    one: Any = model.value
    X = row.value[0]
    layout = layout_of(one.state, one.params)
    numbers: tuple[float, ...]
    if job in (LEARN_ROW, LEARN_DICT):
        by_row, by_dict, numbers = suited(learn_row, layout), learn_dict, (0.0, 1.0)  # target and weight
        rest = (one.targets, one.weights, one.order, 0, 1, one.costs, one.averaged, one.observer)
        pass_at = address_of(suited(run, layout), one.state, one.params, X, *rest)
    else:
        by_row, by_dict, numbers = suited(score_row, layout), score_dict, ()
        pass_at = address_of(suited(score_rows, layout), one.state, one.params, X, one.scores)
    if job in (LEARN_ROW, SCORE_ROW):
        return Code(direct(by_row, model, row, *numbers, 0), pass_at)
    # What reads dicts is the same for all states: it takes the model as a plain address, and hands it on.
    row_at = address_of(by_row, model, Pinned((X,), type(X)), *numbers, 0)
    more = (*numbers, 0) if numbers else (0.0,)  # room for names, or the least value that a row may hold
    return Code(direct(by_dict, 0, row, 0, *more, 0, 0), pass_at, row_at)
