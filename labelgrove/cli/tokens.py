"""``grove token``: create, list and revoke tokens of the HTTP service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options import completers
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.text import emit, json_option, note, to_the_minute
from labelgrove.cli.printing.texttable import table
from labelgrove.documents.times import when
from labelgrove.ontology.scopes import SCOPES, check_scopes

if TYPE_CHECKING:
    from labelgrove.ontology.sql.tokens import Token
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["token"]


@click.group()
def token() -> None:
    """Create, list and revoke tokens, with which programs and people use the HTTP service."""


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    default="read",
    show_default=True,
    metavar="SCOPE[,SCOPE]...",
    help=f"What it allows: {', '.join(SCOPES)}; none includes another.",
)
@click.option(
    "--ontology",
    "ontologies",
    multiple=True,
    shell_complete=completers.ontologies,
    help="Let it see only this ontology; repeat for more. By default it sees all.",
)
@click.option(
    "--expires",
    default="90d",
    show_default=True,
    metavar="DURATION",
    help="Hours, days or weeks after which it expires, such as 12h, 90d or 2w; or never.",
)
@json_option
@with_workspace
def create(
    workspace: Workspace, name: str, scopes: str, ontologies: tuple[str, ...], expires: str, as_json: bool
) -> None:
    """Create the token NAME and print it; it cannot be shown again.

    \b
    grove token create ci --scope read,score --ontology animals --expires 90d

    Clients send it as `Authorization: Bearer TOKEN`, and people paste it on the page /sign-in. NAME appears
    in the log of the service and in the jobs that it submits; it stands for one token forever.
    """
    from labelgrove.ontology.sql.tokens import Tokens, read_duration

    tokens = Tokens(workspace.engine)
    secret = tokens.create(
        name,
        check_scopes(scopes.split(",")),
        ontologies=ontologies or None,
        lasts_s=read_duration(expires),
    )
    described = _described(tokens.named(name))
    until = f"until {described['expires_at']}" if described["expires_at"] else "until it is revoked"
    note(f"token {name} allows {', '.join(described['scopes'])} {until}; keep it, it is not shown again:")
    emit(described | {"token": secret}, as_json, secret)


@token.command("list")
@json_option
@with_workspace
def list_(workspace: Workspace, as_json: bool) -> None:
    """List all tokens: what each allows, until when, and when it was used last."""
    from labelgrove.ontology.sql.tokens import Tokens

    described = [_described(found) for found in Tokens(workspace.engine).tokens()]
    columns = ("name", "state", "scopes", "ontologies", "created_at", "expires_at", "last_used_at")
    rows = [
        [", ".join(value) if isinstance(value, list) else value for value in (one[c] for c in columns)]
        for one in described
    ]
    times = ("created_at", "expires_at", "last_used_at")
    brief = dict.fromkeys(times, to_the_minute)
    emit(described, as_json, lambda: table(columns, rows, whole=["name", "state"], brief=brief))


@token.command()
@click.argument("name")
@json_option
@with_workspace
def revoke(workspace: Workspace, name: str, as_json: bool) -> None:
    """Revoke the token NAME: it works no longer, and sessions made from it end."""
    from labelgrove.ontology.sql.tokens import Tokens

    described = _described(Tokens(workspace.engine).revoke(name))
    emit(described, as_json, f"token {name} works no longer, and its sessions have ended")


def _described(found: Token) -> dict[str, Any]:
    state = "live" if found.live else "expired" if found.revoked_at is None else "revoked"
    return {
        "name": found.name,
        "state": state,
        "scopes": list(found.scopes),
        "ontologies": None if found.ontologies is None else list(found.ontologies),
        "created_at": when(found.created_at),
        "expires_at": when(found.expires_at),
        "last_used_at": when(found.last_used_at),
        "revoked_at": when(found.revoked_at),
    }
