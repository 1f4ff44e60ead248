"""Learners as their papers have them, by the same names: for reproducing what was published.

With nothing set, the learners of this package scale rows, choose C and average on the way. Here nothing is set but what
the paper says: one step, one C, the last iterate, rows as they come, in order, once.

    from aggro.published import PAClassifier

    PAClassifier(step="pa2", C=0.1)

is ``aggro.PAClassifier(step="pa2", C=0.1, average=False, scale=None, multi_class="ovr", max_iter=1, shuffle=False)``.
"""

from __future__ import annotations

from typing import Any

IN_ORDER: dict[str, Any] = {"max_iter": 1, "shuffle": False}
NUMBERS: dict[str, Any] = {"C": 1.0, "step": "pa1", "average": False, "scale": None, **IN_ORDER}
CLASSES: dict[str, Any] = {**NUMBERS, "multi_class": "ovr"}
KERNELS: dict[str, Any] = {"gamma": 0.1, "average": False, "scale": None, **IN_ORDER}
EMBEDDING: dict[str, Any] = {
    "n_units": 64,
    "n_pieces": 2,
    "C": 0.125,
    "C_r": 0.125,
    "alpha": 0.9,
    "average": False,
    "half_life": None,
    **IN_ORDER,
}
BELIEF: dict[str, Any] = {"average": False, "scale": None, **IN_ORDER}
FIRST_ORDER: dict[str, Any] = {"average": False, "scale": None, **IN_ORDER}
LOCAL: dict[str, Any] = {"average": False, "normalize": False, "scale": None, **IN_ORDER}
BALL: dict[str, Any] = {"C": 0.1, "robust": False, "scale": None, **IN_ORDER}


def PAClassifier(*args: Any, **settings: Any) -> Any:
    """The passive-aggressive classifier: Crammer and others 2006."""
    return made("PAClassifier", CLASSES, "C", args, settings)


def PARegressor(*args: Any, **settings: Any) -> Any:
    """Passive-aggressive regression: the same paper."""
    return made("PARegressor", NUMBERS, "C", args, settings)


def KernelPAClassifier(*args: Any, **settings: Any) -> Any:
    """The classifier with kernels."""
    return made("KernelPAClassifier", KERNELS, "C", args, settings)


def KernelPARegressor(*args: Any, **settings: Any) -> Any:
    """Regression with kernels."""
    return made("KernelPARegressor", KERNELS, "C", args, settings)


def BPASClassifier(*args: Any, **settings: Any) -> Any:
    """Budgeted passive-aggressive learning, simple: Wang and Vucetic 2010."""
    return made("BPASClassifier", KERNELS, "C", args, settings)


def BOGDClassifier(*args: Any, **settings: Any) -> Any:
    """Bounded online gradient descent: Zhao and others 2012."""
    return made("BOGDClassifier", KERNELS, "eta", args, settings)


def BSGDClassifier(*args: Any, **settings: Any) -> Any:
    """Budgeted stochastic gradient descent: Wang, Crammer and Vucetic 2012."""
    return made("BSGDClassifier", KERNELS, "lam", args, settings)


def RandomizedBudgetPerceptron(**settings: Any) -> Any:
    """The randomized budget perceptron: Cavallanti, Cesa-Bianchi and Gentile 2007."""
    return made("RandomizedBudgetPerceptron", KERNELS, "", (), settings)


def Forgetron(**settings: Any) -> Any:
    """The self-tuned Forgetron: Dekel, Shalev-Shwartz and Singer 2008."""
    return made("Forgetron", KERNELS, "", (), settings)


def Projectron(*args: Any, **settings: Any) -> Any:
    """Projectron and Projectron++: Orabona, Keshet and Caputo 2009."""
    return made("Projectron", KERNELS, "eta", args, settings)


def PAMOClassifier(*args: Any, **settings: Any) -> Any:
    """The classifier with a max-out embedding: Jorge and Paredes 2018."""
    return made("PAMOClassifier", EMBEDDING, "n_units", args, settings)


def Perceptron(**settings: Any) -> Any:
    """The perceptron: Rosenblatt 1958."""
    return made("Perceptron", FIRST_ORDER, "", (), settings)


def ALMAClassifier(*args: Any, **settings: Any) -> Any:
    """The approximate large margin algorithm: Gentile 2001."""
    return made("ALMAClassifier", FIRST_ORDER, "alpha", args, settings)


def ROMMAClassifier(**settings: Any) -> Any:
    """The relaxed online maximum margin algorithm: Li and Long 2002."""
    return made("ROMMAClassifier", FIRST_ORDER, "", (), settings)


def LOLClassifier(*args: Any, **settings: Any) -> Any:
    """Local online learning: Zhou and others 2016."""
    return made("LOLClassifier", LOCAL, "n_prototypes", args, settings)


def ILOLClassifier(*args: Any, **settings: Any) -> Any:
    """The same with places that are independent."""
    return made("ILOLClassifier", LOCAL, "n_prototypes", args, settings)


def PAUniclass(*args: Any, **settings: Any) -> Any:
    """Uniclass prediction: Crammer and others 2006."""
    return made("PAUniclass", BALL, "C", args, settings)


def CWClassifier(*args: Any, **settings: Any) -> Any:
    """The confidence-weighted classifier: Crammer, Dredze and Pereira 2008."""
    return made("CWClassifier", {"eta": 0.9, "form": "stdev", **BELIEF}, "eta", args, settings)


def AROWClassifier(*args: Any, **settings: Any) -> Any:
    """Adaptive regularisation of weights: Crammer, Kulesza and Dredze 2009."""
    return made("AROWClassifier", {"r": 1.0, **BELIEF}, "r", args, settings)


def AROWRegressor(*args: Any, **settings: Any) -> Any:
    """The same for numbers: Vaits and Crammer 2011."""
    return made("AROWRegressor", {"r": 1.0, **BELIEF}, "r", args, settings)


def SCWClassifier(*args: Any, **settings: Any) -> Any:
    """The soft confidence-weighted classifier: Wang, Zhao and Hoi 2012."""
    return made("SCWClassifier", {"C": 1.0, **BELIEF}, "C", args, settings)


def made(name: str, published: dict[str, Any], first: str, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The learner; its first parameter may be given by its place."""
    import aggro.estimators  # scikit-learn is imported where it is used

    given = {first: args[0], **settings} if args else settings
    return getattr(aggro.estimators, name)(*args[1:], **{**published, **given})
