"""How far a call travels through the code: files, functions and hops, for some everyday calls.

A hop is a function of one file that calls a function of another; the same two count once. Each call is traced as the
first one of a fresh process, with compiled code on disk; what runs because a module is imported on the way is no part
of it. Two files go back and forth if each calls the other on the way. At the end: how many of the package's modules a
fresh process has imported after a line of code, and the lines of the package.

``python tools/hops.py`` prints the tables, ``python tools/hops.py "fit, dense"`` every hop of one call.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import aggro

HOME = Path(aggro.__file__).parent
X = np.random.default_rng(0).standard_normal((200, 5))
Y = np.where(X[:, 0] > 0, "yes", "no")
ROWS = [{f"f{j}": float(v) for j, v in enumerate(row)} for row in X[:3]]
Place = tuple[str, str]  # a file and a function in it


def place(frame: FrameType | None) -> Place | None:
    """Where a frame is in this package, or None."""
    if frame is None or not frame.f_code.co_filename.startswith(f"{HOME}{os.sep}"):
        return None
    return os.path.relpath(frame.f_code.co_filename, HOME), frame.f_code.co_qualname


def is_import(frame: FrameType | None) -> bool:
    """Whether this runs because a module of this package is imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and place(frame) is not None:
            return True
        frame = frame.f_back
    return False


class Trace:
    """The functions of this package that were called, and the hops between files."""

    def __init__(self) -> None:
        self.functions: set[Place] = set()
        self.hops: dict[tuple[Place, Place], None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        here = place(frame)
        if event != "call" or here is None or is_import(frame):
            return
        self.functions.add(here)
        caller = frame.f_back
        while caller is not None and place(caller) is None:
            caller = caller.f_back
        before = place(caller)
        if before is not None and before[0] != here[0]:
            self.hops[before, here] = None

    def back_and_forth(self) -> list[str]:
        """Pairs of files that call each other."""
        ways = {(a[0], b[0]) for a, b in self.hops}
        return sorted(f"{a} ↔ {b}" for a, b in ways if a < b and (b, a) in ways)


def command(*words: str, answers: str = "") -> None:
    """A command, as the shell would run it."""
    from aggro.cli import main

    sys.argv, sys.stdin = ["aggro", *words], io.StringIO(answers)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise


def fit(folder: Path) -> Callable[[], Any]:
    model = aggro.PAClassifier()
    return lambda: model.fit(X, Y)


def predict(folder: Path) -> Callable[[], Any]:
    model = aggro.PAClassifier().fit(X, Y)
    return lambda: model.predict(X)


def first_dict(folder: Path) -> Callable[[], Any]:
    model = aggro.PAClassifier()
    return lambda: model.learn_one(ROWS[0], "yes")


def later_dict(folder: Path) -> Callable[[], Any]:
    model = aggro.PAClassifier()
    model.learn_one(ROWS[0], "yes")
    model.learn_one(ROWS[1], "no")
    return lambda: model.learn_one(ROWS[2], "no")


def train(folder: Path) -> Callable[[], Any]:
    return lambda: command("train", str(folder / "labelled.csv"), "--model", str(folder / "trained.aggro"))


def load(folder: Path) -> Callable[[], Any]:
    return lambda: aggro.load(folder / "model.aggro")


def kernel(folder: Path) -> Callable[[], Any]:
    model = aggro.KernelPAClassifier()
    return lambda: model.partial_fit(X, Y)


def active(folder: Path) -> Callable[[], Any]:
    model = aggro.ActiveLearner(aggro.PAClassifier(), random_state=0)
    return lambda: model.partial_fit(X, Y)


def label(folder: Path) -> Callable[[], Any]:
    out = tempfile.mkdtemp(dir=folder)
    words = "label", str(folder / "unlabelled.csv"), "--model", f"{out}/model.aggro", "--classes", "yes,no"
    return lambda: command(*words, answers="yes\nno\nquit\n")


WALKS = {
    "fit, dense": fit,
    "predict": predict,
    "first dict": first_dict,
    "later dict": later_dict,
    "aggro train": train,
    "aggro.load": load,
    "kernel partial_fit": kernel,
    "active partial_fit": active,
    "aggro label, two answers": label,
}
LOADS = {
    "import aggro": "aggro",
    "PAClassifier": "aggro.PAClassifier",
    "KernelPAClassifier": "aggro.KernelPAClassifier",
    "aggro.load": "aggro.load('model.aggro')",
}


def write_files(folder: Path) -> None:
    lines = [",".join(f"{v:.3f}" for v in row) for row in X]
    (folder / "unlabelled.csv").write_text("\n".join(["a,b,c,d,e", *lines]) + "\n")
    labelled = [f"{y},{line}" for y, line in zip(Y, lines, strict=True)]
    (folder / "labelled.csv").write_text("\n".join(["label,a,b,c,d,e", *labelled]) + "\n")
    aggro.PAClassifier().fit(X, Y).save(folder / "model.aggro")


def traced(title: str, folder: Path) -> Trace:
    call, trace = WALKS[title](folder), Trace()
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return trace


def in_process(*words: str, folder: Path) -> str:
    ran = subprocess.run([sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout.splitlines()[-1]


def main() -> None:
    if len(sys.argv) == 3:
        trace = traced(sys.argv[1], Path(sys.argv[2]))
        print(
            json.dumps(
                [
                    len({file for file, _ in trace.functions}),
                    len(trace.functions),
                    len(trace.hops),
                    trace.back_and_forth(),
                ]
            )
        )
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        if len(sys.argv) == 2:
            for (a, f), (b, g) in traced(sys.argv[1], folder).hops:
                print(f"{a} {f} → {b} {g}")
            return
        print(f"{'call':26}{'files':>7}{'functions':>11}{'hops':>6}   back and forth")
        for title in WALKS:
            for _ in range(2):  # the first one compiles
                found = json.loads(in_process(str(Path(__file__).resolve()), title, name, folder=folder))
            print(f"{title:26}{found[0]:7}{found[1]:11}{found[2]:6}   {', '.join(found[3])}")
        print(f"\n{'after':26}{'modules':>7}")
        for title, line in LOADS.items():
            count = "; import sys; print(sum(name.split('.')[0] == 'aggro' for name in sys.modules))"
            print(f"{title:26}{in_process('-c', f'import aggro; {line}{count}', folder=folder):>7}")
        lines = sum(len(path.read_text().splitlines()) for path in HOME.rglob("*.py"))
        print(f"\n{lines} lines in {sum(1 for _ in HOME.rglob('*.py'))} files")


if __name__ == "__main__":
    main()
