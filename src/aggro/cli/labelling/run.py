"""How a run of labelling begins, and is taken up again: with what was said about it, and with the same data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggro.cli.checkpoints import fingerprint
from aggro.cli.console import Mistake
from aggro.cli.labelling.journal import Journal, digest
from aggro.cli.labelling.rows import Place, Walk, hidden_column, open_rows, row_of
from aggro.cli.labelling.session import POSITION_NAME, Moment, Session, asker_of
from aggro.cli.learner_spec import make_learner, records_around, split_settings
from aggro.cli.model_files import load_with_position, save_model
from aggro.cli.options import Reading
from aggro.cli.reading import Rows, blaming_the_data, one_line, open_data
from aggro.learners.base.inside import check_params, model_of, parameters_of

if TYPE_CHECKING:
    from aggro.streams import Stream

HOW_TO_REPEAT = "Repeat the command that began it, or move {journal} away to start again."
OWN_SETTINGS = "which has its own learner and parameters: leave --learner and --set out"
OF_A_PERSON = {"delta": 0.1, "strategy": "margin", "target_rate": None, "random_state": 0, "replay": 2000}
DEVIATIONS = 1.0  # δ where scores are in units of their deviation


class Run:
    """Everything that was said about a run."""

    def __init__(
        self,
        model: Path,
        data: list[str],
        reading: Reading,
        learner: str | None,
        settings: list[str],
        asking: dict[str, Any],
        seeds: list[str],
        journal: Journal,
        say: Callable[[str], None],
    ) -> None:
        self.model, self.reading, self.learner, self.settings = model, reading, learner, settings
        self.asking, self.seeds = asking, seeds  # delta, strategy and target_rate, as far as they were said
        self.loaded = load_with_position(model)[0] if model.exists() else None
        # What the journal says counts only if something was answered; else the run begins now.
        begun = journal.run["run"] if journal.run is not None and journal.begun else None
        self.fresh: Any = None  # a learner that knows nothing, if the run begins now, with one
        self.stream: Stream = open_rows(data, reading, self.loaded, begun, say)

    @property
    def origin(self) -> Path:
        """Where the model is kept as it was at the start."""
        return self.model.with_name(f"{self.model.name}.start")

    def begin(self, journal: Journal) -> None:
        """Make what a new run begins with, the model or a new learner, and write the journal's first line."""
        loaded = self.loaded
        # The model goes on; without one, a new learner begins.
        if loaded is None:
            begun = self.gated_anew()
        elif self.learner or self.settings:
            raise Mistake(f"{self.model} exists, {OWN_SETTINGS}.")
        else:
            begun = gated(loaded, self.asking)
        seeded = self._learn_seeds(begun)
        origin: list[int] | None = None
        # Whatever cannot be made again from settings is kept: a model that had learned, or learned from seeds.
        if loaded is not None or seeded > 0:
            save_model(begun, self.origin)
            origin = fingerprint(str(self.origin))
        else:
            # A file of an earlier run would be taken for the start of this one.
            self.origin.unlink(missing_ok=True)
            self.fresh = begun
        # The journal's first line comes last: before it, nothing of the run counts.
        journal.begin({**self.described(), "settings": settings_of(begun), "origin": origin, "seeds": seeded})

    def gated_anew(self) -> Any:
        """A new active learner; around it, for a table, one that takes raw records."""
        # That strategy asks the learner for its confidence, which most have not.
        sure = self.asking.get("strategy") == "confidence"  # of learners that know how sure they are
        name = self.learner or ("AROWClassifier" if sure else "PAClassifier")
        own, of_records = split_settings(name, self.settings)
        active = gated(make_learner(name, own), self.asking, hashed=self.bits())
        if not self.stream.raw:
            if of_records:
                raise Mistake(f"The data are no table: leave --set {of_records[0]} out.")
            return active
        around = records_around(active, of_records)
        # Words for missing cells are part of how the table is read.
        around.na = list(self.stream.options["na"]) or None
        return around.settle(self.stream.columns)

    def described(self) -> dict[str, Any]:
        """What tells this run from another."""
        import aggro

        # Fingerprints tell the data apart; the names only make messages readable.
        run = {
            "data": [fingerprint(name) for name in self.stream.files],
            "names": self.stream.files,
            "options": asdict(self.reading),
            "text": list(self.stream.options["text"]),
            "named": self.stream.options["named"],
            "chunk_bytes": self.stream.chunk_bytes,
        }
        if self.stream.raw:
            run["columns"] = [[c.name, c.role.value, c.why, c.said, c.pattern] for c in self.stream.columns.values()]
        model = fingerprint(str(self.model)) if self.model.exists() else None
        return {"run": run, "model": model, "aggro": aggro.__version__}

    def check(self, journal: Journal) -> None:
        """Refuse a journal that belongs to another run."""
        assert journal.run is not None
        then, now = journal.run["run"], self.described()["run"]
        advice = HOW_TO_REPEAT.format(journal=journal.path)
        # The data first: with other data, nothing else matters.
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
        # Only options that are given now are compared; what is left out stays as it was.
        for name, value in self.asking.items():
            if settings["asking"][name] != value:
                spoken = f"--{name.replace('_', '-')}"
                raise Mistake(
                    f"{journal.path} was begun with {spoken} {settings['asking'][name]}, not {value}. {advice}"
                )
        if self.learner or self.settings:
            self._check_learner(journal, advice)

    def _check_learner(self, journal: Journal, advice: str) -> None:
        """Refuse another learner, and other parameters, than those that the run was begun with."""
        from aggro.models.codec import decode

        assert journal.run is not None
        # The model that was there had its own, so they were not to be given when the run began either.
        if journal.run["model"] is not None:
            raise Mistake(f"{journal.path} was begun with {self.model}, {OWN_SETTINGS}.")
        # Made as a new run would make it, since defaults count as well.
        then, now = journal.run["settings"], settings_of(self.gated_anew())
        if then["learner"] != now["learner"]:
            begun = f"--learner {then['learner']}, not {now['learner']}"
            raise Mistake(f"{journal.path} was begun with {begun}. {advice}")
        for part in ("parameters", "records"):
            for name, value in now.get(part, {}).items():
                was = then.get(part, {}).get(name)
                if was != value:
                    begun = f"{name}={decode(was)}, not {name}={decode(value)}"
                    raise Mistake(f"{journal.path} was begun with {begun}. {advice}")

    def start(self, journal: Journal) -> Any:
        """The learner as it was before the first question."""
        assert journal.run is not None
        # Nothing was kept, so the start is a learner that knows nothing.
        if not journal.run["origin"]:
            return self.fresh or made_again(journal.run["settings"], self.stream)
        from aggro.models import ModelFileError, load

        try:
            # Another process may have saved over it; the answers would then lead to another model.
            if fingerprint(str(self.origin)) != journal.run["origin"]:
                raise Mistake(
                    f"{self.origin} is not the model that {journal.path} began with: something else has written it. "
                    f"Put the right one there, or move {journal.path} away to start again."
                )
            return load(self.origin, shell=False)
        except (ModelFileError, OSError) as error:
            raise Mistake(f"{one_line(error)} The model cannot be made again without it.") from error

    def saved_moment(self, journal: Journal) -> Moment | None:
        """The model in its file, if it is one that this journal has led to; None if it must be made again."""
        assert journal.run is not None
        if not self.model.exists():
            return None
        learner, position = load_with_position(self.model)
        kept = position.get(POSITION_NAME) if isinstance(position, dict) else None
        # The file is no model of this journal: either untouched since the start, or somebody else's.
        if kept is None or kept.get("run") != journal.name:
            if fingerprint(str(self.model)) == journal.run["model"]:
                return None  # as it was when the run began
            raise Mistake(
                f"{self.model} is not the model that {journal.path} has led to: something else has written it. "
                "Move either away: without the answers, labelling starts again with that model; without the model, "
                "aggro rebuilds it from the answers."
            )
        events = kept["events"]
        # The digest tells whether these answers are still those that the model has learned.
        if events > len(journal.events) or digest(journal.events[:events]) != kept["digest"]:
            return None  # answers in it were taken back later
        return Moment(learner, Place(tuple(kept["chunk"]), kept["within"], kept["row"]), events)

    def bits(self) -> int | None:
        """How many bits features are hashed to, if they are."""
        hashed = self.stream.format == "vw" and not self.stream.options["named"]
        return int(self.stream.options["bits"]) if hashed else None

    def _learn_seeds(self, active: Any) -> int:
        if not self.seeds:
            return 0
        stream = self._open_seeds()
        rows, count = Rows(stream, "classification"), 0
        for chunk in rows:
            for i, label in enumerate(chunk.y.tolist()):
                x, weight = row_of(chunk, i)
                # A row of weight 0 is not there at all.
                if weight != 0.0:
                    with blaming_the_data():
                        active.learn_one(x, label, weight)
                    count += 1
        if not count:
            raise Mistake(f"{', '.join(self.seeds)}: there is no row with a label.")
        return count

    def _open_seeds(self) -> Any:
        """Rows with labels, read as the others are; which column has the labels, they show themselves."""
        if not self.stream.raw:
            stream = open_data(self.seeds, self.reading, raw=False)
            # Read as the data are, or the features would not be the same.
            for name in ("text", "named", "bits"):
                stream.options[name] = self.stream.options[name]
            return stream
        stream = open_data(self.seeds, self.reading, task="classification")
        if not stream.raw:
            raise Mistake(f"{stream.sources[0].title} is no table, and the data are one.")
        # Seeds may have their label in another column; the roles of all others come from the data.
        with blaming_the_data():
            label = next((c.name for c in stream.columns.values() if c.role == "label"), None)
        stream = open_data(self.seeds, self.reading, task="classification")
        stream.options["columns"], stream.options["label"] = self.stream.columns, label
        return stream


