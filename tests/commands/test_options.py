"""What every command takes from its record of options, and the one line that a usage error is."""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.options import Command, alone, takes


class Small(NamedTuple):
    """Options of a command: one without a panel stands before one that has one."""

    size: Annotated[int, typer.Argument(help="Size.")]
    seed: Annotated[int, typer.Option(help="Seed.")] = 0
    rate: Annotated[float, typer.Option(help="Rate.", rich_help_panel="Load")] = 1.0
    secret: Annotated[bool, typer.Option(help="Nobody sees it.", hidden=True)] = False


@takes(Small, bad_input=7)
def small(options: Small) -> None:
    """Print the options, or refuse them."""
    if options.size > 9:
        raise ValueError("size must be 9 at most")
    print(options)


def run(program: Any, *words: str) -> tuple[int, str]:
    """Return exit status and output of a program that is called `specsim`."""
    result = CliRunner().invoke(program, list(words), prog_name="specsim")
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def tiny() -> typer.Typer:
    program = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    program.command(cls=Command)(small)
    return program


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (["log", "--nope"], 2, "no such option: --nope; `specsim log -h` lists what there is"),
        (["conform", "--qqqq"], 3, "no such option: --qqqq; `specsim conform -h` lists what there is"),
        (["--Nope"], 2, "no such option: --Nope; `specsim -h` lists what there is"),
        (["NOPE"], 2, "no such command 'NOPE'; `specsim -h` lists what there is"),
        (["plann"], 2, "no such command 'plann'; did you mean 'plan'? `specsim -h` lists what there is"),
        (
            ["plan", "--alpha", "0.8"],
            2,
            "no such option: --alpha; did you mean ALPHA alone, as in `specsim plan 0.8`? `specsim plan -h` lists what "
            "there is",
        ),
        (
            ["plan", "x"],
            2,
            "invalid value for 'ALPHA': got 'x', expected a number; `specsim plan -h` lists what there is",
        ),
        (
            ["simulate", "--seed", "1.5"],
            2,
            "invalid value for '--seed': got '1.5', expected a whole number; `specsim simulate -h` lists what there is",
        ),
    ],
)
def test_a_usage_error_is_one_line_that_names_the_program(words: list[str], status: int, line: str) -> None:
    assert run(app, *words) == (status, f"error: {line}\n")


@pytest.mark.parametrize(
    ("command", "former", "present"),
    [("log", "hazards", "out"), ("log", "length", "gamma"), ("diagnose", "length", "gamma"), ("log", "gama", "gamma")],
)
def test_a_former_name_of_an_option_leads_to_the_present_one(command: str, former: str, present: str) -> None:
    """As a name that is nearly one does."""
    said = f"no such option: --{former}; did you mean --{present}? `specsim {command} -h` lists what there is"
    assert run(app, command, "x", f"--{former}", "3") == (2, f"error: {said}\n")


def test_no_words_at_all_print_the_help() -> None:
    assert "Usage: specsim" in run(app)[1]
    assert "error" not in run(app)[1]


def test_help_lists_arguments_panels_and_the_rest_in_this_order(tiny: typer.Typer) -> None:
    status, shown = run(tiny, "--help")
    headings = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert (status, headings) == (0, ["Arguments:", "Load:", "Options:"])
    assert "--seed" in shown.partition("Options:")[2]
    assert "secret" not in shown


def test_a_body_gets_the_record_and_ends_with_the_status_of_its_command(tiny: typer.Typer) -> None:
    assert run(tiny, "3", "--rate", "0.5") == (0, f"{Small(3, rate=0.5)}\n")
    assert run(tiny, "10") == (7, "error: size must be 9 at most\n")


def test_only_two_forms_of_output_exclude_each_other() -> None:
    alone("json", True, markdown=False, csv=None)
    alone("json", False, markdown=True)
    with pytest.raises(ValueError, match="--json and --csv are both given"):
        alone("json", True, markdown=False, csv="out.csv")


def test_help_names_arguments_in_capitals_and_the_kind_of_one_value() -> None:
    assert "Usage: specsim log [OPTIONS] FILE\n" in run(app, "log", "-h")[1]
    shown = run(app, "diagnose", "-h")[1]
    assert "Usage: specsim diagnose [OPTIONS] OFF [ON]...\n" in shown
    assert "  ON <path> " in shown
    assert "--param <str> " in run(app, "check", "-h")[1]


def test_where_the_output_goes_stands_last_in_a_help() -> None:
    headings = [line for line in run(app, "sweep", "-h")[1].splitlines() if re.fullmatch(r"\w+:", line)]
    assert headings == ["Arguments:", "Options:", "Output:"]
