"""Kernel learners as the papers have them: one γ, the last iterate, rows and targets as they come."""

from __future__ import annotations

from typing import Any

import aggro

PLAIN: dict[str, Any] = {"gamma": 0.1, "average": False, "scale": None}


def KernelPAClassifier(*args: Any, **settings: Any) -> Any:
    return aggro.KernelPAClassifier(*args, **{**PLAIN, **settings})


def KernelPARegressor(*args: Any, **settings: Any) -> Any:
    return aggro.KernelPARegressor(*args, **{**PLAIN, **settings})
