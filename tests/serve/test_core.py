"""One served model without HTTP: what is acknowledged is on the disk, once, and comes back bit for bit."""

from __future__ import annotations

import random
import sqlite3
import threading

import pytest
from serve.conftest import SMALL
from serve.records import customers

from aggro.serve import Limits, Models, Problem, learners
from aggro.serve.board import Board
from aggro.serve.model import Model
from aggro.serve.questions import Leases
from aggro.serve.shapes import Examples
from aggro.serve.store import StoreError
from aggro.serve.waiting import SELECT_WAITING, WaitingRoom

pytestmark = pytest.mark.xdist_group("serve")


def one(record, label, id=None):
    return Examples([record], True, [label], [] if id is None else [id])


def many(pairs, ids=None):
    return Examples([r for r, _ in pairs], False, [y for _, y in pairs], ids or [])


def bits(model: Model) -> bytes:
    """Both copies of a model as a file; they must be the same."""
    model.run(lambda: None).result()
    with model.replicas.reading() as side:
        front = learners.as_file(side.learner)
    assert front == learners.as_file(model.replicas.spare.learner)
    return front


def crashed(models: Models) -> None:
    """Leave everything as a killed process does: no last snapshot, nothing closed in order."""
    models.store.close()
    models._lock_file.close()


def rebuilt(models, tmp_path) -> Models:
    """The models again, after their database was damaged beyond reading."""
    crashed(models)
    for name in ("aggro.db-wal", "aggro.db-shm"):
        (tmp_path / "data" / name).unlink(missing_ok=True)
    (tmp_path / "data" / "aggro.db").write_bytes(b"rubbish" * 1000)
    return Models(tmp_path / "data", SMALL)


def full(change):
    raise StoreError("The disk could not be written: full.")


def problem(future) -> Problem:
    with pytest.raises(Problem) as caught:
        future.result()
    return caught.value


def teach(model: Model, pairs, start=0):
    """Examples one by one, some in batches, with ids."""
    for i in range(0, len(pairs), 5):
        part = pairs[i : i + 5]
        ids = [f"c{start + i + k}" for k in range(len(part))]
        if i % 2:
            model.learn(many(part, ids)).result()
        else:
            for (record, label), id in zip(part, ids, strict=True):
                model.learn(one(record, label, id)).result()


def learned_alone(pairs, without=()):
    """What a learner is that was given the same calls, with nothing of the service around it."""
    learner = learners.make({"learner": "PAClassifier"})
    for i in range(0, len(pairs), 5):
        part = [(r, y) for k, (r, y) in enumerate(pairs[i : i + 5], i) if k not in without]
        if i % 2 and part:
            learners.learn(learner, [r for r, _ in part], [y for _, y in part], [], one=False)
        elif not i % 2:
            for record, label in part:
                learners.learn(learner, [record], [label], [], one=True)
    return learners.as_file(learner)


def test_a_crash_loses_nothing(models, tmp_path):
    pairs = customers(120)
    model = models.find("default")
    teach(model, pairs)
    model.learn(one(*customers(1, seed=9)[0]), "the key", b"digest").result()
    before, board = bits(model), model.board_now().as_json()
    assert model.snapshots.listed()  # so recovery is a snapshot and a replay
    assert model.snapshots.listed()[0].position < model.position
    crashed(models)
    with Models(tmp_path / "data", SMALL) as again:
        found = again.find("default")
        assert bits(found) == before
        assert found.board_now().as_json() == board
        assert found.learn(one(*customers(1, seed=9)[0]), "the key", b"digest").result()["learned"] == 1
        assert found.board.rows == 121  # the key is known: nothing was learned twice


def test_the_model_is_the_one_that_learned_the_same_calls(models):
    pairs = customers(60)
    teach(models.find("default"), pairs)
    assert bits(models.find("default")) == learned_alone(pairs)


def test_undo_gives_the_model_that_never_learned_the_label(models):
    pairs = customers(90)
    model = models.find("default")
    teach(model, pairs)
    for k in (88, 57, 60):  # in a batch and alone, behind and before a snapshot
        model.undo(f"c{k}").result()
    assert bits(model) == learned_alone(pairs, without={88, 57, 60})
    assert model.board.rows == 87
    assert problem(model.undo("c88")).status in (404, 409)


def test_undo_survives_a_crash(models, tmp_path):
    pairs = customers(70)
    model = models.find("default")
    teach(model, pairs)
    model.undo("c65").result()
    teach(model, customers(10, seed=3), start=70)
    before = bits(model)
    crashed(models)
    with Models(tmp_path / "data", SMALL) as again:
        assert bits(again.find("default")) == before


