"""Run `grove` and halt forever when it reaches a function.

In ``python -m tests.cli.pausing AT ARGUMENTS...``, AT is ``module:function``, or ``unit`` for a kind of job
of that name, whose only unit never ends. A line on stdout says that the place is reached.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from typing import Any, NoReturn

from labelgrove.__main__ import main
from labelgrove.workers.kinds import JobKind, Step, register
from tests.integration.workers_support import as_given

HERE = "here"


def halt(*_: Any, **__: Any) -> NoReturn:
    """Print that the place is reached, and wait forever."""
    print(HERE, flush=True)
    threading.Event().wait()
    raise AssertionError("nobody sets it")


UNIT = JobKind("unit", 1, as_given, lambda parameters: [Step(parameters)], halt)


def _prepare(at: str) -> None:
    if at == UNIT.name:
        register(UNIT)
        return
    module, _, path = at.partition(":")
    *owner, name = path.split(".")
    setattr(functools.reduce(getattr, owner, importlib.import_module(module)), name, halt)


if __name__ == "__main__":
    _, at, *arguments = sys.argv
    _prepare(at)
    sys.argv = ["grove", *arguments]
    main()
