"""Print the lowest version of everything that aggro and its tests ask for, one requirement a line, for pip."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = re.compile(r"aggro\[([\w,]+)\]")


def asked_by(requirements: list[str]) -> Iterator[str]:
    """These requirements, with those of an extra of our own in its place."""
    for asked in requirements:
        if ours := OURS.fullmatch(asked):
            for extra in ours[1].split(","):
                yield from asked_by(PROJECT["optional-dependencies"][extra])
        else:
            yield asked


for asked in dict.fromkeys(asked_by([*PROJECT["dependencies"], "aggro[test]"])):
    name, lowest = re.match(r"([\w.-]+(?:\[[\w,]+\])?)>=([\w.]+)", asked).groups()
    print(f"{name}=={lowest}")
