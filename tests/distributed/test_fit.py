"""Learning in partitions: what it depends on, and what it does not."""

import copy
import gzip
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.apart import texts
from scipy.sparse import csr_matrix

import aggro
from aggro import ActiveLearner, AROWClassifier, PAClassifier, PARegressor, RecordLearner, distributed, streams
from aggro.distributed.executors import ClusterLost, Here, OnDask
from aggro.distributed.sources import Source, chunk_of_block, sources_of
from aggro.distributed.tasks import Start, finish, knowledge_of, learn_partition, mix_some, unite
from aggro.distributed.training import Run
from aggro.learners.base.inside import losses_of
from aggro.testing.variants import assert_same_model, snapshot

da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def rows(n=1200, d=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 5.0, 0.1, 1.0, 1.0][:d]
    w = np.random.default_rng(7).standard_normal((d, classes))
    return X, (X @ w + 0.3 * rng.standard_normal((n, classes))).argmax(axis=1)


def svmlight(path, X, y):
    lines = [f"{t} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x.tolist())) for x, t in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def blocks(X, size=150):
    return da.from_array(X, chunks=(size, X.shape[1]))


@pytest.fixture(scope="module")
def client():
    from distributed import Client

    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as made:
        yield made


# One partition is learning here ------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [PAClassifier, AROWClassifier], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("kind", ["array", "sparse array", "frame", "bag"])
def test_one_partition_of_a_collection_is_local_training_to_the_bit(learner, kind, client):
    X, y = rows(400)
    frame = pd.DataFrame(X, columns=list("abcde"))
    here = learner(random_state=0)
    if kind == "bag":
        pairs = [(dict(zip("abcde", x, strict=True)), int(t)) for x, t in zip(X.tolist(), y, strict=True)]
        data = (db.from_sequence(pairs, npartitions=1),)
        for row, target in pairs:
            here.learn_one(row, target)
    elif kind == "frame":
        data = (dd.from_pandas(frame.assign(y=y), npartitions=1), "y")
        here.partial_fit(frame, y)
    else:
        sparse = kind == "sparse array"
        whole = blocks(X, len(y))
        data = (whole.map_blocks(csr_matrix) if sparse else whole, y)
        here.partial_fit(csr_matrix(X) if sparse else X, y)
    for one in (client, None):
        assert snapshot(distributed.fit(learner(random_state=0), *data, client=one)) == snapshot(here)


@pytest.mark.parametrize("ending", ["svm", "svm.gz", "vw", "csv", "csv.gz", "jsonl", "parquet"])
def test_one_partition_of_files_is_local_training_to_the_byte(ending, tmp_path, client):
    X, y = rows(400)
    path = str(tmp_path / f"a.{ending}")
    table = ending.partition(".")[0] in ("csv", "jsonl", "parquet")
    how = {"label": "y"} if table else {}
    if table:
        frame = pd.DataFrame(X, columns=list("abcde")).assign(plan=np.where(X[:, 0] > 0, "basic", "pro"))
        frame = frame.assign(note="good day " + frame.plan, y=np.where(y, "yes", "no"))
        writers = {"csv": frame.to_csv, "jsonl": frame.to_json, "parquet": frame.to_parquet}
        options = {"orient": "records", "lines": True} if ending == "jsonl" else {"index": False}
        writers[ending.partition(".")[0]](path, **options)
    else:
        text = Path(svmlight(tmp_path / "plain", X, y)).read_text()
        data = (text.replace(" 1:", " | 1:") if ending == "vw" else text).encode()
        Path(path).write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    make = (lambda: RecordLearner(PAClassifier(random_state=0))) if table else (lambda: PAClassifier(random_state=0))
    here = make()
    for chunk in streams.open(path, **how, **({"raw": True, "labels": "classes"} if table else {})):
        here.learn_chunk(chunk)
    here.save(tmp_path / "here.aggro")
    assert here.n_seen_ == len(y)
    for one in (client, None):
        distributed.fit(make(), path, client=one, **how).save(tmp_path / "there.aggro")
        assert (tmp_path / "there.aggro").read_bytes() == (tmp_path / "here.aggro").read_bytes()


def test_rows_that_wait_are_learned_when_the_data_end():
    X, y = rows(100)
    here = PAClassifier(batch_size=64, random_state=0).partial_fit(X, y)
    found = distributed.fit(PAClassifier(batch_size=64, random_state=0), blocks(X, len(y)), y)
    assert snapshot(found) == snapshot(copy.deepcopy(here).flush()) != snapshot(here)


def test_adding_models_up_leaves_them_as_they_were():
    """Another task may have the same, or this one once more."""
    X, y = rows(200)
    base = {"": PAClassifier(batch_size=64, random_state=0)}
    sources = [Source(str(k), str(k), chunk_of_block, (X[k::2], y[k::2])) for k in range(2)]
    start = Start(base, {})
    learned = [learn_partition(start, k, 0, one, *one.pieces) for k, one in enumerate(sources)]
    before = [snapshot(one.learners[""]) for one in learned]
    known = unite(start, [knowledge_of(one, start) for one in learned])
    first, again = (finish(start, known, mix_some(start, known, "rows", learned)) for _ in range(2))
    assert [snapshot(one.learners[""]) for one in learned] == before
    assert snapshot(first[""]) == snapshot(again[""])


def test_empty_partitions_beside_one_change_nothing():
    X, y = rows()
    sources = [
        Source(str(k), str(k), chunk_of_block, (X[some], y[some]))
        for k, some in enumerate([slice(0, 0), slice(0, None), slice(0, 0)])
    ]
    learner = PAClassifier(random_state=0)
    Run({"": learner}, sources, 1, "rows", Here()).learn()
    assert snapshot(learner) == snapshot(PAClassifier(random_state=0).partial_fit(X, y))


# Who learns does not matter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", ["rows", "uniform", "updates"])
def test_a_cluster_gives_the_bits_of_this_process(client, mix):
    X, y = rows(classes=3)
    made = [
        distributed.fit(PAClassifier(random_state=0), blocks(X), y, passes=2, mix=mix, client=one)
        for one in (client, client)
    ]
    run = Run({"": (here := PAClassifier(random_state=0))}, sources_of(blocks(X), y), 2, mix, Here())
    run.learn()
    assert snapshot(made[0]) == snapshot(made[1]) == snapshot(here)
    assert here.n_seen_ == 2 * len(y)


def test_the_number_of_workers_does_not_matter():
    from distributed import Client

    X, y = rows()
    found = []
    for workers in (1, 3):
        with Client(processes=False, n_workers=workers, threads_per_worker=1, dashboard_address=None) as one:
            found.append(distributed.fit(PAClassifier(random_state=0), blocks(X), y, passes=2, client=one))
    assert snapshot(found[0]) == snapshot(found[1])


@pytest.mark.parametrize("kind", [aggro.OSELMClassifier, aggro.FOGDClassifier, aggro.PAMOClassifier])
def test_without_a_seed_all_tasks_have_the_same(kind):
    """Else partitions would not go together, nor would a task that runs again give the same bits."""
    X, y = rows()
    sources = [Source(str(k), str(k), chunk_of_block, (X[k::2], y[k::2])) for k in range(2)]
    learner = kind(random_state=None)
    run = Run({"": learner}, sources, 1, "rows", Here())
    first, again = (learn_partition(Start(run.base, {}), 0, 0, sources[0], *sources[0].pieces) for _ in range(2))
    assert snapshot(first.learners[""]) == snapshot(again.learners[""])
    run.learn()
    assert learner.n_seen_ == len(y)
    assert learner.random_state is None


class Slow:
    """A block that is ready after a while, once; then at once. A file remembers."""

    def __init__(self, path):
        self.path = path

    def __call__(self, X, y):
        if not os.path.exists(self.path):
            with open(self.path, "w") as file:
                file.write(str(os.getpid()))
            time.sleep(60)
        return chunk_of_block(X, y)


@pytest.mark.xdist_group("cluster")
def test_a_worker_that_is_killed_changes_no_bit(tmp_path):
    """SIGKILL in the middle of a partition, when others are done: the scheduler does again what is lost."""
    import threading

    from distributed import Client, LocalCluster

    X, y = rows()
    told = str(tmp_path / "worker")

    def sources(slow):
        parts = np.array_split(np.arange(len(y)), 6)
        return [
            Source(str(k), str(k), Slow(told) if slow and k == 4 else chunk_of_block, (X[part], y[part]))
            for k, part in enumerate(parts)
        ]

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:

        def kill():
            for _ in range(600):
                if os.path.exists(told) and (text := Path(told).read_text()):
                    time.sleep(0.5)
                    os.kill(int(text), signal.SIGKILL)
                    return
                time.sleep(0.1)

        killer = threading.Thread(target=kill)
        killer.start()
        learner = PAClassifier(random_state=0)
        Run({"": learner}, sources(True), 2, "rows", OnDask(client)).learn()
        killer.join()
        assert os.path.exists(told)
    here = PAClassifier(random_state=0)
    Run({"": here}, sources(False), 2, "rows", Here()).learn()
    assert snapshot(learner) == snapshot(here)


# All kinds of data -------------------------------------------------------------------------------------------------


def test_arrays_frames_bags_and_files_of_the_same_rows_agree(tmp_path, client):
    X, y = rows(600)
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    of_frame = distributed.fit(PAClassifier(random_state=0), dd.from_pandas(frame, chunksize=150), "y", client=client)
    of_array = distributed.fit(PAClassifier(random_state=0), blocks(X), y, client=client)
    assert np.array_equal(of_frame.coef_, of_array.coef_)
    dicts = [(dict(zip(names, x, strict=True)), int(t)) for x, t in zip(X.tolist(), y, strict=True)]
    of_bag = distributed.fit(PAClassifier(random_state=0), db.from_sequence(dicts, npartitions=4), client=client)
    assert of_bag.feature_names_in_.tolist() == names
    np.testing.assert_allclose(of_bag.coef_, of_array.coef_, rtol=1e-9)
    for k in range(4):
        svmlight(tmp_path / f"{k}.svm", X[150 * k : 150 * (k + 1)], y[150 * k : 150 * (k + 1)])
    of_files = distributed.fit(PAClassifier(random_state=0), str(tmp_path / "*.svm"), client=client)
    np.testing.assert_allclose(of_files.coef_, of_array.coef_, rtol=1e-9)


def test_sparse_blocks_and_weights(client):
    X, y = rows(400)
    s = np.where(np.arange(400) % 3, 1.0, 0.0)
    sparse = blocks(X, 100).map_blocks(csr_matrix)
    found = distributed.fit(PAClassifier(random_state=0), sparse, y, sample_weight=s, client=client)
    assert found.n_seen_ == int(s.sum())


def test_records_with_columns_that_come_late(client):
    """A column that only later partitions have, in different orders: the start learns of them, and all begin again."""
    rng = np.random.default_rng(0)
    records = []
    for k in range(2400):
        age, plan = float(rng.normal(40, 10)), str(rng.choice(["a", "b"]))
        record = {"age": age, "plan": plan}
        late = {"city": str(rng.choice(["x", "y"])), "note": "late words " + plan}
        if k >= 1200:
            record |= late if k < 1800 else dict(reversed(late.items()))
        records.append((record, int(age > 40)))
    bag = db.from_sequence(records, npartitions=4)
    found = distributed.fit(RecordLearner(), bag, client=client)
    assert found.n_seen_ == 2400
    assert {"city", "note"} <= set(found.columns_)
    assert {"city=x", "city=y", "plan=a"} <= set(found.feature_names_)
    again = distributed.fit(RecordLearner(), bag)
    assert again.feature_names_ == found.feature_names_


@pytest.mark.parametrize("passes", [1, 2])
def test_raw_tables_in_parts(tmp_path, passes):
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "plan": rng.choice(["basic", "pro"], n)})
    frame["out"] = np.where(frame.age + 10 * (frame.plan == "pro") + rng.normal(0, 3, n) > 45, "yes", "no")
    path = str(tmp_path / "t.csv")
    frame.to_csv(path, index=False)
    cut = {"partition_bytes": 20_000, "chunk_bytes": 10_000}
    model = distributed.fit(RecordLearner(), path, passes=passes, **cut)
    assert model.n_seen_ == passes * n
    assert model.score(frame[["age", "plan"]], frame.out) > 0.9
    assert distributed.evaluate(model, path, **cut).compute()["error"] < 0.1


