"""Files made to do damage: codes and offsets that point outside, sizes that lie, texts that grow when unpacked."""

from __future__ import annotations

import io
import os
import struct

import numpy as np
import pytest
import zstandard

import aggro.streams
from aggro.streams.io.files import Source
from aggro.streams.tables import arrow_messages, parquet_pages
from aggro.streams.tables.json_tables import DEEPEST_BRACKETS

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

WORDS = ["alpha beta", "gamma delta words", "epsilon", "zeta eta theta"] * 4
LABELS = ["a", "b"] * 8
FORMS = {"arrow": pa.ipc.new_file, "arrows": pa.ipc.new_stream}


def write(path, table, compression=None, form="arrow") -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as out, FORMS[form](out, table.schema, options=options) as writer:
        writer.write_table(table)


def forge(path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def read(path, **options):
    return list(aggro.streams.open(path, **options))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("place", "value"), [(5, 2**30), (16, 2**30), (5, -(2**20)), (0, -1), (8, 0)])
def test_offsets_that_point_outside(tmp_path, form, wide, place, value):
    path = tmp_path / f"a.{form}"
    write(path, pa.table({"t": pa.array(WORDS, pa.large_string() if wide else pa.string()), "y": LABELS}), form=form)
    offsets = np.cumsum([0, *map(len, WORDS)]).astype(np.int64 if wide else np.int32)
    bad = offsets.copy()
    bad[place] = value
    forge(path, offsets.tobytes(), bad.tobytes())
    for options in ({}, {"text": "t"}, {"label": "t"}):
        with pytest.raises(ValueError, match=rf"a\.{form}"):
            read(path, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", [50, 2**28, -1, -(2**28)])
def test_codes_that_point_outside(tmp_path, form, code):
    codes = (np.arange(16) % 4 + 40).astype(np.int32)
    column = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([f"w{i}" for i in range(50)]))
    path = tmp_path / f"a.{form}"
    write(path, pa.table({"t": column, "y": LABELS}), form=form)
    bad = codes.copy()
    bad[3] = code
    forge(path, codes.tobytes(), bad.tobytes())
    for options in ({}, {"text": "t"}, {"label": "t"}):
        with pytest.raises(ValueError, match=rf"a\.{form}"):
            read(path, **options)


def test_dictionaries_with_repeated_entries_and_nulls(tmp_path):
    column = pa.DictionaryArray.from_arrays(pa.array([3, 0, 2, None, 1]), pa.array(["x", None, "x", "z"]))
    write(tmp_path / "a.arrow", pa.table({"t": column, "y": column}))
    (chunk,) = read(tmp_path / "a.arrow")
    assert chunk.names == ["t=z", "t=x", "t=missing"]
    assert chunk.X.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert chunk.y.tolist() == ["z", "x", "x", None, None]


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_strings_that_are_not_utf_8(tmp_path, kind):
    table = pa.table({"t": pa.array([b"ok", b"\xff\xfe"]).view(pa.string()), "y": [0, 1]})
    path = tmp_path / f"a.{kind}"
    write(path, table) if kind == "arrow" else pq.write_table(table, path)
    with pytest.raises(ValueError, match=r"a\.\w+.*UTF8"):
        read(path)


def test_an_arrow_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "a.arrow"
    table = pa.table({"a": np.arange(400_000.0), "y": np.arange(400_000) % 2})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, 20_000)
    chunks = iter(aggro.streams.open(path, threads=1))
    next(chunks)
    os.truncate(path, 1000)
    with pytest.raises(ValueError, match=r"a\.arrow.*cut short"):
        list(chunks)


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 9, 100, -1, -9, -200])
@pytest.mark.parametrize("form", FORMS)
def test_arrow_that_is_cut_short(tmp_path, form, cut):
    path = tmp_path / f"a.{form}"
    write(path, pa.table({"t": WORDS, "y": LABELS}), form=form)
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    if form == "arrows" and cut == -1:  # in the mark of the end
        path.write_bytes(data[:-8])
        assert sum(chunk.n_rows for chunk in read(path)) == 16
        path.write_bytes(data[:-1])
    with pytest.raises(ValueError, match=rf"a\.{form}"):
        read(path)


