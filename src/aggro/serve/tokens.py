"""Bearer tokens: made once, shown once, and kept as a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
import threading
import time
from dataclasses import dataclass

from aggro.serve.problems import Problem
from aggro.serve.shapes import check_name
from aggro.serve.store import Store

SCOPES = ("read", "learn", "admin")  # each includes those before it
TOKEN_PREFIX = "aggro_"
TOKENS_FRESH = 1.0  # seconds for which the list of tokens is used again


@dataclass(frozen=True)
class Token:
    """What is kept of a token."""

    name: str
    hash: bytes
    scope: str
    time: float

    def allows(self, scope: str) -> bool:
        """Whether the token may be used for what needs this scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


class Tokens:
    """The tokens of a store. They are random and long, so a plain SHA-256 keeps them safe."""

    def __init__(self, store: Store, most: int = 1_000) -> None:
        self.store, self.most = store, most
        self._known: list[Token] = []
        self._read = -TOKENS_FRESH
        self._lock = threading.Lock()  # of these two

    def add(self, name: str, scope: str) -> str:
        """Make a token; this is the only time that it is shown."""
        check_name(name)
        if scope not in SCOPES:
            raise Problem(422, "bad_scope", f"A token's scope is one of {', '.join(SCOPES)}.")
        if len(self.listed()) >= self.most:
            raise Problem(409, "too_many_tokens", f"There are {self.most:,} tokens, and no more are allowed.")
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        try:
            # The unique name is checked by the database, so two requests at once cannot both succeed.
            self.store.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", name, hashed(token), scope, time.time())
        except sqlite3.IntegrityError:
            raise Problem(409, "token_exists", f"There is a token named {name!r} already.") from None
        # The new token must work at once.
        self._read_again()
        return token

    def revoke(self, name: str) -> bool:
        """Delete a token; False if there was none of this name."""

        def delete(connection: sqlite3.Connection) -> bool:
            return connection.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount > 0

        found = bool(self.store.write(delete))
        # Only after the commit: a request before it would read the list with the token, and keep it for a while.
        self._read_again()
        return found

    def _read_again(self) -> None:
        """Have the next request read the list from the store."""
        # The lock waits for a request that has read the old list and is about to keep it.
        with self._lock:
            self._read = -TOKENS_FRESH

    def listed(self) -> list[Token]:
        """All tokens, by name."""
        rows = self.store.rows("SELECT name, hash, scopes, time FROM tokens ORDER BY name")
        return [Token(*row) for row in rows]

    def find(self, token: str) -> Token | None:
        """The token that was sent. Every comparison takes the same time, and all are made."""
        # Read at most once a second: otherwise each request would cost a query.
        with self._lock:
            now = time.monotonic()
            if now - self._read > TOKENS_FRESH:
                self._known, self._read = self.listed(), now
            tokens = self._known
        sent, found = hashed(token), None
        # No early exit: the time must not tell how far down the list a token is.
        for known in tokens:
            if hmac.compare_digest(known.hash, sent):
                found = known
        return found


def hashed(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
