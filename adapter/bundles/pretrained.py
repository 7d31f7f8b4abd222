"""Folders that contain an adapter: ``config.json`` and ``bundle.safetensors``, as model hubs share them.

Reading such a folder runs and unpickles nothing, and uses no network. docs/adapter-loading.md lists
the fields of ``config.json``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from labelgrove.adapter.bundles.bundle import Bundle, read_bundle
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.adapter.plainfile import read_plain
from labelgrove.ontology.errors import ArtifactError, BundleError, NotFoundError, ServiceError
from labelgrove.ontology.extras import upgrade_command
from labelgrove.ontology.spelling import did_you_mean
from labelgrove.ontology.store.wholefile import write_whole

__all__ = ["BUNDLE_FILE", "CONFIG_FILE", "PRETRAINED_FORMAT", "Config", "read_folder", "write_folder"]

CONFIG_FILE = "config.json"
BUNDLE_FILE = "bundle.safetensors"

PRETRAINED_FORMAT = "labelgrove/adapter/1"
"""Format of the folders; the number rises with each change that older versions would misread."""

_LARGEST_CONFIG = 64 * 2**20  # a million columns take about a third of this


@dataclass(frozen=True)
class Config:
    """The content of ``config.json``; every field is required.

    Attributes
    ----------
    format : str
        `PRETRAINED_FORMAT`.
    sha256 : str
        Digest of the bundle's file.
    ontology, ontology_digest : str
        Name and digest of the version from which the bundle was made, as in the bundle.
    columns : list of str
        For each column of the model, the key of its observed label.
    outputs, temperature, beta
        As for `adapter.Adapter`.
    """

    format: str
    sha256: str
    ontology: str
    ontology_digest: str
    columns: list[str]
    outputs: OutputKind
    temperature: float
    beta: float


def write_folder(folder: str | os.PathLike[str], bundle: Bundle, settings: Mapping[str, Any]) -> None:
    """Write the bundle and the configuration; `folder` is created, and older files are replaced.

    Each file appears only when it is complete. The configuration contains the digest of the bundle and is
    written last. A process that reads the folder between the two writes therefore gets an error, because the
    two files do not match.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        digest = bundle.save(path / BUNDLE_FILE)
        config = Config(PRETRAINED_FORMAT, digest, bundle.ontology, bundle.ontology_digest, **settings)
        text = json.dumps(vars(config), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(path / CONFIG_FILE, [text.encode()])
    except OSError as error:
        raise ServiceError(
            f"{path}: cannot be written ({error.strerror or error}); give a folder that this user may write"
        ) from error


def read_folder(folder: str | os.PathLike[str]) -> tuple[Bundle, Config]:
    """Return the bundle and the configuration of a folder that `write_folder` wrote.

    Raises
    ------
    NotFoundError
        If a file does not exist.
    ArtifactError
        For a bundle whose bytes do not have the digest that the configuration names.
    BundleError
        If the configuration does not have the format that this version of labelgrove reads, or if a field is
        missing, unknown or wrong.
    """
    path = Path(folder)
    config = _read_config(path / CONFIG_FILE)
    where = path / BUNDLE_FILE
    if not where.is_file():
        raise NotFoundError(f"{path}: no {BUNDLE_FILE} next to {CONFIG_FILE}; save the adapter again")
    bundle = read_bundle(where)
    if bundle.digest != config.sha256:
        raise ArtifactError(
            f"{where}: has sha256 {bundle.digest}, but {CONFIG_FILE} names {config.sha256!r}; the two do not "
            "belong together, or one is damaged: fetch or save the folder again"
        )
    for field in ("ontology", "ontology_digest"):
        if getattr(config, field) != getattr(bundle, field):
            raise BundleError(
                f"{path / CONFIG_FILE}: {field} is {getattr(config, field)!r}, but the bundle says "
                f"{getattr(bundle, field)!r}; save the adapter again"
            )
    return bundle, config


def _read_config(path: Path) -> Config:
    try:
        data = read_plain(path, _LARGEST_CONFIG)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file; give a folder that save_pretrained wrote") from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error}); give a folder that you may read") from error
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path}: not JSON ({error}); save the adapter again") from None
    if not isinstance(found, dict):
        raise BundleError(
            f"{path}: contains a {type(found).__name__}, expected a JSON object; save the adapter again"
        )
    _check_format(path, found.get("format"))
    given = {name: value for name, value in found.items() if not name.startswith("_")}  # hubs add such fields
    known = [field.name for field in fields(Config)]
    for name in given.keys() - known:
        hint = did_you_mean(name, known)
        raise BundleError(f"{path}: unknown field {name!r}{hint}; a field of your own must begin with '_'")
    missing = [name for name in known if name not in given]
    if missing:
        raise BundleError(f"{path}: no field {', '.join(missing)}; save the adapter again")
    _check_types(path, given)
    return Config(**given)


def _check_format(path: Path, found: object) -> None:
    if found == PRETRAINED_FORMAT:
        return
    tag, _, version = str(found).rpartition("/")
    if (
        tag == PRETRAINED_FORMAT.rpartition("/")[0]
        and version.isascii()
        and version.isdigit()
        and version != "0"
    ):
        raise BundleError(
            f"{path}: format is {found!r}, this version reads {PRETRAINED_FORMAT!r}; "
            f"upgrade with: {upgrade_command()}"
        )
    raise BundleError(
        f"{path}: format is {found!r}, expected {PRETRAINED_FORMAT!r}; this is not the folder of an adapter"
    )


def _check_types(path: Path, given: Mapping[str, Any]) -> None:
    for name in ("sha256", "ontology", "ontology_digest", "outputs"):
        if not isinstance(given[name], str):
            raise BundleError(f"{path}: {name} is {given[name]!r}, expected text; save the adapter again")
    for name in ("temperature", "beta"):
        if type(given[name]) not in (int, float):
            raise BundleError(f"{path}: {name} is {given[name]!r}, expected a number; save the adapter again")
    columns = given["columns"]
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise BundleError(f"{path}: columns must be a list of keys, one for each column of the model")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found
