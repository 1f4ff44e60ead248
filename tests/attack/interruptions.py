"""Stops what aggro does at random moments, and fills the disk at random sizes: nothing may be lost or learned twice.

    python tests/attack/interruptions.py --count 200 --seed 0

prints as JSON how often each of these was stopped, and what came of it; it ends with an error at the first fault.

train   kill -9, Ctrl-C and kill, in several formats, with several learners, with --test, with --from into the same file
label   the same, with answers on stdin
save    the same, while Python saves two models in turn into one file
disk    no file may grow beyond a random size: every file that a command writes
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS))

import numpy as np  # noqa: E402
from helpers.full_disk import full  # noqa: E402
from helpers.killer import Plan, killed_after, quiet, read, same, spawn  # noqa: E402

from aggro import PAClassifier, PARegressor, cli  # noqa: E402

SIGNALS = ("SIGKILL", "SIGINT", "SIGTERM")
LETTERS = "abc"


# Data -------------------------------------------------------------------------------------------------


def svmlight(path: Path, rows: int) -> None:
    """New features turn up all the way."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(1, 50 + np.arange(rows)[:, None] // 50, (rows, 8)), axis=1)
    values = rng.standard_normal((rows, 8)).round(4)
    y = np.where(values[:, 0] + values[:, 1] + 0.3 * rng.standard_normal(rows) > 0, 1, -1)
    with open(path, "w") as file:
        for label, row, data in zip(y.tolist(), columns.tolist(), values.tolist(), strict=True):
            file.write(f"{label} {' '.join(f'{j}:{v}' for j, v in zip(row, data, strict=True))}\n")


