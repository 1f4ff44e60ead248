"""``python -m aggro``: the command ``aggro``."""

from aggro.cli import main

main()
