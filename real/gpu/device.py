"""The device a run is made on: whether it is there, what it is called, whether it still answers."""

from __future__ import annotations

import gc
import subprocess
from typing import Any

import torch

from real.studies.compare.report import provenance


def find_device(name: str) -> torch.device:
    """The device of an option; ValueError if there is none."""
    if name not in ("cuda", "cpu"):
        raise ValueError(f"device {name!r} is unknown; known: cuda, cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device cuda: torch {torch.__version__} finds no GPU here (--device cpu --tiny needs none)")
    return torch.device(name)


def described(device: torch.device, **what: Any) -> dict[str, Any]:
    """Provenance of a run: `real.studies.compare.report.provenance`, GPU and driver."""
    gpu = None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        gpu = {
            "name": properties.name, "memory_gib": round(properties.total_memory / 2**30, 1), "driver": _driver(),
            "cuda": torch.version.cuda,
        }  # fmt: skip
    return provenance(device=device.type, gpu=gpu, threads=torch.get_num_threads(), **what)


def _driver() -> str:
    """Version of the NVIDIA driver."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"


def alive(device: torch.device) -> bool:
    """Whether the device still computes: after a fault, every further call in this process fails."""
    try:
        return float((torch.ones(1, device=device) + 1).item()) == 2
    except RuntimeError:
        return False


def free(device: torch.device) -> None:
    """Hand back a GPU's memory that nothing can reach any more, reference cycles included."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()


def reason(error: BaseException) -> str:
    """An error as one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
