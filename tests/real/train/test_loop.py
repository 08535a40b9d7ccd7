"""The loop of all training: stopped, carried on, refused where it cannot go on; and states of a frozen target."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_models import tiny_gemma2, tiny_llama
from torch import nn

import real
from real.models.model import from_hf, full_states
from real.train import loop, states
from real.train.loop import Schedule, adamw, fit

STEPS = 240


def learner() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def fitted(model: nn.Module, stop_at: int | None = None, bad: int | None = None, **told: Any) -> nn.Module:
    """A model trained on noise that its step decides; Ctrl-C comes within one step, another loss is not a number."""

    def loss(step: int) -> torch.Tensor:
        x = torch.randn(8, 3, generator=loop.generator(5, step))
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        value = (model(x) - x.sum(-1, keepdim=True)).square().mean()
        return value * float("nan") if step == bad else value

    fit(model, loss, Schedule(STEPS, 0.02), learners=[adamw(model)], **{"clip": 0.5, **told})
    return model


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_ctrl_c_and_on_to_the_same_weights(tmp_path: Path) -> None:
    whole, path = fitted(learner()), tmp_path / "run"
    words: list[str] = []
    with pytest.raises(KeyboardInterrupt, match="after step 131 of 240"):
        fitted(learner(), stop_at=130, checkpoint=path)
    again = fitted(learner(), checkpoint=path, show_stage=words.append)
    assert same(again, whole)
    assert words[0].startswith("step 151 of 240"), "it went on, and did not begin again"
    assert not again.training
    assert not same(fitted(learner(), clip=0.1), whole)


def test_losses_and_seconds_are_those_of_all_sittings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second a step: two sittings have the losses and the seconds of one."""
    path, done, steps = tmp_path / "run", list[loop.Fitted](), [0]
    honest, fit_once = loop.descend, loop.fit

    def counted(*told: Any, **more: Any) -> Any:
        for each in honest(*told, **more):
            steps[0] += 1
            yield each

    monkeypatch.setattr(loop, "descend", counted)
    monkeypatch.setattr(loop.time, "monotonic", lambda: float(steps[0]))
    monkeypatch.setitem(globals(), "fit", lambda *told, **more: done.append(fit_once(*told, **more)))
    fitted(learner())
    with pytest.raises(KeyboardInterrupt):
        fitted(learner(), stop_at=130, checkpoint=path)
    fitted(learner(), checkpoint=path)
    assert done[0] == done[1]
    assert [step for step, _ in done[0].losses] == [0, 50, 100, 150, 200, 239]
    assert done[0].seconds == STEPS


