"""``aggro show``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.console import Mistake, console, json_text, listed, shown
from aggro.cli.console import facts as as_lines
from aggro.cli.model_files import blaming_the_file, load_model
from aggro.cli.options import Json, Plugins
from aggro.cli.outputs import Reads
from aggro.cli.tables import Column, Row, print_table


def show(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A model file that aggro saved.", show_default=False), Reads()
    ] = None,
    weights: Annotated[int, typer.Option(min=0, metavar="N", help="Show the N largest weights.")] = 10,
    plugin: Plugins = None,
    build: Annotated[bool, typer.Option("--build", help="Show which compiled code aggro uses here, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Show what is in a model file: learner, parameters, classes, counters and largest weights."""
    # About the installation, so no model is needed.
    if build:
        show_build(as_json)
        return
    if model is None:
        raise Mistake("Missing argument 'MODEL'. Give a file that aggro has saved.")
    from aggro.models import describe

    with blaming_the_file(model):
        contents = describe(model, weights=weights)
    facts = facts_of(model, contents)
    if as_json:
        print(json_text(facts, indent=2))
    else:
        print_facts(facts)


def show_build(as_json: bool) -> None:
    """Versions, and where compiled code comes from."""
    from aggro.engine.jit.built import facts

    if as_json:
        print(json_text(facts(), indent=2))
        return
    for name, value in facts().items():
        console().print(f"{name}: {value}", markup=False, highlight=False, soft_wrap=True)


def facts_of(path: Path, contents: Any) -> dict[str, Any]:
    """What the file says, as plain values."""
    from aggro.cli.progress_lines import candidates_in
    from aggro.learners.base.inside import innermost
    from aggro.learners.registry import learners

    # No division by 0 in a model that has seen no row.
    header, seen = contents.header, max(contents.n_seen, 1)
    task = next((entry.task for entry in learners() if entry.name == header.entry), "")
    classifies, detects = task == "classification", task == "outlier"
    position = header.position if isinstance(header.position, dict) else None
    return {
        "model": str(path),
        "bytes": contents.size,
        "aggro": header.aggro,
        "learner": header.learner,
        "parameters": header.parameters,
        **({"classes": sorted(header.classes, key=lambda label: (str(type(label)), label))} if classifies else {}),
        "features": header.n_features,
        "named": header.named or header.records is not None,
        **({"columns": columns_in(header.records), "strays": header.records["strays"]} if header.records else {}),
        "rows": contents.n_seen,
        "mean_loss": contents.mean_loss,
        **({"mistakes": contents.n_mistakes, "error": contents.n_mistakes / seen} if classifies else {}),
        **({"outside": contents.n_mistakes, "share_outside": contents.n_mistakes / seen} if detects else {}),
        # The offset is no part of the header, so the model is loaded for it.
        **({"offset": load_model(path).offset_} if detects else {}),
        "updates": contents.n_updates,
        "drifts": contents.n_drifts,
        "drift_rows": contents.drift_rows,
        # The same goes for what candidates have learned.
        **(candidates_in(innermost(load_model(path))) if header.candidates else {}),
        "weights": [{"feature": w.feature, "class": w.label, "weight": w.value} for w in contents.weights],
        # A checkpoint is a model with a run beside its position.
        "checkpoint": {key: position.get(key) for key in ("passes", "stream")}
        if position and "run" in position
        else None,
        "asking": header.active and asking_of(header.active),
        "labelling": position and position.get("labelling"),
    }


def columns_in(records: dict[str, Any]) -> dict[str, list[str]]:
    """The columns of a table that a model has learned from, by role."""
    roles: dict[str, list[str]] = {}
    for name, role, *_ in records["columns"]:
        roles.setdefault(role, []).append(name)
    return roles


def asking_of(active: dict[str, Any]) -> dict[str, Any]:
    """How a learner asks for labels, and how often it did."""
    from aggro.models.codec import decode

    parameters = {name: decode(value) for name, value in active["parameters"].items()}
    (passed, asked), (delta, *_) = active["counts"][:2], active["sums"]
    return {**parameters, "delta_now": delta, "passed": passed, "asked": asked}


def print_facts(facts: dict[str, Any]) -> None:
    """The facts for people."""
    print(as_lines(lines_of(facts)))
    if not facts["weights"]:
        return
    # Weights of regressors and detectors belong to no class.
    classes = "classes" in facts
    columns = [Column("feature"), *([Column("for class")] if classes else []), Column("weight", number=True)]
    rows = []
    for weight in facts["weights"]:
        named = [shown(weight["class"])] if classes else []
        rows.append(Row([shown(weight["feature"]), *named, f"{weight['weight']:+.6g}"]))
    mean = ", of the average" if facts["parameters"].get("average") in (True, 1) else ""
    what = "The centre, largest" if "outside" in facts else "Largest weights"
    print()
    print_table(console(), columns, rows, f"{what}{mean}")


def checkpoint_line(passes: int, stream: list[int]) -> str:
    if not stream:
        return "every row is learned; train with --resume saves and tests the model"
    return f"not finished: pass {passes + 1}, after row {stream[3]:,} of file {stream[0] + 1}"


def lines_of(facts: dict[str, Any]) -> dict[str, str]:
    from aggro.cli.learner_spec import parameters_of, spelled
    from aggro.cli.progress_lines import candidate_lines, drift_line
    from aggro.learners.registry import learners

    # A learner of a plugin may not be loaded here.
    known = next((entry for entry in learners() if entry.name == facts["learner"]), None)
    settable = facts["parameters"] if known is None else parameters_of(known.load())
    lines = {"model": f"{facts['model']} ({facts['bytes']:,} bytes, written by aggro {facts['aggro']})"}
    if facts["checkpoint"]:
        lines["checkpoint"] = checkpoint_line(**facts["checkpoint"])
    lines["learner"] = facts["learner"] if known is None else spelled(known.name, facts["parameters"])
    # Only what can be set on the command line.
    lines["parameters"] = ", ".join(f"{k}={v}" for k, v in facts["parameters"].items() if k in settable)
    if "classes" in facts:
        lines["classes"] = listed(facts["classes"])
    lines["features"] = f"{facts['features']:,}" + (" with names" if facts["named"] else ", by number from 0")
    if "columns" in facts:
        from aggro.cli.table_report import columns_line

        lines["columns"] = columns_line(facts["columns"])
    lines["rows"] = f"{facts['rows']:,}"
    lines["mean loss"] = f"{facts['mean_loss']:.6g}"
    if "error" in facts:
        lines["mistakes"] = f"{facts['mistakes']:,} ({facts['error']:.2%}), before each row was learned"
    if "outside" in facts:
        lines["outside"] = f"{facts['outside']:,} ({facts['share_outside']:.2%}), before each row was learned"
        lines["offset"] = f"{facts['offset']:.6g}; rows with a lower score are outside"
    if facts["asking"]:
        asked, passed = facts["asking"]["asked"], facts["asking"]["passed"]
        how = ", ".join(f"{name}={facts['asking'][name]}" for name in ("delta", "strategy", "target_rate"))
        lines["asked"] = f"about {asked:,} of {passed:,} rows ({asked / max(passed, 1):.2%}), with {how}"
    if facts["labelling"]:
        at = facts["labelling"]
        lines["labelling"] = f"after row {at['row']:,} of the data, {at['events']:,} answers and skips"
    lines["updates"] = f"{facts['updates']:,} ({facts['updates'] / max(facts['rows'], 1):.2%})"
    if drift := drift_line(facts):
        lines["drift"] = drift
    return lines | candidate_lines(facts)
