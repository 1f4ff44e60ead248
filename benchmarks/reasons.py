"""Why a target was not reached, as measured, by what the cell is called: group, job, peer. RESULTS.md shows them.

Times in them are of ``python benchmarks/where_time_goes.py``, unless something else is said.
"""

from __future__ import annotations

DENSE_22 = (
    "Of 4.0 ms the pass takes 2.4, which alone is more than a fifth of scikit-learn's time. If no row moved the "
    "weights it would take 1.2, if each did 3.5: a quarter does, and that the processor cannot guess which costs 0.6. "
    "Counting for probabilities and drift takes 0.9, labels and checks 0.8."
)
DENSE_123 = (
    "Numbers are made double before they are multiplied, so that half the bytes are not half the time: of 2.8 ms the "
    "pass takes 1.6, counting 0.6, and labels, checks and the call 0.7, which longer streams spread over more rows."
)
DENSE_500 = (
    "Counting for probabilities and drift, labels, checks and the call are a quarter of the time, which longer "
    "streams spread over more rows."
)
DENSE_500_SINGLE = "Numbers are made double before they are multiplied, so that half the bytes are not half the time."
FEW_NON_ZEROS = (
    "Of 5.5 ms the pass takes 3.3, 2.2 if no row moved the weights; that the processor cannot guess which do costs "
    "0.8. Counting takes 0.8, the check of the indices 0.4, labels and the rest 1.0."
)
MANY_NON_ZEROS = (
    "Of 16.1 ms the pass takes 12.6, the check of the indices 1.5, and counting 1.2. scikit-learn fetches the same "
    "weights. Checking blocks of rows just before they are learned is no faster."
)
GRID_123 = (
    "With 16 values 0.21 µs a row, with 64 1.0: 123 products a model, and as many additions for every eight of which "
    "a model moves. The weights of 64 are 63 KB, more than the first cache. Longer rows make single passes "
    "cheaper: 0.43 ns a column, and 1.1 with 22 columns."
)
CLASSES = "0.33 µs a row: 100 · 24 products, and 100 additions for every eight classes of which one moves."
TEXT = (
    "Of 78 ms of processor time for 61 MB, parsing takes 40, 1.5 gigabytes a second on one core, learning 15, and the "
    "rest is reading and handing blocks from thread to thread; two cores are busy for 48."
)
VW_TEXT = "Of 97 ms of processor time for 62 MB, parsing and hashing names take 56, learning 16, reading the rest."
CSV = "Of 97 ms of processor time for 50 MB reading and encoding take 72; pyarrow's reading alone takes 207."
PARQUET = (
    "pyarrow reads 45 MB in 12 ms of processor time. Reading in batches of bounded memory and encoding them take 41, "
    "learning 17: by itself more than the reading."
)
ONE_DICT = "Predicting takes 0.23 µs and learning 0.41, nearly all of it compiled code."
ONE_ARRAY = (
    "A call takes 0.34 µs, and an empty one 0.10, which has no Python function around it. About 0.1 is for handing the "
    "state on to the pass."
)
KERNEL = (
    "At 0.59 of the rate of a product of matrices that takes no exponentials; with vectors of four numbers "
    "(x86-64-v3) the multiplications alone are reckoned at four fifths of the time. SVC has a quarter of the support "
    "vectors and caches columns of its matrix."
)
KERNEL_UNSET = "Four values of γ learn in parallel, in up to three passes."
TORCH = (
    "A row takes as long as one product with NumPy, and PyTorch's calls twelve times as long: a twentieth of them "
    "would be less than that product."
)
TORCH_WIDE = (
    "A row takes as long as one product with NumPy, and PyTorch's calls four times as long, a quarter of it in its "
    "product: a twentieth of them would be a fifth of the product with NumPy. To project and to move are 370,000 "
    "multiplications with their additions."
)
COLD = (
    "Nearly all of it is imports, which both sides have: scikit-learn's base class is most of ours, then Numba, "
    "pyarrow, and compiled code that is loaded."
)
IMPORTS = "By python -X importtime, scikit-learn's base class is 1.1 of 1.7 s, Numba 0.12 and this library the rest."
OBJECTS = (
    "3.5 ms are added to 1.7: 35 ns a label, an object somewhere in memory whose letters are compared there. In a "
    "process that does nothing else, where the objects lie one behind another, 1.1 are added."
)
PANDAS = (
    "0.6 ms are added to 1.7 if the letters are in the caches, and 1.1 if they are not, as here: they are numbered "
    "where they are, and handed on as objects."
)

