"""Convert dates and times to numbers and categorical parts.

A moment is seconds since 1970, NaN where missing. It becomes two numbers, the days since 1970 and the year, and three
choices: month, day of the week, and hour (not at midnight sharp, which is what a date without a time is).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from math import floor
from typing import Any, NamedTuple

import numpy as np

from aggro.streams.tables.roles import as_date, as_number

DAY_SECONDS = 86400.0
UNIX_EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = UNIX_EPOCH.replace(tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
YEAR_ONE, LAST_SECOND = -62135596800.0, 253402300799.0  # the first and the last second that Python has
SECONDS_IN = {"Y": 31556952.0, "M": 2629746.0, "W": 604800.0, "D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
SECONDS_IN |= {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
MILLISECONDS = 1e11  # numbers beyond are no seconds: the year would be 5138
FURTHEST_DATE = 1e12  # seconds, the year 33658: what is beyond is no date
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DATE_NUMBERS = ("days", "year")
CHOICES = tuple(f"month={month}" for month in MONTHS) + tuple(f"weekday={day}" for day in WEEKDAYS)
CHOICES += tuple(f"hour={hour}" for hour in range(24))
N_MONTHS, N_DAYS = len(MONTHS), len(WEEKDAYS)


class Parts(NamedTuple):
    """The parts of moments: numbers (rows, 2), and places among ``CHOICES`` (rows, 3), -1 for none."""

    numbers: np.ndarray
    choices: np.ndarray


def parts_of(seconds: np.ndarray) -> Parts:
    """Split moments into numbers and parts; all are missing where the moment is."""
    there = np.abs(seconds) < FURTHEST_DATE
    # Rounded down, so that moments before 1970 fall on their own day.
    whole = np.floor(np.where(there, seconds, 0.0)).astype(np.int64)
    days, within = np.floor_divide(whole, 86400), np.mod(whole, 86400)
    dates = days.astype("datetime64[D]")
    # NumPy's calendar knows the months and leap years.
    months = dates.astype("datetime64[M]").astype(np.int64)
    numbers = np.full((len(seconds), 2), np.nan)
    numbers[there, 0] = seconds[there] / DAY_SECONDS
    numbers[there, 1] = 1970.0 + np.floor_divide(months, 12)[there]
    choices = np.full((len(seconds), 3), -1, np.int64)
    choices[there, 0] = np.mod(months, 12)[there]
    choices[there, 1] = N_MONTHS + np.mod(days + 3, 7)[there]  # 1970 began on a Thursday
    # At midnight sharp there is mostly no time, just a date.
    timed = there & (within > 0)
    choices[timed, 2] = N_MONTHS + N_DAYS + (within // 3600)[timed]
    return Parts(numbers, choices)


def parts_of_one(seconds: float) -> tuple[tuple[float, ...], tuple[int, ...]] | None:
    """The parts of one moment, as ``parts_of`` gives them for an array: (days, year) and the places among ``CHOICES``.

    None if the moment is missing, or too far away to be a date.
    """
    if not abs(seconds) < FURTHEST_DATE:
        return None
    # The usual case by Python's calendar, which is quicker for one moment than arrays are.
    try:
        moment = UNIX_EPOCH + timedelta(seconds=floor(seconds))
    except OverflowError:  # before the year 1 or after 9999
        numbers, choices = parts_of(np.array([seconds]))
        return tuple(numbers[0].tolist()), tuple(choices[0].tolist())
    hour = N_MONTHS + N_DAYS + moment.hour if (moment.hour or moment.minute or moment.second) else -1
    return (seconds / DAY_SECONDS, float(moment.year)), (moment.month - 1, N_MONTHS + moment.weekday(), hour)


def seconds_of(cell: Any, pattern: str) -> float:
    """Seconds since 1970 of one cell: a date, text of this pattern, or a number of seconds or milliseconds."""
    if isinstance(cell, str):
        cell = as_date(cell, pattern) if pattern else None
    if isinstance(cell, datetime):
        since = cell - (UNIX_EPOCH if cell.tzinfo is None else EPOCH_UTC)
        # A division of whole numbers: total_seconds() would round to a float first.
        return float(since // MICROSECOND) / 1e6
    # After datetime, which is a kind of date.
    if isinstance(cell, date):
        return (cell.toordinal() - date(1970, 1, 1).toordinal()) * DAY_SECONDS
    if isinstance(cell, np.datetime64):
        return float(seconds_of_array(np.array([cell]))[0])
    number = None if cell is None else as_number(cell)
    return float("nan") if number is None else from_number(number)


def seconds_of_array(moments: np.ndarray) -> np.ndarray:
    """Seconds since 1970 of NumPy's moments of any unit, rounded down to microseconds.

    NaN where there is none, infinity where the moment is too far away to be a date.
    """
    unit, count = np.datetime_data(moments.dtype)
    size = count * SECONDS_IN.get(unit, 0.0)  # 0: less than a nanosecond, which reaches nowhere
    gone = np.isnat(moments)
    # Far moments are found before the cast to microseconds, which they would overflow.
    far = np.abs(moments.astype(np.int64) * size) >= FURTHEST_DATE
    # A harmless moment stands in for the missing and the far ones, and is replaced below.
    near = np.where(gone | far, np.zeros(1, moments.dtype), moments).astype("datetime64[us]")
    seconds = near.astype(np.int64).astype(np.float64) / 1e6
    return np.where(gone, np.nan, np.where(far, np.inf, seconds))


def in_reach(moments: np.ndarray) -> np.ndarray:
    """Clip moments to the years that Python can hold, at a precision of microseconds."""
    seconds = seconds_of_array(moments)
    gone = np.isnan(seconds)
    # Python's datetime has the years 1 to 9999.
    kept = np.clip(np.where(gone, 0.0, seconds), YEAR_ONE, LAST_SECOND)
    edges = kept.astype(np.int64).astype("datetime64[s]").astype("datetime64[us]")
    near = np.where(kept == seconds, moments, np.zeros(1, moments.dtype)).astype("datetime64[us]")
    found = np.where(kept == seconds, near, edges)
    found[gone] = np.datetime64("NaT", "us")  # with its unit, which newer versions of NumPy ask for
    return found


def from_number(number: float) -> float:
    """Convert a number of seconds, or of milliseconds if it is large, to seconds."""
    return number / 1000.0 if abs(number) >= MILLISECONDS else number
