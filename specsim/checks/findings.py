"""Run every check of a family on a rule, and say which failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from specsim import discover
from specsim.base.unknown import unknown
from specsim.base.values import shown
from specsim.checks.chain import CHAIN_CHECKS
from specsim.checks.control import CONTROL_CHECKS
from specsim.checks.coupled import COUPLED_CHECKS
from specsim.checks.draft import DRAFT_CHECKS
from specsim.checks.objective import OBJECTIVE_CHECKS
from specsim.checks.outcomes import Check, Finding, find
from specsim.checks.process import PROCESS_CHECKS
from specsim.checks.step import STEP_CHECKS
from specsim.checks.tree import TREE_CHECKS
from specsim.discover import Rule
from specsim.exact.family_verdicts import try_siblings, verified_schemes
from specsim.exact.small_laws import REPEATING
from specsim.verify.lookup import step_argument

# Name -> check.
Checks = Mapping[str, Check]
_FAMILIES: dict[str, Checks] = {
    "step": STEP_CHECKS,
    "chain": CHAIN_CHECKS,
    "tree": TREE_CHECKS,
    "coupled": COUPLED_CHECKS,
    "draft": DRAFT_CHECKS,
    "process": PROCESS_CHECKS,
    "control": CONTROL_CHECKS,
    "objective": OBJECTIVE_CHECKS,
}


# What the checks of each family try: in exact arithmetic, and beyond that in floats.
_REACH = {
    "chain": ("V=2 with gamma to 8, V=3 with gamma to 4, V=24 with gamma 1", ""),
    "tree": ("V=2 and 3 with trees of 4 nodes and 3 levels, V=5 and 6 with 3 and 4 siblings, V=24 with 1 draft", ""),
    "coupled": ("races of 6 numbers, V=2 and 3", ""),
    "draft": ("V=2 and 3 with 1 to 3 drafts", ""),
    "process": ("4 places of 2 tokens", ""),
    "control": ("texts of 4 tokens", ""),
    "objective": ("batches of 2 rows", ""),
}


# What the checks of step rules try, by the number of drafts, in exact arithmetic; and in floats.
_OF_STEPS = {1: "V to 4 and V=24", 2: "V to 4", 3: "V to 5", 4: "V=6", 5: "V=3"}
_OF_STEPS_IN_FLOATS = {1: "V=300", 2: "V=40"}
# Only drafts that may repeat each other are tried in so many: there is a pair of laws for them.
_REPEATED = 5


def _of_steps(rule: ModuleType) -> tuple[str, str]:
    """Return what is tried of a step rule exactly, and in floats: with the numbers of drafts that it takes."""
    counts, repeats = discover.facts(rule).counts, discover.drafts_of(rule) in REPEATING
    words = []
    for tried in (_OF_STEPS, _OF_STEPS_IN_FLOATS):
        taken = [k for k in tried if (counts is None or k in counts) and (repeats or k != _REPEATED)]
        words.append(", ".join(f"{tried[k]} with {k} draft{'s' * (k > 1)}" for k in taken))
    return words[0], words[1]


def reach(module: ModuleType, family: str) -> str:
    """Return what the checks of a family try on a rule, in words.

    >>> from specsim.verify.chain import block
    >>> reach(block, "chain")
    'exactly V=2 with gamma to 8, V=3 with gamma to 4, V=24 with gamma 1; nothing larger'
    """
    exactly, in_floats = _of_steps(module) if family == "step" else _REACH[family]
    if family in ("step", "chain", "tree", "coupled") and not discover.facts(module).exact:
        return f"in floats {', '.join(filter(None, (exactly, in_floats)))}; nothing larger"
    return "; ".join([f"exactly {exactly}", *([f"in floats {in_floats}"] if in_floats else []), "nothing larger"])


def family_checks(family: str) -> Checks:
    """Return the checks of a family by name.

    Parameters
    ----------
    family : str
        "step", "chain", "tree", "coupled", "draft", "process", "control" or "objective".

    Returns
    -------
    mapping
        Name -> function that takes a module and raises AssertionError, or Skipped where it has nothing to say.

    Raises
    ------
    ValueError
        The family is unknown.

    References
    ----------
    proofs/README.md states what each establishes.

    Examples
    --------
    >>> list(family_checks("draft"))[:2]
    ['contract', 'draws_follow_probability']
    """
    if family not in _FAMILIES:
        raise unknown("family", family, _FAMILIES)
    return _FAMILIES[family]


def check_rule(
    module: ModuleType,
    family: str,
    *,
    step: Rule | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """Run every check of a family on a module; after a broken contract, no other.

    `reach` says on how many tokens and drafts that is; a rule that is wrong only beyond passes.

    Parameters
    ----------
    module : module
        A rule, or a module of another family (see specsim.types).
    family : str
        "step", "chain", "tree", "coupled", "draft", "process", "control" or "objective".
    step : str, path or module, optional
        The step rule of a tree rule that runs one, if not its own choice; lossless.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.
    step_params : mapping, optional
        The parameters of the rule named by `step`, in the same way.

    Returns
    -------
    list of Finding
        One per check: "pass", "FAIL" or "skipped" with its reason. An exception inside a check is a failure too.

    Raises
    ------
    ValueError
        The family is unknown; there is a step rule, and the rule asks for none, or the step rule is lossy.

    References
    ----------
    proofs/README.md states what each check establishes.

    Examples
    --------
    >>> from specsim.verify.step import rejection
    >>> any(finding.failed for finding in check_rule(rejection, "step"))
    False
    """
    return list(findings(with_step(discover.with_params(module, params), family, step, step_params), family))


def with_step(rule: ModuleType, family: str, step: Rule | None, params: Mapping[str, Any] | None = None) -> ModuleType:
    """Return a tree rule with its step rule settled; the facts that it states hold for any lossless step rule."""
    # Other families have no step rule.
    if family != "tree":
        for name, value in (("step", step), ("step_params", params)):
            if value is not None:
                raise ValueError(
                    f"{family} rule {discover.name_of(rule)!r} asks for no step rule, got {name}={shown(value)}"
                )
        return rule
    options = step_argument(rule, step, params)
    if not options:
        return rule

    # A lossless step rule, and the schemes that the two verify; an error says why there is none.
    chosen = discover.find("step", options["step"])
    if discover.facts(chosen).bias:
        name = discover.name_of(chosen)
        raise ValueError(f"step {name!r} is lossy, and a tree rule states no bias to hold it to; guarantee computes it")
    schemes = verified_schemes(rule, options)
    try_siblings(rule, schemes[0], options)

    # Of one draft a step rule need not be rejection: there is no chain rule that it is on a path.
    settled = ModuleType(rule.__name__, rule.__doc__)
    vars(settled).update(
        vars(rule),
        prepare=partial(rule.prepare, **options),
        uniforms=partial(rule.uniforms, **options),
        CHILDREN=tuple(schemes),
        STEPS=dict.fromkeys(schemes, chosen),
        CHAIN=None,
        EXACT=rule.EXACT and chosen.EXACT,
    )
    return settled


def findings(module: ModuleType, family: str) -> Iterator[Finding]:
    """Yield the findings of `check_rule`, each as soon as its check is done: some take a minute."""
    for name, check in family_checks(family).items():
        finding = find(name, check, module)
        yield finding
        # Without its names every other check would only raise AttributeError.
        if name == "contract" and finding.failed:
            return
