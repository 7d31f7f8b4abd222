"""Large hierarchies in the shape of real ones: a taxonomy dump like NCBI's, and a thesaurus like MeSH's."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["MESH_LABELS", "NCBI_LABELS", "write_taxdump", "write_thesaurus"]

NCBI_LABELS = 2_600_000
MESH_LABELS = 664_000

_RANKS = (
    "no rank", "superkingdom", "kingdom", "phylum", "class", "order", "family", "genus", "species",
    "subspecies",
)  # fmt: skip
_SHARES = (1e-6, 2e-6, 3e-5, 2e-4, 4e-4, 2e-3, 1e-2, 8e-2, 0.87, 0.04)
"""Part of the taxa that has each rank: most are species, as in NCBI's dump."""

_OTHER_NAMES = ("synonym", "authority", "common name", "genbank common name", "type material", "includes")
_SYLLABLES = ("ar", "be", "co", "di", "el", "fu", "ga", "hy", "is", "ju", "ka", "lo", "mi", "no", "op", "pa")
_BLOCK = 100_000


def write_taxdump(folder: Path, n_labels: int, seed: int) -> None:
    """Write a dump with `n_labels` taxa, and half as many names again that are not scientific names.

    Taxa hang below taxa of the next rank above, some of a rank further up, and half of those above genera
    below one of their own rank, as clades without a rank do in NCBI's dump. Some taxa have thousands of
    children and most have few. Ids have gaps, and do not follow the tree.
    """
    rng = np.random.default_rng(seed)
    parent, rank = _tree(rng, n_labels)
    ids = np.append(1, rng.permutation(np.arange(2, n_labels + n_labels // 5))[: n_labels - 1])
    keys = ids.astype(str)
    rest = "\t|\t\t|\t8\t|\t1\t|\t1\t|\t1\t|\t6\t|\t1\t|\t1\t|\t0\t|\t\t|\n"
    order = np.argsort(ids)
    with (folder / "nodes.dmp").open("w", encoding="utf-8", newline="\n") as file:
        for part in _parts(order):
            columns = zip(keys[part].tolist(), keys[parent[part]].tolist(), rank[part].tolist(), strict=True)
            file.writelines(f"{key}\t|\t{above}\t|\t{_RANKS[r]}{rest}" for key, above, r in columns)
    with (folder / "names.dmp").open("w", encoding="utf-8", newline="\n") as file:
        for part in _parts(order):
            file.writelines(_names(rng, keys[part].tolist(), part.tolist()))
    former = np.arange(n_labels + n_labels // 5, n_labels + n_labels // 5 + n_labels // 25)
    targets = keys[rng.integers(1, n_labels, len(former))].tolist()
    with (folder / "merged.dmp").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{old}\t|\t{new}\t|\n" for old, new in zip(former.tolist(), targets, strict=True))
    with (folder / "delnodes.dmp").open("w", encoding="utf-8", newline="\n") as file:
        gone = range(int(former[-1]) + 1, int(former[-1]) + 1 + n_labels // 5) if len(former) else range(0)
        file.writelines(f"{old}\t|\n" for old in gone)


def write_thesaurus(path: Path, n_labels: int, seed: int) -> None:
    """Write a table ``key,parent,name,definition`` of `n_labels` descriptors and supplementary concepts.

    As in MeSH, one descriptor in two has several parents, and most concepts hang below one descriptor.
    """
    rng = np.random.default_rng(seed)
    n_descriptors = max(n_labels // 20, 1)
    above = (rng.random(n_labels) ** 2 * np.minimum(np.arange(n_labels), n_descriptors)).astype(np.int64)
    keys = [f"D{i:06d}" if i < n_descriptors else f"C{i:09d}" for i in range(n_labels)]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["key", "parent", "name", "definition"])
        for i, (key, parent) in enumerate(zip(keys, above.tolist(), strict=True)):
            text = f"a substance or topic, number {i}, that the thesaurus describes in one sentence"
            table.writerow([key, keys[parent] if i else "", _word(i), text])
            if 0 < i < n_descriptors and i % 2 and parent != i - 1:
                table.writerow([key, keys[i - 1], _word(i), text])


def _tree(rng: np.random.Generator, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent and the rank of each taxon; taxa are sorted by rank, and 0 is the root."""
    bounds = np.minimum(np.ceil(np.cumsum(_SHARES) * n).astype(np.int64), n)
    bounds = np.minimum(np.maximum(bounds, np.arange(1, len(bounds) + 1)), n)
    bounds[-1] = n
    rank = np.searchsorted(bounds, np.arange(n), side="right")
    begin = np.append(0, bounds)
    higher = np.maximum(rank - 1 - (rng.random(n) < 1 / 6) * rng.integers(0, 3, n), 0)
    low, size = begin[higher], begin[higher + 1] - begin[higher]
    parent = low + (rng.random(n) ** 3 * size).astype(np.int64)
    within = (rng.random(n) < 1 / 2) & (rank < _RANKS.index("genus")) & (np.arange(n) > begin[rank])
    parent[within] = (begin[rank] + rng.random(n) * (np.arange(n) - begin[rank])).astype(np.int64)[within]
    parent[0] = 0
    return parent, rank


def _names(rng: np.random.Generator, keys: list[str], taxa: list[int]) -> Iterator[str]:
    """Yield the lines of names of some taxa; one taxon in 500 shares its scientific name with another."""
    n_others = rng.choice(4, len(keys), p=(0.65, 0.22, 0.1, 0.03)).tolist()
    classes = rng.integers(0, len(_OTHER_NAMES), 4 * len(keys)).tolist()
    at = itertools.count()
    for key, taxon, n in zip(keys, taxa, n_others, strict=True):
        name = _word(taxon)
        shared = f"{name} <{taxon}>" if taxon and taxon % 500 == 0 else ""
        yield f"{key}\t|\t{name}\t|\t{shared}\t|\tscientific name\t|\n"
        for i in range(n):
            yield f"{key}\t|\t{name} {_word(taxon + i + 7)}\t|\t\t|\t{_OTHER_NAMES[classes[next(at)]]}\t|\n"


def _word(i: int) -> str:
    """Return a name like a Latin one: distinct for distinct numbers."""
    letters = "".join(_SYLLABLES[int(digit, 16)] for digit in f"{i:x}")
    return f"{letters.capitalize()}us {letters[::-1]}ensis"


def _parts(order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    return (order[i : i + _BLOCK] for i in range(0, len(order), _BLOCK))
