"""Models and tokenizers from local directories, GGUF files or the Hugging Face hub.

Pickled weights are refused.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from real.models.gguf import folder_of
from real.models.gguf_names import gguf_path
from real.models.memory import explain_oom
from real.models.model import LanguageModel, from_hf, quantised
from real.models.names import check_files, check_place, check_rounding, check_tokenizer_files, near_model
from real.models.widen import widen
from specsim.base import check

# A text of digits, accents, other scripts and white space, on which different tokenizers differ.
_PROBE = "Speculative decoding, 1234567890: naïve façade 漢字 🙂\n\tdef f(x):  return x"


def load_hf(path: str | os.PathLike[str], *, dtype: torch.dtype = torch.float32) -> Any:
    """Load a Hugging Face causal language model from safetensors files, onto the CPU.

    Parameters
    ----------
    path : str or path
        Local directory, GGUF file, `smollm2` (see `real.models.gguf_names`), or id of a model on
        the Hugging Face hub. Code from the hub is never run.
    dtype : torch.dtype
        One of float64, float32, bfloat16 and float16.

    Returns
    -------
    PreTrainedModel
        All its weights as they are in the files.

    Raises
    ------
    ValueError
        If there is no such model, or its files are not safetensors or incomplete.
    """
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be one of torch's, as torch.float32, got {check.shown(dtype)}")

    # Check the place, and load the model from there.
    where = _folder(path)
    if Path(where).is_dir():
        check_files(Path(where))
    options = {"use_safetensors": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    model, report = _fetch(AutoModelForCausalLM, where, dtype=dtype, **options)
    # Hugging Face would leave weights that it does not find random.
    if report["missing_keys"] or report["mismatched_keys"]:
        lacking = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
        raise ValueError(f"{where} lacks weights of its model or has them in another shape: {lacking[0]}")
    return model


def load_model(
    path: str | os.PathLike[str],
    *,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    widen_to: int | None = None,
    weights: str | None = None,
) -> LanguageModel:
    """Load a causal language model, ready to run.

    Parameters
    ----------
    path : str or path
        As for `load_hf`.
    dtype : torch.dtype
        One of float64, float32, bfloat16 and float16.
    device : str or torch.device
        Where to run it.
    widen_to : int, optional
        Parameters of a *cost emulation*: the same function at the cost of a larger model (see
        `real.models.widen`).
    weights : str, optional
        "int8" or "int4": round the projections of its layers (see `real.models.model.quantised`).

    Returns
    -------
    LanguageModel
        On the fast path where `real.models.llama` supports the model.

    Raises
    ------
    ValueError
        As `load_hf`, or if `from_hf`, `widen` or `quantised` refuses the model.
    """
    check_rounding(weights or "", str(device), str(dtype).removeprefix("torch."))
    small = load_hf(path, dtype=dtype if widen_to is None else torch.float32)
    with explain_oom(f"the weights of {os.fspath(path)}", "bfloat16, or a smaller model"):
        model = small if widen_to is None else widen(small, widen_to, dtype=dtype)
        language_model = from_hf(model.to(device))
    return language_model if weights is None else quantised(language_model, weights)


def _folder(path: str | os.PathLike[str]) -> str:
    """Return the place of a model; for a GGUF file the folder that it is converted to."""
    file = gguf_path(path)
    return os.fspath(path) if file is None else str(folder_of(file))


def _fetch(auto: Any, where: str, **options: Any) -> Any:
    """Return the result of `auto.from_pretrained`; its many errors become one short ValueError."""
    # An impossible place is refused at once; the hub would be asked again and again.
    if not Path(where).is_dir():
        check_place(where)
    try:
        with _silent():
            return auto.from_pretrained(where, trust_remote_code=False, **options)
    except (OSError, ValueError, RuntimeError, ImportError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
    if Path(where).is_dir():
        raise ValueError(f"{where} could not be loaded: {reason}")
    reason = f"{reason.rstrip('.')}{near_model(where)}"
    raise ValueError(f"{where!r} is neither a local directory nor could it be fetched from the hub: {reason}")


@contextmanager
def _silent() -> Iterator[None]:
    """Hide the bar of the weights and the hub's lines about every try.

    The error says what went wrong.
    """
    bar, hub = is_progress_bar_enabled(), logging.getLogger("huggingface_hub")
    level = hub.level
    disable_progress_bar()
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        hub.setLevel(level)
        if bar:
            enable_progress_bar()


def load_tokenizer(path: str | os.PathLike[str]) -> Any:
    """Load the tokenizer of a model, from the places of `load_hf`."""
    where = _folder(path)
    if Path(where).is_dir():
        check_tokenizer_files(Path(where))
    # The tokenizer of a GGUF file is as its file says; an architecture's own class would split
    # texts in its own way.
    kind = AutoTokenizer if gguf_path(path) is None else PreTrainedTokenizerFast
    return _fetch(kind, where)


def same_tokenizer(a: Any, b: Any) -> None:
    """Check that two tokenizers are the same function.

    Widths of model heads say nothing here: Qwen2.5 pads them differently over one tokenizer. Nor do
    the roles of special tokens: a base draft serves an instruct target, and the target's say when a
    text ends.

    Parameters
    ----------
    a, b : PreTrainedTokenizerBase
        Loaded tokenizers.

    Raises
    ------
    ValueError
        Naming the first token, or the probe text, on which they differ.
    """
    first, second = a.get_vocab(), b.get_vocab()
    if first != second:
        differing = [token for token in first.keys() | second.keys() if first.get(token) != second.get(token)]
        # The token with the smallest id: the first place where the two lists of tokens part.
        token = min(differing, key=lambda t: (min(v[t] for v in (first, second) if t in v), t))
        first_id, second_id = first.get(token), second.get(token)
        raise ValueError(f"tokenizers differ: token {token!r} is {first_id} in the first, {second_id} in the second")
    first_ids, second_ids = a.encode(_PROBE), b.encode(_PROBE)
    if first_ids != second_ids:
        raise ValueError(f"tokenizers differ: a probe text is {first_ids} in the first, {second_ids} in the second")
