"""Clients that others have written: Triton's, and MLflow's own."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from serve.records import customers

pytestmark = pytest.mark.xdist_group("serve")
KINDS = {str: "BYTES", float: "FP64", bool: "BOOL"}


@pytest.fixture
def http(server):
    with server.client() as client:
        yield client


def taught(http, name):
    """A model that knows some customers; records to ask about, and the answers to expect."""
    pairs = customers(60)
    body = {"records": [r for r, _ in pairs], "labels": [y for _, y in pairs]}
    http.post(f"/v1/models/{name}/learn", json=body).raise_for_status()
    records = [r for r, _ in customers(5, seed=1)]
    wanted = http.post(f"/v1/models/{name}/predict", json={"records": records}).json()["predictions"]
    return records, wanted


def test_triton_s_client(server, http):
    triton = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")
    name = f"t{uuid.uuid4().hex[:12]}"
    http.put(f"/v1/models/{name}", json={"records": {"text": "note"}}).raise_for_status()
    records, wanted = taught(http, name)
    inputs = []
    for column, value in records[0].items():
        kind = KINDS[type(value)]
        one = triton.InferInput(column, [len(records)], kind)
        one.set_data_from_numpy(np.array([r[column] for r in records], object if kind == "BYTES" else None))
        inputs.append(one)
    text = triton.InferRequestedOutput("predict", binary_data=False)
    with triton.InferenceServerClient(server.url.removeprefix("http://")) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready(name)
        assert client.get_server_metadata()["name"] == "aggro"
        assert {one["name"] for one in client.get_model_metadata(name)["inputs"]} == {*records[0]}
        for version in ("", "1"):
            found = client.infer(name, inputs, model_version=version).as_numpy("predict")
            assert [label.decode() for label in found] == wanted
        assert client.infer(name, inputs, outputs=[text]).as_numpy("predict").tolist() == wanted
        with pytest.raises(triton.InferenceServerException, match="There is no model"):
            client.infer("nobody", inputs)


def test_triton_s_client_with_a_matrix(server, http):
    triton = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")
    name = f"t{uuid.uuid4().hex[:12]}"
    http.put(f"/v1/models/{name}", json={"learner": "PARegressor"}).raise_for_status()
    rows = np.random.default_rng(0).normal(size=(40, 3))
    body = {"records": rows.tolist(), "labels": rows.sum(axis=1).tolist()}
    http.post(f"/v1/models/{name}/learn", json=body).raise_for_status()
    wanted = http.post(f"/v1/models/{name}/predict", json={"records": rows.tolist()}).json()["predictions"]
    one = triton.InferInput("x", [40, 3], "FP64")
    one.set_data_from_numpy(rows)
    with triton.InferenceServerClient(server.url.removeprefix("http://")) as client:
        assert client.infer(name, [one]).as_numpy("predict").tolist() == wanted


def test_mlflow_s_client(server, http):
    reason = "mlflow-skinny is not installed"
    mlflow = pytest.importorskip("mlflow.pyfunc.scoring_server.client", reason=reason)
    pd = pytest.importorskip("pandas")
    host, port = server.url.removeprefix("http://").split(":")
    client = mlflow.ScoringServerClient(host, port)
    client.wait_server_ready()
    assert client.get_version()
    records, wanted = taught(http, "default")
    assert client.invoke(pd.DataFrame(records)).get_predictions()[0].tolist() == wanted
    assert client.invoke(records).get_predictions()[0].tolist() == wanted
    with pytest.raises(Exception, match="no_record"):
        client.invoke(pd.DataFrame(records).head(0))
