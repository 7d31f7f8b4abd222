"""Bindings in files: the observed label of each column of a model.

::

    {
     "format": "labelgrove/binding/1",
     "bundle": "sha256 of the bundle it was made with",
     "by": "name",
     "columns": [{"column": "Tabby", "key": "n02123045"}, ...]
    }
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from labelgrove.adapter.plainfile import read_plain
from labelgrove.ontology.errors import BindingError, NotFoundError, ServiceError
from labelgrove.ontology.extras import upgrade_command
from labelgrove.ontology.store.wholefile import write_whole

__all__ = ["BINDING_FORMAT", "Binding", "By"]

By = Literal["auto", "key", "name", "position"]
"""How columns name labels; ``"auto"``: each column may be a key or a name."""

BINDING_FORMAT = "labelgrove/binding/1"
"""Format of the files; the number rises with each change that older versions would misread."""

_FIELDS = {"format", "bundle", "by", "columns"}
_LARGEST = 64 * 2**20  # bytes; enough for a million columns


@dataclass(frozen=True)
class Binding:
    """Columns of a model with the keys of their labels; made by `make_binding`.

    Give it in place of the columns: ``Adapter.load(uri, Binding.load(path))``. Its keys are then used, and
    names are not looked up again. It fits every bundle with these observed labels.

    Attributes
    ----------
    columns : tuple of str, length n_columns
        Names of the model's columns, in their order.
    keys : tuple of str, length n_columns
        Key of the observed label of each column.
    by : {"auto", "key", "name", "position"}
        How the columns were matched with labels.
    bundle : str
        Digest of the bundle with which the binding was made, for information; another bundle is not an error.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    by: By
    bundle: str

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all."""
        rows = [{"column": c, "key": k} for c, k in zip(self.columns, self.keys, strict=True)]
        document = {"format": BINDING_FORMAT, "bundle": self.bundle, "by": self.by, "columns": rows}
        target = Path(path)
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        try:
            write_whole(target, [text.encode()])
        except OSError as error:
            raise ServiceError(
                f"{target}: cannot be written ({error.strerror or error}); give a path in a folder that "
                "exists and that you may write"
            ) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Binding:
        """Read a file that `save` wrote.

        Raises
        ------
        NotFoundError
            If the file does not exist.
        BindingError
            If the file does not have the format that this version of labelgrove reads, or if a field is
            missing, unknown or wrong.
        """
        shown = os.fspath(path)
        try:
            data = read_plain(path, _LARGEST)
        except FileNotFoundError:
            raise NotFoundError(f"{shown}: no such binding file; save one with Binding.save") from None
        except (OSError, ValueError) as error:
            raise BindingError(f"{shown!r}: cannot be read ({error}); give a file you may read") from error
        try:
            document = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BindingError(f"{shown}: not JSON ({error}); save the binding again") from None
        return cls._from_document(document, shown)

    @classmethod
    def _from_document(cls, document: Any, shown: str) -> Binding:
        found = document.get("format") if isinstance(document, dict) else None
        if found != BINDING_FORMAT:
            newer = isinstance(found, str) and re.fullmatch(r"labelgrove/binding/[1-9][0-9]*", found)
            advice = f"upgrade with: {upgrade_command()}" if newer else "this file is not a binding"
            raise BindingError(f"{shown}: format is {found!r}, expected {BINDING_FORMAT!r}; {advice}")
        if document.keys() != _FIELDS:
            raise BindingError(
                f"{shown}: has the fields {', '.join(document)}, expected {', '.join(sorted(_FIELDS))}; "
                "save the binding again"
            )
        by, bundle, rows = document["by"], document["bundle"], document["columns"]
        if by not in get_args(By) or not isinstance(bundle, str):
            raise BindingError(
                f"{shown}: by is {by!r} (expected {', '.join(get_args(By))}), and bundle is {bundle!r} "
                "(expected text); save the binding again"
            )
        if not isinstance(rows, list) or not rows:
            raise BindingError(f"{shown}: columns must be a list with an entry for each column of the model")
        for i, row in enumerate(rows):
            right = isinstance(row, dict) and row.keys() == {"column", "key"}
            if not right or not all(isinstance(text, str) for text in row.values()):
                raise BindingError(
                    f"{shown}: columns[{i}] is {row!r}; expected the fields column and key, both text"
                )
        return cls(tuple(r["column"] for r in rows), tuple(r["key"] for r in rows), by, bundle)
