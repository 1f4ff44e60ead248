"""The backend for Label Studio: its protocol, and a Label Studio of its own environment if there is one."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from serve.records import customers
from serve.server import PATIENCE

from aggro.serve.problems import Problem
from aggro.serve.web.guard import bearer

pytestmark = pytest.mark.xdist_group("serve")
# Label Studio needs other versions of many packages, so it is a command of an environment of its own.
LABEL_STUDIO = os.environ.get("AGGRO_LABEL_STUDIO") or shutil.which("label-studio")
INTERFACE = (
    '<View><Text name="note" value="$note"/><Choices name="outcome" toName="note" choice="single">'
    '<Choice value="leaves"/><Choice value="stays"/></Choices></View>'
)


def annotation(id, label, **more):
    result = {"from_name": "outcome", "to_name": "note", "type": "choices", "value": {"choices": [label]}}
    return {"id": id, "result": [result], "was_cancelled": False, **more}


class Backend:
    """A model of the server, as Label Studio calls it."""

    def __init__(self, server, name, **spec):
        self.http, self.name = server.client(), name
        self.http.put(f"/v1/models/{name}", json=spec).raise_for_status()

    def call(self, what, body=None):
        path = f"/label-studio/{self.name}/{what}"
        return self.http.get(path) if body is None else self.http.post(path, json=body)

    def good(self, what, body=None):
        answer = self.call(what, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def rows(self):
        return self.http.get(f"/v1/models/{self.name}").json()["rows"]


@pytest.fixture
def backend(server, request):
    name = f"label-studio-{abs(hash(request.node.name)) % 10**9}"
    made = Backend(server, name)
    yield made
    made.http.close()


def learned(backend, n=40):
    for k, (record, label) in enumerate(customers(n)):
        task = {"id": k, "data": {**record, "nested": {"left": "out"}}}
        body = {"action": "ANNOTATION_CREATED", "task": task, "annotation": annotation(9000 + k, label, task=k)}
        assert backend.good("webhook", body) == {"learned": 1, "undone": 0}


def asked(backend, records):
    tasks = [{"id": k, "data": record} for k, record in enumerate(records)]
    return backend.good("predict", {"tasks": tasks, "project": "1.1", "label_config": INTERFACE})


def test_it_is_there_and_takes_a_project(backend):
    assert backend.good("health") == {"status": "UP"}
    found = backend.good("setup", {"project": "1.1", "schema": INTERFACE, "hostname": "http://x", "access_token": "y"})
    assert found == {"model_version": f"{backend.name}-0"}
    assert backend.http.get("/label-studio/nobody/health").status_code == 404


def test_a_model_that_knows_nothing_guesses_nothing(backend):
    (found,) = asked(backend, [{"note": "a refund"}])["results"]
    assert (found["result"], found["score"]) == ([], 0.0)


def test_guesses_have_the_form_and_the_score_of_the_model(backend):
    learned(backend)
    records = [record for record, _ in customers(20, seed=5)]
    found = asked(backend, records)
    answer = backend.http.post(
        f"/v1/models/{backend.name}/predict", json={"records": records, "probabilities": True}
    ).json()
    assert len(found["results"]) == 20
    for one, label, shares in zip(found["results"], answer["predictions"], answer["probabilities"], strict=True):
        assert one["result"] == [annotation(0, label)["result"][0]]
        assert one["score"] == shares[label]
        assert one["model_version"] == found["model_version"] == f"{backend.name}-40"
    assert asked(backend, [])["results"] == []


def test_an_annotation_is_learned_once_changed_and_taken_back(backend):
    learned(backend)
    record, label = customers(1, seed=9)[0]
    before = backend.http.get(f"/v1/models/{backend.name}/download").content
    body = {"action": "ANNOTATION_CREATED", "task": {"id": 99, "data": record}, "annotation": annotation(99, label)}
    assert backend.good("webhook", body)["learned"] == 1
    assert backend.good("webhook", body) == {"learned": 0, "undone": 0}  # it came twice
    other = "stays" if label == "leaves" else "leaves"
    changed = {**body, "action": "ANNOTATION_UPDATED", "annotation": annotation(99, other)}
    assert backend.good("webhook", changed) == {"learned": 1, "undone": 1}
    deleted = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 99}], "project": {"id": 1}}
    assert backend.good("webhook", deleted) == {"learned": 0, "undone": 1}
    assert backend.good("webhook", deleted) == {"learned": 0, "undone": 0}
    assert backend.http.get(f"/v1/models/{backend.name}/download").content == before


def test_many_at_once_and_those_that_say_nothing(backend):
    tasks = [{"id": k, "data": record} for k, (record, _) in enumerate(customers(5))]
    made = [annotation(k, label, task=k) for k, (_, label) in enumerate(customers(5))]
    made[3]["was_cancelled"] = True
    made[4]["result"] = []
    body = {"action": "ANNOTATIONS_CREATED", "task": tasks, "annotation": made}
    assert backend.good("webhook", body)["learned"] == backend.rows() == 3
    assert backend.good("webhook", {"action": "START_TRAINING", "project": {"id": 1}})["learned"] == 0


def test_numbers(server):
    backend = Backend(server, "ratings", learner="PARegressor")
    for k in range(30):
        result = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 1 + k % 5}}
        body = {
            "action": "ANNOTATION_CREATED",
            "task": {"id": k, "data": {"x": k % 5}},
            "annotation": {"id": k, "result": [result]},
        }
        assert backend.good("webhook", body)["learned"] == 1
    config = '<View><Text name="text" value="$x"/><Rating name="stars" toName="text"/></View>'
    (found,) = backend.good("predict", {"tasks": [{"id": 1, "data": {"x": 3}}], "label_config": config})["results"]
    assert found["result"][0]["type"] == "rating"
    assert found["result"][0]["value"]["rating"] in range(1, 6)
    backend.http.close()


@pytest.mark.parametrize(
    ("what", "body", "said"),
    [
        ("setup", {"schema": "<View><Number name='n' toName='t'/></View>"}, "has no <Choices>"),
        ("setup", {"schema": "<View>"}, "is not XML"),
        ("setup", {"schema": '<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>'}, "document type"),
        ("setup", {}, "'schema' is missing"),
        ("predict", {"label_config": INTERFACE, "tasks": "all"}, "'tasks' is missing"),
        ("predict", {"label_config": INTERFACE, "tasks": [{"id": 1}]}, "'data' is missing"),
        ("webhook", [], "'action' is missing"),
        ("webhook", {"action": "ANNOTATIONS_CREATED", "annotation": [], "task": [{"id": []}]}, "as 'id'"),
        ("webhook", {"action": "ANNOTATIONS_DELETED", "annotations": [7]}, "as 'id'"),
        ("webhook", {"action": "ANNOTATION_CREATED"}, "'annotation' is missing"),
        ("webhook", {"action": "ANNOTATION_CREATED", "annotation": {"id": "x"}, "task": {"data": {}}}, "as 'id'"),
        (
            "webhook",
            {
                "action": "ANNOTATION_CREATED",
                "task": {"id": 1, "data": {"note": "x"}},
                "annotation": {"id": 1, "result": [{"type": "choices", "value": {"choices": ["a", "b"]}}]},
            },
            "one choice",
        ),
    ],
)
def test_what_is_wrong_is_said(backend, what, body, said):
    answer = backend.call(what, body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
    assert backend.rows() == 0


def test_a_token_may_come_as_a_password():
    """Label Studio has Basic authentication, and no other."""
    for user in (b"ada:", b":"):
        assert bearer(b"Basic " + base64.b64encode(user + b"aggro_secret")) == "aggro_secret"
    for header in (b"Basic ???", b"Basic", b"Basic " + base64.b64encode(b"ada:"), b"Basic \xff", b"Digest x"):
        with pytest.raises(Problem) as refused:
            bearer(header)
        assert refused.value.status == 401


# Label Studio itself ----------------------------------------------------------------------------------

EMAIL, PASSWORD, TOKEN = "ada@example.org", "a-long-password-1", "1234567890abcdef1234567890abcdef12345678"


@pytest.fixture
def label_studio(tmp_path):
    """A Label Studio on a free port, with one user."""
    if LABEL_STUDIO is None:
        pytest.skip("there is no label-studio command: set AGGRO_LABEL_STUDIO to one")
    if sys.platform == "win32":
        pytest.skip("processes are ended by signals here")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [LABEL_STUDIO, "start", "--no-browser", "--port", str(port), "--data-dir", str(tmp_path)]
    command += ["--username", EMAIL, "--password", PASSWORD, "--user-token", TOKEN, "--enable-legacy-api-token"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    quiet = {"COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": ""}
    quiet |= {"ML_BLOCK_LOCAL_IP": "false", "SSRF_PROTECTION_ENABLED": "false"}  # the model is on this machine, too
    with open(tmp_path / "log.txt", "w") as log:
        process = subprocess.Popen(
            command, env={**plain, **quiet}, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True
        )
    try:
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, (tmp_path / "log.txt").read_text()[-2000:]
            assert time.monotonic() < end
            try:
                if httpx.get(f"{url}/health", trust_env=False).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.5)
        headers = {"Authorization": f"Token {TOKEN}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60.0, trust_env=False) as http:
            yield http
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def posted(http, path, body):
    answer = http.post(path, json=body)
    assert answer.status_code < 300, (path, answer.text[:1000])
    return answer.json()


def eventually(find, wanted):
    end = time.monotonic() + 30.0
    while (found := find()) != wanted and time.monotonic() < end:
        time.sleep(0.2)
    assert found == wanted, found


def test_label_studio_itself(label_studio, backend):
    """It connects, gets guesses with scores, and the model learns what is annotated, changed and deleted."""
    url = f"{backend.http.base_url}".rstrip("/") + f"/label-studio/{backend.name}"
    learned(backend)
    project = posted(label_studio, "/api/projects/", {"title": "visits", "label_config": INTERFACE})["id"]
    rows = [record for record, _ in customers(12, seed=3)]
    posted(label_studio, f"/api/projects/{project}/import", [{"data": row} for row in rows])
    connected = posted(label_studio, "/api/ml/", {"project": project, "url": url, "title": "aggro"})
    found = label_studio.get(f"/api/ml/{connected['id']}").json()
    assert (found["state"], found["model_version"]) == ("CO", f"{backend.name}-40")

    tasks = label_studio.get("/api/tasks/", params={"project": project, "fields": "all"}).json()["tasks"]
    action = {"selectedItems": {"all": True, "excluded": []}}
    posted(label_studio, f"/api/dm/actions/?id=retrieve_tasks_predictions&project={project}", action)
    predictions = label_studio.get("/api/predictions/", params={"project": project}).json()
    assert len(predictions) == 12
    expected = {task["id"]: task["data"] for task in tasks}
    guesses = asked(backend, [expected[one["task"]] for one in predictions])["results"]
    for one, guess in zip(predictions, guesses, strict=True):
        assert one["result"][0]["value"] == guess["result"][0]["value"]
        assert one["score"] == pytest.approx(guess["score"])

    posted(label_studio, "/api/webhooks/", {"url": f"{url}/webhook", "project": project, "send_payload": True})
    task, before = tasks[0]["id"], backend.http.get(f"/v1/models/{backend.name}/download").content
    made = posted(label_studio, f"/api/tasks/{task}/annotations/", {"result": annotation(0, "leaves")["result"]})
    eventually(backend.rows, 41)
    changed = {"result": annotation(0, "stays")["result"]}
    assert label_studio.patch(f"/api/annotations/{made['id']}/", json=changed).status_code == 200
    # Label Studio may tell of one change several times: then it is taken back and learned anew each time.
    eventually(lambda: backend.http.get(f"/v1/models/{backend.name}").json()["position"] >= 43, True)
    eventually(backend.rows, 41)
    assert label_studio.delete(f"/api/annotations/{made['id']}/").status_code == 204
    eventually(backend.rows, 40)
    assert backend.http.get(f"/v1/models/{backend.name}/download").content == before
