"""Every module says what is public, in order, and every public name can be had and is described."""

import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("adapter", "labelgrove", "ontology", "workers")
EVERY_MODULE = sorted(
    ".".join(("labelgrove", *path.relative_to(ROOT).with_suffix("").parts))
    .replace("labelgrove.labelgrove", "labelgrove")
    .removesuffix(".__init__")
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
)
MODULES = [m for m in EVERY_MODULE if m != "labelgrove.__main__"]
BY_MARKER = {"labelgrove.adapter.mlflow": pytest.mark.mlflow, "labelgrove.adapter.torch": pytest.mark.torch}
MODULES = [pytest.param(m, marks=BY_MARKER.get(m, ())) for m in MODULES]


def _in_order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest: the order that the linter keeps."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1, name) if name[:1].isupper() else (2, name)


def _public(module: ModuleType) -> list[str]:
    """Return ``__all__``; only a package that defines nothing may go without."""
    own = [name for name in vars(module) if not name.startswith("_") and name not in ("annotations",)]
    if not hasattr(module, "__all__") and all(isinstance(getattr(module, name), ModuleType) for name in own):
        return []
    assert hasattr(module, "__all__"), f"{module.__name__} has no __all__"
    return list(module.__all__)


def _documented(owner: str, thing: object) -> list[str]:
    """Return the names of `thing` and its own public members that have no docstring."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return []
    if (thing.__module__ or "").partition(".")[0] != "labelgrove":  # handed on from a library
        return []
    bare = [] if (thing.__doc__ or "").strip() else [owner]
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            described = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            is_function = inspect.isfunction(described) or isinstance(described, property)
            if name.startswith("_") or not is_function:
                continue
            if not inspect.getdoc(getattr(thing, name)):  # an overriding method may inherit its description
                bare.append(f"{owner}.{name}")
    return bare


@pytest.mark.parametrize("module", MODULES)
def test_all_is_sorted_and_everything_in_it_can_be_had(module):
    loaded = importlib.import_module(module)
    assert (loaded.__doc__ or "").strip(), f"{module} has no docstring"
    names = _public(loaded)
    assert list(names) == sorted(set(names), key=_in_order)
    for name in names:
        getattr(loaded, name)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring(module):
    loaded = importlib.import_module(module)
    things = [(f"{module}.{name}", getattr(loaded, name)) for name in _public(loaded)]
    assert [bare for owner, thing in things for bare in _documented(owner, thing)] == []


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("labelgrove.ontology", ["LabelGraph", "read"]),
        (
            "labelgrove.ontology.geometry",
            [
                "CompleteSpace",
                "GraphSpace",
                "MatrixSpace",
                "TreeSpace",
                "frechet_mean",
                "frechet_mean_set",
                "frechet_variance",
                "metric_space",
            ],
        ),
        ("labelgrove.adapter", ["Adapter", "build_bundle", "evaluate"]),
        ("labelgrove.adapter.evaluation", ["evaluate"]),
        ("labelgrove.adapter.calibration", ["fit_temperature"]),
        ("labelgrove", ["Adapter", "LabelGraph", "evaluate", "frechet_mean", "metric_space", "read"]),
    ],
)
def test_the_fixed_names_are_there(module, names):
    loaded = importlib.import_module(module)
    assert set(names) <= set(loaded.__all__)


def test_rooms_hand_out_one_and_the_same_thing():
    import labelgrove
    from labelgrove.adapter.scorer import Adapter
    from labelgrove.ontology.labelgraph import LabelGraph

    assert labelgrove.Adapter is Adapter
    assert labelgrove.LabelGraph is LabelGraph
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = importlib.import_module("labelgrove.adapter").nothing
