"""Moments in time as numbers and parts.

A moment is seconds since 1970, NaN where missing. It becomes two numbers, the days since 1970 and the year, and three
choices: month, day of the week, and hour (not at midnight sharp, which is what a date without a time is).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from math import floor
from typing import Any, NamedTuple

import numpy as np

from aggro.streams.tables.roles import as_date, as_number

DAY = 86400.0
EPOCH = datetime(1970, 1, 1)
MILLISECONDS = 1e11  # numbers beyond are no seconds: the year would be 5138
FURTHEST = 1e12  # seconds, the year 33658: what is beyond is no date
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBERS = ("days", "year")
CHOICES = tuple(f"month={month}" for month in MONTHS) + tuple(f"weekday={day}" for day in WEEKDAYS)
CHOICES += tuple(f"hour={hour}" for hour in range(24))
N_MONTHS, N_DAYS = len(MONTHS), len(WEEKDAYS)


class Parts(NamedTuple):
    """Of some moments: numbers (rows, 2), and places among ``CHOICES`` (rows, 3), -1 for none."""

    numbers: np.ndarray
    choices: np.ndarray


def parts_of(seconds: np.ndarray) -> Parts:
    """The parts of moments; all are missing where the moment is."""
    there = np.abs(seconds) < FURTHEST
    whole = np.floor(np.where(there, seconds, 0.0)).astype(np.int64)
    days, within = np.floor_divide(whole, 86400), np.mod(whole, 86400)
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    numbers = np.full((len(seconds), 2), np.nan)
    numbers[there, 0] = seconds[there] / DAY
    numbers[there, 1] = 1970.0 + np.floor_divide(months, 12)[there]
    choices = np.full((len(seconds), 3), -1, np.int64)
    choices[there, 0] = np.mod(months, 12)[there]
    choices[there, 1] = N_MONTHS + np.mod(days + 3, 7)[there]  # 1970 began on a Thursday
    timed = there & (within > 0)
    choices[timed, 2] = N_MONTHS + N_DAYS + (within // 3600)[timed]
    return Parts(numbers, choices)


def parts_of_one(seconds: float) -> tuple[tuple[float, ...], tuple[int, ...]] | None:
    """The same of one moment, None if it is missing."""
    if not abs(seconds) < FURTHEST:
        return None
    try:
        moment = EPOCH + timedelta(seconds=floor(seconds))
    except OverflowError:  # before the year 1 or after 9999
        numbers, choices = parts_of(np.array([seconds]))
        return tuple(numbers[0].tolist()), tuple(choices[0].tolist())
    hour = N_MONTHS + N_DAYS + moment.hour if (moment.hour or moment.minute or moment.second) else -1
    return (seconds / DAY, float(moment.year)), (moment.month - 1, N_MONTHS + moment.weekday(), hour)


def seconds_of(cell: Any, pattern: str) -> float:
    """The moment in one cell: a date, text of this pattern, or a number of seconds or milliseconds."""
    if isinstance(cell, str):
        cell = as_date(cell, pattern) if pattern else None
    if isinstance(cell, datetime):
        moment = cell if cell.tzinfo is not None else cell.replace(tzinfo=UTC)
        return moment.timestamp()
    if isinstance(cell, date):
        return (cell.toordinal() - date(1970, 1, 1).toordinal()) * DAY
    if isinstance(cell, np.datetime64):
        micros = cell.astype("datetime64[us]")
        return float("nan") if np.isnat(micros) else float(micros.astype(np.int64)) / 1e6
    number = None if cell is None else as_number(cell)
    return float("nan") if number is None else from_number(number)


def from_number(number: float) -> float:
    """Seconds, of a number that is either seconds or milliseconds."""
    return number / 1000.0 if abs(number) >= MILLISECONDS else number
