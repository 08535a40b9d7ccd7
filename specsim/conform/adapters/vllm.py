"""vllm: FLy, the lossy mode of its rejection sampler, whose kernels Triton's interpreter runs; uniforms are coins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

from specsim.conform.adapters import _vllm
from specsim.conform.adapters._installed import module, note, version
from specsim.conform.subject import Subject

DISTRIBUTION = "vllm"
VERSIONS = "==0.33.0"
KIND = "chain"
ENTRY = "vllm.v1.sample.rejection_sampler.rejection_sample"
NEEDS = (
    "torch",
    "transformers",
    "triton",
    "aiohttp",
    "blake3",
    "cachetools",
    "cbor2",
    "cloudpickle",
    "einops",
    "fastapi",
    "llguidance",
    "msgspec",
    "openai",
    "openai-harmony",
    "opencv-python-headless",
    "partial-json-parser",
    "prometheus_client",
    "py-cpuinfo",
    "pybase64",
    "pyzmq",
    "uvloop",
    "xgrammar",
    "xxhash",
)
LICENCE = "Apache-2.0"

# What vLLM's speculative configuration calls fly_window_size, and so on: the smallest window, and
# the defaults.
FLY = {"fly_window_size": 1, "fly_entropy_threshold": 0.3, "fly_entropy_top_k": 3}
CAVEAT = "run by Triton's interpreter; its coins, and the token after the drafts that are kept, are the adapter's"


def subjects() -> list[Subject]:
    """Return the sampler with FLy, with laws of the draft and without."""
    installed = version(DISTRIBUTION)
    # Both are read when the kernels are decorated: Triton is to interpret them, and vLLM uses
    # Triton without a device only where none is to be seen.
    os.environ |= {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    sampler = module(ENTRY.rpartition(".")[0])
    if not FLY.keys() <= signature(sampler.rejection_sample).parameters.keys():
        raise ImportError(f"vllm {installed} has no FLy: pip install vllm{VERSIONS}")
    words = ", ".join(f"{name}={value:g}" for name, value in FLY.items())
    fly = Subject(f"{ENTRY}, {words}", "chain", rule(sampler, FLY), "torch", "float32", "coins", returns="tokens")
    fly = fly._replace(lossless=False, logits=True, sizes=(2, 3), note=note(DISTRIBUTION, VERSIONS, CAVEAT))
    return [fly, fly._replace(name=f"{fly.name}, one-hot drafts", takes_q=False)]


def rule(sampler: Any, options: dict[str, Any]) -> Callable[..., list[int]]:
    """Return `rejection_sample` with these options on one row of logits, its uniforms as an argument."""
    import torch

    def run(p: Any, q: Any, drafts: Any, u: Any) -> list[int]:
        """Verify a row of drafts; u[i] tests draft i, and the last of u draws the token after them."""
        gamma = len(drafts)
        bonus = torch.tensor([[_pick(torch.softmax(p[-1], -1), u[-1])]], dtype=torch.int32)
        laws = None if q is None else torch.softmax(q, -1).contiguous()
        with _coins(sampler, u):
            tokens = sampler.rejection_sample(
                drafts.int(),
                [gamma],
                gamma,
                torch.tensor([gamma], dtype=torch.int32),
                laws,
                p[:-1].contiguous(),
                bonus,
                _vllm.metadata(_vllm.PLAIN, 1),
                **options,
            )
        return [int(token) for token in tokens[0] if token >= 0]

    return run


@contextmanager
def _coins(sampler: Any, u: Any) -> Iterator[None]:
    """Let the sampler read u where it draws uniforms, and where it draws what replaces each draft.

    Of replacements one is emitted at most, so all read the last of u.
    """
    import torch

    def uniforms(*_: Any) -> Any:
        """Return the numbers that test the drafts; the kernels write into them."""
        return u[:-1].double().clone()

    def replacements(_: Any, __: Any, ___: Any, drafts: Any, laws: Any, target: Any, *____: Any) -> Any:
        """Return the token that replaces each draft."""
        proposed = torch.nn.functional.one_hot(drafts.long(), target.shape[-1]) if laws is None else laws
        rest = (target - proposed).clamp(min=0)
        return torch.tensor([_pick(row, u[-1]) for row in rest], dtype=torch.int32)

    names = {"generate_uniform_probs": uniforms, "sample_recovered_tokens": replacements}
    own = {name: getattr(sampler, name) for name in names}
    try:
        for name, function in names.items():
            setattr(sampler, name, function)
        yield
    finally:
        for name, function in own.items():
            setattr(sampler, name, function)


def _pick(law: Any, coin: Any) -> int:
    """Return the token that an unnormalised law has at a coin on [0, 1); the last one that it has for no other."""
    import torch

    total = torch.cumsum(law.double(), -1)
    token = int((total <= coin.double() * total[-1]).sum())
    return min(token, int((total < total[-1]).sum()))
