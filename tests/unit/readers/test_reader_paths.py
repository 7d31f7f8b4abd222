"""What the reader of label paths makes of each way in which paths are written."""

from __future__ import annotations

import io
import itertools
import random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from labelgrove.ontology.readers import read
from tests.unit.readers.reading import codes, names, pairs, read_text

GOOGLE = """# Google_Product_Taxonomy_Version: 2021-09-21
Animals & Pet Supplies
Animals & Pet Supplies > Live Animals
Animals & Pet Supplies > Pet Supplies
Animals & Pet Supplies > Pet Supplies > Bird Supplies
Apparel & Accessories
Apparel & Accessories > Clothing
"""
GOOGLE_IDS = """# Google_Product_Taxonomy_Version: 2021-09-21
1 - Animals & Pet Supplies
3237 - Animals & Pet Supplies > Live Animals
2 - Animals & Pet Supplies > Pet Supplies
3 - Animals & Pet Supplies > Pet Supplies > Bird Supplies
166 - Apparel & Accessories
1604 - Apparel & Accessories > Clothing
"""


def test_the_taxonomy_of_google_products(tmp_path):
    result = read_text(tmp_path, GOOGLE, "taxonomy.en-US.txt")
    pets = "Animals & Pet Supplies"
    assert result.report.format == "paths"
    assert pairs(result) == {
        (pets, "root"),
        (f"{pets}/Live Animals", pets),
        (f"{pets}/Pet Supplies", pets),
        (f"{pets}/Pet Supplies/Bird Supplies", f"{pets}/Pet Supplies"),
        ("Apparel & Accessories", "root"),
        ("Apparel & Accessories/Clothing", "Apparel & Accessories"),
    }
    assert names(result)[f"{pets}/Pet Supplies/Bird Supplies"] == "Bird Supplies"
    assert codes(result) == {"roots"}


def test_the_taxonomy_of_google_products_with_ids(tmp_path):
    result = read_text(tmp_path, GOOGLE_IDS, "taxonomy-with-ids.en-US.txt")
    assert result.report.format == "paths"
    assert pairs(result) == {
        ("1", "root"), ("3237", "1"), ("2", "1"), ("3", "2"), ("166", "root"), ("1604", "166"),
    }  # fmt: skip
    assert names(result)["3"] == "Bird Supplies"


@pytest.mark.parametrize("text", ["1\tA\n2\tA > B\n7\tA > B > C\n", "A\t1\nA > B\t2\nA > B > C\t7\n"])
def test_ids_at_either_end_beside_a_tab(text, tmp_path):
    assert pairs(read_text(tmp_path, text, format="paths")) == {("2", "1"), ("7", "2")}


def test_an_inner_label_without_a_line_has_its_path_as_key(tmp_path):
    result = read_text(tmp_path, "7 - A > B > C\n8 - A > B > D\n")
    assert pairs(result) == {("A/B", "A"), ("7", "A/B"), ("8", "A/B")}


TREE = {("animal/dog", "animal"), ("animal/dog/rex", "animal/dog"), ("animal/cat", "animal")}


@pytest.mark.parametrize("mark", [" > ", ">", " / ", "/", " | ", "|", ";", "\t", "::"])
def test_separators(mark, tmp_path):
    lines = [mark.join(path) for path in (("animal", "dog", "rex"), ("animal", "cat"))]
    options = {"separator": mark} if mark == "::" else {}
    assert pairs(read_text(tmp_path, "\n".join(lines), format="paths", **options)) == TREE


def test_paths_of_a_file_system(tmp_path):
    assert pairs(read_text(tmp_path, "/animal\n/animal/dog/rex/\n/animal/cat\n", format="paths")) == TREE


def test_separators_inside_names(tmp_path):
    result = read_text(tmp_path, "Media\nMedia > Audio/Video\nMedia > Audio/Video > A>B\n")
    assert pairs(result) == {
        ("Media/Audio~1Video", "Media"),
        ("Media/Audio~1Video/A>B", "Media/Audio~1Video"),
    }


def test_a_separator_after_a_backslash_is_part_of_a_name(tmp_path):
    result = read_text(tmp_path, "A/B\nA/C\\/D/E\n", format="paths")
    assert pairs(result) == {("A/B", "A"), ("A/C~1D", "A"), ("A/C~1D/E", "A/C~1D")}


def test_one_name_at_two_places_is_two_labels(tmp_path):
    result = read_text(tmp_path, "food > fruit > other\nfood > herb > other\n")
    assert {"food/fruit/other", "food/herb/other"} <= set(result.graph.keys)
    assert codes(result) == {"duplicate-name"}


