"""The command line `grove`: nouns and verbs, one file per group, loaded when called.

The table below is all that ``grove --help`` needs, so that it starts without importing a driver.
"""

from __future__ import annotations

import importlib
import os
import sys
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import labelgrove
from labelgrove.ontology.errors import (
    DefectsError,
    GroveError,
    InputError,
    MissingExtraError,
    NotFoundError,
    ServiceError,
    SettingsError,
    UnknownLabelError,
)

try:
    import click
except ImportError as error:
    raise MissingExtraError.of("click", "service", "the command line") from error
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["EXIT_CODES", "EXIT_STOPPED", "LazyGroup", "grove"]

COMMANDS = {
    "artifacts": ("labelgrove.cli.artifacts:artifacts", "Measure and collect what the store holds."),
    "backup": ("labelgrove.cli.backup:backup", "Copy database and artifacts into a folder."),
    "bundle": ("labelgrove.cli.bundles:bundle", "Build, list and inspect what the adapter loads."),
    "calibrate": ("labelgrove.cli.evaluating:calibrate", "Fit a temperature, and show what others would do."),
    "completion": ("labelgrove.cli.completion:completion", "Complete words in bash, zsh or fish."),
    "cover": ("labelgrove.cli.cover:cover", "Show which labels must be known to reach all."),
    "cypher": ("labelgrove.cli.cypher:cypher", "Query the graph, read-only."),
    "db": ("labelgrove.cli.database:db", "Upgrade the schema of catalog and ledger."),
    "distances": ("labelgrove.cli.distances:distances", "Measure distances between labels."),
    "doctor": ("labelgrove.cli.doctor:doctor", "Say what is in use, reach it, and name the fix."),
    "evaluate": ("labelgrove.cli.evaluating:evaluate", "Measure a model's outputs beside all baselines."),
    "experiment": (
        "labelgrove.cli.experiments:experiment",
        "Test a claim of the paper on open data, or your own.",
    ),
    "graph": ("labelgrove.cli.graph:graph", "Rebuild or verify the graph."),
    "ingest": (
        "labelgrove.cli.ingest:ingest",
        "Read a hierarchy and make it the current version of NAME.",
    ),
    "jobs": ("labelgrove.cli.jobs:jobs", "Ask for, follow and schedule background jobs."),
    "labels": ("labelgrove.cli.labels:labels", "Search labels and walk the hierarchy."),
    "locus": ("labelgrove.cli.locus:locus", "Show what a model that knows some labels can answer."),
    "ontology": ("labelgrove.cli.ontologies:ontology", "List, show, validate, export and delete ontologies."),
    "plot": ("labelgrove.cli.plot:plot", "Draw regions, loci and selections."),
    "quickstart": ("labelgrove.cli.quickstart:quickstart", "Run the main job on real input, and draw it."),
    "restore": ("labelgrove.cli.backup:restore", "Bring a backup back into an empty database."),
    "sample": ("labelgrove.cli.sample:sample", "Draw observed labels at random."),
    "score": ("labelgrove.cli.scoring:score", "Answer a model's outputs with labels of the whole space."),
    "select": ("labelgrove.cli.select:select", "Show which labels to collect next."),
    "summarize": ("labelgrove.cli.summarize:summarize", "Merge a huge graph into supernodes."),
    "train": ("labelgrove.cli.train:train", "Train a simple model, for who has none yet."),
    "worker": ("labelgrove.cli.worker:worker", "Serve background jobs from the broker."),
}

EXIT_CODES: tuple[tuple[type[GroveError], int], ...] = (
    (DefectsError, 3),
    (UnknownLabelError, 4),
    (NotFoundError, 4),
    (ServiceError, 5),
    (MissingExtraError, 1),
    (InputError, 2),
    (GroveError, 1),
)
"""Exit code of each kind of error; the first row that fits holds."""

EXIT_STOPPED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


_WHATEVER_IS_SET = {"completion", "doctor"}
"""Commands that run beside variables that are not settings: one of them lists these."""

