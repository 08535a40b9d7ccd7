"""The decode loop itself, with no sampling: its blocks run on Fractions with forking uniforms, text after text."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction as F
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import discover, guarantee, markov, simulate
from specsim.forking import rational
from specsim.simulation import blocks, chain_block, chain_of_blocks, changed_targets
from specsim.simulation.decode_loop import Loop, loop
from specsim.simulation.toys.models import Automaton
from specsim.simulation.toys.pair import after as pair_after
from specsim.simulation.toys.pair import paired
from specsim.verify.lookup import takes

Law = dict[tuple[int, ...], Any]
# Laws that depend on the last two tokens: with one, a loop that forgets what was before its last token is right.
TARGET = markov(np.array([[[F(n, 12), F(12 - n, 12)] for n in row] for row in ((4, 9), (8, 3))], dtype=object))
DRAFT = markov(np.array([[[F(n, 12), F(12 - n, 12)] for n in row] for row in ((8, 3), (6, 9))], dtype=object))
PAIR = paired(TARGET, DRAFT)
FORK, PATHS = (-1, -1, 0), (-1, 0, -1, 2)  # two children of the root, one below the first; two paths of two
STATIC = ("iid", "without_replacement", "greedy", "deterministic", "paths")  # schemes that draw a tree of fixed shape

CHAINS = [("chain", rule, {"gamma": g}) for rule in discover.rules("chain").values() for g in (0, 2)]
STEPS = [
    ("step", rule, {"gamma": gamma, "num_drafts": k})
    for name, rule in discover.rules("step").items()
    for gamma, k in ((2, 1), (2 if name == "recursive" else 1, 2))
    if takes(rule, k)
]
TREES = [
    ("tree", rule, {"parents": PATHS if scheme == "paths" else FORK, "scheme": scheme})
    for rule in discover.rules("tree").values()
    for scheme in rule.CHILDREN
    if scheme in STATIC
]
TREES += [  # with a step rule of the user's choice
    ("tree", discover.find("tree", name), {"parents": FORK, "scheme": "iid", "step": step})
    for name, step in (("tokenwise", "optimal"), ("lifted", "recursive"))
]
# three levels: the third drafts after two tokens
TREES.append(("tree", discover.find("tree", "tokenwise"), {"parents": (-1, 0, 1), "scheme": "iid"}))  # looked up
TREES.append(("tree", discover.find("tree", "lifted"), {"parents": (-1, 0, 1), "scheme": "iid", "step": "recursive"}))
LOOPS = [(family, rule, options) for family, rule, options in CHAINS + STEPS + TREES if rule.EXACT]
IDS = [f"{rule.__name__.rpartition('.')[2]}-{'-'.join(map(str, options.values()))}" for _, rule, options in LOOPS]
CASES = [pytest.param(*case, id=name) for case, name in zip(LOOPS, IDS, strict=True)]


def make(
    rule: Any, gamma: int | None = None, parents: Any = None, num_drafts: int = 1, scheme: Any = None, step: Any = None
) -> Loop:
    return loop(rule, gamma, parents, num_drafts, scheme, step)


@lru_cache
def block_law(run: Loop, key: Any) -> dict[Any, F]:
    """Exact law of (tokens, state after them) of one block of the code that simulates."""

    def column(value: F) -> Any:
        return np.array([[value]], dtype=object)

    def program(fork: rational.Fork) -> Any:
        state = np.array([key[0]]), tuple((column(a), column(b)) for a, b in key[1])
        (node, levels), kept, tokens = blocks.block(run, blocks.ready(run, PAIR), state, fork.uniforms(1, run.uniforms))
        text = tuple(int(y) for y in tokens[0] if y >= 0)
        assert len(text) == int(kept[0]) + 1
        return text, (int(node[0]), tuple((F(a[0, 0]), F(b[0, 0])) for a, b in levels))

    return rational.law(program)


def begin(run: Loop) -> Any:
    return PAIR.start, ((F(1), F(0)),) * run.lasting


def text_law(run: Loop, length: int) -> Law:
    """Exact law of the first tokens that the loop writes."""
    out: Law = {}
    now = {((), begin(run)): F(1)}
    while now:
        later: dict[Any, F] = {}
        for (text, key), chance in now.items():
            for (added, after), mass in block_law(run, key).items():
                longer = text + added
                if len(longer) < length:
                    later[longer, after] = later.get((longer, after), F(0)) + chance * mass
                else:
                    out[longer[:length]] = out.get(longer[:length], F(0)) + chance * mass
        now = later
    return out


def expected(run: Loop, count: int) -> list[F]:
    """Tokens expected of each of the first blocks."""
    now, out = {begin(run): F(1)}, []
    for _ in range(count):
        later: dict[Any, F] = {}
        out.append(F(0))
        for key, chance in now.items():
            for (added, after), mass in block_law(run, key).items():
                out[-1] += chance * mass * len(added)
                later[after] = later.get(after, F(0)) + chance * mass
        now = later
    return out


def target_law(length: int) -> Law:
    return dict(zip(itertools.product(range(2), repeat=length), law(TARGET, length), strict=True))


def law(model: Automaton, length: int) -> list[F]:
    texts = itertools.product(range(2), repeat=length)
    return [math.prod(model(text[:i])[y] for i, y in enumerate(text)) for text in texts]


@pytest.mark.parametrize(("family", "rule", "options"), CASES)
def test_text_is_the_targets(family: str, rule: ModuleType, options: dict[str, Any]) -> None:
    """Over as many blocks as three tokens need: exactly the target's law for a lossless rule, and no other."""
    name = rule.__name__.rpartition(".")[2]
    lossless = family == "tree" or guarantee(name, num_drafts=options.get("num_drafts", 1)).lossless
    lends = {"delta": 1} if name == "lantern" else None  # by default nothing that these laws would show
    found = text_law(make(discover.with_params(rule, lends), **options), 3)
    assert sum(found.values()) == 1
    assert (found == target_law(3)) == lossless


