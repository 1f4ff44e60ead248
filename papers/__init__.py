"""The five papers reproduced: every table and figure, beside what was published.

One file a paper (``crammer``, ``bpa``, ``apa``, ``pamo``, ``pam``) has its protocol, its readings and what is measured.
Its work is cut into jobs that stand alone (``jobs``), done on all cores and kept when they are done. What was published
is in ``published/``, as the papers print it. ``report`` writes the page, the numbers and the pictures.
"""

from __future__ import annotations

from papers.paper import NAMES, Paper, find

__all__ = ["NAMES", "Paper", "find"]
