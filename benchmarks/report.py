"""RESULTS.md from what was measured: a table for each group, jobs by libraries, and every target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from measure import BUSY, LONGER, NUMBER, SHARE, Cell, Skip
from reasons import REASONS

BEGIN, END = "<!-- --8<-- [start:measured] -->", "<!-- --8<-- [end:measured] -->"
INTRO = """\
# What was measured

`make bench` writes this page. Each row is a job. Each column is a library that can do it, or a limit that no learner
can pass. A cell is the median of ratios of times taken a moment apart, with their 10th and 90th percentile. *Errors*
are ours and theirs on held-out rows (one by one: before each row was learned), if the two sides do not compute the
same. [The docs](../docs/benchmarks.md) say how we measure, and [Performance](../docs/performance.md) explains the
limits."""
ABOUT = {  # the groups, in their order
    "in memory": "`fit` of PA-I from `aggro.published` with C = 1 in one pass, compared with scikit-learn's "
    '`SGDClassifier(learning_rate="pa1", eta0=1, penalty=None, max_iter=1, tol=None, shuffle=False)`. *NumPy loop* is '
    "the same algorithm written with NumPy calls, on the first 5,000 rows. `X.sum()` reads the array once, in its "
    "own precision; `X @ w` is SciPy's sparse product.",
    "many models in one pass": "The same two learners. *As many passes* means one fit of ours for "
    "each C. scikit-learn's time is measured for an eighth of the values of C and multiplied by eight.",
    "nothing set": "The libraries do different things, so the errors matter as much as the times. *scikit-learn* is "
    "`SGDClassifier()`. LIBLINEAR's own package runs with `-s 2 -B 1`, as its README recommends for many rows; the "
    "time to make its sparse matrix counts.",
    "text for labels": "`partial_fit` of PA-I as published, compared with labels that are integers in an array.",
    "files": "PA-I as published over `aggro.streams.open(path)`, compared with Vowpal Wabbit's own driver in C++ "
    "(`--sgd --loss_function hinge --binary`, on VW text, less the time of one without data), `load_svmlight_file` or "
    "pandas' reader with SGD pa1, LIBLINEAR's own reader (a loop in Python) and `-s 3`, and pyarrow's reading of the "
    "whole table. Files are in the system's cache.",
    "one row": "PA-I as published, 2,000 rows one by one. Errors are mistakes before a row was learned. Vowpal Wabbit "
    "takes lines of text; making them counts. *An empty compiled call* is a call of a Numba function that does "
    "nothing, with the same arguments.",
    "kernel": "Time of `fit`, rows in random order; errors are on up to 20,000 test rows. A target counts "
    "if our error is within 0.3 points of SVC's. SVC has settings from the literature: C = 32, γ = 2 on ijcnn1 and "
    "C = 5, γ = 0.05 on w8a. We chose ours on w8a as the best of twelve on a fifth of the training part, a choice that "
    "SVC did not have here. The time of choosing does not count; *nothing set* needs no choice. "
    "`A @ B` is NumPy's product with as many multiplications as the kernel values of the pass, in one thread.",
    "PAMO": "PAMO-II, rows standardised beforehand on both sides, 5,000 of them. PyTorch: one thread, double "
    "precision, no gradients, the update written by hand; both make the same mistakes, which is checked. "
    "`U @ x` is NumPy's call for each row, with all pieces and one thread.",
    "cold": "Whole processes, from the start of Python to a saved model, with nothing loaded.",
}


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def told(one: Cell) -> str:
    """A cell as it is read."""
    means = {SHARE: " of it", LONGER: " × as long", NUMBER: f" {one.unit}"}.get(one.means, " ×")
    busy = "†" if one.others > BUSY else ""
    text = f"**{number(one.ratio)}**{busy}{means} ({number(one.low)} – {number(one.high)})"
    if one.error is not None and one.peer_error is not None:
        text += f"; errors {one.error:.2f}, {one.peer_error:.2f} %"
    return f"{text}; {one.note}" if one.note else text


def aim(one: Cell) -> str:
    if one.target is None:
        return ""
    goal = f" (goal {one.goal:g})" if one.goal is not None else ""
    return f"{'≤' if one.at_most else '≥'} {one.target:g}{goal}"


def left_out(one: Skip) -> str:
    return f"{one.job}{f', beside {one.peer}' if one.peer else ''}: {one.why}"


def group_table(cells: list[Cell]) -> Iterator[str]:
    peers = list(dict.fromkeys(one.peer for one in cells))
    jobs: dict[str, dict[str, str]] = {}
    for one in cells:
        jobs.setdefault(one.job, {})[one.peer] = told(one)
    yield "| job | " + " | ".join(peers) + " |"
    yield "|---" * (len(peers) + 1) + "|"
    for job, found in jobs.items():
        yield f"| {job} | " + " | ".join(found.get(peer, "") for peer in peers) + " |"


def targets_table(cells: Iterable[Cell]) -> Iterator[str]:
    yield "| job | compared with | measured | target | | why not |"
    yield "|---|---|---|---|---|---|"
    for one in cells:
        if one.target is not None:
            state = ("met" if one.met else "missed") + ("†" if one.others > BUSY else "")
            why = "" if one.met else REASONS.get(one.key, "")
            unit = one.unit if one.means == NUMBER else "×"
            yield f"| {one.job} | {one.peer} | {number(one.ratio)} {unit} | {aim(one)} | {state} | {why} |"


def growth_table(growth: dict[str, Any]) -> Iterator[str]:
    yield "| against | from | to | slope of time, measured | expected | slope of memory, measured | expected |"
    yield "|---" * 7 + "|"
    for name, one in growth.items():
        ends = f"{one['x'][0]:,} | {one['x'][-1]:,}"
        time = f"{one['time_slope']:.2f} | {one['expected_time']:g}"
        memory = f"{one['memory_slope']:.2f} | {one['expected_memory']:g}"
        yield f"| {name} | {ends} | {time} | {memory} |"


def page(cells: list[Cell], skips: list[Skip], stored: dict[str, Any]) -> str:
    """All of RESULTS.md."""
    lines = [INTRO, "", BEGIN]
    met = sum(bool(one.met) for one in cells)
    of = sum(one.target is not None for one in cells)
    unsure = sum(bool(one.met) and one.others > BUSY for one in cells)
    where, rounds = stored["machine"], [one.rounds for one in cells]
    names = ", ".join(f"{name} {version}" for name, version in stored["versions"].items())
    lines += [
        f"{met} of {of} targets are met, {unsure} of these on a busy machine (†).",
        f"A cell has {min(rounds)} to {max(rounds)} rounds.",
        f"Measured on {where['processor']}, {where['cores']} cores, {where['system']}, with {names}.",
        "",
    ]
    busy = sum(one.others > BUSY for one in cells)
    if busy:
        lines += [
            f"† Other processes used the machine meanwhile, in {busy} of {len(cells)} cells: measure these again.",
            "",
        ]
    for group in ABOUT:
        of_group = [one for one in cells if one.group == group]
        if not of_group:
            continue
        lines += [f"## {group[0].upper()}{group[1:]}", "", ABOUT.get(group, ""), "", *group_table(of_group), ""]
        lines += [f"Not measured: {left_out(one)}.\n" for one in skips if one.group == group]
    lines += ["", "## Targets", "", *targets_table(cells), ""]
    if stored.get("growth"):
        lines += ["## Growth", "", *growth_table(stored["growth"]), ""]
    lines += [END, "", "![Every ratio with a target](plots/ratios.png)", ""]
    if stored.get("growth"):
        lines += ["![Time and memory as things grow](plots/growth.png)", ""]
    return "\n".join(lines)