# What only some have -----------------------------------------------------------------------------------------------


def test_classes_and_features_that_only_some_partitions_have():
    told = [
        [({"red": 1.0, "all": 1.0}, "r"), ({"green": 1.0, "all": 1.0}, "g")] * 30,
        [({"blue": 1.0, "all": 1.0}, "b"), ({"green": 1.0}, "g")] * 30,
        [({"red": 1.0}, "r"), ({"blue": 1.0}, "b"), ({"green": 1.0}, "g")] * 20,
    ]
    bag = db.from_delayed([dask_value(part) for part in told])
    model = distributed.fit(PAClassifier(random_state=0), bag, passes=3)
    assert model.classes_.tolist() == ["b", "g", "r"]
    assert [model.predict_one({word: 1.0}) for word in ("red", "green", "blue")] == ["r", "g", "b"]


def dask_value(value):
    from dask.delayed import delayed

    return delayed(value, pure=False)


# Files on the way --------------------------------------------------------------------------------------------------


def test_a_run_goes_on_from_the_model_of_the_last_pass(tmp_path):
    X, y = rows()
    path, kept = svmlight(tmp_path / "a.svm", X, y), str(tmp_path / "m.aggro")
    cut = {"partition_bytes": 2**14, "chunk_bytes": 2**14}
    whole = distributed.fit(PAClassifier(random_state=0), path, passes=3, **cut)
    distributed.fit(PAClassifier(random_state=0), path, passes=1, checkpoint=kept, **cut)
    assert aggro.load(kept).n_seen_ == len(y)
    told = []
    resumed = distributed.fit(
        PAClassifier(random_state=0), path, passes=3, checkpoint=kept, resume=True, progress=told.append, **cut
    )
    assert snapshot(resumed) == snapshot(whole)
    assert {one.epoch for one in told} == {1, 2}
    with pytest.raises(ValueError, match="another run"):
        distributed.fit(PAClassifier(C=0.5, random_state=0), path, checkpoint=kept, resume=True, **cut)
    with pytest.raises(ValueError, match="another run: its partitions"):
        distributed.fit(PAClassifier(random_state=0), path, checkpoint=kept, resume=True, chunk_bytes=2**14)
    with pytest.raises(ValueError, match="another run: its partitions"):
        distributed.fit(PAClassifier(random_state=0), path, checkpoint=kept, resume=True, skip_bad=True, **cut)


