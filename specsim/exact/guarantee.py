"""Is a rule lossless? Computed from the rule's own exact law, never declared.

A step rule is summed over every tuple of drafts, in rationals, for every pair of laws on a grid; a chain rule over
every block, a tree rule over every tree and a process over all that it can do, of random context-dependent tables. One
difference convicts, with the witness and its bias; none leaves the theorem that is named to carry the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import arrays, check, limits
from specsim.base.modules import own_rule
from specsim.base.unknown import unknown, unknown_of_kinds
from specsim.discover import Rule
from specsim.draft import distinct
from specsim.exact import coupled
from specsim.exact.chain import strong_law, target_law
from specsim.exact.small_laws import rational_laws, rational_table
from specsim.exact.step import enumerate_step
from specsim.exact.tree import continued_law, drawn_trees, kept_law
from specsim.exact.verdicts import ROUNDING, Guarantee, on_rationals, process_verdict, tried_counts, verdict, worst_of
from specsim.trees import topology
from specsim.types import Array, Draws, TokenTree
from specsim.verify.coupled import coupled_rule
from specsim.verify.lookup import filling_rule, step_rule, step_told, tree_rule

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
    Strong losslessness as in Leviathan et al. 2023, arXiv:2211.17192, appendix A.1; here checked exactly.

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
    if num_drafts is not None:
        num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    is_more_than_one = num_drafts not in (None, 1)
    check.scalar(temperature, "temperature", "[0, inf)")
    if family not in (None, *RULES):
        raise unknown("family", family, RULES)
    if process is None and process_params is not None:
        raise ValueError(f"process_params={check.shown(process_params)} are a process's: name it, by process")
    if process is not None:
        others = {
            "num_drafts": num_drafts if is_more_than_one else None,
            "scheme": scheme,
            "step": step,
            "step_params": step_params,
        }
        for name, value in others.items():
            if value:
                raise ValueError(f"{name} is no argument where a process fills the text, which takes a chain rule")
        filler = discover.with_params(discover.find("process", process), process_params, "process_params")
        return process_verdict(filler, filling_rule(rule, params), temperature == 0)
    own = own_rule(rule)
    names = {kind: discover.names(kind) for kind in RULES if family in (None, kind)}
    if own is None:
        family = next((kind for kind, known in names.items() if rule in known), None)
    elif family is None:
        family = discover.family_of(own)
    if family is None:
        raise unknown_of_kinds("rule", rule, {f"{kind} rules": known for kind, known in names.items()})
    if family == "tree":
        if is_more_than_one:
            raise ValueError(f"tree rule {rule!r} takes its drafts from the tree, got num_drafts={num_drafts}")
        module = discover.with_params(discover.find("tree", rule), params)
        told = step_told(module, step, step_params)
        return _tree_verdict(module, scheme, temperature == 0, told.get("step"))
    for name, value in (("step", step), ("step_params", step_params)):
        if value is not None:
            raise ValueError(f"{family} rule {rule!r} asks for no step rule, got {name}={check.shown(value)}")
    if scheme is not None:
        discover.find("draft", scheme)
    if family == "coupled":
        tried = tried_counts(discover.find("coupled", rule), num_drafts, (1, 2))
        module = discover.with_params(coupled_rule(rule, tried[0]), params)
        if scheme not in (None, discover.facts(module).own[0]):
            raise ValueError(f"coupled rule {rule!r} drafts by {discover.facts(module).own[0]!r}, not {scheme!r}")
        return worst_of({min(k, 2): _coupled_verdict(module, min(k, 2), temperature == 0) for k in tried})
    if family == "chain":
        if is_more_than_one:
            raise ValueError(f"chain rule {rule!r} verifies one draft per position, got num_drafts={num_drafts}")
        if scheme not in (None, "iid"):
            raise ValueError(f"chain rule {rule!r} verifies single drafts drawn from q, not {scheme!r}: not lossless")
        return _chain_verdict(discover.with_params(discover.find("chain", rule), params), temperature == 0)
    tried = tried_counts(discover.find("step", rule), num_drafts, (1, 2, 3))
    module = discover.with_params(step_rule(rule, tried[0], scheme), params)
    counts = [min(k, 3) for k in tried]
    return worst_of({k: _step_verdict(module, k, temperature == 0, scheme == "distinct") for k in counts})


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
    """ValueError with the witness if `guarantee` finds the rule lossy."""
    told: dict[str, Any] = {"family": family, "step": step, "params": params, "step_params": step_params}
    verdict = guarantee(rule, num_drafts=num_drafts, scheme=scheme, temperature=temperature, **told)
    if not verdict.lossless:
        raise ValueError(f"rule {rule!r} is not lossless at temperature {temperature:g}: {verdict.reason}")


@lru_cache
def _step_verdict(rule: ModuleType, num_drafts: int, one_hot: bool, random_number: bool) -> Guarantee:
    cases, worst, witness = 0, Fraction(0), ""
    for vocab in (2, 3):
        q = rational_laws(vocab, 3)
        p = np.array([w for w in q if max(w) == 1]) if one_hot else q
        p, q = (w.reshape(-1, vocab) for w in np.broadcast_arrays(p[:, None], q[None]))
        if not discover.facts(rule).exact:
            p, q = p.astype(np.float64), q.astype(np.float64)
        law, _ = enumerate_step(rule, p, q, distinct.draws(q, num_drafts, limit=3) if random_number else num_drafts)
        bias = arrays.positive_part(p - law).sum(axis=-1)
        cases += len(bias)
        if bias.max() > max(worst, 0 if discover.facts(rule).exact else ROUNDING):
            k = int(np.argmax(bias))
            worst, witness = Fraction(bias[k]), f"p = {_show(p[k])}, q = {_show(q[k])} gives {_show(law[k])}"
    return verdict(rule, worst, cases, witness)


@lru_cache
def _chain_verdict(rule: ModuleType, one_hot: bool) -> Guarantee:
    rng, worst, witness, run = np.random.default_rng(0), Fraction(0), "", on_rationals(rule)
    shapes = [(vocab, gamma) for vocab in (2, 3) for gamma in (1, 2) for _ in range(5)]
    for vocab, gamma in shapes:
        target, draft = (rational_table(rng, vocab, gamma, one_hot=h) for h in (one_hot, False))
        law = strong_law(run, target, draft, gamma)[0]
        goal = target_law(target, gamma + 1)
        bias = sum((max(goal[k] - law.get(k, Fraction(0)), Fraction(0)) for k in goal), Fraction(0))
        if bias > max(worst, 0 if discover.facts(rule).exact else ROUNDING):
            worst, witness = Fraction(bias), f"a table with {vocab} tokens at gamma = {gamma}"
    return verdict(rule, worst, len(shapes), witness)


@lru_cache
def _coupled_verdict(rule: ModuleType, num_drafts: int, one_hot: bool) -> Guarantee:
    cases, worst, witness = 0, Fraction(0), ""
    for vocab, largest in ((2, 3), (3, 2)):
        laws = rational_laws(vocab, largest)
        for p, q in itertools.product([w for w in laws if not one_hot or max(w) == 1], laws):
            law = coupled.token_law(rule, p, q, num_drafts)
            bias = sum((max(own - there, Fraction(0)) for own, there in zip(p, law, strict=True)), Fraction(0))
            cases += 1
            if bias > worst:
                worst, witness = bias, f"p = {_show(p)}, q = {_show(q)} gives {_show(law)}"
    return verdict(rule, worst, cases, witness, exact=True)


@lru_cache
def _tree_verdict(rule: ModuleType, scheme: str | None, one_hot: bool, step: Rule | None) -> Guarantee:
    known = [*discover.names("draft"), *topology.SCHEMES]
    if scheme not in (None, *known):
        raise ValueError(f"scheme {scheme!r} is unknown; schemes of trees: {', '.join(known)}")
    if scheme is not None:
        tree_rule(rule, scheme)  # refuses a scheme that is none of its
    told = step_told(rule, step)
    rng, worst, witness, cases, run = np.random.default_rng(0), Fraction(0), "", 0, on_rationals(rule)
    for drawn in (verified_schemes(rule, told) if told else discover.facts(rule).own) if scheme is None else (scheme,):
        for shape, vocab, _ in itertools.product(
            _SHAPES.get(drawn, _SHAPES["iid"]), (2, 3), range(_TABLES.get(drawn, 1))
        ):
            target, draft = (rational_table(rng, vocab, 2, one_hot=h) for h in (one_hot, False))
            draws = {"draws": _one_or_two} if drawn == "distinct" else {}
            found = drawn_trees(draft.__getitem__, shape, drawn, **draws)
            law = kept_law(run, target.__getitem__, found, **told, **draws)
            texts = continued_law(law, target.__getitem__, 3)
            bias = sum((max(goal - made, Fraction(0)) for _, made, goal in texts), Fraction(0))
            cases += 1
            if bias > max(worst, 0 if discover.facts(rule).exact else ROUNDING):
                worst, witness = Fraction(bias), f"{drawn} trees of shape {shape} with {vocab} tokens"
    return verdict(rule, worst, cases, witness)


def verified_schemes(rule: ModuleType, told: Mapping[str, Any]) -> list[str]:
    """The CHILDREN of a tree rule that it verifies with such a step rule; all of them if none: one will say why."""

    def verified(scheme: str) -> bool:
        try:
            try_siblings(rule, scheme, told)
        except ValueError:
            return False
        return True

    own = discover.facts(rule).own
    return [scheme for scheme in own if verified(scheme)] or list(own)


def try_siblings(rule: ModuleType, scheme: str, told: Mapping[str, Any]) -> None:
    """Let a tree rule prepare for two siblings: ValueError says why it, or its step rule, does not verify them."""
    half, two = np.full((3, 2), 0.5), np.arange(2)
    rule.prepare(half, half, TokenTree(0 * two - 1, two, 0 * two + 1, scheme), **told)


_TABLES = {"paths": 3}  # of each shape and vocabulary; two of three random ones acquit paths that are not merged
_SHAPES: dict[str, list[tuple[int, ...]]] = {  # parents; (width, depth) of beams
    "iid": [(-1, 0), (-1, -1), (-1, -1, 0, 1)],
    "paths": [(-1, 0), (-1, -1), (-1, 0, -1, 2)],
    "beam": [(1, 2), (2, 1), (2, 2)],
    "distinct": [(-1, -1), (-1, -1, 0, 0)],
}


def _one_or_two(q: Array) -> Draws:
    """How many draws a node of a tree of scheme "distinct" has: a law that looks at q."""
    return Draws(1, q.max(axis=-1), 2)


def _show(row: Array) -> str:
    return "(" + ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row) + ")"
