"""The command line `grove`: one file for each group of commands, loaded when a command is called.

``grove --help`` needs only the table `COMMANDS`, so it starts without importing a database driver.
"""

from __future__ import annotations

import importlib
import os
import re
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
    "artifacts": ("labelgrove.cli.artifacts:artifacts", "List, measure and clean up stored artifacts."),
    "backup": ("labelgrove.cli.backup:backup", "Copy the database and the artifacts into a folder."),
    "bundle": ("labelgrove.cli.bundles:bundle", "Build, list and inspect bundles for model servers."),
    "calibrate": ("labelgrove.cli.evaluating:calibrate", "Fit a temperature and compare it with others."),
    "completion": ("labelgrove.cli.completion:completion", "Complete words in bash, zsh or fish."),
    "cover": ("labelgrove.cli.cover:cover", "Find labels to observe so that all can be reached."),
    "cypher": ("labelgrove.cli.cypher:cypher", "Query the graph, read-only."),
    "db": ("labelgrove.cli.database:db", "Upgrade the schema of the catalog and the ledger."),
    "distances": ("labelgrove.cli.distances:distances", "Measure distances between labels."),
    "doctor": ("labelgrove.cli.doctor:doctor", "Check every part in use, and name the fixes."),
    "evaluate": ("labelgrove.cli.evaluating:evaluate", "Measure a model against every baseline."),
    "experiment": (
        "labelgrove.cli.experiments:experiment",
        "Test a claim of the paper on open data, or on yours.",
    ),
    "export": ("labelgrove.cli.exporting:export", "Write a bundle as a model of another model server."),
    "graph": ("labelgrove.cli.graph:graph", "Rebuild or verify the graph."),
    "ingest": (
        "labelgrove.cli.ingest:ingest",
        "Read a hierarchy and make it the current version of NAME.",
    ),
    "jobs": ("labelgrove.cli.jobs:jobs", "Submit, follow and schedule background jobs."),
    "labels": ("labelgrove.cli.labels:labels", "Search labels and walk the hierarchy."),
    "locus": ("labelgrove.cli.locus:locus", "Show which labels a model can answer with."),
    "ontology": ("labelgrove.cli.ontologies:ontology", "List, show, validate, export and delete ontologies."),
    "plot": ("labelgrove.cli.plot:plot", "Draw prediction regions, loci and selections."),
    "quickstart": ("labelgrove.cli.quickstart:quickstart", "Run the whole job on real input, and draw it."),
    "restore": ("labelgrove.cli.backup:restore", "Restore a backup into an empty database."),
    "sample": ("labelgrove.cli.sample:sample", "Draw observed labels at random."),
    "score": ("labelgrove.cli.scoring:score", "Answer a model's outputs with any label of the space."),
    "select": ("labelgrove.cli.select:select", "Show which labels to collect next."),
    "serve": ("labelgrove.cli.serve:serve", "Serve the explorer and the REST interface."),
    "summarize": ("labelgrove.cli.summarize:summarize", "Merge a huge graph into supernodes."),
    "token": ("labelgrove.cli.tokens:token", "Create, list and revoke tokens of the service."),
    "train": ("labelgrove.cli.train:train", "Train a simple model, if you have none yet."),
    "warm": ("labelgrove.cli.warm:warm", "Compile all loops now, for images and model servers."),
    "worker": ("labelgrove.cli.worker:worker", "Run background jobs until stopped."),
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
"""The exit code of each kind of error; the first row that matches an error decides."""

EXIT_STOPPED = 130
"""The exit code after Ctrl-C: 128 plus the number of the signal, as in shells."""


_WHATEVER_IS_SET = {"completion", "doctor"}
"""Commands that run even if a variable ``GROVE_...`` is not a setting; `doctor` lists such variables."""

