"""Puts compiled kernels into the wheel: those of the folder that AGGRO_KERNELS names. Without it the wheel has none."""

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