def gated(learner: Any, asking: dict[str, Any], hashed: int | None = None) -> Any:
    """An active learner around any classifier, also one that has learned; or the one it is, asking as was said."""
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.base.tasks import Classifier

    # Records are encoded as before: only the part that asks is replaced.
    if hasattr(learner, "columns_"):  # which has learned: what takes records stays around the one that asks
        inner = learner.estimator_
        return learner.go_on_with(gated(inner, asking), learner.encoder_)
    if isinstance(learner, ActiveLearner):
        active = learner
        for name, value in asking.items():
            setattr(active, name, value)
    else:
        if not isinstance(learner, Classifier):
            raise Mistake(f"{type(learner).__name__} is not a classifier. Choose one of 'aggro learners'.")
        # Hashed to so many columns: the learner must know, because its file says it.
        if hashed is not None and parameters_of(learner)["n_features"] is None:
            setattr(learner, "n_features", 2**hashed)  # noqa: B010  which says how to hash, to whoever reads the model
        # Confidence is in units of its deviation, so another δ is usual.
        usual = {**OF_A_PERSON, "delta": DEVIATIONS} if asking.get("strategy") == "confidence" else OF_A_PERSON
        active = ActiveLearner(learner, **{**usual, **asking})
    active.budget = None  # the command counts answers itself
    try:
        # Checked here, so that a wrong value is a mistake of the command line.
        check_params(active)
        # What the learner knows goes into the one that asks.
        if active is not learner and model_of(learner) is not None:
            active.go_on_with(learner)  # from what it knows
    except (TypeError, ValueError) as error:
        raise Mistake(one_line(error)) from error
    return active


