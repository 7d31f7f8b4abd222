"""The main job, end to end, on real input: what ``grove quickstart`` runs."""

from __future__ import annotations

from labelgrove.quickstart.result import Answer, Part, QuickstartResult, render
from labelgrove.quickstart.run import run

__all__ = ["Answer", "Part", "QuickstartResult", "render", "run"]