INAT = (
    "00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_Lumbricus_terrestris\n"
    "00001_Animalia_Annelida_Polychaeta_Sabellida_Sabellidae_Sabella_spallanzanii\n"
    "09999_Plantae_Tracheophyta_Polypodiopsida_Polypodiales_Woodsiaceae_Woodsia_ilvensis\n"
)


def test_the_folders_of_inaturalist(tmp_path):
    result = read_text(tmp_path, INAT, "folders.txt")
    family = "Animalia/Annelida/Clitellata/Haplotaxida/Lumbricidae"
    assert result.report.format == "paths"
    assert {("00000", f"{family}/Lumbricus"), (f"{family}/Lumbricus", family)} < pairs(result)
    assert names(result)["00000"] == "Lumbricus terrestris"
    assert result.graph.leaves == ("00000", "00001", "09999")
    assert read_text(tmp_path, INAT.replace("\n", "/\n")).graph == result.graph


LEVELS = [
    "level1,level2,level3\nanimal,dog,rex\nanimal,cat,\n",
    "Level 1;Level 2;Level 3\nanimal;dog;rex\nanimal;cat;\n",
    "L3\tL1\tL2\nrex\tanimal\tdog\n\tanimal\tcat\n",
    "kingdom,phylum,class\nanimal,dog,rex\nanimal,cat,nan\n",
    "\ufefflevel1;level2;level3\r\nanimal;dog;rex\r\nanimal;cat;\r\n;;\r\n",
]


@pytest.mark.parametrize("text", LEVELS)
def test_one_level_a_column(text, tmp_path):
    result = read_text(tmp_path, text, "levels.csv")
    assert (result.report.format, pairs(result)) == ("paths", TREE)


def test_levels_with_keys(tmp_path):
    result = read_text(tmp_path, "id,level1,level2\n1,animal,\n2,animal,dog\n3,animal,cat\n")
    assert pairs(result) == {("2", "1"), ("3", "1")}


ROWS = [["animal", "dog", "rex"], ["animal", "cat", ""]]


def test_a_level_without_its_key_gets_it_from_another_line(tmp_path):
    lines = ["A,,1\n", "A,B,\n", "A,B,5\n"]
    for order in itertools.permutations(lines):
        result = read_text(tmp_path, "kingdom,phylum,id\n" + "".join(order))
        assert names(result) == {"1": "A", "5": "B"}


@pytest.mark.parametrize("dtype", ["U", "S"])
def test_an_array_of_hiclass(dtype, tmp_path):
    np.save(tmp_path / "y.npy", np.array(ROWS, dtype=dtype))
    result = read(tmp_path / "y.npy")
    assert (result.report.format, pairs(result)) == ("paths", TREE)
    text = "\n".join(",".join(row) for row in ROWS)
    assert pairs(read_text(tmp_path, text, "y.csv", format="paths", separator=",")) == TREE


def test_an_array_of_integers(tmp_path):
    np.save(tmp_path / "y.npy", np.array([[1, 2], [1, 3]]))
    assert pairs(read(tmp_path / "y.npy")) == {("1/2", "1"), ("1/3", "1")}


def test_an_array_of_objects_is_never_unpickled(tmp_path):
    held = io.BytesIO()
    np.save(held, np.array([["a", "b"]], dtype=object))
    result = read_text(tmp_path, held.getvalue(), "y.npy", strict=False)
    assert codes(result) == {"array"}


letters = st.sampled_from("AB1~/|>\u00e9\U0001f436")
steps = st.text(letters, min_size=1, max_size=6)


@given(
    paths=st.lists(st.lists(steps, min_size=1, max_size=4), min_size=1, max_size=12), seed=st.integers(0, 9)
)
def test_the_labels_are_the_prefixes_of_the_paths(paths, seed, tmp_path_factory):
    """Whatever is in the names; and the order of lines and repeated lines do not matter."""
    folder = tmp_path_factory.mktemp("paths")
    np.save(folder / "y.npy", np.array([[*path, *[""] * (4 - len(path))] for path in paths]))
    result = read(folder / "y.npy", policies={"roots": "keep", "invisible-character": "warn"})
    prefixes = {tuple(path[:i]) for path in paths for i in range(1, len(path) + 1)}
    assert result.graph.n_labels == len(prefixes)
    assert result.graph.n_edges == sum(len(prefix) > 1 for prefix in prefixes)
    lines = ["::".join(("x", *path)) for path in paths]
    random.Random(seed).shuffle(lines)
    written = read_text(folder, "\n".join([*lines, lines[0]]), format="paths", separator="::")
    assert written.graph.n_labels == len(prefixes) + 1