def test_what_is_too_old_to_undo_is_refused(models):
    model = models.find("default")
    teach(model, customers(400))
    assert model.journal.first() > 1
    refused = problem(model.undo("c0"))
    assert (refused.status, refused.code) == (409, "too_old")


def test_the_journal_is_bounded(models):
    model = models.find("default")
    sizes = []
    for k in range(8):
        teach(model, customers(100, seed=k), start=100 * k)
        model.run(lambda: None).result()
        sizes.append(model.journal.size()[0])
    assert max(sizes) <= SMALL.journal_rows + 2 * SMALL.snapshot_rows + SMALL.group
    assert len(model.snapshots.listed()) <= SMALL.snapshots
    assert len([*model.folder.glob("*.aggro")]) <= SMALL.snapshots


def test_the_database_stops_growing_when_the_journal_is_full(models):
    model = models.find("default")
    text, pages = "words " * 500, []
    for k in range(8):
        model.learn(many([({"plan": "pro", "note": f"{k} {i} {text}"}, "stays") for i in range(100)])).result()
        model.run(lambda: None).result()
        pages.append(models.store.one("PRAGMA page_count")[0])
    assert pages[-1] <= pages[3]  # what the oldest entries took is used again


def test_an_earlier_snapshot_comes_back(models, tmp_path):
    model = models.find("default")
    teach(model, customers(30))
    saved = model.snapshot().result()["snapshot"]
    then = bits(model)
    teach(model, customers(30, seed=1), start=30)
    model.restore(saved).result()
    assert bits(model) == then
    assert problem(model.undo("c40")).code == "not_learned"
    teach(model, customers(10, seed=2), start=60)
    now = bits(model)
    crashed(models)
    with Models(tmp_path / "data", SMALL) as again:
        assert bits(again.find("default")) == now


def test_a_label_before_a_restored_snapshot_can_be_taken_back(models):
    pairs = customers(30)
    model = models.find("default")
    teach(model, pairs)
    saved = model.snapshot().result()["snapshot"]
    teach(model, customers(30, seed=1), start=30)
    model.restore(saved).result()
    model.undo("c7").result()
    assert bits(model) == learned_alone(pairs, without={7})


def test_a_damaged_snapshot_is_passed_over(models, tmp_path):
    model = models.find("default")
    teach(model, customers(120))
    before = bits(model)
    newest, older = model.snapshots.listed()[:2]
    file = model.folder / newest.file
    crashed(models)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with Models(tmp_path / "data", SMALL) as again:
        found = again.find("default")
        assert bits(found) == before
        assert older.position < newest.position


def test_a_damaged_entry_is_set_aside_with_those_after_it(models, tmp_path):
    pairs = customers(40)
    model = models.find("default")
    teach(model, pairs[:30])
    before, position = bits(model), model.position
    teach(model, pairs[30:], start=30)
    crashed(models)
    with sqlite3.connect(tmp_path / "data" / "aggro.db") as database:
        sql = "UPDATE journal SET body = X'7B7D' WHERE position = ?"
        database.execute(sql, (position + 1,))
    database.close()
    with Models(tmp_path / "data", SMALL) as again:
        found = again.find("default")
        assert bits(found) == before
        assert "damaged" in again.notes[0]
        (aside,) = again.store.one("SELECT count(*) FROM set_aside")
        assert aside > 0
        teach(found, customers(5, seed=5), start=100)  # and it goes on


def test_rubbish_behind_the_log_changes_nothing(models, tmp_path):
    """A power cut leaves half a page at the end of the write-ahead log."""
    model = models.find("default")
    teach(model, customers(40))
    before = bits(model)
    log = tmp_path / "data" / "aggro.db-wal"
    with log.open("ab") as file:
        file.write(b"\xa5" * 5000)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("aggro.db", "aggro.db-wal"):
        (copy / name).write_bytes((tmp_path / "data" / name).read_bytes())
    with Models(copy, SMALL) as again:
        assert bits(again.find("default")) == before


def test_a_database_that_cannot_be_read_is_set_aside(models, tmp_path):
    model = models.find("default")
    teach(model, customers(40))
    model.snapshot().result()
    before = bits(model)
    with rebuilt(models, tmp_path) as again:
        assert bits(again.find("default")) == before
        assert "damaged" in again.notes[0]


