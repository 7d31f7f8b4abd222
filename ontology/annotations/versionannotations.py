"""Define `Annotations`: the annotations of all labels of a version, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations.columns import (
    Integers,
    Names,
    name_arrays,
    note_arrays,
    stored_table,
)
from labelgrove.ontology.annotations.descriptions import (
    MOST_USES,
    NAME_KINDS,
    NOTE_KINDS,
    Description,
    Name,
)
from labelgrove.ontology.errors import ArtifactError, InputError, counted
from labelgrove.ontology.keys import Keys, Texts, stored_texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["ANNOTATIONS_FORMAT", "Annotations"]

ANNOTATIONS_FORMAT = "labelgrove/annotations/1"
"""Name of the format of the artifact; its number is increased when the arrays change."""

_DEFINITIONS_FORMAT = "labelgrove/definitions/1"
"""Format of older artifacts, which hold definitions alone."""


class Annotations:
    """The annotations of all labels of a version, and of keys that its source retired.

    The *subjects* are the labels in canonical order, then the retired keys in the order of their bytes. A
    retired key is deprecated and has no place in the hierarchy.

    Attributes
    ----------
    n_labels : int
    retired : Keys
        The retired keys, ascending.
    definitions : Texts, length n_subjects
        Empty text for a subject without a definition.
    deprecated : ndarray of shape (n_subjects,), dtype=uint8
        1 for each deprecated subject.
    line : ndarray of shape (n_subjects,), dtype=int64
        Line of the source that describes each subject; 0 if unknown.
    name_subject, name_kind, name_language, name_use : ndarray of shape (n_names,)
        Subject of each name (int32), its kind as an index in `NAME_KINDS` (uint8), its language as an index
        in `languages` (uint16), and how often it is used (int32). Names are sorted by subject, kind, language
        and text.
    name_texts : Texts, length n_names
    languages : Texts
        Sorted language tags; the first one is the empty text, which stands for an unknown language.
    note_subject, note_kind : ndarray of shape (n_notes,)
        Subject (int32) and kind (uint8, index in `NOTE_KINDS`) of each note; sorted by subject, kind, text.
    note_texts : Texts, length n_notes

    Notes
    -----
    Arrays from an artifact stay in its memory map. `describe` decodes the annotations of one key.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree")])
    >>> held = Annotations.of(graph, {"oak": Description((Name("Quercus", language="la"),), "a tree")})
    >>> held.describe(graph.keys.index("oak")).names[0].text, held.definitions[1]
    ('Quercus', 'a tree')
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], n_labels: int) -> None:
        """Open the arrays that `to_arrays` returned; `InputError` says which of them breaks a rule."""
        self.n_labels = n_labels
        self.retired = Keys.from_strings(stored_texts(arrays, "retired"))
        n_subjects = n_labels + len(self.retired)
        self.definitions = stored_texts(arrays, "definitions")
        self.languages = stored_texts(arrays, "languages")
        self.name_texts, self.note_texts = stored_texts(arrays, "names"), stored_texts(arrays, "notes")
        names, notes = (len(self.name_texts),), (len(self.note_texts),)
        self.deprecated = stored_array(arrays, "deprecated", np.uint8, (n_subjects,))
        self.line = stored_array(arrays, "line", np.int64, (n_subjects,))
        self.name_subject = stored_array(arrays, "names.subject", np.int32, names)
        self.name_kind = stored_array(arrays, "names.kind", np.uint8, names)
        self.name_language = stored_array(arrays, "names.language", np.uint16, names)
        self.name_use = stored_array(arrays, "names.use", np.int32, names)
        self.note_subject = stored_array(arrays, "notes.subject", np.int32, notes)
        self.note_kind = stored_array(arrays, "notes.kind", np.uint8, notes)
        if len(self.definitions) != n_subjects:
            raise InputError(
                f"definitions: {len(self.definitions):,} texts for {counted(n_subjects, 'subject')}"
            )
        for name, found, n in (
            ("names.subject", self.name_subject, n_subjects),
            ("names.kind", self.name_kind, len(NAME_KINDS)),
            ("names.language", self.name_language, len(self.languages)),
            ("notes.subject", self.note_subject, n_subjects),
            ("notes.kind", self.note_kind, len(NOTE_KINDS)),
        ):
            if len(found) and not 0 <= int(found.min()) <= int(found.max()) < n:
                raise InputError(f"{name}: an entry is outside 0..{n - 1}")
            if name.endswith("subject") and (found[1:] < found[:-1]).any():
                raise InputError(f"{name}: the entries do not ascend")
        if not len(self.languages) or self.languages[0]:
            raise InputError("languages: the first one must be the empty text, for an unknown language")
        if (self.name_use < 0).any():
            raise InputError("names.use: an entry is below 0")

    # ---- making ------------------------------------------------------------------------------------

    @classmethod
    def of(cls, graph: LabelGraph, described: Mapping[str, Description]) -> Self:
        """Return the annotations of the labels of `graph`; other keys in `described` are retired keys."""
        found = list(described.values())
        names = [(i, name) for i, one in enumerate(found) for name in one.names]
        notes = [
            (i, kind, text)
            for i, one in enumerate(found)
            for kind in NOTE_KINDS
            for text in getattr(one, kind)
        ]
        languages = sorted({name.language for _, name in names})
        return cls.from_columns(
            graph,
            list(described),
            names=Names(
                [i for i, _ in names],
                [name.text for _, name in names],
                [NAME_KINDS.index(name.kind) for _, name in names],
                [languages.index(name.language) for _, name in names],
                [min(name.use, MOST_USES) for _, name in names],
                languages,
            ),
            notes=(
                [i for i, _, _ in notes],
                [NOTE_KINDS.index(kind) for _, kind, _ in notes],
                [text for _, _, text in notes],
            ),
            definitions={key: one.definition for key, one in described.items()},
            deprecated=[key for key, one in described.items() if one.deprecated],
            lines={key: one.line for key, one in described.items()},
            retired=described,
        )

    @classmethod
    def from_columns(
        cls,
        graph: LabelGraph,
        keys: Sequence[str],
        *,
        names: Names | None = None,
        notes: tuple[Integers, Integers, Sequence[str]] = ((), (), ()),
        definitions: Mapping[str, str] = MappingProxyType({}),
        deprecated: Iterable[str] = (),
        lines: Mapping[str, int] = MappingProxyType({}),
        retired: Iterable[str] = (),
    ) -> Self:
        """Return annotations from columns; entries of keys that are neither labels nor retired are left out.

        Parameters
        ----------
        graph : LabelGraph
        keys : sequence of str
            The keys to which `names` and `notes` refer by position, each once.
        names : Names, optional
            One entry for each name.
        notes : (keys, kinds, texts)
            Three sequences of one length: for each note its key, kind (index in `NOTE_KINDS`) and text.
        definitions, deprecated, lines, retired
            As the attributes, by key. Retired keys are deprecated; a label is not retired.

        Notes
        -----
        Equal content gives equal arrays, in whatever order it is given; a repeated entry counts once. O(m log
        m) time for m entries; of names and notes, only the texts are Python objects.
        """
        subjects = list(graph.keys)
        place = dict(zip(subjects, range(graph.n_labels), strict=True))
        gone = sorted({key for key in retired if key not in place})
        subjects += gone
        place |= zip(gone, range(graph.n_labels, len(subjects)), strict=True)
        subject = np.fromiter(map(place.get, keys, repeat(-1)), dtype=np.int64, count=len(keys))
        line = np.fromiter(map(lines.get, subjects, repeat(0)), dtype=np.int64, count=len(subjects))
        described = map(definitions.get, subjects, repeat("")) if definitions else repeat("", len(subjects))
        marked = [place[key] for key in deprecated if key in place]
        return cls._made(
            graph.n_labels,
            Texts.from_strings(gone),
            subject,
            names=names or Names((), (), (), (), (), ()),
            notes=notes,
            definitions=Texts.from_strings(described),
            deprecated=np.array(marked, dtype=np.int64),
            line=line,
        )

    @classmethod
    def _made(
        cls,
        n_labels: int,
        retired: Texts,
        subject: NDArray[np.int64],
        *,
        names: Names,
        notes: tuple[Integers, Integers, Sequence[str]],
        definitions: Texts,
        deprecated: NDArray[np.int64],
        line: NDArray[np.int64],
    ) -> Self:
        """Return annotations: definitions and lines of all subjects, and the subjects that are deprecated.

        `subject` is the subject of each number of a key in `names` and `notes`, -1 for those left out.
        """
        flags = np.zeros(n_labels + len(retired), dtype=np.uint8)
        flags[n_labels:] = 1
        flags[deprecated] = 1
        arrays: dict[str, NDArray[Any]] = {"deprecated": flags, "line": line}
        arrays |= stored_table("retired", retired) | stored_table("definitions", definitions)
        return cls(arrays | name_arrays(subject, names) | note_arrays(subject, *notes), n_labels)

    # ---- reading -----------------------------------------------------------------------------------

    def describe(self, subject: int) -> Description:
        """Return the annotations of a label, given its index; retired key ``i`` is ``n_labels + i``."""
        notes: dict[str, list[str]] = {}
        for i in _rows_of(self.note_subject, subject):
            notes.setdefault(NOTE_KINDS[int(self.note_kind[i])], []).append(self.note_texts[i])
        return Description(
            tuple(map(self.name, _rows_of(self.name_subject, subject))),
            self.definitions[subject],
            bool(self.deprecated[subject]),
            line=int(self.line[subject]),
            **{kind: tuple(texts) for kind, texts in notes.items()},
        )

    def name(self, i: int) -> Name:
        """Return the name in row `i` of the names."""
        return Name(
            self.name_texts[i],
            NAME_KINDS[int(self.name_kind[i])],
            self.languages[int(self.name_language[i])],
            int(self.name_use[i]),
        )

    def descriptions(self, graph: LabelGraph) -> Iterator[tuple[str, Description]]:
        """Yield (key, description) of every label of `graph`, which is this version, and of retired keys."""
        languages = list(self.languages)
        names = map(
            Name,
            self.name_texts,
            map(NAME_KINDS.__getitem__, self.name_kind.tolist()),
            map(languages.__getitem__, self.name_language.tolist()),
            self.name_use.tolist(),
        )
        notes = zip(map(NOTE_KINDS.__getitem__, self.note_kind.tolist()), self.note_texts, strict=True)
        n_subjects = self.n_labels + len(self.retired)
        columns = zip(
            [*graph.keys, *self.retired],
            np.bincount(self.name_subject, minlength=n_subjects).tolist(),
            np.bincount(self.note_subject, minlength=n_subjects).tolist(),
            self.definitions,
            map(bool, self.deprecated.tolist()),
            self.line.tolist(),
            strict=True,
        )
        for key, n_names, n_notes, definition, deprecated, line in columns:
            by_kind: dict[str, list[str]] = {}
            for kind, text in islice(notes, n_notes):
                by_kind.setdefault(kind, []).append(text)
            held = {kind: tuple(texts) for kind, texts in by_kind.items()}
            yield key, Description(tuple(islice(names, n_names)), definition, deprecated, line=line, **held)

    def moved(self, old: LabelGraph, new: LabelGraph) -> Self:
        """Return the annotations of the labels of `new`, given those of `old`; retired keys stay.

        Labels of `new` that `old` lacks have no annotations. A retired key that is a label of `new` is no
        longer retired, and keeps its annotations.
        """
        place = {key: i for i, key in enumerate(new.keys)}
        keys = chain(old.keys, self.retired)
        n_subjects = old.n_labels + len(self.retired)
        subject = np.fromiter(map(place.get, keys, repeat(-1)), dtype=np.int64, count=n_subjects)
        gone = old.n_labels + np.flatnonzero(subject[old.n_labels :] < 0)
        subject[gone] = new.n_labels + np.arange(len(gone))
        kept = np.flatnonzero(subject >= 0)
        line = np.zeros(new.n_labels + len(gone), dtype=np.int64)
        line[subject[kept]] = self.line[kept]
        which = np.full(len(line), n_subjects)  # an empty text
        which[subject[kept]] = kept
        texts = Texts(self.definitions.blob, np.append(self.definitions.offsets, len(self.definitions.blob)))
        return self._made(
            new.n_labels,
            self.retired.subset(gone - old.n_labels),
            subject,
            names=Names(
                self.name_subject,
                self.name_texts,
                self.name_kind,
                self.name_language,
                self.name_use,
                self.languages,
            ),
            notes=(self.note_subject, self.note_kind, self.note_texts),
            definitions=texts.subset(which),
            deprecated=subject[kept[self.deprecated[kept] > 0]],
            line=line,
        )

    # ---- artifact ----------------------------------------------------------------------------------

    def to_arrays(self, digest: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the named arrays and the metadata of the artifact (docs/artifact-format.md).

        `digest` is that of the version to which the annotations belong.
        """
        arrays: dict[str, NDArray[Any]] = {
            "deprecated": self.deprecated,
            "line": self.line,
            "names.subject": self.name_subject,
            "names.kind": self.name_kind,
            "names.language": self.name_language,
            "names.use": self.name_use,
            "notes.subject": self.note_subject,
            "notes.kind": self.note_kind,
        }
        for name, table in (
            ("retired", self.retired),
            ("definitions", self.definitions),
            ("languages", self.languages),
            ("names", self.name_texts),
            ("notes", self.note_texts),
        ):
            arrays |= stored_table(name, table)
        return arrays, {"format": ANNOTATIONS_FORMAT, "ontology": digest}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str], *, n_labels: int, digest: str
    ) -> Self:
        """Open the artifact of a version; older artifacts, which hold definitions alone, are read too.

        Raises
        ------
        ArtifactError
            For another format, another version, or arrays that break a rule.
        """
        found = metadata.get("format"), metadata.get("ontology")
        if found not in ((ANNOTATIONS_FORMAT, digest), (_DEFINITIONS_FORMAT, digest)):
            raise ArtifactError(
                f"annotations: format is {found[0]!r} and ontology is {found[1]!r}, expected "
                f"{ANNOTATIONS_FORMAT!r} and {digest!r}; ingest the source again"
            )
        try:
            if found[0] == _DEFINITIONS_FORMAT:
                arrays = _with_definitions(stored_texts(arrays, "definitions"), n_labels)
            return cls(arrays, n_labels)
        except InputError as error:
            raise ArtifactError(f"annotations: {error}; ingest the source again") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Annotations):
            return NotImplemented
        mine, theirs = (one.to_arrays("")[0] for one in (self, other))
        return self.n_labels == other.n_labels and all(
            np.array_equal(array, theirs[name]) for name, array in mine.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names, retired = counted(len(self.name_texts), "name"), counted(len(self.retired), "retired key")
        n_defined = int(np.count_nonzero(np.diff(self.definitions.offsets)))
        return f"Annotations({names}, {counted(n_defined, 'definition')}, {retired})"


def _with_definitions(definitions: Texts, n_labels: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of annotations that consist of definitions alone."""
    nothing = Texts.from_strings(())
    return {
        "deprecated": np.zeros(n_labels, dtype=np.uint8),
        "line": np.zeros(n_labels, dtype=np.int64),
        "definitions.blob": definitions.blob,
        "definitions.offsets": definitions.offsets,
        **stored_table("retired", nothing),
        **name_arrays(np.array([], dtype=np.int64), Names((), (), (), (), (), ())),
        **note_arrays(np.array([], dtype=np.int64), (), (), ()),
    }


def _rows_of(subjects: NDArray[np.int32], subject: int) -> range:
    wanted = np.array((subject, subject + 1), dtype=np.int32)  # of another dtype, all would be converted
    low, high = np.searchsorted(subjects, wanted).tolist()
    return range(low, high)