def test_a_loss_that_is_none_stops_with_its_step(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(ValueError, match=r"^the loss of step 30 is nan: training has stopped there$"):
        fitted(learner(), bad=30, checkpoint=path)
    assert not path.exists()
    with pytest.raises(ValueError, match=r"^the loss of step 130 is nan: .*; '.*run' keeps an earlier one$"):
        fitted(learner(), bad=130, checkpoint=path)
    held = torch.load(path, weights_only=True)
    assert held["step"] == 100
    assert all(w.isfinite().all() for w in held["model"].values())


def test_checkpoints_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        fitted(learner(), stop_at=10, checkpoint=path, settings={"texts": [4, 8]})
    for other, line in (
        ({"settings": {"texts": [4, 9]}}, r"^texts=\[4, 9\], but the unfinished run in '.*run' has texts=\[4, 8\]"),
        ({"settings": {"texts": [4, 8]}, "clip": 0.4}, "^clip=0.4, but the unfinished run"),
        ({}, "^texts=None, but the unfinished run"),
    ):
        with pytest.raises(ValueError, match=line):
            fitted(learner(), checkpoint=path, **other)
    torch.save({"step": 10}, path)
    with pytest.raises(ValueError, match=r"run' is not a checkpoint; remove it to start afresh"):
        fitted(learner(), checkpoint=path)
    path.write_bytes(b"none")
    with pytest.raises(ValueError, match=r"run' is not a checkpoint; remove it to start afresh"):
        fitted(learner(), checkpoint=path)


@pytest.mark.parametrize(
    ("schedule", "line"),
    [(Schedule(0, 0.1), "^steps must be"), (Schedule(1, 0.0), "^rate is 0.0; it must lie in")],
)
def test_bad_settings(schedule: Schedule, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        fit(learner(), lambda step: pytest.fail("work was done"), schedule)


def test_steps_are_taken_in_one_place() -> None:
    """But for a network on arrays, and runs with a time limit."""
    others = {"real/papers/lab/rollouts.py", "real/gpu/training.py"}
    root = Path(real.__file__).parent
    steps = {str(p.relative_to(root.parent)) for p in root.rglob("*.py") if ".backward()" in p.read_text("utf-8")}
    assert steps == {"real/train/loop.py", *others}


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_step_is_the_one_that_is_written_out(scale: float) -> None:
    """SGD by hand, three steps: rate of the schedule times the group's scale, gradients of norm 0.5 at most."""
    ours, plain = learner(), learner()
    group = {"params": list(ours.parameters()), "scale": scale}
    steps = loop.descend(ours, [torch.optim.SGD([group])], lambda step: loss_of(ours), Schedule(3, 0.1, 1), clip=0.5)
    assert [step for step, _ in steps] == [0, 1, 2]
    for rate in (0.1 / 2, 0.1 * 2 / 3, 0.1 / 3):
        loss_of(plain).backward()  # type: ignore[no-untyped-call]
        norm = torch.cat([w.grad.flatten() for w in plain.parameters() if w.grad is not None]).norm()
        for weight in plain.parameters():
            assert weight.grad is not None
            weight.data -= scale * rate * weight.grad * min(1.0, 0.5 / (norm + 1e-6))
            weight.grad = None
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def loss_of(model: nn.Module) -> torch.Tensor:
    x = torch.arange(12.0).reshape(4, 3)
    value: torch.Tensor = (model(x) - x.sum(-1, keepdim=True)).square().mean()
    return value


def test_states_are_the_targets_and_kept(tmp_path: Path) -> None:
    target = from_hf(tiny_llama(8, layers=3))
    tokens = torch.randint(8, (20, 6), generator=torch.Generator().manual_seed(0))
    words: list[str] = []
    found = states.cached(target, tokens, (1, -1), tmp_path, words.append)
    assert (found.shape, found.dtype) == ((20, 6, 2, 8), torch.bfloat16)
    assert words == ["states of texts 1 to 16 of 20", "states of texts 17 to 20 of 20"]
    for row, told in zip(tokens, found, strict=True):
        torch.testing.assert_close(told, full_states(target, row, (1, 3))[1].bfloat16(), atol=0.01, rtol=0.01)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["layer-1.safetensors", "layer-3.safetensors"]
    assert torch.equal(states.cached(target, tokens, (1, -1), tmp_path, lambda words: pytest.fail("again")), found)
    wider = states.cached(target, tokens, (3, 0, 1), tmp_path)
    assert torch.equal(wider[:, :, [2, 0]], found)


def test_states_of_another_target_are_refused(tmp_path: Path) -> None:
    """By a hash of its weights, whatever its shape; of other texts too."""
    target, other = (from_hf(tiny_llama(8, seed=seed)) for seed in (0, 1))
    tokens = torch.tensor([[1, 2, 3]])
    states.cached(target, tokens, (1,), tmp_path)
    with pytest.raises(ValueError, match=r"layer-1.safetensors' holds states of another target \(\w{16}, not \w{16}\)"):
        states.cached(other, tokens, (1,), tmp_path)
    with pytest.raises(ValueError, match="holds states of another text "):
        states.cached(target, tokens + 1, (1,), tmp_path)
    (tmp_path / "layer-1.safetensors").write_bytes(b"none")
    with pytest.raises(ValueError, match=r"layer-1.safetensors' holds no states"):
        states.cached(target, tokens, (1,), tmp_path)
    with pytest.raises(ValueError, match=r"^states are those of a target on the fast path"):
        states.cached(from_hf(tiny_gemma2(8, 4)), tokens, (1,), tmp_path)
    assert states.identity(target) == states.identity(from_hf(tiny_llama(8, seed=0)))
