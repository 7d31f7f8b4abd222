"""The paths of a user's files for an experiment.

The names of these files are listed only in this module. It imports no large library, so that commands can
import it quickly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

__all__ = ["OWN_FILES", "FilePaths"]


@dataclass(frozen=True)
class FilePaths:
    """Paths of a user's inputs; None for inputs that are not given.

    Attributes
    ----------
    hierarchy : Path, optional
        Any source that `ontology.read` accepts.
    probs, columns, truth : Path, optional
        Probabilities of test samples (``.npy``, n_samples x n_columns); the label key of each column; the
        true label key of each sample, one per line. If the probabilities are a ``.csv``, ``.parquet`` or
        ``.arrow`` file, its header names the columns.
    embeddings, labels : Path, optional
        Features of samples (``.npy``, or ``.npz`` of a scipy sparse matrix); the label key of each sample,
        one per line. If samples have several labels, a line has all keys of one sample, separated by commas
        or spaces.
    test_embeddings, test_labels : Path, optional
        The same for separate test samples; without them, the samples are split into two halves.
    class_embeddings, classes : Path, optional
        A vector for each label (``.npy``), and the label key of each row.
    metric : {"tree", "graph"}
        How distances on the hierarchy are measured.
    answers : {"all", "leaves"}
        Labels of the hierarchy that may be answers.
    """

    hierarchy: Path | None = field(
        default=None,
        metadata={
            "said": "The hierarchy of labels: one file, not a folder (for WordNet: data.noun), in a format "
            "that `grove ingest` reads."
        },
    )
    probs: Path | None = field(
        default=None, metadata={"said": "Probabilities of the test samples, .npy or .csv."}
    )
    columns: Path | None = field(
        default=None,
        metadata={
            "said": "The label key of each column of --probs, one per line; the header of a .csv names them."
        },
    )
    truth: Path | None = field(
        default=None, metadata={"said": "The label key of each row of --probs, one per line."}
    )
    embeddings: Path | None = field(
        default=None, metadata={"said": "Features of the samples, .npy, or .npz of a scipy sparse matrix."}
    )
    labels: Path | None = field(
        default=None, metadata={"said": "The label key of each row of --embeddings, one per line."}
    )
    test_embeddings: Path | None = field(
        default=None,
        metadata={"said": "Features of separate test samples; without them the samples are split."},
    )
    test_labels: Path | None = field(
        default=None, metadata={"said": "The label key of each row of --test-embeddings."}
    )
    class_embeddings: Path | None = field(default=None, metadata={"said": "A vector for each label, .npy."})
    classes: Path | None = field(
        default=None, metadata={"said": "The label key of each row of --class-embeddings."}
    )
    metric: Literal["tree", "graph"] = "tree"
    answers: Literal["all", "leaves"] = "all"

    def given(self) -> set[str]:
        """Return the options, without ``--``, of the files that are given, such as ``test-embeddings``."""
        return {f.name.replace("_", "-") for f in fields(self) if isinstance(getattr(self, f.name), Path)}

    def said(self) -> set[str]:
        """Return the options of all inputs that the files contain.

        These are the options that `given` returns. If the file of probabilities has a header, ``columns`` is
        added, because the header names the columns.
        """
        named = self.probs is not None and self.probs.suffix in (".csv", ".parquet", ".arrow")
        return self.given() | ({"columns"} if named else set())


OWN_FILES = {f.name: str(f.metadata["said"]) for f in fields(FilePaths) if f.metadata}
"""A dictionary from the name of each file to a text that says what the file contains.

The name is an option of ``grove experiment`` and a parameter of the job.
"""
