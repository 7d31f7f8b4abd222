"""Build the ``pip`` commands that upgrade this installation of labelgrove or add an extra to it.

``pip install labelgrove`` is right only if labelgrove was installed from a package index. If it was installed
from a folder, file or repository, the index may have no project with that name, or an unrelated one. So the
commands name the source that the installer recorded (PEP 610).
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution

__all__ = ["install_command", "upgrade_command"]

_NAME = "labelgrove"


def install_command(extra: str) -> str:
    """Return the ``pip`` command that adds an extra to this installation.

    If labelgrove was installed from a package index, the command names the project; otherwise it names the
    folder, file or repository. If that folder or file no longer exists, the command lists the packages of the
    extra instead.
    """
    found = _distribution()
    target = _target(found, f"[{extra}]")
    if target is None and found is not None:
        target = " ".join(map(shlex.quote, _requirements(found, extra)))
    return f"pip install {target}"


def upgrade_command(extra: str = "") -> str:
    """Return the ``pip`` command that upgrades this installation, and adds `extra` if it is given."""
    brackets = f"[{extra}]" if extra else ""
    target = _target(_distribution(), brackets) or shlex.quote(_NAME + brackets)
    return f"pip install --upgrade {target}"


def _distribution() -> Distribution | None:
    from importlib.metadata import PackageNotFoundError, distribution  # takes 30 ms, and few programs need it

    try:
        return distribution(_NAME)
    except PackageNotFoundError:
        return None


def _target(found: Distribution | None, brackets: str) -> str | None:
    """Return the argument for ``pip install`` that names the source of this installation.

    The source is the project in a package index, a folder, a file or a repository. Return None if it is a
    folder or file that no longer exists. `brackets` is the extra in brackets, such as ``[torch]``, or an
    empty string; it is appended to the name or path of the package.
    """
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    if found is None:  # a checkout that runs uninstalled counts as installed from its folder
        checkout = Path(__file__).absolute().parents[2]
        return shlex.quote(f"{checkout if (checkout / 'pyproject.toml').is_file() else _NAME}{brackets}")
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if not origin:
        return shlex.quote(_NAME + brackets)
    url: str = origin["url"]
    parts = urlsplit(url)
    if "vcs_info" in origin:
        revision = origin["vcs_info"].get("requested_revision")
        url = f"{origin['vcs_info']['vcs']}+{url}" + (f"@{revision}" if revision else "")
    elif parts.scheme == "file":
        path = Path(url2pathname(parts.path))
        if not path.exists():
            return None
        if path.is_dir():
            editable: dict[str, Any] = origin.get("dir_info", {})
            return ("-e " if editable.get("editable") else "") + shlex.quote(f"{path}{brackets}")
    return shlex.quote(f"{_NAME}{brackets} @ {url}")


def _requirements(found: Distribution, extra: str) -> list[str]:
    """Return the packages that an extra requires, with their version limits."""
    of_extra = re.compile(rf"(.*?)\s*;\s*extra == ['\"]{re.escape(extra)}['\"]")
    listed = map(of_extra.fullmatch, found.requires or [])
    return [match[1] for match in listed if match]
