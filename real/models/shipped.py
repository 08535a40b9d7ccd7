"""Weights that are shipped: small files in bfloat16 or six bits, each with its recipe's hash.

Computations use them in float32, or in the type that their model is turned into. Rounding to
bfloat16 changes nothing that a test sees. In six bits a weight is a whole number from -31 to 31, and 32 neighbours
of a row share a scale.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from specsim.base.files import write_bytes

Module = TypeVar("Module", bound=nn.Module)
# The scales of a matrix in six bits have its name with this ending.
_SCALE = ".scale"
# Weights that share a scale, and the largest whole number of a weight.
_GROUP, _LARGEST = 32, 31
# The smallest scale, which float16 can still hold.
_SMALLEST = 1e-6
# Bytes of a group: 32 weights of six bits.
_BYTES = 24


def fingerprint(recipe: dict[str, Any]) -> str:
    """Return the hash of a recipe: sixteen hexadecimal digits that another recipe does not have."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]


def path_of(folder: Path, name: str) -> Path:
    """Return the path of a model's weights."""
    return folder / f"{name}.safetensors"


def save(folder: Path, name: str, module: nn.Module, recipe: dict[str, Any]) -> None:
    """Write a module's weights; a write that fails leaves no file behind.

    Matrices are stored in six bits where the recipe says so (`stored`).
    """
    tensors: dict[str, Tensor] = {}
    for key, value in module.state_dict().items():
        weight = value.detach().cpu().contiguous()
        if not weight.is_floating_point():
            tensors[key] = weight
        elif recipe.get("stored") == "int6" and weight.ndim == 2:
            tensors[key], tensors[key + _SCALE] = rounded(weight)
        else:
            tensors[key] = weight.to(torch.bfloat16)
    path = path_of(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, safetensors.torch.save(tensors, {"recipe": fingerprint(recipe)}))


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix rounded to six bits, and the scales of its groups of 32 columns.

    Parameters
    ----------
    weight : Tensor, shape (n, m)
        Any float type.

    Returns
    -------
    tuple of Tensor
        Packed numbers (n, 24 * ceil(m / 32)) uint8, and scales (n, ceil(m / 32)) float16.
    """
    n = len(weight)
    # Groups of columns, filled up with zeros, and their scales.
    groups = F.pad(weight.float(), (0, -weight.shape[1] % _GROUP)).reshape(n, -1, _GROUP)
    scale = (groups.abs().amax(2) / _LARGEST).clamp(min=_SMALLEST).to(torch.float16)
    # Whole numbers, shifted to 0 to 62.
    whole = (groups / scale.float()[..., None]).round().clamp(-_LARGEST, _LARGEST)
    whole = whole.to(torch.int64) + _LARGEST

    # Four numbers of six bits are 24 bits, which are three bytes.
    a, b, c, d = whole.reshape(n, -1, 4).unbind(-1)
    bits = a | b << 6 | c << 12 | d << 18
    packed = torch.stack([bits & 255, bits >> 8 & 255, bits >> 16], -1)
    return packed.flatten(1).to(torch.uint8), scale


def restored(packed: Tensor, scale: Tensor, columns: int) -> Tensor:
    """Return the matrix (n, columns) in float32 that `rounded` has packed."""
    n = len(packed)
    low, middle, high = packed.to(torch.int64).reshape(n, -1, 3).unbind(-1)
    bits = low | middle << 8 | high << 16
    whole = torch.stack([bits >> place & 63 for place in (0, 6, 12, 18)], -1)
    groups = (whole - _LARGEST).float().reshape(n, -1, _GROUP) * scale.float()[..., None]
    return groups.flatten(1)[:, :columns]


def _unpacked(tensors: dict[str, Tensor], module: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a file in float32, matrices with as many columns as the module's.

    RuntimeError for a weight that the module does not have, or for a matrix of other columns.
    """
    weights: dict[str, Tensor] = {}
    expected = module.state_dict()
    if extra := tensors.keys() - {name + end for name in expected for end in ("", _SCALE)}:
        raise RuntimeError(f"unknown weights {sorted(extra)[0]}")
    for key, value in expected.items():
        # A matrix in six bits has scales beside it.
        if key + _SCALE in tensors:
            columns = value.shape[-1]
            if tensors[key].shape[-1] != _BYTES * math.ceil(columns / _GROUP):
                raise RuntimeError(f"{key} has other columns")
            weights[key] = restored(tensors[key], tensors[key + _SCALE], columns)
        elif key in tensors:
            weights[key] = tensors[key].float() if tensors[key].is_floating_point() else tensors[key]
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
        There are no such weights, or another recipe made them, or the file is broken; the message
        says how to make them.
    """
    # Read the file, and the recipe that made it.
    path = path_of(folder, name)
    if not path.is_file():
        raise ValueError(f"weights of {name} are not there: {remedy}")
    try:
        with safe_open(path, "pt") as file:
            made_by = (file.metadata() or {}).get("recipe", "none")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118, the file is no mapping
    except SafetensorError:
        raise ValueError(f"weights of {name} cannot be read, the file is broken: {remedy}") from None
    if made_by != fingerprint(recipe):
        raise ValueError(f"weights of {name} were made by recipe {made_by}, not {fingerprint(recipe)}: {remedy}")
    try:
        module.load_state_dict(_unpacked(tensors, module))
    except RuntimeError:
        raise ValueError(f"weights of {name} do not fit the model that its recipe makes: {remedy}") from None
    return module.eval()
