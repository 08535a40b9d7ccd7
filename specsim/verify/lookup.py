"""Look-up of a verification rule by name, for each family and each use."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from specsim import discover
from specsim.base import arrays, check, limits, sparse
from specsim.base.arrays import array_namespace
from specsim.base.modules import own_rule
from specsim.discover import Rule
from specsim.draft import distinct
from specsim.types import Array, Draws, Law
from specsim.verify import lossy
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise


def step_rows(p: Any, q: Any, rule: Rule) -> tuple[Any, Any, sparse.Union | None]:
    """Rows that a step rule runs on: of two Laws their union, unless the rule goes by token ids."""
    two = isinstance(p, Law) and isinstance(q, Law)
    return sparse.rows(p, q, whole=two and discover.facts(discover.find("step", rule)).by_id)


def step_rule(name: Rule, num_drafts: int | Draws, scheme: str | None = None) -> ModuleType:
    """The step rule called `name`; ValueError if it cannot verify that many drafts, or drafts of that scheme."""
    rule = discover.find("step", name)
    name = discover.name_of(rule)
    # The scheme; an unknown one gets the list of known ones.
    if scheme is not None:
        discover.find("draft", scheme)
        if scheme not in discover.facts(rule).schemes:
            drawn = discover.drafts_of(rule)
            raise ValueError(f"rule {name!r} expects drafts drawn {drawn!r}, not {scheme!r}: not lossless")
    # The number of drafts.
    if discover.facts(rule).counts == (1,) and num_drafts != 1:
        multi = [n for n, r in discover.rules("step").items() if discover.facts(r).counts != (1,)]
        raise ValueError(
            f"rule {name!r} verifies one draft, got num_drafts={num_drafts}; multi-draft rules: {', '.join(multi)}"
        )
    if not takes(rule, num_drafts):
        allowed = " or ".join(map(str, discover.facts(rule).counts or ()))
        drawn = discover.drafts_of(rule)
        raise ValueError(f"rule {name!r} verifies {allowed} drafts drawn {drawn!r}, got num_drafts={num_drafts}")
    return rule


def takes(rule: ModuleType, num_drafts: int | Draws) -> bool:
    """True if a step rule verifies that many drafts; it, or its scheme, may list the numbers in COUNTS."""
    counts = discover.facts(rule).counts
    return counts is None or num_drafts in counts


def candidates(num_drafts: Any, scheme: str | None, q: Array) -> int | Draws:
    """The number of drafts as `prepare` takes it; for distinct drafts the law of N for each row of q."""
    if scheme == "distinct" and isinstance(num_drafts, Draws):
        return _checked(num_drafts, q)
    num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    return distinct.draws(q, num_drafts) if scheme == "distinct" else num_drafts


def _checked(draws: Draws, q: Array) -> Draws:
    """A law of N that the caller gave, moved to the library of q; ValueError unless 1 <= N <= limit."""
    limit = check.integer(draws.limit, "num_drafts.limit", 1)
    least = check.real_values(draws.least, "num_drafts.least", 1, limit)
    extra = check.real_values(draws.extra, "num_drafts.extra", 0, 1)
    # One number, or one for each row of q.
    for name, part in (("least", least), ("extra", extra)):
        if part.ndim and tuple(part.shape) != tuple(q.shape[:-1]):
            raise ValueError(f"num_drafts.{name} has shape {tuple(part.shape)}; q has rows {tuple(q.shape[:-1])}")
    if extra.ndim and (extra.dtype == object) != (q.dtype == object):
        raise TypeError("one of num_drafts.extra, q holds Fractions and the other floats; use one kind")
    # N is `least` or one more, at most `limit`.
    if check.concrete(least) and check.concrete(extra):
        for bad, why in (
            (least % 1 != 0, "it is a number of draws"),
            ((least == limit) & (extra > 0), "so is limit, and extra > 0"),
        ):
            if bool(array_namespace(bad).any(bad)):
                where, entry = check.first_bad(least, bad)
                raise ValueError(f"num_drafts.least{where} is {entry}: {why}")
    least, extra = (v if isinstance(v, distinct.PLAIN) else check.like(v, q) for v in (draws.least, draws.extra))
    return Draws(least, extra, limit)


def chain_rule(name: Rule, params: Mapping[str, Any] | None = None) -> ModuleType | Stepwise:
    """The chain rule called `name`, or a step rule of one draft at every position, with parameters.

    ValueError if a decode loop that goes on from the target cannot run it.
    """
    if _is_step(name):
        return Stepwise(discover.with_params(step_rule(name, 1), params))
    rule = discover.with_params(discover.find("chain", name), params)
    name = discover.name_of(rule)
    if discover.facts(rule).continuation:
        plain = [n for n, r in discover.rules("chain").items() if discover.facts(r).survival]
        raise ValueError(
            f"rule {name!r} changes the target for some tokens after a block, which only specsim.simulate follows; "
            f"rules that leave it as it is: {', '.join(plain)}"
        )
    return rule


def decoding_rule(name: Rule, params: Mapping[str, Any] | None = None) -> ModuleType | Stepwise | Raced:
    """The rule of a decode loop of chains: that of `chain_rule`, or a coupled rule of one draft."""
    file = own_rule(name)
    is_coupled = name in discover.names("coupled") if file is None else discover.family_of(file) == "coupled"
    if not is_coupled:
        return chain_rule(name, params)
    rule = discover.with_params(discover.find("coupled", name), params)
    counts = discover.facts(rule).counts
    if counts is not None and 1 not in counts:
        raise ValueError(f"rule {discover.name_of(rule)!r} drafts {' or '.join(map(str, counts))}, not one a position")
    return Raced(rule)


def lossy_rules() -> list[str]:
    """Names of the chain rules in `specsim.verify.lossy`, which change the target."""
    return discover.names_in(lossy.__name__)


def filling_rule(name: Rule, params: Mapping[str, Any] | None = None) -> ModuleType | Stepwise:
    """The rule of a process that fills a text: that of `chain_rule`, or one of `lossy_rules`."""
    if isinstance(name, str) and name in lossy_rules():
        return discover.with_params(importlib.import_module(f"{lossy.__name__}.{name}"), params)
    return chain_rule(name, params)


def _is_step(name: Rule) -> bool:
    """True for the name or the file of a step rule that is no chain rule."""
    file = own_rule(name)
    if file is not None:
        return discover.family_of(file) == "step"
    return name in discover.names("step") and name not in discover.names("chain")


def _in_support(q: Array, places: Array, drafts: Array) -> None:
    """ValueError for a draft that its row of q (..., n, V) excludes; drafts -1 are none."""
    if not (check.concrete(q) and check.concrete(places)):
        return
    absent = (drafts >= 0) & ~(arrays.at(q, places) > 0)
    if bool(array_namespace(drafts).any(absent)):
        where, token = check.first_bad(drafts, absent)
        raise ValueError(f"drafts{where} is token {token}, which its row of q lacks: it cannot have been drafted")


def tree_rule(name: Rule, scheme: str) -> ModuleType:
    """The tree rule called `name`; ValueError if it does not verify trees of that scheme."""
    rule = discover.find("tree", name)
    name = discover.name_of(rule)
    if scheme not in discover.facts(rule).schemes:
        others = [n for n, r in discover.rules("tree").items() if scheme in discover.facts(r).schemes]
        why = "tokens that were chosen are no draws from q" if scheme == "deterministic" else "drawn by another law"
        raise ValueError(
            f"rule {name!r} verifies trees of scheme {', '.join(rule.CHILDREN)}, not {scheme!r} ({why}: not lossless); "
            f"rules that do: {', '.join(others) or 'none'}"
        )
    return rule


def step_argument(module: ModuleType, step: Rule | None, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The argument `step` of a tree rule, with the parameters of the step rule bound.

    ValueError if the tree rule takes no step rule, or the step rule has no such parameter.
    """
    if step is None:
        if params is not None:
            raise ValueError(f"step_params={check.shown(params)} are a step rule's: name it, by step")
        return {}
    if "step" not in inspect.signature(module.prepare).parameters:
        raise ValueError(f"rule {discover.name_of(module)!r} asks for no step rule, got step={check.shown(step)}")
    rule = discover.find("step", step)
    bound = discover.with_params(rule, params, "step_params")
    return {"step": step if bound is rule else bound}


def algorithms() -> list[discover.Algorithm]:
    """List every verification rule in the installed package.

    Returns
    -------
    list of Algorithm
        name, family, drafts, theorem, paper, summary, proved, ...; the names are what `rule=` takes. Rules that were
        shipped and change the target stand last, in `specsim.verify.lossy` and `lossy_tree`: `rule=` takes their
        modules, and `fill` their names.

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
    ['block', 'capped', 'greedy_block', 'tokenwise', 'all_kept', 'fly', 'lumina', 'naive_hierarchical', 'uncapped']
    """
    by_family = [module for family in discover.RUN_BY for module in discover.rules(family).values()]
    return [discover.facts(module) for module in (*by_family, *rules_apart())]


def rules_apart() -> list[ModuleType]:
    """Return the chain and tree rules that change the target, by their folders."""
    names = [f"{folder}.{name}" for folder in discover.APART.values() for name in discover.names_in(folder)]
    return [importlib.import_module(name) for name in names]
