"""Drafters of SmolLM2 trained on chats that it writes: texts, training, and acceptance on prompts held out.

`specsim-real train-drafters --target smollm2` runs this. A GPU takes a minute a drafter; two cores take hours, for
which `--answered` learns from less.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from real.decode.warp import Warping
from real.draft.restricted import most_frequent
from real.models.loading import load_model, load_tokenizer
from real.models.model import LanguageModel
from real.models.shipped import fingerprint
from real.prompts import shipped_prompts
from real.prompts.chat_template import chat_ids
from real.train import loop, states
from real.train.chat_texts import Chats, write_chats
from specsim.base.files import write_bytes

# All that decides the texts: users' turns that the target writes itself, beside the prompts of the training split,
# each answered `each` times at temperature 1 and once at 0. Of the users' turns two thirds are answered at 1.
TEXTS: dict[str, Any] = {
    "users": 18_432,
    "user_tokens": 64,
    "user_temperature": 0.8,
    "each": 12,
    "length": 320,
    "seed": 0,
}
# Texts written at once, by device: as many as its memory holds with their keys and values.
_TOGETHER = {"cpu": 64, "cuda": 2048}
# Prompts of the validation split, and tokens of an answer on which drafters are judged.
JUDGED, ANSWER = 24, 160
OFFSETS = 4
CLIP = 1.0


class Teacher(NamedTuple):
    """The target in float32, its tokenizer, and the target as it writes: in bfloat16 on a GPU."""

    target: LanguageModel
    tokenizer: Any
    writer: LanguageModel

    def chat(self, text: str) -> list[int]:
        """Return the tokens of a user's turn, up to the opening of the target's."""
        return chat_ids(self.tokenizer, text)


def teacher(device: torch.device) -> Teacher:
    """Load SmolLM2; ValueError where its package is not installed."""
    target = load_model("smollm2", device=device)
    on_gpu = device.type == "cuda"
    writer = load_model("smollm2", device=device, dtype=torch.bfloat16) if on_gpu else target
    return Teacher(target, load_tokenizer("smollm2"), writer)


def texts(who: Teacher, work: Path, recipe: dict[str, Any], said: Callable[[str], None]) -> Chats:
    """Return the chats to learn from, read from the folder where they are there and written to it where not."""
    path = work / "chats.safetensors"
    prompts = [prompt.text for prompt in shipped_prompts("chat", "train")]
    made_by = {
        "target": states.identity(who.target),
        "prompts": hashlib.sha256("\0".join(prompts).encode()).hexdigest()[:16],
        "recipe": fingerprint(recipe),
        "written_in": str(who.writer.dtype),
    }
    if path.exists():
        try:
            with safe_open(path, "pt") as file:
                if file.metadata() != made_by:
                    raise ValueError(f"{str(path)!r} holds texts of another target, recipe or number type: remove it")
                return Chats(file.get_tensor("tokens").long(), file.get_tensor("answered").bool())
        except SafetensorError:
            raise ValueError(f"{str(path)!r} holds no texts: remove it, and they are written anew") from None

    chats = _written(who, prompts, recipe, said)
    work.mkdir(parents=True, exist_ok=True)
    held = {"tokens": chats.tokens.to(torch.int32), "answered": chats.answered.to(torch.uint8)}
    write_bytes(path, safetensors.torch.save(held, made_by))
    return chats


def _written(who: Teacher, prompts: list[str], recipe: dict[str, Any], said: Callable[[str], None]) -> Chats:
    """Write the chats of a recipe."""
    end, together = who.tokenizer.eos_token_id, _TOGETHER[who.target.device.type]
    length, seed = recipe["length"], recipe["seed"]

    # Users' turns: what the target says where a user would speak.
    opening = who.chat("\0")
    marker = who.tokenizer.encode("\0", add_special_tokens=False)
    at = next(i for i in range(len(opening)) if opening[i : i + len(marker)] == marker)
    before, after = opening[:at], opening[at + len(marker) :]
    turns = write_chats(
        who.writer,
        [before] * recipe["users"],
        end,
        length=len(before) + recipe["user_tokens"],
        temperature=recipe["user_temperature"],
        seed=seed,
        batch=together,
        said=said,
    )
    questions = [row[mine].tolist() for row, mine in zip(turns.tokens, turns.answered, strict=True)]
    users = [[*before, *turn[:-1], *after] for turn in questions if turn[-1] == end and len(turn) > 1]

    # Answers, at both temperatures; in an order in which any beginning holds all kinds.
    shipped = [who.chat(prompt) for prompt in prompts]
    warm = users[: 2 * len(users) // 3] + shipped * recipe["each"]
    cold = users[2 * len(users) // 3 :] + shipped
    parts = [
        write_chats(who.writer, some, end, length=length, temperature=t, seed=seed + 1, batch=together, said=said)
        for some, t in ((warm, 1.0), (cold, 0.0))
    ]
    tokens, answered = (torch.cat(list(both)) for both in zip(*parts, strict=True))
    order = torch.randperm(len(tokens), generator=torch.Generator().manual_seed(seed))
    return Chats(tokens[order], answered[order])


def trained(
    maker: Any,
    recipe: dict[str, Any],
    who: Teacher,
    chats: Chats,
    held: Tensor,
    *,
    checkpoint: Path | None = None,
    said: Callable[[str], None] = loop.silent,
) -> tuple[nn.Module, loop.Fitted]:
    """Return a drafter trained by its recipe on chats, and its losses and seconds.

    Parameters
    ----------
    maker : module
        A file of `real.draft` with `network`, `reads` and `lesson`.
    recipe : dict
        One of its recipes for this target.
    who : Teacher
        The target.
    chats : Chats
        What is learned from.
    held : Tensor, shape (n, m, layers, hidden)
        The target's states along the chats after the layers of `reads`.
    checkpoint : Path, optional
        Where the run is kept while it lasts.
    said : callable
        Is told how far it is.

    Returns
    -------
    tuple
        The network in evaluation mode on the CPU; losses and seconds, those of earlier sittings included.
    """
    device, end = who.target.device, who.tokenizer.eos_token_id
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe["seed"])
        net: nn.Module = maker.network(recipe)
    net.tokens = head_tokens(chats, recipe["tokens"], who.target.vocab_size, end)
    net = net.to(device)
    lesson = maker.lesson(net, who.target, recipe)

    # Place u of a text counts if the token after it is one that the target wrote.
    weight = torch.zeros(chats.tokens.shape)
    weight[:, :-1] = chats.answered[:, 1:].float()

    def loss(step: int) -> Tensor:
        rng = loop.generator(recipe["seed"], step)
        some = torch.randint(len(chats.tokens), (recipe["batch"],), generator=rng)
        read = held[some.to(held.device)].to(device).float()
        value: Tensor = lesson(chats.tokens[some].to(device), read, rng, weight[some].to(device))
        return value

    settings = {
        "recipe": fingerprint(recipe),
        "target": states.identity(who.target),
        "texts": [*chats.tokens.shape, int(chats.answered.sum())],
        "device": device.type,
    }
    learners, schedule = [loop.adamw(net)], loop.Schedule(recipe["steps"], recipe["rate"], warmup=100)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")  # TensorFloat-32 on a GPU; on a CPU nothing changes
    try:
        fitted = loop.fit(
            net,
            loss,
            schedule,
            learners=learners,
            clip=CLIP,
            checkpoint=checkpoint,
            settings=settings,
            said=said,
        )
    finally:
        torch.set_float32_matmul_precision(before)
    return net.cpu(), fitted


def head_tokens(chats: Chats, count: int, vocabulary: int, end: int) -> Tensor:
    """Return the tokens (count,) that the target wrote most often, int32, increasing; the end token is among them."""
    counts = torch.bincount(chats.tokens[chats.answered], minlength=vocabulary)
    return torch.tensor(most_frequent(counts.numpy(), count, end), dtype=torch.int32)


def judged(who: Teacher, length: int = ANSWER, count: int = JUDGED, split: str = "validation") -> dict[float, Chats]:
    """Return the target's answers to the first prompts of a split, by temperature (1 and 0)."""
    prompts = [who.chat(prompt.text) for prompt in shipped_prompts("chat", split)[:count]]
    room = max(map(len, prompts)) + length
    end = who.tokenizer.eos_token_id
    return {t: write_chats(who.target, prompts, end, length=room, temperature=t, seed=7) for t in (1.0, 0.0)}


