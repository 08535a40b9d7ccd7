"""`specsim check`: every conformance check on one rule."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import PARAM, examples, takes

EXAMPLES = examples("specsim check rejection", "specsim check my_rule.py", "specsim check tokenwise --family tree")


class Check(NamedTuple):
    """What `specsim check` is told."""

    rule: Annotated[str, typer.Argument(help="Name of a shipped rule, or the path of a rule file.")]
    family: Annotated[
        str | None, typer.Option(help="step, chain, tree or draft; by default what the rule is.", show_default=False)
    ] = None
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Check)
def check(told: Check) -> None:
    """Run every conformance check on a rule; status 1 if one fails. What is skipped says why."""
    from specsim import discover
    from specsim.testing.findings import findings

    own = discover.own_rule(told.rule)
    family = told.family or (discover.family_of(own) if own else _family(told.rule))
    module = own or discover.find(family, told.rule)
    module = discover.with_params(module, discover.parsed_params(module, told.param or []))
    done = []
    for finding in findings(module, family):  # each is shown as it ends: some checks take a minute
        done.append(finding)
        if not told.as_json:
            typer.echo(f"{finding.outcome}  {finding.check}  {finding.detail}".rstrip())
    count = {outcome: sum(one.outcome == outcome for one in done) for outcome in ("pass", "FAIL", "skipped")}
    if told.as_json:
        typer.echo(json.dumps([finding._asdict() for finding in done], indent=1))
    else:
        verdict = "this rule differs from what it states" if count["FAIL"] else "no difference found"
        typer.echo(f"{count['pass']} passed, {count['FAIL']} failed, {count['skipped']} skipped: {verdict}")
    if count["FAIL"]:
        raise typer.Exit(1)


def _family(name: str) -> str:
    """The family of a shipped rule, or else of a draft scheme; ValueError where two have the name, or none."""
    from specsim import discover

    known = {family: discover.names(family) for family in ("step", "chain", "tree")}
    found = [family for family, names in known.items() if name in names]
    if len(found) > 1:
        words = " and a ".join(f"{family} rule" for family in found)
        raise ValueError(f"{name!r} is a {words}: say which, by {' or '.join(f'--family {f}' for f in found)}")
    if found:
        return found[0]
    if name in discover.names("draft"):
        return "draft"
    lists = "; ".join(f"{family} rules: {', '.join(names)}" for family, names in known.items())
    raise ValueError(f"rule {name!r} is unknown; {lists}; draft schemes: {', '.join(discover.names('draft'))}")
