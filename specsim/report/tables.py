"""Tables that the code generates; a test compares the README's with these."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from specsim import trees
from specsim.bounds.optimum import optimal_acceptance
from specsim.discover import Algorithm, facts, find, rules
from specsim.exact import coupled
from specsim.exact.chain import expected_tokens
from specsim.exact.guarantee import guarantee
from specsim.exact.process_law import fill
from specsim.exact.step import acceptance_rate, output_law
from specsim.exact.tree import expected_kept
from specsim.laws.make import total_variation
from specsim.verify.coupled import acceptance
from specsim.verify.lookup import lossy_rules, rules_apart, takes

# The fixed pair of laws for chains and trees.
P = [Fraction(n, 10) for n in (5, 3, 2)]
Q = [Fraction(n, 10) for n in (1, 3, 6)]
# Tokens of the texts that processes fill; the target's law is p rolled by the token before.
LENGTH = 4
# The rules that the README shows, one of each kind: family, name, and the drafts that it verifies
# there.
EXCERPT = (
    ("step", "rejection", "one draft"),
    ("step", "optimal", "two independent drafts for one position"),
    ("step", "typical", "one draft"),
    ("chain", "block", "two drafts in a row"),
    ("tree", "lifted", "two drafts for one position, and one after each"),
)
ABOUT_EXCERPT = """\
*Acceptance* is the probability that the next token is a draft, for one example pair of distributions over 24 tokens
(bold: the best that any lossless rule reaches with as many drafts). *Bias* is the total variation distance of the
output from the target.
`specsim rules` lists all of them, and processes that fill a text; the site's page *Rules* has theorems and papers."""
# The fixed pair of laws for step rules, over 24 tokens.
RANK = np.arange(1, 25)
WIDE_P, WIDE_Q = ((1 / rank) / (1 / rank).sum() for rank in (RANK, 7 * RANK % 25))
# Acceptances that differ by less than this are equal up to rounding.
ROUNDING = 1e-12


def rules_table() -> str:
    """Return Markdown tables of every shipped rule: verdict, theorem, paper, cost, exact numbers.

    For step rules the acceptance beside the optimum of their drafts, bold where it is reached, or
    beside the exact bias of a lossy rule; for chain and tree rules tau, by enumeration. For
    processes the passes a token.
    """
    # Step rules, a row for each scheme.
    known_rules = rules_of_laws()
    rows = [
        "| step rule | drafts | lossless | theorem | machine-checked | paper "
        "| K = 1, of the optimum | K = 2 | K = 3 | cost |",
        "| --- " * 10 + "|",
    ]
    for rule in known_rules:
        module = find("step", rule.name) if rule.family == "step" else None
        for drafts in rule.schemes if module else ():
            cells = [_accepted(rule.name, drafts, k) for k in (1, 2, 3)]
            verdict = _verdict(rule.name, "step", drafts)
            rows.append(_row(rule, drafts, verdict, [*cells, _cost(module)]))

    # Chain and tree rules.
    rows += [
        "",
        "| rule | family | drafts | lossless | theorem | machine-checked | paper "
        "| tau, gamma = 1 or 2 siblings | gamma = 2, or 2 siblings and a child each | cost |",
        "| --- " * 10 + "|",
    ]
    for rule in known_rules:
        if rule.family != "step":
            cells = [*_tau(rule.name, rule.family), _cost(find(rule.family, rule.name))]
            rows.append(_row(rule, f"{rule.family} | {rule.drafts}", _verdict(rule.name, rule.family), cells))

    # Coupled rules.
    rows += [
        "",
        "| coupled rule | drafts | lossless | theorem | machine-checked | paper "
        "| K = 1, of the optimum | K = 2 | cost |",
        "| --- " * 9 + "|",
    ]
    for name, module in rules("coupled").items():
        cells = [_hit(name, k) for k in (1, 2)]
        rows.append(_row(facts(module), facts(module).drafts, _coupled_verdict(name), [*cells, _cost(module)]))

    # Processes.
    head = "| process | lossless | theorem | paper | passes a token, tokenwise | block | cost |"
    rows += ["", head, "| --- " * 7 + "|"]
    for name, module in rules("process").items():
        process, lossless = facts(module), guarantee("tokenwise", process=name).lossless
        verdict = "yes" if lossless else "no"
        cells = [f"{_passes(name, rule):.3f}" for rule in ("tokenwise", "block")]
        row = [f"`{name}`", verdict, process.theorem, process.paper, *cells, _cost(module)]
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows) + f"\n\n{lossy_table()}"


