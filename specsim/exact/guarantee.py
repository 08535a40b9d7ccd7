"""The guarantee of a rule: is it lossless? Computed from its exact law, never declared.

A step rule is summed over every tuple of drafts, in rationals, for every pair of laws on a grid; a
chain rule over every block, a tree rule over every tree and a process over all that it can do, of
random context-dependent tables. One difference convicts, with the witness and its bias; none leaves
the theorem that is named to carry the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.base.modules import own_rule
from specsim.base.unknown import unknown
from specsim.discover import Rule
from specsim.exact.family_verdicts import chain_verdict, coupled_verdict, step_verdict, tree_verdict
from specsim.exact.verdicts import Guarantee, process_verdict, tried_counts, worst_of
from specsim.verify.coupled import coupled_rule
from specsim.verify.lookup import filling_rule, step_argument, step_rule

# Families of rules, in the order in which a name is looked for.
RULES = ("step", "chain", "tree", "coupled")


@np.errstate(under="ignore")
def guarantee(
    rule: Rule,
    *,
    num_drafts: int | None = None,
    scheme: str | None = None,
    temperature: float = 1.0,
    family: str | None = None,
    step: Rule | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
    process: Rule | None = None,
    process_params: Mapping[str, Any] | None = None,
) -> Guarantee:
    """Decide whether a rule keeps the target's law, by exact enumeration on small vocabularies.

    Parameters
    ----------
    rule : str, path or module
        Name of a step, chain, tree or coupled rule (see `algorithms`), the path of its file, or itself.
    num_drafts : int, optional
        Candidates K per position (step and coupled rules), at least 1; enumerated up to 3, which is also the most draws
        for K distinct tokens (2 of a coupled rule). By default all of 1, 2, 3 that the rule takes, one after the other;
        the reason says which.
    scheme : str, optional
        How the drafts are drawn; by default as the rule asks. For a tree rule the scheme of the tree; by default all
        of its CHILDREN, one after the other, that the step rule verifies.
    temperature : float
        0 restricts targets to one-hot laws, which is what greedy decoding makes of them.
    family : str, optional
        "step", "chain" or "tree", where rules of several have the name; by default the first that has it.
    step : str, path or module, optional
        The step rule of a tree rule that runs one, if not its own choice: "tokenwise", "lifted".
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.
    step_params : mapping, optional
        The parameters of the rule named by `step`, in the same way.
    process : str, path or module, optional
        How a text is filled ("jacobi", "any_subset", ...), if not from left to right: then the law of whole texts is
        judged, of the process with the chain rule, or with a step rule of one draft at every position.
    process_params : mapping, optional
        The process' own parameters; those that are not named take the values of its CASES, one after the other.

    Returns
    -------
    Guarantee
        lossless; bias: the largest total variation distance met, a Fraction (0 when lossless), or a float of a rule
        that says EXACT = False, where distances up to 1e-12 are rounding; cases: how many pairs of laws were
        enumerated; reason: one sentence, with the witness if there is one.

    Raises
    ------
    ValueError
        The rule is unknown, does not verify K drafts, or expects another draft scheme: then it is not lossless, and
        the error says why.

    References
    ----------
    Strong losslessness as in Leviathan et al. 2023, arXiv:2211.17192,
    appendix A.1; here checked exactly.

    Examples
    --------
    >>> guarantee("recursive", num_drafts=2).lossless
    True
    >>> print(guarantee("greedy").bias)
    2/3
    >>> guarantee("greedy", temperature=0).lossless
    True
    >>> guarantee("block", process="any_subset").lossless
    True
    """
    # Validate each argument by itself.
    if num_drafts is not None:
        num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    check.scalar(temperature, "temperature", "[0, inf)")
    if family not in (None, *RULES):
        raise unknown("family", family, RULES)
    is_greedy = temperature == 0

    # A process fills the text by a chain rule, or by a step rule of one draft.
    if process is None and process_params is not None:
        raise ValueError(f"process_params={check.shown(process_params)} are a process's: name it, by process")
    if process is not None:
        _refuse_beside_process(num_drafts, scheme, step, step_params)
        filler = discover.with_params(discover.find("process", process), process_params, "process_params")
        return process_verdict(filler, filling_rule(rule, params), is_greedy)

    # A tree rule, which may run a step rule.
    family = _family_of(rule, family)
    if family == "tree":
        if num_drafts not in (None, 1):
            raise ValueError(f"tree rule {rule!r} takes its drafts from the tree, got num_drafts={num_drafts}")
        module = discover.with_params(discover.find("tree", rule), params)
        return tree_verdict(module, scheme, is_greedy, step_argument(module, step, step_params).get("step"))
    for name, value in (("step", step), ("step_params", step_params)):
        if value is not None:
            raise ValueError(f"{family} rule {rule!r} asks for no step rule, got {name}={check.shown(value)}")
    if scheme is not None:
        discover.find("draft", scheme)

    # A coupled rule, up to two drafts.
    if family == "coupled":
        tried = tried_counts(discover.find("coupled", rule), num_drafts, (1, 2))
        module = discover.with_params(coupled_rule(rule, tried[0]), params)
        its_scheme = discover.facts(module).own[0]
        if scheme not in (None, its_scheme):
            raise ValueError(f"coupled rule {rule!r} drafts by {its_scheme!r}, not {scheme!r}")
        return worst_of({min(k, 2): coupled_verdict(module, min(k, 2), is_greedy) for k in tried})

    # A chain rule, of single drafts.
    if family == "chain":
        if num_drafts not in (None, 1):
            raise ValueError(f"chain rule {rule!r} verifies one draft per position, got num_drafts={num_drafts}")
        if scheme not in (None, "iid"):
            raise ValueError(f"chain rule {rule!r} verifies single drafts drawn from q, not {scheme!r}: not lossless")
        return chain_verdict(discover.with_params(discover.find("chain", rule), params), is_greedy)

    # A step rule, up to three drafts.
    tried = tried_counts(discover.find("step", rule), num_drafts, (1, 2, 3))
    module = discover.with_params(step_rule(rule, tried[0], scheme), params)
    counts = [min(k, 3) for k in tried]
    return worst_of({k: step_verdict(module, k, is_greedy, scheme == "distinct") for k in counts})


def _refuse_beside_process(
    num_drafts: int | None, scheme: str | None, step: Rule | None, step_params: Mapping[str, Any] | None
) -> None:
    """Raise ValueError for an argument that does not go with `process`.

    A process verifies by a chain rule, or by a step rule of one draft: num_drafts may be 1 and
    nothing else, and there is neither a scheme nor a step rule to choose.
    """
    several_drafts = num_drafts if num_drafts != 1 else None
    refused = {
        "num_drafts": several_drafts,
        "scheme": scheme,
        "step": step,
        "step_params": step_params,
    }
    for name, value in refused.items():
        if value:
            raise ValueError(f"{name} is no argument where a process fills the text, which takes a chain rule")


def _family_of(rule: Rule, family: str | None) -> str:
    """Return the family of a rule, by default the first that has its name; ValueError if none has it."""
    module = own_rule(rule)
    names = {kind: discover.names(kind) for kind in RULES if family in (None, kind)}
    if module is None:
        family = next((kind for kind, known in names.items() if rule in known), None)
    elif family is None:
        family = discover.family_of(module)
    if family is None:
        raise discover.no_such_rule(rule, list(names))
    return family


def require_lossless(
    rule: Rule,
    *,
    num_drafts: int = 1,
    temperature: float = 1.0,
    family: str | None = None,
    scheme: str | None = None,
    step: Rule | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> None:
    """Raise ValueError with the witness if `guarantee` finds the rule lossy."""
    options: dict[str, Any] = {"family": family, "step": step, "params": params, "step_params": step_params}
    verdict = guarantee(rule, num_drafts=num_drafts, scheme=scheme, temperature=temperature, **options)
    if not verdict.lossless:
        raise ValueError(f"rule {rule!r} is not lossless at temperature {temperature:g}: {verdict.reason}")
