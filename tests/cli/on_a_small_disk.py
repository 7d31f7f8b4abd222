"""Run every command on a full disk, and on a read-only one.

To be run in a mount namespace of its own, such as `unshare --mount` makes. Mounts a small disk on the folder
DISK for each state, copies HOME there, fills the disk or makes it read-only, and prints as JSON how each
command ended.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cli.every_command import COMMANDS, READS, WRITES, Deployment

SPARE_BYTES = 1 << 20


def on_full_disk(disk: Path, home: Path, out: Path, names: dict[str, str]) -> Iterator[dict[str, object]]:
    for command in COMMANDS:
        copy = Path(shutil.copytree(home, disk / "home"))
        fill(disk / "filler")
        yield from ended(command, copy, out, names)
        (disk / "filler").unlink()
        shutil.rmtree(copy)


def on_read_only_disk(
    disk: Path, home: Path, out: Path, names: dict[str, str]
) -> Iterator[dict[str, object]]:
    copy = Path(shutil.copytree(home, disk / "home"))
    mount("-o", "remount,ro", str(disk))
    for command in COMMANDS:
        yield from ended(command, copy, out, names)


def ended(command: str, home: Path, out: Path, names: dict[str, str]) -> Iterator[dict[str, object]]:
    """Run a command if it uses the database, and yield how it ended."""
    if COMMANDS[command][0] in (READS, WRITES):
        result = Deployment(home, f"sqlite:///{home / 'catalog.db'}", names).run(command, out)
        raised = None if isinstance(result.exception, SystemExit | None) else repr(result.exc_info)
        yield {"command": command, "code": result.exit_code, "raised": raised, "said": result.output}


def fill(path: Path) -> None:
    """Fill the disk with a file."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def main(disk: Path, home: Path, out: Path, names: dict[str, str]) -> None:
    size = sum(path.stat().st_size for path in home.rglob("*")) + SPARE_BYTES
    found = {}
    for state, endings in (("full", on_full_disk), ("read-only", on_read_only_disk)):
        # A disk for each: maps of deleted files, which this process may keep, let no disk become read-only.
        mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk))
        found[state] = list(endings(disk, home, out, names))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), json.loads(sys.argv[4]))
