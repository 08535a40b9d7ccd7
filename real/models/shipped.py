"""Weights that are shipped: small files in bfloat16 or int8, each with the hash of the recipe that made it.

They lose nothing by it that a test sees, and take half or a quarter of the room of a wheel. They are computed with in
float32, or in whatever their model is turned into. In int8 each row of a matrix has a scale of its own.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from specsim.base.files import write_bytes

Module = TypeVar("Module", bound=nn.Module)
# What the name of a matrix in int8 has behind it for its scales.
_SCALE = ".scale"


def fingerprint(recipe: dict[str, Any]) -> str:
    """Sixteen hexadecimal digits that another recipe does not have."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]


def path_of(folder: Path, name: str) -> Path:
    """Where the weights of a model are."""
    return folder / f"{name}.safetensors"


def save(folder: Path, name: str, module: nn.Module, recipe: dict[str, Any]) -> None:
    """Write a module's weights whole, or not at all; matrices in int8 where the recipe says so (`stored`)."""
    held: dict[str, Tensor] = {}
    for key, value in module.state_dict().items():
        weight = value.detach().cpu().contiguous()
        if not weight.is_floating_point():
            held[key] = weight
        elif recipe.get("stored") == "int8" and weight.ndim == 2:
            held[key], held[key + _SCALE] = rounded(weight)
        else:
            held[key] = weight.to(torch.bfloat16)
    path = path_of(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, safetensors.torch.save(held, {"recipe": fingerprint(recipe)}))


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix (n, m) rounded to int8, and the scale (n,) in float32 that each row is multiplied by."""
    scale = weight.float().abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / 127
    return (weight.float() / scale[:, None]).round().to(torch.int8), scale


def _restored(held: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights in float32 from those of a file."""
    weights = {}
    for key, value in held.items():
        if key.endswith(_SCALE):
            continue
        scale = held.get(key + _SCALE)
        if scale is not None:
            weights[key] = value.float() * scale[:, None]
        else:
            weights[key] = value.float() if value.is_floating_point() else value
    return weights


def load(folder: Path, name: str, module: Module, recipe: dict[str, Any], remedy: str) -> Module:
    """Fill a module with the shipped weights, ready to be evaluated in float32.

    Parameters
    ----------
    folder : Path
        Where weights of its kind are.
    name : str
        What they are called.
    module : nn.Module
        Of the shape that was trained; filled in place.
    recipe : dict
        What they have to be made by.
    remedy : str
        What to do where they are missing, or others than they should be.

    Returns
    -------
    nn.Module
        The same module.

    Raises
    ------
    ValueError
        There are no such weights, or another recipe made them, or the file is none; the line says how to make them.
    """
    path = path_of(folder, name)
    if not path.is_file():
        raise ValueError(f"weights of {name} are not there: {remedy}")
    try:
        with safe_open(path, "pt") as file:
            made_by = (file.metadata() or {}).get("recipe", "none")
            held = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118, the file is no mapping
    except SafetensorError:
        raise ValueError(f"weights of {name} cannot be read, the file is broken: {remedy}") from None
    if made_by != fingerprint(recipe):
        raise ValueError(f"weights of {name} were made by recipe {made_by}, not {fingerprint(recipe)}: {remedy}")
    try:
        module.load_state_dict(_restored(held))
    except RuntimeError:
        raise ValueError(f"weights of {name} do not fit the model that its recipe makes: {remedy}") from None
    return module.eval()
