"""Who may ask what: tokens, scopes, rates, hosts; and the commands that make them."""

from __future__ import annotations

import asyncio
import hmac
import logging
import pickle
import socket
import threading
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest
from helpers.runner import good, mistake

from aggro.serve import Limits, Models, Problem
from aggro.serve.tokens import hashed
from aggro.serve.web.app import Application
from aggro.serve.web.guard import Rates, host_of
from aggro.serve.web.service import Service

pytestmark = pytest.mark.xdist_group("serve")
RECORD = {"record": {"a": 1}}


@pytest.fixture
def service(models):
    return Service(models, needs_token=True, hosts=("models.example.org",))


async def asked(service, method, path, token=None, **options):
    headers = options.pop("headers", {})
    if token is not None:
        headers = {**headers, "Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(Application(service), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.request(method, path, headers=headers, **options)


def ask(*arguments, **options):
    return asyncio.run(asked(*arguments, **options))


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_revoked_token_is_refused_at_once(service, monkeypatch, when):
    tokens = service.tokens
    token = tokens.add("shop", "learn")
    assert tokens.find(token) is not None
    write, listed = tokens.store.write, tokens.listed

    def asked_before(change):
        assert tokens.find(token) is not None  # a request just before the commit
        return write(change)

    def read_slowly():
        rows = listed()
        revoking.start()  # the commit comes after the list was read, and before it is kept
        revoking.join(0.5)
        return rows

    if when == "before":
        monkeypatch.setattr(tokens.store, "write", asked_before)
        tokens.revoke("shop")
    else:
        revoking = threading.Thread(target=tokens.revoke, args=("shop",))
        tokens._read = -1.0
        with monkeypatch.context() as patch:
            patch.setattr(tokens, "listed", read_slowly)
            tokens.find(token)
        revoking.join()
    assert tokens.find(token) is None


def test_a_token_allows_its_scope_and_what_is_below(service):
    tokens = {scope: service.tokens.add(scope, scope) for scope in ("read", "learn", "admin")}
    wanted = {
        ("POST", "/v1/models/default/predict"): ("read", "learn", "admin"),
        ("GET", "/v1/models/default"): ("read", "learn", "admin"),
        ("GET", "/metrics"): ("read", "learn", "admin"),
        ("POST", "/v1/models/default/ask"): ("learn", "admin"),
        ("PUT", "/v1/models/default"): ("admin",),
    }
    for (method, path), allowed in wanted.items():
        body = {} if method == "PUT" else RECORD
        for scope, token in tokens.items():
            options = {"json": body} if method != "GET" else {}
            found = ask(service, method, path, token, **options)
            assert (found.status_code == 200) == (scope in allowed), (method, path, scope, found.text)
            assert found.status_code in (200, 403)
        assert ask(service, method, path).status_code == 401
        assert ask(service, method, path, "aggro_wrong").status_code == 401
    stored = ask(service, "POST", "/v1/models/default/predict", tokens["read"], json={**RECORD, "id": "x"})
    assert stored.status_code == 403  # it writes


def test_what_everybody_may_see(service):
    for path in ("/", "/watch", "/label", "/health", "/static/style.css"):
        assert ask(service, "GET", path).status_code == 200
    assert ask(service, "GET", "/openapi.json").status_code == 401


def test_only_a_hash_is_kept_and_revoking_counts(service, tmp_path):
    token = service.tokens.add("shop", "learn")
    assert service.tokens.listed()[0].hash == hashed(token)
    for file in (tmp_path / "data").glob("aggro.db*"):
        assert token.encode() not in file.read_bytes()
    assert service.tokens.find(token).name == "shop"
    with pytest.raises(Problem, match="token named"):
        service.tokens.add("shop", "read")
    assert service.tokens.revoke("shop")
    assert service.tokens.find(token) is None
    assert not service.tokens.revoke("shop")


def test_hosts(service):
    token = service.tokens.add("t", "read")
    for host, status in {"models.example.org": 200, "LOCALHOST:80": 200, "10.0.0.1:8765": 200, "evil.org": 421}.items():
        assert ask(service, "GET", "/v1/models", token, headers={"Host": host}).status_code == status
    assert [host_of(h) for h in ("[::1]:80", "a:1", "a", "::1")] == ["[::1]", "a", "a", "::1"]


def test_every_token_is_compared_in_constant_time(service, monkeypatch):
    made = [service.tokens.add(name, "read") for name in ("a", "b", "c")]
    compared = []

    def compare(known, sent):
        compared.append(known)
        return hmac.compare_digest(known, sent)

    monkeypatch.setattr("aggro.serve.tokens.hmac", SimpleNamespace(compare_digest=compare))
    for token in (*made, "aggro_wrong"):
        compared.clear()
        found = service.tokens.find(token)
        assert (found is None) == (token == "aggro_wrong")
        assert len(compared) == 3  # whichever it is


def test_answers_carry_what_keeps_browsers_safe(service):
    token = service.tokens.add("t", "read")
    for path in ("/v1/models", "/nothing"):
        headers = ask(service, "GET", path, token).headers
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    headers = ask(service, "GET", "/watch").headers
    assert headers["x-frame-options"] == "DENY"
    assert "script-src 'self'" in headers["content-security-policy"]


def test_a_client_that_asks_too_often_is_told_to_wait(models):
    service = Service(models)
    service.limits = replace(service.limits, rate=3.0)
    app = Application(service)

    async def often():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            forwarded = [{"X-Forwarded-For": f"10.0.0.{k}"} for k in range(6)]  # which anybody may send
            return [await client.get("/health", headers=one) for one in forwarded]

    answers = asyncio.run(often())
    assert [one.status_code for one in answers[:3]] == [200] * 3
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"] == "1"


def test_nothing_is_unpickled(models, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    token = {"Content-Type": "application/octet-stream"}
    answer = ask(Service(models), "PUT", "/v1/models/trap", content=pickle.dumps(Trap()), headers=token)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "not_a_model"
    assert not (tmp_path / "sprung").exists()


def test_rates():
    now = [0.0]
    rates = Rates(3.0, clock=lambda: now[0])
    for _ in range(3):
        rates.check("a")
    rates.check("b")
    with pytest.raises(Problem) as caught:
        rates.check("a")
    assert caught.value.status == 429
    now[0] = 0.5
    rates.check("a")


def test_nothing_of_a_request_reaches_the_log(tmp_path, caplog, monkeypatch):
    with Models(tmp_path, Limits()) as models:
        service = Service(models)

        message = "inside: line\nforged \x1b[31m"

        def fault(*_):
            raise RuntimeError(message)

        monkeypatch.setattr(models.find("default"), "predict", fault)
        with caplog.at_level(logging.DEBUG, logger="aggro.serve"):
            answer = ask(service, "POST", "/v1/models/default/predict", json={"record": {"x": "line\nforged \x1b[31m"}})
        assert answer.status_code == 500
        forged = [line for line in caplog.text.splitlines() if "forged" in line]
        assert forged
        assert all("RuntimeError: inside: line forged" in line for line in forged)  # no line of its own
        assert "\x1b" not in caplog.text
        assert "forged" not in answer.text
        assert answer.json()["error"]["code"] == "fault"


def test_the_command_token(tmp_path):
    folder = ["--dir", str(tmp_path / "f")]
    token = good("token", "add", "shop", "--scope", "read", *folder).out.strip()
    assert token.startswith("aggro_")
    assert "shop  read" in good("token", "list", *folder).out
    mistake("token", "add", "shop", *folder)
    mistake("token", "add", "other", "--scope", "all", *folder)
    good("token", "revoke", "shop", *folder)
    mistake("token", "revoke", "shop", *folder)


def test_the_command_serve_refuses_what_cannot_be(tmp_path):
    folder = ["--dir", str(tmp_path / "f")]
    for needs in (["--tokens"], ["--host", "0.0.0.0"], ["--host", "::"]):  # beyond this machine, always
        assert "aggro token add" in str(mistake("serve", *needs, "--port", "0", *folder))
    mistake("serve", "--learner", "Nobody", *folder)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        taken = str(mistake("serve", "--port", port, "--dir", str(tmp_path / "taken")))
    assert port in taken
    assert "in use" in taken
    assert "--port 0" in taken
    assert not (tmp_path / "taken").exists()
    mistake("serve", "--set", "C=-1", *folder)
