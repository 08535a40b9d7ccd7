"""The device of a run: whether it is there, its name and kernels, whether it still computes."""

from __future__ import annotations

import gc
import subprocess
from typing import Any

import torch
from torch.nn.attention import SDPBackend

from real.studies.provenance import provenance


def find_device(name: str) -> torch.device:
    """The device of an option; ValueError if there is none."""
    if name not in ("cuda", "cpu"):
        raise ValueError(f"device {name!r} is unknown; known: cuda, cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device cuda: torch {torch.__version__} finds no GPU here (--device cpu --tiny needs none)")
    return torch.device(name)


def described(device: torch.device, **what: Any) -> dict[str, Any]:
    """Provenance of a run: `real.studies.provenance`, with GPU, driver and attention kernels."""
    gpu = None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        gpu = {
            "name": properties.name, "memory_gib": round(properties.total_memory / 2**30, 1), "driver": _driver(),
            "cuda": torch.version.cuda,
        }  # fmt: skip
    kernels = attention_kernels(device)
    return provenance(device=device.type, gpu=gpu, threads=torch.get_num_threads(), attention=kernels, **what)


def pin_attention() -> None:
    """Keep cuDNN out of attention.

    On some GPUs torch picks it for some shapes, and it builds a plan for each of them. A cycle has
    a shape for every length and batch, so that times would jump where the choice flips.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def attention_kernels(device: torch.device, dtype: torch.dtype = torch.bfloat16) -> dict[str, str]:
    """The names of torch's attention kernels for one token and for 2 to 17 tokens with a mask.

    The shapes are those of `real.models.llama`: 8 heads of keys of width 64, each shared by 4 heads
    of queries, over 64 positions. Several names with commas mean that the choice depends on the
    number of tokens.
    """
    keys = torch.zeros(1, 8, 64, 64, dtype=dtype, device=device)
    kernels = {}
    for name, sizes in (("one token", (1,)), ("masked", (2, 5, 9, 17))):
        chosen = set()
        for tokens in sizes:
            queries = keys.new_zeros(1, 8, 4 * tokens, 64)
            mask = None if tokens == 1 else keys.new_zeros(1, 1, 4 * tokens, 64)
            chosen.add(SDPBackend(torch._fused_sdp_choice(queries, keys, keys, mask)).name.lower())
        kernels[name] = ", ".join(sorted(chosen))
    return kernels


def _driver() -> str:
    """Version of the NVIDIA driver."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"


def alive(device: torch.device) -> bool:
    """Whether the device still computes: after a fault every further call in this process fails."""
    try:
        return float((torch.ones(1, device=device) + 1).item()) == 2
    except RuntimeError:
        return False


def free(device: torch.device) -> None:
    """Release a GPU's memory that is unreachable, reference cycles included."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()


def reason(error: BaseException) -> str:
    """An error as one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