def test_a_model_of_a_rebuilt_database_is_still_the_one_that_was_described(models, tmp_path):
    spec = learners.check_spec({"learner": "PAClassifier", "settings": {"C": 2.0}})
    model, _ = models.create("second", spec)
    teach(model, customers(20))
    model.snapshot().result()
    with rebuilt(models, tmp_path) as again:
        assert again.create("second", spec) == (again.find("second"), False)  # PUT may be repeated
        teach(again.find("second"), customers(5, seed=1), start=20)
        before = bits(again.find("second"))
        crashed(again)
    with Models(tmp_path / "data", SMALL) as third:
        assert bits(third.find("second")) == before


def test_a_model_that_has_lost_its_snapshot_is_never_made_anew_from_what_is_left(models, tmp_path):
    model = models.find("default")
    teach(model, customers(20))
    model.snapshot().result()
    with rebuilt(models, tmp_path) as again:
        teach(again.find("default"), customers(5, seed=1), start=20)
        crashed(again)
    for file in model.folder.glob("*.aggro"):
        file.write_bytes(b"rubbish")
    with Models(tmp_path / "data", SMALL) as third:
        assert "default" in third.failed


def test_a_folder_without_a_good_snapshot_goes_to_no_other_model(models, tmp_path):
    model, _ = models.create("second", learners.check_spec({}))
    teach(model, customers(20))
    model.snapshot().result()
    for file in model.folder.glob("*.aggro"):
        file.write_bytes(b"rubbish")
    with rebuilt(models, tmp_path) as again:
        third, _ = again.create("third", learners.check_spec({}))
        assert third.number > model.number
        assert "second" in (model.folder / "model.json").read_text()


def test_a_model_is_created_while_another_of_its_name_is_being_deleted(models, monkeypatch):
    models.create("second", learners.check_spec({}))
    found, forget = [], models._forget

    def forget_slowly(number):
        other = threading.Thread(target=lambda: found.append(models.create("second", learners.check_spec({}))[1]))
        threads.append(other)
        other.start()
        other.join(0.3)
        forget(number)

    threads = []
    monkeypatch.setattr(models, "_forget", forget_slowly)
    models.delete("second")
    threads[0].join()
    assert found == [True]


def test_a_model_that_cannot_be_deleted_can_be_deleted_later(models, monkeypatch):
    models.create("second", learners.check_spec({}))
    with monkeypatch.context() as patch:
        patch.setattr(models.store, "write", full)
        with pytest.raises(StoreError):
            models.delete("second")
    models.delete("second")
    assert models.create("second", learners.check_spec({}))[1]


def test_a_full_disk_learns_nothing(models, monkeypatch):
    model = models.find("default")
    teach(model, customers(20))
    before = bits(model)

    with monkeypatch.context() as patch:
        patch.setattr(models.store, "write", full)
        refused = problem(model.learn(one(*customers(1, seed=4)[0])))
        assert (refused.status, refused.code) == (503, "not_stored")
    assert bits(model) == before
    model.learn(one(*customers(1, seed=4)[0])).result()


def test_a_label_that_comes_later_counts_the_prediction_that_was_given(models):
    model = models.find("default")
    teach(model, customers(20))
    judged, errors = model.board.judged, model.board.errors
    record = {"plan": "team", "age": 45.0, "note": "happy with it", "new": True}
    model.waiting.put(["late"], [record], ["something else"], [None]).result()
    model.learn(Examples([], True, ["stays"], ["late"])).result()
    assert (model.board.judged, model.board.errors) == (judged + 1, errors + 1)
    assert model.waiting.find("late") is None
    assert problem(model.learn(Examples([], True, ["stays"], ["late"]))).code == "already_learned"
    model.undo("late").result()
    assert model.waiting.find("late").prediction == "something else"
    assert problem(model.learn(Examples([], True, ["stays"], ["never seen"]))).status == 404


def test_answers_say_how_good_the_model_is_and_whether_more_would_help(models, tmp_path):
    model = models.find("default")
    assert model.board.estimated_error is None
    assert model.board.verdict().startswith("too early to say: ")
    for k, (record, label) in enumerate(customers(60)):
        with model.replicas.reading() as side:
            (guess,) = model.predict(Examples([record], True), side)
        model.waiting.put([f"q{k}"], [record], [guess], [0.5 if k % 2 else 1.0]).result()
        model.learn(Examples([], True, [label], [f"q{k}"])).result()
    board = model.board_now()
    assert board.answered == 59  # of the first there was no guess
    assert 0.0 < board.estimated_error < 0.5
    assert board.verdict().partition(":")[0] in ("yes", "perhaps", "hardly")
    assert board.gain[-1][0] >= 50
    crashed(models)
    with Models(tmp_path / "data", SMALL) as again:
        assert again.find("default").board_now().as_json() == board.as_json()


