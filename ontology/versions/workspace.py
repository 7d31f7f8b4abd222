"""Define `Workspace`, which opens the catalog, artifacts and graph of one deployment on first use."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.browse.indexcache import IndexCache
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from labelgrove.ontology.store.posix import require_posix
from labelgrove.ontology.versions.indexfile import refresh_index
from labelgrove.ontology.versions.snapshots import stored_annotations, stored_graph
from labelgrove.ontology.versions.stores import Stores

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from labelgrove.ontology.graph import GraphStore
    from labelgrove.ontology.sql.catalog import Catalog, Version

__all__ = ["Workspace"]


class Workspace:
    """The catalog, artifacts and graph of one deployment; a context manager.

    Each part is opened when it is first used. Reading a snapshot, for example, opens only catalog and
    artifacts.

    Attributes
    ----------
    settings : Settings
        The URLs of the parts.
    on_repair : callable or None
        Called with the workspace after the graph was opened and had to be repaired, so that other packages
        can restore what they keep in the graph.
    asked_by : str or None
        For whom it is used; jobs record who requested them first.
    only : frozenset of str or None
        The only ontologies that can be seen through it; None for all. See `seen_by`.

    Examples
    --------
    >>> from labelgrove.ontology import LabelGraph
    >>> from labelgrove.ontology.versions.ingest import register
    >>> with Workspace.open() as workspace:
    ...     result = register(workspace, "trees", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
    ...     list(workspace.label_graph("trees").keys)
    ['tree', 'elm', 'oak']
    """

    def __init__(self, settings: Settings, *, on_repair: Callable[[Workspace], None] | None = None) -> None:
        require_posix("a workspace")
        self.settings = settings
        self.on_repair = on_repair
        self.asked_by: str | None = None
        self.only: frozenset[str] | None = None
        self._graph: GraphStore | None = None
        self._opening = threading.RLock()

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """Return the workspace of `settings`, by default the settings of the environment."""
        return cls(Settings.from_env() if settings is None else settings)

    def seen_by(self, name: str, only: Collection[str] | None = None) -> Workspace:
        """Return this workspace as somebody sees it; its parts are opened and closed with this one.

        Parameters
        ----------
        name : str
            Who it is: the jobs that they submit record it.
        only : collection of str, optional
            The only ontologies that they may see: the catalog answers as if there were no others, and
            `workers.client` finds only jobs about them. The graph is not restricted.
        """
        return _Seen(self, name, only)

    # ---- parts -------------------------------------------------------------------------------------

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """The artifact store at the URL in the settings, opened on first use."""
        return open_store(self.settings.artifacts_url)

    @cached_property
    def engine(self) -> Engine:
        """The database of the catalog; the first use checks its schema and, on SQLite, upgrades it."""
        from labelgrove.ontology.sql.database import check_schema, create_engine

        engine = create_engine(self.settings.database_url)
        try:
            check_schema(engine)
        except BaseException:
            engine.dispose()
            raise
        return engine

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog; the first use opens its database."""
        from labelgrove.ontology.sql.catalog import Catalog

        return Catalog(self.engine)

    @property
    def graph(self) -> GraphStore:
        """The graph store; the first use applies its migrations and makes it match the catalog."""
        with self._opening:  # a second thread waits until the store is repaired
            if self._graph is None:
                from labelgrove.ontology.graph import open_graph

                self._graph = open_graph(self.settings)
                try:
                    if self.repair() and self.on_repair is not None:
                        self.on_repair(self)
                except BaseException:
                    self._graph.close()
                    self._graph = None
                    raise
            return self._graph

    @cached_property
    def label_indexes(self) -> IndexCache:
        """The label indexes on this machine, in the folder ``labelindex`` of the settings' home."""
        return IndexCache(self.settings.home / "labelindex")

    @property
    def stores(self) -> Stores:
        """Catalog, artifacts and graph, all of them open."""
        return Stores(self.catalog, self.artifacts, self.graph)

    def close(self) -> None:
        """Close what was opened; the workspace can be used again afterwards."""
        if self._graph is not None:
            self._graph.close()
            self._graph = None
        if engine := self.__dict__.pop("engine", None):
            engine.dispose()
        self.__dict__.pop("catalog", None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt):  # after Ctrl-C threads may still use it
            self.close()

    # ---- content -----------------------------------------------------------------------------------

    def label_graph(self, name: str, version: str | None = None) -> LabelGraph:
        """Return the label graph of a version of `name`.

        `version` is the beginning of its digest; by default it is the current version.

        Raises
        ------
        NotFoundError
            For an unknown name or version.
        ArtifactError
            For a damaged snapshot; ingesting the same source again repairs it.
        """
        return self.label_graph_of(self.catalog.version(name, version))

    def label_graph_of(self, version: Version) -> LabelGraph:
        """Return the label graph of `version`; see `ontology.versions.snapshots.stored_graph`."""
        return stored_graph(self.artifacts, version.snapshot_sha256, version.digest)

    def label_index(self, name: str, version: str | None = None) -> LabelIndex:
        """Return a version of `name`, open for browsing; neither graph store is used.

        `version` is as for `label_graph`, and so are the errors. An index that this machine lacks is built
        first, which takes a few seconds for hundreds of thousands of labels.
        """
        return self.label_index_of(self.catalog.version(name, version))

    def label_index_of(self, version: Version) -> LabelIndex:
        """Return `version`, open for browsing, as `label_index`."""
        graph = self.label_graph_of(version)
        return self.label_indexes.open(
            graph, lambda: stored_annotations(self.artifacts, version), version.annotations_sha256 or ""
        )

    def annotations(self, name: str, version: str | None = None) -> Annotations | None:
        """Return the annotations of a version of `name`; see `snapshots.stored_annotations`.

        `version` is as for `label_graph`.
        """
        return stored_annotations(self.artifacts, self.catalog.version(name, version))

    def definition_of(self, name: str, version: str | None = None) -> Callable[[int], str]:
        """Return a function from the index of a label to its definition, which is empty if it has none.

        The annotations are opened when it is first called; its errors are those of `annotations`.
        """
        annotations = functools.cache(lambda: self.annotations(name, version))

        def definition(label: int) -> str:
            found = annotations()
            return "" if found is None else found.definitions[label]

        return definition

    # ---- upkeep ------------------------------------------------------------------------------------

    def name_bundle(self, name: str, bundle: str, *, sha256: str, version: str) -> None:
        """Make ``name/bundle`` the name of the artifact `sha256`, and update the index file.

        `version` is the digest of the version from which the bundle was made.
        """
        self.catalog.set_bundle(
            name, bundle, sha256=sha256, size=self.artifacts.size(sha256), version=version
        )
        refresh_index(self.catalog, self.artifacts, name)

    def repair(self) -> list[str]:
        """Make graph and index files match the catalog; return the names of the repaired ontologies.

        This happens automatically whenever the graph is opened. See `ontology.versions.repair`.
        """
        from labelgrove.ontology.versions.repair import repair

        return repair(self.stores)


class _Seen(Workspace):
    """A workspace as somebody sees it, whose parts are those of the whole one."""

    def __init__(self, whole: Workspace, name: str, only: Collection[str] | None) -> None:
        super().__init__(whole.settings, on_repair=whole.on_repair)
        self._whole = whole
        self.asked_by = name
        self.only = None if only is None else frozenset(only)

    @cached_property
    def artifacts(self) -> ArtifactStore:
        return self._whole.artifacts

    @cached_property
    def engine(self) -> Engine:
        return self._whole.engine

    @cached_property
    def catalog(self) -> Catalog:
        from labelgrove.ontology.sql.catalog import Catalog

        return self._whole.catalog if self.only is None else Catalog(self.engine, only=self.only)

    @property
    def graph(self) -> GraphStore:
        return self._whole.graph

    @cached_property
    def label_indexes(self) -> IndexCache:
        return self._whole.label_indexes

    @property
    def stores(self) -> Stores:
        return self._whole.stores

    def close(self) -> None:
        """Close nothing: the parts belong to the whole workspace."""