@pytest.mark.parametrize("form", FORMS)
def test_arrow_from_a_pipe_and_packed(tmp_path, form):
    import gzip

    path = tmp_path / f"a.{form}"
    write(path, pa.table({"t": WORDS, "y": LABELS}), "zstd", form)
    (tmp_path / f"b.{form}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (chunk,), (packed,) = read(path), read(tmp_path / f"b.{form}.gz")
    assert np.array_equal(chunk.X.toarray(), packed.X.toarray())


def test_a_batch_that_says_it_is_huge(tmp_path, monkeypatch):
    table = pa.table({"a": np.zeros(100_000), "y": np.arange(100_000)})
    for name, compression in (("plain", None), ("packed", "zstd")):
        write(tmp_path / f"{name}.arrow", table, compression)
        assert sum(chunk.n_rows for chunk in read(tmp_path / f"{name}.arrow")) == 100_000
    assert (tmp_path / "packed.arrow").stat().st_size < 300_000
    monkeypatch.setattr(arrow_messages, "LARGEST_BATCH", 1_000_000)
    for name in ("plain", "packed"):  # 1.6 MB, one of them in a file of less
        with pytest.raises(ValueError, match=rf"{name}\.arrow: a record batch of it takes [\d,]+ bytes"):
            read(tmp_path / f"{name}.arrow")


@pytest.mark.parametrize("form", FORMS)
def test_a_mark_of_the_end_in_the_middle(tmp_path, form):
    table = pa.table({"a": np.arange(8.0), "y": np.arange(8)})
    path = tmp_path / f"a.{form}"
    with pa.OSFile(str(path), "wb") as out, FORMS[form](out, table.schema) as writer:
        writer.write_table(table, 4)
    data = path.read_bytes()
    starts = [k for k in range(0, len(data), 8) if data.startswith(b"\xff\xff\xff\xff", k)]
    assert len(starts) == 4  # schema, two batches, the end
    for end in (bytes(8), b"\xff\xff\xff\xff" + bytes(4)):
        path.write_bytes(data[: starts[2]] + end + data[starts[2] + 8 :])
        with pytest.raises(ValueError, match=rf"a\.{form}.*more after the mark of its end"):
            read(path)


def test_a_message_that_says_it_is_longer_than_the_file(tmp_path):
    write(tmp_path / "a.arrows", pa.table({"a": np.arange(8.0), "y": np.arange(8)}), form="arrows")
    data = (tmp_path / "a.arrows").read_bytes()
    length = struct.pack("<q", 128)  # of the body: twice eight numbers
    assert data.count(length) >= 1
    for at in [k for k in range(len(data)) if data.startswith(length, k)]:
        for said in (2**40, 2**62, -1):
            (tmp_path / "a.arrows").write_bytes(data[:at] + struct.pack("<q", said) + data[at + 8 :])
            with pytest.raises(ValueError, match=r"a\.arrows"):
                read(tmp_path / "a.arrows")


def test_pages_that_say_they_are_huge(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.random(50_000), "t": pa.array(WORDS * 3125), "y": rng.integers(0, 2, 50_000)})
    for k, options in enumerate(({}, {"data_page_version": "2.0"}, {"use_dictionary": False, "compression": "none"})):
        pq.write_table(table, tmp_path / f"{k}.parquet", row_group_size=20_000, **options)
        assert sum(chunk.n_rows for chunk in read(tmp_path / f"{k}.parquet")) == 50_000
    monkeypatch.setattr(parquet_pages, "LARGEST_PAGES", 100_000)
    for k in range(3):
        with pytest.raises(ValueError, match=rf"{k}\.parquet: the pages of its columns take [\d,]+ bytes"):
            read(tmp_path / f"{k}.parquet")


