"""``grove warm``: compile all kernels now, so that no later command or model server has to."""

from __future__ import annotations

import time

import click

from labelgrove.cli.printing.text import emit, json_option
from labelgrove.ontology.errors import ConflictError, counted

__all__ = ["warm"]


@click.command()
@json_option
def warm(as_json: bool) -> None:
    """Compile all loops now, so that nothing waits for a compiler later.

    Each loop is compiled once for an installation, a processor and a version. Its code is kept in the folder
    that NUMBA_CACHE_DIR names, otherwise beside the package, or in the cache of the user if the package
    cannot be written to. Run this command when an image is built, or after an installation for a model
    server. Later processes load the code, also from a folder that they cannot write to.

    Fails if the code cannot be kept.
    """
    from labelgrove.ontology.geometry.rehearsals import REHEARSALS
    from labelgrove.ontology.geometry.scoring.kernelloading import load

    began = time.perf_counter()
    compiled = sum([load(name) for name in REHEARSALS])
    seconds = time.perf_counter() - began
    from labelgrove.ontology.geometry.kernels.jit import CODE_FILES

    if CODE_FILES.not_kept:
        raise ConflictError(
            f"{counted(len(CODE_FILES.not_kept), 'compiled loop')} could not be kept in any of "
            f"{', '.join(map(str, CODE_FILES.folders))}; set NUMBA_CACHE_DIR to the absolute path of a "
            "folder with free space that belongs to you and that not everybody can write to"
        )
    folders = sorted(map(str, CODE_FILES.used))
    done = f"compiled {compiled} of {len(REHEARSALS)} groups of loops" if compiled else "nothing to compile"
    emit(
        {"compiled": compiled, "folders": folders, "seconds": seconds},
        as_json,
        f"{done}, in {seconds:.1f} s; the code of all loops is in {' and '.join(folders)}",
    )
