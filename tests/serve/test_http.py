"""The API over HTTP, against a server in a process of its own."""

from __future__ import annotations

import io
import json
import socket
import uuid

import pytest
from serve.records import customers
from serve.test_tokens import ask

import aggro
from aggro.client import Client, ServeError
from aggro.serve import Limits, Models, Problem, learners
from aggro.serve.shapes import Examples
from aggro.serve.web.service import Service

pytestmark = pytest.mark.xdist_group("serve")
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def http(server):
    with server.client() as client:
        yield client


@pytest.fixture
def path(http):
    """A new model."""
    name = f"m{uuid.uuid4().hex[:12]}"
    assert http.put(f"/v1/models/{name}", json={"records": {"text": "note"}}).status_code == 201
    return f"/v1/models/{name}"


def taught(http, path, n=40):
    pairs = customers(n)
    body = {"records": [r for r, _ in pairs], "labels": [y for _, y in pairs]}
    answer = http.post(f"{path}/learn", json=body)
    assert answer.json()["learned"] == n, answer.text
    return pairs


def refused(answer, status, code=None):
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["message"]
    assert code is None or error["code"] == code
    return error


def test_a_model_named_default_is_there(http):
    assert http.get("/v1/models/default").json()["rows"] == 0
    assert http.post("/v1/models/default/predict", json={"record": {"a": 1}}).json() == {"prediction": None}


def test_one_record_is_learned_and_predicted(http, path):
    for record, label in customers(40):
        answer = http.post(f"{path}/learn", json={"record": record, "label": label})
        assert answer.json()["learned"] == 1
    record, label = customers(1, seed=0)[0]
    assert http.post(f"{path}/predict", json={"record": record}).json() == {"prediction": label}
    found = http.get(path).json()
    assert found["rows"] == 40
    assert found["columns"]["note"] == "text"
    assert 0 < found["error"] < 0.5


def test_many_records(http, path):
    pairs = taught(http, path)
    found = http.post(f"{path}/predict", json={"records": [r for r, _ in pairs]}).json()["predictions"]
    assert sum(one == label for one, (_, label) in zip(found, pairs, strict=True)) > 30


def test_streams_of_lines(http, path):
    pairs = customers(2500)
    lines = "\n".join(json.dumps({"record": r, "label": y}) for r, y in pairs)
    assert http.post(f"{path}/learn", content=lines, headers=LINES).json() == {"learned": 2500}
    answer = http.post(f"{path}/predict", content="\n".join(json.dumps({"record": r}) for r, _ in pairs), headers=LINES)
    found = [json.loads(line)["prediction"] for line in answer.text.splitlines()]
    assert len(found) == 2500
    error = refused(http.post(f"{path}/learn", content=lines[:5000] + "\nrubbish", headers=LINES), 400, "not_json")
    assert error["learned"] == 0
    assert http.get(path).json()["rows"] == 2500


def test_lines_under_a_key_are_learned_once(http, path):
    lines = "\n".join(json.dumps({"record": r, "label": y}) for r, y in customers(1200))
    for _ in range(2):
        answer = http.post(f"{path}/learn", content=lines, headers={**LINES, "Idempotency-Key": "all"})
        assert answer.json() == {"learned": 1200}
    assert http.get(path).json()["rows"] == 1200


def test_lists_of_numbers_and_texts(http, path):
    for k in range(10):
        http.post(f"{path}/learn", json={"record": [k, -k, 1], "label": k % 2}).raise_for_status()
    assert http.post(f"{path}/predict", json={"record": [3, -3, 1]}).json()["prediction"] in (0, 1)
    other = f"{path}-texts"
    http.put(other, json={}).raise_for_status()
    for text, label in [("good film", "+"), ("bad film", "-")] * 5:
        http.post(f"{other}/learn", json={"record": text, "label": label}).raise_for_status()
    assert http.post(f"{other}/predict", json={"record": "good"}).json() == {"prediction": "+"}


