"""A short run of the damaged files; the long one is ``python tests/attack/damaged_files.py``."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")

from attack.damaged_files import Child, good_files, run

COUNT = 250


@pytest.fixture(scope="module")
def reader():
    child = Child()
    yield child
    child.close()


@pytest.mark.xdist_group("damaged files")
@pytest.mark.parametrize("format", ["svmlight", "vw", "csv", "tsv", "jsonl", "text", "parquet", "arrow", "arrows"])
def test_damaged_files_are_read_or_refused(format, reader, tmp_path):
    report = run(format, COUNT, 20, reader, tmp_path)
    assert not report.failures, "\n".join(report.failures)
    assert report.counts["read"] + report.counts["refused"] == COUNT
    assert min(report.counts["read"], report.counts["refused"]) > 0


def test_every_format_is_attacked():
    from aggro.streams.formats import FORMATS

    assert set(good_files()) >= set(FORMATS)
