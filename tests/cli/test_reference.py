"""The manual says what the commands say."""

import pytest

from labelgrove.cli import grove
from tests.cli.reference import JOBS_PAGE, PAGE, render, walk, with_parameters


def test_the_manual_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m tests.cli.reference"


def test_the_table_of_parameters_is_up_to_date():
    page = JOBS_PAGE.read_text(encoding="utf-8")
    assert page == with_parameters(page), "run: python -m tests.cli.reference"
    assert "| summary | `target` | yes |" in page


@pytest.mark.parametrize(("path", "command"), [pytest.param(p, c, id=" ".join(p)) for p, c in walk(grove)])
def test_every_command_says_what_it_does(path, command):
    assert command.help
    assert command.help.strip()[0].isupper()
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.name not in ("json",):
            assert parameter.help or parameter.name in (
                "limit",
                "metric",
                "format_",
                "max_rows",
                "timeout_s",
                "loglevel",
            ), (
                path,
                parameter.name,
            )
