"""A target and its draft: load them, write with them, score texts under them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch

from real.decode.blocks import Score
from real.decode.graphs import Kept
from real.decode.loop import Block, Stop, decode_batch, keyed
from real.decode.score import score
from real.decode.stops import Stream, check_strings, cut, stopping
from real.decode.text_length import check_fit
from real.decode.verifier import verifier_of
from real.decode.warp import Warping
from real.models.device import parse_device
from real.models.loading import load_model, load_tokenizer, same_tokenizer
from real.models.model import LanguageModel
from real.models.names import check_place, check_rounding
from specsim.base import check
from specsim.discover import Rule
from specsim.types import Array, Draws


class Generation(NamedTuple):
    """A text that `Pair.generate` wrote (up to a stop string), its tokens, its blocks, and the seconds it took."""

    text: str
    tokens: list[int]
    blocks: list[Block]
    seconds: float


@dataclass(frozen=True)
class Pair:
    """Target and draft with one tokenizer and one vocabulary size.

    Parameters
    ----------
    target, draft : LanguageModel
        The two models; their logits have the same width.
    tokenizer : PreTrainedTokenizerBase
        The tokenizer of both.
    kept : Kept
        Cycles that a GPU has captured, for the next texts of the same shape.
    """

    target: LanguageModel
    draft: LanguageModel
    tokenizer: Any
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    def generate(
        self,
        prompt: str | Sequence[str],
        *,
        rule: Rule = "tokenwise",
        scheme: str | None = None,
        step: Rule | None = None,
        gamma: int | None = None,
        parents: Sequence[int] | None = None,
        draws: Callable[[Array], Draws] | None = None,
        params: Mapping[str, Any] | None = None,
        step_params: Mapping[str, Any] | None = None,
        max_tokens: int = 64,
        seed: int = 0,
        warping: Warping = Warping(),  # noqa: B008 - frozen
        stop: Sequence[str] = (),
        stream: Callable[[str], None] | None = None,
        first_key: int = 0,
    ) -> Generation | list[Generation]:
        """Write after a prompt, or after each of several in one batch.

        Parameters
        ----------
        prompt : str, or sequence of str
            What to write after; at least one token each.
        rule : str, path or module
            Name of a chain rule or of a step rule of one draft, or with `parents` of a tree rule; its file, or itself;
            lossless at this temperature.
        scheme : str, optional
            How the siblings of a tree are drawn; by default as its rule prefers.
        step : str, path or module, optional
            The step rule of a tree rule that runs one, if not its own choice.
        gamma : int, optional
            Drafts per target call, 4 by default; 0 is plain decoding. A tree has its own depth.
        parents : sequence of int, optional
            Draft trees of this shape (see `specsim.trees`), as `specsim.trees.k_ary((2, 1, 1))`.
        draws : callable, optional
            For scheme "distinct": q (..., V) -> `specsim.types.Draws`, the law of the number of draws at a node.
        params : mapping, optional
            The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.
        step_params : mapping, optional
            The parameters of the rule named by `step`, in the same way.
        max_tokens : int
            Tokens to write at most; the tokenizer's end token ends a text earlier.
        seed : int
            Of the randomness. A text depends on (seed, its key, its prompt), not on its batch: exactly so in float64,
            but for near ties in float32; half types round differently in batches.
        warping : Warping
            Temperature, filters, penalty and bias, for both models.
        stop : sequence of str
            Strings that end a text, wherever in a block they are completed.
        stream : callable, optional
            Told each new piece of the text, of one prompt, as soon as it cannot change any more.
        first_key : int
            Key of the first prompt, the next ones follow: a shard that starts at prompt 100 gives 100.

        Returns
        -------
        Generation, or a list of them
            As the prompt was one or several.

        Raises
        ------
        ValueError
            Unknown or lossy rule, empty prompt, a text beyond a context, an empty stop string, several streams; gamma
            beside `parents`, scheme or step without, and what `real.decode.tree_plan.TreeVerifier` refuses.

        Examples
        --------
        >>> from real import TINY
        >>> len(load(TINY / "target", TINY / "draft").generate("def main():", gamma=3, max_tokens=8).tokens)
        8
        """
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        if not prompts or not all(isinstance(one, str) for one in prompts):
            raise ValueError(f"prompt must be a text or a list of texts, at least one; got {check.shown(prompt)}")
        check_strings(stop)
        if not isinstance(warping, Warping):
            raise TypeError(f"warping must be a real.Warping, got {type(warping).__name__}")
        if stream is not None and len(prompts) != 1:
            raise ValueError(f"stream takes one prompt, got {len(prompts)}")
        told: dict[str, Any] = {"params": params, "step": step, "step_params": step_params}
        verifier, length = verifier_of(rule, gamma, parents, scheme, draws, warping.temperature, **told)
        ids = [list(self.tokenizer(text)["input_ids"]) for text in prompts]
        shown = Stream(self._reader(ids[0]), stop, stream) if stream is not None else None
        runs = decode_batch(
            self.target,
            self.draft if length else None,
            ids,
            max_tokens=max_tokens,
            gamma=length,
            uniforms=[keyed(seed, first_key + i) for i in range(len(ids))],
            warping=warping,
            stop=self.stopping(stop),
            rule=verifier,
            told=(lambda i, new: None) if shown is None else shown.tell,
            kept=self.kept,
        )
        if shown is not None:
            shown.finish()
        out = [
            Generation(cut(self._reader(own)(run.tokens), stop), run.tokens, run.blocks, run.seconds)
            for own, run in zip(ids, runs, strict=True)
        ]
        return out[0] if isinstance(prompt, str) else out

    def score(
        self,
        text: str | Sequence[int],
        *,
        prompt: str = "",
        warping: Warping = Warping(),  # noqa: B008 - frozen
    ) -> Score:
        """Score a text under both models.

        Parameters
        ----------
        text : str, or sequence of int
            For a prediction of tau it must be the target's own: another text has another law. Give the tokens of a
            `Generation` rather than its text, which may be cut into other tokens.
        prompt : str
            What stands before it; without one the text's first token takes its place.
        warping : Warping
            The setting the text was written with.

        Returns
        -------
        Score
            p, q and acceptance for each token; `Score.tau(gamma)` predicts tokens per target call.

        Raises
        ------
        ValueError
            Nothing to score, or the text is longer than a context.

        Examples
        --------
        >>> from real import TINY
        >>> load(TINY / "target", TINY / "draft").score([5, 6, 7], prompt="def main():").p.shape
        (3,)
        """
        head = list(self.tokenizer(prompt)["input_ids"]) if prompt else []
        if isinstance(text, str):  # a text begins a document only where no prompt does
            ids = list(self.tokenizer(text, add_special_tokens=not head)["input_ids"])
        else:
            ids = [check.integer(token, "a token of text", 0) for token in text]
        if not head:
            head, ids = ids[:1], ids[1:]
        if not ids:
            raise ValueError("text has no token to score: give more text, or a prompt")
        check_fit(self.target, head + ids, 1, "target")
        check_fit(self.draft, head + ids, 1, "draft")
        return score(self.target, self.draft, head, ids, warping)

    def stopping(self, strings: Sequence[str] = ()) -> Stop:
        """Where texts of this pair end: at the tokenizer's end token, or at one of the strings.

        Parameters
        ----------
        strings : sequence of str
            None empty.

        Returns
        -------
        callable
            As `real.decode.loop.decode_batch` takes it.

        Raises
        ------
        ValueError
            An empty string.
        """
        end = self.tokenizer.eos_token_id
        return stopping(self.tokenizer, strings, [] if end is None else [end])

    def _reader(self, prompt: list[int]) -> Callable[[list[int]], str]:
        """Characters of new tokens, as they look after the prompt (some decoders strip a leading space)."""
        before = self.tokenizer.decode(prompt, skip_special_tokens=True)
        return lambda tokens: self.tokenizer.decode(prompt + tokens, skip_special_tokens=True)[len(before) :]


def load(
    target: str | os.PathLike[str],
    draft: str | os.PathLike[str],
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    widen_to: int | None = None,
    weights: str | None = None,
) -> Pair:
    """Load a target and a draft that speak the same tokens.

    Parameters
    ----------
    target, draft : str or path
        Local directory or hub id, each with its tokenizer; safetensors only.
    device : str or torch.device
        Of both models.
    dtype : torch.dtype
        Of both models.
    widen_to : int, optional
        Run the target at the cost of this many parameters (*cost emulation*, see `real.models.widen`).
    weights : str, optional
        "int8" or "int4": round the target's projections (see `real.models.model.quantised`). Texts are then lossless
        with respect to the quantised target.

    Returns
    -------
    Pair
        Logits of both are fitted to the ids of the tokenizer, 0 to its largest.

    Raises
    ------
    ValueError
        If a model or tokenizer cannot be loaded, the tokenizers differ, or these weights do not go with the target.

    Examples
    --------
    >>> from real import TINY
    >>> load(TINY / "target", TINY / "draft").target.dtype
    torch.float32
    """
    weights = check_rounding("" if weights is None else weights, str(device), str(dtype).removeprefix("torch."))
    parse_device(str(device))
    for where in (target, draft):
        check_place(where)
    widen_to = None if widen_to is None else check.integer(widen_to, "widen_to", 1)
    tokenizer = load_tokenizer(target)
    same_tokenizer(tokenizer, load_tokenizer(draft))
    width = max(tokenizer.get_vocab().values()) + 1
    big = load_model(target, dtype=dtype, device=device, widen_to=widen_to, weights=weights)
    small = load_model(draft, dtype=dtype, device=device)
    return Pair(replace(big, vocab_size=width), replace(small, vocab_size=width), tokenizer)
