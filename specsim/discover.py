"""Find rules, and modules of the other families, by listing their package: the folder is the registry."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from specsim.base.modules import own_rule
from specsim.base.unknown import unknown, unknown_of_kinds

FAMILIES = {
    "step": "specsim.verify.step", "chain": "specsim.verify.chain", "tree": "specsim.verify.tree",
    "coupled": "specsim.verify.coupled", "draft": "specsim.draft", "process": "specsim.process",
    "control": "specsim.control", "objective": "specsim.objective",
}  # fmt: skip
# Functions that run a rule of each family, for those who asked another function.
RUN_BY = {
    "step": "acceptance_rate and verify_step", "chain": "expected_tokens and verify_chain",
    "tree": "expected_kept and verify_tree", "coupled": "specsim.verify.coupled.acceptance and emit",
}  # fmt: skip
# Chain and tree rules that were shipped and change the target stand apart; by family.
APART = {"chain": "specsim.verify.lossy", "tree": "specsim.verify.lossy_tree"}
CALLED = {"draft": "scheme", "process": "process", "control": "controller", "objective": "objective"}  # others: rules
# Arguments that a whole family takes, which are therefore no parameters of one module.
NO_PARAMETERS = ("p", "q", "num_drafts", "tree", "step", "draws", "length", "batch", "log_q", "tokens")
# The name by which a module of a family is known; chain rules have none. Processes also have `start`.
KNOWN_BY = {
    "CHILDREN": "tree", "propose": "coupled", "DRAFTS": "step", "draw": "draft", "ask": "process", "more": "control",
    "loss": "objective",
}  # fmt: skip
TAKEN_BY = {"num_drafts": "step", "tree": "tree"}  # argument of `prepare` -> the family that has it
OPTIONAL = ("acceptance", "advance", "bias", "survival", "continuation", "left_over", "scales")  # functions
TAKES = {"process": "start", "control": "start", "objective": "loss"}  # parameters; others: `prepare`
Rule = str | Path | ModuleType  # a rule's name, the path of its file, or its module


def names(family: str) -> list[str]:
    """Names of the modules in a family's folder, sorted."""
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    return names_in(FAMILIES[family])


