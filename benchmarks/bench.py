"""The comparison: jobs that users have, beside the libraries that could do them, as ratios measured in one run.

    python benchmarks/bench.py                      # all of it, into benchmarks/RESULTS.md, results.json and plots
    python benchmarks/bench.py --only files cold    # these groups; the rest stays as it was
    python benchmarks/bench.py --short --out FOLDER # fewer rounds, and none of the long jobs
    python benchmarks/bench.py --check              # the short version beside what is stored: exit 1 if something fell

Data sets are looked for in $AGGRO_DATA; the jobs that need them are left out without.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import plots
import report
from measure import Cell, Others, Plan, Skip, as_dict, compare, machine, versions

HERE = Path(__file__).parent
GROUPS = ("in_memory", "files", "one_row", "beyond_lines", "cold")
GROWTH = "growth"


def run(groups: list[str], short: bool) -> tuple[list[Cell], list[Skip]]:
    """What the groups found, said on the way."""
    cells, skips, others = [], [], Others()
    for one in found_by(groups, short):
        if isinstance(one, Skip):
            skips.append(one)
            print(f"left out: {report.left_out(one)}", flush=True)
        else:
            one = replace(one, others=others.used())
            cells.append(one)
            state = {None: "", True: f"  ({report.aim(one)} met)", False: f"  ({report.aim(one)} MISSED)"}[one.met]
            print(f"{one.job} | {one.peer}: {report.told(one)}{state}", flush=True)
    return cells, skips


def found_by(groups: list[str], short: bool) -> Iterator[Cell | Skip]:
    for name in groups:
        with tempfile.TemporaryDirectory() as folder:
            yield from import_module(f"jobs.{name}").cells(Plan(Path(folder), short))


# What is stored --------------------------------------------------------------------------------------------------


def stored_in(folder: Path) -> dict[str, Any]:
    path = folder / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def cells_of(stored: dict[str, Any]) -> list[Cell]:
    return [Cell(**one) for one in stored.get("cells", [])]


def merged(before: list[Any], now: list[Any], gone: set[str]) -> list[Any]:
    """Groups that were measured now replace what there was of them."""
    order = list(report.ABOUT)
    return sorted([*(one for one in before if one.group not in gone), *now], key=lambda one: order.index(one.group))


def write(folder: Path, cells: list[Cell], skips: list[Skip], growth: dict[str, Any], stored: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    measured = {one.group for one in cells}
    skips = merged([Skip(**one) for one in stored.get("skips", [])], skips, measured | {one.group for one in skips})
    cells = merged(cells_of(stored), cells, measured)
    whole = {
        "machine": machine() if measured else stored["machine"],
        "versions": versions() if measured else stored["versions"],
        "cells": [as_dict(one) for one in cells],
        "skips": [vars(one) for one in skips],
        "growth": growth or stored.get("growth", {}),
    }
    (folder / "results.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "RESULTS.md").write_text(report.page(cells, skips, whole), encoding="utf-8")
    plots.ratios(cells, folder / "plots" / "ratios.png")
    if whole["growth"]:
        plots.growth(whole["growth"], folder / "plots" / "growth.png")
    print(f"written: {folder / 'RESULTS.md'}")


def check(folder: Path, groups: list[str]) -> int:
    """The short version beside what is stored."""
    stored = [one for one in cells_of(stored_in(folder)) if one.short]
    if not stored:
        print(f"Nothing is stored in {folder}: run without --check first.")
        return 1
    cells, skips = run(groups, short=True)
    if groups != list(GROUPS):
        measured = {one.group for one in (*cells, *skips)}
        stored = [one for one in stored if one.group in measured]
    lines = compare(stored, cells, skips)
    print("\n".join(["", "Fell by more than a fifth, or gone:", *lines] if lines else ["", "Nothing fell."]))
    return 1 if lines else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*GROUPS, GROWTH], default=[])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the page and the plots anew, and measure nothing")
    parser.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    chosen = parser.parse_args()
    groups = [name for name in GROUPS if not chosen.only or name in chosen.only]
    if chosen.check:
        return check(chosen.out, groups)
    stored = stored_in(chosen.out)
    if chosen.page:
        groups = []
    cells, skips = run(groups, chosen.short)
    growth = {}
    if not chosen.page and (GROWTH in chosen.only or not (chosen.only or chosen.short)):
        growth = import_module("jobs.growth").curves(chosen.short)
    write(chosen.out, cells, skips, growth, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
