"""The loop of ``follow``, on a broker in this process: killed at every call, and with connections that are lost."""

from __future__ import annotations

import copy
import json
import random
import time

import pytest
from interop.in_memory import Broker, Killed, followed
from serve.records import customers

import aggro
from aggro.interop.brokers import Counts, SourceError, follow, follower, open_source, source
from aggro.interop.brokers.follow import model_in

BAD = [
    b"{oops",
    b"[1]",
    b"\xff",
    b'{"plan": NaN, "label": "stays"}',
    b'{"label": "stays"}',
    b'{"plan": "x", "label": [1]}',
]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(source, "FIRST_PAUSE", 0.0)


def visits(n, seed=0):
    """Records with their labels in them, and some that are malformed."""
    found = [{**record, "label": label} for record, label in customers(n, seed)]
    rng = random.Random(seed)
    for bad in BAD:
        found.insert(rng.randrange(n), bad)
    return found


def bits(path):
    """The model of a file, without its place: as a file again."""
    learner, position = aggro.models.load_checkpoint(path, shell=False)
    again = path.with_name("bits.aggro")
    aggro.models.save(learner, again)
    return again.read_bytes(), position["follow"]["counts"]


def plain(rows, learner=None):
    """What a loop of one line learns."""
    learner = aggro.RecordLearner(aggro.PAClassifier(random_state=0)) if learner is None else copy.deepcopy(learner)
    for row in rows:
        if not isinstance(row, bytes):
            learner.learn_one({name: value for name, value in row.items() if name != "label"}, row["label"])
    return learner


def test_a_process_that_is_held_up_reads_on(tmp_path):
    """Longer than ``idle`` after each batch: messages wait, so it is not the stream that rests."""
    broker = Broker()
    broker.add("in", *visits(60))
    found = followed(broker, tmp_path / "m.aggro", batch=7, idle=0.01, report=lambda _: time.sleep(0.02))
    assert found.counts.learned == 60


def test_all_records_are_learned_and_the_others_set_aside(tmp_path):
    broker, rows = Broker(), visits(300)
    broker.add("in", *rows)
    found = followed(broker, tmp_path / "m.aggro")
    assert found.counts == Counts(records=306, learned=300, dead_letters=6)
    plain(rows).save(tmp_path / "plain.aggro")
    assert bits(tmp_path / "m.aggro")[0] == (tmp_path / "plain.aggro").read_bytes()
    reasons = {entry["message"]: entry["reason"] for entry in broker.written("dead-letters")}
    assert reasons == {
        "{oops": "it is not JSON: Expecting property name enclosed in double quotes at column 2",
        "[1]": "it is a list, and no object",
        "\\xff": "it is not UTF-8: byte 0 is not valid",
        '{"plan": NaN, "label": "stays"}': "NaN is not a JSON number",
        '{"label": "stays"}': "it has no fields",
        '{"plan": "x", "label": [1]}': "its label 'label' is a list: [1]",
    }
    assert broker.acknowledged == {"in": 305}


@pytest.mark.parametrize("seed", range(3))
def test_batches_do_not_show_in_the_model(seed, tmp_path):
    """New columns in the middle, nested ones, changed types: whatever the cuts, the bits are those of one by one."""
    rows, rng = visits(1500), random.Random(seed)
    for row in rows[1200:]:
        if not isinstance(row, bytes):
            row["new column"] = rng.choice(["a", "b"])
    for row in rows[1300:1320]:
        if not isinstance(row, bytes):
            row |= {"tags": ["x", "y"], "age": "unknown"}
    broker = Broker()
    broker.add("in", *rows)
    followed(broker, tmp_path / "m.aggro", batch=rng.choice([1, 7, 64, 1000]))
    plain(rows).save(tmp_path / "plain.aggro")
    assert bits(tmp_path / "m.aggro")[0] == (tmp_path / "plain.aggro").read_bytes()


