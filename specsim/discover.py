"""The folder is the registry: rules, and modules of the other families, are found by listing their package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from specsim.base.modules import own_rule
from specsim.base.unknown import unknown

FAMILIES = {
    "step": "specsim.verify.step", "chain": "specsim.verify.chain", "tree": "specsim.verify.tree",
    "coupled": "specsim.verify.coupled", "draft": "specsim.draft", "process": "specsim.process",
    "control": "specsim.control", "objective": "specsim.objective",
}  # fmt: skip
CALLED = {"draft": "scheme", "process": "process", "control": "controller", "objective": "objective"}  # others: rules
# What a whole family takes: none of it is a parameter of one module's own.
NO_PARAMETERS = ("p", "q", "num_drafts", "tree", "step", "draws", "length", "batch", "log_q", "tokens")
# The name by which a module of a family is known; a chain rule has none of them. A process also has `start`.
KNOWN_BY = {
    "CHILDREN": "tree", "propose": "coupled", "DRAFTS": "step", "draw": "draft", "ask": "process", "more": "control",
    "loss": "objective",
}  # fmt: skip
TAKEN_BY = {"num_drafts": "step", "tree": "tree"}  # parameters of `prepare`
OPTIONAL = ("acceptance", "bias", "survival", "continuation", "left_over", "scales")  # functions asked for
TAKES = {"process": "start", "control": "start", "objective": "loss"}  # others: `prepare`
Rule = str | Path | ModuleType  # a rule's name, the path of its file, or itself


def names(family: str) -> list[str]:
    """Names of the modules in a family's folder, sorted."""
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    package = importlib.import_module(FAMILIES[family])
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def called(family: str, many: bool = False) -> str:
    """What a module of a family is called.

    >>> called("draft"), called("chain", many=True), called("process", many=True), called("control", many=True)
    ('scheme', 'chain rules', 'processes', 'controllers')
    """
    one = CALLED.get(family, "rule")
    irregular = {"process": "processes", "control": "controllers", "objective": "objectives"}
    return irregular.get(family, f"{family} {one}s") if many else one


def kind(family: str) -> str:
    """The same, with the family's name where that says more.

    >>> kind("step"), kind("draft"), kind("objective")
    ('step rule', 'draft rule', 'objective')
    """
    return CALLED[family] if family in ("process", "control", "objective") else f"{family} rule"


def find(family: str, name: Rule) -> ModuleType:
    """The module of one rule or scheme; ValueError listing the known names if there is none.

    A module, or the path of a file that ends in .py, is one's own rule.
    """
    if (module := own_rule(name)) is not None:
        if family_of(module) == family:
            return module
        found, wanted = ((f"an {w}" if w[0] == "o" else f"a {w}") for w in map(kind, (family_of(module), family)))
        raise ValueError(f"rule {name_of(module)!r} is {found}, not {wanted}")
    loaded = sys.modules.get(f"{FAMILIES.get(family)}.{name}")  # listing a folder takes as long as some sorts
    if loaded is not None and not str(name).startswith("_"):
        return loaded
    if name not in (known := names(family)):
        raise unknown(called(family), name, known, called(family, many=True))
    return importlib.import_module(f"{FAMILIES[family]}.{name}")


def rules(family: str) -> dict[str, ModuleType]:
    """Every module of a family by name."""
    return {name: find(family, name) for name in names(family)}


