"""Models that are larger than the memory: `specsim plan` says so first, and what would hold them."""

from __future__ import annotations

import shlex

import pytest
from helpers.planning import PAIR, as_json, run
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan.memory import misfits
from specsim.latency import ModelShape, hardware
from specsim.latency.memory import Placed
from specsim.latency.weights import TYPES


def test_what_does_not_fit_is_said() -> None:
    """The answer was "Yes" with a note: now it says first that the models do not fit, and on what they would."""
    words = "--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm 0.8"
    missing = "weights and caches take at least 142 GB of 80; 2 of these devices or more would hold them"
    found = as_json(f"{words} --batch 1,64")
    assert found["helps"] == "does not fit"
    assert found["notes"][0] == f"batch 1, context 1024 does not fit: {missing} (--tp 2 --draft-tp 2)"
    assert found["sentence"].startswith(f"Does not fit at batch 1, context 1024: {missing} (--tp 2 --draft-tp 2). ")
    assert "Memory aside: yes: with 10 drafts per block" in found["sentence"]
    # So it says at a rate of requests, and no engine is told to load it.
    assert run(f"{words} --rate 1").startswith("Does not fit at batch ")
    assert f"nothing to tell vllm: batch 1, context 1024 does not fit: {missing}" in run(f"{words} --emit vllm", 2)
    # The draft lies on the first of two devices, which holds half of the target, too.
    large = words.replace("llama-3.2-1b", "llama-3.1-8b")
    alone = as_json(f"{large} --tp 2")["sentence"]
    assert "the first of 2 devices holds a part of every model, at least 85 GB, and has 80" in alone
    assert "2 of these devices or more would hold them (--tp 2 --draft-tp 2)" in alone
    assert as_json(f"{large} --tp 2 --draft-tp 2")["helps"] == "yes"
    # Looked-up drafts take no memory; three devices cannot share 64 heads.
    looked_up = f"{words.replace('llama-3.2-1b', 'ngram')} --drafted-share 1 --batch 240"
    assert "3 of these devices or more would hold them (--tp 4)" in as_json(looked_up)["sentence"]
    # One point of two: the first is answered, and the other one counted.
    some = as_json(f"{words} --tp 2 --draft-tp 2 --batch 1,64")
    assert some["helps"] == "yes"
    assert some["sentence"].endswith("1 of the 2 points does not fit the memory.")
    emitted = CliRunner().invoke(app, ["plan", *shlex.split(f"{words} --tp 2 --draft-tp 2 --batch 1,64 --emit vllm")])
    assert "batch 64, context 1024 does not fit" in emitted.stderr
    for fitting in (PAIR, f"{words} --dtype fp8".replace("0.8", "")):
        assert not [note for note in as_json(f"{fitting} 0.8")["notes"] if "fit" in note]


@pytest.mark.parametrize(
    ("devices", "batch", "words"),
    [
        ((2, 1), 1, "the first of 2 devices holds a part of every model, at least 85 GB, and has 80; 2 of these"),
        ((1, 1), 1, "weights and caches take at least 154 GB of 80; 2 of these devices or more would hold them"),
        ((2, 2), 1, ""),
        ((4, 4), 1000, "4 GB of 320; 8 of these devices or more would hold them (--tp 8 --draft-tp 8)"),
    ],
)
def test_the_fullest_device_decides(devices: tuple[int, int], batch: int, words: str) -> None:
    names = ("llama-3.1-70b", "llama-3.1-8b")
    models = [Placed(ModelShape.named(name), TYPES["bf16"], n) for name, n in zip(names, devices, strict=True)]
    found = misfits(models, hardware("h100-sxm"), [batch], [1024])
    assert [words in one.note for one in found] == [True] * bool(words)


def test_a_cache_of_eight_bits_takes_half_the_memory() -> None:
    words = "0.7 --hardware h100-sxm --max-gamma 4 --target llama-3.1-8b --draft eagle3 --context 64k --batch 8 --json"
    said = [CliRunner().invoke(app, ["plan", *words.split(), *more]).stdout for more in ([], ["--kv-dtype", "fp8"])]
    assert ["does not fit" in text for text in said] == [True, False]
    assert "the cache is kept in fp8" in said[1]
