"""Run the whole process on real input, from training to pictures, as ``grove quickstart`` does."""

from __future__ import annotations

from labelgrove.quickstart.result import Answer, Part, QuickstartResult, Unknown, render
from labelgrove.quickstart.run import run

__all__ = ["Answer", "Part", "QuickstartResult", "Unknown", "render", "run"]
