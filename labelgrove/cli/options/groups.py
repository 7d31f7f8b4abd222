"""Combine several options into one decorator, for options that more than one command needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["option_group"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option_group(*options: Decorator) -> Decorator:
    """Return a decorator that adds `options` to a command; the help lists them in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