def test_nested_records(http, path):
    for k in range(20):
        record = {"user": {"country": ["de", "fr"][k % 2], "age": 20 + k}, "tags": ["new", ["a", "b"][k % 2]]}
        http.post(f"{path}/learn", json={"record": record, "label": ["x", "y"][k % 2]}).raise_for_status()
    assert {"user.country", "user.age", "tags"} <= {*http.get(path).json()["columns"]}
    asked = {"record": {"user": {"country": "fr"}, "tags": ["b"]}, "id": "n"}
    assert http.post(f"{path}/predict", json=asked).json()["prediction"] == "y"
    found = http.post(f"{path}/question", json={"person": "Ada"}).json()["question"]
    assert found["record"] == asked["record"]


def test_inner_fields_are_bounded(tmp_path):
    with Models(tmp_path, Limits(columns=20)) as models:
        model = models.find("default")
        for k in range(3):
            record = {"user": {f"f{k}{j}": float(j) for j in range(8)}}
            found = model.learn(Examples([record], True, ["x"]))
            if k < 2:
                found.result()
        with pytest.raises(Problem, match="may know 20 columns"):
            found.result()
        model.learn(Examples([{"user": {"f00": 1.0}}], True, ["y"])).result()
        assert model.board.rows == 3
        with model.replicas.reading() as side:
            assert learners.as_file(side.learner) == learners.as_file(model.replicas.spare.learner)


def test_a_batch_with_a_bad_row_is_refused_as_a_whole(models):
    plain = aggro.PAClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    plain.save(models.folder / "plain.aggro")
    model, _ = models.upload("plain", (models.folder / "plain.aggro").read_bytes())
    before = learners.as_file(model.whole())
    with pytest.raises(Problem) as caught:
        model.learn(Examples([[1.0, 2.0], [1.0, 2.0, 3.0]], False, [0, 1])).result()
    assert caught.value.status == 422
    assert learners.as_file(model.whole()) == before


def test_labels_that_come_later(http, path):
    taught(http, path)
    record = customers(1, seed=5)[0][0]
    given = http.post(f"{path}/predict", json={"record": record, "id": "visit-1"}).json()
    assert given["id"] == "visit-1"
    assert http.post(f"{path}/predict", json={"record": record, "id": "visit-1"}).json() == given
    refused(http.post(f"{path}/predict", json={"record": {"age": 1}, "id": "visit-1"}), 409, "id_in_use")
    assert http.post(f"{path}/learn", json={"id": "visit-1", "label": "stays"}).json()["learned"] == 1
    refused(http.post(f"{path}/learn", json={"id": "visit-1", "label": "stays"}), 409, "already_learned")
    refused(http.post(f"{path}/learn", json={"id": "visit-2", "label": "stays"}), 404, "unknown_id")
    made = http.post(f"{path}/predict", json={"record": record, "store": True}).json()["id"]
    assert http.post(f"{path}/answer", json={"id": made, "label": "leaves"}).json()["learned"] == 1
    assert http.post(f"{path}/undo", json={"id": made}).json()["undone"] == made
    assert http.get(path).json()["rows"] == 41


def test_ids_are_made_for_examples_without_one(http, path):
    record, label = customers(1)[0]
    made = http.post(f"{path}/learn", json={"record": record, "label": label}).json()["id"]
    http.post(f"{path}/learn", json={"record": record, "label": label}).raise_for_status()
    assert http.post(f"{path}/undo", json={"id": made}).status_code == 200
    refused(http.post(f"{path}/undo", json={"id": made}), 409, "already_undone")
    refused(http.post(f"{path}/learn", json={"record": record, "label": label, "id": "_1.0"}), 422, "bad_id")
    assert http.get(path).json()["rows"] == 1


