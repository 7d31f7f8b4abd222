"""``grove evaluate`` and ``grove calibrate``: measure the outputs of a model against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.groups import option_group
from labelgrove.cli.options.model import load_model, model_options
from labelgrove.cli.printing.outfile import write_file
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, in_options, json_option, note
from labelgrove.cli.waiting.stopping import typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from labelgrove.adapter import Adapter, Bundle
    from labelgrove.ontology.geometry import MetricSpace, TreeSpace
    from labelgrove.report.content import Origin, Report

__all__ = ["calibrate", "evaluate"]


_report_options = option_group(
    click.argument("truth", type=click.Path(path_type=Path)),
    click.option(
        "--ontology",
        shell_complete=ontologies,
        help="The ontology of the bundle, if BUNDLE does not name it. It is needed on a graph metric, "
        "and for the names of labels in a report.",
    ),
    click.option(
        "--report",
        "reports",
        multiple=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="File to write the report to; its ending names the format: .html, .md or .json. "
        "May be repeated.",
    ),
    json_option,
)
"""Decorator for the arguments and options that follow those of `model_options`."""


@click.command()
@model_options
@_report_options
@click.option(
    "--train-truth",
    type=click.Path(path_type=Path),
    help="The labels of the training samples; the constant baseline is fitted to them.",
)
@click.option(
    "--hierarchy",
    is_flag=True,
    help="On a graph metric: add the measures that need ancestors and branches, which are taken from the "
    "primary parents in the ontology.",
)
@click.option(
    "--branch-level",
    type=click.IntRange(0),
    help="Depth of the labels that count as branches: 1 for the children of the root. By default, the "
    "smallest depth at which no branch contains more than half of the samples.",
)
@click.option("--top", default=5, show_default=True, type=click.IntRange(1), help="The k of top-k accuracy.")
@click.option(
    "--level",
    default=0.95,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Confidence level of the bootstrap intervals.",
)
@click.option(
    "--resamples", default=1000, show_default=True, type=click.IntRange(1), help="Number of bootstrap draws."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the bootstrap.")
@click.option(
    "--calibrate",
    "with_calibration",
    is_flag=True,
    help="Add to the report the results at other temperatures and exponents, and the temperature with the "
    "smallest E[d²]. This reads OUTPUTS several more times.",
)
def evaluate(
    bundle: str,
    outputs: Path,
    truth: Path,
    train_truth: Path | None,
    ontology: str | None,
    hierarchy: bool,
    branch_level: int | None,
    top: int,
    level: float,
    resamples: int,
    seed: int,
    with_calibration: bool,
    reports: tuple[Path, ...],
    as_json: bool,
    **model: Any,
) -> None:
    """Compare the answers for OUTPUTS, and those of every baseline, with TRUTH.

    TRUTH has one label per line, as key or name. OUTPUTS has a form that `grove score` reads; a dense file
    may be larger than memory.

    The report compares the Fréchet mean with argmax, a constant answer, the Fréchet mean among observed
    labels, CRM, and the observed label nearest to the truth. No rule that answers only with observed labels
    can be better than always giving the observed label nearest to the truth. The report ends with a verdict:
    whether to use the Fréchet mean.
    """
    from labelgrove.adapter import evaluate as measure
    from labelgrove.adapter.outputs.truthfile import read_truth_keys

    _check_reports(reports)
    if with_calibration and not reports:
        raise click.UsageError(
            "--calibrate: adds results to a report, but no report is requested; name its file with "
            "--report FILE"
        )
    adapter, file = load_model(bundle, outputs, **model)
    space, tree = _spaces(bundle, ontology, adapter, hierarchy)
    named = str if as_json and not reports else _names(bundle, ontology, adapter)
    points = () if space is None else space.points
    n_rows = adapter.blocks(file).n_rows
    truths = read_truth_keys(truth, adapter.bundle, by=model["by"], points=points, n_rows=n_rows)
    training = (
        None
        if train_truth is None
        else read_truth_keys(train_truth, adapter.bundle, by=model["by"], points=points)
    )
    with Progress(f"evaluate {len(truths):,} rows").shown():
        result = measure(
            adapter,
            file,
            truths,
            space=space,
            train_truth=training,
            hierarchy=tree,
            branch_level=branch_level,
            top_k=top,
            level=level,
            resamples=resamples,
            seed=seed,
        )
    fitted = None
    if with_calibration:
        from labelgrove.adapter.calibration.report import calibrate as fit

        with Progress(f"calibrate on {len(truths):,} rows").shown():
            fitted = fit(adapter, file, truths, by="squared_distance", space=space)
    if reports:
        from labelgrove.report.evaluation import evaluation_report
        from labelgrove.report.simplex import regions_of

        inputs = {"outputs": outputs, "truth": truth}
        inputs |= {} if train_truth is None else {"training truth": train_truth}
        regions = regions_of(adapter, named)
        _write(
            evaluation_report(result, _origin(inputs, {}), calibration=fitted, regions=regions, named=named),
            reports,
        )
    unit = _unit(adapter.bundle, result.diameter)
    emit(result.to_dict(), as_json, lambda: in_options(result.render(named, unit=unit)))


@click.command()
@model_options
@_report_options
@click.option(
    "--measure",
    type=click.Choice(["nll", "ece", "error", "squared_distance"]),
    default="nll",
    show_default=True,
    help="The measure that the fitted temperature minimizes.",
)
@click.option(
    "--bins", default=15, show_default=True, type=click.IntRange(1), help="Bins of calibration errors."
)
def calibrate(
    bundle: str,
    outputs: Path,
    truth: Path,
    ontology: str | None,
    measure: Any,
    bins: int,
    reports: tuple[Path, ...],
    as_json: bool,
    **model: Any,
) -> None:
    """Fit a temperature to OUTPUTS and TRUTH.

    Both must come from samples that the model did not see in training. TRUTH has one label per line, as key
    or name.

    The report shows E[d²] (the mean squared distance between answer and truth), calibration error and
    accuracy for a range of temperatures. It marks the default temperature, the best one for E[d²] and the
    best one for the calibration error. It also shows the bins of the reliability diagram, and E[d²] for other
    exponents of the distances.
    """
    from labelgrove.adapter.calibration.report import calibrate as fitted
    from labelgrove.adapter.outputs.truthfile import read_truth_keys

    _check_reports(reports)
    adapter, file = load_model(bundle, outputs, **model)
    space, _ = _spaces(bundle, ontology, adapter, False)
    truths = read_truth_keys(
        truth,
        adapter.bundle,
        by=model["by"],
        points=() if space is None else space.points,
        n_rows=adapter.blocks(file).n_rows,
    )
    with Progress(f"calibrate on {len(truths):,} rows").shown():
        result = fitted(adapter, file, truths, by=measure, space=space, bins=bins)
    if reports:
        from labelgrove.report.calibration import calibration_report

        settings = {
            "bundle": adapter.digest,
            "model's outputs": adapter.outputs,
            "measure": measure,
            "bins of calibration errors": bins,
        }
        origin = _origin({"outputs": outputs, "truth": truth}, settings)
        _write(calibration_report(result, origin), reports)
    emit(result.to_dict(), as_json, lambda: in_options(result.render()))


def _unit(bundle: Bundle, diameter: float) -> str:
    """Return the unit of `diameter`, which is edges if the bundle shows that all edges have length 1."""
    from labelgrove.adapter.bundles.bundlechecks import UNIT

    if bundle.kind != "tree" or bundle.length is not None:  # other bundles have no edges to look at
        return UNIT
    return "edge" if diameter == 1 else "edges"


def _check_reports(reports: tuple[Path, ...]) -> None:
    """Raise an error for a report of unknown format or in a missing folder, before anything is computed."""
    from labelgrove.ontology.errors import InputError
    from labelgrove.report.forms import check_ending

    for path in reports:
        check_ending(path)
        if not path.parent.is_dir():
            raise InputError(
                f"--report {path}: cannot be written because its folder does not exist; make the folder first"
            )


def _origin(inputs: dict[str, Path], settings: dict[str, Any]) -> Origin:
    """Return the origin of a report: the command, its settings, its inputs' digests, and package versions."""
    from labelgrove.ontology.store.filedigest import sha256_of
    from labelgrove.report.content import Origin
    from labelgrove.report.forms import versions

    found = {f"sha256 of the {name}": sha256_of(path) for name, path in inputs.items()}
    return Origin(typed(), settings | found | versions())


