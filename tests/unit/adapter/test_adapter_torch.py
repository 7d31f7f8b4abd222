"""FrechetHead: scores with gradients, exact decisions, a state that follows the model; on CPU and CUDA."""

import io

import numpy as np
import pytest

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.datasets.randomgraphs import random_tree
from labelgrove.ontology.errors import BundleError, InputError, WeightError
from labelgrove.ontology.geometry import CompleteSpace
from labelgrove.ontology.labelgraph import LabelGraph

pytestmark = pytest.mark.torch

KINDS = ("tree", "leaves", "weighted", "block", "complete")
TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def devices():
    """Devices are looked up when a test runs: PyTorch need not be there to collect it."""
    import torch

    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param not in devices():
        pytest.skip("no CUDA device")
    return request.param


def adapter_of(kind, n=120, k=12, **named):
    graph = random_tree(n, seed=5)
    observed = [graph.keys[i] for i in range(n - 1, 0, -(n // k))]
    turned = observed[1:] + observed[:1]  # the model's order of columns is not that of the bundle
    if kind == "weighted":
        pairs = [
            (graph.keys[c], graph.keys[p]) for c, p in zip(graph.edge_child, graph.edge_parent, strict=True)
        ]
        lengths = np.random.default_rng(0).choice([0.1, 0.2, 0.3, 2.5], len(pairs))
        graph = LabelGraph.from_edges(pairs, weights=lengths.tolist())
    if kind == "complete":
        return Adapter(build_bundle(CompleteSpace(graph.keys), observed), turned, **named)
    metric = "graph" if kind == "block" else "tree"
    labels = "leaves" if kind == "leaves" else "all"
    return Adapter(build_bundle(graph, observed, metric=metric, labels=labels), turned, **named)


def votes(n_columns, n_rows=300, seed=0):
    draw = np.random.default_rng(seed)
    return np.array([np.bincount(draw.integers(0, n_columns, 5), minlength=n_columns) for _ in range(n_rows)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_decisions_and_scores_are_those_of_the_adapter(kind, dtype, device):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    adapter = adapter_of(kind)
    head = FrechetHead(adapter).to(device)
    rows = votes(adapter.n_observed)
    x = torch.tensor(rows, dtype=getattr(torch, dtype), device=device)
    assert head.decide(x).device.type == device
    assert head.decide(x).tolist() == adapter.predict_indices(rows).tolist()
    np.testing.assert_allclose(head(x).cpu().numpy(), adapter.decision_function(rows), rtol=1e-9, atol=1e-9)
    if device == "cpu":
        assert adapter.predict_indices(x).tolist() == adapter.predict_indices(rows).tolist()
    uneven = torch.tensor(np.random.default_rng(1).dirichlet(np.full(rows.shape[1], 0.2), 300))
    uneven = (uneven + 1e-6).to(x.dtype)
    expected = adapter.predict_indices(uneven.double().numpy())
    assert head.decide(uneven.to(device)).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_scores_have_the_gradient_of_a_linear_function(kind, device, monkeypatch):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    monkeypatch.setattr("labelgrove.adapter.torch._BLOCK_ENTRIES", 100)
    adapter = adapter_of(kind, n=30, k=5)
    head = FrechetHead(adapter).to(device)
    x = torch.rand(3, adapter.n_observed, dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(head, (x,))
    picked = head(x)[:, 4].sum()
    picked.backward()
    columns = adapter.decision_function(np.eye(adapter.n_observed))[:, 4]
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.tile(columns, (3, 1)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["tree", "block"])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_the_whole_head_compiles(kind, backend, device):
    """Inductor needs a C++ compiler on CPUs and Triton on GPUs."""
    import torch

    from labelgrove.adapter.torch import FrechetHead

    if backend == "inductor" and not compiles(device):
        pytest.skip("no compiler for this device")
    head = FrechetHead(adapter_of(kind, outputs="logits")).to(device)
    compiled = torch.compile(head, fullgraph=True, backend=backend)
    x = torch.randn(7, len(head.observed), device=device)
    torch.testing.assert_close(compiled(x), head(x))


def compiles(device):
    import importlib.util
    import shutil

    if device == "cuda":
        return importlib.util.find_spec("triton") is not None and shutil.which("cc") is not None
    return shutil.which("c++") is not None


@pytest.mark.parametrize("outputs", ["logits", "log_probabilities"])
def test_logits_and_leading_shapes(outputs, device):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    adapter = adapter_of("tree", outputs=outputs, temperature=0.5)
    head = FrechetHead(adapter).to(device)
    x = torch.log_softmax(torch.randn(2, 3, adapter.n_observed, dtype=torch.float64), -1)
    assert head(x.to(device)).shape == (2, 3, adapter.n_labels)
    decided = head.decide(x.to(device))
    assert decided.flatten().tolist() == adapter.predict_indices(x.flatten(0, 1).numpy()).tolist()
    assert head.decide(x[0, 0].to(device)).item() == decided[0, 0]


def test_halving_a_model_leaves_the_distances_alone(device):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    adapter = adapter_of("weighted")
    model = torch.nn.Sequential(FrechetHead(adapter)).to(device).half().to(torch.bfloat16)
    assert not list(model.parameters())
    rows = votes(adapter.n_observed)
    assert (
        model[0].decide(torch.tensor(rows, device=device)).tolist() == adapter.predict_indices(rows).tolist()
    )
    assert {b.device.type for b in model.buffers()} == {device}


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_goes_through_a_file_and_not_into_another_head(kind):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    adapter = adapter_of(kind)
    file = io.BytesIO()
    torch.save(FrechetHead(adapter).state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    FrechetHead(adapter).load_state_dict(state)
    turned = Adapter(adapter.bundle, adapter.observed[::-1], by="key")
    with pytest.raises(BundleError, match="other columns"):
        FrechetHead(turned).load_state_dict(state)


def test_sums_in_float32_stay_near(device):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    for kind in KINDS:
        adapter = adapter_of(kind)
        head = FrechetHead(adapter, dtype=torch.float32).to(device)
        x = torch.softmax(torch.randn(50, adapter.n_observed, device=device), -1)
        assert head(x).dtype == torch.float32
        expected = adapter.decision_function(x.cpu().numpy())
        np.testing.assert_allclose(head(x).cpu().numpy(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_rows_are_widened_a_batch_at_a_time(outputs, monkeypatch):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    head = FrechetHead(adapter_of("block", outputs=outputs))
    x = torch.tensor(votes(len(head.observed)), dtype=torch.float32)
    expected = head.decide(x)
    widened, weights = [], FrechetHead._weights
    monkeypatch.setattr("labelgrove.adapter.engines.arrays._ROW_ENTRIES", 50 * len(head.keys))
    monkeypatch.setattr(
        FrechetHead, "_weights", lambda *given: widened.append(len(given[1])) or weights(*given)
    )
    assert (head.decide(x) == expected).all()
    assert widened == [50] * 6


def test_wrong_use_is_refused(device):
    import torch

    from labelgrove.adapter.torch import FrechetHead

    head = FrechetHead(build_bundle(TREE, ["oak", "moss"])).to(device)
    with pytest.raises(WeightError, match=r"3 columns given, expected 2.*oak, moss"):
        head(torch.ones(2, 3, device=device))
    with pytest.raises(WeightError, match=r"row 1, column \d .* holds nan"):
        head.decide(torch.tensor([[1.0, 0.0], [float("nan"), 1.0]], device=device))
    with pytest.raises(InputError, match=r"dtype: torch\.float16"):
        FrechetHead(build_bundle(TREE, ["oak", "moss"]), dtype=torch.float16)
    with pytest.raises(InputError, match="beta: the adapter has 3"):
        FrechetHead(Adapter(build_bundle(TREE, ["oak", "moss"]), beta=3))
    assert "n_observed=2, n_labels=5" in repr(head)
