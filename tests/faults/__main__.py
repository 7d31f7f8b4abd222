"""Write docs/reliability.md from the stored figures of the fault tests: `python -m tests.faults`."""

from __future__ import annotations

from tests.faults.page import PAGE, render

if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE}")
