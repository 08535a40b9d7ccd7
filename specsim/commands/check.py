"""`specsim check`: every conformance check on one rule."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from specsim.commands.completion import complete_checked, complete_family, complete_step
from specsim.commands.json_form import json_answer
from specsim.commands.options import PARAM, STEP_PARAM, AsCsv, AsJson, AsLatex, AsMarkdown, examples, form_of, takes

EXAMPLES = examples(
    "specsim check rejection",
    "specsim check my_rule.py",
    "specsim check tokenwise --family tree --step kseq --step-param rho=3",
)


class Check(NamedTuple):
    """The options of `specsim check`."""

    rule: Annotated[
        str, typer.Argument(help="Name of a shipped rule, or the path of a rule file.", autocompletion=complete_checked)
    ]
    family: Annotated[
        str | None,
        typer.Option(
            help="Family of the rule: step, chain, tree, coupled, draft, process, control or objective. Default: the "
            "one that has it.",
            show_default=False,
            autocompletion=complete_family,
        ),
    ] = None
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None
    step: Annotated[
        str | None, typer.Option(help="Step rule of a tokenwise or lifted tree.", autocompletion=complete_step)
    ] = None
    step_param: Annotated[list[str] | None, typer.Option(help=STEP_PARAM)] = None
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


@takes(Check)
def check(options: Check) -> None:
    """Run every conformance check on a rule. Status 1 if one fails; a skipped check says why."""
    from specsim import discover
    from specsim.base.modules import own_rule
    from specsim.checks.findings import findings, reach, with_step
    from specsim.report.forms import page
    from specsim.verify.params import parsed_params, parsed_step_params

    # The rule, with its parameters and step rule.
    form = form_of(options)
    own_module = own_rule(options.rule)
    family = options.family or (discover.family_of(own_module) if own_module else _family(options.rule))
    module = own_module or discover.find(family, options.rule)
    module = discover.with_params(module, parsed_params(module, options.param or []))
    module = with_step(module, family, options.step, parsed_step_params(options.step, options.step_param or []))
    # Run the checks. Each is shown as it ends, as some take a minute.
    all_findings = []
    for finding in findings(module, family):
        all_findings.append(finding)
        if form == "text":
            typer.echo(f"{finding.outcome}  {finding.check}  {finding.detail}".rstrip())
    # The verdict.
    outcomes = [finding.outcome for finding in all_findings]
    count = {outcome: outcomes.count(outcome) for outcome in ("pass", "FAIL", "skipped")}
    if form == "json":
        fields = {"findings": [finding._asdict() for finding in all_findings], "reach": reach(module, family)}
        typer.echo(json_answer("specsim/check", fields))
    else:
        tried = f"no difference found in what was tried: {reach(module, family)}"
        verdict = "this rule differs from what it states" if count["FAIL"] else tried
        words = f"{count['pass']} passed, {count['FAIL']} failed, {count['skipped']} skipped: {verdict}"
        table = [["check", "outcome", "detail"], *map(list, all_findings)]
        typer.echo(page([words] if form == "text" else [table, "", words], form))
    if count["FAIL"]:
        raise typer.Exit(1)


def _family(name: str) -> str:
    """Return the family of a shipped rule, or else of another module; ValueError if two have the name, or none."""
    # Rules; the name may be that of two.
    from specsim import discover
    from specsim.base.unknown import unknown_of_kinds

    known = {family: discover.names(family) for family in ("step", "chain", "tree", "coupled")}
    families = [family for family, names in known.items() if name in names]
    if len(families) > 1:
        words = " and a ".join(f"{family} rule" for family in families)
        raise ValueError(f"{name!r} is a {words}: say which, by {' or '.join(f'--family {f}' for f in families)}")
    if families:
        return families[0]
    # Other modules.
    others = {family: discover.names(family) for family in ("draft", "process", "control", "objective")}
    for family, names in others.items():
        if name in names:
            return family
    kinds = {discover.called(family, many=True): names for family, names in (known | others).items()}
    raise unknown_of_kinds("rule", name, kinds)
