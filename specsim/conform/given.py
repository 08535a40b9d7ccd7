"""Words for the arguments beside laws and drafts, without which nobody can repeat a counterexample."""

from __future__ import annotations

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.exact.tree import texts
from specsim.types import TokenTree


def given(subject: Subject, case: Case, tree: TokenTree | None) -> dict[str, str]:
    """Names and values of the other arguments in a case, as a call has them; none that say nothing."""
    out: dict[str, str] = {}
    if subject.warps or case.sampling_params != UNCHANGED:
        out["sampling_params"] = parameters(case.sampling_params)
    if tree is None:
        out["prompt"] = str(list(case.prompt))
        out["gamma" if subject.kind == "drafter" else "n"] = str(_tokens(subject, case))
    elif case.prompt:
        out["prompt"] = str(list(case.prompt))
    if subject.kind == "tree":
        out["parents"] = str(list(case.parents))
    if subject.stops and case.end is not None:
        out["end"] = str(case.end)
    if subject.stops and subject.kind != "decoder" and case.limit is not None:
        out["limit"] = str(case.limit)
    if subject.masks and case.mask is not None:
        out["mask"] = allowed(case, tree)
    return out


def parameters(sampling_params: SamplingParams) -> str:
    """Sampling parameters in one line.

    >>> parameters(SamplingParams(top_k=2))
    'temperature 1, top_k 2, top_p 1'
    """
    return ", ".join(f"{name} {value:g}" for name, value in sampling_params._asdict().items())


def allowed(case: Case, tree: TokenTree | None) -> str:
    """The tokens that the mask allows, in every row or right after the prompt."""
    assert case.mask is not None
    after = [()] if tree is None else texts(tree)
    rows = [np.flatnonzero(case.mask(case.prompt + text, case.target.vocab)).tolist() for text in after]
    if tree is None:
        return f"allowed are {rows[0]} after the prompt"
    return f"allowed are {rows}"


def _tokens(subject: Subject, case: Case) -> int:
    return case.size if subject.kind == "drafter" else case.limit or case.size + 1
