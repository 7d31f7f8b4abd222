"""Export the decision of an adapter as an ONNX graph, standalone or appended to a model.

The graph is a trace of `adapter.engines.tables.decide`: the function is run once on objects that record each
operation instead of computing it. The graph uses only operators of the standard domain, opset 18 or later.
"""

from __future__ import annotations

import json
import os
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.engines.tables import converted, decide, fair_samples, table_of, weights_of
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import BindingError, InputError, MissingExtraError, first_few

try:
    import onnx
    from onnx import TensorProto, checker, helper, numpy_helper, version_converter
except ImportError as error:
    raise MissingExtraError.of("onnx", "onnx", "export_onnx") from error

__all__ = ["OPSET", "decision_model", "export_onnx"]

OPSET = 18
"""Version of the ONNX operators that the graph needs; a model keeps a newer one."""

_IR_VERSION = 8
_PREFIX = "labelgrove/"
_MOST_BYTES = 1_900_000_000

_Sums = Literal["float64", "float32"]
_Input = Literal["float64", "float32", "float16"]


def export_onnx(
    adapter: Adapter,
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | onnx.ModelProto | None = None,
    output: str | None = None,
    dtype: _Sums = "float64",
    input_dtype: _Input | None = None,
) -> None:
    """Call `decision_model` with the other arguments, and write the model that it returns to `path`."""
    made = decision_model(adapter, model=model, output=output, dtype=dtype, input_dtype=input_dtype)
    onnx.save(made, os.fspath(path))


def decision_model(
    adapter: Adapter,
    *,
    model: str | os.PathLike[str] | onnx.ModelProto | None = None,
    output: str | None = None,
    dtype: _Sums = "float64",
    input_dtype: _Input | None = None,
) -> onnx.ModelProto:
    """Return the decision as an ONNX model with the outputs ``frechet_index`` and ``frechet_label``.

    Parameters
    ----------
    adapter : Adapter
        Gives the label space, the observed labels, the order of the model's columns and the kind of its
        outputs (probabilities, log-probabilities or logits, with their temperature).
    model : str, path or onnx.ModelProto, optional
        Model to append the decision to; it keeps its own outputs. By default the graph is standalone: it
        has one input of shape (n_samples, n_observed), and the name of the input is the value of
        `Adapter.outputs`.
    output : str, optional
        The model's output that feeds the decision; by default the only one that has n_observed columns. It
        may also be an output of a ``ZipMap`` node, which scikit-learn's converter adds and which turns such
        columns into maps. The decision then reads the columns, not the maps.
    dtype : {"float64", "float32"}, default="float64"
        Dtype in which Fréchet variances are summed. With float64 the labels are the same as from `Adapter`.
        With float32 they may differ, but their Fréchet variances are within the bound that
        `adapter.engines.arrays` states.
    input_dtype : {"float64", "float32", "float16"}, optional
        Dtype of the input of a standalone graph; it must be the dtype of the outputs that will be given to
        it. By default it is `dtype`.

    Raises
    ------
    BindingError
        If no output of the model has n_observed columns, or more than one has and `output` is not given, or
        if a ``ZipMap`` names the observed labels in an order other than `Adapter.observed`.
    InputError
        For an argument that breaks a rule, a model that cannot be converted to opset 18, and a file larger
        than 2 GB.

    Notes
    -----
    ``frechet_index`` (int64) contains the answers as indices into `Adapter.keys`, and ``frechet_label``
    (string) contains their keys; both have shape (n_samples,). A graph cannot raise errors: for a row that
    `Adapter.predict_indices` refuses, it returns -1 and an empty string, and the other rows are answered as
    usual. For a batch without rows the outputs are empty. The model's metadata contain the digest of the
    bundle, the name and the digest of the ontology, and the observed labels. If the distances of
    a block are integers, they are stored in the dtype that they have in the bundle, and are converted to
    n_labels * n_observed numbers of `dtype` when the model runs. Other distances are stored in `dtype`.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> model = decision_model(Adapter.from_graph(graph, ["oak", "elm"]))
    >>> [value.name for value in model.graph.output]
    ['frechet_index', 'frechet_label']
    """
    for name, value, choices in (("dtype", dtype, _Sums), ("input_dtype", input_dtype or dtype, _Input)):
        if value not in get_args(choices):
            raise InputError(f"{name}: {value!r} given; choose {' or '.join(get_args(choices))}")
    if model is not None and input_dtype is not None:
        raise InputError(
            f"input_dtype: {input_dtype!r} given with a model, whose output has its own dtype; leave out "
            "input_dtype"
        )
    adapter = adapter.pinned()
    real = np.dtype(dtype)
    fed: int
    source: str
    whole = None if model is None else _loaded(model)
    if whole is None:
        source, fed = adapter.outputs, helper.np_dtype_to_tensor_dtype(np.dtype(input_dtype or dtype))
    else:
        source, fed = _feeding(whole, output, adapter.observed), TensorProto.UNDEFINED
    graph = _Graph()
    given = graph.operation(
        "Cast", real, _Value(graph, source, real), to=helper.np_dtype_to_tensor_dtype(real)
    )
    index = _decision(graph, adapter, given)
    graph.named("Identity", "frechet_index", index.name)
    labels = graph.constant(np.array([*adapter.keys, ""], dtype=object))  # -1 selects the last
    graph.named("Gather", "frechet_label", labels.name, "frechet_index")
    finished = _finished(graph, whole, source, fed, adapter)
    if finished.ByteSize() > _MOST_BYTES:
        raise InputError(
            f"model: together with the decision it has {finished.ByteSize():,} bytes, but an ONNX file can "
            f"have at most {_MOST_BYTES:,}; build a bundle with fewer allowed labels"
        )
    checker.check_model(finished)
    return finished