def test_a_cluster_that_goes_away_is_said_and_the_last_model_kept(tmp_path):
    from distributed import Client, LocalCluster

    X, y = rows()
    cluster = LocalCluster(processes=False, n_workers=1, dashboard_address=None)
    client = Client(cluster)
    learner, kept = PAClassifier(random_state=0), str(tmp_path / "m.aggro")

    def end(progress):
        if progress.epoch == 1 and progress.done == 2:
            client.close()
            cluster.close()

    run = Run({"": learner}, sources_of(blocks(X), y), 3, "rows", OnDask(client), end)
    run.keep_in(kept, False)
    with pytest.raises(ClusterLost, match="mixed after pass 1 of 3 is kept"):
        run.learn()
    one = distributed.fit(PAClassifier(random_state=0), blocks(X), y)
    assert_same_model(learner, one)
    assert_same_model(aggro.load(kept), one)


# Refused -----------------------------------------------------------------------------------------------------------


def test_a_malformed_line_names_its_file_and_line(tmp_path, client):
    X, y = rows()
    path = svmlight(tmp_path / "a.svm", X, y)
    lines = (tmp_path / "a.svm").read_text().split("\n")
    lines[900] = "1 2:many"
    (tmp_path / "a.svm").write_text("\n".join(lines))
    cut = {"partition_bytes": 2**14, "chunk_bytes": 2**14}
    with pytest.raises(ValueError, match=r"a\.svm, line 901"):
        distributed.fit(PAClassifier(), path, client=client, **cut)
    found = distributed.fit(PAClassifier(), path, client=client, skip_bad=True, **cut)
    assert found.n_seen_ == len(y) - 1


