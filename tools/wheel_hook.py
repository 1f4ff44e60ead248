"""Puts compiled kernels into the wheel: those of the folder that AGGRO_KERNELS names. Without it the wheel has none.

Kernels serve the one Numba and llvmlite that made them, and the major version of NumPy. A wheel that has some asks for
these, so that pip installs them, or says that it cannot: nobody gets kernels that are not used.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        given = os.environ.get("AGGRO_KERNELS")
        if not given or version == "editable":
            return
        folder = Path(self.root, given)
        about = json.loads((folder / "made-for.json").read_text())
        build_data["force_include"][str(folder)] = "aggro/kernels"
        build_data["pure_python"] = False
        build_data["tag"] = about["tag"]
        build_data["dependencies"] += asked_by(about["made for"])


def asked_by(made: dict[str, str]) -> list[str]:
    """What kernels that were made with these versions can be used with, as requirements."""
    numpy = int(made["NumPy"])
    return [f"numba=={made['Numba']}", f"llvmlite=={made['llvmlite']}", f"numpy>={numpy},<{numpy + 1}"]
