"""Whether the first line of a CSV file is a header, guessed from what stands below."""

from __future__ import annotations

import pytest

import aggro.streams
from aggro.streams.tables.csv_header import has_header

pytest.importorskip("pyarrow")

ADULT = [
    "39, State-gov, 77516, Bachelors, <=50K",
    "50, Self-emp-not-inc, 83311, Bachelors, <=50K",
    "38, Private, 215646, HS-grad, <=50K",
    "53, Private, 234721, 11th, >50K",
    "28, State-gov, 338409, Bachelors, >50K",
]
TITANIC = [
    "Survived,Name,Sex,Age,Cabin",
    '0,"Braund, Mr. Owen Harris",male,22,',
    '1,"Cumings, Mrs. John Bradley (Florence Briggs Thayer)",female,38,C85',
    '1,"Heikkinen, Miss. Laina",female,,',
    '0,"Allen, Mr. William Henry",male,35,',
]
MUSHROOMS = ["p,x,s,n", "e,x,s,y", "e,b,s,w", "p,x,y,w", "e,x,s,g"]
SURVEY = [
    "How often do you eat out in a week?,What do you think of the food that we serve?",
    "often,good",
    "never,bad",
    "often,bad",
]
FRUIT = ["fruit,colour,taste", "apple,red,sweet", "lemon,yellow,sour", "plum,blue,sweet"]
SMS = ["ham\tGo until the jurong point", "spam\tFree entry in 2 a weekly comp", "ham\tOk then, see you there"]


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (ADULT, False),
        (["age, workclass, fnlwgt, education, income", *ADULT], True),
        (TITANIC, True),
        (TITANIC[1:], False),
        (MUSHROOMS, False),
        (["class,cap,surface,colour", *MUSHROOMS], True),
        (SURVEY, True),
        (FRUIT, True),
        (["1,2,3", "4,5,6"], False),
        (["1,,3", "4,5,6"], False),
        (["?,2,3", "4,5,6"], False),
        (["a,b,c", "1,2,3"], True),
        (["a,b,c", "a,b,c", "1,2,3"], True),  # two files with headers, one after the other
        (["x,y", "x,1", "x,2"], True),  # a value that is called like its column; numbers have a name
        (["country,1990,1991", "France,12,13", "Chad,11,10"], True),
        (["5.1,3.5,setosa", "4.9,3.0,virginica"], False),
        (["-1,red", "1,green"], False),
        (["yes,no", "yes,no"], False),
        (["0,1,2,label", "1,1,0,a", "0,1,1,b", "0,0,2,c"], True),  # numbers of columns
        (["0,red", "1,green", "0,blue"], False),
        ([",a,b", "0,x,y", "1,z,w"], True),
        (["text", "hello"], True),
        (["word"], True),
        (["Is this a sentence or a name,ham"], False),
        (["x" * 65 + ",ham", "y" * 70 + " of a b c,spam"], False),
        (['"a ""quoted"" name","b\'s"', "1,2"], True),
    ],
)
def test_shapes(tmp_path, lines, header):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    for raw in (False, True):
        stream = aggro.streams.open(path, raw=raw)
        assert (stream.header, stream.header_said) == (header, False)
    assert aggro.streams.open(path, header=not header).header is not header
    assert aggro.streams.open(path, header=not header).header_said


def test_a_name_that_turns_up_once_among_many_rows_is_a_name():
    rows = [[f"word {k}", "good" if k % 2 else "bad"] for k in range(100)]
    assert has_header(["text", "opinion"], [*rows, ["text", "good"]])
    assert not has_header(["text", "good"], rows)


def test_a_file_of_words_keeps_its_first_row(tmp_path):
    path = tmp_path / "messages.tsv"
    path.write_text("\n".join(SMS) + "\n")
    stream = aggro.streams.open(path, raw=True, labels="classes")
    (chunk,) = stream
    assert list(stream.columns) == ["column1", "column2"]
    assert chunk.y.tolist() == ["ham", "spam", "ham"]
    assert chunk.X.column("column2").to_pylist() == [line.split("\t")[1] for line in SMS]
    assert stream.columns["column2"].role == "text"
    (chunk,) = aggro.streams.open(path, label="column1", text="column2")
    assert chunk.y.tolist() == ["ham", "spam", "ham"]


def test_names_that_come_twice(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("yes,no,yes\nno,maybe,maybe\n")
    assert aggro.streams.open(path).header is False  # no table has two columns of one name
    path.write_text("a,b,a\n1,2,3\n")
    for raw in (False, True):
        stream = aggro.streams.open(path, raw=raw)
        chunk = next(iter(stream))
        assert (chunk.X.column_names if raw else chunk.names) == ["a", "b", "a.1"][: 3 if raw else 2]
        assert stream.notes == ["names that come twice got a number: 'a.1'"]
    path.write_text("a,a.1,a,a\n1,2,3,4\n")
    assert list(aggro.streams.open(path, raw=True).columns) == ["a", "a.1", "a.2", "a.3"]
    path.write_text("a,,\n1,2,3\n")
    assert next(iter(aggro.streams.open(path))).names == ["a", "column2"]


def test_quotes_before_and_below_the_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('name,note\nAnn,"two\nlines, and a comma"\nBob,"ok"\n')
    stream = aggro.streams.open(path, raw=True)
    assert stream.header
    (chunk,) = stream
    assert chunk.X.column("note").to_pylist() == ["two\nlines, and a comma", "ok"]


def test_other_formats_have_no_header(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n')
    assert aggro.streams.open(path).header is None
