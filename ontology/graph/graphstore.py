"""Define `GraphStore`: the operations on a graph database, the same on Neo4j and on the embedded engine.

Each operation is written once, here, and uses the few operations of an `Engine`. Arguments and results are
plain values: strings, numbers, lists and dictionaries, never objects of a driver.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from labelgrove.ontology.errors import (
    ConflictError,
    GraphDamagedError,
    InputError,
    NotFoundError,
    counted,
)
from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.cyphertokens import parameters
from labelgrove.ontology.graph.engine import Engine, MakeShown, Progress, Run, announcement
from labelgrove.ontology.graph.labeltables import check_keys
from labelgrove.ontology.graph.namedqueries import check_parameters
from labelgrove.ontology.graph.results import GraphResult
from labelgrove.ontology.graph.resultstore import ResultStore
from labelgrove.ontology.graph.userqueries.guard import check_statement
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["GraphStore"]

_PLAIN = "give text, numbers, true, false, null, and lists of these"


class GraphStore:
    """A graph of labels in versions that exist next to each other.

    A version is written in steps that are safe to repeat: `begin_version`, `load_batch` for every batch,
    `mark_ready` (which also shows annotations), `publish`. On the embedded engine, `load_whole` does all of
    them but the last in one write. A version is named by its digest, so ontologies with the same content
    share it; the property ``ontology`` of its labels is the name under which it was loaded first.

    Parameters
    ----------
    engine : Engine
        The database with the graph; `ontology.graph.open_graph` opens the one that the settings name.

    Notes
    -----
    Several threads may use one store. After a fork, parent and child may both continue to use it; the child
    opens its own connections.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._results = ResultStore(engine)

    # ---- the database ------------------------------------------------------------------------------

    @property
    def dialect(self) -> str:
        """Name of the engine, ``"neo4j"`` or ``"embedded"``."""
        return self.engine.dialect

    def migrate(self) -> list[str]:
        """Apply the missing migrations and return their version numbers; see `Engine.migrate`."""
        return self.engine.migrate()

    def describe(self) -> dict[str, Any]:
        """Connect to the engine, and return a dictionary that describes it.

        The keys are ``engine`` (its name), ``version`` and ``where`` (the folder of an embedded engine, or
        the URL of a server with the password masked). An engine may add more keys.
        """
        return self.engine.describe()

    def wipe(self) -> bool:
        """If the graph belongs only to this store, remove everything and return True.

        Otherwise remove nothing and return False.
        """
        return self.engine.wipe()

    def close(self) -> None:
        """Close connections and files; the next use opens them again."""
        self.engine.close()

    def run_named(self, name: str, /, **params: Any) -> Rows:
        """Run a query of `ontology.graph.namedqueries`; missing or unused parameters raise `InputError`."""
        return self.engine.run_named(name, **params)

    # ---- versions ----------------------------------------------------------------------------------

    def begin_version(self, name: str, graph: LabelGraph) -> str:
        """Record that `graph` is being loaded for ontology `name`; return the state of the version.

        Missing migrations are applied first, so that constraints exist before the first label.

        Returns
        -------
        str
            ``"loading"``, or ``"ready"`` if the version is already there.

        Raises
        ------
        InputError
            For a key longer than 4,096 bytes.
        """
        check_keys(graph)
        self.migrate()
        found = self.engine.version(graph.digest)
        if found:
            return str(found["state"])
        self.engine.transact(lambda run: run("begin_version", **announcement(name, graph)))
        return "loading"

    def batch_count(self, graph: LabelGraph) -> int:
        """Return the number of batches that `graph` is divided into for loading."""
        return self.engine.batch_count(graph)

    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load batch `i` of `graph`; safe to repeat. `begin_version` must be called before."""
        self.engine.load_batch(graph, i)

    def load_whole(self, name: str, graph: LabelGraph, shown: MakeShown = lambda: None) -> bool:
        """Load a version that is absent, from `begin_version` to `mark_ready`, if one write can do it.

        Labels and edges are counted before the write ends. Readers therefore see nothing of the version, or
        all of it, ready, and nothing remains of a write that fails. The embedded engine can do this: a write
        copies, opens and closes its file, which takes longer than the steps of a small version.

        Parameters
        ----------
        name, graph
            As for `begin_version`.
        shown : callable, optional
            Returns the annotations of the version, and is called only if one write can do it; by default the
            version shows none.

        Returns
        -------
        bool
            False if the engine loads in several writes, the version is large, or something of it is there
            already; the caller must then call the single steps.

        Raises
        ------
        InputError
            As for `begin_version`.
        """
        check_keys(graph)
        return self.engine.load_whole(name, graph, shown)

    def counts(self, digest: str) -> tuple[int, int]:
        """Count the labels and edges of a version in the graph."""
        return self.engine.counts(digest)

    def annotate(self, shown: ShownAnnotations, progress: Progress | None = None) -> bool:
        """Show the annotations of a version: its names, definitions and deprecated labels; safe to repeat.

        Whatever the graph showed for the version before is replaced. Return False if the version records that
        it shows these annotations already; nothing is then read or written.

        Parameters
        ----------
        shown : ShownAnnotations
            The annotations; all labels of the version must be in the graph.
        progress : callable, optional
            Called with (done, total) before each batch; it ends the work by raising an error.

        Raises
        ------
        NotFoundError
            If `begin_version` was not called for the version.
        ConflictError
            If somebody else replaces the annotations at the same time, or drops the version or its labels.

        Notes
        -----
        Readers of the embedded engine see the old annotations or the new ones. On a server, batches are
        written one after the other: new names are added first, then definitions and deprecated flags are
        replaced, and names that are gone are removed last. What stays the same is not touched. Meanwhile, and
        if the work is interrupted, the version's property ``annotations`` begins with ``replacing``.
        """
        if self.engine.known_version(shown.graph.digest)["annotations"] == shown.sha256:
            return False
        self.engine.annotate(shown, progress or _ignored)
        return True

    def annotation_differences(self, shown: ShownAnnotations) -> list[str]:
        """Describe how the names, definitions and deprecated flags in the graph differ from annotations.

        The list is empty if they are equal. Names that were edited by hand are found, too.
        """
        self.engine.known_version(shown.graph.digest)
        return self.engine.annotation_differences(shown)

    def mark_ready(
        self,
        digest: str,
        shown: ShownAnnotations | None = None,
        progress: Progress | None = None,
        *,
        counts: tuple[int, int] | None = None,
    ) -> None:
        """Declare a version complete, and show its annotations; safe to repeat.

        Parameters
        ----------
        digest : str
            The version.
        shown : ShownAnnotations, optional
            The annotations of the version, as for `annotate`; by default those in the graph remain. They are
            recorded in the same write that declares the version complete.
        progress : callable, optional
            As for `annotate`.
        counts : (int, int), optional
            What `counts` has just returned for the version; by default its labels and edges are counted.

        Raises
        ------
        NotFoundError
            If `begin_version` was not called for the version.
        ConflictError
            As for `annotate`.
        GraphDamagedError
            If the graph has other numbers of labels or edges than `begin_version` recorded.
        """
        version = self.engine.version(digest)
        if version is None:
            raise NotFoundError(f"version {digest[:12]} is not in the graph; load it first")
        held, announced = counts or self.counts(digest), (version["n_labels"], version["n_edges"])
        if held != announced:
            raise GraphDamagedError(
                f"version {digest[:12]}: the graph contains {counted(held[0], 'label')} and "
                f"{counted(held[1], 'edge')}, "
                f"but it should contain {announced[0]:,} and {announced[1]:,}; load its batches again"
            )
        ready = version["state"] == "ready"
        if shown is not None and version["annotations"] != shown.sha256:
            self.engine.annotate(shown, progress or _ignored, ready=not ready)
        elif not ready:
            self.engine.transact(lambda run: run("mark_ready", version=digest))

    def publish(self, name: str, digest: str, fence: int, *, new: bool = False) -> None:
        """Make a ready version the CURRENT one of an ontology.

        Parameters
        ----------
        name, digest : str
            Ontology and version.
        fence : int, at least 0
            Number that increases with each publication. If it is not higher than the fence of the last
            publication, nothing changes. `ConflictError` is then raised unless the last publication was of
            the same version.
        new : bool, default=False
            Whether the caller expects that this version is not yet the CURRENT one. The graph is then not
            read before the write, for which the embedded engine would open its file once more.

        Raises
        ------
        NotFoundError
            If the version is absent or not ready.
        ConflictError
            If another version has already been published with this fence or a higher one.
        """

        def work(run: Run) -> None:
            _check_ready(run, digest)
            run("take_ontology", name=name)  # takes the write lock: a second publisher waits
            held = run("published", name=name).dicts()[0]
            if held["fence"] >= fence:
                if held["digest"] == digest:
                    return
                raise ConflictError(
                    f"ontology {name!r}: version {str(held['digest'])[:12]} was published with fence "
                    f"{held['fence']}; version {digest[:12]} cannot replace it, because its fence {fence} is "
                    "not higher: publish it again with a higher fence"
                )
            run("unpublish", name=name)
            run("publish", name=name, version=digest, fence=fence)

        if not new:
            _check_ready(self.run_named, digest)
            held = self.run_named("published", name=name).dicts()
            if held and held[0]["digest"] == digest and held[0]["fence"] >= fence:
                return
        self.engine.transact(work)

    def current(self, name: str) -> str | None:
        """Return the digest of the CURRENT version of an ontology; None if it has none."""
        held = self.run_named("published", name=name).dicts()
        return held[0]["digest"] if held else None

    def versions(self) -> list[dict[str, Any]]:
        """Return a dictionary for each version in the graph.

        The keys are ``digest, ontology, n_labels, n_edges, state, layout, directed, annotations``. The last
        one is the sha256 of the annotations that the graph shows, or empty if it shows none.
        """
        return self.run_named("versions").dicts()

    def drop_version(self, digest: str) -> None:
        """Remove a version, its labels, their names and its results; an absent version is not an error.

        The version is first marked as not ready, so that it is never taken for complete when only a part is
        left. If it is the CURRENT version of an ontology, `ConflictError` is raised.
        """
        if self.engine.version(digest) is None:
            return
        self._refuse_current(digest)
        of_version = {"version": digest}
        results = self._results.steps_dropping(digest)
        content = [(query, of_version) for query in ("drop_names", "drop_labels", "drop_version")]
        self.engine.remove([("unready", of_version), *results, *content])

    def drop_ontology(self, name: str) -> None:
        """Remove the name of an ontology from the graph; an absent name is not an error.

        Its versions remain until `drop_version`, because another name may share them.
        """
        if self.run_named("published", name=name).rows:
            self.engine.transact(lambda run: run("drop_ontology", name=name))

    def read_back(self, digest: str) -> LabelGraph:
        """Return the stored graph of a version; its digest is computed from the stored labels and edges.

        Raises
        ------
        NotFoundError
            If the version is not there.
        GraphDamagedError
            If the stored labels and edges are not a valid graph.
        """
        return self.engine.read_back(digest)

    def difference(self, digest: str, graph: LabelGraph | None = None) -> str:
        """Describe how a stored version differs from the graph that was loaded; ``""`` if they are equal.

        Parameters
        ----------
        digest : str
            The version.
        graph : LabelGraph, optional
            The graph that was loaded, if the caller has it. Without it, the digest of the stored graph is
            compared with `digest`.

        Raises
        ------
        NotFoundError, GraphDamagedError
            As for `read_back`.
        """
        return self.engine.difference(digest, graph)

    # ---- results of jobs ---------------------------------------------------------------------------

    def write_result(self, result: GraphResult) -> None:
        """Write a result of a job to the graph; see `ResultStore.write`."""
        self._results.write(result)

    def results(self, digest: str | None = None) -> list[dict[str, Any]]:
        """Return the complete results of one version or of all versions; see `ResultStore.listed`."""
        return self._results.listed(digest)

    def drop_results(self, ids: Iterable[str]) -> None:
        """Remove results of jobs; see `ResultStore.drop`."""
        self._results.drop(ids)

    # ---- Cypher ------------------------------------------------------------------------------------

    def run_user(
        self,
        cypher: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = 30.0,
        max_rows: int = 1000,
    ) -> Rows:
        """Run a user's Cypher: one read-only statement, within a time limit and a row limit.

        Parameters
        ----------
        cypher : str
            One statement; see `ontology.graph.userqueries.guard`.
        params : mapping of str to plain value, optional
            Values of the parameters ``$name`` in the statement. Unused parameters are allowed, because
            callers always give ``$version``.
        timeout_s : float, default=30
            Time limit in seconds, including the fetching of rows.
        max_rows : int, default=1000
            Maximum number of rows returned; `Rows.truncated` says whether there were more.

        Raises
        ------
        QueryRefusedError
            If the guard refuses the statement.
        InputError
            If a parameter is missing, or a limit or a value is not allowed.
        QueryTimeoutError
            If the statement runs too long.
        QueryFailedError
            If the engine rejects the statement, or the answer exceeds 64 MiB.
        """
        if not (math.isfinite(timeout_s) and timeout_s > 0):
            raise InputError(f"timeout_s: {timeout_s} must be a positive number of seconds")
        if max_rows < 1:
            raise InputError(f"max_rows: {max_rows} must be 1 or more")
        check_statement(cypher)
        given = params or {}
        used = parameters(cypher)
        check_parameters(used, given.keys() & used, where="the statement")
        bound = {n: given[n] for n in used}
        _check_plain(bound)
        return self.engine.run_guarded(cypher, bound, timeout_s, max_rows)

    # ---- helpers -----------------------------------------------------------------------------------

    def _refuse_current(self, digest: str) -> None:
        holders = [row[0] for row in self.run_named("holders", version=digest).rows]
        if holders:
            raise ConflictError(
                f"version {digest[:12]} is the current version of {', '.join(map(repr, holders))}; "
                "publish another version or drop the ontology first"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ignored(_done: int, _total: int) -> None:
    """Ignore the progress of some work."""


def _check_ready(run: Run, digest: str) -> None:
    """Raise `NotFoundError` unless a version is in the graph and ready."""
    states = [row["state"] for row in run("version", version=digest).dicts()]
    if states != ["ready"]:
        state = states[0] if states else "absent"
        raise NotFoundError(f"version {digest[:12]} is {state}; only a ready version can be published")


def _check_plain(params: Mapping[str, Any]) -> None:
    """Raise `InputError` if a parameter has a value that the two engines would treat differently."""
    for name, value in params.items():
        try:
            json.dumps(
                value, allow_nan=False, ensure_ascii=False
            ).encode()  # half a surrogate pair cannot be encoded
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"parameter ${name}: {error}; {_PLAIN}") from error
        for entry in _entries(value):
            if isinstance(entry, dict):
                raise InputError(f"parameter ${name}: {entry!r:.80} is a map; {_PLAIN}")
            if isinstance(entry, int) and not -(2**63) <= entry < 2**63:
                raise InputError(f"parameter ${name}: {entry} does not fit into 64 bits")


def _entries(value: Any) -> Iterator[Any]:
    """Yield the values in a list and in the lists inside it; if `value` is not a list, yield `value` only."""
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _entries(entry)
    else:
        yield value
