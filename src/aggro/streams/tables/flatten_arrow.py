"""Nested Arrow columns as flat ones, a whole column at a time; the rules are those of ``flatten``.

Three shapes that most data have are done here: records, lists of strings and lists of numbers. For other shapes, such
as lists of records, the caller flattens the rows one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from aggro.streams.tables.flatten import BAG, DEEPEST_NESTING, MOST_PLACES, word


def flat_array(name: str, array: Any, known: Collection[str], level: int = 0) -> dict[str, Any] | None:
    """A column as flat ones, by name; None if its rows must be flattened one by one.

    ``known`` are the names of the flat columns that there are; with none, the column itself shows what it becomes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # One chunk is taken without a copy.
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks != 1 else array.chunk(0)
    kind = array.type
    # Records first: their fields may themselves be records or lists.
    if pa.types.is_struct(kind):
        found: dict[str, Any] = {}
        for k, field in enumerate(kind):
            inside = flat_array(f"{name}.{field.name}", pc.struct_field(array, [k]), known, level + 1)
            # A deeper nesting, or a field without a rule here, sends the whole column to the slower way.
            if inside is None or level > DEEPEST_NESTING:
                return None
            found |= inside
        return found
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        if pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type):
            return {name: _bags(array)}
        if pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type):
            return _places(name, array, known)
        return None
    return None if pa.types.is_nested(kind) else {name: array}


def _bags(array: Any) -> Any:
    """Lists of strings as text in which each item is one word."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # The items of all lists in one array, with the number of the list that each belongs to.
    items, owners = array.flatten(), pc.list_parent_indices(array).to_numpy()
    if items.null_count:
        owners = owners[items.is_valid().to_numpy(zero_copy_only=False)]
        items = items.drop_null()
    coded = items.dictionary_encode()  # items come again and again: each is looked at once
    words = pa.array([word(item) for item in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)
    # The owners ascend, so a binary search finds where each list starts.
    starts = np.searchsorted(owners, np.arange(len(array) + 1)).astype(np.int32)
    texts = pc.binary_join(pa.ListArray.from_arrays(starts, words), " ")
    # A missing list stays missing; an empty one is an empty bag.
    return pc.if_else(array.is_valid(), pc.binary_join_element_wise(BAG, texts, ""), pa.scalar(None, pa.string()))


def _places(name: str, array: Any, known: Collection[str]) -> dict[str, Any] | None:
    """Lists of numbers as columns, one for each place; None if they are a bag, or may be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    # Columns that are known stay columns, whatever the lengths here.
    if f"{name}.0" in known:
        longest = min(int(lengths.max(initial=0)), MOST_PLACES)
    else:
        longest = int(lengths.max(initial=0))
        # New lists become columns only if all have one length, as in ``flatten``.
        alike = longest > 0 and not array.null_count and bool((lengths == longest).all())
        if name in known or not alike or longest > MOST_PLACES:
            return None
    values = array.flatten()
    # Where each list starts among all values: place k of a list is k values further.
    starts = np.cumsum(lengths) - lengths
    places = (pa.array(starts + k, mask=lengths <= k) for k in range(longest))
    return {f"{name}.{k}": values.take(place).cast(pa.float64(), safe=False) for k, place in enumerate(places)}


def types_of(cells: Mapping[str, Iterable[Any]], kinds: Mapping[str, Any]) -> dict[str, Any] | None:
    """The Arrow types of nested fields, to read them with; None if some must be flattened row by row.

    ``cells`` are some values of each field, and ``kinds`` the types of the flat columns that are wanted of them.
    """
    found = {name: _type_of(name, column, kinds) for name, column in cells.items() if _is_wanted(name, kinds)}
    return None if None in found.values() else found


def _is_wanted(name: str, kinds: Iterable[str]) -> bool:
    return any(column == name or column.startswith(f"{name}.") for column in kinds)


def _type_of(name: str, cells: Iterable[Any], kinds: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    present = [cell for cell in cells if cell is not None]
    shapes = {type(cell) for cell in present}
    # No nested value seen: the flat type is right.
    if not shapes & {dict, list}:
        return kinds.get(name)
    # Only fields that some column needs get a type; pyarrow then passes over the others.
    if shapes == {dict}:
        keys = dict.fromkeys(key for cell in present for key in cell if _is_wanted(f"{name}.{key}", kinds))
        inside = {key: _type_of(f"{name}.{key}", [cell.get(key) for cell in present], kinds) for key in keys}
        return pa.struct(inside.items()) if inside and None not in inside.values() else None
    items = {type(item) for cell in present if type(cell) is list for item in cell if item is not None}
    # Mixed shapes, or lists without any item, have no type that pyarrow could read them by.
    if shapes != {list} or not items:
        return None
    # Strings are a bag under the field's own name; numbers are read so only if they became columns by place.
    if items == {str} and name in kinds:
        return pa.list_(pa.string())
    return pa.list_(pa.float64()) if items <= {int, float} and name not in kinds else None
