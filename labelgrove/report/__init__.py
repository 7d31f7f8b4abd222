"""Reports with a verdict, written as a self-contained HTML page, as Markdown or as JSON.

>>> import numpy as np
>>> from labelgrove.adapter import Adapter, evaluate
>>> from labelgrove.report import Origin, evaluation_report, to_html
>>> from labelgrove.ontology import LabelGraph
>>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("moss", "plant"), ("tree", "plant")])
>>> found = evaluate(Adapter.from_graph(graph, ["oak", "moss"]), [[0.6, 0.4]] * 40, ["tree", "oak"] * 20)
>>> page = to_html(evaluation_report(found, Origin("in a notebook", {})))
>>> page[:15], found.verdict.answer in page
('<!DOCTYPE html>', True)
"""

from __future__ import annotations

from labelgrove.report.calibration import calibration_report
from labelgrove.report.content import Origin, Report
from labelgrove.report.evaluation import evaluation_report
from labelgrove.report.forms import as_bytes, to_json
from labelgrove.report.html import to_html
from labelgrove.report.markdown import to_markdown

__all__ = [
    "Origin",
    "Report",
    "as_bytes",
    "calibration_report",
    "evaluation_report",
    "to_html",
    "to_json",
    "to_markdown",
]
