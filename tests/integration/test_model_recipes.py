"""The recipes of docs/frameworks.md for PyTorch run as they stand, on small models of random weights."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from labelgrove import LabelGraph, read
from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.geometry import metric_space

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]  # others' libraries warn as they like

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
PETS = LabelGraph.from_edges([("cat", "pet"), ("dog", "pet"), ("cow", "animal"), ("pet", "animal")])
CLASSES = ["cat", "dog", "cow"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


def without_weights(make, **instead):
    """Return `make` with other arguments in place of those that download weights."""

    @functools.wraps(make)
    def made(*arguments, **options):
        return make(*arguments, **{**options, **instead})

    return made


def run_recipe(name: str) -> dict[str, object]:
    """Run one recipe of the page, and return its variables."""
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(re.search(rf"```python {name}\n(.*?)```", text, re.DOTALL)[1], names)
    return names


def check(found: dict[str, object]) -> None:
    """Compare the answers with those to the same logits, in the order of the bundle's observed labels."""
    adapter, logits, columns = found["adapter"], found["logits"].numpy(), found["columns"]
    assert logits.shape == (2, len(columns))
    plain = Adapter(adapter.bundle, outputs="logits")
    ordered = logits[:, [columns.index(key) for key in plain.observed]]
    assert found["answers"] == plain.predict(ordered)
    few = [
        *plain.observed[:5]
    ]  # near-uniform weights have one answer in any order; variances tell them apart
    variances = adapter.decision_function(logits, candidates=few)
    np.testing.assert_allclose(variances, plain.decision_function(ordered, candidates=few), rtol=1e-9)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    torch = pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    for name in ("one.png", "two.png"):
        image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)).save(name)
    build_bundle(PETS, sorted(CLASSES)).save("mine.safetensors")


def test_text_classifier():
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", "it", "purrs", "fetches"]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", model_max_length=16
    )
    fast.save_pretrained("my-text-model")
    config = transformers.BertConfig(vocab_size=len(words), id2label=dict(enumerate(CLASSES)), **SMALL)
    transformers.BertForSequenceClassification(config).save_pretrained("my-text-model")
    found = run_recipe("text")
    assert found["columns"] == CLASSES
    check(found)


def test_image_classifier():
    transformers = pytest.importorskip("transformers")
    size = {"height": 32, "width": 32}
    transformers.ViTImageProcessor(size=size).save_pretrained("my-image-model")
    config = transformers.ViTConfig(image_size=32, patch_size=16, id2label=dict(enumerate(CLASSES)), **SMALL)
    transformers.ViTForImageClassification(config).save_pretrained("my-image-model")
    found = run_recipe("image")
    assert found["columns"] == CLASSES
    check(found)


def test_timm_on_imagenet(monkeypatch, wordnet_dir):
    timm = pytest.importorskip("timm")
    keys = timm.data.ImageNetInfo().label_names()
    build_bundle(metric_space(read(wordnet_dir).graph, "tree"), keys).save("imagenet.safetensors")
    monkeypatch.setattr(timm, "create_model", without_weights(timm.create_model, pretrained=False))
    check(run_recipe("timm"))


def test_zero_shot_head_of_openclip(monkeypatch):
    open_clip = pytest.importorskip("open_clip")
    made = without_weights(open_clip.create_model_and_transforms, pretrained=None)
    monkeypatch.setattr(open_clip, "create_model_and_transforms", made)
    check(run_recipe("clip"))
