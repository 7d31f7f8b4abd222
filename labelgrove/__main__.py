"""The command `grove`; ``python -m labelgrove`` runs it too."""

from __future__ import annotations

import os
import sys

_STOPPED = 130
"""The exit code, as `EXIT_STOPPED` in `labelgrove.cli`, which may not be imported yet at Ctrl-C."""

_STDERR = 2


def main() -> None:
    """Run the command line; if a package is missing, say which command installs it."""
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

    Otherwise the next file that is opened would get the number of the closed stream, and everything printed
    would be written into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(number, True)
    os.close(number)
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))


def _run() -> None:
    from labelgrove.ontology.errors import MissingExtraError  # not at the top: Ctrl-C may come meanwhile

    try:
        from labelgrove.cli import grove
    except MissingExtraError as error:
        print(f"grove: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    grove(prog_name="grove")


def _end() -> None:
    """End this process at once, without waiting for its threads.

    Units that the threads were computing are computed again when their jobs continue.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the reader of the stream went away, or the stream is closed
            continue
    os._exit(_STOPPED)


if __name__ == "__main__":
    main()
