"""Who may ask what: tokens, scopes, rates, hosts; and the commands that make them."""

from __future__ import annotations

import logging

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
    import asyncio

    return asyncio.run(asked(*arguments, **options))


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

        def fault(*_):
            raise RuntimeError("inside")

        monkeypatch.setattr(models.find("default"), "predict", fault)
        with caplog.at_level(logging.DEBUG, logger="aggro.serve"):
            answer = ask(service, "POST", "/v1/models/default/predict", json={"record": {"x": "line\nforged \x1b[31m"}})
        assert answer.status_code == 500
        assert "forged" not in caplog.text
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
    assert "aggro token add" in str(mistake("serve", "--tokens", "--port", "0", *folder))
    mistake("serve", "--learner", "Nobody", *folder)
    mistake("serve", "--set", "C=-1", *folder)
