"""The colours of pages and pictures, for light and for dark grounds."""

from __future__ import annotations

SERIES = ("s0", "s1", "s2", "s3", "s4", "s5")
LIGHT = {
    "ground": "#ffffff",
    "card": "#f6f7f9",
    "ink": "#1a1d23",
    "soft": "#5b6472",
    "rule": "#dfe3e8",
    "s0": "#1f5fd6",
    "s1": "#c2410c",
    "s2": "#15803d",
    "s3": "#a21caf",
    "s4": "#0e7490",
    "s5": "#b91c4c",
    "peer": "#707885",
}
DARK = {
    "ground": "#14161a",
    "card": "#1c1f25",
    "ink": "#e8eaee",
    "soft": "#a0a8b4",
    "rule": "#30353e",
    "s0": "#78acff",
    "s1": "#ff9f68",
    "s2": "#62d393",
    "s3": "#e391f2",
    "s4": "#56cfe1",
    "s5": "#ff8aa5",
    "peer": "#9aa2ae",
}


def css(colours: dict[str, str]) -> str:
    """The colours as CSS variables."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())
