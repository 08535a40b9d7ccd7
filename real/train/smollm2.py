"""Drafters of SmolLM2, trained on chats that it writes and judged on prompts held out.

`specsim-real train-drafters --target smollm2` runs this. A GPU takes a minute a drafter; two cores
take hours, for which `--answered` learns from less.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from real.decode.warp import Warping
from real.draft.restricted import most_frequent
from real.models.shipped import fingerprint
from real.prompts import shipped_prompts
from real.train import loop, states
from real.train.chat_texts import Chats, write_chats
from real.train.smollm2_chats import TEXTS, Teacher, load_teacher, texts

# Prompts of the validation split whose answers drafters are judged on, and tokens of such an answer.
JUDGED, ANSWER = 24, 160
# Positions of a block at which drafters are judged: its first, second, ... draft.
OFFSETS = 4
# Largest norm of a step's gradient.
CLIP = 1.0


def trained(
    maker: Any,
    recipe: dict[str, Any],
    teacher: Teacher,
    chats: Chats,
    target_states: Tensor,
    *,
    checkpoint: Path | None = None,
    show_stage: Callable[[str], None] = loop.silent,
) -> tuple[nn.Module, loop.Fitted]:
    """Return a drafter trained by its recipe on chats, and its losses and seconds.

    Parameters
    ----------
    maker : module
        A file of `real.draft` with `network`, `reads` and `lesson`.
    recipe : dict
        One of its recipes for this target.
    teacher : Teacher
        The target.
    chats : Chats
        The texts to learn from.
    target_states : Tensor, shape (n, m, layers, hidden)
        The target's states along the chats after the layers of `reads`.
    checkpoint : Path, optional
        File of the unfinished run.
    show_stage : callable
        Called with the stage, for progress.

    Returns
    -------
    tuple
        The network in evaluation mode on the CPU; losses and seconds, those of earlier sittings
        included.
    """
    # The network, whose head has the most frequent tokens of the chats.
    device, end = teacher.target.device, teacher.tokenizer.eos_token_id
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe["seed"])
        net: nn.Module = maker.network(recipe)
    net.tokens = head_tokens(chats, recipe["tokens"], teacher.target.vocab_size, end)
    net = net.to(device)
    lesson = maker.lesson(net, teacher.target, recipe)

    # A place of a text counts if the token after it is one that the target wrote.
    weight = torch.zeros(chats.tokens.shape)
    weight[:, :-1] = chats.answered[:, 1:].float()

    def loss(step: int) -> Tensor:
        """Return the loss of a step, on random texts that its number decides."""
        rng = loop.generator(recipe["seed"], step)
        rows = torch.randint(len(chats.tokens), (recipe["batch"],), generator=rng)
        states_of_rows = target_states[rows.to(target_states.device)].to(device).float()
        value: Tensor = lesson(chats.tokens[rows].to(device), states_of_rows, rng, weight[rows].to(device))
        return value

    # Train it; the settings decide whether a checkpoint is carried on.
    settings = {
        "recipe": fingerprint(recipe),
        "target": states.identity(teacher.target),
        "texts": [*chats.tokens.shape, int(chats.answered.sum())],
        "device": device.type,
    }
    learners, schedule = [loop.adamw(net)], loop.Schedule(recipe["steps"], recipe["rate"], warmup=100)
    # "high" means TensorFloat-32 on a GPU; on a CPU nothing changes.
    precision_before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        fitted = loop.fit(
            net,
            loss,
            schedule,
            learners=learners,
            clip=CLIP,
            checkpoint=checkpoint,
            settings=settings,
            show_stage=show_stage,
        )
    finally:
        torch.set_float32_matmul_precision(precision_before)
    return net.cpu(), fitted


def head_tokens(chats: Chats, count: int, vocabulary: int, end: int) -> Tensor:
    """Return the tokens (count,) that the target wrote most often, and the end; int32, increasing."""
    counts = torch.bincount(chats.tokens[chats.answered], minlength=vocabulary)
    return torch.tensor(most_frequent(counts.numpy(), count, end), dtype=torch.int32)


def judged(
    teacher: Teacher,
    length: int = ANSWER,
    count: int = JUDGED,
    split: str = "validation",
) -> dict[float, Chats]:
    """Return the target's answers to the first prompts of a split, by temperature (1 and 0)."""
    prompts = [teacher.chat(prompt.text) for prompt in shipped_prompts("chat", split)[:count]]
    room = max(map(len, prompts)) + length
    end = teacher.tokenizer.eos_token_id
    return {
        temperature: write_chats(
            teacher.target,
            prompts,
            end,
            length=room,
            temperature=temperature,
            seed=7,
        )
        for temperature in (1.0, 0.0)
    }


