"""The command `grove`, also ``python -m labelgrove``."""

from __future__ import annotations

import os
import sys

_STOPPED = 130
"""The exit code `EXIT_STOPPED` of `labelgrove.cli`, which may not be imported yet when Ctrl-C comes."""

_STDERR = 2


def main() -> None:
    """Run the command line, or say which command installs what it needs."""
    _open_streams()
    try:
        _run()
    except KeyboardInterrupt:  # before a command was found that could say more
        _end()
    except SystemExit as end:
        if end.code == _STOPPED:
            _end()
        raise


def _open_streams() -> None:
    """Open the null device for each stream that the caller closed, as in ``grove ... >&-``.

    Otherwise the next file that is opened would get the number of the stream, and what is printed with it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(number, True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _run() -> None:
    from labelgrove.ontology.errors import MissingExtraError  # here: Ctrl-C may come while it is imported

    try:
        from labelgrove.cli import grove
    except MissingExtraError as error:
        print(f"grove: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    grove(prog_name="grove")


def _end() -> None:
    """End at once: what threads were computing is computed again by whoever goes on with it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # its reader went away, or it is closed
            continue
    os._exit(_STOPPED)


if __name__ == "__main__":
    main()