def settings_of(active: Any) -> dict[str, Any]:
    """A learner as JSON, as far as it was made and not learned."""
    from aggro.models.codec import encode

    asker = asker_of(active)
    inner = getattr(asker, "estimator_", asker.estimator)
    parameters = {name: encode(value) for name, value in parameters_of(inner).items()}
    asking = {name: encode(asker.__dict__[name]) for name in OF_A_PERSON}
    settings = {"learner": type(inner).__name__, "parameters": parameters, "asking": asking}
    # What takes raw records has parameters of its own.
    if asker is not active:
        settings["records"] = {name: encode(value) for name, value in parameters_of(active).items()}
    return settings


def made_again(settings: dict[str, Any], stream: Any) -> Any:
    """The learner of such settings, for such data."""
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.registry import find
    from aggro.models.codec import decode

    with blaming_the_data():
        kind = find(settings["learner"]).load()
        inner = kind(**{name: decode(value) for name, value in settings["parameters"].items()})
        asking = {name: decode(value) for name, value in settings["asking"].items()}
        # The parameters of the journal, not today's defaults: the model must come out the same.
        active = ActiveLearner(inner, **{"replay": 0, **asking})  # until version 0.2.0 no rows were kept
        if "records" not in settings:
            return active
        parameters = {name: decode(value) for name, value in settings["records"].items()}
        return records_around(active, [], parameters).settle(stream.columns)


def taken_up(journal: Journal, run: Run) -> Session:
    """A session, new or gone on with; it is not yet where the journal ends."""
    saved = None
    # A journal with answers is checked against this command; an empty one begins anew.
    if journal.begun:
        run.check(journal)
        saved = run.saved_moment(journal)
    else:
        run.begin(journal)
    walk = Walk(run.stream, hidden_column(run.stream))
    return Session(walk, journal, partial(run.start, journal), saved, run.model, run.reading.for_later() or {})
