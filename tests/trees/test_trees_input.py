"""What is no tree, no scheme or no law ends in one line that names the place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import (
    beam_tree,
    draw_tree,
    eagle2_tree,
    heap_tree,
    one_pass_ceiling,
    one_pass_draft,
    one_pass_enclosure,
    optimal_tree,
    sequoia_tree,
    speed_of_light,
    tree_value,
    trees,
)
from specsim.types import Draws, TokenTree

Array = Any


def tree(parents: Any, tokens: Any, scheme: str = "iid", depth: Any = None) -> TokenTree:
    return TokenTree(parents, np.array(tokens), trees.depths(parents) if depth is None else depth, scheme)


def PLAIN(text: Any) -> list[float]:
    return [0.5, 0.5]


def LONGER(text: Any) -> Array:
    """A vocabulary that grows with the text."""
    return np.full(2 + len(text), 1 / (2 + len(text)))


def ONE(q: Array) -> Draws:
    return Draws(1, 0, 1)


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: trees.depths([0]), ValueError, r"^parents\[0\] is 0; a parent is an earlier node, or -1 for the root$"),
    (lambda: trees.depths([-1, -2]), ValueError, r"^parents\[1\] is -2; "),
    (
        lambda: trees.depths([-1.0]),
        TypeError,
        r"^parents must be a list of integers, got dtype float64 and shape \(1,\)$",
    ),
    (lambda: trees.k_ary((2, 0)), ValueError, r"^branching\[1\] must be at least 1, got 0$"),
    (lambda: trees.check(tree([-1, 0], [0, 0], depth=[1, 1])), ValueError, r"^tree\.depth is \[1, 1\]; .* \[1, 2\]$"),
    (
        lambda: trees.check(tree([-1], [0, 0])),
        ValueError,
        r"^tree\.tokens must be an array with a last axis of 1 nodes$",
    ),
    (
        lambda: trees.check(tree([-1], [0.0])),
        TypeError,
        r"^tree\.tokens must hold integer token ids, got dtype float64$",
    ),
    (lambda: trees.check(tree([-1], [2]), 2), ValueError, r"^node 0 is token 2, outside the vocabulary 0\.\.1$"),
    (lambda: trees.check(tree([-1, 0], [[0, 1], [-1, 1]])), ValueError, r"^node 1 is token 1, but its parent 0 is abs"),
    (lambda: trees.check(tree([-1, -1], [1, 1], "deterministic")), ValueError, r"^siblings 0 and 1 are one token; "),
    (
        lambda: trees.check(tree([-1] * 3, [1, 0, 1], "without_replacement")),
        ValueError,
        r"^siblings 0 and 2 are one tok",
    ),
    (lambda: trees.check(tree([-1], [0], "magic")), ValueError, r"^tree\.scheme 'magic' is unknown; known: .*iid"),
    (lambda: trees.uniforms([-1, 0, 0], "paths"), ValueError, r"^scheme 'paths' draws one child of every node but"),
    (lambda: trees.uniforms([-1] * 3, "hub"), ValueError, r"^scheme 'hub' cannot draw 3 siblings from one law$"),
    (lambda: trees.uniforms([-1], "independent"), ValueError, r"^scheme 'independent' cannot draw 1 siblings from"),
    (lambda: draw_tree(PLAIN, [-1], [0.5] * 2, scheme="distinct"), ValueError, r"^scheme 'distinct' needs draws, "),
    (lambda: draw_tree(PLAIN, [-1], [0.5], draws=ONE), ValueError, r"^scheme 'iid' takes no draws, the law of a num"),
    (
        lambda: draw_tree(PLAIN, [-1] * 3, [0.5] * 4, scheme="distinct", draws=ONE),
        ValueError,
        r"^draws has a limit of 1 where the shape has 3 siblings$",
    ),
    (lambda: trees.uniforms([-1], "magic"), ValueError, r"^scheme 'magic' is unknown; draft schemes: "),
    (lambda: draw_tree(PLAIN, [-1], [0.5, 0.5]), ValueError, r"^u has shape \(2,\); this rule needs"),
    (lambda: draw_tree(lambda text: [0.5, 0.6], [-1], [0.5]), ValueError, r"^the law after \(\) sums to 1\.1"),
    (lambda: tree_value([-1, -1], [0.5]), ValueError, r"^a node has 2 children; acceptance has 1 entries$"),
    (lambda: tree_value([-1], [0.6, 0.6]), ValueError, r"^acceptance sums to more than 1; entry k is"),
    (lambda: sequoia_tree([0.5, -0.1], nodes=2), ValueError, r"^acceptance\[1\] is -0\.1; it must lie in \[0, 1\]$"),
    (lambda: sequoia_tree([[0.5]], nodes=2), ValueError, r"^acceptance must be one row \(K,\), got shape \(1, 1\)$"),
    (lambda: sequoia_tree([0.5], nodes=0), ValueError, r"^nodes must be at least 1, got 0$"),
    (lambda: sequoia_tree([0.5], nodes=2, depth=0), ValueError, r"^depth must be at least 1, got 0$"),
    (lambda: heap_tree(PLAIN, nodes=0), ValueError, r"^nodes must be at least 1, got 0$"),
    (lambda: heap_tree(PLAIN, nodes=1, depth=0), ValueError, r"^depth must be at least 1, got 0$"),
    (lambda: eagle2_tree(PLAIN, nodes=0), ValueError, r"^nodes must be at least 1, got 0$"),
    (lambda: eagle2_tree(PLAIN, depth=0), ValueError, r"^depth must be at least 1, got 0$"),
    (lambda: speed_of_light(PLAIN, nodes=0), ValueError, r"^nodes must be at least 1, got 0$"),
    (lambda: optimal_tree([0.5], draft_s=1, verify_s=[1], depth=0), ValueError, r"^depth must be at least 1, got 0$"),
    (lambda: trees.enumerate_beams(PLAIN, width=0, depth=1), ValueError, r"^width must be at least 1, got 0$"),
    (lambda: draw_tree(PLAIN, None, [0.5]), TypeError, r"^parents must be a list of integers, got None$"),
    (lambda: draw_tree(PLAIN, 3, [0.5]), TypeError, r"^parents must be a list of integers, got 3$"),
    (
        lambda: draw_tree(LONGER, [-1, 0], [0.5] * 2),
        ValueError,
        r"^the law after \(1,\) has 3 tokens .* vocabularies dif",
    ),
    (lambda: trees.enumerate_trees(LONGER, [-1, 0]), ValueError, r"^the law after \(0,\) has 3 tokens and"),
    (lambda: trees.beam_tree(LONGER, [0.5] * 6, width=2, depth=2), ValueError, r"^the law after \(0,\) has 3 tokens"),
    (lambda: trees.enumerate_beams(LONGER, width=2, depth=2), ValueError, r"^the law after \(0,\) has 3 tokens and"),
    (
        lambda: heap_tree(LONGER, nodes=3),
        ValueError,
        r"^the law after \(0,\) has 3 tokens and the law after the prefix",
    ),
    (lambda: eagle2_tree(LONGER, nodes=3), ValueError, r"^the law after \(0,\) has 3 tokens and the law after the pre"),
    (
        lambda: draw_tree([0.5, 0.5], [-1], [0.5]),
        TypeError,
        r"^model must be a function from a text .*got \[0\.5, 0\.5",
    ),
    (lambda: heap_tree([0.5, 0.5], nodes=1), TypeError, r"^model must be a function from a text"),
    (
        lambda: draw_tree(PLAIN, [-1] * 3, [0.5] * 3, scheme="without_replacement"),
        ValueError,
        r"^a node of the shape has 3 children, which 'without_replacement' draws .* the model has 2 tokens$",
    ),
    (lambda: trees.check(None), TypeError, r"^tree must be a TokenTree \(see specsim\.trees\), got None$"),
    (lambda: trees.probability(PLAIN, None), TypeError, r"^tree must be a TokenTree"),
    (lambda: trees.deterministic_tokens(PLAIN, [-1]), TypeError, r"^tree must be a TokenTree .*got \[-1\]$"),
    (
        lambda: trees.deterministic_tokens(PLAIN, tree([-1], [5], "deterministic")),
        ValueError,
        r"^node 0 is token 5, outside the vocabulary 0\.\.1$",
    ),
    (lambda: optimal_tree([0.5], draft_s=1, verify_s={2: 1}), ValueError, r"^verify_s has no time for 1 token"),
    (
        lambda: optimal_tree([0.5], draft_s=1, verify_s=[1, 0]),
        ValueError,
        r"^verify_s at 2 tokens is 0; it must lie in",
    ),
    (lambda: optimal_tree([0.5], draft_s=-1, verify_s=[1]), ValueError, r"^draft_s is -1; it must lie in \[0, inf\)$"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=lambda v: v if isinstance(v, str) else "")
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


NOBODY = tree([-1], [0])
OF_A_PREFIX: dict[str, Callable[[Any], Any]] = {
    "beam_tree": lambda text: beam_tree(PLAIN, np.array([0.3, 0.6]), width=1, depth=1, prefix=text),
    "beams": lambda text: trees.beams(PLAIN, np.array([0.3, 0.6]), width=1, depth=1, prefix=text),
    "draw_tree": lambda text: draw_tree(PLAIN, [-1], np.array([0.3]), prefix=text),
    "eagle2_tree": lambda text: eagle2_tree(PLAIN, nodes=2, prefix=text),
    "enumerate_beams": lambda text: trees.enumerate_beams(lambda text: [F(1, 2)] * 2, width=1, depth=1, prefix=text),
    "enumerate_trees": lambda text: trees.enumerate_trees(PLAIN, [-1], prefix=text),
    "heap_tree": lambda text: heap_tree(PLAIN, nodes=2, prefix=text),
    "deterministic_tokens": lambda text: trees.deterministic_tokens(PLAIN, NOBODY, prefix=text),
    "probability": lambda text: trees.probability(PLAIN, NOBODY, prefix=text),
    "one_pass_ceiling": lambda text: one_pass_ceiling(PLAIN, gamma=2, prefix=text),
    "one_pass_enclosure": lambda text: one_pass_enclosure(PLAIN, gamma=2, within=0.5, prefix=text),
    "one_pass_draft": lambda text: one_pass_draft(PLAIN, gamma=2, prefix=text),
    "speed_of_light": lambda text: speed_of_light(PLAIN, nodes=2, prefix=text),
}


@pytest.mark.parametrize("name", OF_A_PREFIX)
def test_a_prefix_is_a_text(name: str) -> None:
    for text in ((0, 1), [0, 1], np.array([0, 1])):
        OF_A_PREFIX[name](text)
    for other in (None, "ab", 5, {0: 1}):
        with pytest.raises(TypeError, match=r"^prefix must be a text \(a tuple of token ids\), got "):
            OF_A_PREFIX[name](other)


def test_every_function_with_a_prefix_is_asked() -> None:
    public = {name: getattr(module, name) for module in (specsim, trees) for name in module.__all__}
    functions = {name: value for name, value in public.items() if inspect.isfunction(value)}
    having = {name for name, function in functions.items() if "prefix" in inspect.signature(function).parameters}
    assert having == set(OF_A_PREFIX)
