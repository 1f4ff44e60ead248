"""How a run begins, and how one that was begun is taken up again.

Beside the model ``m.aggro`` there are ``m.aggro.answers``, the journal, and ``m.aggro.start``, the model as it was
before the first question; without the latter it was a learner that knew nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggro.cli.checkpoints import fingerprint
from aggro.cli.console import Mistake
from aggro.cli.labelling.journal import Journal, digest
from aggro.cli.labelling.session import LABELLING, Moment
from aggro.cli.labelling.walk import Place, Row
from aggro.cli.learner_spec import make_learner
from aggro.cli.options import Reading
from aggro.cli.reading import Rows, blaming_the_data, one_line, open_data

if TYPE_CHECKING:
    from aggro.streams import Stream

__all__ = ["Gating", "Run", "saved_moment"]

AGAIN = "Give the command that began it, or move {journal} away to begin anew."
OF_A_PERSON = {"delta": 0.1, "strategy": "margin", "target_rate": None, "random_state": 0}


@dataclass(frozen=True)
class Gating:
    """How the model asks, as far as it was said."""

    delta: float | None = None
    strategy: str | None = None
    target_rate: float | None = None

    def said(self) -> dict[str, Any]:
        """What was said."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass
class Run:
    """Everything that was said about a run."""

    model: Path
    stream: Stream
    reading: Reading
    learner: str | None
    settings: list[str]
    gating: Gating
    seeds: list[str]

    @property
    def origin(self) -> Path:
        """Where the model is kept as it was at the start."""
        return self.model.with_name(f"{self.model.name}.start")

    def begin(self, journal: Journal, loaded: Any) -> None:
        """Make what a new run begins with, ``loaded`` or a new learner, and write the journal's first line."""
        if loaded is None:
            begun = gated(make_learner(self.learner or "PAClassifier", self.settings), self.gating, hashed=self.bits())
        elif self.learner or self.settings:
            raise Mistake(f"{self.model} is there, with its learner and parameters: leave --learner and --set out.")
        else:
            begun = gated(loaded, self.gating)
        seeded = self._learn_seeds(begun)
        origin: list[int] | None = None
        if loaded is not None or seeded > 0:
            save_as(begun, self.origin)
            origin = fingerprint(str(self.origin))
        else:
            self.origin.unlink(missing_ok=True)
        journal.begin({**self.described(), "settings": settings_of(begun), "origin": origin, "seeds": seeded})

    def described(self) -> dict[str, Any]:
        """What tells this run from another."""
        import aggro

        run = {
            "data": [fingerprint(name) for name in self.stream.files],
            "names": self.stream.files,
            "options": asdict(self.reading),
            "text": list(self.stream.options["text"]),
            "named": self.stream.options["named"],
            "chunk_bytes": self.stream.chunk_bytes,
        }
        model = fingerprint(str(self.model)) if self.model.exists() else None
        return {"run": run, "model": model, "aggro": aggro.__version__}

    def check(self, journal: Journal) -> None:
        """Refuse a journal that belongs to another run."""
        assert journal.run is not None
        then, now = journal.run["run"], self.described()["run"]
        advice = AGAIN.format(journal=journal.path)
        if then["data"] != now["data"]:
            raise Mistake(f"{journal.path} has answers to other data, {', '.join(then['names'])}. {advice}")
        for name, was in then["options"].items():
            if was != now["options"].get(name):
                spoken = f"--{name.replace('_', '-')}"
                raise Mistake(f"{journal.path} was begun with {spoken} {was}, not {now['options'].get(name)}. {advice}")
        for name in ("text", "named", "chunk_bytes"):
            if then[name] != now[name]:
                raise Mistake(f"{journal.path}: the data were read with {name}={then[name]}, now {now[name]}. {advice}")
        settings = journal.run["settings"]
        for name, value in self.gating.said().items():
            if settings["asking"][name] != value:
                spoken = f"--{name.replace('_', '-')}"
                raise Mistake(
                    f"{journal.path} was begun with {spoken} {settings['asking'][name]}, not {value}. {advice}"
                )
        if self.learner or self.settings:
            wanted = settings_of(gated(make_learner(self.learner or "PAClassifier", self.settings), self.gating))
            if any(settings[name] != wanted[name] for name in ("learner", "parameters")) and not journal.run["origin"]:
                raise Mistake(f"{journal.path} was begun with another learner or other parameters. {advice}")

    def start(self, journal: Journal) -> Any:
        """The learner as it was before the first question."""
        assert journal.run is not None
        if not journal.run["origin"]:
            return made_again(journal.run["settings"])
        from aggro.models import ModelFileError, load

        try:
            if fingerprint(str(self.origin)) != journal.run["origin"]:
                raise Mistake(
                    f"{self.origin} is not the model that {journal.path} began with: something else has written it. "
                    f"Put the right one there, or move {journal.path} away to begin anew."
                )
            return load(self.origin, shell=False)
        except (ModelFileError, OSError) as error:
            raise Mistake(f"{one_line(error)} The model cannot be made again without it.") from error

    def bits(self) -> int | None:
        """How many bits features are hashed to, if they are."""
        hashed = self.stream.format == "vw" and not self.stream.options["named"]
        return int(self.stream.options["bits"]) if hashed else None

    def _learn_seeds(self, active: Any) -> int:
        if not self.seeds:
            return 0
        stream = open_data(self.seeds, self.reading)
        for name in ("text", "named", "bits"):
            stream.options[name] = self.stream.options[name]
        rows, count = Rows(stream, "classification"), 0
        for chunk in rows:
            for i, label in enumerate(chunk.y.tolist()):
                row = Row(count, chunk, i, Place())
                if row.weight != 0.0:
                    with blaming_the_data():
                        active.learn_one(row.x, label, row.weight)
                    count += 1
        if not count:
            raise Mistake(f"{', '.join(self.seeds)}: there is no row with a label.")
        return count