def test_a_row_that_the_learner_refuses_does_not_take_the_batch_with_it(tmp_path):
    broker = Broker()
    rows = [{"x": float(i % 7), "plan": "ab"[i % 2], "label": i % 2} for i in range(1200)]
    rows[1100]["x"] = 1e300
    rows[1101]["label"] = "a text among numbers"
    broker.add("in", *rows[:1100])
    path = tmp_path / "m.aggro"
    followed(broker, path)
    broker.add("in", *rows[1100:], b'{"x": 1e999, "label": 1}')
    found = followed(broker, path)
    assert found.counts.records == 1201
    assert found.counts.learned + found.counts.dead_letters == 1201
    assert {entry["key"] for entry in broker.written("dead-letters")} >= {"in/1101"}


@pytest.mark.parametrize("way", ["plain", "predictions", "labels"])
def test_killed_at_every_call(way, tmp_path):
    """Whichever call was the last one of a process, the next one ends with the same bits, and all is written once."""
    options = {
        "plain": {},
        "predictions": {"predictions": "out"},
        "labels": {"predictions": "out", "labels": "labels"},
    }[way]

    def run(kill_at):
        folder = tmp_path / str(kill_at)
        folder.mkdir()
        broker, rows = Broker(), visits(60)
        if way == "labels":
            rows = [row if isinstance(row, bytes) else {"id": k, **row} for k, row in enumerate(rows)]
            labels = [{"id": row["id"], "label": row.pop("label")} for row in rows if not isinstance(row, bytes)]
            random.Random(1).shuffle(labels)
            broker.add("labels", *labels, {"id": "nobody", "label": "stays"}, b"?")
        broker.add("in", *rows)
        broker.kill_at = kill_at
        processes = 1
        while True:
            try:
                followed(broker, folder / "m.aggro", batch=9, every=0.0, **options)
            except Killed:
                processes += 1
                broker.kill_at = -1 if processes > 2 else broker.calls + kill_at // 2 + 1
                continue
            return broker, bits(folder / "m.aggro"), processes

    whole, wanted, _ = run(-1)
    kills = 0
    for kill_at in range(1, whole.calls + 1):
        broker, found, processes = run(kill_at)
        kills += processes - 1
        assert found == wanted, kill_at
        for stream in ("out", "dead-letters"):
            assert broker.written(stream) == whole.written(stream), kill_at
        assert broker.acknowledged == whole.acknowledged
    assert kills > whole.calls
    assert wanted[1]["learned"] == 60
    if way != "plain":
        assert len(whole.written("out")) > 50


def test_a_connection_that_is_lost_again_and_again(tmp_path):
    broker, rows = Broker(), visits(200)
    broker.add("in", *rows)
    broker.lost = {*random.Random(0).sample(range(3, 100), 40)}
    found = followed(broker, tmp_path / "m.aggro", batch=9, every=0.0, predictions="out")
    assert found.counts.learned == 200
    assert any("cannot be reached" in note for note in found.notes)
    plain(rows).save(tmp_path / "plain.aggro")
    assert bits(tmp_path / "m.aggro")[0] == (tmp_path / "plain.aggro").read_bytes()
    whole = Broker()
    whole.add("in", *rows)
    followed(whole, tmp_path / "other.aggro", batch=50, predictions="out")
    assert broker.written("out") == whole.written("out")


def test_predictions_are_those_before_a_record_is_learned(tmp_path):
    broker, rows = Broker(), [row for row in visits(100) if not isinstance(row, bytes)]
    broker.add("in", *rows, {"plan": "pro", "age": 50})
    followed(broker, tmp_path / "m.aggro", predictions="out", batch=30)
    learner, expected = aggro.RecordLearner(), []
    for row in rows:
        record = {name: value for name, value in row.items() if name != "label"}
        expected.append(learner.predict_one(record))
        learner.learn_one(record, row["label"])
    written = broker.written("out")
    assert [entry["prediction"] for entry in written[:-1]] == expected[1:]  # of the first there is none
    assert written[-1] == {"key": "in/100", "prediction": learner.predict_one({"plan": "pro", "age": 50})}


