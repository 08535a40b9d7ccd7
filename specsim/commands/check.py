"""`specsim check`: every conformance check on one rule."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import PARAM, examples, takes

EXAMPLES = examples("specsim check rejection", "specsim check my_rule.py", "specsim check block --family chain")


class Check(NamedTuple):
    """What `specsim check` is told."""

    rule: Annotated[str, typer.Argument(help="Name of a shipped rule, or the path of a rule file.")]
    family: Annotated[str, typer.Option(help="step, chain, tree or draft.")] = "step"
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Check)
def check(told: Check) -> None:
    """Run every conformance check on a rule; status 1 if one fails. What is skipped says why."""
    from specsim import discover
    from specsim.testing.findings import findings

    module = discover.own_rule(told.rule) or discover.find(told.family, told.rule)
    module = discover.with_params(module, discover.parsed_params(module, told.param or []))
    done = []
    for finding in findings(module, told.family):  # each is shown as it ends: some checks take a minute
        done.append(finding)
        if not told.as_json:
            typer.echo(f"{finding.outcome}  {finding.check}  {finding.detail}".rstrip())
    if told.as_json:
        typer.echo(json.dumps([finding._asdict() for finding in done], indent=1))
    if any(finding.failed for finding in done):
        raise typer.Exit(1)
