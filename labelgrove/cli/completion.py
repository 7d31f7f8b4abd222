"""``grove completion``: the script that a shell loads to complete words."""

from __future__ import annotations

import click

__all__ = ["completion"]

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes words in SHELL.

    It completes commands, options, and names of ontologies, bundles and jobs.

    \b
    eval "$(grove completion bash)"                                  in ~/.bashrc
    eval "$(grove completion zsh)"                                   in ~/.zshrc, after compinit
    grove completion fish > ~/.config/fish/completions/grove.fish
    """
    from click.shell_completion import get_completion_class

    from labelgrove.cli import grove

    made_for = get_completion_class(shell)
    if made_for is None:
        raise click.UsageError(f"{shell}: word completion is not available for this shell")
    click.echo(made_for(grove, {}, "grove", "_GROVE_COMPLETE").source())
