"""`Pair.generate` with drafters and controllers by name, on the bundled target: greedy texts are the target's own."""

from __future__ import annotations

import importlib
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.small_drafters import SMALL

import real
from real import TINY, draft
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.named import MOST, drafters, drafters_for
from real.writing import Generation
from specsim import discover
from specsim.verify.lookup import chain_rule, filling_rule

PROMPTS = ["import os\n\n", "class Stack:\n    def push"]
OF_TINY = [name for name in drafters() if "/" not in name]  # the others are trained for another target
CONTROLLERS = [name for name, file in discover.rules("control").items() if not discover.controller_facts(file).bound]


@cache
def pair() -> real.Pair:
    torch.set_num_threads(1)
    return real.load(TINY / "target", TINY / "draft", dtype=torch.float64)


@cache
def alone() -> Any:
    return real.load(TINY / "target", dtype=torch.float64)


@cache
def plain(length: int, prompts: tuple[str, ...]) -> list[list[int]]:
    return tokens(alone().generate(prompts, gamma=0, temperature=0, max_tokens=length))


def tokens(runs: Any) -> list[list[int]]:
    return [run.tokens for run in runs]


def shapes(runs: Any) -> list[tuple[int, int]]:
    return [(block.drafted, block.accepted) for run in runs for block in run.blocks]


def test_every_drafter_has_a_name() -> None:
    """Files of the folder that a name is enough for, those with recipes by their names; `one_pass` has no weights."""
    named = drafters()
    unnamed = {"one_pass", "restricted"}
    assert {file.__name__.rpartition(".")[2] for file in named.values()} == set(draft.names()) - unnamed
    recipes = {name for file in draft.names() for name in vars(draft.find(file)).get("RECIPES", {})}
    assert set(named) == recipes | {"lm", "ngram"}


def test_a_name_is_the_drafter_that_was_trained_for_the_target() -> None:
    """`feature` is another one for SmolLM2, by the width of its states; what reads no states has one name for all."""
    assert drafters_for(pair().target) == {name: name for name in OF_TINY}
    wide: Any = SimpleNamespace(weights=SimpleNamespace(norm=torch.ones(576)))
    found = drafters_for(wide)
    assert (found["feature"], found["ngram"], found["lm"]) == ("smollm2/feature", "ngram", "lm")
    assert "exit_1" not in found
    slow: Any = SimpleNamespace(weights=None)
    assert drafters_for(slow) == {"lm": "lm", "ngram": "ngram"}


@pytest.mark.parametrize("name", ["smollm2/feature", "fspad"])
def test_a_drafter_of_smollm2_does_not_fit_the_bundled_target(name: str) -> None:
    with pytest.raises(ValueError, match=f"^drafter '{name}': the drafter reads states of width 576, and the target's"):
        alone().generate("a = 1\n", drafter=name)


