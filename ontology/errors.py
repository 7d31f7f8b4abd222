"""The typed errors of labelgrove, one tree for all rooms.

::

    GroveError
    ├── InputError (ValueError)              an argument breaks a rule
    │   ├── UnknownLabelError (LookupError)  a key that the label space does not hold
    │   ├── WeightError                      rows of weights or probabilities
    │   ├── BindingError                     model columns that cannot be tied to labels
    │   ├── SpaceError                       a metric space that cannot be built or used
    │   ├── SettingsError                    an environment variable or URL
    │   └── QueryRefusedError                Cypher that the guard does not let through
    ├── DefectsError                         an ontology file with defects; carries the report
    ├── NotFoundError (LookupError)          a name, version, artifact or job that is not there
    ├── ConflictError                        somebody else holds it, or it changed meanwhile
    │   └── LeaseLostError                   work whose lease went to another worker
    ├── ArtifactError                        bytes that are not what their digest promises
    │   └── BundleError                      a bundle that is stale, foreign or of a newer format
    ├── JobFailedError                       a background job that ended without a result
    ├── MigrationError                       a schema that this version cannot use
    ├── QueryFailedError                     a store rejected a query that the guard let through
    │   └── QueryTimeoutError (TimeoutError)
    ├── ServiceError (ConnectionError)       a server that cannot be reached
    │   └── TransientError                   worth trying again as it is
    └── MissingExtraError (ImportError)      an optional package that is not installed

A message says what is wrong, which name or ``file:line``, the value received, the rule and the next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "ArtifactError",
    "BindingError",
    "BundleError",
    "ConflictError",
    "DefectsError",
    "GroveError",
    "InputError",
    "JobFailedError",
    "LeaseLostError",
    "MigrationError",
    "MissingExtraError",
    "NotFoundError",
    "QueryFailedError",
    "QueryRefusedError",
    "QueryTimeoutError",
    "ServiceError",
    "SettingsError",
    "SpaceError",
    "TransientError",
    "UnknownLabelError",
    "WeightError",
    "first_few",
]


class GroveError(Exception):
    """Base of every error that labelgrove raises on purpose."""


class InputError(GroveError, ValueError):
    """An argument breaks a rule."""


class UnknownLabelError(InputError, LookupError):
    """A key that the label space does not hold."""


class WeightError(InputError):
    """Weights or probabilities that are negative, not finite, all zero or of the wrong shape."""


class BindingError(InputError):
    """Model columns that cannot be tied to labels without guessing."""


class SpaceError(InputError):
    """A metric space that cannot be built or does not support the question asked."""


class SettingsError(InputError):
    """An environment variable, ``.env`` entry or URL that breaks a rule."""


class QueryRefusedError(InputError):
    """Cypher that the guard does not let through.

    Attributes
    ----------
    rule : str
        Name of the rule that refused it.
    """

    def __init__(self, message: str, rule: str = "") -> None:
        super().__init__(message)
        self.rule = rule


class DefectsError(GroveError):
    """An ontology source whose defects stop it.

    Attributes
    ----------
    report : object
        The `ontology.readers.Report` with every defect found, or None.
    """

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class NotFoundError(GroveError, LookupError):
    """A name, version, artifact or job that is not there."""


class ConflictError(GroveError):
    """Somebody else holds the thing asked for, or it changed meanwhile."""


class LeaseLostError(ConflictError):
    """Work whose lease went to another worker: stop, publish nothing."""


class ArtifactError(GroveError):
    """Bytes that are not what their digest or header promises."""


class BundleError(ArtifactError):
    """A bundle that is stale, foreign or written by a newer format."""


class JobFailedError(GroveError):
    """A background job that failed or was cancelled."""


class MigrationError(GroveError):
    """A database or graph schema that this version cannot use."""


class QueryFailedError(GroveError):
    """A store rejected a query; the driver's own error is the cause."""


class QueryTimeoutError(QueryFailedError, TimeoutError):
    """A query ran past its time limit and was stopped."""


class ServiceError(GroveError, ConnectionError):
    """A server that cannot be reached."""


class TransientError(ServiceError):
    """A fault of the moment: the same call may succeed when repeated."""


class MissingExtraError(GroveError, ImportError):
    """An optional package that is not installed."""

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """Return the error that names the package, what needs it and the command that installs it."""
        return cls(
            f"{purpose} needs the package {package!r}; install it with: pip install 'labelgrove[{extra}]'"
        )


def first_few(found: Sequence[object]) -> str:
    """Return the first five of what was found, as a message lists them.

    Examples
    --------
    >>> first_few(range(4)), first_few([repr(letter) for letter in "aspens"])
    ('0, 1, 2, 3', "'a', 's', 'p', 'e', 'n', ...")
    """
    return ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