def test_another_version_is_refused_by_name(client, monkeypatch):
    """A worker that is there is asked before anything is learned."""
    X, y = rows(300)
    monkeypatch.setattr(OnDask, "submit", None)  # nothing of this package is sent
    run = Run({"": PAClassifier()}, sources_of(blocks(X), y), 1, "rows", OnDask(client))
    monkeypatch.setattr(client, "run_on_scheduler", lambda function: aggro.__version__)
    for theirs, said in (("0.0.1", "has aggro 0.0.1, and"), ("", "has no aggro, and")):
        monkeypatch.setattr(client, "run", lambda function, theirs=theirs: {"tcp://far": theirs})
        with pytest.raises(RuntimeError, match=f"The worker tcp://far {said} the client has {aggro.__version__}"):
            run.learn()
    monkeypatch.setattr(client, "run_on_scheduler", lambda function: "")
    with pytest.raises(RuntimeError, match="The scheduler has no aggro, and the client has"):
        run.learn()


@pytest.mark.parametrize("task", ["learn_partition", "knowledge_of", "mix_some", "add_some", "finish"])
def test_a_worker_with_another_version_that_comes_later_is_refused_by_name(client, monkeypatch, task):
    """Whatever it is given to do."""
    X, y = rows(1600)
    run = Run({"": PAClassifier()}, sources_of(blocks(X, 150), y), 1, "rows", OnDask(client))

    def wants(real):
        def submit(self, function, *arguments):
            self.version = "9.9" if function.__name__ == task else aggro.__version__
            return real(self, function, *arguments)

        return submit

    for name in ("submit", "submit_all"):
        monkeypatch.setattr(OnDask, name, wants(getattr(OnDask, name)))
    with pytest.raises(RuntimeError, match=rf"worker .* has aggro {aggro.__version__}, and the client has 9\.9"):
        run.learn()


