"""Texts of the pair that a system runs on, at any temperature: to run, a system asks for nothing else.

The bundled target's shipped texts stand for it where they have the temperature. Other texts are
written once a machine, each after one prompt of a part, and kept in the cache folder. SmolLM2
answers the shipped chat prompts; its texts end with its end token, if that comes.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.models.names import TINY_PAIR
from real.models.shipped import fingerprint
from real.papers.lab import texts as shipped
from real.papers.lab import writing
from real.papers.lab.contract import Lab
from real.papers.lab.pairs import ends, identity, pair_named
from real.papers.lab.texts import Part, Texts
from real.prompts import shipped_prompts
from real.prompts.chat_template import chat_ids
from specsim.types import Array

# Tokens of a text at most, in a run and in the shortest trial.
LENGTH, SHORTEST = 128, 16
SEED = 38
# Part of the texts -> split of the shipped prompts.
SPLITS: dict[Part, str] = {"calibration": "train", "validation": "validation", "test": "test"}


def texts_of(lab: Lab, temperature: float, part: Part, count: int) -> Texts:
    """Texts that the target of the lab's pair wrote after prompts of a part.

    Parameters
    ----------
    lab : Lab
        Its pair; its share is the share of the texts, and in a trial they are shorter, too.
    temperature : float
        At least 0; 0 is greedy.
    part : str
        "calibration" to train, "validation" to choose, "test" to judge.
    count : int
        Texts of a record. Text i continues prompt i modulo the number of prompts of the part.

    Returns
    -------
    Texts
        At most 128 tokens each (the shipped ones 256), in float32.

    Examples
    --------
    >>> from real.papers.lab.contract import Lab
    >>> texts_of(Lab(share=0.01), 1.0, "test", 128).tokens.shape
    (8, 16)
    """
    # Shipped texts.
    lab_count, length = lab.texts(count), max(SHORTEST, round(LENGTH * min(1.0, 4 * lab.share)))
    if lab.pair == TINY_PAIR and temperature in shipped.TEMPERATURES:
        found = shipped.texts(temperature).of(part, lab_count)
        return found if lab.share == 1 else found._replace(tokens=found.tokens[:, :length])

    # One text after every prompt, as often as it takes; in a trial after so many prompts alone.
    all_prompts = prompts_of(lab.pair, part)
    prompts = all_prompts if lab.share == 1 else all_prompts[:lab_count]
    turns = []
    for turn in range(-(-lab_count // len(prompts))):
        lab.said(f"texts of {lab.pair} at T = {temperature:g}, {part}, {turn + 1}")
        turns.append(_turn(lab.pair, prompts, temperature, length, turn))
    tokens = np.concatenate(turns)[:lab_count]
    group = np.arange(lab_count) % len(prompts)
    return Texts([prompts[i] for i in group], tokens, np.full(lab_count, part), group, lab.pair)


def prompts_of(pair: str, part: Part) -> list[list[int]]:
    """Tokens of the prompts of a part: those of the bundled texts, or chats up to the answer's opening."""
    if pair == TINY_PAIR:
        of_part = shipped.texts(1.0).of(part)
        return of_part.prompts[: len(np.unique(of_part.group))]
    tokenizer = pair_named(pair).tokenizer
    return [chat_ids(tokenizer, prompt.text) for prompt in shipped_prompts("chat", SPLITS[part])]


def _turn(pair: str, prompts: list[list[int]], temperature: float, length: int, turn: int) -> Array:
    """One text after each prompt (n, length), -1 after its end; read from the cache, or else written."""
    # The file, by all that decides the texts.
    made_by: dict[str, Any] = {
        "target": identity(pair),
        "prompts": hashlib.sha256(json.dumps(prompts).encode()).hexdigest()[:16],
        "temperature": temperature,
        "length": length,
        "seed": SEED,
        "turn": turn,
    }
    path = writing.cache() / f"texts-{fingerprint(made_by)}.safetensors"
    try:
        held = writing.read(path, made_by, "")
    # It is not there, or was cut short by a full disk.
    except ValueError:
        held = _written(pair, prompts, temperature, length, turn)
        writing.keep(path, made_by, **held)
    return np.where(np.arange(length) < held["lengths"][:, None], held["tokens"], -1)


def _written(pair: str, prompts: list[list[int]], temperature: float, length: int, turn: int) -> dict[str, Array]:
    """Let the target write: `tokens` (n, length), 0 after the end of a text, and `lengths` (n,)."""
    runs = decode_batch(
        pair_named(pair).target,
        None,
        prompts,
        max_tokens=length,
        gamma=0,
        uniforms=[keyed(SEED + turn, i) for i in range(len(prompts))],
        warping=Warping(temperature),
        stop=ends(pair),
    )
    tokens = np.zeros((len(prompts), length), dtype=np.int64)
    for i, run in enumerate(runs):
        tokens[i, : len(run.tokens)] = run.tokens
    return {"tokens": tokens, "lengths": np.array([len(run.tokens) for run in runs])}
