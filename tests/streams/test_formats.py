"""How the format of a file without an ending is known."""

from __future__ import annotations

import pytest

from aggro.streams import open as open_stream


@pytest.mark.parametrize(
    ("first", "format"),
    [
        ("1 |n a b", "vw"),
        ("1 'tag|n a b", "vw"),
        ("1 tag|n a b", "vw"),
        ("1 2.0 tag|n a:2 b", "vw"),
        ("0 1 0.5 'second_house| price:0.18 sqft:0.15 |more a", "vw"),
        ("name of it|age in years|place", "csv"),
        ("3 rooms|big house|x", "csv"),
        ("a|b|c", "csv"),
        ("1 2:3 4:5", "svmlight"),
    ],
)
def test_the_first_line_says_it(first, format, tmp_path):
    path = tmp_path / "rows"
    path.write_text(f"{first}\n{first}\n")
    assert open_stream(path, **({"label": 0} if format == "csv" else {})).format == format


@pytest.mark.parametrize(
    ("first", "what"),
    [
        (b"PK\x03\x04 [Content_Types].xml xl/workbook.xml", "is an Excel workbook. Save it as CSV"),
        (b"PK\x03\x04 data.csv", "is a ZIP archive. Unpack it"),
        (b"\xd0\xcf\x11\xe0", "is an Excel workbook"),
        (b"SQLite format 3\0", "is a SQLite database"),
        (b"\x80\x04\x95", "is a pickle"),
        (b"<!DOCTYPE html>\n<p>1,2</p>", "is a page of HTML or XML"),
        (b"% a comment\n@RELATION iris, 2\n", "is an ARFF file"),
    ],
)
def test_what_people_have_too_is_named(first, what, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(first + b"\n")
    with pytest.raises(ValueError, match=what):
        open_stream(path)
