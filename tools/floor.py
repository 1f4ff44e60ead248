"""Print the lowest version of everything that aggro and its tests ask for, one requirement a line, for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for asked in (*project["dependencies"], *project["optional-dependencies"]["test"]):
    name, lowest = re.match(r"([\w.-]+(?:\[[\w,]+\])?)>=([\w.]+)", asked).groups()
    print(f"{name}=={lowest}")
