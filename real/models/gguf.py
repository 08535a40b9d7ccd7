"""Models from GGUF files, converted once to a folder of Hugging Face's kind in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import safetensors.torch
import torch
from torch import Tensor

from real.models.gguf_names import hf_name, readable_header
from real.models.gguf_tokenizer import write_tokenizer
from specsim.base import extras
from specsim.latency.gguf_config import ROPE_FACTORS, gguf_config
from specsim.latency.gguf_header import GgufHeader, GgufTensor

# Parameters up to which dequantised weights are kept in float32, 4 GB; those of larger models are
# kept in bfloat16.
MOST_FLOAT32 = 1_000_000_000
# The layout of the converted folder: another number converts anew.
LAYOUT = 1


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return the folder with the model and the tokenizer of a GGUF file, converted on first use.

    Parameters
    ----------
    path : str or path
        The file; architectures llama, qwen2 and qwen3, tensors of the types in `TYPES`.

    Returns
    -------
    Path
        In the user's cache, by the hash of the file.

    Raises
    ------
    ValueError, ImportError
        The file is no GGUF file, is truncated, or holds what is not read; the package `gguf` is
        missing.
    """
    header = readable_header(path)
    with header.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    folder = platformdirs.user_cache_path("specsim") / "gguf" / f"{header.path.stem}-{digest}-{LAYOUT}"
    if folder.is_dir():
        return folder

    # The folder gets its name when it is whole, so that an interrupted conversion leaves nothing
    # behind.
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="converting-", dir=folder.parent))
    try:
        _convert(header, work)
        # Another process may have been quicker.
        if not folder.is_dir():
            work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _convert(header: GgufHeader, folder: Path) -> None:
    """Write config, weights and tokenizer into a folder."""
    # The config, which holds the factors of the rope, and the type of the weights.
    file_bytes = np.memmap(header.path, np.uint8, "r")
    factors = header.tensors.get(ROPE_FACTORS)
    config = gguf_config(header, None if factors is None else _dequantised(file_bytes, factors).ravel())
    parameters = sum(int(np.prod(tensor.shape)) for tensor in header.tensors.values())
    dtype = torch.float32 if parameters <= MOST_FLOAT32 else torch.bfloat16

    # The weights, one tensor at a time.
    weights: dict[str, Tensor] = {}
    for name, tensor in header.tensors.items():
        if name != ROPE_FACTORS:
            weight = torch.from_numpy(_dequantised(file_bytes, tensor)).to(dtype)
            weights[hf_name(header, name)] = _rotated_halves(header, config, name, weight)
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})

    # The other files.
    config["dtype"] = str(dtype).removeprefix("torch.")
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    write_tokenizer(header, folder)


def _dequantised(file_bytes: np.ndarray, tensor: GgufTensor) -> np.ndarray:
    """Return a tensor's weights as a float32 array of its shape, from the bytes of the file."""
    with extras.needed("a GGUF file"):
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

    raw = np.asarray(file_bytes[tensor.start : tensor.start + tensor.size])
    if tensor.type_name in ("F32", "F16"):
        flat = raw.view({"F32": "<f4", "F16": "<f2"}[tensor.type_name]).astype(np.float32)
        return flat.reshape(tensor.shape)
    rows = raw.reshape(*tensor.shape[:-1], -1)
    return np.asarray(dequantize(rows, GGMLQuantizationType[tensor.type_name]), np.float32).reshape(tensor.shape)


def _rotated_halves(header: GgufHeader, config: dict[str, Any], name: str, weight: Tensor) -> Tensor:
    """Return the weights of queries and keys with rows in Hugging Face's order; any other weights as they are.

    Two numbers of a head that rotate together lie half a head apart there. Llama's GGUF files put
    them side by side; those of Qwen do not. Of a head of four the rows 0, 1, 2, 3 become 0, 2, 1, 3.
    """
    # A name is as "blk.0.attn_q.weight".
    *_, part, _ = name.split(".")
    if header.metadata["general.architecture"] != "llama" or part not in ("attn_q", "attn_k"):
        return weight
    heads = config["num_attention_heads" if part == "attn_q" else "num_key_value_heads"]
    # From (heads, pairs, 2, ...) to (heads, 2, pairs, ...).
    halves = weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:])
    return halves.transpose(1, 2).reshape(weight.shape).contiguous()
