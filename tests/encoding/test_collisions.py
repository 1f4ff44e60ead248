"""Words that were chosen to collide cost what other words do. No clock decides: runs of full slots are counted."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from aggro import PAClassifier, RecordLearner
from aggro.encoding.layout import key_of_text, seed_of_column
from aggro.encoding.rows import WORD_KEY
from aggro.encoding.vocabulary import Vocabulary, place_all
from aggro.streams.parse import hashing
from aggro.streams.parse.bag_of_words import places_of

WORDS = 1500
PLAIN = {"C": 1.0, "average": False, "scale": None}


def longest_run(slots: np.ndarray) -> int:
    """The most slots after one another that are full: what a search may have to go through."""
    full = np.concatenate([slots, slots]) != 0
    ends = np.flatnonzero(~full)
    return int(np.diff(ends).max() - 1) if ends.size > 1 else slots.shape[0]


def chosen(key_of, place, slots: int = 16384, share: int = 64) -> list[str]:
    """Words whose hashes go to a 64th of so many slots, or of fewer, if nothing but the hash says where."""
    words, n = [], 0
    while len(words) < WORDS:
        word = f"w{n:x}"
        n += 1
        if place(key_of(word)) & (slots - 1) < slots // share:
            words.append(word)
    return words


@pytest.fixture(scope="module")
def words():
    seed = seed_of_column(0) ^ int(WORD_KEY)
    return chosen(lambda word: key_of_text(word, seed), lambda key: key ^ key >> 32)


@pytest.fixture(scope="module")
def model(words):
    model = RecordLearner(PAClassifier(**PLAIN), text="t")
    return model.partial_fit([{"t": " ".join(words)}, {"t": "another"}], [0, 1])


def test_words_chosen_to_collide_are_spread_over_the_slots(model, words):
    table = model.encoder_.vocabulary.table
    assert table.slots.shape[0] <= 16384
    assert np.count_nonzero(table.slots) == len(words) + 1
    assert longest_run(table.slots) < 200  # of the hashes alone it would be WORDS


def test_where_a_key_is_kept_changes_no_result(model, words):
    """Other random numbers, in a copy, a pickle and a second learner: the same features in the same order."""
    record = {"t": " ".join(words[::3])}
    again = RecordLearner(PAClassifier(**PLAIN), text="t")
    again.partial_fit([{"t": " ".join(words)}, {"t": "another"}], [0, 1])
    scatter = model.encoder_.vocabulary.table.scatter
    assert not np.array_equal(scatter, again.encoder_.vocabulary.table.scatter)
    for other in (again, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.feature_names_ == model.feature_names_
        assert other.decision_one(record) == model.decision_one(record)


def test_the_random_numbers_are_in_no_file(model, tmp_path):
    model.save(tmp_path / "m.aggro")
    scatter = model.encoder_.vocabulary.table.scatter[0, :8].tobytes()
    assert scatter not in (tmp_path / "m.aggro").read_bytes()
    assert scatter not in pickle.dumps(model)


def test_pickles_of_vocabularies_without_random_numbers(model):
    table = model.encoder_.vocabulary.table
    old = Vocabulary.__new__(Vocabulary)
    old.__setstate__({"table": type(table)(*table[:7])})
    assert [old.name(j) for j in range(len(old))] == [model.encoder_.vocabulary.name(j) for j in range(len(old))]
    assert all(old.find(int(table.keys[j])) == j for j in range(0, len(old), 50))
    place_all(old.table)


def test_columns_of_texts_are_numbered_in_a_table_of_the_same_kind(monkeypatch):
    """So are the features of VW files; by the hash, or by the place that is made of it."""
    tables, number_in = [], hashing.number_in

    def noted(table, *rest):
        tables.append(table)
        return number_in(table, *rest)

    monkeypatch.setattr(hashing, "number_in", noted)
    letters = chosen(lambda word: places_of(word, 64)[word], lambda key: key)
    tables.clear()
    found = places_of(" ".join(letters), 64)
    assert list(found) == letters
    assert longest_run(tables[0]) < 200