def test_labels_come_late_early_twice_and_for_nobody(tmp_path, monkeypatch):
    broker = Broker()
    rows = [{"id": f"v{k}", **record} for k, (record, _) in enumerate(customers(40))]
    labels = [{"id": f"v{k}", "label": label} for k, (_, label) in enumerate(customers(40))]
    broker.add("in", *rows[:30])
    broker.add(
        "labels", *labels[:10], labels[35], labels[35], labels[3], {"id": "nobody", "label": "stays"}, {"id": 7.5}
    )
    path = tmp_path / "m.aggro"
    first = followed(broker, path, labels="labels", predictions="out")
    assert first.counts == Counts(records=30, learned=10, labels=15, predictions=0, dead_letters=2)
    broker.add("in", *rows[30:])
    broker.add("labels", *labels[10:35])
    monkeypatch.setattr(follower, "MOST_EARLY", 1)
    second = followed(broker, path, labels="labels", predictions="out")
    assert second.counts.learned == 36
    assert second.learner.later_.waiting == ["v36", "v37", "v38", "v39"]
    assert second.learner.later_.labelled == 36
    assert all(entry["id"] for entry in broker.written("out"))
    reasons = [entry["reason"] for entry in broker.written("dead-letters")]
    assert "its 'id' is no text and no whole number" in reasons
    assert "another label for the id 'v35' came before, and its record has not come yet" in reasons


def test_numbers_that_are_texts_are_targets_of_a_regressor(tmp_path):
    broker = Broker()
    broker.add("in", {"x": "1", "label": "2.5"}, {"x": "2", "label": 3}, {"x": "3", "label": "many"})
    found = followed(broker, tmp_path / "m.aggro", learner=aggro.PARegressor())
    assert (found.counts.learned, found.counts.dead_letters) == (2, 1)


def test_a_model_goes_on_and_keeps_what_else_its_file_says(tmp_path):
    path, rows = tmp_path / "m.aggro", visits(20)
    learner = plain(rows)
    aggro.models.save(learner, path, {"reading": {"label": "outcome"}})
    broker = Broker()
    broker.add("in", *rows)
    found = followed(broker, path)
    assert found.learner.n_seen_ == 40
    assert aggro.models.load_checkpoint(path)[1]["reading"] == {"label": "outcome"}


def test_a_file_is_not_written_that_is_no_model_for_records(tmp_path):
    path = tmp_path / "m.aggro"
    aggro.PAClassifier().learn_one({"a": 1.0}, 1).save(path)
    with pytest.raises(SourceError, match="rows of numbers"):
        model_in(str(path), None)
    with pytest.raises(SourceError, match="outlier detector"):
        model_in(str(tmp_path / "new.aggro"), aggro.PAUniclass())
    path.write_text("notes")
    before = path.read_bytes()
    with pytest.raises(aggro.models.ModelFileError):
        follow("redis://127.0.0.1:1/visits", path)
    assert path.read_bytes() == before


def test_it_is_found_among_streams():
    from aggro import streams

    assert streams.follow is follow
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = streams.nothing


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mqtt://host/topic", "is not a source"),
        ("visits", "is not a source"),
        ("redis://user:secret@host", "redis://host"),
        ("redis:///visits", "names no stream"),
        ("kafka://host:9092", "names no stream"),
    ],
)
def test_an_address_that_is_none(url, said):
    pytest.importorskip({"redis": "redis", "kafka": "confluent_kafka"}.get(url.partition(":")[0], "aggro"))
    with pytest.raises(SourceError, match=said) as refused:
        open_source(url, "group")
    assert "secret" not in str(refused.value)


def test_a_full_disk_ends_it_and_nothing_is_acknowledged(tmp_path, monkeypatch):
    broker = Broker()
    broker.add("in", *visits(50))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(follower, "save", full)
    with pytest.raises(OSError, match="No space"):
        followed(broker, tmp_path / "m.aggro")
    assert broker.acknowledged == {}


def test_what_cannot_be_said_in_json_is_set_aside(tmp_path):
    broker = Broker()
    deep = b"[" * 100_000
    broker.add("in", *visits(5), deep, json.dumps({"x": 1, "label": "\ud800"}).encode())
    found = followed(broker, tmp_path / "m.aggro")
    assert found.counts.records == 13
