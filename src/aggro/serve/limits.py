"""Every limit of the service, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, and how much the service keeps."""

    # One request
    body: int = 16 * 2**20  # bytes
    upload: int = 512 * 2**20  # bytes of a model file
    batch: int = 10_000  # records in one request; an NDJSON stream may have any number
    stream_block: int = 1_000  # lines of an NDJSON stream that are learned together
    columns: int = 10_000  # fields of one record, and columns that a model of records may know
    depth: int = 8  # levels of objects and lists in a record
    text: int = 2**20  # characters of one text
    name: int = 200  # characters of a column's, a class's or a record's name
    classes: int = 1_000  # of one model
    number_digits: int = 400  # of a whole number in JSON

    # Everything together
    models: int = 100
    waiting: int = 100_000  # records of one model that wait for their labels
    waiting_days: float = 30.0
    queue: int = 4_096  # requests of one model that wait to be learned
    connections: int = 1_000
    rate: float = 20_000.0  # requests per second and client
    tokens: int = 1_000

    # Time, in seconds
    read_timeout: float = 30.0  # between two parts of a request's body
    idle_timeout: float = 15.0  # until a new connection sends its first request
    answer_timeout: float = 300.0
    lease: float = 300.0  # how long an example is reserved for the person who labels it

    # The journal
    group: int = 256  # requests that are learned, and committed, together
    snapshot_rows: int = 10_000  # rows between two snapshots
    snapshot_bytes: int = 64 * 2**20  # bytes of the journal between two snapshots
    journal_rows: int = 100_000  # rows that are kept behind the newest snapshots
    journal_bytes: int = 256 * 2**20
    snapshots: int = 8  # restore points of a model
    keys: int = 100_000  # idempotency keys that are remembered for a model