def gated(learner: Any, gating: Gating, hashed: int | None = None) -> Any:
    """An active learner around any classifier, also one that has learned; or the one it is, with what was said."""
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.shared.tasks import Classifier

    said = gating.said()
    if isinstance(learner, ActiveLearner):
        active = learner
        for name, value in said.items():
            setattr(active, name, value)
    else:
        if not isinstance(learner, Classifier):
            raise Mistake(f"{type(learner).__name__} does not tell classes apart. Take a classifier.")
        parameters = {name: learner.__dict__[name] for name in learner._constraints}
        if hashed is not None and parameters["n_features"] is None:
            parameters["n_features"] = 2**hashed  # which says how to hash, to whoever reads the model
        active = ActiveLearner(type(learner)(**parameters), **{**OF_A_PERSON, **said})
    active.budget = None  # the command counts answers itself
    try:
        active._check_params()
        if "_model" in learner.__dict__:  # it goes on from what it knows
            active._begun()
            active.estimator_ = learner
    except (TypeError, ValueError) as error:
        raise Mistake(one_line(error)) from error
    return active


def settings_of(active: Any) -> dict[str, Any]:
    """A learner as JSON, as far as it was made and not learned."""
    from aggro.models.codec import encode

    inner = active.__dict__.get("estimator_") or active.estimator
    parameters = {name: encode(inner.__dict__[name]) for name in inner._constraints}
    asking = {name: encode(active.__dict__[name]) for name in OF_A_PERSON}
    return {"learner": type(inner).__name__, "parameters": parameters, "asking": asking}


def made_again(settings: dict[str, Any]) -> Any:
    """The learner of such settings."""
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.registry import find
    from aggro.models.codec import decode

    with blaming_the_data():
        kind = find(settings["learner"]).load()
        inner = kind(**{name: decode(value) for name, value in settings["parameters"].items()})
        return ActiveLearner(inner, **{name: decode(value) for name, value in settings["asking"].items()})


def saved_moment(run: Run, journal: Journal) -> Moment | None:
    """The model in its file, if it is one that this journal has led to; None if it must be made again."""
    assert journal.run is not None
    if not run.model.exists():
        return None
    learner, position = loaded_model(run.model)
    kept = position.get(LABELLING) if isinstance(position, dict) else None
    if kept is None or kept.get("run") != journal.name:
        if fingerprint(str(run.model)) == journal.run["model"]:
            return None  # as it was when the run began
        raise Mistake(
            f"{run.model} is not the model that {journal.path} has led to: something else has written it. Move either "
            "away: without the answers, labelling begins anew with that model; without the model, it is made again."
        )
    events = kept["events"]
    if events > len(journal.events) or digest(journal.events[:events]) != kept["digest"]:
        return None  # answers in it were taken back later
    return Moment(learner, Place(tuple(kept["chunk"]), kept["within"], kept["row"]), events)


def loaded_model(path: Path) -> tuple[Any, Any]:
    """The learner in a file, and its position."""
    from aggro.models import ModelFileError, load_checkpoint

    try:
        return load_checkpoint(path, shell=False)
    except ModelFileError as error:
        raise Mistake(str(error)) from error
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror or error}.") from error


def save_as(learner: Any, path: Path) -> None:
    from aggro.models import save

    try:
        save(learner, path)
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror}.") from error
