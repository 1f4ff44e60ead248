"""The encoder as its table says it, in plain Python: a dict of features for each row, cells one after the other."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

from aggro.streams.tables.roles import MISSING_MARKS
from aggro.streams.tables.written_numbers import AROUND as BLANKS

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
HOURS = [f"hour={hour}" for hour in range(24)]
CHOICES = [*(f"month={name}" for name in MONTHS), *(f"weekday={name}" for name in WEEKDAYS), *HOURS]
SEPARATORS = "\u0080-\u00bf\u2000-\u27ff\u3000-\u303f"  # beyond ASCII
WORD = re.compile(f"[^\x00-/:-@\\[-`{{-\x7f{SEPARATORS}]+")
LATIN = {code: code + 32 for code in [*range(ord("A"), ord("Z") + 1), *range(0xC0, 0xDF)] if code != 0xD7}


class Twin:
    """Encodes records, given the roles of their fields."""

    def __init__(self, roles, *, scale=True, words="counts", ngrams=1, na=()):
        self.roles, self.scale, self.words, self.ngrams = roles, scale, words, ngrams
        self.missing = {*MISSING_MARKS, *na}
        self.met: list[str] = []  # columns
        self.names: dict[object, int] = {}  # features
        self.moments: dict[str, tuple[float, float, float]] = {}
        self.strays: dict[str, int] = {}

    def row(self, record, learning=True):
        """{feature: value} of one record, zeros left out."""
        if learning:
            for column, cell in record.items():
                if column not in self.met and not self.is_missing(cell):
                    self.meet(column)
        found: dict[int, float] = {}
        for kind in ("number", "date", "string"):  # numbers come first, then parts of dates, then strings
            for column in self.met:
                self.cell(kind, column, self.roles[column], record.get(column), learning, found)
        return {feature: value for feature, value in sorted(found.items()) if value != 0.0}

    def meet(self, column):
        self.met.append(column)
        if self.roles[column] == "number":
            self.feature(("number", column), True)
        if self.roles[column] == "date":
            for part in ("days", "year", *CHOICES):
                self.feature(("part", column, part), True)

    def cell(self, kind, column, role, cell, learning, found):
        """Add one cell to a row."""
        if kind == "number" and role == "number":
            number = self.number(cell)
            self.stray(column, cell, number, learning)
            self.add_number(("number", column), number, learning, found)
            if number is None:
                self.add(("missing", column), learning, found)
        elif kind == "number" and role == "date":
            moment = self.moment(cell)
            self.stray(column, cell, moment, learning)
            year = None if moment is None else float(moment.year)
            days = None if moment is None else seconds(moment) / 86400.0
            self.add_number(("part", column, "days"), days, learning, found)
            if moment is None:
                self.add(("missing", column), learning, found)
            self.add_number(("part", column, "year"), year, learning, found)
        elif kind == "date" and role == "date":
            moment = self.moment(cell)
            if moment is not None:
                self.add(("part", column, f"month={MONTHS[moment.month - 1]}"), learning, found)
                self.add(("part", column, f"weekday={WEEKDAYS[moment.weekday()]}"), learning, found)
                if (moment.hour, moment.minute, moment.second) != (0, 0, 0):
                    self.add(("part", column, f"hour={moment.hour}"), learning, found)
        elif kind == "string" and role in ("category", "text"):
            text = "" if self.is_missing(cell) else self.text(cell).strip(BLANKS)
            if not text:
                self.add(("missing", column), learning, found)
            elif role == "category":
                self.add(("category", column, text), learning, found)
            else:
                self.add_words(column, text, learning, found)

    def add_words(self, column, text, learning, found):
        counts: dict[object, float] = {}
        seen = [word.translate(LATIN) for word in WORD.findall(text)]
        for end in range(1, len(seen) + 1):
            for n in range(1, min(self.ngrams, end) + 1):
                key = ("word", column, *seen[end - n : end])
                if self.feature(key, learning) is not None:
                    counts[key] = counts.get(key, 0.0) + 1.0
        for key, count in counts.items():
            found[self.names[key]] = min(count, 1.0) if self.words == "presence" else count

    def feature(self, key, learning):
        if key not in self.names and learning:
            self.names[key] = len(self.names)
        return self.names.get(key)

    def add(self, key, learning, found):
        feature = self.feature(key, learning)
        if feature is not None:
            found[feature] = found.get(feature, 0.0) + 1.0

    def add_number(self, key, number, learning, found):
        if number is None:
            return
        count, mean, squares = self.moments.get(key, (0.0, 0.0, 0.0))
        share = 1.0 / (count + 1.0)
        gap = min(max(number, -1e140), 1e140) - mean
        total = squares + gap * gap * (count * share)
        spread = squares / max(count, 1.0)
        # The variance to expect of the next value, as its own are few.
        expected = spread * (count + 1.0) / (count - 3.0) if count > 3.0 else 0.0
        value = gap / math.sqrt(expected) if expected > 0.0 else 0.0
        if learning and self.scale:
            self.moments[key] = count + 1.0, mean + gap * share, total
            if count < 64 or gap * gap > max(64.0, count / 16.0) * spread:
                value = gap * (count * share) / math.sqrt(total * share) if total > 0.0 else 0.0
        found[self.names[key]] = value if self.scale else number

    def is_missing(self, cell):
        if cell is None or cell != cell:
            return True
        return isinstance(cell, str) and cell.strip(BLANKS) in self.missing

    def stray(self, column, cell, read, learning):
        if learning and read is None and not self.is_missing(cell):
            self.strays[column] = self.strays.get(column, 0) + 1

    def number(self, cell):
        if self.is_missing(cell) or isinstance(cell, date):
            return None
        if isinstance(cell, str) and not re.fullmatch(
            r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", cell.strip(BLANKS), re.I | re.A
        ):
            return None
        number = float(cell)
        return number if math.isfinite(number) else None

    def moment(self, cell):
        """A moment without a zone, as UTC's clocks show it."""
        if self.is_missing(cell):
            return None
        if isinstance(cell, str):
            try:
                cell = datetime.fromisoformat(cell.strip())
            except ValueError:
                return None
        if isinstance(cell, datetime):
            return cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
        return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else None

    def text(self, cell):
        if isinstance(cell, str):
            return cell
        if isinstance(cell, bool):
            return "true" if cell else "false"
        return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)

    def title(self, feature):
        """The name of a feature."""
        kind, column, *rest = next(key for key, number in self.names.items() if number == feature)
        if kind == "number":
            return column
        if kind == "missing":
            return f"{column}=missing" if column else "missing"
        text = " ".join(rest)
        return (f"{column}={text}" if kind == "category" else f"{column}:{text}") if column else text


def seconds(moment):
    """Since 1970, to the microsecond."""
    since = moment - datetime(1970, 1, 1)
    return float((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) / 1e6
