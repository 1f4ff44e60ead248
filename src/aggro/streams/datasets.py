"""The named data sets of the papers and the tests: where each comes from, what is in it, how it is read.

The files stand in one folder, named by ``data=`` or the environment variable AGGRO_DATA, as «a9a.svm» (and
«a9a.t.svm» for the test part), plain or compressed. ``aggro data fetch`` puts them there where their public
home has them in a form that can be read as it is.

``sha256`` is of the decompressed text, so that it holds however a file is packed.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from typing import Any

from aggro.streams.formats import COMPRESSED
from aggro.streams.reader import Stream, open

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "https://archive.ics.uci.edu/dataset"
PASCAL = "http://largescale.ml.tu-berlin.de"
VARIABLE = "AGGRO_DATA"


@dataclass(frozen=True)
class Part:
    """One file of a set: its name without a compression's ending, and its rows."""

    file: str
    rows: int
    url: str | None = None
    sha256: str | None = None  # of the decompressed text


@dataclass(frozen=True)
class DataSet:
    """A named data set."""

    name: str
    task: str  # "binary", "classes", "regression" or "outliers"
    features: int | None  # columns of X; None for running text
    classes: tuple[Any, ...]
    parts: dict[str, Part]
    home: str
    note: str = ""
    options: dict[str, Any] = field(default_factory=dict)  # how it is read


PLUS_MINUS = (-1, 1)
WEB = "Sorted by class, so shuffle; about 8 % of the rows are empty."


def libsvm(
    name: str,
    features: int,
    rows: tuple[int, ...],
    urls: tuple[str, ...],
    digests: tuple[str | None, ...] = (None, None),
    *,
    page: str = "binary",
    classes: tuple[Any, ...] = PLUS_MINUS,
    home: str = "",
    note: str = "",
) -> DataSet:
    """A set in svmlight text, train and mostly test."""
    files = {"train": f"{name}.svm", "test": f"{name}.t.svm"}
    links = [f"{LIBSVM}/{page}/{url}" for url in urls]
    parts = {
        part: Part(files[part], rows[k], links[k] if links else None, digests[k])
        for k, part in enumerate(list(files)[: len(rows)])
    }
    task = "binary" if len(classes) == 2 else "classes"
    return DataSet(name, task, features, classes, parts, home or f"{LIBSVM}/{page}.html#{name}", note)


def table(
    name: str, task: str, features: int, rows: tuple[int, ...], classes: tuple[Any, ...], home: str, note: str = ""
) -> DataSet:
    """A set as CSV with a header and the target in the last column."""
    files = {"train": f"{name}.csv", "test": f"{name}.t.csv"}
    parts = {part: Part(files[part], count) for part, count in zip(files, rows, strict=False)}
    return DataSet(name, task, features, classes, parts, home, note)