def test_a_run_waits_until_there_is_a_worker():
    """Some clusters have workers only when there is a task for them."""
    from distributed import Client, LocalCluster

    X, y = rows(300)
    with (
        LocalCluster(n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as one,
    ):
        cluster.adapt(minimum=0, maximum=1, interval="50ms")
        assert not one.nthreads()
        found = distributed.fit(PAClassifier(random_state=0), blocks(X), y, client=one)
    assert found.n_seen_ == 300


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: distributed.fit(object(), X, y), "no learner"),
        (lambda X, y: distributed.fit(ActiveLearner(), X, y), "asks for one label after another"),
        (lambda X, y: distributed.fit(PAClassifier(), X, y, mix="best"), "mix='best'"),
        (lambda X, y: distributed.fit(PAClassifier(), X, y, passes=0), "passes"),
        (lambda X, y: distributed.fit(PAClassifier(), X, y[:-1]), "has 300 rows, and target has 299"),
        (lambda X, y: distributed.fit(PAClassifier(), X, y, label="y"), "is for files"),
        (lambda X, y: distributed.fit(PAClassifier(), np.zeros((3, 2)), y), "dask.array.from_array"),
        (lambda X, y: distributed.fit(PAClassifier(), X, y, resume=True), "checkpoint"),
        (lambda X, y: distributed.fit(PAClassifier(), X), "y"),
        (lambda X, y: distributed.fit(PAClassifier(), "no-such-file.svm"), "no-such-file"),
        (lambda X, y: distributed.fit(PAClassifier(), db.from_sequence([({"a": 1},)])), "row of the bag"),
        (lambda X, y: distributed.fit(PAClassifier, X, y), r"PAClassifier is a class\. Make a learner of it"),
        (lambda X, y: distributed.fit(PAClassifier(), X, "y"), "An array has no column 'y'"),
        (lambda X, y: distributed.fit(PAClassifier(), X, y, client="tcp://far"), r"Say Client\(address\)"),
        (lambda X, y: distributed.fit(PAClassifier(), pd.DataFrame(), y), "dask.dataframe.from_pandas"),
        (lambda X, y: distributed.sweep(PAClassifier(), X, y), "a dict or a list of learners, got PAClassifier"),
        (lambda X, y: distributed.sweep([PAClassifier], X, y), "is a class"),
        (lambda X, y: distributed.sweep([PAClassifier(), PARegressor()], X, y), "cannot be compared"),
        (lambda X, y: distributed.grid(PAClassifier(), C="auto"), r"C must be a list of values to try: C=\['auto'\]"),
        (lambda X, y: distributed.grid(PAClassifier(), C=0.1), r"C=\[0\.1\]"),
        (lambda X, y: distributed.predict(PAClassifier(), X), "not fitted yet"),
        (lambda X, y: distributed.evaluate(PARegressor(), X, y), "not fitted yet"),
        (lambda X, y: distributed.evaluate(object(), X, y), "object is no learner"),
    ],
)
def test_what_cannot_be_is_said(call, words):
    X, y = rows(300)
    with pytest.raises((TypeError, ValueError, OSError), match=words):
        call(blocks(X), y)