REASONS: dict[tuple[str, str, str], str] = {
    ("in memory", "fit, 200,000 × 22 dense, float64", "scikit-learn"): DENSE_22,
    ("in memory", "fit, 200,000 × 22 dense, float32", "scikit-learn"): DENSE_22,
    ("in memory", "fit, 50,000 × 123 dense, float64", "X.sum()"): DENSE_500,
    ("in memory", "fit, 50,000 × 123 dense, float32", "X.sum()"): DENSE_123,
    ("in memory", "fit, 20,000 × 500 dense, float64", "X.sum()"): DENSE_500,
    ("in memory", "fit, 20,000 × 500 dense, float32", "X.sum()"): DENSE_500_SINGLE,
    ("in memory", "fit, 200,000 × 300 CSR, 13 non-zeros a row", "scikit-learn"): FEW_NON_ZEROS,
    ("in memory", "fit, 200,000 × 47,000 CSR, 60 non-zeros a row", "scikit-learn"): MANY_NON_ZEROS,
    ("many models in one pass", "fit, 50,000 × 100 dense, 20 classes, one against the rest", "scikit-learn"): CLASSES,
    ("many models in one pass", "fit, 20,000 × 123 dense, 16 values of C", "as many passes"): GRID_123,
    ("many models in one pass", "fit, 20,000 × 123 dense, 64 values of C", "as many passes"): GRID_123,
    ("files", "svmlight to model, 200,000 × 13", "Vowpal Wabbit"): TEXT,
    ("files", "svmlight to model, 200,000 × 13", "bytes read"): TEXT,
    ("files", "VW text to model, 200,000 × 13", "Vowpal Wabbit"): VW_TEXT,
    ("files", "CSV to model, 200,000 × 13", "pyarrow reading alone"): CSV,
    ("files", "Parquet to model, 200,000 × 13", "pyarrow reading alone"): PARQUET,
    ("one row", "predict_one and learn_one, dicts of 22", "River"): ONE_DICT,
    ("one row", "learn_one, arrays of 22", "scikit-learn"): ONE_ARRAY,
    ("one row", "learn_one, arrays of 22", "an empty compiled call"): ONE_ARRAY,
    ("kernel", "fit, ijcnn1, 49,990 × 22, C = 1, γ = 8, one pass", "SVC"): KERNEL,
    ("kernel", "fit, ijcnn1, 49,990 × 22, nothing set", "SVC"): KERNEL_UNSET,
    ("kernel", "fit, w8a, 49,749 × 300, nothing set", "SVC"): KERNEL_UNSET,
    ("PAMO", "partial_fit, ijcnn1, 256 × 2 pieces, 22 columns", "PyTorch"): TORCH,
    ("PAMO", "partial_fit, cbcl, 256 × 2 pieces, 361 columns", "PyTorch"): TORCH_WIDE,
    ("text for labels", "partial_fit, 100,000 × 22, 2 classes, text for labels (objects)", "the same with integers"): (
        OBJECTS
    ),
    ("text for labels", "partial_fit, 100,000 × 22, 2 classes, text for labels (pandas)", "the same with integers"): (
        PANDAS
    ),
    ("cold", "aggro train, CSV of 50,000 rows, 22 numbers", "scikit-learn"): COLD,
    ("cold", "from aggro import PAClassifier", "scikit-learn"): IMPORTS,
}