def kept(maker: Any, net: Any, who: Teacher, answers: dict[float, Chats]) -> dict[str, list[float]]:
    """Return by temperature the mean chance that draft k = 1.. of a block is accepted if those before it were."""
    drafter = maker.drafting(net, who.target)
    shares = {}
    for temperature, chats in answers.items():
        total, starts = np.zeros((2, OFFSETS))
        for row, mine in zip(chats.tokens, chats.answered, strict=True):
            first = int(mine.nonzero()[0])
            prompt, text = row[:first].tolist(), row[mine].tolist()
            along = drafter.along(who.target, prompt, text, OFFSETS, Warping(temperature))
            for k in range(min(OFFSETS, len(text))):
                p, q = along.p[k:], along.q[: len(text) - k, k]
                total[k] += np.minimum(q / p, 1).sum()
                starts[k] += len(p)
        shares[f"T={temperature:g}"] = [float(share) for share in total / starts]
    return shares


class School:
    """Train several drafters on the same things: target, chats, states by layer, and answers to be judged on.

    Parameters
    ----------
    device : torch.device
        Where it is trained.
    work : Path
        Folder of the chats; on a CPU of the states, too, which a GPU makes anew faster than a disk gives them back.
    said : callable
        Is told how far it is.
    """

    def __init__(self, device: torch.device, work: Path, said: Callable[[str], None]) -> None:
        self.who, self.work = teacher(device), work
        self.chats = texts(self.who, work, TEXTS, said)
        self.answers = judged(self.who)
        self._states: dict[int, Tensor] = {}

    def states(self, layers: tuple[int, ...], said: Callable[[str], None]) -> Tensor:
        """Return the states (n, m, len(layers), hidden) of the chats after these layers."""
        folder = self.work if self.who.target.device.type == "cpu" else None
        for n in layers:
            if n not in self._states:
                self._states[n] = states.cached(self.who.target, self.chats.tokens, (n,), folder, said)[:, :, 0]
        stacked = torch.stack([self._states[n] for n in layers], 2) if len(layers) > 1 else None
        return self._states[layers[0]][:, :, None] if stacked is None else stacked

    def train(
        self,
        maker: Any,
        name: str,
        answered: int | None,
        checkpoint: Path | None,
        said: Callable[[str], None],
    ) -> tuple[nn.Module, dict[str, Any]]:
        """Return a drafter that learned from so many answered tokens, or from all, and what is to be said of it."""
        recipe, began = maker.RECIPES[name], time.monotonic()
        chats = self.chats if answered is None else self.chats.first(answered)
        held = self.states(maker.reads(recipe), said)[: len(chats.tokens)]
        states_s = round(time.monotonic() - began, 1)
        net, fitted = trained(maker, recipe, self.who, chats, held, checkpoint=checkpoint, said=said)
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