class Algorithm(NamedTuple):
    """The facts of one rule, read once from its file: whoever wants to know what a rule is or has asks this record.

    `parameters` is what `prepare` takes beyond laws and drafts; flags say which optional names of specsim.types it has.

    >>> facts(find("step", "rejection")).counts, facts(find("step", "typical")).bias
    ((1,), True)
    """

    name: str
    family: str  # "step", "chain", "tree"
    drafts: str  # the draft schemes, in words
    theorem: str  # a note in proofs/, or "open"
    paper: str
    summary: str  # the first line of the docstring
    proved: dict[str, str]  # what a machine has checked: "lossless", "acceptance" -> its Coq theorem
    schemes: tuple[str, ...] = ("iid",)  # how drafts that it verifies may be drawn: its own choice first
    own: tuple[str, ...] = ("iid",)  # those of DRAFTS or CHILDREN, without what it says ALSO
    counts: tuple[int, ...] | None = None  # numbers of drafts that it verifies; None: any
    exact: bool = True  # it runs on Fractions
    acceptance: bool = False  # it states its acceptance, which otherwise is counted
    bias: bool = False  # it is lossy, and says by how much
    survival: bool = False  # the target goes on as it is after a block
    continuation: bool = False  # the target is another one for some tokens after a block
    left_over: bool = False  # `keeps` and `left_over` say what `verify` does
    scales: bool = False  # `scales` says it
    one_file: bool = False  # ... and all of these were written together, none was put in another's place
    by_id: bool = False  # which tokens they are matters to it, as neighbours do, beyond their probabilities
    same_as: str | None = None  # the rule of its family that makes the same decisions
    chain: str | None = None  # the chain rule that a tree rule is on one path
    steps: Mapping[str, Rule] = MappingProxyType({})  # scheme -> the step rule that a tree rule is on one level
    parameters: Mapping[str, inspect.Parameter] = MappingProxyType({})


def facts(rule: ModuleType) -> Algorithm:
    """Everything that is known of a rule without running it; no other file asks a rule what it has."""
    family = family_of(rule)
    own = tuple(_get(rule, "CHILDREN", ())) if family == "tree" else (drafts_of(rule),)
    counts = _get(rule, "COUNTS", None)
    if counts is None and family in ("step", "coupled"):
        counts = _counts_of(own[0])
    has = {name: callable(_get(rule, name, None)) for name in OPTIONAL}
    says = ("scales", "continuation")[: 1 + has["continuation"]] if has["scales"] else ("keeps", "left_over")
    together = [_get(rule, name, None) for name in ("prepare", "verify", *says)]
    return Algorithm(
        name_of(rule),
        family,
        ", ".join(own if family != "chain" else ("iid",)),
        _get(rule, "THEOREM", "open"),
        _get(rule, "PAPER", ""),
        next(iter((rule.__doc__ or "").strip().splitlines()), ""),
        dict(_get(rule, "PROVED", {})),
        (*own, *_get(rule, "ALSO", ())),
        own,
        counts,
        _get(rule, "EXACT", True),
        **has,
        one_file=None not in together and len({_get(function, "__module__", None) for function in together}) == 1,
        by_id=_get(rule, "BY_ID", False),
        same_as=_get(rule, "SAME_AS", None),
        chain=_get(rule, "CHAIN", None),
        steps=dict(_get(rule, "STEPS", {})),
        parameters=parameters(rule),
    )


class DraftFacts(NamedTuple):
    """The facts of a draft scheme: the numbers of drafts it can draw, and what it draws them from."""

    counts: tuple[int, ...] | None  # None: any number
    per_draft: bool  # q has a row for each candidate
    random_number: bool  # the number of drafts is drawn, too: it has `draws`


def scheme_facts(scheme: ModuleType) -> DraftFacts:
    """The same of a draft scheme."""
    has_draws = callable(_get(scheme, "draws", None))
    return DraftFacts(_get(scheme, "COUNTS", None), _get(scheme, "PER_DRAFT", False), has_draws)


def process_cases(process: ModuleType) -> tuple[Mapping[str, Any], ...]:
    """Sets of parameters with which checks and verdicts run a module that may have CASES; if it has none, its own."""
    return tuple(_get(process, "CASES", ({},)))


class ControllerFacts(NamedTuple):
    """The facts of a controller: whether it is no more than a bound, and which optional functions it has."""

    bound: bool  # it knows what is to come: what no controller is faster than, and none itself
    see: bool  # its state takes in the signals of each draft, before `more` is asked
    block: bool  # it has a drafting loop of its own


def controller_facts(controller: ModuleType) -> ControllerFacts:
    """The same of a controller."""
    has = {name: callable(_get(controller, name, None)) for name in ("see", "block")}
    return ControllerFacts(_get(controller, "BOUND", False), **has)


