"""Tables that the code generates; the README's are checked against these by a test."""

from __future__ import annotations

from fractions import Fraction

from specsim.bounds import optimal_acceptance
from specsim.discover import algorithms, find
from specsim.exact import acceptance_rate
from specsim.guarantee import guarantee
from specsim.verify import takes

P = [Fraction(n, 10) for n in (5, 3, 2)]  # the fixed pair of the table
Q = [Fraction(n, 10) for n in (1, 3, 6)]


def rules_table() -> str:
    """Markdown table of every shipped rule: verdict by enumeration, theorem, paper, exact acceptance on one pair."""
    rows = [
        "| rule | family | drafts | lossless | theorem | paper | accepted, K = 1 | K = 2 | K = 3 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for rule in algorithms():
        cells = [_accepted(rule.name, k) if rule.family == "step" else "" for k in (1, 2, 3)]
        rows.append(
            f"| `{rule.name}` | {rule.family} | {rule.drafts} | {_verdict(rule.name, rule.family)} | {rule.theorem} | "
            f"{rule.paper} | {' | '.join(cells)} |"
        )
    best = [f"{float(optimal_acceptance(P, Q, num_drafts=k)):.3f}" for k in (1, 2, 3)]
    rows.append(f"| *optimum* | step | iid | | T03 | arXiv:2502.18779 | {' | '.join(best)} |")
    return "\n".join(rows)


def _verdict(rule: str, family: str) -> str:
    if guarantee(rule, family=family).lossless:
        return "yes"
    if guarantee(rule, family=family, temperature=0).lossless:
        return "at temperature 0; otherwise its bias is exact: `bias`"
    return "no"


def _accepted(name: str, num_drafts: int) -> str:
    if not takes(find("step", name), num_drafts):
        return ""
    return f"{float(acceptance_rate(P, Q, rule=name, num_drafts=num_drafts)):.3f}"


def refresh(text: str, name: str, body: str) -> str:
    """A document with what stands between the markers `name` made anew; ValueError if they are not there."""
    head, begin, rest = text.partition(f"<!-- {name}: begin")
    opening, close, rest = rest.partition("-->\n")
    _, end, tail = rest.partition(f"<!-- {name}: end -->")
    if not (begin and close and end):
        raise ValueError(f"the markers <!-- {name}: begin --> and <!-- {name}: end --> were not found")
    return f"{head}{begin}{opening}{close}{body}\n{end}{tail}"