def rules_of_laws() -> list[Algorithm]:
    """Return the step, chain and tree rules, which verify drafts by the laws of both models."""
    return [facts(module) for family in ("step", "chain", "tree") for module in rules(family).values()]


def lossy_table() -> str:
    """Return a Markdown table of lossy rules: the exact bias of a text, and passes a token."""
    rows = ["| lossy rule | process | bias of a text | passes a token |", "| --- " * 4 + "|"]
    for name in lossy_rules():
        for process in rules("process"):
            law = fill(_rolled, process, length=LENGTH, rule=name, lossy=name, draft=Q)
            passes = float(law.passes / LENGTH)
            rows.append(f"| `{name}` | `{process}` | {float(law.bias):.3f} | {passes:.3f} |")
    return "\n".join(rows)


def _hit(name: str, num_drafts: int) -> str:
    """Return the acceptance of a coupled rule beside the optimum, on the step rules' pair."""
    rule = facts(find("coupled", name))
    if rule.counts and num_drafts not in rule.counts:
        return "-"
    best = optimal_acceptance(WIDE_P, WIDE_Q, num_drafts=num_drafts, scheme=rule.own[0])
    return f"{float(acceptance(name, WIDE_P, WIDE_Q, num_drafts)):.3f} of {float(best):.3f}"


def _coupled_verdict(name: str) -> str:
    """Return whether a coupled rule is lossless, "yes" or "no", on the chains' pair.

    Its sampler runs on symbols.
    """
    module = find("coupled", name)
    return "yes" if coupled.lossless(module, np.array(P), np.array(Q), 1) else "no"


def _rolled(text: tuple[int, ...]) -> Any:
    """Return the target's law after a text: p rolled by the text's last token."""
    return np.roll(np.array(P), text[-1] if text else 0)


def _passes(process: str, rule: str) -> float:
    """Return the expected passes of the target for a token."""
    return float(fill(_rolled, process, length=LENGTH, rule=rule, draft=Q).passes / LENGTH)


def rules_rows() -> list[list[str]]:
    """Return the rules and processes in short: head, then a row for each and its family."""
    rows = [["rule", "family", "drafts", "lossless", "paper", "machine-checked", "same as"]]
    for rule in rules_of_laws():
        scheme = rule.drafts.partition(", ")[0] if rule.family == "step" else None
        verdict = _verdict(rule.name, rule.family, scheme).partition(";")[0]
        proved = ", ".join(rule.proved) or "no"
        rows.append([rule.name, rule.family, rule.drafts, verdict, rule.paper, proved, rule.same_as or ""])
    for name, module in rules("coupled").items():
        rows.append([name, "coupled", facts(module).drafts, _coupled_verdict(name), facts(module).paper, "no", ""])
    for module in rules_apart():
        rule = facts(module)
        verdict = "yes" if guarantee(module).lossless else "no"
        rows.append([rule.name, rule.family, rule.drafts, verdict, rule.paper, "no", ""])
    for name, module in rules("process").items():
        verdict = "yes" if guarantee("tokenwise", process=name).lossless else "no"
        rows.append([name, "process", "its own", verdict, facts(module).paper, "no", ""])
    return rows