class ObjectiveFacts(NamedTuple):
    """The facts of an objective: whether it takes tokens, and whose."""

    sampled: bool
    tokens: str  # "draft" or "target": who draws the tokens of a sampled one


def objective_facts(objective: ModuleType) -> ObjectiveFacts:
    """The same of an objective."""
    return ObjectiveFacts(_get(objective, "SAMPLED", False), _get(objective, "TOKENS", "draft"))


def _counts_of(scheme: Any) -> tuple[int, ...] | None:
    try:
        return scheme_facts(find("draft", scheme)).counts
    except ValueError:  # no such scheme: the contract says so
        return None


def family_of(rule: ModuleType) -> str:
    """Return the family of a rule: by a name that only this family has, else by what its `prepare` takes."""
    by_name = next((family for name, family in KNOWN_BY.items() if _get(rule, name, None) is not None), None)
    if by_name is not None:
        return by_name
    prepare = _get(rule, "prepare", None)
    taken = inspect.signature(prepare).parameters if callable(prepare) else {}
    return next((family for name, family in TAKEN_BY.items() if name in taken), "chain")


def drafts_of(rule: Any) -> str:
    """Return the scheme by which the drafts of a step rule are drawn: i.i.d. where it names none."""
    return str(_get(rule, "DRAFTS", "iid"))


def is_rule(rule: Any) -> bool:
    """Whether it looks like a rule at all."""
    return callable(_get(rule, "verify", None))


def name_of(rule: Any) -> str:
    """Return a rule's name in tables and messages; `mine.py` may be imported as `mine_`."""
    return str(_get(rule, "__name__", "")).rpartition(".")[2].removesuffix("_")


def parameters(rule: ModuleType) -> dict[str, inspect.Parameter]:
    """What `prepare` takes beyond the laws and the drafts; `step` and `draws` of a tree are arguments of their own.

    Of a process or a controller: what `start` takes beyond the length and the batch; of an objective: `loss`."""
    made = _get(rule, taking_parameters(rule), None)
    return _beyond(made) if callable(made) else {}


def taking_parameters(rule: ModuleType) -> str:
    """The function that takes a module's own parameters."""
    return TAKES.get(family_of(rule), "prepare")


@lru_cache
def _beyond(prepare: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    found = inspect.signature(prepare).parameters
    return {name: found[name] for name in found if name not in NO_PARAMETERS}


def _get(module: Any, name: str, default: Any) -> Any:
    """The one place where a rule is asked for a name that it need not have."""
    return getattr(module, name, default)


def with_params(rule: ModuleType, params: Mapping[str, Any] | None, argument: str = "params") -> ModuleType:
    """The rule with some of its own parameters given, others as they are; ValueError for a name it does not have."""
    if params is None:
        return rule
    if not isinstance(params, Mapping):
        from specsim.base.values import shown  # here: a command's help loads no NumPy

        raise TypeError(f"{argument} must be a mapping from names to values, got {shown(params)}")
    known, what = parameters(rule), f"{called(family_of(rule))} {name_of(rule)!r}"
    for name in params:
        if name not in known:
            raise ValueError(f"{what} has no parameter {name!r}; known: {', '.join(known) or 'none'}")
    if not params:
        return rule
    made = taking_parameters(rule)
    both = (made, "gradient") if made == "loss" else (made,)
    own = ModuleType(rule.__name__, rule.__doc__)
    vars(own).update(vars(rule), **{name: partial(getattr(rule, name), **params) for name in both})
    if made != "prepare":
        own.CASES = tuple({**case, **params} for case in process_cases(rule))  # type: ignore[attr-defined]
    return own


def algorithms() -> list[Algorithm]:
    """List every verification rule in the installed package.

    Returns
    -------
    list of Algorithm
        name, family, drafts, theorem, paper, summary, proved, ...; the names are what `rule=` takes.

    Raises
    ------
    ImportError
        A file in a rule folder cannot be imported.

    References
    ----------
    Each record's `paper`.

    Examples
    --------
    >>> [a.name for a in algorithms() if a.family == "chain"]
    ['block', 'capped', 'greedy_block', 'tokenwise']
    """
    return [facts(module) for family in ("step", "chain", "tree") for module in rules(family).values()]
