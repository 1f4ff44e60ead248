"""The Vowpal Wabbit parser."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import fuzz
from streams import twins

import aggro
import aggro.streams
from aggro.engine.jit.compile import from_python
from aggro.streams import bad_lines
from aggro.streams.bad_lines import describe
from aggro.streams.io.block import Block
from aggro.streams.parse import vw
from aggro.streams.parse.hashing import hash_number


def rows(text: bytes) -> list:
    parsed = vw.parse(Block.of(text), named=True)
    assert parsed.problem is None, describe(parsed.problem, text, "text", 0)
    pairs = [(parsed.names[j], v) for j, v in zip(parsed.indices, parsed.data.tolist(), strict=True)]
    return [pairs[a:b] for a, b in zip(parsed.indptr[:-1], parsed.indptr[1:], strict=True)]


def test_namespaces_scales_and_values():
    text = b"1 |a x:2 y |b:0.5 z:3 x\n-1 | u\tv:1e-3|a x\r\n"
    assert rows(text) == [
        [("a^x", 2.0), ("a^y", 1.0), ("b^z", 1.5), ("b^x", 0.5)],
        [("^u", 1.0), ("^v", 0.001), ("a^x", 1.0)],
    ]


def test_labels_importances_bases_and_tags():
    text = b"1 2.5 0.1 'tag| x\n-1 | x\n| x\n'tag | x\n3 0 tag| x\n1|a x\n"
    parsed = vw.parse(Block.of(text))
    np.testing.assert_array_equal(parsed.y, [1, -1, np.nan, np.nan, 3, np.nan])
    assert parsed.weight.tolist() == [2.5, 1, 1, 1, 0, 1]
    assert vw.parse(Block.of(b"1 | x\n")).weight is None


def test_hashed_columns():
    parsed = vw.parse(Block.of(b"1 |colour red:2 |size red\n2 |colour red\n"), bits=10)
    red = twins.hash_bytes(b"red", twins.hash_bytes(b"colour", 0)) >> 54
    other = twins.hash_bytes(b"red", twins.hash_bytes(b"size", 0)) >> 54
    assert parsed.indices.tolist() == [red, other, red]
    assert red != other


def test_hashes_spread_evenly():
    names = b" ".join(b"w%d" % i for i in range(100_000))
    counts = np.bincount(vw.parse(Block.of(b"|f " + names), bits=10).indices, minlength=1024)
    chi2 = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert 800 < chi2 < 1250  # 1023 ± 45


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"1 2", bad_lines.NO_BAR),
        (b"x |a b", bad_lines.WORD_LABEL),
        (b"x y |a b", bad_lines.WORD_LABEL),
        (b"1 y |a b", bad_lines.BAD_HEAD),
        (b"1:2 |a b", bad_lines.SEVERAL_LABELS),
        (b"1:2:0.5 2:1:0.5 |a b", bad_lines.SEVERAL_LABELS),
        (b"1,2 |a b", bad_lines.SEVERAL_LABELS),
        (b"1 -1 |a b", bad_lines.NEGATIVE_IMPORTANCE),
        (b"1\t|a b", bad_lines.TAB_BEFORE_BAR),
        (b"1\t2 |a b", bad_lines.TAB_BEFORE_BAR),
        (b"\t1 |a b", bad_lines.TAB_BEFORE_BAR),
        (b"1 |:2 x", bad_lines.BAD_NAMESPACE),
        (b"1 |: x", bad_lines.BAD_NAMESPACE),
        (b"1 1 1 1 |a b", bad_lines.BAD_HEAD),
        (b"nan |a b", bad_lines.BAD_HEAD),
        (b"1 |a b:1x", bad_lines.BAD_VALUE),
        (b"1 |a b:2026-01-31", bad_lines.BAD_VALUE),
        (b"1 |a b: c", bad_lines.BAD_VALUE),
        (b"1 |a b:|c d", bad_lines.BAD_VALUE),
        (b"1 |a :x", bad_lines.BAD_VALUE),
        (b"1 |a b:nan", bad_lines.BAD_VALUE),
        (b"1 |a b:-inf", bad_lines.BAD_VALUE),
        (b"1 |a b:-", bad_lines.BAD_VALUE),
        (b"1 |a b:e5", bad_lines.BAD_VALUE),
        (b"1 |a b:x\0y", bad_lines.HOLDS_NUL),
        (b"1 |a b:1:2", bad_lines.BAD_VALUE),
        (b"1 |a b:1e999", bad_lines.LARGE_VALUE),
        (b"1 |a:1e200 b:1e200", bad_lines.LARGE_VALUE),
        (b"1 |a:x b", bad_lines.BAD_VALUE),
        (b"1 |a b\0c", bad_lines.LOST_TEXT),
    ],
)
def test_malformed_lines(line, code):
    text = b"1 |a b\n" + line + b"\n2 |a c\n"
    parsed = vw.parse(Block.of(text))
    assert (parsed.problem.code, parsed.problem.line) == (code, 1)
    assert "f.vw, line 2, column" in str(describe(parsed.problem, text, "f.vw", 0))
    assert vw.parse(Block.of(text), skip_bad=True).y.tolist() == [1, 2]


def test_values_without_a_name_are_numbered_from_each_bar_on():
    text = b"1 |a :0.3 x :0.4 |b:2 :1 |a :5\n"
    assert rows(text) == [[("a^0", 0.3), ("a^x", 1.0), ("a^1", 0.4), ("b^0", 2.0), ("a^0", 5.0)]]
    named = vw.parse(Block.of(b"1 |a" + b" :2" * 1234 + b" 1233:1 7:1\n"), bits=30).indices.tolist()
    assert named[-2:] == [named[1233], named[7]]
    assert len(set(named)) == 1234


@pytest.mark.parametrize("number", [0, 9, 10, 12345678, 123456789, 2**32 - 2])
def test_the_hash_of_a_number_is_that_of_its_digits(number):
    assert int(from_python(hash_number)(np.uint64(number), np.uint64(3))) == twins.hash_bytes(b"%d" % number, 3)


def test_a_text_as_a_value_makes_a_feature_of_name_and_text():
    text = b"1 |a:2 town:Nancy size:3 town:x|y:z -:+x |b town:Nancy\n"
    assert rows(text) == [
        [("a^town:Nancy", 1.0), ("a^size", 6.0), ("a^town:x|y:z", 1.0), ("a^-:+x", 1.0), ("b^town:Nancy", 1.0)]
    ]
    parsed = vw.parse(Block.of(text), bits=30)
    assert len(set(parsed.indices.tolist())) == 5


def test_features_that_differ_have_names_that_differ():
    text = b"1 |a^b c:2 |a b^c:3 |a b:c |a^b^c :4 |a\\ ^b:5 |a\\^ b:6 |a b:^c |a\\ b:7\n"
    (row,) = rows(text)
    assert len({name for name, _ in row}) == len(row) == 8
    assert row[:3] == [("a\\^b^c", 2.0), ("a^b^c", 3.0), ("a^b:c", 1.0)]


def test_words_as_labels(tmp_path):
    lines = [b"spam 2 'a|w x", b"ham |w y", b"|w z", b"1 |w x", b"'tag |w x", b"s\xc3\xa9rieux|w x", b"Nancy |w x"]
    parsed = vw.parse(Block.of(b"\n".join(lines)), words=True)
    assert parsed.y.tolist() == ["spam", "ham", None, "1", None, None, "Nancy"]
    assert parsed.weight.tolist() == [2, 1, 1, 1, 1, 1, 1]
    assert vw.parse(Block.of(b"spam |w x\nham |w y\n"), words=True).y.dtype.kind == "U"
    (tmp_path / "mail.vw").write_bytes(b"|w z\n" + b"spam |w x\nham |w y\n" * 50)
    stream = aggro.streams.open(tmp_path / "mail.vw", chunk_bytes=200, named=True)
    chunks = list(stream)
    assert len(chunks) > 2
    rest = aggro.streams.open(tmp_path / "mail.vw", chunk_bytes=200, named=True, start=chunks[1].position)
    assert [chunk.y.tolist() for chunk in rest] == [chunk.y.tolist() for chunk in chunks[2:]]
    learner = aggro.PAClassifier()
    for chunk in chunks[1:]:
        learner.learn_chunk(chunk)
    assert learner.classes_.tolist() == ["ham", "spam"]
    assert learner.predict_one({"w^x": 1.0}) == "spam"


@pytest.mark.parametrize("line", [b"nan |a b", b"-inf |a b", b"1:2 |a b", b"a,b |a b", b"e5 |a b", b"1x |a b"])
def test_what_is_no_label_even_among_words(line):
    assert vw.parse(Block.of(line), words=True).problem.code in (bad_lines.BAD_HEAD, bad_lines.SEVERAL_LABELS)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"spam |a b\n1 |a b\n", True),
        (b"1 |a b\nspam |a b\n", False),
        (b"\n|a b\n'tag |a b\ntag|a b\nspam 2 0.5 'tag |a b", True),
        (b"\xef\xbb\xbfspam |a b\n", True),
        (b"spam", False),
        (b"not a label |a b\n1 |a b\n", False),
        (b"nan |a b\n1:2 |a b\ninf |a\nNancy |a", True),
        (b"'1 2 |a b\n", True),
        (b"", False),
    ],
)
def test_the_first_label_says_whether_labels_are_words(head, words):
    assert vw.labels_are_words(head) is words


def test_a_word_among_numbers_is_refused_by_file_and_line(tmp_path):
    (tmp_path / "f.vw").write_bytes(b"1 |a b\nspam |a b\n")
    with pytest.raises(aggro.streams.BadLine, match=r"f\.vw, line 2, column 1: the label 'spam' is a word"):
        list(aggro.streams.open(tmp_path / "f.vw"))


SEEN_ALIKE = [  # lines that Vowpal Wabbit reads without a warning, and we as it does
    b"1 |a :0.3 x :0.4 0:2 1:3",
    b"1 2 |a:2 town:Lyon size:3 town:x|y:z town:Lyon |b town:Lyon",
    b"1 |a b^c b:c b:c |d b^c b:c",
    b"1 | :1 :2 0 1 2",
    b"1 |a b\tc:2 x:3|d y",
]


@pytest.mark.parametrize("line", SEEN_ALIKE)
def test_lines_are_read_as_by_vowpal_wabbit(line):
    """Needs vowpalwabbit: the same values in the same order, and the same column where it has the same."""
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    workspace = vowpalwabbit.Workspace("--quiet --noconstant -b 28")
    theirs = list(workspace.parse(line.decode()).iter_features())
    parsed = vw.parse(Block.of(line), bits=28)
    np.testing.assert_allclose(parsed.data, [value for _, value in theirs], rtol=1e-6)

    def pattern(columns):
        return [columns.index(column) for column in columns]

    assert pattern(parsed.indices.tolist()) == pattern([column % 2**28 for column, _ in theirs])


def test_streams(tmp_path):
    (tmp_path / "data").write_bytes(b"1 2 |a x:2 y\n" * 50 + b"-1 |a z x x\n" * 50)
    stream = aggro.streams.open(tmp_path / "data", chunk_bytes=300)
    assert stream.format == "vw"
    assert {chunk.X.shape[1] for chunk in stream} == {2**18}
    chunks = list(aggro.streams.open(tmp_path / "data", chunk_bytes=300, named=True))
    assert chunks[0].names == ["a^x", "a^y"]
    assert chunks[0].X[[0]].toarray().tolist() == [[2, 1]]
    assert chunks[-1].names == ["a^z", "a^x"]
    assert chunks[-1].X[[0]].toarray().tolist() == [[1, 2]]
    assert chunks[-1].weight is None
    for k in (0, 2):
        rest = aggro.streams.open(tmp_path / "data", chunk_bytes=300, named=True, start=chunks[k].position)
        assert [chunk.names for chunk in rest] == [chunk.names for chunk in chunks[k + 1 :]]


def test_mutated_text_is_seen_as_the_twin_sees_it():
    assert fuzz.run("vw", 10_000, seed=1)


def test_numbers_of_every_length_have_the_bits_that_python_says():
    numbers = [
        f"{sign}{'1234567890'[:before]}{point}{behind}"
        for sign in ("", "-")
        for before in range(11)
        for point in ("", ".")
        for behind in (("0987654321"[:places] for places in range(11)) if point else ("",))
        if before or behind
    ]
    numbers += ["-0", "-0.0", "0", "00000001", "0.0000001", "0.00000001", "9999999.9", "99999999"]
    text = f"1 |f {' '.join(f'x{k}:{number}' for k, number in enumerate(numbers))}\n"
    parsed = vw.parse(Block.of(text.encode()))
    assert parsed.data.view(np.uint64).tolist() == np.array(numbers, float).view(np.uint64).tolist()
