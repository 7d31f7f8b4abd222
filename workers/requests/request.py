"""Turn requests of people into parameters of a job kind: digests replace names, files and lists.

Names are resolved when the request is made. A schedule makes its request when it is due, and so uses the
version that is current then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds import JobKind, Subject
from labelgrove.workers.kinds.inputs import named_version, open_version, read_keys
from labelgrove.workers.kinds.parameters import Parameter, decimal_text, is_digest
from labelgrove.workers.ledger.specs import PlannedJob, canonical_json
from labelgrove.workers.requests.plan import plan_job

if TYPE_CHECKING:
    from labelgrove.ontology.keys import Keys
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.ledger import Ledger

__all__ = ["complete_request", "plan_request", "record_lost"]


def plan_request(workspace: Workspace, kind: JobKind, given: Mapping[str, Any]) -> PlannedJob:
    """Return the job that `given` requests, with each name replaced by the digest of what it names now.

    The parameter ``ontology`` may be a name, a name followed by ``@`` and the beginning of a version's
    digest, or a whole digest. If the request has an ``ontology``, each parameter that is a list must contain
    label keys, and each parameter that is an object must map label keys to amounts. Files are read now and
    stored as artifacts. If a request has a ``snapshot`` or lacks an ``ontology``, only its files are
    replaced, and all else in it is used unchanged.

    Raises
    ------
    NotFoundError
        For an unknown ontology or version.
    UnknownLabelError
        For a label key that the ontology does not have.
    InputError
        For parameters that the kind refuses.
    """
    return plan_job(kind, *_resolved(workspace, kind, given))


def complete_request(workspace: Workspace, kind: JobKind, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete parameters of the job that `given` requests now.

    Arguments and errors are those of `plan_request`.
    """
    return kind.complete(*_resolved(workspace, kind, given))


def _resolved(
    workspace: Workspace, kind: JobKind, given: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Subject | None]:
    """Return a pair: the parameters of a request, and the `Subject` that says what the request is about.

    In the parameters, digests replace names, files and lists. The subject is None if no graph was opened.
    """
    if kind.gather is not None:
        given = kind.gather(workspace, given)
    if "ontology" not in given or "snapshot" in given:
        return given, None
    ontology, version = named_version(workspace, given["ontology"])
    found = workspace.catalog.version(ontology, version)
    graph = open_version(workspace.artifacts, found)
    declared = {parameter.name: parameter for parameter in kind.parameters}
    resolved = {**given, "ontology": found.digest, "snapshot": found.snapshot_sha256}
    n_keys = {}
    for name, value in given.items():
        parameter = declared.get(name)
        if parameter is not None and parameter.keys and is_digest(value):
            value = read_keys(workspace.artifacts, value)
        if isinstance(value, list | tuple | dict):
            labels = _listed(kind.name, name, value, parameter)
            resolved[name] = _stored(workspace, graph.keys, name, labels, parameter)
            n_keys[name] = len(labels)
    return resolved, Subject.of(graph, n_keys)


def record_lost(workspace: Workspace, ledger: Ledger, job_id: str) -> None:
    """Check the result of a done job; if it is missing or damaged, open the job again."""
    result = ledger.job(job_id).result_sha256
    if result is not None and not workspace.artifacts.is_whole(result):
        ledger.recompute(job_id)


def _listed(
    kind: str, name: str, given: Iterable[str] | Mapping[str, Any], declared: Parameter | None
) -> list[str] | Mapping[str, Any]:
    """Check `given`, the value of a parameter: a list of labels, or a mapping of labels to amounts.

    Return the checked list or mapping.
    """
    amounts, labels = (False, False) if declared is None else (declared.amounts, declared.keys)
    if not isinstance(given, Mapping):
        listed = list(given)
        if amounts:
            raise InputError(
                f"{kind}: {name} is {listed!r:.80}; give an object that maps label keys to decimal "
                'strings, such as {"oak": "2.5"}'
            )
        if labels and not listed and declared is not None and declared.default is not None:
            raise InputError(f"{kind}: {name} is empty; give at least one label key")
        return listed
    if labels:
        raise InputError(f'{kind}: {name} is {dict(given)!r:.80}; give a list of label keys, such as ["oak"]')
    for key, amount in given.items() if amounts else ():
        try:
            decimal_text(amount)
        except ValueError:
            rule = "give a decimal number of 0 or more as a string"
            raise InputError(f"{kind}: {name} of {key!r} is {amount!r:.80}; {rule}") from None
    return given


def _stored(
    workspace: Workspace,
    known: Keys,
    name: str,
    given: Iterable[str] | Mapping[str, Any],
    declared: Parameter | None,
) -> str:
    """Check the labels of one parameter, store them, and return the digest of the artifact."""
    listed = list(given)
    index = known.indices(listed)
    repeated = [key for key, count in Counter(listed).items() if count > 1]
    if repeated:
        raise InputError(f"{name}: {repeated[:5]!r} are given more than once; name each label once")
    if isinstance(given, Mapping):
        content: Any = given
    elif declared is not None and declared.ordered:
        content = listed
    else:
        content = known.take(sorted(index.tolist()))
    return workspace.artifacts.put_bytes(canonical_json(content).encode())
