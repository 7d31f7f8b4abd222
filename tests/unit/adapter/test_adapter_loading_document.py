"""docs/adapter-loading.md: its examples run, and it names what the code has."""

import dataclasses
import doctest
import re
from pathlib import Path
from typing import get_args

from labelgrove.adapter.bundles import pretrained
from labelgrove.adapter.columns import bindingfile
from labelgrove.adapter.loading import rediscache, source, stamps

DOCUMENT = Path(__file__).parents[3] / "docs" / "adapter-loading.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(DOCUMENT), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted >= 11


def test_names_and_figures_are_those_of_the_code():
    text = DOCUMENT.read_text(encoding="utf-8")
    for choice in (*get_args(source.Verify), *get_args(source.Stale), *get_args(bindingfile.By)):
        assert f'"{choice}"' in text or choice == "auto"
    assert pretrained.PRETRAINED_FORMAT in text
    assert bindingfile.BINDING_FORMAT in text
    assert f"up to {rediscache.VALUE_CAP >> 20} MiB" in text
    assert f"within the last {stamps._SETTLED_NS / 1e9:g} s" in text
    _, _, table = text.partition("| field of `config.json` | |")
    described = set(re.findall(r"`([a-z0-9_]+)`", "".join(re.findall(r"(?m)^\| (`.*?) \|", table)[:5])))
    assert described == {field.name for field in dataclasses.fields(pretrained.Config)}