def test_nested_changes_of_greedy_blocks() -> None:
    """Blocks that keep nothing follow each other: two changes are in force at once, and the text is the target's."""
    assert text_law(make("greedy_block", 3), 5) == target_law(5)


@pytest.mark.parametrize("path", ["greedy_block_plain_continuation", "block_first_failure", "bonus_from_draft"])
def test_wrong_rules_write_other_texts(path: str) -> None:
    spec = importlib.util.spec_from_file_location(path, Path(__file__).parents[1] / "mutants" / "chain" / f"{path}.py")
    assert spec is not None
    assert spec.loader is not None
    rule = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rule)
    assert text_law(make(rule, 2), 3) != target_law(3)


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Laws of blocks are worked out afresh, in the test and after it."""
    block_law.cache_clear()
    yield
    block_law.cache_clear()


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("wrong", ["forgotten", "only the latest", "never over"])
def test_wrong_loops_write_other_texts(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy blocks that ignore earlier changes, nest only one deep, or let them last too long are lossy."""
    run, changed, moved = make("greedy_block", 3), changed_targets.changed, changed_targets.moved
    if wrong == "forgotten":
        monkeypatch.setattr(changed_targets, "changed", lambda place, levels: [place.target] * (len(levels) + 1))
    elif wrong == "only the latest":
        last = ((np.array([[F(1)]]), np.array([[F(0)]])),)
        monkeypatch.setattr(
            changed_targets, "changed", lambda place, levels: changed(place, (*last[: len(levels) - 1], *levels[-1:]))
        )
    else:

        def lasting(levels: Any, laws: Any, *rest: Any) -> Any:
            """The last level is dropped, and not the first."""
            return moved((levels[:1] + levels)[:-1], [laws[0], *laws], *rest)

        monkeypatch.setattr(changed_targets, "moved", lasting)
    assert text_law(run, 4) != target_law(4)


FORGETFUL = [
    case for case, name in zip(LOOPS, IDS, strict=True) if name in ("block-2", "rejection-2-1", "recursive-2-2")
]


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize(("family", "rule", "options"), FORGETFUL)
def test_loops_that_know_the_last_token_only_write_other_texts(
    family: str, rule: ModuleType, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an automaton whose state is its last token cannot show."""
    for module in (chain_block, blocks):
        monkeypatch.setattr(module, "after", lambda pair, state, token: pair_after(pair, 0 * state, token))
    assert text_law(make(rule, **options), 3) != target_law(3)


@pytest.mark.parametrize(("family", "rule", "options"), CASES)
def test_block_chain_is_the_loop(family: str, rule: ModuleType, options: dict[str, Any]) -> None:
    """Law and tokens of blocks summed from `transition`, against the code that simulates: equal as rationals."""
    run = make(rule, **options)
    if run.lasting:
        with pytest.raises(ValueError, match=r"^rule 'greedy_block' changes the target of later blocks"):
            chain_of_blocks.block_chain(TARGET, DRAFT, rule=rule, **options)
        return
    found = chain_of_blocks.block_chain(TARGET, DRAFT, rule=rule, **options)
    for s in (1, 2) if family == "tree" else range(len(PAIR.p)):  # trees take seconds a context
        outcomes = block_law(run, (s, ())).items()
        assert found.tau[s] == sum(mass * len(text) for (text, _), mass in outcomes)
        for t in range(len(PAIR.p)):
            assert found.jump[s, t] == sum(mass for (_, (state, _)), mass in outcomes if state == t)
    tau = chain_of_blocks.stationary_tau(TARGET, DRAFT, rule=rule, **options)
    assert isinstance(tau, (F, int))
    assert found.mean(1) == found.tau[0]


def test_tau_of_greedy_blocks_falls_after_the_first() -> None:
    """The first block keeps what full information allows; those after it meet a target further from the draft.

    So far that block verification, whose first block keeps less, keeps more in the long run.
    """
    greedy = expected(make("greedy_block", 3), 3)
    first = sum(min(a, b) for n in (1, 2, 3) for a, b in zip(*(law(m, n) for m in (TARGET, DRAFT)), strict=True))
    assert 1 + first == greedy[0] > greedy[1]
    assert greedy[0] > chain_of_blocks.block_chain(TARGET, DRAFT, rule="block", gamma=3).tau[0]
    trace = simulate(TARGET, DRAFT, rule="greedy_block", gamma=3, blocks=40_000, sequences=256)
    assert trace.tau_interval(1 - 1e-6)[1] < chain_of_blocks.stationary_tau(TARGET, DRAFT, rule="block", gamma=3)
    for b in (1, 2, 3):
        trace = simulate(TARGET, DRAFT, rule="greedy_block", gamma=3, blocks=b * 4096, sequences=4096)
        low, high = trace.tau_interval(1 - 1e-6)
        assert low < sum(greedy[:b]) / b < high
