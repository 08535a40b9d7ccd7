"""The exact law of a text that a process fills, the passes that it takes, and the law that it should have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check
from specsim.base.results import result
from specsim.discover import Rule
from specsim.exact.process_branches import Joint, Text, distance, outcome
from specsim.exact.verdicts import on_rationals, process_verdict
from specsim.types import Array, Model
from specsim.verify.lookup import filling_rule
from specsim.verify.stepwise import Stepwise

# Largest number of texts: more than 4 positions of 3 tokens are for the simulator.
CELLS = 3**4


@result("bias", "passes")
class Filled(NamedTuple):
    """The law of the whole text (text -> probability), the target's passes, and how far the law is from the target's.

    If some places of the text were given, it is the law of the rest given them.

    >>> from specsim import fill
    >>> filled = fill([0.5, 0.5], "jacobi", length=2)
    >>> filled.most, str(filled.bias)
    (2, '0')
    """

    law: dict[Text, Fraction]
    # Expected number of passes.
    passes: Fraction
    # Most passes on any path.
    most: int
    # Total variation distance; 0 where process and rule are lossless.
    bias: Fraction


def fill(
    target: Model | Array,
    process: Rule,
    *,
    length: int,
    rule: Rule = "tokenwise",
    draft: Model | Array | None = None,
    params: Mapping[str, Any] | None = None,
    rule_params: Mapping[str, Any] | None = None,
    lossy: str | None = None,
) -> Filled:
    r"""Fill a text by a process and a chain rule, and sum over everything that can happen.

    Parameters
    ----------
    target : Model or array_like, shape (V,)
        A function from a prefix (a tuple of token ids) to the next-token law; or one law, the same in every context.
        Numbers are taken as the rationals they are, over their sum.
    process : str, path or module
        Name of a process ("jacobi", "any_subset", "frames", "left_to_right"), the path of its file, or itself.
    length : int
        Tokens of the text, at least 1; at most 81 texts are summed over.
    rule : str, path or module
        The chain rule that verifies, a step rule of one draft at every position, or a rule of `specsim.verify.lossy`.
    draft : Model or array_like, optional
        The draft model, for processes that have one ("left_to_right").
    params, rule_params : mapping, optional
        The process' own parameters (window, first, slots, order, gamma, frames, ...), and the rule's. `given`, a
        mapping from places to tokens, is a prompt: then the law is the target's given it.
    lossy : str, optional
        The rule's name once more, if it changes the target and is meant to: without it such a rule is refused.

    Returns
    -------
    Filled
        The exact law of the text, the expected passes of the target, the most on any path, and the bias.

    Raises
    ------
    ValueError
        A law is none, the text is too long to be summed over, a parameter is wrong, or the rule changes the target.

    References
    ----------
    Each process' own: Teng et al., arXiv:2410.01699 ("jacobi"); Guo and
    Ermon, arXiv:2504.20456 ("any_subset"); arXiv:2506.01380 ("frames"); Leviathan et al.,
    arXiv:2211.17192 ("left_to_right").

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> filled = fill([F(1, 3), F(2, 3)], "jacobi", length=2, params={"window": 1})
    >>> str(filled.law[1, 1]), str(filled.passes)
    ('4/9', '5/3')

    What Lumina-mGPT 2.0 ships takes fewer passes, and gives another text:

    >>> shipped = fill([F(1, 3), F(2, 3)], "jacobi", length=2, params={"window": 1}, rule="lumina", lossy="lumina")
    >>> str(shipped.bias)
    '200/891'
    """
    # The process and the rule; wrong parameters are refused before rows are asked for.
    module = discover.with_params(discover.find("process", process), params)
    if rule_params is not None:
        check.record(rule_params, "rule_params", dict)
    verifier = filling_rule(rule, rule_params)
    length = check.integer(length, "length", 1, CELLS)
    module.uniforms(module.start(length, 1), verifier)

    # The models, as joint laws of whole texts.
    target_rows, vocab = _model(target, "target")
    models = {"target": Joint(target_rows, vocab, _length(length, vocab))}
    if draft is not None:
        draft_rows, draft_vocab = _model(draft, "draft")
        if draft_vocab != vocab:
            raise ValueError(f"target has {vocab} tokens and draft has {draft_vocab}: the vocabularies differ")
        models["draft"] = Joint(draft_rows, vocab, length)
    _refuse_lossy(verifier, lossy, models["target"])

    # The law of the text, and that of the target, given the prompt.
    goal = models["target"].conditional(_prompt(params, vocab))
    if not goal:
        raise ValueError(f"given {check.shown((params or {})['given'])} has probability 0 under the target")
    filled = outcome(module, on_rationals(verifier), models, length)
    passes = sum((number * weight for number, weight in filled.passes.items()), Fraction(0))
    return Filled(filled.law, passes, max(filled.passes), distance(filled.law, goal))


def _prompt(params: Mapping[str, Any] | None, vocab: int) -> dict[int, int]:
    """Return the prompt, the parameter `given` of a process: place -> token."""
    prompt = check.record((params or {}).get("given") or {}, "given", dict)
    for place, token in prompt.items():
        if not 0 <= token < vocab:
            raise ValueError(f"given has token {token} at place {place}; tokens are 0..{vocab - 1}")
    return prompt


def text_law(target: Model | Array, length: int) -> dict[Text, Fraction]:
    """Return the law of a text of the target itself, which a lossless process and rule have, too.

    Parameters
    ----------
    target : Model or array_like, shape (V,)
        A function from a prefix (a tuple of token ids) to the next-token law; or one law, the same in every context.
    length : int
        Tokens of the text, at least 1; at most 81 texts.

    Returns
    -------
    dict
        Text -> probability, those of probability 0 left out.

    Raises
    ------
    ValueError
        A law is none, or the text is too long to be summed over.

    References
    ----------
    The chain rule of probability.

    Examples
    --------
    >>> {text: float(mass) for text, mass in text_law([0.25, 0.75], 2).items()}
    {(0, 0): 0.0625, (0, 1): 0.1875, (1, 0): 0.1875, (1, 1): 0.5625}
    """
    rows, vocab = _model(target, "target")
    return dict(Joint(rows, vocab, _length(length, vocab)).texts())


def _length(length: Any, vocab: int) -> int:
    """Return the length of a text; ValueError if there are too many such texts to be summed over."""
    number = check.integer(length, "length", 1)
    if number > CELLS or number * math.log(vocab) > math.log(CELLS) + 1e-9:
        raise ValueError(f"length {number} at {vocab} tokens makes more than the {CELLS} texts that are summed over")
    return number


def _model(law: Any, name: str) -> tuple[Callable[[Text], Array], int]:
    """Return (a model in rationals, its vocabulary size); a law is validated when it is asked for."""
    if not callable(law):
        row = _exact(law, name)
        return lambda text: row, len(row)
    vocab = len(_exact(law(()), f"{name}()"))

    def law_after(text: Text) -> Array:
        """Return the law after a text; its vocabulary is that of the empty text."""
        row = _exact(law(text), f"{name}{text}")
        if len(row) != vocab:
            raise ValueError(f"{name}{text} has {len(row)} tokens and {name}() has {vocab}: the vocabularies differ")
        return row

    return law_after, vocab


def _exact(row: Any, name: str) -> Array:
    """Return a law as rationals: floats as the rationals that they are, divided by their sum."""
    law = check.law(row, name)
    if law.ndim != 1:
        raise ValueError(f"{name} must be one law, got shape {tuple(law.shape)}")
    exact = np.array([Fraction(v) for v in law.tolist()], dtype=object)
    return exact / exact.sum()


def _refuse_lossy(rule: ModuleType | Stepwise, lossy: str | None, target: Joint) -> None:
    """Raise ValueError for a rule that is lossy on such targets, unless `lossy` names it.

    The rule is judged as it fills a text from left to right.
    """
    name = discover.name_of(rule.step if isinstance(rule, Stepwise) else rule)
    if lossy is not None and (not isinstance(lossy, str) or lossy != name):
        raise ValueError(f"lossy must be the name of the rule, {name!r}, got {check.shown(lossy)}")
    if lossy is not None:
        return
    # A target that has one text alone is greedy: its laws are one-hot.
    is_greedy = len(target.texts()) == 1
    verdict = process_verdict(discover.find("process", "left_to_right"), rule, is_greedy)
    if not verdict.lossless:
        raise ValueError(f"rule {name!r} is lossy ({verdict.reason}); ask for it by name: lossy={name!r}")
