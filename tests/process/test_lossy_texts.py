"""What is not lossless has its exact bias: wrong processes, rules that were shipped, tokens in parallel uncorrected."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction as F
from typing import Any

import pytest
from helpers.rules import MUTANTS, load

from specsim import fill, guarantee, text_law
from specsim.process import jacobi


def binary_table(seed: int, length: int = 3) -> Any:
    """A law of two tokens after every text, from weights 1..9."""
    drawn, table = random.Random(seed), {}
    for prefix in (text for n in range(length) for text in itertools.product(range(2), repeat=n)):
        weights = [drawn.randint(1, 9) for _ in range(2)]
        table[prefix] = [F(w, sum(weights)) for w in weights]
    return table.__getitem__


@pytest.mark.parametrize(
    ("mutant", "bias", "passes"),
    [("jacobi_relabel", F(9, 65), "0.632"), (None, 0, "0.740")],
)
def test_a_token_with_the_newest_law_takes_fewer_passes_and_is_biased(mutant: str | None, bias: F, passes: str) -> None:
    process = load(MUTANTS / "process" / f"{mutant}.py") if mutant else "jacobi"
    found = fill(binary_table(3), process, length=3, params={"window": 2})
    assert found.bias == bias
    assert f"{float(found.passes / 3):.3f}" == passes


@pytest.mark.parametrize(
    ("rule", "params", "bias", "passes"),
    [
        ("lumina", None, F(30209, 139425), "0.7060"),
        ("lumina", {"clamp": 1}, F(909, 4225), "0.7070"),
        ("all_kept", None, None, "0.3333"),
    ],
)
def test_what_lumina_ships_changes_texts(rule: str, params: Any, bias: F | None, passes: str) -> None:
    """With fewer passes than the 0.740 of what is lossless."""
    told = {"length": 3, "rule": rule, "rule_params": params, "params": {"window": 2}}
    with pytest.raises(ValueError, match=rf"^rule '{rule}' is lossy \(a table with .*, bias \(TV\) .*lossy='{rule}'$"):
        fill(binary_table(3), "jacobi", **told)
    found = fill(binary_table(3), "jacobi", lossy=rule, **told)
    assert f"{float(found.passes / 3):.4f}" == passes
    assert found.bias == bias or (bias is None and found.bias > F(1, 2))
    assert found.bias == sum(
        max(mass - found.law.get(text, F(0)), F(0)) for text, mass in text_law(binary_table(3), 3).items()
    )


@pytest.mark.parametrize(("params", "bias"), [({"clamp": 1}, "0.255"), (None, "0.257")])
def test_without_the_residual_where_every_new_slot_is_the_initialisers(
    params: Any, bias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same table in a text that goes on, if a pass's last row makes no slot: the bias is larger."""
    original, table = jacobi._with_next_slots, binary_table(3)
    monkeypatch.setattr(
        jacobi, "_with_next_slots", lambda state, rows, kept, behind, u: original(state, rows, kept, behind - 1, u)
    )
    told: dict[str, Any] = {"length": 5, "params": {"window": 2, "first": "up", "width": 5}}
    for rule, found in (("tokenwise", "0.000"), ("lumina", bias)):
        told |= {"rule": rule, "lossy": rule, "rule_params": params if rule == "lumina" else None}
        law = fill(lambda t: table(t) if len(t) < 3 else [F(1, 2)] * 2, "jacobi", **told).law
        first: dict[tuple[int, ...], F] = {}
        for text, mass in law.items():
            first[text[:3]] = first.get(text[:3], F(0)) + mass
        off = sum(max(mass - first.get(text, F(0)), F(0)) for text, mass in text_law(table, 3).items())
        assert f"{float(off):.3f}" == found


def test_tokens_in_parallel_without_correction_are_biased() -> None:
    """Any-subset's drafts alone: the published form with every draft kept."""
    told: dict[str, Any] = {"rule": "all_kept", "lossy": "all_kept", "params": {"slots": 3, "bonus": False}}
    assert f"{float(fill(binary_table(5), 'any_subset', length=3, **told).bias):.3f}" == "0.225"


def test_frames_of_a_block_made_jointly_are_biased() -> None:
    """Two frames of a world with two states under a held action, each given the last clean frame only."""
    moves = [[F(3, 4), F(1, 4)], [F(1, 5), F(4, 5)]]
    told: dict[str, Any] = {"rule": "all_kept", "lossy": "all_kept", "params": {"slots": 2, "bonus": False}}
    found = fill(lambda frames: moves[frames[-1] if frames else 0], "any_subset", length=2, **told)
    assert found.bias == F(33, 160)


@pytest.mark.parametrize("rule", ["lumina", "all_kept", "typical", "greedy", "lantern"])
def test_the_verdict_convicts(rule: str) -> None:
    verdict = guarantee(rule, process="jacobi")
    assert not verdict.lossless
    assert verdict.bias > 0
    assert "a table with" in verdict.reason


@pytest.mark.parametrize("rule", ["lumina", "greedy", "typical"])
def test_a_greedy_target_may_be_verified_by_what_is_lossy_otherwise(rule: str) -> None:
    assert guarantee(rule, process="jacobi", temperature=0).lossless
    found = fill(lambda text: [0, 1] if sum(text) % 2 else [1, 0], "jacobi", length=4, rule=rule)
    assert (found.law, found.bias) == ({(0, 0, 0, 0): 1}, 0)


def test_the_name_must_be_the_rules_own() -> None:
    with pytest.raises(ValueError, match=r"^lossy must be the name of the rule, 'lumina', got 'typical'$"):
        fill([0.5, 0.5], "jacobi", length=2, rule="lumina", lossy="typical")
    assert fill([0.5, 0.5], "jacobi", length=2, lossy="tokenwise").bias == 0


def test_a_wrong_process_is_convicted() -> None:
    verdict = guarantee("tokenwise", process=load(MUTANTS / "process" / "jacobi_stale_keys.py"))
    assert not verdict.lossless
    assert verdict.bias >= F(1, 24)