_ASKS_FOR_HELP = "labelgrove.asks-for-help"


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether help is asked for, which is given whatever is set."""
        ctx.meta[_ASKS_FOR_HELP] = not set(ctx.help_option_names).isdisjoint(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; one that is not there is refused with those spelled much like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.list_commands(ctx))
            meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise click.UsageError(f"No such command {args[0]!r}.{meant}", ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands without importing them."""
        from click.shell_completion import CompletionItem

        offered = [
            CompletionItem(name, help=COMMANDS[name][1])
            for name in sorted(COMMANDS)
            if name.startswith(incomplete)
        ]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; what cannot be written becomes one message and an exit code."""
        try:
            return super().main(*args, **kwargs)
        except UnicodeEncodeError as error:
            _fail(_not_encodable(error))
        except OSError as error:
            raised = [frame for frame, _ in walk_tb(error.__traceback__)][-1]
            if raised.f_code is not click.echo.__code__:
                raise
            _fail(_not_writable(sys.stderr if raised.f_locals["err"] else sys.stdout, error))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a labelgrove error becomes one message and the exit code of its kind."""
        try:
            return super().invoke(ctx)
        except GroveError as error:
            _fail(error)
        except KeyboardInterrupt as interrupt:
            _stop(*interrupt.args)
        except click.Abort as abort:
            if isinstance(abort.__context__, KeyboardInterrupt):  # at a question
                _stop("nothing was changed")
            raise
        except BrokenPipeError:
            # The reader of our output went away (`grove ... | head`): nothing is wrong here.
            sys.stderr.close()
            raise SystemExit(0) from None


def _stop(kept: str = "") -> NoReturn:
    """End as Ctrl-C asks, saying what is kept and how to go on."""
    from labelgrove.cli.printing.text import say
    from labelgrove.cli.waiting.stopping import typed
    from labelgrove.ontology.settings import masked

    say(masked(f"stopped; {kept or f'begin again with: {typed()}'}"), err=True)
    raise SystemExit(EXIT_STOPPED)


def _fail(error: GroveError) -> NoReturn:
    from labelgrove.cli.printing.text import in_options, say
    from labelgrove.ontology.settings import masked

    report = getattr(error, "report", None)
    try:
        if report is None:
            say(f"error: {masked(in_options(str(error)))}", err=True)
        else:  # the message of the error names some of the defects again
            say(report.render(), err=True)
            n = report.counts["error"]
            said = f"error: {n} {'error' if n == 1 else 'errors'}, listed above; nothing was taken in"
            say(said, err=True)
    except OSError:  # nobody can be told; the exit code is what is left
        _forget(sys.stderr)
    raise SystemExit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))


def _not_encodable(error: UnicodeEncodeError) -> GroveError:
    """Return what to say of text that has no bytes: an argument's, or what was to be printed."""
    if error.encoding == "utf-8":  # an argument's bytes, on their way to a database or a socket
        return InputError(f"{error.object!r:.80} holds bytes that are not UTF-8; write it in UTF-8")
    return SettingsError(
        f"stdout: {error.object[error.start]!a} cannot be written in {error.encoding}, its encoding here; "
        "set PYTHONIOENCODING=utf-8, or a locale of UTF-8"
    )


def _not_writable(stream: TextIO, error: OSError) -> GroveError:
    """Return what to say of a stream that takes nothing."""
    from labelgrove.ontology.store.disk_faults import disk_advice

    _forget(stream)
    name = "stdout" if stream is sys.stdout else "stderr"
    advice = disk_advice(error, "the output", f"what {name} is sent to", otherwise="send it elsewhere")
    return ServiceError(f"{name}: cannot be written ({error.strerror}); {advice}")


def _forget(stream: TextIO) -> None:
    """Send what a stream still buffers to the null device: Python would fail to write it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(labelgrove.__version__, prog_name="grove")
@click.pass_context
def grove(ctx: click.Context) -> None:
    """Let a classifier that knows K classes answer with any of N related labels.

    \b
    grove quickstart                              see the whole job on real input
    grove ingest wordnet /usr/share/wordnet       read a hierarchy
    grove bundle build wordnet animals --observed my-classes.txt
    grove score wordnet/animals probabilities.npy --columns my-classes.txt

    `labels`, `cypher`, `ontology export` and the commands on distances, loci and selections also take
    NAME@VERSION, with the beginning of a version's digest.
    Settings come from GROVE_* variables or a .env file; `grove doctor` shows them.
    Exit codes: 0 ok, 1 failure, 2 usage, 3 defects found, 4 not found, 5 service unreachable, 130 stopped
    by Ctrl-C.
    """
    from labelgrove.cli.options.workspace import read_env_file
    from labelgrove.ontology.settings import check_variables

    read_env_file()
    if ctx.invoked_subcommand not in _WHATEVER_IS_SET and not ctx.meta[_ASKS_FOR_HELP]:
        check_variables(os.environ)
