"""What commands say about a table: how it is read, before anything is learned, and what turned out on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.cli.console import Mistake, listed
from aggro.cli.reading import blaming_the_data, names_listed, read_again

if TYPE_CHECKING:
    from aggro.streams import Stream

DOMINATES = 0.9  # of ‖x‖², on average, in one column among several
MOSTLY_ONE_CLASS = 0.9  # of the rows
COLUMNS_SHOWN = 12  # columns of one role


def how_it_is_read(stream: Stream) -> list[str]:
    """Lines that say what each column of a table is for."""
    from aggro.streams.tables.roles import Role

    columns = stream.columns
    by_role = {role: [column for column in columns.values() if column.role is role] for role in Role}
    lines = []
    for role, title in ROLE_TITLES.items():
        found = by_role[Role(role)]
        if found:
            line = f"{title}: {', '.join(map(_spoken, found[:COLUMNS_SHOWN]))}{_more(found)}"
            lines.append(line)
            if role == "label":
                # The classes in the first rows show at once whether the right column was taken.
                classes = classes_in(stream)
                lines[-1] += classes_line(classes)
                lines += alike_classes(classes)
    # What is left out, with the reason, column by column: here a wrong guess costs most.
    for column in (*by_role[Role.ID], *by_role[Role.IGNORE]):
        lines.append(f"left out: {column.name!r} ({column.why})")
    if getattr(stream, "header", None) is not None:
        said = "set by you" if stream.header_said else "guessed"
        lines.append("header: " + (f"the first line ({said})" if stream.header else f"none ({said})"))
    lines += stream.notes
    return lines


def classes_in(stream: Stream) -> Counter[str]:
    """How often each class comes in the first rows, where classes are wanted and the rows can be looked at twice."""
    # Regression has no classes, and a pipe would lose the rows.
    if stream.options["labels"] != "classes" or not read_again(stream):
        return Counter()
    with blaming_the_data():
        first = next(iter(stream), None)
    if first is None or first.y is None:
        return Counter()
    # NaN differs from itself, and is a missing label.
    return Counter(spelled(y) for y in first.y.tolist() if y is not None and y == y)


def classes_line(counts: Counter[str]) -> str:
    """The classes among the first rows; "" if they were not looked at."""
    if not counts:
        return ""
    named = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    told = f"{len(counts):,} classes" if len(counts) > COLUMNS_SHOWN else f"classes {named}"
    return f", {told} in the first {counts.total():,} rows"


def alike_classes(counts: Counter[str]) -> list[str]:
    """A note about classes that a person may have meant as one, such as yes, Yes and YES."""
    alike: dict[str, list[str]] = {}
    for name in sorted(counts):
        # Without case and with single blanks, as a person compares words.
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    several = next((names for names in alike.values() if len(names) > 1), None)
    if several is None:
        return []
    return [
        f"Note: the classes {names_listed(several)} differ in capitals or blanks alone, and count as different ones."
    ]


def spelled(label: Any) -> str:
    """A label as it will be called: whole numbers are integers."""
    # As the learner will call it: 1 and not 1.0.
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


ROLE_TITLES = {
    "label": "label",
    "weight": "weight",
    "number": "numbers",
    "category": "categories",
    "text": "text",
    "date": "dates",
}


def _spoken(column: Any) -> str:
    # Plain numbers need no reason.
    said = "" if column.role.value in ("number", "weight") and column.why in ("numbers", "set by you") else column.why
    if column.role.value == "label" and not column.said:
        said += "; --label names another"
    return f"{column.name!r} ({said})" if said else repr(column.name)


def _more(found: list[Any]) -> str:
    return f" and {len(found) - COLUMNS_SHOWN:,} more" if len(found) > COLUMNS_SHOWN else ""


def check_usable(stream: Stream) -> None:
    """Stop if there is no column to learn from."""
    from aggro.streams.tables.roles import USED_ROLES

    columns = stream.columns
    if any(column.role in USED_ROLES for column in columns.values()):
        return
    why = "; ".join(f"{column.name!r} is {column.role.value} ({column.why})" for column in [*columns.values()][:8])
    raise Mistake(
        f"{stream.sources[0].title}: no column can be used as a feature: {why}. Set the role of a column, such as "
        "--category COLUMN or --text COLUMN."
    )


def check_classes(learner: Any, stream: Stream, task: str) -> None:
    """Stop if every row was of one class: such a model can say nothing else."""
    if task != "classification":
        return
    # Known only after learning: one class in all rows.
    classes = learner.classes_.tolist()
    if len(classes) == 1:
        column = next((c.name for c in stream.columns.values() if c.role == "label"), None) if stream.raw else None
        of = f" of column {column!r}" if column else ""
        raise Mistake(
            f"{stream.sources[0].title}: every row has the label {classes[0]!r}{of}, so there is nothing to "
            "learn, and no model was saved. Name another column with --label, or add rows of other classes; for "
            "outlier detection use --learner PAUniclass."
        )


def dominating(learner: Any, X: Any) -> list[str]:
    """A warning, if one column has nearly all of ‖x‖²: the others then hardly count."""
    encoder = learner.encoder_
    # Encoded, since only then the scale of a feature is known.
    rows = learner.encoded(X).X
    columns = encoder.vocabulary.table.columns[rows.indices]
    # ‖x‖² by column: a passive-aggressive step divides by it.
    squares = np.bincount(columns, rows.data**2, len(encoder.order))
    total = squares.sum()
    # One column alone cannot dominate others.
    if np.count_nonzero(squares) < 2 or squares.max() < DOMINATES * total:
        return []
    name, share = encoder.order[int(squares.argmax())], squares.max() / total
    return [
        f"Note: column {name!r} has {share:.0%} of ‖x‖², so the others have little influence. Leave it out "
        "(--ignore); or, if it is text, count each word once (--set words=presence)."
    ]


def rare_classes(counts: Mapping[Any, int]) -> list[str]:
    """A note, if nearly all rows are of one class: an error of few per cent is then no merit."""
    rows = sum(counts.values())
    # Balanced classes need no warning, and a single class is refused elsewhere.
    if not rows or len(counts) < 2 or max(counts.values()) <= MOSTLY_ONE_CLASS * rows:
        return []
    label, count = max(counts.items(), key=lambda item: item[1])
    return [
        f"Note: {count / rows:.1%} of the rows are {label!r}, so always predicting that makes "
        f"only {1 - count / rows:.1%} mistakes. 'aggro test' shows each class."
    ]


def what_turned_out(learner: Any) -> list[str]:
    """Lines about the columns of a table, once it was learned."""
    lines = []
    strays, missing = learner.strays_, missing_in(learner.encoder_)
    # Missing cells and stray words by column; stray words count as missing.
    each = [
        f"{missing.get(name, 0):,} in {name!r}"
        + (f" ({strays[name]:,} stray word{'s' * (strays[name] != 1)})" if strays.get(name) else "")
        for name in {**missing, **strays}
        if missing.get(name) or strays.get(name)
    ]
    if each:
        lines.append(f"Missing numbers and dates: {', '.join(each)}.")
    constant = constant_columns(learner.encoder_)
    if constant:
        lines.append(f"Note: constant columns, from which nothing can be learned: {names_listed(constant)}.")
    return lines


def missing_in(encoder: Any) -> dict[str, int]:
    """How many cells of each column of numbers and dates were missing, as far as that was counted."""
    found: dict[str, int] = {}
    for k, slot in enumerate(encoder.numbers):
        # One number of each column is enough: a date's parts are missing together.
        if slot.name in ("", "days") and encoder.options.scale:
            there = int(encoder.moments.counts[k])
            # A column without any number, or without gaps, needs no line.
            if 0 < there < encoder.counts.rows:
                found[encoder.order[slot.column]] = encoder.counts.rows - there
    return found


def constant_columns(encoder: Any) -> list[str]:
    """Columns in which no two cells differ."""
    from aggro.streams.tables.roles import Role

    # A single row is constant in every column.
    if encoder.counts.rows < 2:
        return []
    table, n = encoder.vocabulary.table, encoder.width
    features = np.bincount(table.columns[:n], minlength=len(encoder.order))
    found = []
    for number, name in enumerate(encoder.order):
        role = encoder.columns[name].role
        if role is Role.NUMBER:
            slot = next(k for k, slot in enumerate(encoder.numbers) if slot.column == number)
            seen = encoder.moments.counts[slot] if encoder.options.scale else 0
            # Without spread, and with its number as the only feature: a missing cell would be a second one.
            constant = seen > 1 and encoder.moments.squares[slot] == 0.0 and features[number] == 1
        else:
            # One category, and no feature for missing cells.
            constant = role is Role.CATEGORY and features[number] == 1
        if constant:
            found.append(name)
    return found


def columns_of(learner: Any) -> dict[str, list[str]] | None:
    """The columns of a record learner by role, for JSON; None for other learners."""
    if not hasattr(learner, "columns_"):
        return None
    roles: dict[str, list[str]] = {}
    for name, column in learner.columns_.items():
        roles.setdefault(column.role.value, []).append(name)
    return roles


def columns_line(columns: dict[str, list[str]]) -> str:
    """The columns by role as one line of text to print."""
    parts = []
    for role, names in columns.items():
        what = ROLE_TITLES.get(role, {"id": "ids", "ignore": "ignored"}.get(role, role))
        parts.append(f"{what} {listed(names)}" if role != "label" else f"label {names[0]}")
    return "; ".join(parts)