def test_records_without_labels_are_bounded(models):
    model = models.find("default")
    for k in range(30):
        model.waiting.put([f"w{k}"], [{"a": k}], [None], [None]).result()
    assert model.waiting.counts() == (SMALL.waiting, 0)
    assert model.waiting.find("w0") is None
    assert model.waiting.expired == 10


def test_a_request_under_a_known_key_is_answered_again(models):
    model = models.find("default")
    record, label = customers(1)[0]
    futures = [model.learn(one(record, label), "k", b"same") for _ in range(5)]
    answers = [future.result() for future in futures]
    assert answers == answers[:1] * 5
    assert model.board.rows == 1
    assert problem(model.learn(one(record, label), "k", b"other")).code == "key_reused"


def test_a_refused_request_leaves_no_trace(models):
    model = models.find("default")
    teach(model, customers(20))
    before = bits(model)
    refused = problem(model.learn(one({"plan": "pro"}, 3)))
    assert refused.status == 422
    assert problem(model.learn(many([({"plan": "pro"}, "stays"), ({"plan": "pro"}, 4)]))).status == 422
    assert problem(model.learn(Examples([{"plan": "pro"}], True))).code == "no_label"
    assert bits(model) == before


def test_predictions_see_whole_models_and_do_not_wait(models):
    """While a batch is being learned, readers get the model from before it, and then the one after it."""
    model = models.find("default")
    teach(model, customers(20))
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            with model.replicas.reading() as side:
                first = learners.rows_learned(side.learner)
                learners.predict(side.learner, [customers(1)[0][0]], one=True)
                assert learners.rows_learned(side.learner) == first
                seen.add(first)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(5):
        model.learn(many(customers(200, seed=k))).result()
    stop.set()
    for reader in readers:
        reader.join()
    assert seen <= {20 + 200 * k for k in range(6)}


def test_columns_classes_and_models_are_bounded(tmp_path):
    limits = Limits(columns=5, classes=3, models=2)
    with Models(tmp_path, limits) as models:
        model = models.find("default")
        model.learn(one({"a": 1, "b": 2}, "x")).result()
        assert problem(model.learn(one({f"c{k}": 1 for k in range(4)}, "x"))).code == "too_many_columns"
        for label in "yz":
            model.learn(one({"a": 1}, label)).result()
        assert problem(model.learn(one({"a": 1}, "w"))).code == "too_many_classes"
        models.create("second", learners.check_spec({}))
        with pytest.raises(Problem, match="no more are allowed"):
            models.create("third", learners.check_spec({}))


@pytest.mark.parametrize("learner", ["PARegressor", "PAUniclass"])
def test_learners_of_other_tasks_are_served(models, tmp_path, learner):
    model, new = models.create("other", learners.check_spec({"learner": learner}))
    assert new
    for k in range(20):
        labels = [float(k)] if learner == "PARegressor" else []
        model.learn(Examples([{"x": float(k), "y": float(k % 3)}], True, labels)).result()
    with model.replicas.reading() as side:
        (found,) = learners.predict(side.learner, [{"x": 3.0, "y": 0.0}], one=True)
    assert isinstance(found, (int, float))
    before = bits(model)
    crashed(models)
    with Models(tmp_path / "data", SMALL) as again:
        assert bits(again.find("other")) == before


def test_an_uploaded_model_goes_on(models, tmp_path):
    teach(models.find("default"), customers(20))
    data = bits(models.find("default"))
    model, new = models.upload("copy", data)
    assert new
    assert bits(model) == data
    teach(model, customers(10, seed=1), start=20)
    before = bits(model)
    crashed(models)
    with Models(tmp_path / "data", SMALL) as again:
        assert bits(again.find("copy")) == before
        assert again.find("copy").board.rows == 30


def test_a_folder_is_served_by_one_process(models, tmp_path):
    with pytest.raises(Exception, match="served by another process"):
        Models(tmp_path / "data", SMALL)


def test_a_deleted_model_is_gone(models):
    teach(models.find("default"), customers(10))
    folder = models.find("default").folder
    models.delete("default")
    assert not folder.exists()
    with pytest.raises(Problem):
        models.find("default")
    for table in ("journal", "labels", "snapshots", "waiting"):
        assert models.store.one(f"SELECT count(*) FROM {table}") == (0,)


