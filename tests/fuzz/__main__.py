"""Read mutants of sound files with every reader: ``python -m tests.fuzz --mutants 20000 --seed 1``.

Fails on a traceback, on a read of more than 10 seconds of processor time, and on memory beyond 2 GiB. Each
mutant that its reader did not survive is written into the folder of `--keep`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from labelgrove.ontology.errors import counted
from tests.fuzz.pool import Failure, case, fuzz
from tests.fuzz.sources import sources


def main() -> int:
    """Run the command; return 1 if a reader failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, action="append", help="read this mutant alone; may be repeated")
    parser.add_argument("--source", default="", help="mutate only files with this word in their title")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    given = parser.parse_args()
    held = [source for source in sources() if given.source in source.title]
    start = time.monotonic()

    def report(failure: Failure) -> None:
        given.keep.mkdir(parents=True, exist_ok=True)
        source, content, _ = case(held, given.seed, failure.number)
        kept = given.keep / f"{given.seed}-{failure.number}-{source.name}"
        kept.write_bytes(content)
        print(f"seed {given.seed}, mutant {failure.number} of {failure.title}, kept as {kept}")
        print(f"read with {failure.options}\n{failure.what}", flush=True)

    numbers = given.only or range(given.mutants)
    outcome = fuzz(held, numbers, given.seed, jobs=given.jobs, report=report)
    seconds = time.monotonic() - start
    mutants = counted(outcome.n_mutants, "mutant")
    print(f"{mutants} of {len(held)} files, seed {given.seed}, {seconds:.0f} s")
    print("; ".join(f"{kind}: {n:,}" for kind, n in sorted(outcome.kinds.items())))
    seconds, number = outcome.slowest
    print(f"slowest: mutant {number}, {seconds:.1f} s")
    print(f"failures: {len(outcome.failures)}")
    return bool(outcome.failures)


if __name__ == "__main__":
    sys.exit(main())
