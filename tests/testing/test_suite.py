"""lossless_suite goes on to random small laws: what the standard cases miss is found, shrunk, and found again."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from specsim.conform import SamplingParams, Subject
from specsim.testing import lossless_suite
from specsim.testing.search import searched
from specsim.types import Array


def right(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Rejection of one draft."""
    x = int(drafts[0])
    rest = (p - q).clip(0)
    return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=rest / rest.sum()))


def wrong_on_coins(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Right with three tokens, as the standard cases have them; takes the draft if there are two."""
    return int(drafts[0]) if len(p) == 2 else right(p, q, drafts, random)


def breaks_on_certainty(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """No answer where the target is certain of two tokens' one."""
    if len(p) == 2 and p.max() == 1:
        raise ZeroDivisionError("log of nothing")
    return right(p, q, drafts, random)


def suite_of(run: Any, **facts: Any) -> dict[str, Any]:
    """The tests that the decorator makes, by name."""
    before = set(globals())
    lossless_suite(**{"kind": "step", "sizes": (1,), **facts})(run)
    made = set(globals()) - before
    return {name.removeprefix(f"test_{run.__name__}_"): globals().pop(name) for name in made}


def outcome(test: Any) -> tuple[str, str]:
    """What a test says, and in how many words."""
    try:
        test()
    except AssertionError as error:
        return str(error), "\n".join(error.__notes__)
    return "passed", ""


def test_what_the_standard_cases_miss_is_found_and_shrunk() -> None:
    assert outcome(suite_of(wrong_on_coins, examples=0)["marginal"]) == ("passed", "")
    words, note = outcome(suite_of(wrong_on_coins)["marginal"])
    assert words.startswith("convicted        marginal    scripted")
    assert "V=2, 1 draft" in words
    # The simplest laws that differ: each is certain of one token.
    first, second = "[[1, 0], [1, 0]]", "[[0, 1], [0, 1]]"
    assert any(f"p = {p}\n  q = {q}" in note for p, q in ((first, second), (second, first)))
    assert outcome(suite_of(wrong_on_coins)["marginal"]) == (words, note), "the same laws every time"


def test_a_right_rule_passes() -> None:
    for name in ("marginal", "degenerate"):
        assert outcome(suite_of(right)[name]) == ("passed", "")


def test_what_breaks_is_told() -> None:
    words, _ = outcome(suite_of(breaks_on_certainty)["marginal"])
    assert words.startswith("broken")
    assert "raised ZeroDivisionError: log of nothing" in words


def wrong_pairs(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Two tokens, two drafts: the second is never tested."""
    for i, x in enumerate(drafts):
        if (i == 0 or p.shape[1] > 2) and not random.random() * q[i, x] < p[i, x]:
            rest = (p[i] - q[i]).clip(0)
            return i, int(random.choice(p.shape[1], p=rest / rest.sum()))
    return len(drafts), int(random.choice(p.shape[1], p=p[-1]))


@pytest.mark.slow
def test_joint_laws_are_searched() -> None:
    words, _ = outcome(suite_of(wrong_pairs, kind="chain", sizes=(1, 2))["joint"])
    assert "V=2, 2 drafts" in words


def wrong_rows(draft: Any, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> Any:
    """Rows of a law that is certain are handed over flat, if there are two tokens."""
    text, rows = tuple(prompt), []
    for _ in range(gamma):
        law = draft(text)
        rows.append(np.array([0.5, 0.5]) if len(law) == 2 else law)
        text = (*text, int(random.choice(len(law), p=law)))
    return text[len(prompt) :], np.array(rows)


@pytest.mark.slow
def test_contracts_are_searched() -> None:
    words, _ = outcome(suite_of(wrong_rows, kind="drafter")["contract"])
    assert words.startswith("convicted        contract")


def right_rows(draft: Any, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> Any:
    """Draws from the rows that are handed over."""
    text, rows = tuple(prompt), []
    for _ in range(gamma):
        rows.append(draft(text))
        text = (*text, int(random.choice(len(rows[-1]), p=rows[-1])))
    return text[len(prompt) :], np.array(rows)


@pytest.mark.parametrize(
    ("kind", "name", "run"),
    [
        ("step", "marginal", right),
        ("chain", "joint", lambda p, q, drafts, random: (0, random.choice(p.shape[1], p=p[0]))),
        ("drafter", "contract", right_rows),
        ("step", "greedy", None),
    ],
)
def test_what_is_searched(kind: Any, name: str, run: Any) -> None:
    """Random laws reach the subject, if the property is about all laws."""
    asked: list[int] = []

    def counted(*given: Any) -> Any:
        asked.append(1)
        return run(*given)

    assert searched(Subject("right", kind, counted, sizes=(1,)), name, examples=3, budget=9) is None
    assert bool(asked) is (run is not None)


def test_lookups_are_searched_with_certain_drafts() -> None:
    def lookup(p: Array, q: None, drafts: Array, random: Any) -> int:
        return int(random.choice(len(p), p=p))

    assert (
        searched(Subject("lookup", "step", lookup, sizes=(1,), takes_q=False), "marginal", examples=5, budget=9) is None
    )


def test_frequencies_are_not_searched() -> None:
    def hidden(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return wrong_on_coins(p, q, drafts, np.random.Generator(np.random.PCG64(int(float(random.random()) * 2**53))))

    assert searched(Subject("hidden", "step", hidden, sizes=(1,)), "marginal", examples=5, budget=9) is None


def test_without_hypothesis_the_standard_cases_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert outcome(suite_of(wrong_on_coins)["marginal"]) == ("passed", "")
    assert outcome(suite_of(right)["marginal"]) == ("passed", "")


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="examples"):
        lossless_suite(kind="step", examples=-1)
