"""The description of a decode loop's block: a rule, how its drafts are drawn, and how many uniforms that takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.base.modules import own_rule
from specsim.base.unknown import unknown_of_kinds
from specsim.discover import Rule
from specsim.draft.distinct import draws
from specsim.simulation.toys.pair import Pair, paired
from specsim.trees import drawn as trees
from specsim.trees import topology
from specsim.trees.beam import beam_sizes, beam_uniforms
from specsim.types import Array, Draws, TokenTree
from specsim.verify.lookup import step_argument, takes

# Entries of the rows of p that a batch of trees reads: 32 MiB of float64.
CELLS = 2**22


class Loop(NamedTuple):
    """A rule and the drafts that it verifies in every block, checked.

    ``depth``: most drafts that a block accepts; ``parents``: of a tree of one shape; ``beam``: width and depth of trees
    whose parents differ from text to text; ``step``: the step rule that a tree rule runs, with its parameters bound, or
    None for the tree rule's own choice.
    """

    family: str
    rule: ModuleType
    depth: int
    num_drafts: int
    scheme: str
    parents: tuple[int, ...] | None = None
    beam: tuple[int, int] | None = None
    step: Rule | None = None
    vocab: int = 0

    @property
    def scheme_module(self) -> ModuleType:
        """The module of the scheme by which a step rule's candidates are drawn."""
        return discover.find("draft", self.scheme)

    @property
    def lasting(self) -> int:
        """Number of tokens after its own whose target a block can change."""
        return max(self.depth - 1, 0) if discover.facts(self.rule).continuation else 0

    @property
    def position_uniforms(self) -> int:
        """Number of uniforms that a step rule needs at one position."""
        distinct = self.scheme == "distinct"
        return int(self.rule.uniforms(Draws(1, 0, self.scheme_module.LIMIT) if distinct else self.num_drafts))

    @property
    def uniforms(self) -> int:
        """Number of uniforms that a block needs."""
        if self.family == "chain":
            return self.depth + int(self.rule.uniforms(self.depth))
        if self.family == "step":
            return self.depth * (int(self.scheme_module.uniforms(self.num_drafts)) + self.position_uniforms) + 1
        return self.split + int(self.rule.uniforms(self.example, **self.params))

    @property
    def split(self) -> int:
        """Number of a block's uniforms that draft the tree."""
        return beam_uniforms(*self.beam, self.vocab) if self.beam else trees.uniforms(self.parents, self.scheme)

    @property
    def together(self) -> int:
        """Number of texts that fit into a batch: fewer where a tree's rows of p are many and long."""
        nodes = len(self.example.depth) + 1 if self.family == "tree" else 1
        return max(1, CELLS // (nodes * max(self.vocab, 1)))

    @property
    def example(self) -> TokenTree:
        """A tree of this shape, before any token is known."""
        if self.beam:
            sizes = beam_sizes(*self.beam, self.vocab)
            none = np.zeros((1, sum(sizes)), dtype=np.int64)
            return TokenTree(none - 1, none, np.repeat(np.arange(len(sizes)) + 1, sizes), self.scheme)
        parents = topology.shape(self.parents or ())
        return TokenTree(parents, 0 * parents, topology.depths(parents), self.scheme)

    @property
    def siblings(self) -> int:
        """Most children of a node of a tree of one shape."""
        return max((len(below) for below in topology.children(self.parents or ())), default=0)

    @property
    def params(self) -> dict[str, Any]:
        """Keyword arguments of the tree rule: its step rule, if one is chosen."""
        return {} if self.step is None else {"step": self.step}

    @property
    def draws(self) -> Callable[[Array], Draws] | None:
        """The law of the number of distinct siblings' draws, where there is more than one place for them."""
        return (lambda q: draws(q, self.num_drafts, self.siblings)) if self.scheme == "distinct" else None

    def prepare(self, p: Array, q: Array, tree: TokenTree) -> Any:
        """The tree rule's plan."""
        more = {"draws": self.draws} if self.scheme == "distinct" else {}
        return self.rule.prepare(p, q, tree, **self.params, **more)


class Setup(NamedTuple):
    """A decode loop on two models, validated: functions that take a setup do not validate it again.

    ``pair``: the laws of both models, in the numbers of the caller; ``loop``: what runs in every block; ``step``,
    ``params``, ``step_params``: the caller's arguments, for the settings of a trace.
    """

    pair: Pair
    loop: Loop
    step: Rule | None
    params: Mapping[str, Any] | None
    step_params: Mapping[str, Any] | None


def setup(
    target: Any,
    draft: Any,
    rule: Rule,
    gamma: int | None,
    parents: Sequence[int] | None,
    num_drafts: int = 1,
    scheme: str | None = None,
    step: Rule | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> Setup:
    """Return a decode loop on two models; ValueError or TypeError naming what does not fit."""
    pair = paired(target, draft)
    run = loop(rule, gamma, parents, num_drafts, scheme, step, pair.p.shape[-1], params, step_params)
    check_support(run, pair)
    return Setup(pair, run, step, params, step_params)


def loop(
    rule: Rule,
    gamma: int | None,
    parents: Sequence[int] | None,
    num_drafts: int,
    scheme: str | None,
    step: Rule | None = None,
    vocab: int = 0,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> Loop:
    """The checked description of a decode loop; ValueError or TypeError naming what does not fit."""
    # Chains or trees?
    if (gamma is None) == (parents is None):
        raise ValueError("give gamma (chains of drafts) or a tree (its nodes' parents), one of the two")
    if parents is not None and not (hasattr(parents, "__len__") and len(parents)):
        raise ValueError(
            f"parents must list those of a tree's nodes, got {check.shown(parents)}; plain decoding is gamma=0"
        )
    # Find the rule.
    num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    families = ["tree"] if parents is not None else ["chain", "step"]
    family, module = find_rule(rule, families)
    module, name = discover.with_params(module, params), discover.name_of(module)
    if family != "step" and num_drafts != 1 and (parents is None or scheme != "distinct"):
        raise ValueError(f"{family} rule {name!r} has no num_drafts, got {num_drafts}")
    # Trees, with the step rule that a tree rule may run.
    if parents is not None:
        tree_options = step_argument(module, step, step_params)
        return _tree_loop(module, name, parents, num_drafts, scheme, tree_options.get("step"), vocab)
    for argument, value in (("step", step), ("step_params", step_params)):
        if value is not None:
            raise ValueError(f"{argument}={check.shown(value)} is for tree rules; {family} rule {name!r} runs none")
    # Drafts of chain and step rules: their depth, scheme and number.
    depth = check.integer(gamma, "gamma", 0, limits.MAX_SUMMED)
    known = discover.facts(module).schemes
    scheme = known[0] if scheme is None else scheme
    if scheme not in known:
        instead = ", which draws trees: give a tree's parents, not gamma" if scheme in topology.SCHEMES else ""
        raise ValueError(f"rule {name!r} expects drafts drawn {' or '.join(known)}, not {scheme!r}{instead}")
    if family == "step" and not takes(module, num_drafts):
        drawn = discover.drafts_of(module)
        raise ValueError(f"rule {name!r} does not verify num_drafts={num_drafts} drafts drawn {drawn!r}")
    return Loop(family, module, depth, num_drafts, scheme, vocab=vocab)


def find_rule(rule: Any, families: Sequence[str]) -> tuple[str, ModuleType]:
    """Return the family and the module of a rule given by name, or as a module of its own."""
    # A module, or the path of its file.
    module = own_rule(rule)
    if module is not None or not isinstance(rule, str):
        family = "" if module is None else discover.family_of(module)
        if module is None or family not in families:
            raise TypeError(f"rule {check.shown(rule)} is no {' or '.join(families)} rule")
        return family, module
    # A name.
    known = {family: discover.names(family) for family in families}
    for family, names in known.items():
        if rule in names:
            return family, discover.find(family, rule)
    # The name of a rule of another family: say how that family is run.
    other = next((family for family in ("chain", "step", "tree") if rule in discover.names(family)), None)
    if other == "tree":
        raise ValueError(f"rule {rule!r} verifies trees: give a tree's parents, not gamma")
    if other is not None:
        raise ValueError(f"rule {rule!r} is a {other} rule: give gamma, not a tree")
    raise discover.no_such_rule(rule, families)


def _tree_loop(
    module: ModuleType,
    name: str,
    shape: Sequence[int],
    num_drafts: int,
    scheme: str | None,
    step: Rule | None,
    vocab: int,
) -> Loop:
    """The checked description of a decode loop with trees; ValueError or TypeError naming what does not fit."""
    scheme = module.CHILDREN[0] if scheme is None else scheme
    if scheme not in (known := discover.facts(module).schemes):
        if scheme not in (schemes := [*discover.names("draft"), *topology.SCHEMES]):
            raise unknown_of_kinds("scheme", scheme, {"schemes": schemes})
        raise ValueError(f"rule {name!r} verifies trees drawn {' or '.join(known)}, not {scheme!r}")
    # A beam has a width and a depth; other trees have parents.
    if scheme == "beam":
        if np.shape(shape) != (2,):
            raise ValueError(f"parents must be (width, depth) for scheme 'beam', got {check.shown(shape)}")
        width, deep = (check.integer(v, f"parents[{i}]", 1) for i, v in enumerate(shape))
        run = Loop("tree", module, deep, 1, scheme, None, (width, deep), step, vocab)
    else:
        parents = topology.shape(shape, "parents")
        # This call refuses shapes that the scheme cannot draw.
        trees.uniforms(parents, scheme)
        depth = int(topology.depths(parents).max(initial=0))
        run = Loop("tree", module, depth, num_drafts, scheme, tuple(parents.tolist()), None, step, vocab)
        if scheme == "distinct":
            _check_places(run)
    # This call refuses trees that the rule cannot verify.
    module.uniforms(run.example, **run.params)
    return run


def check_support(run: Loop, pair: Pair) -> None:
    """Raise ValueError if more different tokens are to be drawn from a law of the draft than it has."""
    wanted = run.num_drafts if run.family == "step" else run.siblings
    support = int((pair.q > 0).sum(axis=-1).min())
    if run.scheme in topology.LAST_REPEATS and wanted > support:
        how = run.scheme.replace("_", " ")
        raise ValueError(f"{wanted} different drafts ({how}) are more than the {support} tokens of some law of draft")


def _check_places(run: Loop) -> None:
    """Raise ValueError unless all nodes with several children have equally many, and at least `num_drafts`."""
    places = {len(below) for below in topology.children(run.parents or ())} - {0, 1}
    if len(places) > 1:
        raise ValueError(
            f"tree has nodes with {sorted(places)} children; places for distinct drafts are 1 or one number"
        )
    if run.num_drafts > max(places, default=1):
        raise ValueError(f"num_drafts={run.num_drafts} distinct drafts are expected in {max(places, default=1)} places")
