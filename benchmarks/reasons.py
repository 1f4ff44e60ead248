"""Why a target was not reached, as measured, by what the cell is called: group, job, peer. RESULTS.md shows them.

Times in them are of ``python benchmarks/where_time_goes.py``, unless something else is said.
"""

from __future__ import annotations

DENSE_22 = (
    "Of 4.8 ms the pass takes 2.9. If no row moved the weights it would take 1.4, if each did 4.1: a quarter does, and "
    "that the processor cannot guess which costs 0.8. Counting for probabilities and drift takes 1.0, labels and "
    "checks 0.9."
)
DENSE_123 = (
    "Of 3.7 ms the pass takes 2.2, and 1.8 if no row moved the weights; counting takes 0.7, and labels, checks and "
    "what a call costs whatever the rows 0.8, which longer streams spread over more rows."
)
DENSE_500 = (
    "Of 4.8 ms the pass takes 3.3, and 3.0 if no row moved the weights. Counting takes 0.5, and labels, checks and the "
    "call 0.9, which longer streams spread over more rows."
)
DENSE_500_SINGLE = "Numbers are made double before they are multiplied, so that half the bytes are not half the time."
FEW_NON_ZEROS = (
    "Of 7.0 ms the pass takes 4.3, 2.7 if no row moved the weights; that the processor cannot guess which do costs "
    "1.1. Counting takes 1.2, the check of the indices 0.6, labels and the rest 0.9."
)
MANY_NON_ZEROS = (
    "Of 20.6 ms the pass takes 16.8, the check of the indices 1.7, and counting 1.2. "
    "scikit-learn fetches the same weights. Checking blocks of rows just before they are learned is no faster."
)
GRID_123 = (
    "With 16 values 0.35 µs a row: 123 · 16 products, and as many additions for every eight of which a model moves; of "
    "7.0 ms 5.9 remain if all values are 1 or more. Longer rows make single passes cheaper: 0.65 ns a column, and 1.5 "
    "with 22 columns, where the same job is 4.3 times as fast."
)
TEXT = (
    "Of 107 ms of processor time for 61 MB, parsing takes 67, nearly a gigabyte a second on one core, learning 21, and "
    "the rest is reading; two cores are busy for 69."
)
VW_TEXT = "Of 160 ms of processor time for 62 MB, parsing and hashing names take 94, learning 22, reading the rest."
CSV = "pyarrow's reading takes 216 of 280 ms of processor time, encoding 34, learning 30; both cores are busy."
PARQUET = (
    "pyarrow reads 45 MB in 21 ms of processor time. Reading in batches of bounded memory and encoding them take 56, "
    "learning 31: by itself more than the reading."
)
ONE_DICT = (
    "Compiled code takes 0.8 of 1.5 µs to predict and 0.8 of 1.7 to learn, half of it for reading 22 entries; the "
    "rest is Python's: a lock, a look whether the call is allowed, and the call."
)
ONE_ARRAY = (
    "Compiled code takes 0.5 of 1.9 µs, 0.15 of it the call; copying the array into place takes 0.2, a lock 0.16, and "
    "Python the rest."
)
KERNEL = (
    "A row is multiplied with every support vector before the next is looked at, at a third of the rate of a product "
    "of matrices; SVC has a quarter of the support vectors and caches columns of its matrix."
)
KERNEL_UNSET = "Four values of γ learn side by side, and up to three passes are made."
TORCH = (
    "A row takes 2.8 µs in all, as long as one product with NumPy: twenty times PyTorch's 48 would be 2.4, less than "
    "that."
)
TORCH_WIDE = (
    "A row takes 21.7 µs, as long as one product with NumPy, and PyTorch's calls 111, of which its product takes 28: a "
    "twentieth of 111 would be 6. To project and to move are 370,000 multiplications with their additions, 14 µs at "
    "eight of them a cycle."
)
COLD = (
    "Of 2.2 s of processor time 1.85 are there with a file of 300 rows: imports, of which scikit-learn's base class is "
    "1.4 on both sides, Numba 0.2 and pyarrow 0.16, and compiled code that is loaded. The other 50,000 rows take 0.33, "
    "and scikit-learn 0.37."
)
IMPORTS = "By python -X importtime, scikit-learn's base class is 1.1 of 1.7 s, Numba 0.12 and this library the rest."
OBJECTS = "1.8 ms are added to 2.3: 18 ns a label, an object somewhere in memory whose letters are compared there."
PANDAS = "Of the 3.0 ms that are added to 2.3, pandas' own numbering of the labels (factorize) takes 1.8."

REASONS: dict[tuple[str, str, str], str] = {
    ("in memory", "fit, 200,000 × 22 dense, float64", "scikit-learn"): DENSE_22,
    ("in memory", "fit, 200,000 × 22 dense, float32", "scikit-learn"): DENSE_22,
    ("in memory", "fit, 50,000 × 123 dense, float64", "X.sum()"): DENSE_123,
    ("in memory", "fit, 50,000 × 123 dense, float32", "X.sum()"): DENSE_123,
    ("in memory", "fit, 20,000 × 500 dense, float64", "X.sum()"): DENSE_500,
    ("in memory", "fit, 20,000 × 500 dense, float32", "X.sum()"): DENSE_500_SINGLE,
    ("in memory", "fit, 200,000 × 300 CSR, 13 non-zeros a row", "scikit-learn"): FEW_NON_ZEROS,
    ("in memory", "fit, 200,000 × 47,000 CSR, 60 non-zeros a row", "scikit-learn"): MANY_NON_ZEROS,
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