DATA_SETS = (
    libsvm(
        "a9a", 123, (32_561, 16_281), ("a9a", "a9a.t"),
        ("f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
         "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"),
        note="Adult, binary features.",
    ),
    table("abalone", "regression", 10, (4_177,), (), f"{UCI}/1/abalone", "sex is a category: 8 columns, 10 features."),
    DataSet("alpha", "binary", 500, PLUS_MINUS, {"train": Part("alpha.svm", 500_000)}, PASCAL, "Pascal 2008, dense."),
    table("breast", "binary", 9, (683,), (2, 4), f"{UCI}/15/breast+cancer+wisconsin+original"),
    table("cadata", "regression", 8, (20_640,), (), f"{LIBSVM}/regression.html#cadata", "California housing."),
    table("cbcl", "binary", 361, (6_977, 24_044), PLUS_MINUS, "http://cbcl.mit.edu/software-datasets/FaceData2.html",
          "Faces, 19 × 19 grey values; sorted by class, so shuffle."),
    table("cpusmall", "regression", 12, (8_192,), (), f"{LIBSVM}/regression.html#cpusmall"),
    DataSet("delta", "binary", 500, PLUS_MINUS, {"train": Part("delta.svm", 500_000)}, PASCAL, "Pascal 2008, dense."),
    table("diabetes", "binary", 8, (768,), (0, 1), "https://www.openml.org/d/37", "Pima; zeros stand for missing."),
    table("elec", "binary", 8, (45_312,), ("DOWN", "UP"), "https://www.openml.org/d/151", "In time order, drifts."),
    libsvm("farm-ads", 54_877, (4_143,), (), home=f"{UCI}/218/farm+ads", note="Bag of words, binary."),
    DataSet("gamma", "binary", 500, PLUS_MINUS, {"train": Part("gamma.svm", 500_000)}, PASCAL, "Pascal 2008, dense."),
    table("heart", "binary", 13, (297,), (0, 1), f"{UCI}/45/heart+disease"),
    libsvm(
        "ijcnn1", 22, (49_990, 91_701), ("ijcnn1.bz2", "ijcnn1.t.bz2"),
        ("16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f",
         "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8"),
        note="Rows 1 to 35,000 are LIBSVM's ijcnn1.tr.",
    ),
    table("ionosphere", "binary", 34, (351,), ("b", "g"), f"{UCI}/52/ionosphere"),
    table("liver", "binary", 6, (345,), (1, 2), f"{UCI}/60/liver+disorders"),
    libsvm("mnist", 784, (60_000, 10_000), ("mnist.bz2", "mnist.t.bz2"), page="multiclass", classes=tuple(range(10)),
           note="Pixels 0 to 255."),
    libsvm("reuters_tick", 8_315, (7_770, 3_299), (), home="https://github.com/X-DataInitiative/tick-datasets",
           note="Reuters-21578, money-fx; the test part is sorted by class."),
    table("shuttle_od", "outliers", 9, (49_097,), (0, 1), "https://github.com/Minqi824/ADBench", "1 is an anomaly."),
    DataSet(
        "sms_spam", "binary", None, ("ham", "spam"), {"train": Part("sms_spam.tsv", 5_574)},
        f"{UCI}/228/sms+spam+collection", "Raw text.",
        {"header": False, "label": "column1", "text": "column2"},
    ),
    table("sonar", "binary", 60, (208,), ("M", "R"), f"{UCI}/151/connectionist+bench+sonar+mines+vs+rocks",
          "Sorted by class, so shuffle."),
    libsvm("svmguide1", 4, (3_089, 4_000), ("svmguide1", "svmguide1.t"), classes=(0, 1),
           note="Sorted by class, so shuffle."),
    table("twonorm", "binary", 20, (7_400,), (0, 1), "https://www.cs.toronto.edu/~delve/data/twonorm/desc.html"),
    libsvm("w3a", 300, (4_912, 44_837), ("w3a", "w3a.t"), note=WEB),
    libsvm("w7a", 300, (24_692, 25_057), ("w7a", "w7a.t"), note=WEB),
    libsvm(
        "w8a", 300, (49_749, 14_951), ("w8a", "w8a.t"),
        ("6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
         "618929ecb01bebb841daec4cae4aa07b97832d29b08652452775598929547fde"),
        note=WEB,
    ),
    libsvm("webspam", 254, (350_000,), ("webspam_wc_normalized_unigram.svm.xz",), note="Unigrams, normalised."),
)  # fmt: skip
DATA_SET_BY_NAME = {entry.name: entry for entry in DATA_SETS}


def find_set(name: str) -> DataSet:
    """The set of this name; an error suggests the nearest."""
    if name in DATA_SET_BY_NAME:
        return DATA_SET_BY_NAME[name]
    near = difflib.get_close_matches(name.lower(), DATA_SET_BY_NAME, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(DATA_SET_BY_NAME)}."
    raise ValueError(f"There is no data set {name!r}. {hint}")


def folder_of(data: str | os.PathLike[Any] | None = None) -> str:
    """The folder of the data sets."""
    folder = os.fspath(data) if data is not None else os.environ.get(VARIABLE, "")
    if not folder:
        raise ValueError(f"Where are the data sets? Set {VARIABLE} to their folder, or pass data=.")
    return folder


def path_of(name: str, part: str = "train", data: str | os.PathLike[Any] | None = None) -> str:
    """The file of one part of a set, packed as it may be."""
    chosen = _part(find_set(name), part)
    folder = folder_of(data)
    for ending in ("", *COMPRESSED):
        path = os.path.join(folder, chosen.file + ending)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        f"{chosen.file}, plain or compressed, is not in {folder!r}. "
        + (f"Fetch it: aggro data fetch {name}" if chosen.url else f"Get it from {find_set(name).home}")
        + "."
    )


def _part(entry: DataSet, part: str) -> Part:
    if part not in entry.parts:
        raise ValueError(f"{entry.name} has no part {part!r}, only {' and '.join(map(repr, entry.parts))}.")
    return entry.parts[part]


def load(name: str, part: str = "train", *, data: str | os.PathLike[Any] | None = None, **options: Any) -> Stream:
    """Open a named data set as a stream.

    Parameters
    ----------
    name : str
        One of ``aggro.streams.datasets.DATA_SET_BY_NAME``; ``aggro data list`` shows them.
    part : {"train", "test"}, default="train"
        The part to open.
    data : path, default=None
        Folder with the files. The default is the environment variable AGGRO_DATA.
    **options
        Options of :func:`aggro.streams.open`, which override those of the data set.

    Returns
    -------
    stream : Stream
        Its chunks.
    """
    entry = find_set(name)
    settings = dict(entry.options)
    # A part may lack the last columns, so its width is that of the whole data set.
    if _part(entry, part).file.endswith(".svm"):
        settings["n_features"] = entry.features
    return open(path_of(name, part, data), **{**settings, **options})