def biggest_batch(path, monkeypatch, **options) -> tuple[int, int]:
    """(bytes of the largest batch that pyarrow made, rows that were read)"""
    from aggro.streams.tables import parquet_arrow

    sizes = [0]
    cut = parquet_arrow._cut

    def note(batch, *more):
        sizes.append(batch.nbytes)
        return cut(batch, *more)

    monkeypatch.setattr(parquet_arrow, "_cut", note)
    rows = sum(chunk.n_rows for chunk in aggro.streams.open(path, **options))
    return max(sizes), rows


@pytest.mark.parametrize("options", [{"text": "t"}, {}])
@pytest.mark.parametrize("how", ["plain", "dictionary", "delta"])
def test_columns_of_text_take_bounded_memory(tmp_path, monkeypatch, how, options):
    n, path = 4000, tmp_path / "a.parquet"
    document = "word " * 4000
    texts = [document] * n if how == "dictionary" else [f"{document}{k}" for k in range(n // 10)]
    writing = {"dictionary": {}, "plain": {"use_dictionary": False}, "delta": {"use_dictionary": False}}[how]
    if how == "delta":
        writing["column_encoding"] = {"t": "DELTA_BYTE_ARRAY", "y": "PLAIN"}
    pq.write_table(pa.table({"t": texts, "y": np.arange(len(texts)) % 2}), path, **writing)
    if how != "plain":
        assert path.stat().st_size < 200_000  # that would be 80 MB, or 8
    chunk_bytes = 2**17
    biggest, rows = biggest_batch(path, monkeypatch, chunk_bytes=chunk_bytes, **options)
    assert rows == len(texts)
    assert biggest < 16 * chunk_bytes
    assert max(chunk.n_rows for chunk in aggro.streams.open(path, chunk_bytes=chunk_bytes, **options)) <= 7


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_chunks_of_arrow_end_where_their_text_is_long(tmp_path, kind):
    texts = ["short", None, "long " * 100, "x", "long " * 300, "y", *["z"] * 500]
    write(tmp_path / "a.arrow", pa.table({"t": pa.array(texts).cast(kind), "y": np.arange(len(texts))}))
    chunks = read(tmp_path / "a.arrow", text="t", chunk_bytes=1000)
    assert [chunk.n_rows for chunk in chunks[:3]] == [4, 1, 62]
    assert [y for chunk in chunks for y in chunk.y] == list(range(len(texts)))
    rest = read(tmp_path / "a.arrow", text="t", chunk_bytes=1000, start=chunks[1].position)
    assert [chunk.position for chunk in rest] == [chunk.position for chunk in chunks[2:]]


def test_rows_of_endless_text_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("aggro.streams.tables.parquet_arrow.LONGEST_LINE", 1000)
    table = pa.table({"t": ["x" * 600, "x" * 600], "u": ["x", "x" * 401], "y": [0, 1]})
    pq.write_table(table.slice(0, 1), tmp_path / "a.parquet")
    assert len(read(tmp_path / "a.parquet")) == 1
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: a row has 1,001 bytes of text"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("start", [0, 1, 99, 100, 150, 999, 1000])
def test_reading_goes_on_at_any_row(tmp_path, start):
    pq.write_table(pa.table({"a": np.arange(1000.0), "y": np.arange(1000)}), tmp_path / "a.parquet")
    rest = read(tmp_path / "a.parquet", chunk_bytes=1600, start=aggro.streams.Position(0, row=start))
    assert [y for chunk in rest for y in chunk.y] == list(range(start, 1000))


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b"[[[[", b'{"a":[{"b":['])
@pytest.mark.parametrize("lines", [1, 2000])
def test_deep_nesting_is_a_malformed_line(tmp_path, opening, lines):
    path = tmp_path / "a.jsonl"
    deep = b"".join(b'{"x": 1, "y": ' + opening * (20_000 // lines) + b"\n" for _ in range(lines))
    path.write_bytes(b'{"x": 1, "y": 0}\n' + deep + b'{"x": 2, "y": 1}\n')
    with pytest.raises(aggro.streams.BadLine, match=r"a\.jsonl, line 2, "):
        read(path)
    stream = aggro.streams.open(path, skip_bad=True)
    assert [y for chunk in stream for y in chunk.y] == [0, 1]
    assert stream.bad_lines == lines
    path.write_bytes(
        b'{"x": "' + opening * DEEPEST_BRACKETS * 2 + rb'\""' + b', "y": 0}\n' if b'"' not in opening else b"{}\n"
    )
    if b'"' not in opening:  # in a string, brackets are letters
        assert len(read(path)) == 1


@pytest.mark.parametrize("opens", ["[", '{"a":'])
def test_deep_nesting_that_closes_is_a_malformed_line(tmp_path, opens):
    path = tmp_path / "a.jsonl"
    deep = opens * 20_000 + "1" + ("]" if opens == "[" else "}") * 20_000
    path.write_text(f'{{"x": {deep}, "y": 0}}\n')
    with pytest.raises(aggro.streams.BadLine, match=rf"a\.jsonl, line 1, .*nested more than {DEEPEST_BRACKETS} deep"):
        read(path, skip_bad=True)
    path.write_text(f'{{"x": 1, "y": 0}}\n{{"x": {deep}, "y": 0}}\n{{"x": 2, "y": 1}}\n')
    stream = aggro.streams.open(path, skip_bad=True)
    assert [y for chunk in stream for y in chunk.y] == [0, 1]
    assert (stream.bad_lines, stream.first_bad.line) == (1, 2)


def test_zstd_blocks_are_unpacked_one_by_one(tmp_path):
    frame = bytearray(b"\x28\xb5\x2f\xfd\x00\x58")  # a frame with a window of 2 MB, and then runs of 128 kB
    for k in range(2000):
        frame += ((2**17 << 3) | (1 << 1) | (k == 1999)).to_bytes(3, "little") + b"\n"
    (tmp_path / "a.zst").write_bytes(frame)
    assert len(frame) < 10_000
    with Source(str(tmp_path / "a.zst")).open() as file:
        assert len(file.read(100)) == 100
        assert len(file._ready) < 2**17
        assert sum(len(block) for block in iter(lambda: file.read(2**20), b"")) == 2000 * 2**17 - 100


def test_zstd_frames_of_every_shape():
    from aggro.streams.io.zstd import ZstdFile

    data = os.urandom(5000) + b"text " * 100_000
    for checksum in (False, True):
        for size in (False, True):
            writer = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=size)
            skipped = b"\x55\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"skipped"
            packed = writer.compress(data) + skipped + writer.compress(b"") + writer.compress(b"end")
            assert io.BufferedReader(ZstdFile(io.BytesIO(packed))).read() == data + b"end"
            for cut in (1, 5, 8, 14, len(packed) - 1):
                with pytest.raises(EOFError):
                    io.BufferedReader(ZstdFile(io.BytesIO(packed[:cut]))).read()


@pytest.mark.parametrize("kind", ["arrow", "arrows", "parquet"])
def test_every_byte_may_be_another(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["u", "v"]))
    table = pa.table({"t": ["ab", None, "c"], "d": codes, "y": [0, 1, 0]})
    pq.write_table(table, path, store_schema=False) if kind == "parquet" else write(path, table, form=kind)
    data = path.read_bytes()
    good, errors = 0, []
    for at in range(len(data)):
        for change in (0x02, 0x80):
            path.write_bytes(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
            try:
                for chunk in aggro.streams.open(path, text="t", threads=1, format=kind.removesuffix("s")):
                    assert chunk.X.shape[0] == len(chunk.y)
                good += 1
            except ValueError as error:
                errors.append(error)
    assert min(good, len(errors)) > 100
    assert all(type(error) is ValueError and path.name in str(error) for error in errors)