def test_two_people_never_label_the_same_example(http, path):
    for k in range(4):
        answer = http.post(f"{path}/ask", json={"record": customers(1, seed=k)[0][0], "id": f"q{k}"}).json()
        assert answer["ask"] is True  # nothing is known yet
    first = http.post(f"{path}/question", json={"person": "Ada"}).json()["question"]["id"]
    second = http.post(f"{path}/question", json={"person": "Ben"}).json()["question"]["id"]
    assert first != second
    assert http.post(f"{path}/question", json={"person": "Ada"}).json()["question"]["id"] == first
    refused(http.post(f"{path}/answer", json={"id": first, "label": "x", "person": "Ben"}), 409, "leased")
    assert http.post(f"{path}/answer", json={"id": first, "label": "x", "person": "Ada"}).json()["learned"] == 1
    assert http.post(f"{path}/question", json={"person": "Ada"}).json()["question"]["id"] not in (first, second)


def test_a_skipped_example_waits_for_others_and_for_its_label(http, path):
    for k in range(2):
        body = {"record": customers(1, seed=k)[0][0], "id": f"q{k}"}
        http.post(f"{path}/predict", json=body).raise_for_status()

    def question(person):
        found = http.post(f"{path}/question", json={"person": person}).json()["question"]
        return found and found["id"]

    first = question("Ada")
    refused(http.post(f"{path}/skip", json={"id": first}), 422, "no_person")
    refused(http.post(f"{path}/skip", json={"id": "nobody", "person": "Ada"}), 404, "unknown_id")
    assert http.post(f"{path}/skip", json={"id": first, "person": "Ada"}).json() == {"skipped": first}
    second = question("Ada")
    assert second not in (first, None)
    http.post(f"{path}/skip", json={"id": second, "person": "Ada"}).raise_for_status()
    assert question("Ada") is None
    assert {question("Ben"), question("Cleo")} == {first, second}
    late = http.post(f"{path}/learn", json={"id": first, "label": "stays"})  # the shop knows by now
    assert late.json()["learned"] == 1


def test_questions_and_answers_in_a_stream(http, path):
    rows = [{"record": record, "id": f"s{k}"} for k, (record, _) in enumerate(customers(30))]
    answer = http.post(f"{path}/ask", content="\n".join(map(json.dumps, rows)), headers=LINES)
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["id"] for one in found] == [row["id"] for row in rows]
    assert all(one["ask"] for one in found)  # nothing is known yet
    labels = [{"id": f"s{k}", "label": label} for k, (_, label) in enumerate(customers(30))]
    answer = http.post(f"{path}/answer", content="\n".join(map(json.dumps, labels)), headers=LINES)
    assert answer.json() == {"learned": 30}
    wrong = "\n".join(map(json.dumps, [{"record": {"age": 3}}, {"record": {}}]))
    refused(http.post(f"{path}/ask", content=wrong, headers=LINES), 422)
    refused(http.post(f"{path}/answer", content=json.dumps(rows[0]), headers=LINES), 422)


def test_probabilities_and_reasons(http, path):
    pairs = taught(http, path)
    body = {"record": pairs[0][0], "probabilities": True, "reasons": True}
    found = http.post(f"{path}/predict", json=body).json()
    assert sum(found["probabilities"].values()) == pytest.approx(1.0)
    parts = [one["part"] for one in found["reasons"]["reasons"]]
    assert sum(parts) + found["reasons"]["intercept"] == pytest.approx(found["reasons"]["score"])
    assert http.post(f"{path}/explain", json={"record": pairs[0][0]}).json() == found["reasons"]
    query = {"record": json.dumps(pairs[0][0])}
    assert http.get(f"{path}/explain", params=query).json() == found["reasons"]


def test_a_model_comes_and_goes_as_a_file(http, path, tmp_path):
    pairs = taught(http, path)
    file = tmp_path / "m.aggro"
    file.write_bytes(http.get(f"{path}/download").content)
    model = aggro.load(file)
    answer = http.post(f"{path}/predict", json={"records": [r for r, _ in pairs]}).json()["predictions"]
    assert list(model.predict([r for r, _ in pairs])) == answer
    octets = {"Content-Type": "application/octet-stream"}
    assert http.put(f"{path}-copy", content=file.read_bytes(), headers=octets).status_code == 201
    assert http.put(f"{path}-copy", content=file.read_bytes(), headers=octets).status_code == 200
    assert http.get(f"{path}-copy").json()["rows"] == len(pairs)
    refused(http.put(f"{path}-bad", content=b"rubbish", headers=octets), 422, "not_a_model")