@pytest.mark.parametrize("name", OF_TINY)
def test_greedy_text_of_a_named_drafter(name: str) -> None:
    runs = pair().generate(PROMPTS, drafter=name, temperature=0, max_tokens=6)
    assert tokens(runs) == plain(6, tuple(PROMPTS))
    assert max(drafted for drafted, _ in shapes(runs)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("controller", [None, "survival"])
@pytest.mark.parametrize("name", OF_TINY)
def test_greedy_texts_of_a_named_drafter(name: str, controller: str | None) -> None:
    from real.options import read_prompts

    prompts = read_prompts(TINY / "prompts.json")[:16]
    runs = pair().generate(prompts, drafter=name, controller=controller, temperature=0, max_tokens=48)
    assert tokens(runs) == plain(48, tuple(prompts))
    assert any(accepted for _, accepted in shapes(runs))


@pytest.mark.parametrize("name", CONTROLLERS)
def test_greedy_text_under_a_named_controller(name: str) -> None:
    runs = pair().generate(PROMPTS, controller=name, temperature=0, max_tokens=6)
    assert tokens(runs) == plain(6, tuple(PROMPTS))


def test_a_name_is_the_record_of_that_name() -> None:
    """At temperature 1 the drafts, too, are those of the drafter that the name says."""
    feature: Any = draft.find("feature")
    record = feature.drafter(feature.shipped(), alone().target)
    named, given = (alone().generate(PROMPTS, drafter=d, max_tokens=6, seed=3) for d in ("feature", record))
    default, lm = (pair().generate(PROMPTS, max_tokens=6, seed=3, drafter=d) for d in (None, "lm"))
    assert [run[1:3] for run in named] == [run[1:3] for run in given]
    assert [run[1:3] for run in default] == [run[1:3] for run in lm]
    assert shapes(named) != shapes(default)


def test_a_drafter_takes_the_place_of_the_draft_model() -> None:
    both, one = (p.generate(PROMPTS, drafter="ngram", max_tokens=6, seed=3) for p in (pair(), alone()))
    assert [run[1:3] for run in both] == [run[1:3] for run in one]


@pytest.mark.parametrize(
    ("given", "longest"),
    [
        ({}, 4),
        ({"gamma": 7}, 7),
        ({"controller": "static"}, 4),
        ({"controller": "static", "controller_params": {"gamma": 20}}, 20),
        ({"controller": "threshold", "controller_params": {"eta": 0.0}}, MOST),
        ({"controller": "threshold", "controller_params": {"eta": 0.0}, "gamma": 3}, 3),
        ({"controller": "threshold", "controller_params": {"eta": 1.0}}, 1),
        ({"drafter": "heads", "controller": "threshold", "controller_params": {"eta": 0.0}}, 6),
    ],
)
def test_how_many_tokens_are_drafted(given: dict[str, Any], longest: int) -> None:
    run: Any = pair().generate("import os\n\n", max_tokens=22, seed=1, **given)
    assert max(block.drafted for block in run.blocks) == longest


def test_a_temperature_is_a_warping() -> None:
    short, long, default = (
        pair().generate(PROMPTS, max_tokens=6, seed=2, **given)
        for given in ({"temperature": 0.3}, {"warping": Warping(0.3)}, {})
    )
    assert tokens(short) == tokens(long) != tokens(default)
    both = pair().generate(PROMPTS, max_tokens=6, seed=2, temperature=0.3, warping=Warping(0.3))
    assert tokens(both) == tokens(long)
    scores = [pair().score([5, 6, 7], **given) for given in ({"temperature": 0.3}, {"warping": Warping(0.3)}, {})]
    assert [score.tau(2) for score in scores[:1]] == [score.tau(2) for score in scores[1:2]]
    assert scores[0].tau(2) != scores[2].tau(2)


@pytest.mark.parametrize("rule", ["typical", "uncapped"])
def test_a_lossy_rule_has_to_be_allowed(rule: str) -> None:
    with pytest.raises(
        ValueError, match="; allow_lossy=True decodes with it all the same, and texts then have another"
    ):
        pair().generate(PROMPTS, rule=rule)
    found = pair().generate(PROMPTS, rule=rule, allow_lossy=True, max_tokens=6, seed=4)
    ids = [list(pair().tokenizer(text)["input_ids"]) for text in PROMPTS]
    verifier: Any = filling_rule(rule) if rule == "uncapped" else chain_rule(rule)
    uniforms = [keyed(4, i) for i in range(2)]
    stop = pair().stopping()
    told: dict[str, Any] = {"max_tokens": 6, "gamma": 4, "uniforms": uniforms, "stop": stop, "rule": verifier}
    assert tokens(found) == [run.tokens for run in decode_batch(pair().target, pair().draft, ids, **told)]


def test_a_lossy_tree_rule_has_to_be_allowed() -> None:
    shape: dict[str, Any] = {"rule": "tokenwise", "step": "greedy", "scheme": "iid", "parents": (-1, -1)}
    with pytest.raises(ValueError, match=r"is not lossless at temperature 1: .*; allow_lossy=True decodes with it"):
        pair().generate("a = 1\n", **shape)
    run = pair().generate("a = 1\n", **shape, allow_lossy=True, max_tokens=4)
    assert isinstance(run, Generation)
    assert len(run.tokens) == 4


def test_a_target_alone_decodes_plainly_and_says_what_it_lacks() -> None:
    assert alone().draft is None
    assert plain(6, tuple(PROMPTS)) == tokens(pair().generate(PROMPTS, gamma=0, temperature=0, max_tokens=6))
    with pytest.raises(
        ValueError, match=r"^score needs a draft model, and this pair has none: load one, by real\.load"
    ):
        alone().score([5, 6, 7])


def test_a_pair_is_shown_in_one_line() -> None:
    assert repr(pair()) == (
        "Pair(target='tiny/target' (5.3 M parameters), draft='tiny/draft' (0.4 M), tokens=2,048, device=cpu, "
        "dtype=float64)"
    )
    assert repr(alone()).startswith("Pair(target='tiny/target' (5.3 M parameters), draft=None, tokens=2,048,")
    in_memory = real.Pair(pair().target, pair().draft, pair().tokenizer)
    assert repr(in_memory).startswith("Pair(target=a model in memory (5.3 M parameters), draft=a model in memory (0.4")
    wide = real.load(TINY / "draft", widen_to=6_000_000)
    assert repr(wide).startswith("Pair(target='tiny/draft' (6.0 M parameters, cost emulation), draft=None")
    rounded = real.load(TINY / "draft", weights="int8")
    assert repr(rounded).startswith("Pair(target='tiny/draft' (0.4 M parameters, projections in int8), draft=None")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "gamma=4 needs something that drafts, and this pair has no draft model: name a drafter (exit_0,"),
    ({"gamma": 2}, "gamma=2 needs something that drafts"),
    ({"drafter": "fature"}, "drafter 'fature' is unknown; did you mean 'feature'? drafters: exit_0, exit_1"),
    ({"drafter": "exit"}, "drafter 'exit' is unknown; did you mean 'exit_"),
    ({"drafter": ""}, "drafter '' is unknown; drafters: "),
    ({"drafter": "_rollout"}, "drafter '_rollout' is unknown; "),
    ({"drafter": "lm"}, "drafter 'lm' is the draft model, and this pair has none: real.load(target, draft)"),
    ({"drafter": "restricted"}, "drafter 'restricted' cannot be made from its name: it needs inner, ids, end; give"),
    ({"drafter": 5}, "drafter must be a name or a real.decode.proposer.Drafter, got 5"),
    ({"drafter": "heads", "gamma": 8}, "gamma=8 is too long: the drafter makes 6 drafts of a block at most"),
    ({"drafter": "feature", "gamma": -1}, "gamma must be at least 0, got -1"),
    ({"drafter": "feature", "parents": (-1, -1)}, "drafter is for chains: the draft model drafts a tree (parents)"),
    ({"parents": (-1, -1)}, "parents needs a draft model, which drafts the tree: load it, by real.load(target, draft)"),
    ({"controller": "roc", "parents": (-1, -1)}, "controller is for chains: the draft model drafts a tree (parents)"),
    ({"controller": "treshold"}, "controller 'treshold' is unknown; did you mean 'threshold'? controllers: "),
    (
        {"controller": "clairvoyant"},
        "controller 'clairvoyant' is told what the blocks to come will keep: it is a bound",
    ),
    (
        {"controller": "static", "gamma": 3},
        "gamma=3 and controller 'static' are both given, which chooses gamma itself",
    ),
    ({"controller": "roc", "gamma": 0}, "gamma=0 drafts nothing, and controller 'roc' decides when drafting stops"),
    ({"controller": "static", "controller_params": {"gamma": 0}}, "gamma must be at least 1, got 0"),
    ({"controller": "threshold", "controller_params": {"eta": 2}}, "eta is 2; it must lie in [0, 1]"),
    (
        {"controller": "threshold", "controller_params": {"et": 0}},
        "controller 'threshold' has no parameter 'et'; known",
    ),
    ({"controller_params": {"eta": 0.5}}, "controller_params={'eta': 0.5} are a controller's: name it, by controller"),
    ({"controller": 5}, "controller 5 is unknown; controllers: "),
    ({"drafter": "feature", "temperature": -1}, "temperature is -1; it must lie in [0, inf)"),
    ({"drafter": "feature", "temperature": "hot"}, "temperature must be one number, got 'hot'"),
    ({"temperature": 0, "warping": Warping(0.5)}, "temperature=0 and a warping with temperature 0.5 are both given: "),
    ({"drafter": "feature", "allow_lossy": 1}, "allow_lossy must be True or False, got 1"),
    ({"drafter": "feature", "rule": "uncaped"}, "rule 'uncaped' is unknown; did you mean 'capped'?"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refusals(given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, before the target has read anything."""
    monkeypatch.setattr(type(alone().target), "cache", None)
    with pytest.raises((TypeError, ValueError)) as refusal:
        alone().generate("a = 1\n", **given)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["feature", "heads", "trigram", "exit_1"])
def test_a_drafter_of_another_target_is_refused(name: str) -> None:
    """States of another width: the small model as the target."""
    small = real.load(TINY / "draft")
    words = r"the \w+ reads states of width 256, and the target's have \d+$"
    with pytest.raises(ValueError, match=f"^drafter '{name}': {words}"):
        small.generate("a = 1\n", drafter=name)


def test_an_object_is_a_controller() -> None:
    """A file of one's own, or whatever has its functions."""
    threshold = importlib.import_module("specsim.control.threshold")

    class Own:
        start, more, learn = (staticmethod(getattr(threshold, name)) for name in ("start", "more", "learn"))

    runs = [pair().generate(PROMPTS, controller=c, max_tokens=6, seed=1) for c in (Own(), threshold, "threshold")]
    assert tokens(runs[0]) == tokens(runs[1]) == tokens(runs[2])
    assert shapes(runs[0]) == shapes(runs[1]) == shapes(runs[2])


def test_the_names_of_tests_are_drafters() -> None:
    assert {name.partition(",")[0] for name in SMALL} == set(draft.names())
