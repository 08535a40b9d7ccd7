"""What each process says of itself beyond the law of its texts: passes, frames kept, which rules old tokens bear."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import Automaton, discover, fill, text_law
from specsim.exact.process_branches import Joint
from specsim.exact.small_laws import rational_table
from specsim.forking import rational
from specsim.verify.chain import block


def test_old_tokens_are_kept_under_tokenwise() -> None:
    for seed, first in itertools.product(range(6), ("left", "up", "uniform")):
        table = rational_table(np.random.default_rng([2, seed]), 2, 3).__getitem__
        params = {"carry": "old", "first": first, "window": 1 + seed % 3, "width": 2}
        assert fill(table, "jacobi", length=4, params=params).law == text_law(table, 4)


def test_old_tokens_are_kept_under_a_rule_that_stops_before_them_only() -> None:
    """Block verification looks at later slots before it stops; then they are no draws from their laws."""
    row = [Fraction(1, 2)] * 2
    with pytest.raises(ValueError, match="carry 'old' keeps tokens that rule 'block' has looked at"):
        fill(row, "jacobi", length=3, rule="block", params={"carry": "old"})
    table = rational_table(np.random.default_rng([2, 0]), 2, 2)
    own = ModuleType("tokenwise")  # the check, deceived
    vars(own).update({name: value for name, value in vars(block).items() if not name.startswith("__")})
    params = {"carry": "old", "first": "uniform", "window": 2}
    assert fill(table.__getitem__, "jacobi", length=3, rule=own, params=params).bias == Fraction(1, 24)


@pytest.mark.parametrize(
    ("length", "window", "seed", "rule", "passes"),
    [
        (3, 2, 3, "tokenwise", "0.7402"),
        (3, 2, 3, "block", "0.7402"),
        (4, 3, 1, "tokenwise", "0.4971"),
        (4, 3, 1, "block", "0.4856"),
    ],
)
def test_passes_of_jacobi_on_small_tables(length: int, window: int, seed: int, rule: str, passes: str) -> None:
    drawn, table = random.Random(seed), {}
    for prefix in (text for n in range(length) for text in itertools.product(range(2), repeat=n)):
        weights = [drawn.randint(1, 9) for _ in range(2)]
        table[prefix] = [Fraction(w, sum(weights)) for w in weights]
    found = fill(table.__getitem__, "jacobi", length=length, rule=rule, params={"window": window})
    assert found.law == text_law(table.__getitem__, length)
    assert f"{float(found.passes / length):.4f}" == passes


def test_window_of_one_and_no_drafts_take_a_pass_a_token() -> None:
    """A slot that copies is never better than none here; plain decoding is a pass a token."""
    table = rational_table(np.random.default_rng(4), 3, 2).__getitem__
    found = fill(table, "left_to_right", length=3, params={"gamma": 0})
    assert (found.passes, found.most) == (3, 3)
    assert fill(table, "jacobi", length=3, params={"window": 1}).most <= 3


def test_passes_from_left_to_right_are_those_of_its_blocks() -> None:
    """Three tokens in blocks of two drafts, each kept with probability a: by hand."""
    p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(3, 4), Fraction(1, 4)]
    a = sum(map(min, p, q))
    found = fill(p, "left_to_right", length=3, draft=q, params={"gamma": 2})
    assert found.passes == a**2 + a * (1 - a) * 2 + (1 - a) * (2 * a + 3 * (1 - a))


def test_laws_of_floats_sum_to_one() -> None:
    """A float is the rational that it is; the row is divided by its sum, which is none where it is rounded."""
    row = [0.1, 0.2, 0.7]
    whole = sum(map(Fraction, row))
    assert whole != 1
    assert fill(row, "jacobi", length=2).law == text_law(row, 2)
    assert text_law(row, 1) == {(i,): Fraction(value) / whole for i, value in enumerate(row)}


def held(rho: Fraction) -> Any:
    """Two actions: one that stays with probability rho."""
    return lambda text: [(Fraction(1, 2), rho if text and text[-1] == a else 1 - rho)[bool(text)] for a in range(2)]


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20)])
def test_frames_kept_are_those_of_the_formula(rho: Fraction, frames: int) -> None:
    """(1 - rho^n) / (1 - rho) of a block that the end of the text does not cut."""
    process, rule, models = discover.find("process", "frames"), block, Joint(held(rho), 2, frames + 1)

    def program(fork: rational.Fork) -> int:
        state = process.start(frames + 1, frames=frames)
        for _ in range(2):  # the first action, then a block
            rows = models.rows(process.ask(state))
            state = process.advance(state, rows, rule, fork.uniforms(1, process.uniforms(state, rule)))
        return int(state.filled[0]) - 1

    kept = sum(number * weight for number, weight in rational.law(program).items())
    assert kept == (1 - rho**frames) / (1 - rho)


def test_blocks_of_frames_along_a_text() -> None:
    """Blocks of 2 along 4 actions: each keeps a second frame with probability rho, at the end there is none to keep."""
    for rho in (Fraction(1, 2), Fraction(4, 5)):
        blocks = {0: Fraction(0), 1: Fraction(1)}
        for left in (2, 3):
            blocks[left] = 1 + rho * blocks[left - 2] + (1 - rho) * blocks[left - 1]
        assert fill(held(rho), "frames", length=4, params={"frames": 2}).passes == blocks[3]


def test_blocks_of_frames_under_any_law_of_actions() -> None:
    """As above, where how long an action stays depends on which it is: actions by an automaton."""
    stays, step = (Fraction(9, 10), Fraction(3, 10)), np.array([[1, 2]] * 3)
    first = [Fraction(1, 4), Fraction(3, 4)]
    rows = np.array([first, [stays[0], 1 - stays[0]], [1 - stays[1], stays[1]]], dtype=object)
    blocks = {(action, left): Fraction(left) for action in (0, 1) for left in (0, 1)}
    for left, action in itertools.product((2, 3), (0, 1)):
        stay, other = stays[action], 1 - action
        ended = stay * blocks[action, left - 2] + (1 - stay) * blocks[other, left - 2]
        blocks[action, left] = 1 + stay * ended + (1 - stay) * blocks[other, left - 1]
    found = fill(Automaton(rows, step, 0), "frames", length=4, params={"frames": 2})
    assert found.passes == sum(mass * blocks[action, 3] for action, mass in enumerate(first))
    assert found.law == text_law(Automaton(rows, step, 0), 4)


def never(text: tuple[int, ...]) -> Any:
    raise AssertionError("a pass was run")


@pytest.mark.parametrize(
    ("process", "params", "said"),
    [
        ("left_to_right", {"gamma": -1}, "^gamma must be at least 0, got -1$"),
        ("jacobi", {"window": 0}, "^window must be at least 1, got 0$"),
        ("jacobi", {"window": 10**9}, "^window is 1000000000; the largest that is sensible is 1024$"),
        ("any_subset", {"slots": 10**9}, "^slots is 1000000000; the largest that is sensible is 1024$"),
        ("frames", {"frames": 10**9}, "^frames is 1000000000; the largest that is sensible is 1024$"),
        ("left_to_right", {"gamma": 10**9}, "^gamma is 1000000000; the largest that is sensible is 1024$"),
        ("jacobi", {"width": 0}, "^width must be at least 1, got 0$"),
        ("jacobi", {"first": "right"}, "^first 'right' is unknown; known: uniform, left, up$"),
        ("jacobi", {"carry": "new"}, "^carry 'new' is unknown; known: pass, old$"),
        ("jacobi", {"slots": 2}, "^process 'jacobi' has no parameter 'slots'; known: window, first, width, carry$"),
        ("any_subset", {"slots": 0}, "^slots must be at least 1, got 0$"),
        ("any_subset", {"bonus": 2}, "^bonus must be True or False, got 2$"),
        ("any_subset", {"order": (0, 1, 1)}, r"^order \(0, 1, 1\) is no permutation of 0\.\.2$"),
        ("any_subset", {"order": (0, 1)}, r"^order \(0, 1\) is no permutation of 0\.\.2$"),
        ("any_subset", {"order": (0, 1, -2)}, r"^order\[2\] must be at least 0, got -2$"),
        ("any_subset", {"given": {3: 0}}, r"^given has place 3; places are 0\.\.2$"),
        ("any_subset", {"given": {0: 0, 1: 0, 2: 1}}, "^given fills all 3 places: nothing is left to decode$"),
        ("any_subset", {"given": {0: -1}}, r"^given\[0\] must be at least 0, got -1$"),
        ("frames", {"frames": 0}, "^frames must be at least 1, got 0$"),
        ("spiral", {}, "^process 'spiral' is unknown; processes: any_subset, frames, jacobi, left_to_right$"),
    ],
)
def test_bad_parameters_end_in_one_line_before_any_pass(process: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fill(never, process, length=3, params=params)


HALF = [Fraction(1, 2)] * 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fill(HALF, "jacobi", length=0), "^length must be at least 1, got 0$"),
        (lambda: fill(HALF, "jacobi", length=7), "^length 7 at 2 tokens makes more than the 81 texts"),
        (lambda: fill(HALF, "jacobi", length=82), "^length is 82; the largest that is sensible is 81$"),
        (lambda: fill([0.5, 0.6], "jacobi", length=2), r"^target sums to 1\.1; "),
        (lambda: fill([HALF], "jacobi", length=2), r"^target must be one law, got shape \(1, 2\)$"),
        (
            lambda: fill(lambda t: HALF if not t else [1], "jacobi", length=2),
            r"^target\(0,\) has 1 tokens and target\(\)",
        ),
        (lambda: fill(HALF, "left_to_right", length=2), "^process 'left_to_right' asks for rows of the draft model"),
        (lambda: fill(HALF, "left_to_right", length=2, draft=[1.0]), "^target has 2 tokens and draft has 1"),
        (
            lambda: fill(HALF, "jacobi", length=2, rule="traversal"),
            "^rule 'traversal' is a tree rule, not a chain rule",
        ),
        (lambda: fill(HALF, "jacobi", length=2, rule="greedy_block"), "^rule 'greedy_block' changes the target for"),
        (lambda: fill(HALF, "jacobi", length=2, rule="lumina", rule_params={"clamp": 0}), "^clamp is 0"),
        (
            lambda: fill(HALF, "any_subset", length=2, params={"given": {1: 2}}),
            r"^given has token 2 at place 1; tokens are 0\.\.1$",
        ),
        (
            lambda: fill([1, 0], "any_subset", length=2, params={"given": {1: 1}}),
            r"^given \{1: 1\} has probability 0 under the target$",
        ),
        (lambda: text_law(HALF, 9), "^length 9 at 2 tokens"),
    ],
)
def test_bad_input_ends_in_one_line(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_a_process_that_does_not_end_is_named() -> None:
    frames = discover.find("process", "frames")
    idle = ModuleType("idle")
    vars(idle).update(vars(frames), advance=lambda state, rows, rule, u: state)
    with pytest.raises(ValueError, match=r"^process 'frames' has not filled 2 places after 16 calls$"):
        fill(HALF, idle, length=2)