def test_an_uploaded_model_is_compiled_before_it_is_asked(models):
    models.find("default").learn(Examples([{"a": 1.0}], True, ["x"])).result()
    with models.find("default").replicas.reading() as side:
        data = learners.as_file(side.learner)
    octets = {"Content-Type": "application/octet-stream"}
    assert ask(Service(models), "PUT", "/v1/models/copy", content=data, headers=octets).status_code == 201
    with models.find("copy").replicas.reading() as side:
        assert side.ready


def test_snapshots(http, path):
    taught(http, path)
    number = http.post(f"{path}/snapshot").json()["snapshot"]
    http.post(f"{path}/learn", json={"record": {"plan": "pro"}, "label": "stays"}).raise_for_status()
    assert http.post(f"{path}/restore", json={"snapshot": number}).json()["restored"] == number
    assert http.get(path).json()["rows"] == 40
    refused(http.post(f"{path}/restore", json={"snapshot": 10**6}), 404, "no_snapshot")


def test_history_and_metrics(http, path):
    taught(http, path, 200)
    found = http.get(f"{path}/history").json()
    assert found["judged"] <= found["rows"] == 200
    assert {*found["classes"]} == {"leaves", "stays"}
    text = http.get("/metrics").text
    assert f'aggro_rows{{model="{path.rpartition("/")[2]}"}} 200' in text.splitlines()
    assert http.get(f"{path}/weights").json()["weights"]


def test_models_are_created_once(http, path):
    name = path + "-2"
    assert http.put(name, json={"learner": "PARegressor"}).status_code == 201
    assert http.put(name, json={"learner": "PARegressor"}).status_code == 200
    refused(http.put(name, json={"learner": "PAClassifier"}), 409, "model_exists")
    refused(http.put(path + "-3", json={"learner": "Nobody"}), 422, "unknown_learner")
    refused(http.put(path + "-3", json={"settings": {"C": -1}}), 422, "bad_setting")
    refused(http.put(path + "-3", json={"settings": {"nonsense": 1}}), 422, "bad_setting")
    refused(http.put("/v1/models/-bad", json={}), 422, "bad_name")
    assert http.delete(name).json() == {"deleted": name.rpartition("/")[2]}
    refused(http.get(name), 404, "no_model")


