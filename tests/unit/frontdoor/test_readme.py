"""The README's lines for a model of one's own run as they stand, and its figures are those of the results."""

import ast
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "README.md"
RESULTS = README.parent / "docs" / "pretrained.md"
MOST_LINES = 10


def own_model_lines():
    section = README.read_text(encoding="utf-8").partition("## Use it with your own model\n")[2]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)


def test_the_adapter_takes_at_most_ten_lines_on_a_model_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = own_model_lines()
    lines = source.splitlines()
    assert len(lines) <= MOST_LINES
    names, n_compared = {}, 0
    for statement in ast.parse(source).body:
        text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        said = text[statement.end_col_offset :].partition("# ")[2]
        if isinstance(statement, ast.Expr) and said[:1] in ("[", "("):
            assert eval(text, names) == ast.literal_eval(said), text
            n_compared += 1
        else:
            exec(text, names)
    assert n_compared == 2


# ---- the language identifier -------------------------------------------------------------------------


def rows_of(text, *head):
    """Return the rows of the Markdown table whose head has these cells, each as a dictionary by column."""
    tables = (
        [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in table.splitlines()]
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    )
    (found,) = (table for table in tables if set(head) <= set(table[0]))
    columns, _, *rows = found
    return [dict(zip(columns, row, strict=True)) for row in rows]


def as_shown(squared):
    return f"{squared:.2f}" if squared < 10 else f"{squared:.1f}"


def measured_languages():
    """Return the results of py3langid with all its classes, by how its outputs are used."""
    (section,) = (
        part for part in RESULTS.read_text(encoding="utf-8").split("\n## ") if part.startswith("languages: ")
    )
    found = {}
    for head in ("saved", "unknown labels"):
        for row in rows_of(section, "model", "outputs", head):
            if (row["model"], row["withheld"]) == ("py3langid", "0 %"):
                found.setdefault(row["outputs"], {}).update(row)
    return section, found


def test_the_figures_of_the_languages_are_those_of_the_results():
    _, measured = measured_languages()
    expected = {}
    for outputs, title in (
        ("as is", "Fréchet mean"),
        ("likelihood", "Fréchet mean, calibrated on known languages"),
        ("distance", "Fréchet mean, calibrated on all languages"),
    ):
        expected[title] = measured[outputs], "Fréchet mean"
        for rule in ("argmax", "constant"):  # no temperature changes them
            assert measured[outputs][rule] == measured["as is"][rule]
    expected["argmax"] = measured["as is"], "argmax"
    expected["one constant answer"] = measured["as is"], "constant"
    shown = rows_of(README.read_text(encoding="utf-8"), "E[d²], unknown languages")
    assert {row[""] for row in shown} == set(expected)
    for row in shown:
        of, rule = expected[row[""]]
        assert row["E[d²], all texts"] == as_shown(float(of[rule].partition(" ")[0]))
        assert row["E[d²], unknown languages"] == as_shown(float(of[f"{rule}, unknown"]))
        exact = 0 if rule == "constant" else float(of[f"accuracy {rule}"])  # its label is no language
        assert row["exactly right"] == f"{exact:.0%}".replace("%", " %")


def test_what_is_said_of_the_languages_is_what_was_measured():
    section, measured = measured_languages()
    text = " ".join(README.read_text(encoding="utf-8").split())
    n_texts, n_languages = re.search(r"(\d+) texts in each of (\d+) languages", section).groups()
    n_labels = re.search(r"tree of ([\d,]+) languages and families", section)[1]
    n_unknown = round(float(measured["as is"]["unknown labels"]) * int(n_languages))
    assert f"tells {measured['as is']['classes']} languages apart" in text
    assert f"can answer with any of {n_labels} labels" in text
    assert f"Measured on texts in {n_languages} languages, {n_unknown} of them unknown" in text
    assert f"the most frequent answer to {n_texts} texts in each" in text


def test_the_answers_to_unknown_languages_are_those_of_the_quickstart():
    pytest.importorskip("py3langid")
    languages = pytest.importorskip("labelgrove.quickstart.languages")
    from labelgrove import Adapter
    from labelgrove.adapter.bundles.bundle import build_bundle
    from labelgrove.datasets.pretrained.languages import identified, language_space

    space = language_space()
    model = identified(languages.MODEL, space)
    _, temperature = languages.calibrated(model, 0)
    adapter = Adapter(build_bundle(space, model.columns))
    shown = rows_of(README.read_text(encoding="utf-8"), "truth")
    assert len(shown) == len(languages.UNKNOWN)
    for row, label in zip(shown, languages.UNKNOWN, strict=True):
        assert label not in model.columns
        found = languages.answers_to(label, model, adapter, temperature)
        assert row["truth"] == found.label
        for rule, (name, n) in {"argmax": found.argmax, "Fréchet mean": found.frechet_mean}.items():
            assert row[rule].partition(":")[0].replace("*", "") == f"{name}, {n} of {found.n_samples}"
