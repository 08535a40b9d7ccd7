"""economize: its verifier for sampled drafts, of chains (alone and in a batch) and of trees."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.adapters._rows import log, truncated
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.types import TokenTree

DISTRIBUTION = "economize"
VERSIONS = "==0.3.2"
KIND = "tree"
ENTRY = "economize.decoding.verifiers.RejectionVerifier"
NEEDS = ("torch", "transformers", "safetensors")
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Return `verify` and `verify_batch` on chains, `verify_tree` on candidates i.i.d. and without replacement."""
    caveat = note(DISTRIBUTION, VERSIONS, "top-k is the adapter's: the package has none")
    import torch

    package, verifiers = module("economize.decoding"), module("economize.decoding.verifiers")

    def made(sampling_params: SamplingParams) -> tuple[Any, Any]:
        """Return the verifier and the selector, which draws from torch's own generator."""
        if sampling_params.temperature == 0:
            return verifiers.GreedyVerifier(package.DecodeConfig(verifier="greedy")), package.GreedySelector()
        selector = package.TopPSampler(sampling_params.temperature, sampling_params.top_p)
        selector.generator_for = lambda device: None
        return verifiers.RejectionVerifier(package.DecodeConfig(verifier="rejection")), selector

    def rows(law: Any, sampling_params: SamplingParams) -> Any:
        """Return logits of laws, without what top-k takes away."""
        return log(
            torch.stack([torch.as_tensor(truncated(row.numpy(), sampling_params._replace(top_p=1.0))) for row in law])
        )

    def run_one(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams = UNCHANGED) -> tuple[int, int]:
        """Verify one block."""
        verifier, selector = made(sampling_params)
        laws = None if q is None else selector.distributions(rows(q, sampling_params))
        result: tuple[int, int] = verifier.verify(rows(p, sampling_params), drafts.tolist(), laws, selector, drafts, 0)
        return result

    def batch(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams = UNCHANGED) -> tuple[Any, Any]:
        """Verify a batch."""
        verifier, selector = made(sampling_params)
        laws = None if q is None else torch.stack([selector.distributions(rows(w, sampling_params)) for w in q])
        draft = package.Draft(drafts, [drafts.shape[1]] * len(drafts), None, laws)
        logits = torch.stack([rows(w, sampling_params) for w in p])
        result: tuple[Any, Any] = verifier.verify_batch(logits, draft, selector, drafts, [0] * len(drafts))
        return result

    def batch_of_one(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams = UNCHANGED) -> tuple[int, int]:
        """Verify one block as a batch."""
        batched_q = None if q is None else q[None]
        num_accepted, token = batch(p[None], batched_q, drafts[None], sampling_params=sampling_params)
        return int(num_accepted[0]), int(token[0])

    def tree(p: Any, q: Any, drafted: TokenTree, *, scheme: str) -> tuple[list[int], int]:
        """Verify a tree; return the accepted path and the next token."""
        verifier, selector = made(UNCHANGED)
        parents, tokens = [int(i) for i in drafted.parents], drafted.tokens
        laws = torch.stack([q[parent + 1] for parent in parents])
        # The law of every child, given the siblings before it.
        if scheme == "without_replacement":
            for i, parent in enumerate(parents):
                for sibling in (j for j in range(i) if parents[j] == parent):
                    laws[i, tokens[sibling]] = 0.0
        # Where nothing is left to draw, nothing is drafted.
        live: list[int] = []
        for i, parent in enumerate(parents):
            if laws[i].sum() > 0 and (parent < 0 or parent in live):
                live.append(i)
        # The tree of the nodes that are left, in their numbers.
        number = {-1: -1} | {i: place for place, i in enumerate(live)}
        above = torch.tensor([number[parents[i]] for i in live])
        laws = laws[live] / laws[live].sum(-1, keepdim=True)
        draft = package.Draft(tokens[live][None], [len(live)], above[None], laws[None])
        exact = log(p)[[0, *(i + 1 for i in live)]]
        paths, following = verifier.verify_tree(exact[None], draft, selector)
        return [live[place] for place in paths[0]], following[0]

    # The entries as subjects.
    chain = Subject(
        f"{ENTRY}.verify", "chain", run_one, "torch", "float32", "global", warps=True, batch=batch, note=caveat
    )
    trees = chain._replace(name=f"{ENTRY}.verify_tree, i.i.d.", kind="tree", warps=False, batch=None, note="")
    return [
        chain._replace(batch=None),
        chain._replace(name=f"{ENTRY}.verify_batch", run=batch_of_one),
        chain._replace(name=f"{ENTRY}.verify_batch, one-hot drafts", run=batch_of_one, takes_q=False),
        trees._replace(run=lambda p, q, drafted: tree(p, q, drafted, scheme="iid")),
        trees._replace(
            name=f"{ENTRY}.verify_tree, without replacement",
            run=lambda p, q, drafted: tree(p, q, drafted, scheme="without_replacement"),
            scheme="without_replacement",
        ),
    ]
