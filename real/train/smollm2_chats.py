"""SmolLM2 as the teacher of its drafters, and the chats that it writes for them to learn from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from real.models.loading import load_model, load_tokenizer
from real.models.model import LanguageModel
from real.models.shipped import fingerprint
from real.prompts import shipped_prompts
from real.prompts.chat_template import chat_ids
from real.train import states
from real.train.chat_texts import Chats, write_chats
from specsim.base.files import write_bytes

# All that decides the texts: how many users' turns the target writes, of how many tokens at most and
# at which temperature; how often it answers each prompt of the training split at temperature 1
# (`each`; once more at 0); the most tokens of a text; and the seed. Of the users' turns it answers
# two thirds at temperature 1, the others at 0.
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


class Teacher(NamedTuple):
    """The target in float32, its tokenizer, and the target as it writes: in bfloat16 on a GPU."""

    target: LanguageModel
    tokenizer: Any
    writer: LanguageModel

    def chat(self, text: str) -> list[int]:
        """Return the tokens of a user's turn, up to the opening of the target's."""
        return chat_ids(self.tokenizer, text)


def load_teacher(device: torch.device) -> Teacher:
    """Load SmolLM2; ValueError where its package is not installed."""
    target = load_model("smollm2", device=device)
    on_gpu = device.type == "cuda"
    writer = load_model("smollm2", device=device, dtype=torch.bfloat16) if on_gpu else target
    return Teacher(target, load_tokenizer("smollm2"), writer)


def texts(
    teacher: Teacher,
    work: Path,
    recipe: dict[str, Any],
    show_stage: Callable[[str], None],
) -> Chats:
    """Return the chats to learn from, read from the folder or else made and written there."""
    # All that decides the chats, by which a file is used or refused.
    path = work / "chats.safetensors"
    prompts = [prompt.text for prompt in shipped_prompts("chat", "train")]
    made_by = {
        "target": states.identity(teacher.target),
        "prompts": hashlib.sha256("\0".join(prompts).encode()).hexdigest()[:16],
        "recipe": fingerprint(recipe),
        "written_in": str(teacher.writer.dtype),
    }
    if path.exists():
        try:
            with safe_open(path, "pt") as file:
                if file.metadata() != made_by:
                    raise ValueError(f"{str(path)!r} holds texts of another target, recipe or number type: remove it")
                tokens, answered = file.get_tensor("tokens"), file.get_tensor("answered")
                return Chats(tokens.long(), answered.bool())
        except SafetensorError:
            raise ValueError(f"{str(path)!r} holds no texts: remove it, and they are written anew") from None

    # Without a file the target writes them.
    chats = _written(teacher, prompts, recipe, show_stage)
    work.mkdir(parents=True, exist_ok=True)
    tensors = {"tokens": chats.tokens.to(torch.int32), "answered": chats.answered.to(torch.uint8)}
    write_bytes(path, safetensors.torch.save(tensors, made_by))
    return chats


def _written(
    teacher: Teacher,
    prompts: list[str],
    recipe: dict[str, Any],
    show_stage: Callable[[str], None],
) -> Chats:
    """Let the target write the chats of a recipe."""
    end, together = teacher.tokenizer.eos_token_id, _TOGETHER[teacher.target.device.type]
    length, seed = recipe["length"], recipe["seed"]

    # The template's tokens before and after a user's turn: those around a marker that no text has.
    chat = teacher.chat("\0")
    marker = teacher.tokenizer.encode("\0", add_special_tokens=False)
    place = next(i for i in range(len(chat)) if chat[i : i + len(marker)] == marker)
    before, after = chat[:place], chat[place + len(marker) :]

    # Users' turns: the target continues where a user would speak. Turns without an end are dropped.
    turns = write_chats(
        teacher.writer,
        [before] * recipe["users"],
        end,
        length=len(before) + recipe["user_tokens"],
        temperature=recipe["user_temperature"],
        seed=seed,
        batch=together,
        show_stage=show_stage,
    )
    rows = zip(turns.tokens, turns.answered, strict=True)
    questions = [row[is_answer].tolist() for row, is_answer in rows]
    users = [[*before, *turn[:-1], *after] for turn in questions if turn[-1] == end and len(turn) > 1]

    # Answers: the first part at temperature 1, the second at 0.
    shipped = [teacher.chat(prompt) for prompt in prompts]
    two_thirds = 2 * len(users) // 3
    warm = users[:two_thirds] + shipped * recipe["each"]
    cold = users[two_thirds:] + shipped
    parts = [
        write_chats(
            teacher.writer,
            openings,
            end,
            length=length,
            temperature=temperature,
            seed=seed + 1,
            batch=together,
            show_stage=show_stage,
        )
        for openings, temperature in ((warm, 1.0), (cold, 0.0))
    ]

    # Shuffle them, so that the first texts, however many, are of all kinds.
    warm_chats, cold_chats = parts
    tokens = torch.cat([warm_chats.tokens, cold_chats.tokens])
    answered = torch.cat([warm_chats.answered, cold_chats.answered])
    order = torch.randperm(len(tokens), generator=torch.Generator().manual_seed(seed))
    return Chats(tokens[order], answered[order])