_ASKS_FOR_HELP = "labelgrove.asks-for-help"


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record whether help was requested, because help is shown even if the settings are wrong."""
        ctx.meta[_ASKS_FOR_HELP] = not set(ctx.help_option_names).isdisjoint(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; return None if its name is unknown."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for an unknown one, the error suggests commands with a similar spelling."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError:
            from labelgrove.ontology.spelling import close_words

            close = close_words(args[0], self.list_commands(ctx))
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
        """Run the command line; if output cannot be written, exit with one error message."""
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
        """Run a command; for an error of labelgrove, print its message and exit with the code of its type."""
        try:
            return super().invoke(ctx)
        except GroveError as error:
            _fail(error)
        except KeyboardInterrupt as interrupt:
            _stop(*interrupt.args)
        except click.Abort as abort:
            if isinstance(abort.__context__, KeyboardInterrupt):  # pressed at a prompt
                _stop("nothing was changed")
            raise
        except BrokenPipeError:
            # The reader of our output went away (`grove ... | head`), which is not an error.
            sys.stderr.close()
            raise SystemExit(0) from None


def _stop(kept: str = "") -> NoReturn:
    """Exit after Ctrl-C; print `kept`, which says what is kept and how to continue."""
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
            say(f"error: {masked(_by_option(in_options(str(error)), error))}", err=True)
        else:  # not the error's own message: it would repeat some of the defects
            say(report.render(), err=True)
            n = report.counts["error"]
            said = f"error: {n} {'error' if n == 1 else 'errors'}, listed above; nothing was ingested"
            say(said, err=True)
    except OSError:  # stderr cannot be written: only the exit code is left
        _forget(sys.stderr)
    raise SystemExit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))


_BEGINNING = re.compile(r"(\w+)(?=: | is )")


def _by_option(message: str, error: GroveError) -> str:
    """Return the message of an error as a user of the command line can understand it.

    The message of an `InputError` may begin with the name of a Python argument or of a job's parameter. If
    the failed command has an option of this name, the name is replaced by the option. ``P``, the argument for
    the outputs of a model, is replaced by the path of their file. Other messages are returned unchanged.
    """
    invoked = [
        frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code is click.Command.invoke.__code__
    ]
    found = _BEGINNING.match(message)
    if not (invoked and found and isinstance(error, InputError)):
        return message
    ctx: click.Context = invoked[-1].f_locals["ctx"]
    options = [p.opts[0] for p in ctx.command.params if isinstance(p, click.Option)]
    called = {option.strip("-").replace("-", "_"): option for option in options}
    if "outputs" in ctx.params:
        called["P"] = str(ctx.params["outputs"])
    return called.get(found[1], found[1]) + message[found.end() :]


def _not_encodable(error: UnicodeEncodeError) -> GroveError:
    """Return the error for text that cannot be encoded; it came from an argument, or was to be printed."""
    if error.encoding == "utf-8":  # from an argument, sent to a database or a socket
        return InputError(f"{error.object!r:.80} contains bytes that are not UTF-8; write it in UTF-8")
    return SettingsError(
        f"stdout: {error.object[error.start]!a} cannot be written in {error.encoding}, the encoding of "
        "stdout here; set PYTHONIOENCODING=utf-8, or use a UTF-8 locale"
    )


def _not_writable(stream: TextIO, error: OSError) -> GroveError:
    """Return the error for a stream that cannot be written."""
    from labelgrove.ontology.store.disk_faults import disk_advice

    _forget(stream)
    name = "stdout" if stream is sys.stdout else "stderr"
    advice = disk_advice(error, "the output", f"the target of {name}", otherwise="send the output elsewhere")
    return ServiceError(f"{name}: cannot be written ({error.strerror}); {advice}")


def _forget(stream: TextIO) -> None:
    """Make a stream drop its buffered output, because writing it at exit would fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(labelgrove.__version__, prog_name="grove")
@click.pass_context
def grove(ctx: click.Context) -> None:
    """Let a classifier that knows K classes answer with any of N related labels.

    \b
    grove quickstart                              see every step on real input
    grove ingest wordnet /usr/share/wordnet       read a hierarchy
    grove bundle build wordnet animals --observed my-classes.txt
    grove score wordnet/animals probabilities.npy --columns my-classes.txt

    The commands `labels`, `cypher`, `ontology export` and those on distances, loci and selections accept
    NAME@VERSION in place of the name of an ontology; VERSION is the beginning of the digest of a version.
    Settings come from GROVE_* variables or a .env file; `grove doctor` shows them.
    Exit codes: 0 ok, 1 failure, 2 usage, 3 defects found, 4 not found, 5 service unreachable, 130 stopped
    by Ctrl-C.
    """
    from labelgrove.cli.options.workspace import read_env_file
    from labelgrove.ontology.settings import check_variables

    read_env_file()
    if ctx.invoked_subcommand not in _WHATEVER_IS_SET and not ctx.meta[_ASKS_FOR_HELP]:
        check_variables(os.environ)
