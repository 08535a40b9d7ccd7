"""NFD: frames kept are those made alone, kept numbers are the renewal's, and each part can turn the verdict."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.records import with_numbers
from helpers.rules import MUTANTS, load
from torch import Tensor

from real.papers.lab.contract import Lab, Record
from real.papers.models.images import world
from real.papers.models.images.data import digits
from real.papers.systems import nfd
from real.studies.intervals import Estimate

KERNEL = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 5), Fraction(4, 5)]]
ACTIONS = nfd.held_keys(1, 0.8, 0, 40)[0]


@pytest.fixture(scope="module")
def model() -> world.Denoiser:
    return world.model()


@pytest.fixture(scope="module")
def first() -> Tensor:
    return world.placed(digits().held_out().images[:1], torch.tensor([[5, 9]]))[0]


@pytest.fixture(scope="module")
def alone(model: world.Denoiser, first: Tensor) -> Tensor:
    """The frames of a text of 40 actions, made one by one."""
    made = nfd.one_by_one(model, first, ACTIONS, 0, 0)
    assert len(made) == 39
    return made


def unlike(model: world.Denoiser, first: Tensor, alone: Tensor, frames: int) -> int:
    """Frames that blocks make differently."""
    ahead = nfd.in_blocks(model, first, ACTIONS, frames, 0, 0)
    if len(ahead) != len(alone):
        return abs(len(ahead) - len(alone))
    return int((alone != ahead).flatten(1).any(1).sum())


@pytest.mark.parametrize("frames", nfd.BLOCKS)
def test_frames_are_those_made_alone(model: world.Denoiser, first: Tensor, alone: Tensor, frames: int) -> None:
    assert unlike(model, first, alone, frames) == 0


def one_too_many(model: world.Denoiser, before: Tensor, action: int, noises: Tensor) -> Tensor:
    made = world.block(model, before, action, noises)
    return torch.cat([made[:1], made[:-1]]) if len(made) > 1 else made


def jointly(model: world.Denoiser, before: Tensor, action: int, noises: Tensor) -> Tensor:
    """Each frame given the last known only, moved as often as it has to be."""
    made = [world.block(model, before, action, noise[None])[0] for noise in noises]
    return torch.stack([torch.roll(m, [j * s for s in world.MOVES[action]], (-2, -1)) for j, m in enumerate(made)])


@pytest.mark.parametrize("wrong", [one_too_many, jointly])
def test_another_sampler_in_a_block_is_seen(
    model: world.Denoiser, first: Tensor, alone: Tensor, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other:
        block, noise, opened, ACTIONS = staticmethod(wrong), world.noise, world.opened, world.ACTIONS

    monkeypatch.setattr(nfd, "world", Other)
    assert (alone != nfd.in_blocks(model, first, ACTIONS, 4, 0, 0)).any()


def test_noise_of_a_place_in_the_block_is_seen(
    model: world.Denoiser, first: Tensor, alone: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "noise", lambda seed, text, now, real=world.noise: real(seed, text, now % 4))
    assert (alone != nfd.in_blocks(model, first, ACTIONS, 4, 0, 0)).any()


def test_a_frame_kept_under_the_wrong_action_is_seen(
    model: world.Denoiser, first: Tensor, alone: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nfd, "process", load(MUTANTS / "process" / "frames_one_too_many.py"))
    assert unlike(model, first, alone, 4) > 0


def test_a_frame_kept_too_many_is_seen(
    model: world.Denoiser, first: Tensor, alone: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = nfd.passes

    def more(actions: Any, frames: int) -> Any:
        for state, after in real(actions, frames):
            yield state, after._replace(filled=after.filled + (state.filled > 0))

    monkeypatch.setattr(nfd, "passes", more)
    assert unlike(model, first, alone, 4) > 0


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


def test_kept_frames_by_hand() -> None:
    actions = np.array([[1, 1, 1, 2, 2, 0, 0, 0, 0]])
    # Blocks of 3 from action 0: 1 1 1 | 2 2 | 0 0 0 | 0, where the last has no room for three.
    assert [int(x[0]) for x in nfd.kept(actions, 3)] == [8, 3]
    assert [int(x[0]) for x in nfd.kept(actions, 1)] == [8, 8]


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


def test_seconds_are_medians_over_turns_in_which_lengths_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: a block takes as long as it has frames, but in the first turn of the first text."""
    clock, made = [0.0], list[int]()

    def block(model: Any, before: Tensor, action: int, noises: Tensor) -> None:
        made.append(len(noises))
        clock[0] += len(noises) * (100 if len(made) <= len(nfd.BLOCKS) else 1)

    monkeypatch.setattr(world, "block", block)
    monkeypatch.setattr(nfd, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    found = nfd.seconds(world._untrained("world"), torch.zeros(2, 16, 16), 0, turns=3)
    assert {frames: spent.tolist() for frames, spent in found.items()} == {n: [n, n] for n in nfd.BLOCKS}
    assert made == [*nfd.BLOCKS] * 6


def test_speed_delay_and_share_discarded_are_those_of_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = {frames: 0.8 + 0.2 * frames for frames in nfd.BLOCKS}
    monkeypatch.setattr(nfd, "COMPARED", 2)
    monkeypatch.setattr(nfd, "BLOCKS", (1, 2, 4, 8))
    monkeypatch.setattr(
        nfd, "seconds", lambda model, firsts, seed: {n: np.full(len(firsts), spent) for n, spent in cost.items()}
    )
    found = nfd.run(Lab(share=0.0)).measured
    for block in BLOCKS:
        frames = int(block.split()[0])
        kept = found[f"kept, {block} (all nine at 95 %)"].value
        assert found[f"discarded, {block}"].value == pytest.approx(1 - kept / frames, abs=5e-3)
        assert found[f"speed, {block}"].value == pytest.approx(kept / cost[frames], rel=1e-2)
        assert found[f"delay after a changed action, {frames} frames"].value == pytest.approx(cost[frames])


BLOCKS = [f"{frames} frames, persistence {rho}" for frames in nfd.SHOWN for rho in nfd.PERSISTENCE]
SHOWS = Record(
    {
        "frames unlike those made alone": 0.0,
        "digits that two actions move alike": 0.0,
        **{f"kept by the formula, {block}": 2.0 for block in BLOCKS},
    },
    {
        nfd.HEADLINE: Estimate(1.3, 1.2, 1.4),
        **{f"frames that show their action, persistence {rho}": Estimate(1, 1, 1) for rho in nfd.PERSISTENCE},
        **{f"kept, {block} (all nine at 95 %)": Estimate(2.1, 1.9, 2.3) for block in BLOCKS},
    },
    {},
)


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
    assert nfd.verdict(with_numbers(SHOWS, **{name: value})) == said


@pytest.mark.slow
def test_a_part_of_the_record_runs() -> None:
    record = nfd.run(Lab(share=0.15))
    assert record.exact["frames unlike those made alone"] == 0
    assert record.exact["frames compared"] == 8 * 3 * 2 * 60
    assert record.measured[nfd.HEADLINE].value > 0