def hazards(
    maker: Any,
    net: Any,
    teacher: Teacher,
    answers: dict[float, Chats],
) -> dict[str, list[float]]:
    """Return by temperature the hazards: the mean probability that draft k = 1, 2, ... of a block is accepted.

    The text stands for the accepted drafts before it.
    """
    drafter = maker.drafting(net, teacher.target)
    by_temperature = {}
    for temperature, chats in answers.items():
        # For each k: the sum of acceptances over all blocks, one from each position, and their number.
        acceptance_sum, num_blocks = np.zeros(OFFSETS), np.zeros(OFFSETS)
        for row, is_answer in zip(chats.tokens, chats.answered, strict=True):
            first = int(is_answer.nonzero()[0])
            prompt, text = row[:first].tolist(), row[is_answer].tolist()
            # Laws of both models at the tokens of the answer: p (n,), and q (n, OFFSETS), in which
            # (i, k) is the draft's law of token i + k in a block that starts at token i.
            along = drafter.along(teacher.target, prompt, text, OFFSETS, Warping(temperature))
            for k in range(min(OFFSETS, len(text))):
                # Given the text, its token is an accepted draft with probability min(q / p, 1).
                p, q = along.p[k:], along.q[: len(text) - k, k]
                acceptance_sum[k] += np.minimum(q / p, 1).sum()
                num_blocks[k] += len(p)
        by_temperature[f"T={temperature:g}"] = [float(hazard) for hazard in acceptance_sum / num_blocks]
    return by_temperature


class School:
    """Trains several drafters on the same target, chats and states, and holds answers to judge them.

    Parameters
    ----------
    device : torch.device
        Device to train on.
    work : Path
        Folder of the chats, and on a CPU of the states, too: a GPU makes them anew faster than a
        disk reads them.
    show_stage : callable
        Called with the stage, for progress.
    """

    def __init__(self, device: torch.device, work: Path, show_stage: Callable[[str], None]) -> None:
        self.teacher, self.work = load_teacher(device), work
        self.chats = texts(self.teacher, work, TEXTS, show_stage)
        self.answers = judged(self.teacher)
        self._states: dict[int, Tensor] = {}

    def states(self, layers: tuple[int, ...], show_stage: Callable[[str], None]) -> Tensor:
        """Return the states (n, m, len(layers), hidden) of the chats after these layers."""
        target, tokens = self.teacher.target, self.chats.tokens
        folder = self.work if target.device.type == "cpu" else None
        for n in layers:
            if n not in self._states:
                self._states[n] = states.cached(target, tokens, (n,), folder, show_stage)[:, :, 0]
        # The states of a single layer are a view, which takes no memory of its own.
        if len(layers) == 1:
            (layer,) = layers
            return self._states[layer].unsqueeze(2)
        return torch.stack([self._states[n] for n in layers], 2)

    def train(
        self,
        maker: Any,
        name: str,
        answered: int | None,
        checkpoint: Path | None,
        show_stage: Callable[[str], None],
    ) -> tuple[nn.Module, dict[str, Any]]:
        """Return a trained drafter and the row of its record.

        `answered` is the number of answered tokens to learn from, None for all.
        """
        # The states, whose time is recorded, then the training.
        recipe, began = maker.RECIPES[name], time.monotonic()
        chats = self.chats if answered is None else self.chats.first(answered)
        target_states = self.states(maker.reads(recipe), show_stage)[: len(chats.tokens)]
        states_s = round(time.monotonic() - began, 1)
        net, fitted = trained(
            maker,
            recipe,
            self.teacher,
            chats,
            target_states,
            checkpoint=checkpoint,
            show_stage=show_stage,
        )

        # The row of the record.
        return net, {
            "name": name,
            "recipe": recipe,
            "texts": TEXTS,
            "answered_tokens": int(chats.answered.sum()),
            "parameters": sum(weight.numel() for weight in net.parameters()),
            "states_s": states_s,
            "seconds": round(fitted.seconds, 1),
            "losses": fitted.losses,
        }
