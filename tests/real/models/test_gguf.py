"""GGUF files: the same function as the model that they were written from, alone and as a pair."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from helpers.gguf_files import MAKERS, SIZES, TOKENIZER, VOCAB, made, write_gguf
from tokenizers import Tokenizer
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

import real
import real.studies.compare.measure
from real.models import gguf, gguf_names, loading
from real.models.model import from_hf, full_logits
from real.models.names import check_place
from real.models.weights import plain
from specsim.latency import ModelShape
from specsim.latency.gguf_config import gguf_config, llama3_factors
from specsim.latency.gguf_header import read_header

TEXTS = ["def f(x):\n    return x + 1\n", "naïve 漢字 🙂 12345", "  spaces   and\ttabs\n\n"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own."""
    monkeypatch.setattr(gguf.platformdirs, "user_cache_path", lambda name: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_is_the_model_that_it_was_written_from(name: str, tmp_path: Path) -> None:
    model, path = made(tmp_path, name)
    tokens = torch.arange(30) * 7 % VOCAB
    read = full_logits(loading.load_model(path), tokens)
    assert float((read - full_logits(from_hf(model), tokens)).abs().max()) < 1e-4
    ours, theirs = loading.load_tokenizer(path), AutoTokenizer.from_pretrained(TOKENIZER)
    assert [ours(text)["input_ids"] for text in TEXTS] == [theirs(text)["input_ids"] for text in TEXTS]
    assert all(ours.decode(ours(text)["input_ids"]) == text for text in TEXTS)
    assert ours.eos_token == "<|endoftext|>"


@pytest.mark.parametrize("kind", [kind for kind in gguf_names.TYPES if kind not in ("Q4_K", "Q6_K")])
def test_every_type_is_dequantised(kind: str, tmp_path: Path) -> None:
    model, path = made(tmp_path, "qwen2", kind)
    weight = model.state_dict()["model.layers.1.mlp.up_proj.weight"].numpy()
    number = GGMLQuantizationType[kind]
    wanted = dequantize(quantize(weight, number), number)
    read = loading.load_hf(path).state_dict()["model.layers.1.mlp.up_proj.weight"].numpy()
    assert np.array_equal(read, wanted)


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1"])
def test_four_bits_of_a_file_are_kept(kind: str, tmp_path: Path) -> None:
    """With `weights="int4"` the codes are the file's: all that is lost are the last bits of scales and offsets."""
    _, path = made(tmp_path, "qwen2", kind)
    whole, rounded = loading.load_model(path), loading.load_model(path, weights="int4")
    assert whole.weights is not None
    assert rounded.weights is not None
    for one, other in zip(whole.weights.layers, rounded.weights.layers, strict=True):
        for part in ("qkv", "out", "gate_up", "down"):
            exact, found = plain(getattr(one, part)), plain(getattr(other, part))
            assert float((found - exact).norm() / exact.norm()) < 0.005


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_a_file_in_few_bits_decodes_in_few_bits(weights: str, tmp_path: Path) -> None:
    """Laws are near those of the file in float32, and a drafter keeps the greedy text."""
    _, path = made(tmp_path, "llama", "Q4_1")
    pair, tokens = real.load(path, weights=weights), torch.arange(30) * 7 % VOCAB
    laws = [full_logits(model, tokens).softmax(-1) for model in (pair.target, loading.load_model(path))]
    assert float((laws[0] - laws[1]).abs().sum(-1).mean() / 2) < 0.05
    fast, alone = (pair.generate("a = 1\n", drafter="ngram", gamma=g, max_tokens=12, temperature=0) for g in (3, 0))
    assert fast.tokens == alone.tokens


@pytest.mark.parametrize(("kind", "size"), [("Q4_K", 144), ("Q6_K", 210)])
def test_types_of_256_weights_have_their_layout(kind: str, size: int) -> None:
    """The package reads these types and does not write them: blocks of bytes are read as the format says."""
    rng = np.random.default_rng(0)
    block = rng.integers(0, 256, size, dtype=np.uint8)
    scales = np.array([0.5, 0.25], "<f2").view(np.uint8)
    if kind == "Q4_K":
        block[:4] = scales
        wanted = q4_k(block)
    else:
        block[-2:] = scales[:2]
        wanted = q6_k(block)
    assert np.allclose(dequantize(block[None], GGMLQuantizationType[kind])[0], wanted, atol=1e-5)


def q4_k(block: np.ndarray) -> np.ndarray:
    """Eight groups of 32 numbers of 4 bits, each with a scale and a least value of 6 bits."""
    scale, least = block[:4].view("<f2").astype(float)
    packed, values = block[4:16].astype(int), block[16:].astype(int)
    out = []
    for group in range(8):
        if group < 4:
            scales, leasts = packed[group] & 63, packed[group + 4] & 63
        else:
            scales = packed[group + 4] & 15 | packed[group - 4] >> 6 << 4
            leasts = packed[group + 4] >> 4 | packed[group] >> 6 << 4
        numbers = values[32 * (group // 2) :][:32] >> 4 * (group % 2) & 15
        out.append(scale * scales * numbers - least * leasts)
    return np.concatenate(out)


def q6_k(block: np.ndarray) -> np.ndarray:
    """Sixteen groups of 16 numbers of 6 bits less 32, each with a scale of 8 bits."""
    low, high = block[:128].astype(int), block[128:192].astype(int)
    scales, scale = block[192:208].view(np.int8).astype(float), float(block[208:].view("<f2")[0])
    out = np.empty(256)
    for i in range(256):
        half, place = divmod(i, 128)
        quarter, column = divmod(place, 32)
        nibble = low[64 * half + 32 * (quarter % 2) + column] >> 4 * (quarter // 2) & 15
        bits = high[32 * half + column] >> 2 * quarter & 3
        out[i] = scale * scales[i // 16] * ((nibble | bits << 4) - 32)
    return out


def test_a_file_is_converted_once_and_never_half(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = made(tmp_path)

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gguf, "write_tokenizer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gguf.folder_of(path)
    assert list((cache / "gguf").iterdir()) == []
    first = gguf.folder_of(path)
    monkeypatch.setattr(gguf, "_convert", interrupted)
    assert gguf.folder_of(path) == first
    other = tmp_path / "other" / "llama.gguf"
    other.parent.mkdir()
    shutil.copy(path, other)
    assert gguf.folder_of(other) == first


def test_a_pair_of_files_decodes(tmp_path: Path) -> None:
    model, target = made(tmp_path)
    draft = write_gguf(tmp_path / "draft.gguf", model, TOKENIZER, "Q8_0")
    pair = real.load(target, draft)
    written = pair.generate("a = 1\n", max_tokens=8)
    assert len(written.tokens) == 8
    assert "Weights" not in repr(pair.target)


def test_a_plan_reads_the_shape_and_the_bits(tmp_path: Path) -> None:
    _, path = made(tmp_path, "llama", "Q4_0", head="Q8_0")
    shape = ModelShape.from_config(path)
    assert (shape.layers, shape.hidden, shape.kv_heads, shape.vocab) == (2, 64, 2, VOCAB)
    assert shape.stored is not None
    assert (shape.stored.layers, shape.stored.head) == (4.5, 8.5)


def test_sentencepiece_merges_the_best_scores_first(tmp_path: Path) -> None:
    """As Llama 2's: a space is a piece's first character, and unknown characters are bytes."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁b", "▁a", "ab"]
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.scores": np.array([0.0] * 262 + [-3.0, -2.0, -1.0]),
        "tokenizer.ggml.token_type": np.array([2, 3, 3] + [6] * 256 + [1] * 6),
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
    }
    header = read_header(made(tmp_path)[1])._replace(metadata=metadata)
    gguf.write_tokenizer(header, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("ab é")["input_ids"])
    assert tokens == ["<s>", "▁", "ab", "▁", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode(tokenizer("ab é")["input_ids"], skip_special_tokens=True) == "ab é"


def test_llama_3_s_rotation_is_recognised(tmp_path: Path) -> None:
    """Its files hold factors of frequencies, and not the formula that a config has."""
    scaling = {
        "rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }  # fmt: skip
    config = LlamaConfig(
        hidden_size=256, num_attention_heads=2, rope_parameters=scaling, max_position_embeddings=16384,
        num_hidden_layers=1, vocab_size=8,
    )  # fmt: skip
    scaled = LlamaForCausalLM(config).model.rotary_emb.inv_freq.numpy()
    factors = llama3_factors(500000.0, 128, scaling)
    assert np.allclose(500000.0 ** (-np.arange(0, 128, 2) / 128) / scaled, factors, rtol=1e-4)

    header = read_header(made(tmp_path)[1])
    tensor = header.tensors["output_norm.weight"]
    header = header._replace(
        tensors=header.tensors | {"rope_freqs.weight": tensor},
        metadata=header.metadata | {"llama.rope.freq_base": 500000.0, "llama.attention.key_length": 128},
    )
    assert gguf_config(header, factors)["rope_scaling"]["factor"] == 32
    with pytest.raises(ValueError, match=r"rope_freqs.weight is not the scaling of Llama 3.1 or 3.2"):
        gguf_config(header, 2 * factors)


def swapped(folder: Path, path: Path) -> Path:
    """The tokenizer of a folder with two tokens in each other's place."""
    shutil.copytree(folder, path, ignore=shutil.ignore_patterns("*.safetensors"))
    file = path / "tokenizer.json"
    tokenizer = json.loads(file.read_text(encoding="utf-8"))
    vocab = tokenizer["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]
    file.write_text(json.dumps(tokenizer), encoding="utf-8")
    return path


def test_a_pair_of_files_is_compared_and_refused_as_folders_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two random models, as GGUF files and as folders of Hugging Face: the same texts, tau and refusals."""
    monkeypatch.setattr(real.studies.compare.measure, "copy_bandwidth", lambda device: 1e10)
    places: dict[str, list[Path]] = {"files": [], "folders": []}
    other = swapped(TOKENIZER, tmp_path / "swapped")
    for name, seed, tokenizer in (("target", 3, TOKENIZER), ("draft", 4, TOKENIZER), ("other", 4, other)):
        model = MAKERS["llama"](VOCAB, **SIZES, seed=seed, dtype=torch.float32)
        places["files"].append(write_gguf(tmp_path / f"{name}.gguf", model, tokenizer))
        model.save_pretrained(tmp_path / name)
        AutoTokenizer.from_pretrained(tokenizer).save_pretrained(tmp_path / name)
        places["folders"].append(tmp_path / name)

    taus, refusals = [], []
    for target, draft, unlike in places.values():
        found = real.compare(real.load(target, draft), ["a = 1\n"], gammas=[1], max_tokens=4)
        taus.append(found.rows[0]["tau"])
        with pytest.raises(ValueError, match=r"^tokenizers differ: token 'a' is") as error:
            real.load(target, unlike)
        refusals.append(str(error.value))
    assert taus[0]["measured"] == taus[1]["measured"]
    assert taus[0]["predicted"] == pytest.approx(taus[1]["predicted"], rel=1e-4)
    assert refusals[0] == refusals[1]


def test_the_converted_folder_is_a_model_of_transformers(tmp_path: Path) -> None:
    """Its config and its tokenizer are files that transformers reads by itself."""
    _, path = made(tmp_path, "qwen3")
    folder = gguf.folder_of(path)
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["Qwen3ForCausalLM"]
    assert Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size() == VOCAB
    check_place(folder)


def test_a_missing_reader_is_named_with_its_extra(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package `gguf` loading says what to install; the shape of a plan is read all the same."""
    _, path = made(tmp_path)
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(
        ImportError, match=r"^a GGUF file needs gguf: install the extra `real` \(specsim-llm\[real\]\)$"
    ):
        real.load(path)
    assert list((cache / "gguf").iterdir()) == []
    assert ModelShape.from_config(path).layers == 2