def test_an_asynchronous_client_is_refused():
    class Later:
        asynchronous, submit, run_on_scheduler = True, None, None

    X, y = rows(300)
    with pytest.raises(TypeError, match="without asynchronous=True"):
        distributed.fit(PAClassifier(), blocks(X), y, client=Later())


@pytest.mark.parametrize(("place", "kind"), [("", IsADirectoryError), ("nowhere/m.aggro", FileNotFoundError)])
def test_a_checkpoint_that_cannot_be_written_is_refused_before_anything_is_learned(tmp_path, place, kind):
    X, y = rows(300)
    told = []
    with pytest.raises(kind, match="Could not save the model"):
        distributed.fit(PAClassifier(), blocks(X), y, checkpoint=tmp_path / place, progress=told.append)
    assert not told
    distributed.fit(PAClassifier(), blocks(X), y, checkpoint=tmp_path / "m.aggro")
    assert os.listdir(tmp_path) == ["m.aggro"]


def test_rows_without_a_label_are_counted_and_refused(tmp_path):
    (tmp_path / "t.csv").write_text("age,plan,out\n" + "40,a,yes\n20,b,no\n" * 10 + "30,a,\n20,b,\n")
    with pytest.raises(ValueError, match=r"t\.csv: 2 of 22 rows have no label\. Leave such rows out first"):
        distributed.fit(RecordLearner(), str(tmp_path / "t.csv"), label="out")
    for row in ({"a": 1.0}, ({"a": 1.0}, None)):
        bag = db.from_sequence([({"a": 1.0}, "x"), row], npartitions=1)
        with pytest.raises(ValueError, match="partition 0 of the bag: a row has no label"):
            distributed.fit(PAClassifier(), bag)
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "y": [1.0, None]}), npartitions=1)
    with pytest.raises(ValueError, match="a row has no label"):
        distributed.fit(PAClassifier(), frame, "y")


def test_columns_may_have_numbers_for_names():
    X, y = rows(300)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y).rename(columns={"y": 7})
    found = distributed.fit(PAClassifier(random_state=0), dd.from_pandas(frame, npartitions=2), 7)
    assert found.feature_names_in_.tolist() == list("abcde")
    assert found.classes_.tolist() == [0, 1]


def test_a_learner_that_has_learned_begins_anew_or_goes_on():
    X, y = rows(600)
    learner = PAClassifier(random_state=0).partial_fit(X, y)
    again = distributed.fit(copy.deepcopy(learner), blocks(X), y)
    assert again.n_seen_ == 600
    on = distributed.fit(learner.set_params(warm_start=True), blocks(X), y)
    assert on.n_seen_ == 1200


def test_rows_that_a_model_cannot_learn_leave_it_as_it_was(client):
    X, y = rows(600)
    learner = PAClassifier(random_state=0).partial_fit(X, y)
    before = snapshot(learner)
    X[500, 2] = np.nan
    with pytest.raises(ValueError, match=r"block 3 of the array.*NaN"):
        distributed.fit(learner, blocks(X), y, client=client)
    assert snapshot(learner) == before


