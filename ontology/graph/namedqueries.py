"""Find Cypher queries by name and dialect; each file contains one query.

A file begins with one comment line that describes the query. ``queries/<dialect>/NAME.cypher`` takes
precedence over ``queries/common/NAME.cypher``. Common files use only Cypher that both engines answer in the
same way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.graph.cyphertokens import parameters

__all__ = ["DIALECTS", "NamedQuery", "check_parameters", "named_query", "query_names", "query_text"]

DIALECTS = ("neo4j", "embedded")

_FOLDER = Path(__file__).with_name("queries")


@dataclass(frozen=True)
class NamedQuery:
    """A query file.

    Attributes
    ----------
    name, description, text : str
        Name of the file without its suffix, text of its first line, and the Cypher.
    parameters : frozenset of str
        Names of the parameters that the query uses; a call must give exactly these.
    """

    name: str
    description: str
    text: str
    parameters: frozenset[str]


@cache
def named_query(dialect: str, name: str) -> NamedQuery:
    """Return the query `name` for `dialect`; an unknown name raises `NotFoundError`."""
    known = query_names(dialect)
    if name not in known:
        raise NotFoundError(f"there is no named query {name!r}; choose from: {', '.join(known)}")
    path = next(p for p in (_FOLDER / d / f"{name}.cypher" for d in (dialect, "common")) if p.is_file())
    comment, _, text = path.read_text(encoding="utf-8").partition("\n")
    return NamedQuery(name, comment.removeprefix("//").strip(), text.strip(), parameters(text))


def query_text(dialect: str, name: str, params: Mapping[str, Any]) -> str:
    """Return the Cypher of a named query, which must use exactly the parameters in `params`.

    Missing or unused parameters raise `InputError`, an unknown name `NotFoundError`.
    """
    query = named_query(dialect, name)
    check_parameters(query.parameters, params.keys(), where=f"query {name!r}")
    return query.text


def query_names(dialect: str) -> list[str]:
    """Return the names of the queries of `dialect`, sorted."""
    return sorted({p.stem for folder in (dialect, "common") for p in (_FOLDER / folder).glob("*.cypher")})


def check_parameters(needed: Collection[str], given: Collection[str], *, where: str) -> None:
    """Raise `InputError` for missing and unused parameters.

    Without this check, one of the engines would return no rows instead of an error.
    """
    missing, extra = sorted(set(needed) - set(given)), sorted(set(given) - set(needed))
    if missing or extra:
        parts = [
            f"{w} {', '.join('$' + n for n in names)}"
            for w, names in (("needs", missing), ("does not use", extra))
            if names
        ]
        raise InputError(f"{where} {' and '.join(parts)}; give exactly the parameters that it uses")
