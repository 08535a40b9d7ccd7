"""The command `specsim`: it registers one file per command, none of which imports NumPy before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

import specsim
from specsim.commands import check, claims, conform, diagnose, log, report, rules, simulate, validate
from specsim.commands.conform_options import EXAMPLES as CONFORM
from specsim.commands.diagnose_options import EXAMPLES as DIAGNOSE
from specsim.commands.options import Command, Group, examples
from specsim.commands.plan.options import EXAMPLES as PLAN
from specsim.commands.plan.start import plan
from specsim.commands.simulate_options import EXAMPLES as SIMULATE
from specsim.commands.sweep.options import EXAMPLES as SWEEP
from specsim.commands.sweep.start import sweep

HELP = """Exact theory of speculative decoding.

Ends with status 0; with 1 if a check failed or the output could not be written; with 2 and one line for bad input
(conform: 3, since its 2 says that nothing could be decided); with 130 after Ctrl-C.
"""
# Plain help: what is printed is what is written, brackets and all, at any width.
app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HELP,
    epilog=examples("specsim plan 0.8 --cost-ratio 0.05", "specsim rules", "specsim simulate --help"),
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"specsim {specsim.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


# The short help is what `specsim --help` lists: within 80 columns, where typer would cut it off.
app.command(cls=Command, epilog=rules.EXAMPLES, short_help="Print the table of shipped rules.")(rules.rules)
app.command(cls=Command, epilog=check.EXAMPLES, short_help="Run every conformance check on a rule.")(check.check)
app.command(cls=conform.ConformCommand, epilog=CONFORM, short_help="Is somebody's verifier lossless?")(conform.conform)
app.command(cls=Command, epilog=PLAN, short_help="Will speculation help, with how many drafts?")(plan)
app.command(cls=Command, epilog=log.EXAMPLES, short_help="What does an engine's log say of acceptance?")(log.log)
app.command(cls=Command, epilog=DIAGNOSE, short_help="It is on and slower: why?")(diagnose.diagnose)
app.command(cls=Command, epilog=validate.EXAMPLES, short_help="Score the predictor on published speedups.")(
    validate.validate
)
app.command(cls=Command, epilog=claims.EXAMPLES, short_help="Which published claims hold?")(claims.claims)
app.command(cls=Command, epilog=SIMULATE, short_help="Decode with a rule on toy models.")(simulate.simulate)
app.command(cls=Command, epilog=report.EXAMPLES, short_help="Draw records as one page that works offline.")(
    report.report
)
app.command(cls=Command, epilog=SWEEP, short_help="Run a study over a grid, on many workers.")(sweep)
