"""Models and tokenizers from folders: the same model again, and one line that says what is missing or does not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from helpers import tiny_models as tiny
from helpers.replay import draw_tokens
from helpers.small_models import CONTEXT, VOCAB, hf_model, wrapped
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils.logging import is_progress_bar_enabled

import real
from real.load_pair import load
from real.models.cache import fit_logits
from real.models.loading import load_model, same_tokenizer
from real.models.model import full_logits


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "gpt2", "opt"])
def test_saved_model_loads_as_the_same_model(name: str, tmp_path: Path) -> None:
    hf_model(name).save_pretrained(tmp_path)
    model, tokens = load_model(tmp_path, dtype=torch.float64), draw_tokens(VOCAB, 20, 0)
    assert (model.vocab_size, model.context, model.dtype) == (VOCAB, CONTEXT, torch.float64)
    assert model.device == torch.device("cpu")
    assert torch.equal(full_logits(model, tokens), full_logits(wrapped(name, True), tokens))
    assert load_model(str(tmp_path), dtype=torch.bfloat16).dtype == torch.bfloat16


def test_load_model_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=rf"{tmp_path} is no model: .*config.json and .*, found nothing"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ValueError, match=r"looked for .*, found config.json$"):
        load_model(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(ValueError, match=r"pytorch_model.bin but no \*.safetensors; pickled weights are not"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not a tensor file")
    with pytest.raises(ValueError, match=rf"{tmp_path} could not be loaded: "):
        load_model(tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=r"'nobody/none' is neither a local directory nor could") as caught:
        load_model("nobody/none")
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    with pytest.raises(ValueError, match=rf"{tmp_path}/absent is no directory; looked for one with config.json"):
        load_model(tmp_path / "absent")


def test_a_name_without_an_owner_is_no_directory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", None)  # the hub is not asked
    with pytest.raises(
        ValueError, match=r"^there is no directory 'nodir' here; an id of the hub is written owner/name$"
    ):
        load_model("nodir")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("smolm2", "smollm2"), ("SmolLM2", "smollm2"), ("lowrnk", "smollm2/lowrank"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2"), ("smolm2/lowrank", "smollm2/lowrank"),
    ],
)  # fmt: skip
def test_a_near_name_of_a_shipped_model_is_named(name: str, near: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare word, or an id that the hub does not give."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=rf"[^.]; did you mean '{near}'\?$"):
        real.load(name)
    with pytest.raises(ValueError, match=rf"[^.]; did you mean '{near}'\?$"):
        real.load(real.TINY / "target", name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tiny", r"tiny is a pair of specsim-real, in Python real.TINY / 'target' and real.TINY / 'draft'$"),
        ("smollm2/lowrank", "^smollm2/lowrank is a draft model of smollm2: name it as the draft, "),
    ],
)
def test_a_name_in_the_wrong_place_says_where_it_goes(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        real.load(name)


def test_loading_shows_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    before = is_progress_bar_enabled()
    load_model(real.TINY / "draft")
    assert capfd.readouterr() == ("", "")
    assert is_progress_bar_enabled() == before


def test_incomplete_weights_are_refused(tmp_path: Path) -> None:
    hf_model("llama").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ValueError, match=r"lacks weights of its model .*: model.layers.2"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": 8}))
    with pytest.raises(ValueError, match=r"in another shape: .*model.layers.0.mlp.down_proj.weight"):
        load_model(tmp_path)


def make_tokenizer(size: int, swap: bool = False, eos: str = "<eos>", split: bool = True) -> Any:
    """Word tokenizer with ids 0 to `size` - 1."""
    words = ["?", "<eos>", "<end>", *(f"w{i}" for i in range(3, size))]
    if swap:
        words[4], words[5] = words[5], words[4]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="?"))
    if split:
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?", eos_token=eos)


def save(path: Path, vocab: int, tokenizer: Any, seed: int = 0) -> Path:
    tiny.tiny_llama(vocab, seed=seed).save_pretrained(path)
    if tokenizer is not None:
        tokenizer.save_pretrained(path)
    return path


def test_pair_fits_padded_heads_to_the_tokenizer(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(20)
    wide, narrow = save(tmp_path / "wide", 24, tokenizer), save(tmp_path / "narrow", 18, tokenizer, seed=5)
    pair = load(wide, narrow, dtype=torch.float64)
    tokens = torch.tensor(pair.tokenizer("w3 w17 nothing w12")["input_ids"])
    assert tokens.tolist() == [3, 17, 0, 12]
    assert (pair.target.vocab_size, pair.draft.vocab_size) == (20, 20)
    target, draft = full_logits(pair.target, tokens), full_logits(pair.draft, tokens)
    alone = full_logits(load_model(wide, dtype=torch.float64), tokens)
    assert torch.equal(target, alone[:, :20])
    assert torch.equal(draft[:, :18], full_logits(load_model(narrow, dtype=torch.float64), tokens))
    assert torch.all(draft.softmax(-1)[:, 18:] == 0)
    with pytest.raises(ValueError, match="token 19 at position 0 is out of range"):
        pair.draft.cache().forward(torch.tensor([[19]]), 1)


def test_fit_logits() -> None:
    logits = torch.arange(6.0).view(2, 3)
    assert fit_logits(logits, 3) is logits
    assert fit_logits(logits, 2).tolist() == [[0, 1], [3, 4]]
    assert fit_logits(logits, 4)[:, 3].tolist() == [-torch.inf] * 2


def test_pair_refuses_missing_or_different_tokenizers(tmp_path: Path) -> None:
    good, bare = save(tmp_path / "good", 20, make_tokenizer(20)), save(tmp_path / "bare", 20, None)
    for paths in ((good, bare), (bare, good)):
        with pytest.raises(ValueError, match=rf"{bare} holds no tokenizer: looked for tokenizer.json, "):
            load(*paths)
    swapped = save(tmp_path / "swapped", 20, make_tokenizer(20, swap=True))
    with pytest.raises(ValueError, match=r"tokenizers differ: token 'w4' is 4 in the first, 5 in the second"):
        load(good, swapped)


def test_same_tokenizer_names_the_difference() -> None:
    plain = make_tokenizer(20)
    same_tokenizer(plain, make_tokenizer(20))
    with pytest.raises(ValueError, match=r"token 'w20' is None in the first, 20 in the second"):
        same_tokenizer(plain, make_tokenizer(21))
    same_tokenizer(plain, make_tokenizer(20, eos="<end>"))  # a base draft for an instruct target
    with pytest.raises(ValueError, match=r"a probe text is \[0, .* in the first, \[0\] in the second"):
        same_tokenizer(plain, make_tokenizer(20, split=False))


@pytest.mark.parametrize("dtype", ["float32", 5e-324, None])
def test_a_dtype_is_one_of_torchs(dtype: Any) -> None:
    """transformers answers some of these with an IndexError."""
    with pytest.raises(TypeError, match=r"^dtype must be one of torch's, as torch\.float32, got "):
        load(real.TINY / "target", dtype=dtype)
