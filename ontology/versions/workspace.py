"""A workspace: the catalogue, artifacts and graph of one deployment, opened on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.keys import Texts, stored_texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from labelgrove.ontology.store.posix import require_posix

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from labelgrove.ontology.graph import GraphStore
    from labelgrove.ontology.sql.catalog import Catalog, Version

__all__ = ["Workspace"]

DEFINITIONS_FORMAT = "labelgrove/definitions/1"


class Workspace:
    """What one deployment holds, reached through its settings; a context manager.

    Nothing is opened before it is asked for: a snapshot needs catalogue and artifacts, never the graph.

    Attributes
    ----------
    settings : Settings
        Where the parts are.
    on_repair : callable or None
        Called with the workspace when opening the graph has repaired it, to bring back what rooms above keep
        there.

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
        self._graph: GraphStore | None = None
        self._opening = threading.RLock()

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """Open the workspace of `settings`, by default those of the environment."""
        return cls(Settings.from_env() if settings is None else settings)

    # ---- parts -------------------------------------------------------------------------------------

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """The artifact store."""
        return open_store(self.settings.artifacts_url)

    @cached_property
    def engine(self) -> Engine:
        """The database; its schema checked, and on SQLite brought up to date, when first opened."""
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
        """The catalogue."""
        from labelgrove.ontology.sql.catalog import Catalog

        return Catalog(self.engine)

    @property
    def graph(self) -> GraphStore:
        """The graph store, migrated and in line with the catalogue when first opened."""
        with self._opening:  # of two threads, the second waits for the store in line
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

    # ---- what it holds -----------------------------------------------------------------------------

    def label_graph(self, name: str, version: str | None = None) -> LabelGraph:
        """Return the label graph of the current version, or of the one whose digest begins with `version`.

        Raises
        ------
        NotFoundError
            For an unknown name or version.
        ArtifactError
            For a damaged snapshot; ingesting the same source again repairs it.
        """
        return self.snapshot(self.catalog.version(name, version))

    def snapshot(self, version: Version) -> LabelGraph:
        """Return the label graph of `version`; opened from a memory map in a local store, sha256 compared."""
        graph = LabelGraph.from_arrays(*self.artifacts.open_arrays(version.snapshot_sha256))
        if graph.digest != version.digest:
            raise ArtifactError(
                f"snapshot {version.snapshot_sha256} holds ontology {graph.digest}, the catalogue expects "
                f"{version.digest} for {version.ontology!r}; ingest its source again"
            )
        return graph

    def definitions(self, name: str, version: str | None = None) -> Texts | None:
        """Return the definitions in canonical order of labels (empty: has none), None without any."""
        found = self.catalog.version(name, version)
        sha256 = found.definitions_sha256
        if sha256 is None:
            return None
        arrays, metadata = self.artifacts.open_arrays(sha256)
        if metadata.get("format") != DEFINITIONS_FORMAT:
            raise ArtifactError(
                f"definitions {sha256} have format {metadata.get('format')!r}, this version reads "
                f"{DEFINITIONS_FORMAT!r}; ingest the source again"
            )
        try:
            texts = stored_texts(arrays, "definitions")
        except InputError as error:
            raise ArtifactError(f"definitions {sha256}: {error}; ingest the source again") from None
        if len(texts) != found.n_labels:
            raise ArtifactError(
                f"definitions {sha256}: {len(texts)} for {found.n_labels} labels; ingest the source again"
            )
        return texts

    # ---- upkeep ------------------------------------------------------------------------------------

    def name_bundle(self, name: str, bundle: str, *, sha256: str, version: str) -> None:
        """Let ``name/bundle`` mean the artifact `sha256`, made from `version` of the ontology, and say so."""
        self.catalog.set_bundle(
            name, bundle, sha256=sha256, size=self.artifacts.size(sha256), version=version
        )
        self.refresh_index(name)

    def refresh_index(self, name: str) -> None:
        """Bring ``index/<name>.json`` in line with the catalogue; two at once end with the newer document."""
        document = self.catalog.index_document(name)
        while True:
            if document is None:
                self.artifacts.delete_index(name)
            elif not self.index_is(name, document):
                self.artifacts.write_index(name, document)
            written, document = document, self.catalog.index_document(name)
            if written == document:
                return

    def index_is(self, name: str, document: dict[str, object] | None) -> bool:
        """Whether the index file of `name` says exactly `document`; a damaged file does not."""
        try:
            return self.artifacts.read_index(name) == document
        except ArtifactError:
            return False

    def repair(self) -> list[str]:
        """Bring graph and index files in line with the catalogue; see `ontology.versions.ingest.repair`.

        Happens by itself whenever the graph is opened.
        """
        from labelgrove.ontology.versions.ingest import repair

        return repair(self)
