"""Every example in a docstring of the packages runs, and so do those of the README."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import labelgrove
from tests.architecture.test_public_names import BY_MARKER

CHECKOUT = Path(__file__).parents[2]


def modules():
    yield "labelgrove"
    for found in pkgutil.walk_packages(labelgrove.__path__, "labelgrove."):
        if not found.name.endswith("__main__"):
            yield pytest.param(found.name, marks=BY_MARKER.get(found.name, ()))


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(
        module, optionflags=doctest.ELLIPSIS, extraglobs={"LabelGraph": labelgrove.LabelGraph}
    )
    assert result.failed == 0


def test_the_readme_example_gives_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves an adapter
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    *body, last = code.strip().splitlines()
    expression, promised = last.split("#")
    names: dict[str, object] = {}
    exec("\n".join(body), names)
    assert list(eval(expression, names)) == list(eval(promised))


def test_links_of_the_documents_lead_somewhere():
    for page in [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
