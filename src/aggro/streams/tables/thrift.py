"""Parts of structs in Thrift's compact protocol, as Parquet files hold them.

A struct is fields, each with its number and type, until one of type 0. Only the fields that are wanted are kept:
``wanted`` has a key for each, and as its value what is wanted of the struct, or of the structs in the list, that the
field is; None for all other fields.
"""

from __future__ import annotations

from typing import Any

Wanted = dict[int, Any]

DAMAGED = "its description of itself is damaged or cut short. Fetch or write the file again"
DEEPEST_STRUCT = 16
STOP_FIELD, TRUE, FALSE, BYTE, DOUBLE_FIELD, BINARY_FIELD, LIST_FIELD, SET, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12


class Compact:
    """Values one after another. Beyond the end of the bytes there is an IndexError, at nonsense a ValueError."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, wanted: Wanted, depth: int = 0) -> dict[int, Any]:
        """The wanted fields by their numbers."""
        # A damaged file can nest without end, and the stack ends somewhere.
        if depth > DEEPEST_STRUCT:
            raise ValueError(DAMAGED)
        fields: dict[int, Any] = {}
        field = 0
        while (head := self._byte()) & 15 != STOP_FIELD:
            # Field numbers come as differences to the one before, or in full where the difference is 0.
            field = field + (head >> 4) if head >> 4 else self._number()
            kind = head & 15
            value = (
                # Numbers first and in place: they are most of the fields.
                self._number() if BYTE < kind < DOUBLE_FIELD else self._value(kind, wanted.get(field) or {}, depth + 1)
            )
            # Unwanted fields must be read, for their length is known only then, but they are not kept.
            if field in wanted:
                fields[field] = value
        return fields

    def _value(self, kind: int, wanted: Wanted, depth: int) -> Any:
        if BYTE < kind < DOUBLE_FIELD:
            return self._number()
        if kind == BINARY_FIELD:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct(wanted, depth)
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in (BYTE, DOUBLE_FIELD):
            return self._bytes(1 if kind == BYTE else 8)
        if kind in (LIST_FIELD, SET):
            return self._list(wanted, depth)
        raise ValueError(DAMAGED)

    def _list(self, wanted: Wanted, depth: int) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4 if head >> 4 < 15 else self._varint(), head & 15
        # A damaged size must not make a list of billions.
        if depth > DEEPEST_STRUCT or size > len(self.data):  # an entry has a byte at least
            raise ValueError(DAMAGED)
        # In lists, unlike in structs, a truth value takes a byte.
        if kind in (TRUE, FALSE):
            return list(self._bytes(size))
        return [self._value(kind, wanted, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        # Seven bits a byte, the lowest first; the eighth says that more follow.
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
            # More bytes than a 64-bit number has: damage, and Python's integers would grow for ever.
            if shift > 63:
                raise ValueError(DAMAGED)
        return value | byte << shift

    def _number(self) -> int:
        value = self.data[self.at]
        if value < 128:  # most are small
            self.at += 1
        else:
            value = self._varint()
        # Zigzag: the lowest bit is the sign.
        return (value >> 1) ^ -(value & 1)

    def _bytes(self, n: int) -> bytes:
        # A slice beyond the end would silently be shorter, so the end is checked.
        self.at += n
        if self.at > len(self.data):
            raise IndexError
        return self.data[self.at - n : self.at]