def _decision(graph: _Graph, adapter: Adapter, given: _Value) -> _Value:
    def constant(array: NDArray[Any] | None) -> _Value | None:
        if array is None:
            return None
        kind = array.dtype.kind
        dtype = given.dtype if kind == "f" else np.dtype(np.int64) if kind == "i" else array.dtype
        return graph.constant(np.ascontiguousarray(array, dtype=dtype))

    table = converted(table_of(adapter, np.finfo(given.dtype).nmant + 1), constant)
    xp = _Namespace(graph)
    rows = weights_of(xp, given, adapter.outputs, adapter.temperature)
    weights = xp.take(xp.matrix_transpose(rows), table.columns, axis=0)
    fair = fair_samples(xp, weights)
    weights = xp.where(xp.expand_dims(fair, axis=0), weights, xp.ones_like(weights))
    index = decide(xp, table, weights, float(np.finfo(given.dtype).eps) / 2)
    return xp.where(fair, index, xp.full_like(index, -1))


def _loaded(model: str | os.PathLike[str] | onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model with opset 18 or later, in which each domain of operators is listed once."""
    loaded = onnx.ModelProto()
    loaded.CopyFrom(model if isinstance(model, onnx.ModelProto) else onnx.load(os.fspath(model)))
    versions: dict[str, int] = {}
    for opset in loaded.opset_import:  # some converters list a domain twice
        domain = "" if opset.domain == "ai.onnx" else opset.domain
        versions[domain] = max(opset.version, versions.get(domain, 0))
    del loaded.opset_import[:]
    loaded.opset_import.extend(helper.make_opsetid(*each) for each in versions.items())
    version = versions.get("", OPSET)
    if version >= OPSET:
        return loaded
    try:
        converted = version_converter.convert_version(loaded, OPSET)
    except (RuntimeError, ValueError) as error:
        raise InputError(
            f"model: opset {version} cannot be converted to {OPSET} ({error}); export the model with opset "
            f"{OPSET} or later"
        ) from error
    for output, before in zip(converted.graph.output, loaded.graph.output, strict=True):
        output.CopyFrom(before)  # up to onnx 1.20 the conversion loses the types of maps
    return converted


def _feeding(model: onnx.ModelProto, output: str | None, observed: tuple[str, ...]) -> str:
    """Return the name of the value in the model's graph that the decision reads.

    This value is an output of the model or, if a ``ZipMap`` node makes that output, the input of the node.
    """
    maps = {node.output[0]: node for node in model.graph.node if node.op_type == "ZipMap"}
    shown, fitting = [], []
    for value in model.graph.output:
        if value.name in maps:
            classes = _classes(maps[value.name])
            shape = ["?", len(classes)]
            shown.append(f"{value.name} (maps of {len(classes)} classes)")
        else:
            shape = [d.dim_value or d.dim_param or "?" for d in value.type.tensor_type.shape.dim]
            shown.append(f"{value.name} {shape}")
        if len(shape) == 2 and shape[1] == len(observed) and output in (None, value.name):
            fitting.append(str(value.name))
    if len(fitting) != 1:
        raise BindingError(
            f"output: {output!r} given; the model's outputs are {', '.join(shown)}, and {len(fitting)} of "
            f"them fit; name one of shape (n_samples, {len(observed)}): a column for each observed label. "
            "For a scikit-learn model, use to_onnx(model, X, options={'zipmap': False})"
        )
    (name,) = fitting
    if name not in maps:
        return name
    classes = _classes(maps[name])
    if sorted(classes) == sorted(observed) and classes != observed:
        raise BindingError(
            f"output: the classes of {name!r} are {first_few(classes)}, but the columns of the adapter "
            f"are {first_few(observed)}; make the adapter with the columns of the model: "
            "Adapter(bundle, list(classifier.classes_))"
        )
    return str(maps[name].input[0])


def _classes(zip_map: onnx.NodeProto) -> tuple[str, ...]:
    """Return, as text, the class label that a ``ZipMap`` node gives to each column of its input."""
    found = {a.name: helper.get_attribute_value(a) for a in zip_map.attribute}
    if "classlabels_strings" in found:
        return tuple(name.decode() for name in found["classlabels_strings"])
    return tuple(str(number) for number in found.get("classlabels_int64s", ()))


def _finished(
    graph: _Graph, model: onnx.ModelProto | None, source: str, fed: int, adapter: Adapter
) -> onnx.ModelProto:
    """Return the complete model with metadata: `model` with the graph appended, or the graph as a model."""
    read = {name for node in graph.nodes for name in node.input}
    constants = [constant for constant in graph.constants if constant.name in read]
    outputs = [
        helper.make_tensor_value_info("frechet_index", TensorProto.INT64, [None]),
        helper.make_tensor_value_info("frechet_label", TensorProto.STRING, [None]),
    ]
    if model is None:
        entry = helper.make_tensor_value_info(source, fed, [None, adapter.n_observed])
        body = helper.make_graph(graph.nodes, "labelgrove", [entry], outputs, constants)
        model = helper.make_model(
            body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION
        )
    else:
        taken = {name for node in model.graph.node for name in node.output} & {o.name for o in outputs}
        if taken:
            raise InputError(
                f"model: it already has values named {sorted(taken)}, but the decision's outputs need these "
                "names; rename the model's values"
            )
        model.graph.node.extend(graph.nodes)
        model.graph.initializer.extend(constants)
        model.graph.output.extend(outputs)
        model.ir_version = max(model.ir_version, _IR_VERSION)
    bundle = adapter.bundle
    for key, value in (
        ("bundle", bundle.digest),
        ("ontology", bundle.ontology),
        ("ontology_digest", bundle.ontology_digest),
        ("observed", json.dumps(adapter.observed, ensure_ascii=False)),
    ):
        entry = model.metadata_props.add()
        entry.key, entry.value = f"labelgrove.{key}", value
    return model


class _Graph:
    """The ONNX nodes and constants recorded so far."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: Any) -> _Value:
        """Record an array as a constant of the graph, and return its value."""
        array = np.asarray(array)
        name = f"{_PREFIX}constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return _Value(self, name, array.dtype, array.shape)

    def operation(self, kind: str, dtype: Any, *inputs: _Value, **attributes: Any) -> _Value:
        """Record an operation, and return a value that stands for its result."""
        name = f"{_PREFIX}{kind}_{len(self.nodes)}"
        self.named(kind, name, *(value.name for value in inputs), **attributes)
        return _Value(self, name, np.dtype(dtype))

    def named(self, kind: str, result: str, *inputs: str, **attributes: Any) -> None:
        """Record an operation whose result has the given name."""
        self.nodes.append(helper.make_node(kind, list(inputs), [result], name=result, **attributes))


class _Value:
    """A constant, or the result that an operation will have when the model runs.

    The `shape` of a constant is a tuple. The shape of a result is known only when the model runs; its
    `shape` is therefore the `_Value` itself, and `_Namespace.reshape` records a node that reads the shape.
    """

    def __init__(self, graph: _Graph, name: str, dtype: np.dtype[Any], shape: Any = None) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype
        self.shape = self if shape is None else shape

    def _with(self, kind: str, other: Any, dtype: Any = None, swapped: bool = False) -> _Value:
        if not isinstance(other, _Value):
            other = self.graph.constant(np.array(other, dtype=self.dtype))
        pair = (other, self) if swapped else (self, other)
        return self.graph.operation(kind, dtype or self.dtype, *pair)

    def __add__(self, other: Any) -> _Value:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> _Value:
        return self._with("Sub", other)

    def __truediv__(self, other: Any) -> _Value:
        return self._with("Div", other)

    def __mul__(self, other: Any) -> _Value:
        return self._with("Mul", other)

    def __rmul__(self, other: Any) -> _Value:
        return self._with("Mul", other, swapped=True)

    def __and__(self, other: Any) -> _Value:
        return self._with("And", other)

    def __lt__(self, other: Any) -> _Value:
        return self._with("Less", other, bool)

    def __le__(self, other: Any) -> _Value:
        return self._with("LessOrEqual", other, bool)

    def __gt__(self, other: Any) -> _Value:
        return self._with("Greater", other, bool)

    def __ge__(self, other: Any) -> _Value:
        return self._with("GreaterOrEqual", other, bool)

    def __getitem__(self, key: tuple[slice, slice]) -> _Value:
        """Record the slice ``key[0]`` of the rows; ``key[1]``, the slice of the columns, is ignored."""
        ends = (self.graph.constant(np.array([end])) for end in (key[0].start, key[0].stop, 0))
        return self.graph.operation("Slice", self.dtype, self, *ends)


class _Namespace:
    """The functions of the array API that `adapter.engines.tables` uses; each records an ONNX operation."""

    int32 = np.dtype(np.int32)
    finfo = staticmethod(np.finfo)

    def __init__(self, graph: _Graph) -> None:
        self._graph = graph

    def _axis(self, axis: int) -> _Value:
        return self._graph.constant(np.array([axis]))

    def take(self, x: _Value, indices: _Value, *, axis: int) -> _Value:
        return self._graph.operation("Gather", x.dtype, x, indices, axis=axis)

    def cumulative_sum(self, x: _Value, *, axis: int) -> _Value:
        return self._graph.operation("CumSum", x.dtype, x, self._graph.constant(np.array(axis)))

    def sum(self, x: _Value, *, axis: int, keepdims: bool = False) -> _Value:
        return self._graph.operation("ReduceSum", x.dtype, x, self._axis(axis), keepdims=int(keepdims))

    def min(self, x: _Value, *, axis: int, keepdims: bool = False) -> _Value:
        return self._graph.operation("ReduceMin", x.dtype, x, self._axis(axis), keepdims=int(keepdims))

    def max(self, x: _Value, *, axis: int, keepdims: bool = False) -> _Value:
        return self._graph.operation("ReduceMax", x.dtype, x, self._axis(axis), keepdims=int(keepdims))

    def all(self, x: _Value, *, axis: int) -> _Value:
        """Compute ``all`` as a minimum of zeros and ones, because this opset has no minimum of booleans."""
        return self.astype(self.min(self.astype(x, np.int32), axis=axis), np.bool_)

    def exp(self, x: _Value) -> _Value:
        return self._graph.operation("Exp", x.dtype, x)

    def argmax(self, x: _Value, *, axis: int) -> _Value:
        return self._graph.operation("ArgMax", np.int64, x, axis=axis, keepdims=0)

    def where(self, condition: _Value, x: _Value, y: _Value) -> _Value:
        return self._graph.operation("Where", x.dtype, condition, x, y)

    def minimum(self, x: _Value, y: _Value) -> _Value:
        return self._graph.operation("Min", x.dtype, x, y)

    def nonzero(self, x: _Value) -> tuple[_Value, _Value]:
        places = self._graph.operation("NonZero", np.int64, x)
        sample, candidate = (self.take(places, self._graph.constant(np.array(i)), axis=0) for i in (0, 1))
        return sample, candidate

    def astype(self, x: _Value, dtype: Any) -> _Value:
        return self._graph.operation("Cast", dtype, x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def reshape(self, x: _Value, shape: Any) -> _Value:
        """Flatten `x`; but if `shape` is a `_Value`, return `x` in the shape of that `_Value`.

        The size of the flat array is computed, because a size of -1 fails for an array without elements.
        """
        if isinstance(shape, _Value):
            wanted = self._graph.operation("Shape", np.int64, shape)
        else:
            wanted = self.expand_dims(self._graph.operation("Size", np.int64, x), axis=0)
        return self._graph.operation("Reshape", x.dtype, x, wanted, allowzero=1)

    def expand_dims(self, x: _Value, *, axis: int) -> _Value:
        return self._graph.operation("Unsqueeze", x.dtype, x, self._axis(axis))

    def full_like(self, x: _Value, value: float) -> _Value:
        """Return an array filled with `value`, in the shape of `x`.

        If the shape of `x` is not known yet, return a single number instead, which broadcasts.
        """
        shape = () if isinstance(x.shape, _Value) else x.shape
        return self._graph.constant(np.full(shape, value, dtype=x.dtype))

    def ones_like(self, x: _Value) -> _Value:
        return self.full_like(x, 1)

    def zeros_like(self, x: _Value) -> _Value:
        return self.full_like(x, 0)

    def matmul(self, x: _Value, y: _Value) -> _Value:
        return self._graph.operation("MatMul", x.dtype, x, y)

    def matrix_transpose(self, x: _Value) -> _Value:
        return self._graph.operation("Transpose", x.dtype, x, perm=[1, 0])

    def concat(self, arrays: list[_Value], *, axis: int) -> _Value:
        return self._graph.operation("Concat", arrays[0].dtype, *arrays, axis=axis)
