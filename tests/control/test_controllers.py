"""What each controller decides, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.control import block_lengths, row_signals
from specsim.control._confidence import INPUTS
from specsim.types import Signals

ROWS = [[0.8, 0.2], [0.5, 0.5], [0.9, 0.1], [0.6, 0.4]]
BLOCK = row_signals(ROWS, [0, 1, 1, 0], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("name", "params", "drafts"),
    [
        ("static", {"gamma": 1}, 1),
        ("static", {"gamma": 3}, 3),
        ("static", {"gamma": 9}, 4),
        ("threshold", {"eta": 0.6}, 2),
        ("threshold", {"eta": 0.5}, 4),
        ("threshold", {"eta": 0.5, "signal": "own"}, 3),
        ("threshold", {"eta": 1}, 1),
        ("survival", {"theta": 0.4}, 3),  # 0.8, 0.4, 0.36
        ("survival", {"theta": 0.3}, 4),
        ("survival", {"theta": 0.3, "signal": "own"}, 3),  # 0.8, 0.4, 0.04
        ("heuristic", {"first": 2}, 2),
        ("roc", {"eta": 0.5}, 3),
        ("clairvoyant", {"kept": (3,)}, 3),
        ("clairvoyant", {}, 1),
    ],
)
def test_drafts_of_a_block(name: str, params: dict[str, Any], drafts: int) -> None:
    assert block_lengths(name, BLOCK, params=params) == drafts


def test_a_network_reads_twelve_signals_or_thirteen() -> None:
    own = np.zeros((INPUTS + 1, 1))
    own[-1] = 8
    told = {"weights": [(own, [-4.0])], "theta": 0.5}  # the drawn token's probability against 0.5
    assert block_lengths("classifier", BLOCK, params=told) == 3
    assert block_lengths("survival", BLOCK, params=told) == 2  # 0.92, 0.92 * 0.5
    deep = [(np.eye(INPUTS, 3), np.zeros(3)), (np.ones((3, 1)), [-0.75])]  # all three largest, which sum to 1
    assert block_lengths("classifier", BLOCK, params={"weights": deep, "theta": 0.56}) == 4
    assert block_lengths("classifier", BLOCK, params={"weights": deep, "theta": 0.57}) == 1


def test_the_heuristic_adds_two_and_takes_one() -> None:
    module = discover.find("control", "heuristic")
    state, found = module.start((2,), first=2), []
    for kept in ([2, 0], [4, 1], [0, 0], [0, 0]):
        drafted = state.length
        state = module.learn(state, np.array(kept), drafted)
        found.append(state.length.tolist())
    assert found == [[4, 1], [6, 3], [5, 2], [4, 1]]
    assert module.learn(state, np.array([0, 0]), np.array([0, 0])).length.tolist() == [4, 1]


def test_a_block_kept_whole_is_one_whose_drafts_were_all_kept() -> None:
    """One that was cut before the length counts, too: it kept what it had."""
    module = discover.find("control", "heuristic")
    state = module.learn(module.start((3,), first=4), np.array([2, 2, 4]), np.array([2, 3, 4]))
    assert state.length.tolist() == [6, 3, 6]


def in_turn(name: str, kept: list[int], params: dict[str, Any]) -> list[int]:
    """Lengths of blocks with these rows that follow each other in one text: see, more and learn, by hand."""
    module = discover.find("control", name)
    state, found = module.start((), **params), []
    for fate in kept:
        drafted = 1
        for i in range(len(ROWS)):
            now = Signals(*(w[i] for w in BLOCK))
            state = module.see(state, now) if hasattr(module, "see") else state
            if i + 1 == len(ROWS) or not module.more(state, now):
                break
            drafted += 1
        found.append(drafted)
        state = module.learn(state, np.array(min(fate, drafted)), np.array(drafted))
    return found


@pytest.mark.parametrize(
    ("name", "params", "kept", "lengths"),
    [
        ("survival", {"theta": 0.4}, [4, 4, 4], [3, 3, 3]),  # a product that went on would stop at the first draft
        ("heuristic", {"first": 1}, [4, 0, 4], [1, 3, 2]),
        ("roc", {"eta": 0.5}, [4, 1, 4], None),
    ],
)
def test_lengths_of_blocks_that_follow_each_other(
    name: str, params: dict[str, Any], kept: list[int], lengths: list[int] | None
) -> None:
    """A controller learns from the drafts that it made, and from no others."""
    blocks = Signals(*(np.stack([w] * len(kept)) for w in BLOCK))
    found = block_lengths(name, blocks, params=params, kept=kept).tolist()
    assert found == in_turn(name, kept, params)
    assert lengths is None or found == lengths


@pytest.mark.parametrize("name", ["survival", "roc"])
def test_a_loop_that_shows_no_signals_is_told(name: str) -> None:
    module = discover.find("control", name)
    with pytest.raises(ValueError, match=f"^controller '{name}' was not shown the last draft: call `see` after each"):
        module.more(module.start(()), row_signals([0.5, 0.5], 0))


def test_lengths_of_many_blocks_are_those_of_each() -> None:
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.full(7, 0.3), (6, 5))
    recorded = row_signals(rows, rows.argmax(-1), np.broadcast_to(np.arange(1, 6), (6, 5)))
    for name, module in discover.rules("control").items():
        for params in discover.process_cases(module):
            every = block_lengths(name, recorded, params=params)
            one = [block_lengths(name, Signals(*(w[i] for w in recorded)), params=params) for i in range(6)]
            assert every.tolist() == one, name


def never(*args: Any) -> Any:
    raise AssertionError("work was done")


WIDE = [(np.zeros((INPUTS, 2)), np.zeros(2))]


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("threshold", {"eta": 1.5}, r"^eta is 1\.5; it must lie in \[0, 1\]$"),
        ("threshold", {"eta": -0.1}, r"^eta is -0\.1; it must lie in \[0, 1\]$"),
        ("threshold", {"signal": "p"}, "^signal 'p' is unknown; known: top, own$"),
        ("survival", {"theta": 2}, r"^theta is 2; it must lie in \[0, 1\]$"),
        ("classifier", {"theta": float("nan")}, r"^theta is nan; it must lie in \[0, 1\]$"),
        ("roc", {"eta": 7}, r"^eta is 7; it must lie in \[0, 1\]$"),
        ("static", {"gamma": 0}, "^gamma must be at least 1, got 0$"),
        ("heuristic", {"first": 0}, "^first must be at least 1, got 0$"),
        ("heuristic", {"down": -1}, "^down must be at least 0, got -1$"),
        ("clairvoyant", {"kept": (1, -1)}, r"^kept\[1\] is token -1"),
        ("classifier", {"weights": []}, "^weights must be a sequence of at least one pair"),
        ("classifier", {"weights": [1]}, r"^weights\[0\] must be a pair"),
        ("classifier", {"weights": [(np.zeros((3, 1)), [0.0])]}, r"^weights\[0\]\[0\] has shape \(3, 1\); it m"),
        ("classifier", {"weights": [(np.zeros((INPUTS, 1)), [0.0, 1])]}, r"^weights\[0\]\[1\] has shape \(2,\); it "),
        ("classifier", {"weights": WIDE}, r"^weights\[0\]\[0\] has 2 columns; the last layer has 1$"),
        ("survival", {"weights": [*WIDE, *WIDE]}, r"^weights\[1\]\[0\] has shape \(12, 2\); it must have 2 rows$"),
        ("static", {"eta": 0.5}, "^controller 'static' has no parameter 'eta'; known: gamma$"),
        ("statik", {}, "^controller 'statik' is unknown; did you mean 'static'[?] controllers: clairvoyant,"),
        ("jacobi.py", {}, "^rule file jacobi.py does not exist$"),
    ],
)  # fmt: skip
def test_bad_parameters_end_in_one_line(name: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        block_lengths(name, BLOCK, params=params)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: row_signals([0.5, 0.6], 0), r"^rows sums to 1\.1"),
        (lambda: row_signals([0.5, 0.5], 2), "^tokens is token 2, outside the vocabulary"),
        (lambda: row_signals([[0.5, 0.5]], 0), r"^tokens have shape \(\); rows are \(1,\)$"),
        (lambda: row_signals([0.5, 0.5], 0, 0), "^position must be integers from 1 on$"),
        (lambda: block_lengths("static", row_signals([0.5, 0.5], 0)), "^recorded must hold at least one draft"),
        (lambda: block_lengths(discover.find("process", "jacobi"), BLOCK), "^rule 'jacobi' is a process, not a con"),
        (lambda: discover.find("step", discover.find("objective", "tvd")), "^rule 'tvd' is an objective, not a step "),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()
