"""Idempotency keys: a request that is sent again under its key is answered again, and not done again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import Any

from aggro.serve.problems import Problem
from aggro.serve.store import Store
from aggro.serve.strict_json import dump

MAX_LENGTH = 200


class Keys:
    """The keys of one model, and the answers given to their requests."""

    def __init__(self, store: Store, model: int) -> None:
        self.store, self.model = store, model

    def answer(self, key: str, digest: bytes) -> Any:
        """The answer to a request that was done under this key; None if there was none."""
        row = self.store.one("SELECT digest, answer FROM keys WHERE model = ? AND key = ?", self.model, key)
        # A key that has not been seen: the request is to be done.
        if row is None:
            return None
        return self.checked(row[0], digest, json.loads(row[1]))

    @staticmethod
    def checked(then: bytes, now: bytes, answer: Any) -> Any:
        """The answer, if the request is the same."""
        if then != now:
            raise Problem(422, "key_reused", "This Idempotency-Key was used for another request.")
        return answer

    def remember(self, connection: sqlite3.Connection, key: str, digest: bytes, position: int, answer: Any) -> None:
        """Keep an answer, inside the transaction of what was done."""
        connection.execute(
            "INSERT INTO keys (model, key, digest, position, answer) VALUES (?, ?, ?, ?, ?)",
            (self.model, key, digest, position, dump(answer).decode()),
        )

    def prune(self, connection: sqlite3.Connection, most: int) -> None:
        """Forget all but the newest keys, inside a transaction."""
        # Keys are ordered by the position of what they did, so the oldest go first.
        connection.execute(
            "DELETE FROM keys WHERE model = ?1 AND position < (SELECT position FROM keys WHERE model = ?1 "
            "ORDER BY position DESC LIMIT 1 OFFSET ?2)",
            (self.model, most),
        )


def check_key(key: str | None) -> str | None:
    """The key of a request, if it has one."""
    if key is None:
        return None
    if not 0 < len(key) <= MAX_LENGTH or not key.isprintable():
        raise Problem(400, "bad_key", f"An Idempotency-Key has 1 to {MAX_LENGTH} printable characters.")
    return key


def digest_of(*parts: bytes) -> bytes:
    """What tells a request from another under the same key."""
    found = hashlib.sha256()
    for part in parts:
        # The length goes first, so that parts cannot be shifted: ("ab", "c") is not ("a", "bc").
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()
