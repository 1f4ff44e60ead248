"""``aggro warm``: compile now what learners will ask for later."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from aggro.cli.console import Mistake, json_text
from aggro.cli.options import Json


def warm(
    learners: Annotated[
        list[str] | None, typer.Argument(metavar="[LEARNER]...", help="Compile for these learners.  [default: all]")
    ] = None,
    *,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Run N processes in parallel.  [default: one per core]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the code of learners for this processor and store it, so that programs start at once.

    This covers every setting of a learner, for dense and sparse rows, in batches and one by one. All learners together
    take ten minutes or more. Code that is stored already is not compiled again. If the package came with compiled
    code, programs use that, unless you run them with AGGRO_NATIVE=1.
    """
    from aggro.cli.learner_spec import entry_of
    from aggro.warm import jobs, together

    entries = [entry_of(name)[0] for name in learners or ()]
    for entry in entries:
        if entry.own is not None:
            raise Mistake(
                f"{entry.name} is not part of aggro: its code is compiled in each process and cannot be stored."
            )
    used: set[str] = set()
    chosen = jobs([entry.name for entry in entries] or None)
    # Each job says which files it has used, also those that were stored before.
    for number, (job, files) in enumerate(together(chosen, workers or os.cpu_count() or 1), 1):
        used.update(files)
        if not as_json:
            print(f"{number}/{len(chosen)} {job}", flush=True)
    # Nothing was stored: the folder cannot be written, or others can write to it, too.
    if not used:
        raise Mistake(
            "Compiled code cannot be stored here. Set NUMBA_CACHE_DIR to a folder that only you can write to."
        )
    folder = os.path.dirname(min(used))
    size = sum(os.path.getsize(path) for path in used)
    if as_json:
        print(json_text({"folder": folder, "files": sorted(os.path.basename(path) for path in used), "bytes": size}))
    else:
        print(f"{len(used)} kernels, {size / 1e6:.0f} MB, in {folder}")
