"""Words for the arguments beside laws and drafts, without which nobody can repeat a counterexample."""

from __future__ import annotations

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.conform.subject_call import Input
from specsim.conform.toys import Toy
from specsim.conform.verdict import Counterexample
from specsim.exact.tree import texts
from specsim.types import TokenTree


def argument_words(subject: Subject, case: Case, tree: TokenTree | None) -> dict[str, str]:
    """Return the names and values of the arguments beside laws and drafts, as a call has them.

    Arguments that say nothing, such as a limit that is None, are left out.
    """
    words: dict[str, str] = {}
    # How the laws are warped, and what the text goes on from.
    if subject.warps or case.sampling_params != UNCHANGED:
        words["sampling_params"] = parameters(case.sampling_params)
    if tree is None:
        words["prompt"] = str(list(case.prompt))
        words["gamma" if subject.kind == "drafter" else "n"] = str(_tokens(subject, case))
    elif case.prompt:
        words["prompt"] = str(list(case.prompt))
    # The shape of the drafts, and where a text ends.
    if subject.kind == "tree":
        words["parents"] = str(list(case.parents))
    if subject.stops and case.end is not None:
        words["end"] = str(case.end)
    if subject.stops and subject.kind != "decoder" and case.limit is not None:
        words["limit"] = str(case.limit)
    # Which tokens are allowed.
    if subject.masks and case.mask is not None:
        words["mask"] = allowed(case, tree)
    return words


def input_shown(subject: Subject, case: Case, choice: Input) -> Counterexample:
    """Return the input of one call as a counterexample shows it, with no outcome yet."""
    if subject.kind in ("decoder", "drafter"):
        tables = _table(case.target), _table(case.draft)
        return Counterexample(case.words, *tables, None, None, {}, {}, argument_words(subject, case, None))
    tree = choice.tree
    drafts = None if tree is None else np.asarray(tree.tokens).tolist()
    q = None if choice.q is None else choice.q.tolist()
    return Counterexample(case.words, choice.p.tolist(), q, drafts, None, {}, {}, argument_words(subject, case, tree))


def _table(model: Toy) -> dict[str, list[str]]:
    """Return the rows of a model after texts of at most one token, as strings."""
    return {str(text): [str(v) for v in row] for text, row in model.table.items() if len(text) < 2}


def parameters(sampling_params: SamplingParams) -> str:
    """Return sampling parameters in one line.

    >>> parameters(SamplingParams(top_k=2))
    'temperature 1, top_k 2, top_p 1'
    """
    return ", ".join(f"{name} {value:g}" for name, value in sampling_params._asdict().items())


def allowed(case: Case, tree: TokenTree | None) -> str:
    """Return in words the tokens that the mask allows, in every row or right after the prompt."""
    assert case.mask is not None
    after = [()] if tree is None else texts(tree)
    rows = [np.flatnonzero(case.mask(case.prompt + text, case.target.vocab)).tolist() for text in after]
    if tree is None:
        return f"allowed are {rows[0]} after the prompt"
    return f"allowed are {rows}"


def _tokens(subject: Subject, case: Case) -> int:
    """Return the number of tokens that a decoder or a drafter is asked for."""
    return case.size if subject.kind == "drafter" else case.limit or case.size + 1
