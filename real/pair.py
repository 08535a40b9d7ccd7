"""A target and what drafts for it: they write texts and score texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, overload

from typing_extensions import TypeVar

from real.decode.blocks import DrafterScore, Score
from real.decode.graphs import Kept
from real.decode.loop import Stop
from real.decode.options import DecodeOptions
from real.decode.proposer import Drafter
from real.decode.score import ids_to_score, score, score_drafter
from real.decode.stops import check_strings
from real.decode.text_length import check_fit
from real.decode.verifier import RuleOptions, verifier_of
from real.decode.warp import Warping
from real.decode.warping import warping_of
from real.models.model import LanguageModel
from real.named import DraftOptions, drafter_named, drafting_of
from real.origin import Origin, described
from real.writing import Generation, Request, text_ends, write
from specsim.base import check
from specsim.discover import Rule
from specsim.types import Array, Controller, Draws

# The type of a pair's draft: a bare `Pair` has one, `load(target)` returns a `Pair[None]`.
Draft = TypeVar("Draft", bound=LanguageModel | None, default=LanguageModel)


@dataclass(frozen=True, repr=False)
class Pair(Generic[Draft]):
    """A target, and its draft of one vocabulary size, with one tokenizer.

    Parameters
    ----------
    target : LanguageModel
        Whose law texts have.
    draft : LanguageModel or None
        Its logits are as wide as the target's; None for a target alone, which drafters may serve by name.
    tokenizer : PreTrainedTokenizerBase
        The tokenizer of both.
    kept : Kept
        Cycles that a GPU has captured, for the next texts of the same shape.
    origin : Origin, optional
        Where the models come from; None for models in memory.
    """

    target: LanguageModel
    draft: Draft
    tokenizer: Any
    kept: Kept = field(default_factory=Kept, compare=False)
    origin: Origin | None = None

    def __repr__(self) -> str:
        """Return the pair in one line."""
        return described(self.target, self.draft, self.origin)

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
        drafter: str | Drafter | None = None,
        controller: Rule | Controller | None = None,
        controller_params: Mapping[str, Any] | None = None,
        max_tokens: int = 64,
        seed: int = 0,
        temperature: float | None = None,
        warping: Warping | None = None,
        chat: bool = False,
        stop: Sequence[str] = (),
        stream: Callable[[str], None] | None = None,
        first_key: int = 0,
        allow_lossy: bool = False,
    ) -> Generation | list[Generation]:
        """Write after a prompt, or after each of several in one batch.

        Parameters
        ----------
        prompt : str, or sequence of str
            What to write after; at least one token each. With `chat`, what a user says.
        rule : str, path or module
            Name of a chain rule or of a step rule of one draft, or with `parents` of a tree rule; its file, or itself;
            lossless at this temperature, unless `allow_lossy`.
        scheme : str, optional
            How the siblings of a tree are drawn; by default as its rule prefers.
        step : str, path or module, optional
            The step rule of a tree rule that runs one, if not its own choice.
        gamma : int, optional
            Drafts per target call, 4 by default; 0 is plain decoding. A tree has its own depth. With a controller the
            most drafts, 16 by default; those that a drafter can make, if these are fewer.
        parents : sequence of int, optional
            Draft trees of this shape (see `specsim.trees`), as `specsim.trees.k_ary((2, 1, 1))`.
        draws : callable, optional
            For scheme "distinct": q (..., V) -> `specsim.types.Draws`, the law of the number of draws at a node.
        params, step_params : mapping, optional
            Parameters of the rule, and of the one named by `step`, as {"epsilon": 0.2}; others keep their defaults.
        drafter : str or Drafter, optional
            What drafts, in place of the draft model: a file of `real.draft` ("ngram"), weights that are shipped for the
            target ("feature", "heads", "trigram", "exit_2", ...), or a `real.decode.proposer.Drafter`.
        controller : str, path, module or Controller, optional
            Decides after each draft whether its text drafts another: a name such as "threshold" (see
            `specsim.control`), a file of one's own, or an object with the functions of `specsim.types.Controller`.
        controller_params : mapping, optional
            The controller's own parameters by name, as {"eta": 0.5}.
        max_tokens : int
            Tokens to write at most; the tokenizer's end token ends a text earlier.
        seed : int
            Of the randomness. A text depends on (seed, its key, its prompt), not on its batch: exactly so in float64,
            but for near ties in float32; half types round differently in batches.
        temperature, warping : float or Warping, optional
            Temperature, filters, penalty and bias, for target and draft alike; or a temperature alone, 1 by default.
        chat : bool
            Write the tokenizer's chat template around each prompt. By default a prompt is continued as it stands, also
            by a chat model: no token is added to what you give, beyond the beginning of text that the tokenizer adds.
        stop : sequence of str
            Strings that end a text, wherever in a block they are completed.
        stream : callable, optional
            Told each new piece of the text, of one prompt, as soon as it cannot change any more.
        first_key : int
            Key of the first prompt, the next ones follow: a shard that starts at prompt 100 gives 100.
        allow_lossy : bool
            Decode with a rule that changes the target's law, too, those of `specsim.verify.lossy` among them.

        Returns
        -------
        Generation, or a list of them
            As the prompt was one or several.

        Raises
        ------
        ValueError
            Unknown rule, drafter or controller, one that does not fit the target, a lossy rule; empty prompt, a text
            beyond a context, an empty stop string, several streams; `chat` without a template; gamma beside `parents`,
            scheme or step without, and what `real.decode.tree_plan.TreeVerifier` refuses.

        Examples
        --------
        >>> from real import TINY, load
        >>> pair = load(TINY / "target")
        >>> run = pair.generate("def main():", drafter="feature", gamma=3, max_tokens=8, temperature=0)
        >>> run.tokens == pair.generate("def main():", gamma=0, max_tokens=8, temperature=0).tokens
        True
        """
        # Check the request.
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        if not prompts or not all(isinstance(text, str) for text in prompts):
            raise ValueError(f"prompt must be a text or a list of texts, at least one; got {check.shown(prompt)}")
        check_strings(stop)
        warping = warping_of(temperature, warping)
        if stream is not None and len(prompts) != 1:
            raise ValueError(f"stream takes one prompt, got {len(prompts)}")

        # Find what drafts the blocks, and what verifies them.
        draft_options = DraftOptions(drafter, controller, controller_params, gamma, is_tree=parents is not None)
        drafting = drafting_of(draft_options, self.target, self.draft)
        rules = RuleOptions(rule, scheme, step, drafting.gamma, parents, draws, params, step_params, allow_lossy)
        verifier, length = verifier_of(rules, warping.temperature)
        options = DecodeOptions(
            length, warping, verifier, kept=self.kept, proposer=drafting.drafter, controller=drafting.controller
        )

        # Write.
        request = Request(prompts, max_tokens, seed, first_key, stop, stream, chat)
        texts = write(self.target, drafting.model, self.tokenizer, request, options)
        return texts[0] if isinstance(prompt, str) else texts

    @overload
    def score(
        self,
        text: str | Sequence[int],
        *,
        prompt: str = "",
        drafter: None = None,
        gamma: None = None,
        temperature: float | None = None,
        warping: Warping | None = None,
        chat: bool = False,
    ) -> Score: ...

    @overload
    def score(
        self,
        text: str | Sequence[int],
        *,
        prompt: str = "",
        drafter: str | Drafter,
        gamma: int | None = None,
        temperature: float | None = None,
        warping: Warping | None = None,
        chat: bool = False,
    ) -> DrafterScore: ...

    def score(
        self,
        text: str | Sequence[int],
        *,
        prompt: str = "",
        drafter: str | Drafter | None = None,
        gamma: int | None = None,
        temperature: float | None = None,
        warping: Warping | None = None,
        chat: bool = False,
    ) -> Score | DrafterScore:
        """Score a text under the target and what drafts for it.

        Parameters
        ----------
        text : str, or sequence of int
            For a prediction of tau it must be the target's own: another text has another law. Give the tokens of a
            `Generation` rather than its text, which may be cut into other tokens.
        prompt : str
            What stands before it; without one the text's first token takes its place.
        drafter : str or Drafter, optional
            What drafts, in place of the draft model, as for `generate`.
        gamma : int, optional
            With a drafter: drafts of a block at most for which tau is predicted; by default 8, or those it can make.
        temperature, warping : float or Warping, optional
            The setting the text was written with, as for `generate`.
        chat : bool
            Whether the text was written with the chat template around the prompt, as for `generate`.

        Returns
        -------
        Score or DrafterScore
            p and q for each token, of a draft model acceptance, too; `tau(gamma)` predicts tokens per target call.

        Raises
        ------
        ValueError
            Nothing to score, the text is longer than a context, an unknown drafter or one that does not fit the target,
            or neither a draft model nor a drafter.

        Examples
        --------
        >>> from real import TINY, load
        >>> pair = load(TINY / "target", TINY / "draft")
        >>> pair.score([5, 6, 7], prompt="def main():").p.shape
        (3,)
        >>> 1 < pair.score([5, 6, 7], prompt="def main():", drafter="feature").tau(2) < 3
        True
        """
        # Something must draft.
        draft: LanguageModel | None = self.draft
        if draft is None and drafter is None:
            raise ValueError(
                "score needs a draft model, and this pair has none: load one, by real.load(target, draft), or name a "
                "drafter"
            )

        # The tokens before the text, and the text's.
        warping = warping_of(temperature, warping)
        head, ids = ids_to_score(self.tokenizer, text, prompt, chat)
        check_fit(self.target, head + ids, 1, "target")

        # Score under the target and a drafter, or the draft model.
        if drafter is not None:
            return score_drafter(self.target, drafter_named(drafter, self.target, draft), head, ids, gamma, warping)
        if gamma is not None:
            raise ValueError(f"gamma={check.shown(gamma)} is for a drafter: a score predicts tau for every length")
        assert draft is not None
        check_fit(draft, head + ids, 1, "draft")
        return score(self.target, draft, head, ids, warping)

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
        return text_ends(self.tokenizer, strings)