def test_many_waiting_records_do_not_slow_the_next_one(tmp_path, monkeypatch):
    checks = []
    expire = WaitingRoom._expire
    monkeypatch.setattr(WaitingRoom, "_expire", lambda room, connection: checks.append(expire(room, connection)))
    with Models(tmp_path / "data", Limits(waiting=1_000)) as models:
        room = models.find("default").waiting
        for k in range(5):
            room.put(
                [f"b{k}-{i}" for i in range(250)], [{"a": i} for i in range(250)], ["x"] * 250, [None] * 250
            ).result()
        checks.clear()
        for k in range(60):
            room.put([f"s{k}"], [{"a": k}], ["x"], [None if k % 2 else 0.5]).result()
        assert len(checks) <= 6  # they are not counted each time
        assert 1_000 <= room.counts()[0] <= 1_010
        assert room.counts()[1] == 30
        assert room.expired == 1_310 - room.counts()[0]
        for asked in (True, False):  # nor gone through for a question
            what = "IS NOT NULL" if asked else "IS NULL"
            sql = f"EXPLAIN QUERY PLAN {SELECT_WAITING} WHERE model = ? AND asked {what} ORDER BY number LIMIT ?"
            (step,) = models.store.rows(sql, 1, 50)
            assert "USING INDEX waiting_" in step[3]


def test_a_model_is_compared_with_one_that_needs_no_record():
    board = Board("regression")
    board.rows = 1_000  # it came as a file
    for label in (4.0, 6.0, 5.0):
        board.add({}, label, 0.0, "")
    assert board.plain_error == pytest.approx((2.0 + 0.0) / 2)  # the first has no mean before it
    board = Board("classification")
    for label in "abbb":
        board.add({}, label, "a", "")
    assert (board.plain_error, board.commonest) == (pytest.approx(2 / 3), "b")
    assert Board.from_json(board.as_json()).as_json() == board.as_json()


def test_a_long_curve_of_answers_keeps_its_newest_point():
    board = Board("classification")
    for k in range(25 * 300):
        board.add({}, "a", "a", "", 1.0, "a" if k % 3 else "b")
        if len(board.gain) > 1 and board.answered % 25 == 0:
            assert board.gain[-1][0] == board.answered
    assert len(board.gain) <= 256


def label_by_hand(models, n):
    """Answer what the model asks about, as a person on the page does; how often the model's guess was wrong."""
    model, leases = models.find("default"), Leases(300.0)
    pairs = customers(n, seed=4)
    truth = {f"r{k}": label for k, (_, label) in enumerate(pairs)}
    for k, (record, _) in enumerate(pairs):  # nothing is known yet, so all are asked about
        model.waiting.put([f"r{k}"], [record], [None], [1.0]).result()
    while (found := leases.next(model, "Ada")) is not None and found.asked is not None:
        assert found.asked == model.waiting.find(found.id).asked  # what is on the disk counts
        model.learn(Examples([], True, [truth[found.id]], [found.id])).result()
    return model


def test_who_labels_from_nothing_is_told_how_good_the_model_is_by_now(tmp_path, monkeypatch):
    monkeypatch.setattr("aggro.serve.questions.random", random.Random(0))
    limits = Limits(waiting=1_000)
    with Models(tmp_path / "data", limits) as models:
        model = label_by_hand(models, 200)
        board = model.board_now()
        assert board.judged == 0  # no prediction was given when the records came
        assert 40 < board.answered < 180  # the model asks less and less, as it learns
        assert 0.0 <= board.estimated_error < 0.3
        assert not board.verdict().startswith("too early")
        assert model.waiting.counts() == (200 - board.rows, 0)  # the others wait on
        crashed(models)
    with Models(tmp_path / "data", limits) as again:
        assert again.find("default").board_now().as_json() == board.as_json()


def test_a_file_starts_a_model_once_and_under_its_own_name(models, tmp_path):
    teach(models.find("default"), customers(20))
    file = tmp_path / "m.aggro"
    file.write_bytes(bits(models.find("default")))
    models.close()
    for name, rows, there in (("default", 20, True), ("second", 20, False), ("second", 30, True)):
        with Models(tmp_path / "data", SMALL, file=file, name=name) as again:
            found = again.find(name)
            assert found.board.rows == rows
            said = [note for note in again.notes if str(file) in note]
            assert len(said) == there, again.notes  # the file is not read: that is not passed over in silence
            if not there:
                teach(found, customers(10, seed=1), start=rows)