def rules_excerpt() -> str:
    """Return Markdown on five rules, one of each kind, each with one exact number."""
    # The words above the table.
    count = sum(len(rules(family)) for family in ("step", "chain", "tree", "coupled")) + len(rules_apart())
    lines = [
        f"Five of the {count} verification rules. The column *lossless* is computed, not declared.",
        "",
        "| rule | what it verifies | lossless | exact number |",
        "| --- " * 4 + "|",
    ]

    # A row for each rule: acceptance of step rules, tau of others.
    for family, name, drafts in EXCERPT:
        module = find(family, name)
        if family == "step":
            num_drafts = 2 if takes(module, 2) else 1
            number = f"acceptance {_accepted(name, facts(module).schemes[0], num_drafts)}"
        else:
            number = f"{_tau(name, family)[1].partition(' ')[0]} tokens per target call"
        verdict = _verdict(name, family).partition(";")[0].replace("at temperature", "only at temperature")
        lines.append(f"| `{name}` | {drafts} | {verdict} | {number} |")
    lines += ["", ABOUT_EXCERPT]
    return "\n".join(lines)


def _row(rule: Algorithm, drafts: str, verdict: str, cells: list[str]) -> str:
    """Return the Markdown row of a rule; `cells` stand behind its facts."""
    proved = ", ".join(rule.proved) or "no"
    name = f"`{rule.name}`" + (f", the same as `{rule.same_as}`" if rule.same_as else "")
    return f"| {name} | {drafts} | {verdict} | {rule.theorem} | {proved} | {rule.paper} | {' | '.join(cells)} |"


def _verdict(rule: str, family: str, scheme: str | None = None) -> str:
    """Return whether a rule is lossless, in words, by enumeration."""
    # More drafts take seconds a rule.
    options: dict[str, Any] = {"family": family, "scheme": scheme, "num_drafts": 1}
    if guarantee(rule, **options).lossless:
        return "yes"
    if guarantee(rule, **options, temperature=0).lossless:
        return "at temperature 0; otherwise biased, as the acceptance says"
    return "no"


def _accepted(name: str, scheme: str, num_drafts: int) -> str:
    """Return the acceptance of a step rule, beside its bias or the optimum.

    It is "" where the rule does not take as many drafts.
    """
    rule = find("step", name)
    if not takes(rule, num_drafts):
        return ""
    rate = acceptance_rate(WIDE_P, WIDE_Q, rule=name, num_drafts=num_drafts, scheme=scheme)
    # A lossy rule is not compared with the optimum of lossless rules.
    if facts(rule).bias:
        law = output_law(WIDE_P, WIDE_Q, rule=name, num_drafts=num_drafts, scheme=scheme)
        return f"{float(rate):.3f}, bias {float(total_variation(law, WIDE_P)):.3f}"
    best = optimal_acceptance(WIDE_P, WIDE_Q, num_drafts=num_drafts, scheme=scheme)
    return f"**{rate:.3f}**" if abs(rate - best) < ROUNDING else f"{rate:.3f} of {best:.3f}"


def _tau(name: str, family: str) -> list[str]:
    """Return tau of a chain rule or tree rule, in words, at two lengths or shapes."""
    if family == "chain":
        return [f"{float(expected_tokens(P, Q, gamma=gamma, rule=name)):.3f}" for gamma in (1, 2)]
    scheme = facts(find(family, name)).schemes[0]
    shapes = [trees.paths(2, n) if scheme == "paths" else trees.k_ary((2, 1)[:n]) for n in (1, 2)]
    accepted = [expected_kept(P, Q, rule=name, parents=shape, scheme=scheme) for shape in shapes]
    return [f"{1 + float(n):.3f} ({scheme})" for n in accepted]


def _cost(module: Any) -> str:
    """Return the paragraph on the cost in a module's docstring, without the point at its end."""
    text = (module.__doc__ or "").partition("\nCost.")[2]
    return " ".join(re.split(r"\n\S", text)[0].split()).rstrip(".")
