"""The adapter as a model of MLflow: saved with its bundle, registered, loaded and served as a ``pyfunc``.

The model contains the adapter as `Adapter.save_pretrained` writes it. MLflow loads it through this module, so
nothing is unpickled, and no store is needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from labelgrove import __version__
from labelgrove.adapter.answers.candidatetexts import candidates_of
from labelgrove.adapter.outputs.rows import Outputs
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import BundleError, InputError, MissingExtraError

try:
    import mlflow.pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec
except ImportError as error:
    missing = "pandas" if error.name == "pandas" else "mlflow-skinny"
    raise MissingExtraError.of(missing, "mlflow", "labelgrove.adapter.mlflow") from error

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Pyfunc", "load_model", "log_model", "requirements", "save_model", "signature"]

Dtype = Literal["float32", "float64"]

_FOLDER = "adapter"
_ALL = "all"
_DTYPES = get_args(Dtype)


class Pyfunc:
    """What ``mlflow.pyfunc.load_model`` wraps: it answers each row of a model's outputs with labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgrove import Adapter, LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> model = Pyfunc(Adapter.from_graph(graph, ["oak", "elm"]))
    >>> found = model.predict(pd.DataFrame({"elm": [0.5], "oak": [0.5]}), {"k": 2})
    >>> found[["label", "label_2"]].to_numpy().tolist()
    [['tree', 'elm']]
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter

    def predict(self, data: Outputs, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return a table with a row for each row of `data`.

        Parameters
        ----------
        data : DataFrame or array_like of shape (n_samples, n_observed)
            Outputs of the model, as for `Adapter.predict`; named columns may have any order.
        params : mapping, optional
            - ``k`` (default 1): number of answers for each row;
            - ``temperature`` (default: that of the adapter);
            - ``candidates`` (default ``["all"]``): a list with one of ``all``, ``leaves``, ``locus``,
              ``observed`` and ``subtree:KEY``, or with keys.

        Returns
        -------
        answers : DataFrame
            Columns ``label`` (the key), ``name``, ``index``, ``variance`` and ``n_tied``; for the second
            answer ``label_2``, ``name_2``, ``index_2`` and ``variance_2``, and so on.

        Raises
        ------
        GroveError
            As `Adapter.top_k`.
        """
        import pandas as pd

        given, adapter = dict(params or {}), self.adapter
        temperature = float(given.get("temperature", adapter.temperature))
        if temperature != adapter.temperature:
            adapter = adapter.with_outputs(adapter.outputs, temperature)
        k = int(given.get("k", 1))
        ranking = adapter.top_k(data, k, candidates=_candidates(given.get("candidates")))
        table: dict[str, Any] = {}
        for rank in range(k):
            index, end = ranking.indices[:, rank], f"_{rank + 1}" if rank else ""
            table |= {
                f"label{end}": [keys[rank] for keys in ranking.keys],
                f"name{end}": list(adapter.names.take(index)),
                f"index{end}": index,
                f"variance{end}": ranking.values[:, rank],
            }
            if not rank:
                table["n_tied"] = ranking.n_tied
        return pd.DataFrame(table)


def _load_pyfunc(path: str) -> Pyfunc:
    """Load what `save_model` wrote; MLflow calls this function by its name."""
    return Pyfunc(Adapter.from_pretrained(path))


def save_model(
    adapter: Adapter, path: str | os.PathLike[str], *, array: Dtype | None = None, **more: Any
) -> None:
    """Save an adapter as a model of MLflow, in a new folder.

    Parameters
    ----------
    adapter : Adapter
        Its current bundle, columns, kind of outputs, temperature and exponent are saved.
    path : str or path
        Folder of the model; MLflow refuses one that has files.
    array : {"float32", "float64"}, optional
        As for `signature`.
    **more
        Other arguments of ``mlflow.pyfunc.save_model``: ``pip_requirements`` (by default `requirements`),
        ``input_example``, ``metadata`` and others.
    """
    with _arguments(adapter, array, more) as arguments:
        mlflow.pyfunc.save_model(os.fspath(path), **arguments)


def log_model(adapter: Adapter, name: str = "labels", *, array: Dtype | None = None, **more: Any) -> Any:
    """Log an adapter as a model of the current run, and return MLflow's ``ModelInfo``.

    Parameters
    ----------
    adapter, array
        As for `save_model`.
    name : str, default="labels"
        Name of the model in the run.
    **more
        Other arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.
    """
    with _arguments(adapter, array, more) as arguments:
        return mlflow.pyfunc.log_model(name=name, **arguments)


def load_model(uri: str) -> Adapter:
    """Return the adapter in a model of MLflow.

    Parameters
    ----------
    uri : str
        A path, or any address of MLflow: ``runs:/...``, ``models:/...``.

    Raises
    ------
    BundleError
        If the model is not one of `save_model`.
    GroveError
        As `Adapter.from_pretrained`.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
    flavor = Model.load(str(folder)).flavors.get(mlflow.pyfunc.FLAVOR_NAME, {})
    if flavor.get(mlflow.pyfunc.MAIN) != __name__:
        raise BundleError(
            f"{uri}: its loader is {flavor.get(mlflow.pyfunc.MAIN)!r}, expected {__name__!r}; give a "
            "model that save_model or log_model of this module wrote"
        )
    return Adapter.from_pretrained(folder / flavor[mlflow.pyfunc.DATA])


def signature(adapter: Adapter, array: Dtype | None = None) -> ModelSignature:
    """Return the signature of the model: its inputs, its outputs for ``k`` 1, and its parameters.

    Parameters
    ----------
    adapter : Adapter
    array : {"float32", "float64"}, optional
        By default, the inputs are columns that are named by the keys of the observed labels, in any order, of
        float32 or float64. With `array` they are an array of this dtype, in the order of `Adapter.observed`:
        MLflow accepts no array for named columns.
    """
    if array is not None and array not in _DTYPES:
        raise InputError(f"array: {array!r} given; give one of {', '.join(map(repr, _DTYPES))}, or None")
    if array is None:
        inputs = Schema([ColSpec("double", key) for key in adapter.observed])
    else:
        inputs = Schema([TensorSpec(np.dtype(array), (-1, adapter.n_observed))])
    types = {"label": "string", "name": "string", "index": "long", "variance": "double", "n_tied": "long"}
    params = [
        ParamSpec("k", "long", 1),
        ParamSpec("temperature", "double", float(adapter.temperature)),
        ParamSpec("candidates", "string", [_ALL], shape=(-1,)),
    ]
    outputs = Schema([ColSpec(kind, name) for name, kind in types.items()])
    return ModelSignature(inputs=inputs, outputs=outputs, params=ParamSchema(params))


def requirements() -> list[str]:
    """Return what the environment of a served model needs besides MLflow.

    Where no index has labelgrove, give ``save_model(..., pip_requirements=[...])`` a wheel in place of the
    first.
    """
    numpy = [one for one in requires("labelgrove") or [] if one.startswith("numpy") and ";" not in one]
    return [f"labelgrove=={__version__}", *numpy, "pandas"]


@contextmanager
def _arguments(adapter: Adapter, array: Dtype | None, more: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of MLflow's functions; the adapter's files exist while the ``with`` block runs."""
    with tempfile.TemporaryDirectory() as folder:
        adapter.save_pretrained(Path(folder) / _FOLDER)
        yield {
            "signature": signature(adapter, array),
            "pip_requirements": requirements(),
            **more,
            "loader_module": __name__,
            "data_path": str(Path(folder) / _FOLDER),
        }


def _candidates(given: Any) -> Any:
    """Return candidates as the adapter accepts them."""
    if given is None:
        return None
    listed = [given] if isinstance(given, str) else list(map(str, given))
    if len(listed) != 1:
        return listed
    return None if listed == [_ALL] else candidates_of(listed[0], lambda key: [key])
