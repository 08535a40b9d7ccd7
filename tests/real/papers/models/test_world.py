"""The world of frames: what an action does, and blocks whose frames are those made alone, to the last bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from real.papers.models.images import world
from real.papers.models.images.data import digits


def alone(model: world.Denoiser, before: Tensor, action: int, noises: Tensor) -> Tensor:
    """The sampler written down for one frame: step after step, each beside the frame before as the step left it."""
    made = []
    for noise in noises:
        left, now = torch.zeros(1, 16, 16), []
        for step in range(world.STEPS):
            with torch.no_grad():
                left = model(
                    left + world.NOISE[step] * noise[step],
                    before[step][None],
                    torch.tensor([action]),
                    torch.tensor([step]),
                )
            now.append(left[0])
        before = torch.stack(now)
        made.append(before)
    return torch.stack(made)


def noises(n: int, seed: int = 0) -> Tensor:
    return torch.stack([world.noise(seed, 0, time) for time in range(n)])


def first(which: int = 0) -> Tensor:
    return world.opened(world.placed(digits().held_out().images[which : which + 1], torch.tensor([[3, 14]]))[0])


@pytest.mark.parametrize("frames", range(1, 9))
def test_a_block_is_its_frames_made_alone(frames: int) -> None:
    model = world.model()
    expected = alone(model, first(), 2, noises(frames))
    assert torch.equal(world.block(model, first(), 2, noises(frames)), expected)


def test_a_block_goes_on_from_any_of_its_frames() -> None:
    model = world.model()
    whole = world.block(model, first(), 1, noises(6))
    rest = world.block(model, whole[2], 1, noises(6)[3:])
    assert torch.equal(rest, whole[3:])


def test_blocks_take_one_pass_for_each_diagonal() -> None:
    model, asked = world.model(), []
    handle = model.register_forward_hook(lambda module, given, out: asked.append(len(out)))
    world.block(model, first(), 0, noises(8))
    handle.remove()
    assert asked == [1, 2, 3, 4, 4, 4, 4, 4, 3, 2, 1]


def test_noise_belongs_to_a_time_and_reaches_the_frame() -> None:
    assert torch.equal(world.noise(0, 1, 7), world.noise(0, 1, 7))
    seen = {world.noise(*key).sum().item() for key in ((0, 1, 7), (1, 1, 7), (0, 2, 7), (0, 1, 8))}
    assert len(seen) == 4
    model = world.model()
    assert not torch.equal(
        world.block(model, first(), 0, noises(1))[0, -1], world.block(model, first(), 0, noises(1, seed=1))[0, -1]
    )


def test_a_frame_moves_by_its_action() -> None:
    model = world.model()
    for action in range(world.ACTIONS):
        made = world.block(model, first(), action, noises(1))[0, -1]
        apart = [float(((made - world.moved(first()[0], other)) ** 2).mean()) for other in range(world.ACTIONS)]
        assert apart.index(min(apart)) == action


def test_a_digit_goes_round_the_torus() -> None:
    frame = first()[0]
    assert frame.sum() == pytest.approx(float(digits().held_out().images[0].sum()) / 16)
    for action, back in ((0, 1), (1, 0), (2, 3), (3, 2)):
        assert torch.equal(world.moved(world.moved(frame, action), back), frame)
        again = frame
        for _ in range(16):
            again = world.moved(again, action)
        assert torch.equal(again, frame)


def test_shipped_weights_are_trained() -> None:
    assert world.held_out("world", world.model()) < 0.01


def test_a_few_steps_train(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(world.RECIPES, "world", world.RECIPES["world"] | {"steps": 10, "ahead": 1})
    before = world.held_out("world", world._untrained("world"))
    assert world.held_out("world", world.train("world")) < 0.8 * before


@pytest.mark.parametrize(
    ("action", "frames", "said"),
    [(4, 1, "action is 4; the world has 0 to 3"), (-1, 1, "action is -1"), (0, 0, "frames must be at least 1")],
)
def test_bad_blocks_end_in_one_line(action: int, frames: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        world.block(world._untrained("world"), first(), action, torch.zeros(frames, 4, 16, 16))


def test_an_unknown_world_is_said() -> None:
    with pytest.raises(ValueError, match="'earth' is no world; known: world"):
        world.model("earth")