def table(rows: int) -> Iterator[tuple[float, str, str, float]]:
    """A number, a category, a class, of which the last turns up late, and a number to predict."""
    rng = np.random.default_rng(1)
    for i in range(rows):
        kind = int(rng.integers(0, 2 + (i > rows // 3)))
        x = float(rng.standard_normal()) + kind
        yield round(x, 9), f"colour{rng.integers(0, 5 + i // 2500)}-of-many", LETTERS[kind], round(3 * x + 1, 6)


def make_data(folder: Path) -> dict[str, str]:
    every = ("rows.svm", "rows.csv.gz", "rows.jsonl", "rows.vw", "numbers.csv", "few.csv")
    names = {name: folder / name for name in every}
    svmlight(names["rows.svm"], 30_000)
    with gzip.open(names["rows.csv.gz"], "wt", compresslevel=1) as file:
        file.write("size,colour,kind\n")
        file.writelines(f"{x},{colour},{kind}\n" for x, colour, kind, _ in table(60_000))
    with open(names["rows.jsonl"], "w") as file:
        for x, colour, kind, _ in table(40_000):
            file.write(json.dumps({"size": x, "colour": colour, "kind": kind}) + "\n")
    with open(names["rows.vw"], "w") as file:
        file.writelines(f"{1 + LETTERS.index(kind)} |n size:{x} |c {colour}\n" for x, colour, kind, _ in table(60_000))
    with open(names["numbers.csv"], "w") as file:
        file.write("size,colour,target\n")
        file.writelines(f"{x},{colour},{y}\n" for x, colour, _, y in table(60_000))
    with open(names["few.csv"], "w") as file:
        file.write("size,colour\n")
        file.writelines(f"{x},{colour}\n" for x, colour, _, _ in table(300))
    return {path.name: str(path) for path in names.values()}


# Training ---------------------------------------------------------------------------------------------


def trainings(data: dict[str, str]) -> list[list[str]]:
    """Formats and learners of every sort."""
    return [
        ["train", data["rows.svm"], "--passes", "3", "--set", "C=0.1", "--set", "average=true"],
        ["train", data["rows.csv.gz"], "--passes", "2", "--set", "step=pa2"],
        ["train", data["rows.jsonl"], "--learner", "PAMeansClassifier"],
        ["train", data["rows.vw"], "--set", "batch_size=7", "--passes", "2"],
        ["train", data["rows.vw"], "--named", "--learner", "MultiplicativePAClassifier"],
        ["train", data["numbers.csv"], "--learner", "PARegressor", "--set", "half_life=1000"],
        ["train", data["rows.svm"], "--learner", "PAUniclass"],
        ["train", data["rows.svm"], "--learner", "KernelPAClassifier", "--set", "budget=30"],
    ]


def attack_training(count: int, rng: random.Random, folder: Path, data: dict[str, str]) -> dict[str, int]:
    """Every other plan goes on from a model, in its own file; most test what has been learned."""
    total: Counter[str] = Counter()
    plans = trainings(data)
    rng.shuffle(plans)
    for i in range(max(1, min(count // 4, 2 * len(plans)))):
        arguments = plans[i % len(plans)]
        models = folder / f"train{i}"
        models.mkdir()
        start = None
        if i % 2:
            start = str(folder / f"start{i}.aggro")
            status, said = run([*arguments, "--model", start])
            assert status == 0, said
            arguments = [arguments[0], arguments[1], *(["--named"] if "--named" in arguments else [])]
        tests = ["--test", arguments[1]] * rng.choice([0, 1, 3])
        plan = {
            "arguments": [*arguments, *tests],
            "checkpointing": ["--checkpoint", rng.choice(["1000", "20000", "10000000"])],
            "whole": str(models / "whole.aggro"),
            "pieces": str(models / "pieces.aggro"),
            "log": str(folder / "log"),
            "seed": rng.random(),
            "kills": -(-count // min(max(1, count // 4), 2 * len(plans))),
            "resumed": 0,
            "signals": SIGNALS,
            **({"start": start} if start else {}),
        }
        total.update(Plan(plan).run())
        assert same(plan["whole"], plan["pieces"]), plan
        assert sorted(os.listdir(models)) == ["pieces.aggro", "whole.aggro"], os.listdir(models)
    return dict(total)


# Labelling --------------------------------------------------------------------------------------------


class Oracle(io.StringIO):
    """A stdin that knows the labels: each line read answers the question that was printed last."""

    def __init__(self, labels: list[str], out: io.StringIO) -> None:
        super().__init__()
        self.labels, self.out = labels, out

    def readline(self, *_: Any) -> str:
        """An answer; some rows are skipped."""
        row = json.loads(self.out.getvalue().splitlines()[-1])["question"]["row"]
        return "skip\n" if row % 11 == 0 else self.labels[row - 1] + "\n"


def labelling(arguments: list[str], labels: list[str], log: Path) -> int:
    """Start a run in a process of its own."""

    def body() -> None:
        out = io.StringIO()
        sys.stdin = Oracle(labels, out)
        with redirect_stdout(out):
            cli.main(arguments)

    return spawn(body, str(log))


def attack_labelling(count: int, rng: random.Random, folder: Path, data: dict[str, str]) -> dict[str, int]:
    """The journal and the model are those of a run that was not stopped."""
    labels = [kind for _, _, kind, _ in table(300)]
    models = folder / "label"
    models.mkdir()
    result = Counter(kills=0, finished=0)
    whole, pieces = str(models / "whole.aggro"), str(models / "pieces.aggro")
    command = ["label", data["few.csv"], "--json", "--classes", "a,b,c", "--delta", "0.3", "--model"]
    quiet()
    log = folder / "log"
    start = time.perf_counter()
    assert os.waitstatus_to_exitcode(os.waitpid(labelling([*command, whole], labels, log), 0)[1]) == 0, read(str(log))
    usual = time.perf_counter() - start
    while result["kills"] < count or not result["finished"]:
        number = getattr(signal, rng.choice(SIGNALS))
        status = killed_after(labelling([*command, pieces], labels, log), rng.uniform(0.0, 1.1 * usual), number)
        if status == 0:
            assert same(whole, pieces), result
            assert same(f"{whole}.answers", f"{pieces}.answers"), result
            for name in (pieces, f"{pieces}.answers"):
                os.unlink(name)
            result["finished"] += 1
        else:
            assert status in (-number, 128 + number), (status, read(str(log)))
            assert "Traceback" not in read(str(log)), read(str(log))
            result["kills"] += 1
    return dict(result)


# Saving in Python -------------------------------------------------------------------------------------


def saving(models: list[Any], path: str, log: str) -> int:
    def body() -> None:
        while True:
            for model in models:
                model.save(path)

    return spawn(body, log)


def attack_saving(count: int, rng: random.Random, folder: Path, data: dict[str, str]) -> dict[str, int]:
    """The file is always one of the two; what a killed process leaves behind goes with the next one's save."""
    X = np.random.default_rng(0).standard_normal((50, 20_000))
    models = [PARegressor(random_state=0).fit(X, X[:, 0]), PAClassifier(random_state=0).fit(X, X[:, 0] > 0)]
    place = folder / "save"
    place.mkdir()
    path = str(place / "m.aggro")
    good = []
    for model in models:
        model.save(path)
        good.append(Path(path).read_bytes())
    log = str(folder / "log")
    quiet()
    for _ in range(count):
        number = getattr(signal, rng.choice(SIGNALS))
        status = killed_after(saving(models, path, log), rng.uniform(0.0, 0.05), number)
        assert status in (-number, 128 + number), (status, read(log))
        assert Path(path).read_bytes() in good
    models[0].save(path)
    assert os.listdir(place) == ["m.aggro"], os.listdir(place)
    return {"kills": count}


# A full disk ------------------------------------------------------------------------------------------


def run(arguments: list[str], stdin: Callable[[io.StringIO], Any] = lambda out: io.StringIO()) -> tuple[int, str]:
    """Status and stderr of a command line in this process."""
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    try:
        with redirect_stdout(out), redirect_stderr(err):
            sys.stdin = stdin(out)
            cli.main(arguments)
    except SystemExit as end:
        return end.code or 0, err.getvalue()
    finally:
        sys.stdin = before
    raise AssertionError("a command line ends with a status")


@contextmanager
def small_data(data: dict[str, str], folder: Path) -> Iterator[str]:
    path = folder / "some.svm"
    with open(data["rows.svm"]) as file:
        path.write_text("".join(line for _, line in zip(range(500), file, strict=False)))
    yield str(path)


def attack_disk(count: int, rng: random.Random, folder: Path, data: dict[str, str]) -> dict[str, int]:
    """What was there stays, to the byte, and nothing else is left; without the limit, all is written."""
    place = folder / "disk"
    place.mkdir()
    with small_data(data, folder) as some:
        model = str(folder / "disk.aggro")
        run(["train", some, "--model", model])
        labels = [kind for _, _, kind, _ in table(300)]
        label = ["label", data["few.csv"], "--json", "--classes", "a,b,c", "--budget", "30", "--model"]
        commands = {
            "m.aggro": ["train", some, "--model"],
            "k.aggro": ["train", some, "--checkpoint", "100", "--passes", "2", "--model"],
            "p.txt": ["predict", model, some, "--scores", "--output"],
            "c.html": ["compare", some, "--learners", "pa", "--plot"],
            "c.png": ["compare", some, "--learners", "pa", "--plot"],
            "l.aggro": label,
        }
        result: Counter[str] = Counter()
        for name, command in commands.items():
            path = place / name
            line = [*command, str(path)]

            def stdin(out: io.StringIO) -> Any:
                return Oracle(labels, out)

            status, said = run(line, stdin)
            assert status == 0, said
            size = path.stat().st_size
            if name == "l.aggro":
                size = min(size, Path(f"{path}.answers").stat().st_size)
            for _ in range(-(-count // len(commands))):
                for file in place.iterdir():
                    file.unlink()
                old = None
                if name != "l.aggro" and rng.random() < 0.7:
                    run(line, stdin)
                    old = path.read_bytes() + b"what must stay"
                    path.write_bytes(old)
                with full(rng.randrange(size)):
                    status, said = run(line, stdin)
                assert status == 2, (name, said)
                assert said.splitlines()[-1].startswith("aggro: "), said
                assert "File too large" in said.splitlines()[-1], said
                assert "Traceback" not in said, said
                left = {file.name for file in place.iterdir()}
                assert not [file for file in left if file.startswith(".aggro-")], left
                assert left <= {name, f"{name}.answers", f"{name}.checkpoint"}, left
                assert old is None or path.read_bytes() == old, name
                result[name] += 1
                if name == "l.aggro" or old is None:  # all goes on when there is room again
                    assert run(line, stdin)[0] == 0
        return dict(result)


ATTACKS = {"train": attack_training, "label": attack_labelling, "save": attack_saving, "disk": attack_disk}


def main(count: int, seed: int, only: list[str] | None = None) -> dict[str, dict[str, int]]:
    """So many interruptions of each sort."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make_data(folder)
        log = os.open(os.devnull, os.O_WRONLY)
        for sort in only or ATTACKS:
            with open(log, "w", closefd=False) as nowhere, redirect_stderr(nowhere), redirect_stdout(nowhere):
                found[sort] = ATTACKS[sort](count, random.Random(f"{seed} {sort}"), folder, data)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="interruptions of each sort")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(ATTACKS))
    given = parser.parse_args()
    print(json.dumps(main(given.count, given.seed, given.only), indent=2))
