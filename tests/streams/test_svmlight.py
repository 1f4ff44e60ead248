"""The svmlight parser: what it takes, what it refuses and what it says."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import fuzz

from aggro.streams import BadLine, bad_lines
from aggro.streams.bad_lines import describe
from aggro.streams.io.block import Block
from aggro.streams.parse import svmlight


def rows(text: bytes, **options) -> list:
    parsed = svmlight.parse(Block.of(text), **options)
    assert parsed.problem is None, describe(parsed.problem, text, "text", 0)
    pairs = list(zip(parsed.indices.tolist(), parsed.data.tolist(), strict=True))
    return [(y, pairs[a:b]) for y, a, b in zip(parsed.y, parsed.indptr[:-1], parsed.indptr[1:], strict=True)]


def test_rows():
    assert rows(b"+1 1:0.5 3:-2\n-1 2:1e2") == [(1.0, [(0, 0.5), (2, -2.0)]), (-1.0, [(1, 100.0)])]


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:2 2:3\n",
        b"1 1:2 2:3",
        b"1 1:2 2:3\r\n",
        b"1\t1:2\t\t2:3\n",
        b"  1   1:2 2:3  \n\n",
        b"\n\n1 1:2 2:3 # seen\n# 1 1:2\n",
        b"1 1:2 2:3#seen\n",
        b"1 qid:7 1:2 2:3\n",
        b"1 0001:2. 2:+3\n",
    ],
)
def test_spellings_of_one_row(text):
    assert rows(text) == [(1.0, [(0, 2.0), (1, 3.0)])]


def test_rows_without_features_are_rows():
    assert rows(b"1\n-1 # none\n0.5\r\n") == [(1.0, []), (-1.0, []), (0.5, [])]


def test_unsorted_and_repeated_indices_come_as_they_stand():
    assert rows(b"1 3:1 2:1 3:5") == [(1.0, [(2, 1.0), (1, 1.0), (2, 5.0)])]


def test_zero_based():
    assert rows(b"1 0:5", zero_based=True) == [(1.0, [(0, 5.0)])]


def test_largest_index():
    assert rows(b"1 2147483647:1") == [(1.0, [(2**31 - 2, 1.0)])]


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        (b"1 1:1 0:1", bad_lines.ZERO_INDEX, 7),
        (b"1 1:1 -3:1", bad_lines.NEGATIVE_INDEX, 7),
        (b"1 2147483648:1", bad_lines.HUGE_INDEX, 3),
        (b"1 18446744073709551617:1", bad_lines.HUGE_INDEX, 3),
        (b"1 1:x", bad_lines.BAD_VALUE, 5),
        (b"1 1:", bad_lines.BAD_VALUE, 5),
        (b"1 1:nan", bad_lines.BAD_VALUE, 5),
        (b"1 1:inf", bad_lines.BAD_VALUE, 5),
        (b"1 1:0x1", bad_lines.BAD_VALUE, 6),
        (b"1 1:1_0", bad_lines.BAD_VALUE, 6),
        (b"1 1:1e999", bad_lines.LARGE_VALUE, 5),
        (b"1 1:1:1", bad_lines.BAD_VALUE, 6),
        (b"1 1 2:1", bad_lines.BAD_PAIR, 3),
        (b"1 :1", bad_lines.BAD_PAIR, 3),
        (b"1 a:1", bad_lines.BAD_PAIR, 3),
        (b"1 1.5:1", bad_lines.BAD_PAIR, 3),
        (b"spam 1:1", bad_lines.BAD_LABEL, 1),
        (b"1,2 1:1", bad_lines.BAD_LABEL, 1),
        (b"nan 1:1", bad_lines.BAD_LABEL, 1),
        (b"1e999 1:1", bad_lines.LARGE_LABEL, 1),
        (b"1:1 2:1", bad_lines.NO_LABEL, 1),
        (b"1 1:1 qid:3", bad_lines.BAD_PAIR, 7),
        (b"1 qid:x 1:1", bad_lines.BAD_QUERY, 3),
        (b"1 1:1\0 2:1", bad_lines.BAD_VALUE, 6),
        (b"1 1:1 # \0", bad_lines.HOLDS_NUL, 9),
    ],
)
def test_malformed_lines(line, code, column):
    text = b"1 1:1\n\n" + line + b"\n-1 2:1\n"
    parsed = svmlight.parse(Block.of(text))
    assert (parsed.problem.code, parsed.problem.line, len(parsed.y)) == (code, 2, 1)
    error = describe(parsed.problem, text, "data.svm", 10)
    assert isinstance(error, BadLine)
    assert (error.file, error.line, error.column) == ("data.svm", 13, column)
    assert str(error).startswith(f"data.svm, line 13, column {column}: ")
    skipped = svmlight.parse(Block.of(text), skip_bad=True)
    assert (skipped.bad, skipped.y.tolist(), skipped.indices.tolist()) == (1, [1.0, -1.0], [0, 1])


def test_messages_show_what_was_given():
    def message(line: bytes) -> str:
        return str(describe(svmlight.parse(Block.of(line)).problem, line, "f", 0))

    assert "'3:0x10'" in message(b"1 3:0x10 4:1\n")
    assert "'spam'" in message(b"spam 1:1\n")
    assert "NUL byte" in message(b"1 1:1\0\n")
    assert "zero_based=True" in message(b"1 0:1\n")
    assert "the end of the line" not in message(b"1 1:\n")
    assert len(message(b"1 " + b"x" * 10_000_000 + b"\n")) < 300


def test_a_line_of_many_megabytes():
    n = 300_000
    line = b"1 " + b" ".join(b"%d:0.25" % (j + 1) for j in range(n)) + b" " * 3_000_000
    parsed = svmlight.parse(Block.of(line))
    assert parsed.indptr.tolist() == [0, n]
    assert parsed.indices[-1] == n - 1
    assert (parsed.data == 0.25).all()


def test_empty_text():
    assert rows(b"") == rows(b"\n\n") == []


def test_agrees_with_scikit_learn(tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 7)) * (rng.random((200, 7)) < 0.6)
    y = rng.integers(-1, 3, 200)
    datasets.dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    parsed = svmlight.parse(Block.of((tmp_path / "a.svm").read_bytes()))
    theirs, labels = datasets.load_svmlight_file(str(tmp_path / "a.svm"))
    assert (parsed.y == labels).all()
    assert (parsed.indices == theirs.indices).all()
    assert (parsed.data == theirs.data).all()


def test_mutated_text_is_seen_as_the_twin_sees_it():
    assert fuzz.run("svmlight", 15_000, seed=1)


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
    text = f"1 {' '.join(f'{k + 1}:{number}' for k, number in enumerate(numbers))}\n"
    parsed = svmlight.parse(Block.of(text.encode()))
    assert parsed.data.view(np.uint64).tolist() == np.array(numbers, float).view(np.uint64).tolist()
