"""`specsim check`: every conformance check on one rule."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import PARAM, STEP_PARAM, alone, examples, takes

EXAMPLES = examples(
    "specsim check rejection",
    "specsim check my_rule.py",
    "specsim check tokenwise --family tree --step kseq --step-param rho=3",
)


class Check(NamedTuple):
    """The options of `specsim check`."""

    rule: Annotated[str, typer.Argument(help="Name of a shipped rule, or the path of a rule file.")]
    family: Annotated[
        str | None,
        typer.Option(
            help="Family of the rule: step, chain, tree, coupled, draft, process, control or objective. Default: the "
            "one that has it.",
            show_default=False,
        ),
    ] = None
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None
    step: Annotated[str | None, typer.Option(help="Step rule of a tokenwise or lifted tree.")] = None
    step_param: Annotated[list[str] | None, typer.Option(help=STEP_PARAM)] = None
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown when all checks are done.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Check)
def check(told: Check) -> None:
    """Run every conformance check on a rule. Status 1 if one fails; a skipped check says why."""
    from specsim import discover
    from specsim.base.modules import own_rule
    from specsim.checks.findings import findings, with_step
    from specsim.report.text import markdown
    from specsim.verify.params import parsed_params, parsed_step_params

    alone("json", told.as_json, markdown=told.as_markdown)
    own = own_rule(told.rule)
    family = told.family or (discover.family_of(own) if own else _family(told.rule))
    module = own or discover.find(family, told.rule)
    module = discover.with_params(module, parsed_params(module, told.param or []))
    module = with_step(module, family, told.step, parsed_step_params(told.step, told.step_param or []))
    done = []
    for finding in findings(module, family):  # each is shown as it ends: some checks take a minute
        done.append(finding)
        if not (told.as_json or told.as_markdown):
            typer.echo(f"{finding.outcome}  {finding.check}  {finding.detail}".rstrip())
    count = {outcome: sum(one.outcome == outcome for one in done) for outcome in ("pass", "FAIL", "skipped")}
    if told.as_json:
        typer.echo(json.dumps([finding._asdict() for finding in done], indent=1))
    else:
        if told.as_markdown:
            typer.echo(markdown([["check", "outcome", "detail"], *map(list, done)]) + "\n")
        verdict = "this rule differs from what it states" if count["FAIL"] else "no difference found"
        typer.echo(f"{count['pass']} passed, {count['FAIL']} failed, {count['skipped']} skipped: {verdict}")
    if count["FAIL"]:
        raise typer.Exit(1)


def _family(name: str) -> str:
    """The family of a shipped rule, or else of another module; ValueError where two have the name, or none."""
    from specsim import discover
    from specsim.base.unknown import unknown_of_kinds

    known = {family: discover.names(family) for family in ("step", "chain", "tree", "coupled")}
    found = [family for family, names in known.items() if name in names]
    if len(found) > 1:
        words = " and a ".join(f"{family} rule" for family in found)
        raise ValueError(f"{name!r} is a {words}: say which, by {' or '.join(f'--family {f}' for f in found)}")
    if found:
        return found[0]
    others = {family: discover.names(family) for family in ("draft", "process", "control", "objective")}
    for family, names in others.items():
        if name in names:
            return family
    kinds = {discover.called(family, many=True): names for family, names in (known | others).items()}
    raise unknown_of_kinds("rule", name, kinds)