HOSTILE = {
    "empty": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"record": {"a": "\xff"}, "label": 1}',
    "NaN": b'{"record": {"a": NaN}, "label": 1}',
    "infinity": b'{"record": {"a": -Infinity}, "label": 1}',
    "an overflow": b'{"record": {"a": 1e999}, "label": 1}',
    "a long number": b'{"record": {"a": ' + b"9" * 10_000 + b'}, "label": 1}',
    "a large number": b'{"record": {"a": ' + b"9" * 300 + b'}, "label": 1}',
    "a large label": b'{"record": {"a": 1}, "label": ' + b"9" * 300 + b"}",
    "keys twice": b'{"record": {"a": 1, "a": 2}, "label": 1}',
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"record":' * 50_000,
    "a value with an object": b'{"record": {"a": {"b": 1e999}}, "label": 1}',
    "a long list of lists": b'{"record": {"a": [' + b"[1]," * 20_000 + b'[1]]}, "label": 1}',
    "a deep value": b'{"record": {"a": ' + b"[" * 300 + b"]" * 300 + b'}, "label": 1}',
    "half of a pair": b'{"record": {"a": "\\ud800"}, "label": 1}',
    "a million columns": b'{"record": {' + b",".join(b'"c%d": 1' % k for k in range(10**6)) + b'}, "label": 1}',
    "a null label": b'{"record": {"a": 1}, "label": null}',
    "no label": b'{"record": {"a": 1}}',
    "an unknown field": b'{"record": {"a": 1}, "label": 1, "lable": 2}',
    "both shapes": b'{"record": {"a": 1}, "labels": [1]}',
    "other lengths": b'{"records": [{"a": 1}], "labels": [1, 2]}',
    "an empty batch": b'{"records": [], "labels": []}',
    "a long name": b'{"record": {"' + b"n" * 1000 + b'": 1}, "label": 1}',
    "a bad id": b'{"record": {"a": 1}, "label": 1, "id": "\\n"}',
    "a bad weight": b'{"record": {"a": 1}, "label": 1, "weight": -1}',
    "a list": b"[1]",
    "a number": b"3",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bodies_are_refused_with_the_reason(http, path, body):
    answer = http.post(f"{path}/learn", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text
    refused(answer, answer.status_code)
    assert answer.text.isascii()
    assert http.get(path).json()["rows"] == 0


def test_large_bodies_and_batches_are_refused(http, path):
    refused(http.post(f"{path}/predict", content=b" " * (17 * 2**20)), 413, "too_large")
    many = [{"a": 1}] * 10_001
    refused(http.post(f"{path}/predict", json={"records": many}), 413, "batch_too_large")


def test_other_hosts_and_other_sites_are_refused(http, path):
    refused(http.get(path, headers={"Host": "evil.example"}), 421, "unknown_host")
    body = {"record": {"a": 1}, "label": 1}
    refused(http.post(f"{path}/learn", json=body, headers={"Origin": "http://evil.example"}), 403, "other_origin")
    refused(http.post(f"{path}/learn", json=body, headers={"Sec-Fetch-Site": "cross-site"}), 403, "other_site")
    form = {"Origin": str(http.base_url).rstrip("/"), "Content-Type": "text/plain"}
    refused(http.post(f"{path}/learn", content=json.dumps(body), headers=form), 415, "form")
    own = {"Origin": str(http.base_url).rstrip("/")}
    assert http.post(f"{path}/learn", json=body, headers=own).status_code == 200


def test_pages_load_nothing_from_elsewhere(http):
    for page in ("/", "/watch", "/label"):
        answer = http.get(page)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http://" not in answer.text.replace("http://127.0.0.1", "").replace("http://www.w3.org", "")
        assert "https://" not in answer.text
        assert " style=" not in answer.text
        assert "<script>" not in answer.text
    refused(http.get("/static/..%2f..%2fapp.py"), 404)


def test_what_is_not_there(http):
    refused(http.get("/nothing"), 404, "no_path")
    refused(http.put("/v1/models/default/learn"), 405, "no_method")
    refused(http.get("/v1/models/default?verbose=1"), 422, "unknown_parameter")


def test_a_client_that_stalls_does_not_hold_others(server, http):
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as stalled:
        stalled.sendall(b"POST /v1/models/default/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert http.get("/health").status_code == 200


def test_the_examples_of_the_document_work(server):
    """On a model of its own that takes the place of default in the paths."""
    with server.client() as http:
        document = http.get("/openapi.json").json()
        name = f"e{uuid.uuid4().hex[:12]}"
        path = f"/v1/models/{name}"
        taught(http, "/v1/models/default", 20)
        http.put(path, json={}).raise_for_status()
        taught(http, path, 20)
        http.post(f"{path}/snapshot").raise_for_status()
        numbers = [one["snapshot"] for one in http.get(path).json()["snapshots"]]
        assert numbers == [1]  # as in the example
        done = []
        for template, methods in document["paths"].items():
            for method, operation in methods.items():
                if "requestBody" not in operation or method == "put":
                    continue
                if template.endswith("/skip"):  # undo came before
                    http.post(f"{path}/predict", json={"record": {"plan": "pro"}, "id": "visit-7"})
                example = operation["requestBody"]["content"]["application/json"]["example"]
                answer = http.request(method, template.format(name=name), json=example)
                if template.endswith("/ask") and not answer.json().get("ask"):  # chance decides: store it so
                    http.post(f"{path}/predict", json=example).raise_for_status()
                assert answer.status_code == 200, (template, answer.text)
                done.append(template)
        assert len(done) > 8


def test_mlflow_s_forms(http, path):
    pairs = taught(http, path)
    record = pairs[0][0]
    wanted = [http.post(f"{path}/predict", json={"record": record}).json()["prediction"]]
    split = {"columns": [*record], "data": [[*record.values()]]}
    for body in (
        {"dataframe_split": split},
        {"dataframe_records": [record]},
        {"instances": [record]},
        {"inputs": {name: [value] for name, value in record.items()}},
    ):
        assert http.post(f"{path}/invocations", json=body).json() == {"predictions": wanted}
    text = io.StringIO()
    text.write(",".join(record) + "\n" + ",".join(map(str, record.values())) + "\n")
    answer = http.post(f"{path}/invocations", content=text.getvalue(), headers={"Content-Type": "text/csv"})
    assert answer.json() == {"predictions": wanted}
    assert http.get("/ping").status_code == 200
    refused(http.post(f"{path}/invocations", json={"rows": []}), 422, "bad_form")


def test_the_open_inference_protocol(http, path):
    pairs = taught(http, path)
    record = pairs[0][0]
    wanted = http.post(f"{path}/predict", json={"record": record}).json()["prediction"]
    path = path.replace("/v1/", "/v2/")
    kinds = {str: "BYTES", float: "FP64", bool: "BOOL"}
    inputs = [
        {"name": name, "shape": [1], "datatype": kinds[type(value)], "data": [value]} for name, value in record.items()
    ]
    found = http.post(f"{path}/infer", json={"inputs": inputs, "id": "7"}).json()
    assert found["outputs"][0]["data"] == [wanted]
    assert found["id"] == "7"
    assert {one["name"] for one in http.get(path).json()["inputs"]} == {*record}
    assert http.get(f"{path}/ready").status_code == 200
    assert http.get("/v2/health/live").status_code == 200
    assert http.get("/v2/health/ready").status_code == 200
    for side in (2, 2**60):
        answer = http.post(f"{path}/infer", json={"inputs": [{**inputs[0], "shape": [side]}]})
        assert answer.status_code == 422
        assert "plan" in answer.json()["error"]  # a text, in this protocol


def test_the_client(server, http):
    client = Client(server.url)
    assert client.ready()
    name = f"c{uuid.uuid4().hex[:12]}"
    model = client.create(name, "PAClassifier", records={"text": "note"})
    pairs = customers(50)
    assert model.learn_many([r for r, _ in pairs], [y for _, y in pairs], batch=20) == 50
    assert model.learn(*pairs[0], id="one more") == 1
    model.undo("one more")
    assert model.predict(pairs[0][0]) in ("leaves", "stays")
    assert len(model.predict_many([r for r, _ in pairs])) == 50
    assert sum(model.predict_proba(pairs[0][0]).values()) == pytest.approx(1.0)
    assert model.explain(pairs[0][0])["reasons"]
    model.predict(pairs[1][0], id="later")
    assert model.answer("later", "stays") == 1
    number = model.snapshot()
    model.restore(number)
    assert model.describe()["rows"] == 51
    assert model.download()[8:9] == b"{"
    assert name in {one["name"] for one in client.models()}
    with pytest.raises(ServeError, match="learned already") as caught:
        model.answer("later", "stays")
    assert caught.value.status == 409
    model.delete()


def test_the_client_sends_again_what_was_not_answered(server):
    """A proxy that drops the first answers: the example is learned once."""
    client = Client(server.url, retries=3)
    model = client.create(f"r{uuid.uuid4().hex[:12]}")
    send, calls = client._send, []

    def dropping(method, path, data, headers):
        found = send(method, path, data, headers)
        calls.append(headers.get("Idempotency-Key"))
        if len(calls) < 3:
            raise ConnectionResetError("the answer was lost")
        return found

    client._send = dropping
    assert model.learn({"a": 1}, "x") == 1
    assert len(calls) == 3
    assert len({*calls}) == 1
    client._send = send
    assert model.describe()["rows"] == 1


def test_nothing_is_compressed(http, path):
    body = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    refused(http.post(f"{path}/predict", content=b"x", headers=body), 415, "compressed")
