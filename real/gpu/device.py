"""The device of a run: whether it exists, its name and kernels, whether it still computes."""

from __future__ import annotations

import gc
import subprocess
from typing import Any

import torch
from torch.nn.attention import SDPBackend

from real.studies.provenance import provenance


def find_device(name: str) -> torch.device:
    """Return the device that the option names; ValueError if this machine has none."""
    if name not in ("cuda", "cpu"):
        raise ValueError(f"device {name!r} is unknown; known: cuda, cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device cuda: torch {torch.__version__} finds no GPU here (--device cpu --tiny needs none)")
    return torch.device(name)


def described(device: torch.device, **settings: Any) -> dict[str, Any]:
    """Return the provenance of a run: `real.studies.provenance`, GPU, driver, attention kernels, and its settings."""
    gpu = None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        gpu = {
            "name": properties.name, "memory_gib": round(properties.total_memory / 2**30, 1), "driver": _driver(),
            "cuda": torch.version.cuda,
        }  # fmt: skip
    kernels = attention_kernels(device)
    return provenance(device=device.type, gpu=gpu, threads=torch.get_num_threads(), attention=kernels, **settings)


def pin_attention() -> None:
    """Keep torch from using cuDNN for attention, in the whole process.

    On some GPUs torch picks cuDNN for some shapes, and cuDNN builds a plan for each shape. A cycle
    has a shape for every length and batch, so that times would jump where torch's choice changes.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def attention_kernels(device: torch.device, dtype: torch.dtype = torch.bfloat16) -> dict[str, str]:
    """Return the names of torch's attention kernels, for one token and for 2 to 17 tokens with a mask.

    The shapes are those of `real.models.llama`: 8 heads of keys of width 64, each shared by 4 heads
    of queries, over 64 positions. Several names with commas mean that the choice depends on the
    number of tokens.
    """
    heads, queries_per_head, positions, width = 8, 4, 64, 64
    keys = torch.zeros(1, heads, positions, width, dtype=dtype, device=device)
    kernels = {}
    for name, counts in (("one token", (1,)), ("masked", (2, 5, 9, 17))):
        chosen = set()
        for tokens in counts:
            queries = keys.new_zeros(1, heads, queries_per_head * tokens, width)
            mask = None if tokens == 1 else keys.new_zeros(1, 1, queries_per_head * tokens, positions)
            # Values have the shape of the keys.
            number = torch._fused_sdp_choice(queries, keys, keys, mask)
            chosen.add(SDPBackend(number).name.lower())
        kernels[name] = ", ".join(sorted(chosen))
    return kernels


def _driver() -> str:
    """Return the version of the NVIDIA driver; "unknown" if nvidia-smi does not tell it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"


def alive(device: torch.device) -> bool:
    """Return whether the device still computes; after a fault every further call of this process fails."""
    try:
        return float((torch.ones(1, device=device) + 1).item()) == 2
    except RuntimeError:
        return False


def free(device: torch.device) -> None:
    """Release the memory of a GPU that nothing refers to any more, reference cycles included."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()


def reason(error: BaseException) -> str:
    """Return the error's type and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