# Sweeps, predictions -----------------------------------------------------------------------------------------------


def test_a_sweep_is_as_many_fits(client):
    X, y = rows()
    learners = distributed.grid(PAClassifier(step="pa1", random_state=0), C=[1e-6, 0.1], average=[False, True])
    found = distributed.sweep(learners, blocks(X), y, passes=2, client=client)
    assert [one.error for one in found] == sorted(one.error for one in found)
    assert len(found) == 4
    for trial in found:
        alone = distributed.fit(copy.deepcopy(learners[trial.name]), blocks(X), y, passes=2)
        assert_same_model(trial.learner, alone)
        once = distributed.fit(copy.deepcopy(learners[trial.name]), blocks(X), y)
        assert trial.error == once.n_mistakes_ / len(y) == trial.curve.error
        assert (trial.mean_loss, trial.updates) == (losses_of(once) / len(y), once.n_updates_)
    assert "PAClassifier(C=0.1" in repr(found)
    assert found.table()[0]["name"] == found.best.name


def test_each_partition_is_read_once_for_all(tmp_path):
    X, y = rows(300)
    read = []

    def chunks(X, y):
        read.append(len(y))
        return chunk_of_block(X, y)

    sources = [Source(str(k), str(k), chunks, (X[100 * k :][:100], y[100 * k :][:100])) for k in range(3)]
    learners = {name: PAClassifier(C=C) for name, C in (("a", 0.1), ("b", 1.0), ("c", 10.0))}
    Run(learners, sources, 1, "rows", Here()).learn()
    assert read == [100, 100, 100]


def test_predictions_are_lazy_and_right(client):
    X, y = rows(600, classes=3)
    model = PAClassifier().fit(X, y)
    lazy = distributed.predict(model, blocks(X))
    assert np.array_equal(lazy.compute(), model.predict(X))
    shares = distributed.predict(model, blocks(X), method="predict_proba")
    assert shares.shape == (600, 3)
    np.testing.assert_array_equal(shares.compute(), model.predict_proba(X))
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = PAClassifier().fit(frame, np.array(["u", "v", "w"])[y])
    parts = dd.from_pandas(frame, npartitions=3)
    assert distributed.predict(named, parts).compute().tolist() == named.predict(frame).tolist()
    assert list(distributed.predict(named, parts, method="decision_function").columns) == ["u", "v", "w"]
    dicts = [dict(zip("abcde", x, strict=True)) for x in X[:40].tolist()]
    asked = distributed.predict(named, db.from_sequence(dicts, npartitions=2)).compute()
    assert asked == [named.predict_one(row) for row in dicts]
    with pytest.raises(ValueError, match="method"):
        distributed.predict(model, blocks(X), method="guess")


def test_errors_of_a_collection():
    X, y = rows(600)
    model = PAClassifier().fit(X, y)
    found = distributed.evaluate(model, blocks(X), y).compute()
    assert found == {"rows": 600.0, "error": pytest.approx(1 - model.score(X, y))}
    t = X @ [1.0, 0.2, 0.0, 3.0, -1.0]
    regressor = PARegressor().fit(X, t)
    told = distributed.evaluate(regressor, blocks(X), t).compute()
    assert told["r2"] == pytest.approx(regressor.score(X, t))


