"""The exceptions of labelgrove, in one class tree that all its packages share.

::

    GroveError
    ├── InputError (ValueError)              an argument breaks a rule
    │   ├── UnknownLabelError (LookupError)  a key that is not in the label space
    │   ├── WeightError                      invalid weights or probabilities
    │   ├── BindingError                     model columns that cannot be matched to labels
    │   ├── SpaceError                       a metric space that cannot be built or used
    │   ├── SettingsError                    an invalid environment variable or URL
    │   ├── ShrinkError                      an ontology that would lose over half of its labels
    │   └── QueryRefusedError                Cypher that the guard refuses
    ├── DefectsError                         an ontology file with defects; contains a report
    ├── NotFoundError (LookupError)          a name, version, artifact or job that does not exist
    ├── ConflictError                        something is in use, or its state forbids the request
    │   └── LeaseLostError                   work whose lease was given to another worker
    ├── ArtifactError                        bytes that do not match their digest
    │   └── BundleError                      a bundle that is out of date, unreadable or unsuitable
    ├── GraphDamagedError                    a graph that differs from what was written; rebuild it
    ├── JobFailedError                       a background job that ended without a result
    ├── MigrationError                       a schema that this version cannot use
    ├── QueryFailedError                     a store rejected a query that the guard accepted
    │   └── QueryTimeoutError (TimeoutError) a query that was stopped at its time limit
    ├── ServiceError (ConnectionError)       a server that cannot be reached
    │   └── TransientError                   a temporary fault; the same call may succeed later
    ├── PlatformError                        an operating system without a required feature
    └── MissingExtraError (ImportError)      an optional package that is not installed

A message says what is wrong, which name or ``file:line``, the value received, the rule and the next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from labelgrove.ontology.extras import install_command

__all__ = [
    "DEPLOYMENT_FAULTS",
    "ArtifactError",
    "BindingError",
    "BundleError",
    "ConflictError",
    "DefectsError",
    "GraphDamagedError",
    "GroveError",
    "InputError",
    "JobFailedError",
    "LeaseLostError",
    "MigrationError",
    "MissingExtraError",
    "NotFoundError",
    "PlatformError",
    "QueryFailedError",
    "QueryRefusedError",
    "QueryTimeoutError",
    "ServiceError",
    "SettingsError",
    "ShrinkError",
    "SpaceError",
    "TransientError",
    "UnknownLabelError",
    "WeightError",
    "counted",
    "first_few",
    "no_such_file",
    "sized",
]


class GroveError(Exception):
    """Base of every error that labelgrove raises on purpose."""


class InputError(GroveError, ValueError):
    """An argument breaks a rule."""


class UnknownLabelError(InputError, LookupError):
    """A key that is not in the label space."""


class WeightError(InputError):
    """Weights or probabilities that are negative, not finite, all zero or of the wrong shape."""


class BindingError(InputError):
    """Model columns that cannot be matched to labels without guessing.

    Attributes
    ----------
    unknown : tuple of str
        The columns that match no label, in their order; empty if the error has another cause.
    """

    def __init__(self, message: str, unknown: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.unknown = tuple(unknown)


class SpaceError(InputError):
    """A metric space that cannot be built or does not support the requested operation."""


class SettingsError(InputError):
    """An environment variable, ``.env`` entry or URL that breaks a rule.

    Attributes
    ----------
    variable : str
        Name of the variable that breaks the rule; empty if the error is not about exactly one variable.
    """

    def __init__(self, message: str, variable: str = "") -> None:
        super().__init__(message)
        self.variable = variable


class ShrinkError(InputError):
    """A new version would have less than half of the labels of the current one, and `shrink` is not set."""


class QueryRefusedError(InputError):
    """Cypher that the guard refuses because it breaks a rule for queries.

    Attributes
    ----------
    rule : str
        Name of the rule that the query breaks.
    """

    def __init__(self, message: str, rule: str = "") -> None:
        super().__init__(message)
        self.rule = rule


class DefectsError(GroveError):
    """An ontology source that cannot be read because of its defects.

    Attributes
    ----------
    report : object
        The `ontology.readers.Report` with every defect found, or None.
    """

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class NotFoundError(GroveError, LookupError):
    """A name, version, artifact or job that does not exist."""


class ConflictError(GroveError):
    """Something is in use by another process, or its current state does not allow the request."""


class LeaseLostError(ConflictError):
    """A worker's lease was given to another worker; the first worker must stop and publish nothing."""


class ArtifactError(GroveError):
    """Bytes that do not match their digest or header."""


class BundleError(ArtifactError):
    """A bundle that is out of date, cannot be read by this version, or does not fit the adapter."""


class GraphDamagedError(GroveError):
    """A graph file or version that cannot be used as it is; `grove graph rebuild` recreates it."""


class JobFailedError(GroveError):
    """A background job that failed or was cancelled."""


class MigrationError(GroveError):
    """A database or graph schema that this version cannot use."""


class QueryFailedError(GroveError):
    """A store rejected a query; ``__cause__`` is the error of the database driver."""


class QueryTimeoutError(QueryFailedError, TimeoutError):
    """A query ran past its time limit and was stopped."""


class ServiceError(GroveError, ConnectionError):
    """A server that cannot be reached."""


class TransientError(ServiceError):
    """A temporary fault: the same call may succeed when repeated."""


class PlatformError(GroveError):
    """An operating system without a required feature."""


class MissingExtraError(GroveError, ImportError):
    """An optional package that is not installed."""

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """Return the error that names the package, what needs it, and the command that installs it."""
        return cls(
            f"{purpose} needs the package {package!r} of the extra {extra!r}; "
            f"install it with: {install_command(extra)}",
            name=package,
        )


DEPLOYMENT_FAULTS: Final = (OSError, MigrationError)
"""Errors that come from servers, disks and schemas, never from a request; a caller may wait and try again."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number followed by its noun, singular or plural, for a message.

    Examples
    --------
    >>> counted(1, "label"), counted(1_200, "label"), counted(2, "leaf", "leaves")
    ('1 label', '1,200 labels', '2 leaves')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def first_few(found: Sequence[object]) -> str:
    """Return the first five items as text, separated by commas, for a message; dots stand for further items.

    Examples
    --------
    >>> first_few(range(4)), first_few([repr(letter) for letter in "aspens"])
    ('0, 1, 2, 3', "'a', 's', 'p', 'e', 'n', ...")
    """
    return ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")


def no_such_file(path: object) -> NotFoundError:
    """Return the error for the path of a file that does not exist."""
    return NotFoundError(f"{path}: there is no such file; check the path")


def sized(n_bytes: int) -> str:
    """Return a number of bytes in a readable unit, for a message.

    >>> sized(999), sized(1_500), sized(999_999_999), sized(845_000_000_000)
    ('999 B', '1.5 kB', '1.0 GB', '845.0 GB')
    """
    size, unit = float(n_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if round(size, 1) < 1000:
            break
        size, unit = size / 1000, larger
    return f"{n_bytes} B" if unit == "B" else f"{size:,.1f} {unit}"
