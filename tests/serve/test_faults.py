"""A full disk, a clock that is set, clients that stall, too many connections."""

from __future__ import annotations

import socket
import sys
import threading
import time

import pytest

if sys.platform != "linux":
    pytest.skip("limits of a process that runs can be changed on Linux only", allow_module_level=True)

from serve.conftest import SMALL
from serve.faults import allow_files, answer_on, closed_within, crowd, fill_disk, serving
from serve.records import customers
from serve.test_core import bits, crashed, one, teach

from aggro.client import Client, ServeError
from aggro.serve import Limits, Models
from aggro.serve.shapes import Examples
from aggro.serve.web import requests
from aggro.serve.web.requests import LONG_BODY

pytestmark = pytest.mark.xdist_group("serve")
POST = b"POST /v1/models/default/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"


def test_a_full_disk_refuses_to_learn_until_there_is_room(tmp_path):
    found = fill_disk(tmp_path)
    assert found["acknowledged"] > 200


@pytest.mark.parametrize("years", [-30, 30])
def test_a_clock_that_is_set_changes_nothing(models, tmp_path, monkeypatch, years):
    model = models.find("default")
    teach(model, customers(40))
    model.waiting.put(["early"], [{"age": 1.0}], [None], [None]).result()
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + years * 365 * 86_400)
    model.waiting.put(["late"], [{"age": 2.0}], [None], [None]).result()
    assert model.waiting.find("early") is not None
    teach(model, customers(100, seed=1), start=40)
    model.undo("c130").result()
    model.learn(Examples([], True, ["stays"], ["early"])).result()
    before = bits(model)
    crashed(models)
    monkeypatch.setattr(time, "time", clock)
    with Models(tmp_path / "data", SMALL) as again:
        found = again.find("default")
        assert bits(found) == before
        assert found.waiting.find("late") is not None
        found.learn(one(*customers(1, seed=2)[0])).result()


def test_a_client_that_stalls_is_told_so(tmp_path):
    with serving(tmp_path, Limits(read_timeout=0.3, idle_timeout=0.3)) as address:
        with socket.create_connection(address) as stalled, socket.create_connection(address) as silent:
            assert answer_on(stalled, POST + b"{") == 408
            assert closed_within(stalled, 10)
            assert closed_within(silent, 10)
        with socket.create_connection(address) as other:
            assert answer_on(other) == 200


def test_a_body_that_comes_in_parts_is_read(tmp_path):
    body = b'{"record": {"age": 1}}'
    with serving(tmp_path, Limits(read_timeout=5.0)) as address, socket.create_connection(address) as client:
        client.sendall(POST.replace(b"100", b"%d" % len(body)))
        for k in range(len(body) - 1):
            client.sendall(body[k : k + 1])
            time.sleep(0.002)
        assert answer_on(client, body[-1:]) == 200


def test_too_many_connections_are_refused_politely(tmp_path):
    allow_files(1_000)
    with serving(tmp_path, Limits(connections=20)) as address:
        with socket.create_connection(address) as early:
            assert answer_on(early) == 200
            found = crowd(address, 200)
            assert found == {200: 19, 503: 181}
            assert answer_on(early) == 200  # it was there before
        deadline = time.monotonic() + 10
        while crowd(address, 1) != {200: 1}:  # those that are closed count no longer
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_silent_connections_do_not_keep_others_out_for_long(tmp_path):
    with serving(tmp_path, Limits(connections=5, idle_timeout=0.5)) as address:
        silent = [socket.create_connection(address) for _ in range(5)]
        time.sleep(0.1)
        assert crowd(address, 1) == {503: 1}
        time.sleep(1.0)
        assert crowd(address, 1) == {200: 1}
        for one_of_them in silent:
            one_of_them.close()


def test_requests_during_the_end_are_answered(tmp_path):
    """A server that stops finishes what it has begun."""
    statuses: list[int] = []
    with serving(tmp_path, Limits()) as address:
        client = socket.create_connection(address)
        body = b'{"record": {"age": 1}, "label": "x"}'
        request = b"POST /v1/models/default/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        thread = threading.Thread(target=lambda: statuses.append(answer_on(client, request + body)))
        thread.start()
        time.sleep(0.05)
    thread.join()
    client.close()
    assert statuses == [200]


def test_a_client_that_sends_too_much_is_told_so(tmp_path):
    """It sends all of it before it reads; a connection that is reset would be all that it sees."""
    with serving(tmp_path, Limits(body=100_000)) as (host, port):
        client = Client(f"http://{host}:{port}", retries=0)
        with pytest.raises(ServeError, match="longer than the 100,000 bytes") as caught:
            client.model().predict({"note": "x" * 2**23})
        assert caught.value.status == 413
        assert client.models()


def test_a_long_body_is_read_off_the_event_loop(tmp_path, monkeypatch):
    readers = []

    def parse(body, digits):
        readers.append((len(body) > LONG_BODY, threading.current_thread().name.startswith("aggro-http")))
        return plainly(body, digits)

    plainly = requests.parse
    monkeypatch.setattr(requests, "parse", parse)
    with serving(tmp_path, Limits()) as (host, port):
        model = Client(f"http://{host}:{port}").model()
        for n in (1, 5_000):
            records = [{"plan": "basic", "age": k} for k in range(n)]
            assert model.learn_many(records, ["stays"] * n, batch=n) == n
            assert model.predict_many(records, batch=n) == ["stays"] * n
    assert readers == [(False, False)] * 2 + [(True, True)] * 2
