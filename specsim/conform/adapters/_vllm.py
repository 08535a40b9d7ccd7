"""vllm's samplers in the shapes of the protocols: a batch is flattened, with cumulative counts of drafts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specsim.conform.adapters._installed import module
from specsim.conform.adapters._rows import log
from specsim.conform.subject import Model, SamplingParams, Subject

# Sampling parameters that leave laws as they are.
PLAIN = SamplingParams()


def batched(run: Callable[..., Any], name: str) -> Subject:
    """Return a chain that takes batches; one call is a batch of one."""

    def run_one(p: Any, q: Any, drafts: Any, **named: Any) -> Any:
        """Verify a batch of one."""
        rows = run(p[None], None if q is None else q[None], drafts[None], **named)
        return rows[0]

    subject = Subject(name, "chain", run_one, "torch", "float32", "global", returns="tokens", logits=True, batch=run)
    return subject._replace(sizes=(1, 2))


def rule(sampler: Any) -> Callable[..., Any]:
    """Return `rejection_sample` on unwarped laws; the bonus is the caller's, drawn before."""
    import torch

    def run(p: Any, q: Any, drafts: Any) -> Any:
        """Verify a batch."""
        rows, gamma = drafts.shape
        bonus = torch.multinomial(torch.softmax(p[:, -1], -1), 1).int()
        laws = None if q is None else torch.softmax(q, -1).flatten(0, 1)
        target, ends = p[:, :-1].flatten(0, 1).contiguous(), torch.arange(gamma, rows * gamma + 1, gamma).int()
        options = metadata(PLAIN, rows)
        return sampler.rejection_sample(
            drafts.int().flatten(), [gamma] * rows, gamma, ends, laws, target, bonus, options
        ).long()

    return run


def whole(sampler: Any) -> Callable[..., Any]:
    """Return `RejectionSampler.forward` on logits before the sampling parameters, which the draft's law has already."""
    import torch

    made = sampler.RejectionSampler(module("vllm.v1.sample.sampler").Sampler())
    cut = module("vllm.v1.sample.ops.topk_topp_sampler").apply_top_k_top_p
    described = module("vllm.v1.spec_decode.metadata").SpecDecodeMetadata

    def run(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams) -> Any:
        """Verify a batch."""
        rows, gamma = drafts.shape

        # Where each draft and each bonus stands in the flat batch.
        options, places = metadata(sampling_params, rows), torch.arange(rows * (gamma + 1)).reshape(rows, gamma + 1)
        ends = torch.arange(gamma, rows * gamma + 1, gamma).int()
        shape = described(
            drafts.int().flatten(),
            [gamma] * rows,
            ends,
            torch.arange(gamma + 1, rows * (gamma + 1) + 1, gamma + 1).int(),
            places[:, :-1].flatten(),
            places[:, -1],
            places.flatten(),
        )

        # The law that drafts were drawn from.
        each = metadata(sampling_params, rows * gamma)
        draft = q.flatten(0, 1) / (sampling_params.temperature or 1.0)
        laws = torch.softmax(cut(draft, each.top_k, each.top_p), -1)
        with torch.compiler.set_stance("force_eager"):
            return _filled(made, shape, laws, p.flatten(0, 1), options).sampled_token_ids.long()

    return run


def _filled(run: Callable[..., Any], *args: Any) -> Any:
    """Run with memory that reads as NaN until it is written: otherwise a call may be right by chance."""
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        return run(*args)
    finally:
        torch.use_deterministic_algorithms(before)


def drafter(sample: Callable[..., Any]) -> Callable[..., Any]:
    """Return a drafter: drafts one after the other, with the laws that the function returns."""
    import torch

    def run(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[list[int], Any]:
        """Draw gamma drafts; return them with their laws."""
        text, rows = list(prompt), []
        for _ in range(gamma):
            token, law = sample(log(draft(text))[None], metadata(sampling_params, 1))
            text.append(int(token[0]))
            rows.append(law[0])
        return text[len(prompt) :], torch.stack(rows)

    return run


def metadata(sampling_params: SamplingParams, rows: int) -> Any:
    """Return vllm's record of the sampling parameters, the same for every row."""
    import torch

    greedy, nothing = sampling_params.temperature == 0, torch.zeros(rows)
    # Parameters that leave laws as they are must be None; nothing else is asked for.
    temperature: Any = None if greedy else torch.full((rows,), sampling_params.temperature)
    top_p: Any = torch.full((rows,), sampling_params.top_p) if sampling_params.top_p < 1 else None
    top_k: Any = torch.full((rows,), sampling_params.top_k, dtype=torch.int32) if sampling_params.top_k else None
    return module("vllm.v1.sample.metadata").SamplingMetadata(
        temperature=temperature,
        all_greedy=greedy,
        all_random=not greedy,
        top_p=top_p,
        top_k=top_k,
        generators={},
        max_num_logprobs=None,
        no_penalties=True,
        prompt_token_ids=None,
        frequency_penalties=nothing,
        presence_penalties=nothing,
        repetition_penalties=nothing + 1,
        output_token_ids=[[] for _ in range(rows)],
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=module("vllm.v1.sample.logits_processor").LogitsProcessors(),
    )
