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
