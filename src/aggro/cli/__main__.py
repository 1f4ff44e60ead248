"""``python -m aggro.cli``."""

from aggro.cli import main

main()
