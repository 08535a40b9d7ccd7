"""NFD: frames kept are those made alone, kept numbers are the renewal's, and each part can turn the verdict."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from helpers.rules import MUTANTS, load
from torch import Tensor

from real.images import world
from real.images.data import digits
from real.studies.intervals import Estimate
from real.systems import nfd
from real.systems._record import Lab, Record

KERNEL = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 5), Fraction(4, 5)]]


@pytest.fixture(scope="module")
def model() -> world.Denoiser:
    return world.model()


@pytest.fixture(scope="module")
def first() -> Tensor:
    return world.placed(digits().held_out().images[:1], torch.tensor([[5, 9]]))[0]


def unlike(model: world.Denoiser, first: Tensor, frames: int) -> int:
    """Frames of a text of 40 actions that blocks make differently."""
    actions = nfd.held_keys(1, 0.8, 0, 40)[0]
    alone = nfd.one_by_one(model, first, actions, 0, 0)
    ahead = nfd.in_blocks(model, first, actions, frames, 0, 0)
    assert len(alone) == 39
    if len(ahead) != len(alone):
        return abs(len(ahead) - len(alone))
    return int((alone != ahead).flatten(1).any(1).sum())


@pytest.mark.parametrize("frames", nfd.BLOCKS)
def test_frames_are_those_made_alone(model: world.Denoiser, first: Tensor, frames: int) -> None:
    assert unlike(model, first, frames) == 0


def one_too_many(model: world.Denoiser, before: Tensor, action: int, noises: Tensor) -> Tensor:
    made = world.block(model, before, action, noises)
    return torch.cat([made[:1], made[:-1]]) if len(made) > 1 else made


def jointly(model: world.Denoiser, before: Tensor, action: int, noises: Tensor) -> Tensor:
    """Each frame given the last known only, moved as often as it has to be."""
    made = [world.block(model, before, action, noise[None])[0] for noise in noises]
    return torch.stack([torch.roll(m, [j * s for s in world.MOVES[action]], (-2, -1)) for j, m in enumerate(made)])


@pytest.mark.parametrize("wrong", [one_too_many, jointly])
def test_another_sampler_in_a_block_is_seen(
    model: world.Denoiser, first: Tensor, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other:
        block, noise, opened, ACTIONS = staticmethod(wrong), world.noise, world.opened, world.ACTIONS

    actions = nfd.held_keys(1, 0.8, 0, 40)[0]
    alone = nfd.one_by_one(model, first, actions, 0, 0)
    monkeypatch.setattr(nfd, "world", Other)
    ahead = nfd.in_blocks(model, first, actions, 4, 0, 0)
    assert (alone != ahead).any()


def test_noise_of_a_place_in_the_block_is_seen(
    model: world.Denoiser, first: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions = nfd.held_keys(1, 0.8, 0, 40)[0]
    alone = nfd.one_by_one(model, first, actions, 0, 0)
    monkeypatch.setattr(world, "noise", lambda seed, text, now, real=world.noise: real(seed, text, now % 4))
    assert (alone != nfd.in_blocks(model, first, actions, 4, 0, 0)).any()


def test_a_frame_kept_under_the_wrong_action_is_seen(
    model: world.Denoiser, first: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nfd, "process", load(MUTANTS / "process" / "frames_one_too_many.py"))
    assert unlike(model, first, 4) > 0


def test_a_frame_kept_too_many_is_seen(model: world.Denoiser, first: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    real = nfd.passes

    def more(actions: Any, frames: int) -> Any:
        for state, after in real(actions, frames):
            yield state, after._replace(filled=after.filled + (state.filled > 0))

    monkeypatch.setattr(nfd, "passes", more)
    assert unlike(model, first, 4) > 0


@pytest.mark.fast
@pytest.mark.parametrize("persistence", nfd.PERSISTENCE)
def test_kept_frames_are_the_renewals(persistence: float) -> None:
    actions = nfd.held_keys(300, persistence, 1)
    stays = (actions[:, 1:] == actions[:, :-1]).mean()
    assert abs(stays - persistence) < 4 * np.sqrt(persistence * (1 - persistence) / actions[:, 1:].size)
    for frames in nfd.SHOWN:
        found = nfd.kept(actions, frames)
        runs = found.frames.sum() / found.blocks.sum()
        spread = frames / np.sqrt(found.blocks.sum())
        assert abs(runs - (1 - persistence**frames) / (1 - persistence)) < 2 * spread


@pytest.mark.fast
def test_kept_frames_by_hand() -> None:
    actions = np.array([[1, 1, 1, 2, 2, 0, 0, 0, 0]])
    # Blocks of 3 from action 0: 1 1 1 | 2 2 | 0 0 0 | 0, where the last has no room for three.
    assert [int(x[0]) for x in nfd.kept(actions, 3)] == [8, 3]
    assert [int(x[0]) for x in nfd.kept(actions, 1)] == [8, 8]


@pytest.mark.fast
def test_joint_frames_are_biased_by_what_they_do_not_see() -> None:
    assert nfd.joint_bias(KERNEL) == Fraction(33, 160)
    assert nfd.joint_bias([[Fraction(1, 3), Fraction(2, 3)]] * 2) == 0


def test_no_digit_hides_its_action() -> None:
    assert nfd.alike(digits().images) == 0
    blank = torch.zeros(1, 64, dtype=torch.int64)
    assert nfd.alike(torch.cat([digits().images[:3], blank])) == 1


def test_an_answer_is_the_action_of_the_frame(first: Tensor) -> None:
    actions = np.array([0, 2, 2, 1, 3])
    frames, now = [], first
    for action in actions[:-1]:
        now = world.moved(now, int(action))
        frames.append(now)
    assert nfd.answering(torch.stack(frames), first, actions).all()
    assert not nfd.answering(torch.stack(frames), first, (actions + 1) % 4).any()


def test_frames_show_their_action(model: world.Denoiser, first: Tensor) -> None:
    actions = nfd.held_keys(1, 0.5, 3)[0]
    assert nfd.answering(nfd.one_by_one(model, first, actions, 0, 0)[:, -1], first, actions).mean() > 0.9


def test_the_best_block_is_chosen_on_other_texts() -> None:
    kept = {n: nfd.Kept(np.full(8, 10.0 * n), np.full(8, 10.0)) for n in nfd.BLOCKS}
    cost = {n: np.full(8, 1.0) for n in nfd.BLOCKS}
    cost[2][0::2], cost[2][1::2] = 0.1, 4.0  # fast where it is chosen, slow where it is asked
    number, speed = nfd.best(kept, cost)
    assert number == 2
    assert speed.value == pytest.approx(0.5)


def held(**changed: Estimate | float) -> Record:
    exact = {"frames unlike those made alone": 0.0, "digits that two actions move alike": 0.0}
    measured = {nfd.HEADLINE: Estimate(1.3, 1.2, 1.4)}
    measured |= {f"frames that show their action, persistence {rho}": Estimate(1, 1, 1) for rho in nfd.PERSISTENCE}
    for frames in nfd.SHOWN:
        for rho in nfd.PERSISTENCE:
            label = f"{frames} frames, persistence {rho}"
            exact[f"kept by the formula, {label}"] = 2.0
            measured[f"kept, {label} (all nine at 95 %)"] = Estimate(2.1, 1.9, 2.3)
    for name, value in changed.items():
        (measured if isinstance(value, Estimate) else exact)[name] = value  # type: ignore[assignment]
    return Record(exact, measured, {})


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (nfd.HEADLINE, Estimate(1.3, 1.2, 1.4), "shows"),
        (nfd.HEADLINE, Estimate(1.1, 0.9, 1.3), "does not show"),
        (nfd.HEADLINE, Estimate(0.9, 0.8, 0.99), "contradicts"),
        ("frames unlike those made alone", 1.0, "contradicts"),
        ("digits that two actions move alike", 1.0, "does not show"),
        ("frames that show their action, persistence 0.5", Estimate(0.9, 0.85, 0.96), "does not show"),
        ("kept by the formula, 4 frames, persistence 0.8", 1.8, "does not show"),
    ],
)
def test_every_part_turns_the_verdict(name: str, value: Estimate | float, said: str) -> None:
    assert nfd.verdict(held(**{name: value})) == said


@pytest.mark.slow
def test_a_part_of_the_record_runs() -> None:
    record = nfd.run(Lab(share=0.15))
    assert record.exact["frames unlike those made alone"] == 0
    assert record.exact["frames compared"] == 8 * 3 * 2 * 60
    assert record.measured[nfd.HEADLINE].value > 0
