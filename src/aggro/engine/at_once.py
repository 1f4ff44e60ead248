"""One-row calls that are over within one call of compiled code.

What Python does about a row, to see that nothing is new about it, to take the model's lock, to look its label up, to
copy its numbers, takes longer than learning it. So a model that is at rest has a record: an array of words
with all that a one-row call needs to know. With it, a row and its target as they come,
``learn_at_once`` learns the row, or says that it has done nothing, and that Python has to look.

It needs no lock. It holds the GIL from beginning to end, and nothing that it calls lets it go or runs code of a user's,
so it is alone if nobody holds the model's guard. Whether somebody does, in this or in another thread, it sees in the
lock itself.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline, quick
from aggro.engine.jit.dicts import (
    Py_DecRef,
    PyDict_GetItemWithError,
    PyErr_Clear,
    PyLong_AsLongLong,
    PyLong_FromLongLong,
)
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.objects import (
    ARRAY,
    BOOL,
    CAN_READ_OBJECTS,
    DATA,
    DICT,
    FLOAT,
    FLOAT64,
    FLOAT_ARRAY,
    HELD,
    INT,
    INT64,
    KIND,
    KINDS,
    NUMBER,
    TEXT,
    address,
    as_object,
    copy_row,
    float_at,
    is_row,
    word_at,
)

u8 = np.uint64
CAN_CALL_AT_ONCE = CAN_READ_OBJECTS and HELD > 0

# The words of a record. Addresses of code are those in ``learners.shared.one_row_code``, 0 where there is none yet.
(
    STATUS,  # what may be done, as below
    GUARD,  # where the lock says whether it is held
    READERS,  # where the number of those is who read the state meanwhile
    MODEL,  # the pinned call
    TARGETS,  # what targets are, as below, or the dict of the labels' numbers
    WIDTH,  # of the one dense row, if there is one
    ROW,  # the pinned row
    NUMBERS,  # where its numbers are written to
    LEARN_ROW,
    LEARN_ROW_PASS,
    SCORE_ROW,
    SCORE_ROW_PASS,
    READER,  # of dicts, pinned
    ROOM,  # for names of features
    LEAST,  # the bits of the least value that a row may hold
    LEARN_DICT,
    LEARN_DICT_ROW,
    LEARN_DICT_PASS,
    SCORE_DICT,
    SCORE_DICT_ROW,
    SCORE_DICT_PASS,
    COLUMNS,  # how many scores there are
    OUT,  # where they are
    CLASSES,  # how many labels may be predicted, 0 if Python has to look
    LABELS,  # where their addresses are
    NO_LABEL,  # the address of what is returned in place of one
    OF_KINDS,  # from here on as in KINDS
) = range(27)
NOTHING, SCORES, LEARNS = range(3)  # Python has to look at all rows; at those to be learned; at none
NO_TARGETS, ANY_TARGET, A_NUMBER = range(3)
LATER = object()  # in place of a label


def new_record() -> np.ndarray:
    """The record of a model that is not at rest."""
    words = np.zeros(OF_KINDS + KINDS.shape[0], np.int64)
    words[NO_LABEL], words[OF_KINDS:] = id(LATER), KINDS
    return words


@inline
def get(words, k):
    """The k-th word."""
    return word_at(words + 8 * k)


@inline
def is_kind(place, words, k):
    """Whether an object is of the k-th of the kinds."""
    return word_at(place + KIND) == get(words, OF_KINDS + k)


@inline
def weight_of(place, words):
    """A weight above 0; 0 for what is none, or not a plain one."""
    if not is_kind(place, words, FLOAT):
        return 0.0
    s = float_at(place + NUMBER)
    return s if 0.0 < s < np.inf else 0.0


@inline
def target_of(place, words):
    """A target that is not new, as a number; NaN for all others."""
    targets = get(words, TARGETS)
    if targets == ANY_TARGET:
        return 0.0
    if targets == A_NUMBER:
        if not is_kind(place, words, FLOAT) and not is_kind(place, words, FLOAT64):
            return np.nan
        y = float_at(place + NUMBER)
        return y if abs(y) < np.inf else np.nan
    if is_kind(place, words, INT64):
        label = PyLong_FromLongLong(word_at(place + NUMBER))
        if label == 0:
            PyErr_Clear()
            return np.nan
        found = PyDict_GetItemWithError(targets, label)
        Py_DecRef(label)
    elif (
        is_kind(place, words, INT)
        or is_kind(place, words, TEXT)
        or is_kind(place, words, BOOL)
        or is_kind(place, words, FLOAT)
    ):
        found = PyDict_GetItemWithError(targets, place)
    else:
        return np.nan
    return np.float64(PyLong_AsLongLong(found)) if found != 0 else np.nan


@inline
def take_array(place, words):
    """Copy the array at an address to where the dense row is read; False if it is another kind of row."""
    if not is_kind(place, words, ARRAY) or not is_row(place, get(words, OF_KINDS + FLOAT_ARRAY), get(words, WIDTH)):
        return False
    copy_row(place, get(words, WIDTH), get(words, NUMBERS))
    return True


@quick
def learn_at_once(record, x, y, weight):
    """Learn the row x with the target y; False if that was not done."""
    words, row = word_at(address(record) + DATA), address(x)
    if get(words, STATUS) != LEARNS or word_at(get(words, GUARD)) != 0 or word_at(get(words, READERS)) != 0:
        return False
    s, target = weight_of(address(weight), words), target_of(address(y), words)
    if s == 0.0 or target != target:
        return False
    model = get(words, MODEL)
    if is_kind(row, words, DICT):
        code = get(words, LEARN_DICT)
        if code == 0:
            return False
        places = get(words, LEARN_DICT_PASS), get(words, LEARN_DICT_ROW)
        given = (model, get(words, READER), row, target, s, get(words, ROOM), *places)
        return jump(code, np.int64(0), given) > 0
    code = get(words, LEARN_ROW)
    if code == 0 or not take_array(row, words):
        return False
    return jump(code, np.int64(0), (model, get(words, ROW), target, s, get(words, LEARN_ROW_PASS))) > 0


@inline
def first_score(words, row):
    """Score a row; its first score, or NaN or infinity if that was not done."""
    if get(words, STATUS) == NOTHING or word_at(get(words, GUARD)) != 0:
        return np.nan
    model = get(words, MODEL)
    if is_kind(row, words, DICT):
        code = get(words, SCORE_DICT)
        if code == 0:
            return np.nan
        places = get(words, SCORE_DICT_PASS), get(words, SCORE_DICT_ROW)
        return jump(code, 0.0, (model, get(words, READER), row, float_at(words + 8 * LEAST), *places))
    code = get(words, SCORE_ROW)
    if code == 0 or not take_array(row, words):
        return np.nan
    return jump(code, 0.0, (model, get(words, ROW), get(words, SCORE_ROW_PASS)))


@quick
def score_at_once(record, x):
    """The first score of the row x; NaN or infinity if Python has to look."""
    return first_score(word_at(address(record) + DATA), address(x))


@quick
def label_at_once(record, x):
    """The label that is predicted for the row x; ``LATER`` if Python has to look, also where scores are equal."""
    words = word_at(address(record) + DATA)
    later, classes, labels = get(words, NO_LABEL), get(words, CLASSES), get(words, LABELS)
    if classes == 0:
        return as_object(later)
    f = first_score(words, address(x))
    if not f < np.inf:
        return as_object(later)
    if get(words, COLUMNS) == 1:
        place = labels + (8 if f > 0.0 else 0)
        return as_object(word_at(place) if f != 0.0 else later)
    best, highest, several = np.int64(0), f, False
    for k in range(np.int64(1), classes):
        f = float_at(get(words, OUT) + 8 * k)
        several = f == highest or (several and f < highest)
        if f > highest:
            best, highest = k, f
    return as_object(later if several else word_at(labels + 8 * best))