def _write(page: Report, reports: tuple[Path, ...]) -> None:
    from labelgrove.report.forms import as_bytes

    for path in reports:
        write_file(path, as_bytes(page, path), "the report")


def _spaces(
    bundle: str, ontology: str | None, adapter: Adapter, hierarchy: bool
) -> tuple[MetricSpace | None, TreeSpace | None]:
    """Return a pair: the metric space of a block bundle, and the tree of its ontology.

    The tree is None unless `hierarchy` is true. Both are None if no ontology is known. Both are also None if
    the bundle does not have the form ``block``: the adapter then has a metric space already
    (`adapter.space`).
    """
    ontology = _ontology(bundle, ontology)
    if ontology is None or adapter.space is not None:
        return None, None
    from labelgrove.ontology.geometry import metric_space
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.inputs import open_version

    with Workspace.open() as workspace:
        version = workspace.catalog.version(ontology, adapter.bundle.ontology_digest)
        graph = open_version(workspace.artifacts, version)
    space = metric_space(graph, cast("Any", adapter.bundle.metric), list(adapter.keys))
    return space, cast("TreeSpace", metric_space(graph, "tree")) if hierarchy else None


def _ontology(bundle: str, ontology: str | None) -> str | None:
    """Return the name of the ontology from ``--ontology`` or else from BUNDLE; None if neither names one."""
    if ontology is None and "/" in bundle and not Path(bundle).exists():
        return bundle.partition("/")[0]
    return ontology


def _names(bundle: str, ontology: str | None, adapter: Adapter) -> Callable[[str], str]:
    """Return a function that turns the key of a label into the text that the user sees.

    The text is the name with the key, or the key alone if the ontology is not available.
    """
    from labelgrove.documents.labels import names_with_keys
    from labelgrove.ontology.errors import DEPLOYMENT_FAULTS, NotFoundError
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.inputs import open_version

    ontology = _ontology(bundle, ontology)
    if ontology is None:
        return str
    try:
        with Workspace.open() as workspace:
            version = workspace.catalog.version(ontology, adapter.bundle.ontology_digest)
            graph = open_version(workspace.artifacts, version)
    except (NotFoundError, *DEPLOYMENT_FAULTS) as error:  # a bundle may be at hand without its ontology
        note(f"labels are shown by key because their names cannot be read: {error}")
        return str
    return names_with_keys(graph)
