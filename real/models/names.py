"""Checks of a model's place, its number format and its weights that need no torch."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from specsim.base.dtypes import long_name
from specsim.base.unknown import unknown

DTYPES = ("float64", "float32", "bfloat16", "float16")
WEIGHTS = ("int8", "int4")
# The types in which the kernels of rounded weights compute, on a CPU.
_QUANTISABLE = ("float32", "bfloat16")
# The names of the bundled pair and of SmolLM2, and of the best drafter that is shipped for SmolLM2.
TINY_PAIR, SMOLLM2 = "tiny", "smollm2"
BEST_DRAFT = f"{SMOLLM2}/lowrank"
# The drafter whose drafts do not see each other, by target.
ONE_PASS = {TINY_PAIR: "heads", SMOLLM2: f"{SMOLLM2}/heads"}
_SHIPPED = Path(__file__).parents[1] / "draft" / "weights" / SMOLLM2
# Beginnings of the names of those drafters that read the text alone: they are draft models.
_ARE_MODELS = ("lowrank", "exit_")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def check_dtype(name: str) -> str:
    """Return the long name of a float type, from the long or the short one (bf16).

    ValueError for any other.
    """
    if not isinstance(name, str) or long_name(name) not in DTYPES:
        raise unknown("dtype", name, DTYPES)
    return long_name(name)


def parse_weights(name: str) -> str | None:
    """Return the type that a target's projections are rounded to.

    None for "", which leaves them as they are.
    """
    if not isinstance(name, str) or (name and name not in WEIGHTS):
        raise ValueError(f"weights {' '.join(repr(name).split()):.60} is unknown; known: {', '.join(WEIGHTS)}")
    return name or None


def check_rounding(weights: str, device: str, dtype: str) -> str | None:
    """Return `parse_weights(weights)`; ValueError where device or dtype has no kernels for rounded weights."""
    kind = parse_weights(weights)
    if kind is not None and (device.partition(":")[0] != "cpu" or dtype not in _QUANTISABLE):
        raise ValueError(
            f"weights {kind} are for float32 and bfloat16 on a CPU, got {dtype} on {device}: "
            "leave the weights as they are, or run on a CPU"
        )
    return kind


def shipped_draft(place: str | os.PathLike[str]) -> str | None:
    """Return the name of a shipped draft model of SmolLM2, as smollm2/lowrank; None for another place.

    Raise ValueError for a name of this kind that is no draft model.
    """
    name = os.fspath(place)
    if not name.startswith(f"{SMOLLM2}/") or Path(name).is_dir():
        return None
    models = _shipped_models()
    if shipped_file(name).is_file() and name not in models:
        raise ValueError(
            f"{name} reads the target's states, so that it is no draft model: name it as the drafter of "
            f"Pair.generate; draft models: {', '.join(models)}"
        )
    if name not in models:
        raise unknown("draft", name, models)
    return name


def _shipped_models() -> list[str]:
    """Return the names of the draft models that are shipped for SmolLM2."""
    stems = [path.stem for path in sorted(_SHIPPED.glob("*.safetensors"))]
    return [f"{SMOLLM2}/{stem}" for stem in stems if stem.startswith(_ARE_MODELS)]


def near_model(name: str) -> str:
    """Return the end of an error about an unknown model: the shipped one of a near name, "" if there is none.

    >>> near_model("SmolLM2-135M-Instruct"), near_model("lowrank"), near_model("opt-125m")
    ("; did you mean 'smollm2'?", "; did you mean 'smollm2/lowrank'?", '')
    """
    # Drafters are also known by what stands behind the slash.
    whole_names = {model.rpartition("/")[2]: model for model in _shipped_models()}
    whole_names |= {model: model for model in [SMOLLM2, *whole_names.values()]}
    word = name.lower()
    near = get_close_matches(word, whole_names, 1)
    # The hub's own name of the same model.
    if f"{SMOLLM2}-135m" in word:
        near = [SMOLLM2]
    return f"; did you mean {whole_names[near[0]]!r}?" if near else ""


def shipped_file(name: str) -> Path:
    """Return the file with the weights of a drafter that is shipped for SmolLM2."""
    _, _, stem = name.partition("/")
    return _SHIPPED / f"{stem}.safetensors"


def check_place(where: str | os.PathLike[str]) -> None:
    """Refuse a place that is no directory with a model, no GGUF file and no id of the hub.

    Of directories only names are looked at, of a GGUF file its header; the hub is not asked.
    """
    # Imported here: it loads NumPy, which help does without.
    from real.models.gguf_names import gguf_path, readable_header

    name = os.fspath(where)
    if (file := gguf_path(name)) is not None:
        readable_header(file)
        return
    folder = Path(name)
    if folder.is_dir():
        check_files(folder)
        check_tokenizer_files(folder)
        return
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or folder.is_file():
        raise ValueError(f"{name} is no directory; looked for one with config.json, *.safetensors and tokenizer.json")
    if name in _shipped_models():
        raise ValueError(f"{name} is a draft model of {SMOLLM2}: name it as the draft, {SMOLLM2} as the target")
    if "/" not in name and not _cached(name):
        hint = near_model(name)
        if name == TINY_PAIR:
            hint = f"; {TINY_PAIR} is a pair of specsim-real, in Python real.TINY / 'target' and real.TINY / 'draft'"
        raise ValueError(f"there is no directory {name!r} here; an id of the hub is written owner/name{hint}")


def check_files(folder: Path) -> None:
    """Refuse a directory that holds no model, or pickled weights alone."""
    files = sorted(entry.name for entry in folder.iterdir())
    pickled = [name for name in files if name.startswith("pytorch_model") and name.endswith(".bin")]
    safe = any(name.endswith(".safetensors") for name in files)
    if pickled and not safe:
        raise ValueError(f"{folder} holds {pickled[0]} but no *.safetensors; pickled weights are not loaded")
    if not safe or "config.json" not in files:
        listing = ", ".join(files) or "nothing"
        raise ValueError(f"{folder} is no model: looked for config.json and *.safetensors, found {listing}")


def check_tokenizer_files(folder: Path) -> None:
    """Refuse a directory without any file of a tokenizer."""
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        raise ValueError(f"{folder} holds no tokenizer: looked for {', '.join(_TOKENIZER_FILES)}")


def _cached(name: str) -> bool:
    """Return whether the hub's cache holds a model of that name; names of some old models have no owner."""
    # Imported here: a directory needs no hub.
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    # The hub can have no such name.
    except ValueError:
        return False
