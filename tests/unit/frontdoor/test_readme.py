"""The lines that the README shows for a model of one's own run as they stand, and say what they return."""

import ast
import re
from pathlib import Path

README = Path(__file__).parents[3] / "README.md"
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