def test_a_rare_feature_weighs_the_same_with_names_and_without():
    """In one of eight partitions only: whether the others know it by name or by number of columns does not matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4))
    X[:, 3] = 0.0
    X[10, 3] = X[50, 3] = 1.0
    y = (X[:, 0] + X[:, 3] > 0).astype(int)
    dicts = [({f"x{j}": float(v) for j, v in enumerate(x) if v}, int(t)) for x, t in zip(X, y, strict=True)]
    named = distributed.fit(PAClassifier(random_state=0), db.from_sequence(dicts, npartitions=8))
    plain = distributed.fit(PAClassifier(random_state=0), blocks(X, 100), y)
    by_name = dict(zip(named.feature_names_in_, named.coef_[0], strict=True))
    np.testing.assert_allclose([by_name[f"x{j}"] for j in range(4)], plain.coef_[0], rtol=1e-6)


def test_a_target_that_would_stay_among_the_columns_is_refused():
    X, y = rows(300)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")).assign(y=y), npartitions=3)
    with pytest.raises(ValueError, match="Say target='y'"):
        distributed.fit(PAClassifier(), frame, frame["y"])


def test_targets_of_text_beside_an_array():
    X, y = rows(300)
    found = distributed.fit(PAClassifier(), blocks(X), pd.Series(np.where(y, "yes", "no"), dtype=object))
    assert found.classes_.tolist() == ["no", "yes"]


def test_errors_need_targets_of_the_same_kind():
    X, y = rows(300)
    model = PAClassifier().fit(X, y)
    with pytest.raises(ValueError, match="no targets"):
        distributed.evaluate(model, blocks(X)).compute()
    with pytest.raises(ValueError, match="same kind"):
        distributed.evaluate(model, blocks(X), np.where(y, "1", "0")).compute()
    far = PARegressor().fit(X, 1e9 + X[:, 0])
    told = distributed.evaluate(far, blocks(X), 1e9 + X[:, 0]).compute()
    assert told["r2"] == pytest.approx(far.score(X, 1e9 + X[:, 0]), abs=1e-6)


# Words and labels of raw tables --------------------------------------------------------------------------------------


def test_a_table_of_many_words_in_one_piece_and_in_parts(tmp_path):
    paths = [texts(tmp_path / f"{k}.csv", 200, k) for k in range(3)]
    whole = distributed.fit(RecordLearner(PAClassifier(random_state=0)), paths[0], label="label")
    assert whole.encoder_.width > 1000
    apart = distributed.fit(RecordLearner(PAClassifier(random_state=0)), paths, label="label")
    assert apart.encoder_.width > whole.encoder_.width
    found = distributed.sweep({"a": RecordLearner(PAClassifier(random_state=0))}, paths, label="label")
    assert snapshot(found.best.learner)[1:] == snapshot(apart)[1:]
    for model in (whole, apart):
        assert distributed.evaluate(model, texts(tmp_path / "new.csv", 200, 9), label="label").compute()["error"] < 0.2


def test_learners_that_know_more_words_than_there_may_be_are_not_merged():
    base = RecordLearner(PAClassifier(random_state=0), max_features=50)
    learned = []
    for k in range(2):
        one = copy.deepcopy(base)
        for j in range(40):
            one.learn_one({"note": f"some words {k}a{j} {k}b{j} of a note"}, j % 2)
        learned.append(one)
    with pytest.raises(ValueError, match="max_features=50: which categories and words share a place"):
        distributed.merge(base, learned)


def test_a_missing_label_of_a_frame_is_left_out(tmp_path):
    frame = pd.DataFrame({"a": [1.0, -1.0, 2.0, -2.0] * 5, "label": ["p", "q", None, "q"] * 5})
    model = PAClassifier(random_state=0).fit(frame[["a"]].iloc[[0, 1, 3]], ["p", "q", "q"])
    found = distributed.evaluate(model, dd.from_pandas(frame, npartitions=2), "label").compute()
    assert found == {"rows": 15, "unlabelled": 5, "error": 0.0}


def test_a_sweep_counts_the_errors_of_its_own_rows():
    X, y = rows()
    knows = PAClassifier(random_state=0, warm_start=True).partial_fit(X[:600], 1 - y[:600])  # all of it wrong
    went_on = copy.deepcopy(knows).partial_fit(X[600:], y[600:])
    found = distributed.sweep({"knows": knows}, blocks(X[600:], 600), y[600:])
    before = PAClassifier(random_state=0).partial_fit(X[:600], 1 - y[:600]).n_mistakes_
    assert found.best.error == (went_on.n_mistakes_ - before) / 600


def test_what_cannot_be_combined_is_refused_before_anything_is_learned():
    X, y = rows(n=60)
    learner = aggro.KernelPAClassifier(kernel="precomputed")
    told = []
    with pytest.raises(ValueError, match="KernelPAClassifier: Models with kernel='precomputed' cannot be combined"):
        distributed.fit(learner, blocks(X @ X.T, 20), y, progress=told.append)
    assert not told
