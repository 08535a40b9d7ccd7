"""`Pair.generate` with trees; and what is no tree, or cannot be decoded as one, is refused before a model runs."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.tiny_models import tiny_gpt2, tiny_llama

import real
from real import TINY
from real.decode.loop import decode, keyed
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.models import llama
from real.models.cache import Cache
from real.models.model import from_hf
from specsim.trees import chain, k_ary
from specsim.types import Draws

VOCAB = 8
TREE: dict[str, Any] = {"rule": "traversal", "parents": (-1, -1, 0), "scheme": "without_replacement"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parents": []}, "parents is empty: a tree has at least one node"),
        ({"parents": [0, -1]}, r"parents\[0\] is 0; a parent is an earlier node, or -1"),
        ({"parents": [-1, 3]}, r"parents\[1\] is 3; a parent is an earlier node, or -1"),
        ({"rule": "block"}, "rule 'block' is a chain rule, not a tree rule; "),
        ({"rule": "lifted", "scheme": "hub"}, "rules that do: target_only, tokenwise"),
        ({"scheme": "deterministic"}, "not lossless.; rules that do: target_only, tokenwise"),
        ({"scheme": "beam"}, "scheme 'beam' has no shape before it is drawn"),
        ({"scheme": "paths", "parents": [-1, 0, 0]}, "scheme 'paths' draws one child of every node but the root"),
        ({"rule": "multipath_block", "scheme": "paths", "parents": [-1, 0, -1]}, "paths of equal length"),
        ({"step": "kseq"}, "rule 'traversal' asks for no step rule, got step='kseq'"),
        ({"rule": "lifted", "step": "kseq"}, "rule 'kseq' expects drafts drawn 'iid'"),
        ({"rule": "lifted", "scheme": "distinct"}, "scheme 'distinct' needs draws"),
        ({"draws": lambda q: Draws(1, 0, 2)}, "scheme 'without_replacement' takes no draws"),
        ({"rule": "lifted", "scheme": "distinct", "draws": lambda q: Draws(1, 0, 5)}, "draws has a limit of 5"),
    ],
)
def test_no_tree_rule_without_its_tree(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TreeVerifier(**{**TREE, **changes})


def no_forward(*arguments: Any, **more: Any) -> Any:
    raise AssertionError("a model was run before the error")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parents": chain(3).tolist(), "gamma": 4}, "gamma is 4, but the tree has 3 levels"),
        (
            {"parents": [-1] * 64},
            "a tree of 64 nodes, 1 deep, needs 65 tokens in one pass; the target has a context of 64",
        ),
        (
            {"parents": [-1] * 9},
            "a node of the tree has 9 children, .* different from each other; 8 tokens can be drawn",
        ),
        ({"warping": Warping(top_k=1)}, "has 2 children, which 'without_replacement' .*; 1 tokens can be drawn"),
        ({"warping": Warping(repetition_penalty=1.1)}, "repetition_penalty is 1.1; with trees it must be 1"),
        ({"target": False}, "trees need the fast path .* does not run the target"),
        ({"draft": False}, "trees need the fast path .* does not run the draft"),
    ],
)
def test_what_a_loop_cannot_run_as_trees(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, draft = (
        from_hf(tiny_llama(VOCAB, seed=s) if changes.get(name, True) else tiny_gpt2(VOCAB, seed=s))
        for s, name in enumerate(["target", "draft"])
    )
    rule = TreeVerifier(**{**TREE, "parents": changes.get("parents", TREE["parents"])})
    monkeypatch.setattr(Cache, "forward", no_forward)
    monkeypatch.setattr(llama, "forward", no_forward)
    with pytest.raises(ValueError, match=message):
        decode(
            target, draft, [1, 2], max_tokens=4, gamma=changes.get("gamma", rule.depth), uniforms=keyed(0, 0),
            rule=rule, warping=changes.get("warping", Warping()),
        )  # fmt: skip


@pytest.fixture(scope="module")
def pair() -> real.Pair:
    return real.load(TINY / "target", TINY / "draft")


def test_generate_with_trees(pair: real.Pair) -> None:
    """Batches, stops and streams are those of chains; fewer target calls than tokens."""
    prompts, shape = ["def main():\n", "import os\n\n"], k_ary((2, 1, 1)).tolist()
    options: dict[str, Any] = {"parents": shape, "rule": "traversal", "max_tokens": 40, "seed": 3}
    together: Any = pair.generate(prompts, **options)
    for i, prompt in enumerate(prompts):
        alone: Any = pair.generate(prompt, first_key=i, **options)
        assert alone.tokens == together[i].tokens
        assert len(alone.blocks) < len(alone.tokens)
    pieces: list[str] = []
    short: Any = pair.generate(prompts[0], stop=[together[0].text[9:12]], stream=pieces.append, **options)
    assert "".join(pieces) == short.text == together[0].text[: together[0].text.index(together[0].text[9:12])]
    lifted: Any = pair.generate(prompts[0], parents=shape, rule="tokenwise", scheme="iid", step="kseq", max_tokens=8)
    assert len(lifted.tokens) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parents": [-1], "gamma": 2}, "gamma=2 and parents are both given"),
        ({"scheme": "iid"}, "scheme is for trees: give parents"),
        ({"step": "kseq"}, "step is for trees: give parents"),
        ({"parents": []}, "parents is empty"),
        ({"parents": [-1], "rule": "block"}, "rule 'block' is a chain rule, not a tree rule; "),
        ({"rule": "traversal"}, "rule 'traversal' is a tree rule, not a chain rule; "),
        ({"parents": [-1], "scheme": "nearest"}, "'nearest'"),
        ({"parents": [-1], "rule": "lifted", "scheme": "distinct"}, "scheme 'distinct' needs draws"),
        ({"parents": [-1], "scheme": "iid", "step": "typical"}, "'typical'"),
    ],
)
def test_generate_refuses(
    pair: real.Pair, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cache, "forward", no_forward)
    with pytest.raises(ValueError, match=message):
        pair.generate("def main():\n", **options)
