"""Why a target was not reached, as measured, by what the cell is called: group, job, peer. RESULTS.md shows them."""

from __future__ import annotations

REASONS: dict[tuple[str, str, str], str] = {}
