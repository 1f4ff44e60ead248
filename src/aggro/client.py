"""A client of ``aggro serve``: predict and learn over HTTP, and retry calls that may have been lost.

It needs nothing but Python. Every call that changes a model carries an idempotency key, so that a call that is sent
again, because the answer did not come, is done once.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

__all__ = ["Client", "Model", "ServeError"]

Record = Mapping[str, Any] | str | Sequence[float]
RETRY_STATUSES = {408, 429, 502, 503, 504}
FIRST_RETRY_PAUSE, LONGEST_RETRY_PAUSE = 0.1, 5.0  # seconds


class ServeError(Exception):
    """The server refused a request.

    Parameters
    ----------
    status : int
        The HTTP status; 0 if the server could not be reached.
    code : str
        A short name of what was wrong, for programs.
    message : str
        The reason, for people.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.status, self.code, self.message = status, code, message


class Client:
    """Connect to a server and its models.

    Parameters
    ----------
    url : str, default="http://127.0.0.1:8765"
        Address of the server.
    token : str, default=None
        The token that ``aggro token add`` printed.
    timeout : float, default=30.0
        Seconds to wait for an answer.
    retries : int, default=5
        How often to retry a call, with growing pauses, if the server cannot be reached or is busy.

    Examples
    --------
    >>> from aggro.client import Client
    >>> model = Client("http://127.0.0.1:8765").model("default")
    >>> model.learn({"plan": "basic"}, "leaves")  # doctest: +SKIP
    1
    >>> model.predict({"plan": "basic"})  # doctest: +SKIP
    'leaves'
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8765", token: str | None = None, timeout: float = 30.0, retries: int = 5
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"The address of a server begins with http:// or https://, got {url!r}.")
        self.url, self.token, self.timeout, self.retries = url.rstrip("/"), token, timeout, retries
        self._parts = parts
        self._local = threading.local()  # a connection for each thread

    def model(self, name: str = "default") -> Model:
        """Get a model of the server by its name."""
        return Model(self, name)

    def models(self) -> list[dict[str, Any]]:
        """List all models."""
        found: list[dict[str, Any]] = self.call("GET", "/v1/models")["models"]
        return found

    def create(self, name: str, learner: str = "PAClassifier", **settings: Any) -> Model:
        """Create a new, untrained model.

        Parameters
        ----------
        name : str
            Its name.
        learner : str, default="PAClassifier"
            Name of the learner.
        **settings
            Parameters of the learner; ``records={...}`` are those of the ``RecordLearner`` around it.
        """
        records = settings.pop("records", {})
        body = {"learner": learner, "settings": settings, "records": records}
        self.call("PUT", f"/v1/models/{quote(name, safe='')}", body)
        return Model(self, name)

    def upload(self, name: str, file: Any) -> Model:
        """Create a model from a file saved by aggro."""
        with open(file, "rb") as opened:
            data = opened.read()
        self.call("PUT", f"/v1/models/{quote(name, safe='')}", data)
        return Model(self, name)

    def ready(self) -> bool:
        """Check whether the server is ready to answer requests."""
        try:
            return bool(self.call("GET", "/ready", again=False)["ready"])
        except (ServeError, OSError):
            return False

    def call(self, method: str, path: str, body: Any = None, *, key: str | None = None, again: bool = True) -> Any:
        """Send a request, retry it if necessary, and return the answer.

        Parameters
        ----------
        method, path : str
            Such as "POST" and "/v1/models/default/predict".
        body : JSON or bytes, default=None
            What to send.
        key : str, default=None
            The idempotency key, for what changes a model.
        again : bool, default=True
            Whether the call may be sent again. It must do no harm if it is done twice, or have a key.
        """
        headers = {"Accept": "application/json"}
        data = None
        if isinstance(body, bytes):
            data, headers["Content-Type"] = body, "application/octet-stream"
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body, allow_nan=False).encode(), "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if key is not None:
            headers["Idempotency-Key"] = key
        for attempt in range(self.retries + 1 if again else 1):
            if attempt:
                time.sleep(min(LONGEST_RETRY_PAUSE, FIRST_RETRY_PAUSE * 2**attempt) * random.uniform(0.5, 1.0))
            try:
                status, kind, answer = self._send(method, path, data, headers)
            except (OSError, http.client.HTTPException) as error:
                failure: Exception = ServeError(0, "unreachable", f"{self.url} cannot be reached: {error}")
                continue
            if status < 400:
                return json.loads(answer) if kind.startswith("application/json") else answer
            failure = problem_of(status, answer)
            if status not in RETRY_STATUSES:
                break
        raise failure

    def _send(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, str, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            secure = self._parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(str(self._parts.hostname), self._parts.port, timeout=self.timeout)
            self._local.connection = connection
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        except BaseException:
            connection.close()
            self._local.connection = None
            raise


def problem_of(status: int, body: bytes) -> ServeError:
    """What the server said was wrong."""
    try:
        error = json.loads(body)["error"]
        return ServeError(status, str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return ServeError(status, "refused", body[:200].decode("utf-8", "replace"))


class Model:
    """A model on a server.

    Parameters
    ----------
    client : Client
        The server.
    name : str
        The model's name.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self._path = f"/v1/models/{quote(name, safe='')}"

    # One record -----------------------------------------------------------------------------------

    def predict(self, record: Record, *, id: str | None = None) -> Any:
        """Predict the label, or the number, of one record; with an id, the server keeps it for its label.

        Parameters
        ----------
        record : dict, str or list of float
            The record.
        id : str, default=None
            Name of the record, for ``answer``.
        """
        body = {"record": record} if id is None else {"record": record, "id": id}
        return self._post("predict", body)["prediction"]

    def predict_proba(self, record: Record) -> dict[str, float]:
        """Estimate the probability of each class for one record."""
        found: dict[str, float] = self._post("predict", {"record": record, "probabilities": True})["probabilities"]
        return found

    def explain(self, record: Record, label: Any = None) -> dict[str, Any]:
        """Compute the contribution of each part of a record to its score."""
        body = {"record": record} if label is None else {"record": record, "label": label}
        found: dict[str, Any] = self._post("explain", body)
        return found

    def learn(self, record: Record, label: Any = None, *, id: str | None = None, weight: float | None = None) -> int:
        """Learn one example, and return the number of learned examples, 1."""
        given = {"record": record, "label": label, "id": id, "weight": weight}
        body = {name: value for name, value in given.items() if value is not None}
        return int(self._post("learn", body, key=True)["learned"])

    # Labels that come later -----------------------------------------------------------------------

    def ask(self, record: Record, *, id: str | None = None) -> bool:
        """Decide whether a label is worth asking for; if so, the server keeps the record for it.

        Without an id one is made, which ``question`` tells.
        """
        return bool(self._post("ask", {"record": record, "id": id or uuid.uuid4().hex})["ask"])

    def answer(self, id: str, label: Any) -> int:
        """Learn the label of a record that was predicted, or asked about, under this id."""
        return int(self._post("learn", {"id": id, "label": label}, key=True)["learned"])

    def undo(self, id: str) -> None:
        """Take a label back, exactly."""
        self._post("undo", {"id": id}, key=True)

    # Many -----------------------------------------------------------------------------------------

    def predict_many(self, records: Iterable[Record], batch: int = 1_000) -> list[Any]:
        """Predict the label, or the number, of each record."""
        found: list[Any] = []
        for part in batches(records, batch):
            found += self._post("predict", {"records": part})["predictions"]
        return found

    def learn_many(self, records: Iterable[Record], labels: Iterable[Any], batch: int = 1_000) -> int:
        """Learn examples in order, and return how many were learned."""
        learned = 0
        for part in batches(zip(records, labels, strict=True), batch):
            body = {"records": [record for record, _ in part], "labels": [label for _, label in part]}
            learned += int(self._post("learn", body, key=True)["learned"])
        return learned

    # The model ------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Describe the model: learner, counters, recent error and drift."""
        found: dict[str, Any] = self.client.call("GET", self._path)
        return found

    def download(self) -> bytes:
        """Download the model as a file for ``aggro.load``."""
        found: bytes = self.client.call("GET", f"{self._path}/download")
        return found

    def snapshot(self) -> int:
        """Take a snapshot, and return its number for ``restore``."""
        return int(self._post("snapshot", {})["snapshot"])

    def restore(self, snapshot: int) -> None:
        """Go back to a snapshot."""
        self._post("restore", {"snapshot": snapshot}, key=True)

    def delete(self) -> None:
        """Delete the model."""
        self.client.call("DELETE", self._path, again=False)

    def _post(self, what: str, body: Any, key: bool = False) -> Any:
        return self.client.call("POST", f"{self._path}/{what}", body, key=uuid.uuid4().hex if key else None)


def batches(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Values in lists of at most this many."""
    found: list[Any] = []
    for value in values:
        found.append(value)
        if len(found) == size:
            yield found
            found = []
    if found:
        yield found