def names_in(package: str) -> list[str]:
    """Names of the modules of a package, sorted, without those that begin with an underscore."""
    folder = importlib.import_module(package).__path__
    return sorted(module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_"))


def called(family: str, many: bool = False) -> str:
    """Return the word for a module of a family, in the plural for `many`.

    >>> called("draft"), called("chain", many=True), called("process", many=True), called("control", many=True)
    ('scheme', 'chain rules', 'processes', 'controllers')
    """
    word = CALLED.get(family, "rule")
    plurals = {"process": "processes", "control": "controllers", "objective": "objectives"}
    return plurals.get(family, f"{family} {word}s") if many else word


def kind(family: str) -> str:
    """Return the word for a module of a family, with the family's name where it helps.

    >>> kind("step"), kind("draft"), kind("objective")
    ('step rule', 'draft rule', 'objective')
    """
    return CALLED[family] if family in ("process", "control", "objective") else f"{family} rule"


def find(family: str, name: Rule) -> ModuleType:
    """Return the module of one rule or scheme; ValueError, with the known names, if there is none.

    A module, or the path of a file that ends in .py, is the user's rule.
    """
    if (module := own_rule(name)) is not None:
        if family_of(module) == family:
            return module
        actual, wanted = ((f"an {w}" if w[0] == "o" else f"a {w}") for w in map(kind, (family_of(module), family)))
        raise ValueError(f"rule {name_of(module)!r} is {actual}, not {wanted}")
    loaded = sys.modules.get(f"{FAMILIES.get(family)}.{name}")  # listing a folder takes as long as some sorts
    if loaded is not None and not str(name).startswith("_"):
        return loaded
    if name not in names(family):
        raise no_such_rule(name, (family,))
    return importlib.import_module(f"{FAMILIES[family]}.{name}")


def no_such_rule(name: object, families: Sequence[str]) -> ValueError:
    """Return the error for a name that none of these families has: whose it is, or the names that there are."""
    wanted = " or ".join(f"a {family} rule" for family in families)
    for family, functions in RUN_BY.items() if families[0] in RUN_BY else ():
        if family not in families and name in names(family):
            return ValueError(f"rule {name!r} is a {family} rule, not {wanted}; {functions} take it")
        if family in APART and name in names_in(APART[family]):
            takes = "block_chain and simulate take" if family == "chain" else "expected_kept takes"
            what = "changes the target" if family in families else f"is a lossy {family} rule, not {wanted}"
            return ValueError(f"rule {name!r} {what}; {takes} its module, {APART[family]}.{name}")
    return unknown_of_kinds(called(families[0]), name, {called(f, many=True): names(f) for f in families})


def rules(family: str) -> dict[str, ModuleType]:
    """Return every module of a family by name."""
    return {name: find(family, name) for name in names(family)}


class Algorithm(NamedTuple):
    """The facts of one rule, read once from its file; all code that needs to know what a rule has reads this record.

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
    schemes: tuple[str, ...] = ("iid",)  # schemes of the drafts that it verifies, the preferred one first
    own: tuple[str, ...] = ("iid",)  # schemes of DRAFTS or CHILDREN, without those of ALSO
    counts: tuple[int, ...] | None = None  # numbers of drafts that it verifies; None: any
    exact: bool = True  # it runs on Fractions
    acceptance: bool = False  # it states its acceptance; otherwise that is counted
    advance: bool = False  # it states the weights of drafts
    bias: bool = False  # it is lossy, and states its bias
    survival: bool = False  # after a block the target continues unchanged
    continuation: bool = False  # for some tokens after a block the target is changed
    left_over: bool = False  # `keeps` and `left_over` do what `verify` does
    scales: bool = False  # `scales` does what `verify` does
    one_file: bool = False  # `prepare`, `verify` and the functions of these two flags come from one file
    by_id: bool = False  # it uses the ids of tokens, as for neighbours, beside their probabilities
    same_as: str | None = None  # the rule of its family that makes the same decisions
    chain: str | None = None  # the chain rule that equals a tree rule on one path
    steps: Mapping[str, Rule] = MappingProxyType({})  # scheme -> the step rule that equals a tree rule on one level
    parameters: Mapping[str, inspect.Parameter] = MappingProxyType({})  # beyond laws and drafts


def facts(rule: ModuleType) -> Algorithm:
    """Return all that is known of a rule without running it; no other file asks a rule what it has."""
    family = family_of(rule)
    schemes = tuple(_get(rule, "CHILDREN", ())) if family == "tree" else (drafts_of(rule),)
    counts = _get(rule, "COUNTS", None)
    if counts is None and family in ("step", "coupled"):
        counts = _counts_of(schemes[0])
    # Optional functions, and whether those that do what `verify` does come from its file.
    has = {name: callable(_get(rule, name, None)) for name in OPTIONAL}
    replacing = ("scales", "continuation")[: 1 + has["continuation"]] if has["scales"] else ("keeps", "left_over")
    together = [_get(rule, name, None) for name in ("prepare", "verify", *replacing)]
    files = {_get(function, "__module__", None) for function in together}
    return Algorithm(
        name_of(rule),
        family,
        ", ".join(schemes if family != "chain" else ("iid",)),
        _get(rule, "THEOREM", "open"),
        _get(rule, "PAPER", ""),
        next(iter((rule.__doc__ or "").strip().splitlines()), ""),
        dict(_get(rule, "PROVED", {})),
        (*schemes, *_get(rule, "ALSO", ())),
        schemes,
        counts,
        _get(rule, "EXACT", True),
        **has,
        one_file=None not in together and len(files) == 1,
        by_id=_get(rule, "BY_ID", False),
        same_as=_get(rule, "SAME_AS", None),
        chain=_get(rule, "CHAIN", None),
        steps=dict(_get(rule, "STEPS", {})),
        parameters=parameters(rule),
    )


class DraftFacts(NamedTuple):
    """The facts of a draft scheme: how many drafts it can draw, and from which laws."""

    counts: tuple[int, ...] | None  # None: any number
    per_draft: bool  # q has a row for each candidate
    random_number: bool  # the number of drafts is drawn, too: it has `draws`


def scheme_facts(scheme: ModuleType) -> DraftFacts:
    """Return the facts of a draft scheme."""
    has_draws = callable(_get(scheme, "draws", None))
    return DraftFacts(_get(scheme, "COUNTS", None), _get(scheme, "PER_DRAFT", False), has_draws)


def process_cases(process: ModuleType) -> tuple[Mapping[str, Any], ...]:
    """Return the sets of parameters with which checks run a module: its CASES, or one set that is empty."""
    return tuple(_get(process, "CASES", ({},)))


class ControllerFacts(NamedTuple):
    """The facts of a controller: whether it is only a bound, and which optional functions it has."""

    bound: bool  # it knows the future, so it is a bound on the speed of controllers and none itself
    see: bool  # `see` updates its state with the signals of each draft, before `more` is called
    block: bool  # `block` is its drafting loop


def controller_facts(controller: ModuleType) -> ControllerFacts:
    """Return the facts of a controller."""
    has = {name: callable(_get(controller, name, None)) for name in ("see", "block")}
    return ControllerFacts(_get(controller, "BOUND", False), **has)


class ObjectiveFacts(NamedTuple):
    """The facts of an objective: whether it takes sampled tokens, and who draws them."""

    sampled: bool
    tokens: str  # "draft" or "target": who draws the tokens of a sampled one


def objective_facts(objective: ModuleType) -> ObjectiveFacts:
    """Return the facts of an objective."""
    return ObjectiveFacts(_get(objective, "SAMPLED", False), _get(objective, "TOKENS", "draft"))


def _counts_of(scheme: Any) -> tuple[int, ...] | None:
    """Return the numbers of drafts of a scheme; None for any number, or for an unknown scheme."""
    try:
        return scheme_facts(find("draft", scheme)).counts
    except ValueError:  # the check of the contract reports an unknown scheme
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
    """Return whether an object has `verify`, as every rule has."""
    return callable(_get(rule, "verify", None))


def name_of(rule: Any) -> str:
    """Return a rule's name in tables and messages; `mine.py` may be imported as `mine_`."""
    return str(_get(rule, "__name__", "")).rpartition(".")[2].removesuffix("_")


def parameters(rule: ModuleType) -> dict[str, inspect.Parameter]:
    """Return the parameters of a module by name: of the function that takes them, without its family's arguments."""
    return _beyond(_get(rule, taking_parameters(rule), None))


def taking_parameters(rule: ModuleType) -> str:
    """Return the name of the function that takes a module's parameters."""
    return TAKES.get(family_of(rule), "prepare")


@lru_cache
def _beyond(function: Callable[..., Any] | None) -> dict[str, inspect.Parameter]:
    """Return the arguments of a function, without those that its whole family takes."""
    arguments = inspect.signature(function).parameters if callable(function) else {}
    return {name: argument for name, argument in arguments.items() if name not in NO_PARAMETERS}


def _get(module: Any, name: str, default: Any) -> Any:
    """Return a name of a module, or the default: all names that a rule need not have are read here."""
    return getattr(module, name, default)


def with_params(rule: ModuleType, params: Mapping[str, Any] | None, argument: str = "params") -> ModuleType:
    """Return a copy of a rule with new defaults for some of its parameters; ValueError for a name it does not have."""
    if params is None:
        return rule
    if not isinstance(params, Mapping):
        from specsim.base.values import shown  # here: a command's help loads no NumPy

        raise TypeError(f"{argument} must be a mapping from names to values, got {shown(params)}")
    known, what = parameters(rule), f"{called(family_of(rule))} {name_of(rule)!r}"
    for name in (name for name in params if name not in known):
        raise ValueError(f"{what} has no parameter {name!r}; known: {', '.join(known) or 'none'}")
    if not params:
        return rule
    # Bind them in a copy of the module; an objective has two functions that take them.
    taking = taking_parameters(rule)
    functions = (taking, "gradient") if taking == "loss" else (taking,)
    bound = ModuleType(rule.__name__, rule.__doc__)
    vars(bound).update(vars(rule), **{name: partial(getattr(rule, name), **params) for name in functions})
    if taking != "prepare":
        bound.CASES = tuple({**case, **params} for case in process_cases(rule))  # type: ignore[attr-defined]
    return bound
