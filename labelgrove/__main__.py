"""The command `grove`, also ``python -m labelgrove``."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Run the command line, or say which command installs what it needs."""
    if importlib.util.find_spec("click") is None:
        print(
            "grove: the command line comes with the service extra, which is not installed; "
            "install it with: pip install 'labelgrove[service]'",
            file=sys.stderr,
        )
        raise SystemExit(1)
    from labelgrove.cli import grove

    grove(prog_name="grove")


if __name__ == "__main__":
    main()
