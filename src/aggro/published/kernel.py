"""Kernel learners with the defaults of their papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggro.estimators import kernel
from aggro.estimators.shell import store


class KernelPAClassifier(kernel.KernelPAClassifier):
    """The passive-aggressive classifier with a kernel, as published.

    One γ; every row with a loss is kept. The last iterate predicts. Rows are learned as they come: not scaled, in
    order, once.

    The parameters are those of ``aggro.KernelPAClassifier``, whose documentation explains them.

    References
    ----------
    K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms. NIPS 2003.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        step: str = "pa1",
        margin: float = 1.0,
        batch_size: int = 1,
        window: str = "disjoint",
        budget: int | None = None,
        budget_policy: str = "merge",
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class KernelPARegressor(kernel.KernelPARegressor):
    """Passive-aggressive regression with a kernel, as published.

    One γ; every row with a loss is kept. The last iterate predicts. Rows are learned as they come: not scaled, in
    order, once.

    The parameters are those of ``aggro.KernelPARegressor``, whose documentation explains them.

    References
    ----------
    K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms. NIPS 2003.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        step: str = "pa1",
        epsilon: float = 0.1,
        batch_size: int = 1,
        window: str = "disjoint",
        budget: int | None = None,
        budget_policy: str = "merge",
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class KernelPAUniclass(kernel.KernelPAUniclass):
    """Uniclass prediction with a kernel, as published: a ball that follows the rows in the kernel's space.

    PA-I with one C and one γ. The last iterate predicts. Rows are learned in order, once.

    The parameters are those of ``aggro.KernelPAUniclass``, whose documentation explains them.

    References
    ----------
    K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms. NIPS 2003.
    """

    def __init__(
        self,
        C: float = 0.1,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        step: str = "pa1",
        epsilon: float | str = "auto",
        nu: float = 0.1,
        robust: bool = False,
        budget: int | None = None,
        budget_policy: str = "smallest",
        average: bool = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class BPASClassifier(kernel.BPASClassifier):
    """Budgeted passive-aggressive learning, simple (BPA-S), as published.

    One γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.BPASClassifier``, whose documentation explains them.

    References
    ----------
    Z. Wang, S. Vucetic. Online passive-aggressive algorithms on a budget. AISTATS 2010.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class BOGDClassifier(kernel.BOGDClassifier):
    """Bounded online gradient descent (BOGD) as published.

    One γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.BOGDClassifier``, whose documentation explains them.

    References
    ----------
    P. Zhao, J. Wang, P. Wu, R. Jin, S. C. H. Hoi. Fast bounded online gradient descent algorithms for scalable
    kernel-based online learning. ICML 2012.
    """

    def __init__(
        self,
        eta: float = 0.2,
        *,
        lam: float = 1e-06,
        bound: float = 10.0,
        sampling: str = "uniform",
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class BSGDClassifier(kernel.BSGDClassifier):
    """Budgeted stochastic gradient descent (BSGD) as published.

    One γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.BSGDClassifier``, whose documentation explains them.

    References
    ----------
    Z. Wang, K. Crammer, S. Vucetic. Breaking the curse of kernelization: budgeted stochastic gradient descent for
    large-scale SVM training. JMLR 13, 2012.
    """

    def __init__(
        self,
        lam: float = 0.0001,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
        budget_policy: str = "merge",
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class RandomizedBudgetPerceptron(kernel.RandomizedBudgetPerceptron):
    """The randomized budget perceptron (RBP) as published.

    One γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.RandomizedBudgetPerceptron``, whose documentation explains them.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile. Tracking the best hyperplane with a simple budget perceptron. Machine
    Learning 69, 2007.
    """

    def __init__(
        self,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class Forgetron(kernel.Forgetron):
    """The self-tuned Forgetron as published.

    One γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.Forgetron``, whose documentation explains them.

    References
    ----------
    O. Dekel, S. Shalev-Shwartz, Y. Singer. The Forgetron: a kernel-based perceptron on a budget. SIAM Journal on
    Computing 37, 2008.
    """

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | str = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class Projectron(kernel.Projectron):
    """Projectron and Projectron++ (``plus=True``) as published.

    One γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.Projectron``, whose documentation explains them.

    References
    ----------
    F. Orabona, J. Keshet, B. Caputo. Bounded kernel-based online learning. JMLR 10, 2009.
    """

    def __init__(
        self,
        eta: float = 0.1,
        *,
        plus: bool = False,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = 0.1,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
        fit_intercept: bool | str = "auto",
        average: bool | str = False,
        scale: Any = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())
