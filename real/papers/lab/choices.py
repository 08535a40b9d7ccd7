"""One taxonomy of all systems: the axes on which they differ, and the values of each axis.

A system has for each axis a text ``KEY`` or ``KEY: words``, with several keys as ``KEY + KEY:
words``. Every key is defined here, with the module that implements it in this project, so that a
system can be built from its texts; other keys are refused. Five axes are those of the survey of
Zhang, Liu and Song, arXiv:2404.14897. The others are ours: the survey predates drafts that are
carried over, orders other than from left to right and continuous tokens, and it treats objectives
of training as an aim.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

SURVEY = ("drafting", "termination", "management", "verification", "acceptance")
OURS = ("order", "carry", "objective", "continuous")
# Values of axes that few systems name.
DEFAULTS = {"objective": "as it is", "continuous": "no"}


class Value(NamedTuple):
    """The meaning of a key, and the module that implements it, "" where there is nothing to do."""

    words: str
    module: str = ""


_LOOP = "real.decode.loop"
VALUES: dict[str, dict[str, Value]] = {
    "drafting": {
        "smaller model": Value("a model of its own", "real.draft.lm"),
        "own rows": Value("the target's rows of the pass before", "specsim.process.jacobi"),
        "masked self": Value("the target given only what is decoded, all places at once", "specsim.process.any_subset"),
        "repetition": Value("what is held, repeated", "specsim.process.frames"),
        "shared noise": Value("a smaller model on the target's noise", "specsim.continuous.steps"),
        "n-grams": Value("a table of what followed before", "real.draft.ngram"),
        "early exit": Value("the target's first layers", "real.draft.exit"),
        "heads": Value("a head for each offset on the target's last state", "real.draft.heads"),
        "trigram": Value("a trigram encoder and one layer of context", "real.draft.trigram"),
        "features": Value("one layer that foretells the target's states", "real.draft.feature"),
        "restricted head": Value("a draft whose head has fewer tokens", "real.draft.restricted"),
    },
    "termination": {
        "fixed": Value("after a number that is known before", _LOOP),
        "static": Value("after a number that a controller was told", "specsim.control.static"),
        "threshold": Value("when one probability falls below a threshold", "specsim.control.threshold"),
        "survival": Value("when the product of probabilities falls below a threshold", "specsim.control.survival"),
        "heuristic": Value("two more after a block that was kept, one less after another", "specsim.control.heuristic"),
        "roc": Value("at a threshold from a curve of confidences", "specsim.control.roc"),
        "classifier": Value("when a trained classifier says so", "specsim.control.classifier"),
    },
    "management": {
        "chain": Value("one draft a position", _LOOP),
        "siblings": Value("several drafts of one position", "specsim.verify.sample_step"),
        "paths": Value("several drafts of a whole block, side by side", "specsim.trees.topology"),
        "tree": Value("a tree of one shape", "real.decode.tree_plan"),
        "beam": Value("a tree that stochastic beam search makes", "real.decode.beams"),
        "dynamic tree": Value("a tree of the likeliest texts", "specsim.trees.likeliest"),
    },
    "verification": {
        "one pass": Value("one pass of the target over all drafts", _LOOP),
        "second pass": Value("another pass of the model that drafted", "specsim.process.any_subset"),
        "other layers": Value("the layers that drafting left out", "real.draft.exit"),
        "tree attention": Value("one pass in which a node sees its ancestors", "real.decode.trees_block"),
        "what happens": Value("the real event, compared with the one that was held", "specsim.process.frames"),
        "given rows": Value("rows of both models that are given", "specsim.bounds.optimum"),
    },
    "acceptance": {
        "tokenwise": Value("each draft by min(1, p/q)", "specsim.verify.chain.tokenwise"),
        "block": Value("a block jointly", "specsim.verify.chain.block"),
        "rejection": Value("one draft by min(1, p/q)", "specsim.verify.step.rejection"),
        "recursive": Value("drafts in turn against what the last one left", "specsim.verify.step.recursive"),
        "recursive_wor": Value("the same without replacement", "specsim.verify.step.recursive_wor"),
        "kseq": Value("every draft against the same lowered target", "specsim.verify.step.kseq"),
        "optimal": Value("an optimal coupling", "specsim.verify.step.optimal"),
        "naive": Value("the target's own token, if it is a draft", "specsim.verify.step.naive"),
        "target_only": Value("the same in a tree", "specsim.verify.tree.target_only"),
        "typical": Value("what is typical of the target: lossy", "specsim.verify.step.typical"),
        "lenience": Value("min(1, p/(eps q)): lossy", "specsim.verify.step.lenience"),
        "neighbours": Value("relaxed by neighbours: lossy", "specsim.verify.step.lantern"),
        "judge": Value("what a judge lets pass besides: lossy", "specsim.verify.step.judge"),
        "lumina": Value("p in place of the residual, q clamped: lossy", "specsim.verify.lossy.lumina"),
        "density ratio": Value("the quotient of densities", "specsim.continuous.steps"),
        "same event": Value("what was held is what happened", "specsim.process.frames"),
    },
    "order": {
        "left to right": Value("one position after the other"),
        "raster": Value("pixels row by row"),
        "rows": Value("whole rows from the top"),
        "given first": Value("the prompt's places, then the rest", "specsim.process.any_subset"),
        "time": Value("frames as they are shown"),
    },
    "carry": {
        "nothing": Value("what was not kept is dropped"),
        "redrawn": Value("slots not reached, drawn anew with this pass's laws", "specsim.process.jacobi"),
        "table": Value("n-grams of finished blocks", "real.draft.ngram"),
        "states": Value("the target's states of what was read", "real.models.cache"),
    },
    "objective": {
        "as it is": Value("whatever the draft was trained on"),
        "counts": Value("how often tokens come"),
        "states": Value("the target's states, cached", "real.train.states"),
        "labels": Value("whether an answer stays right"),
    }
    | {
        name: Value(words, f"specsim.objective.{name}")
        for name, words in {
            "cross_entropy": "the tokens of a text",
            "fkl": "KL(p || q)",
            "rkl": "KL(q || p)",
            "jsd": "the Jensen-Shannon divergence",
            "tvd": "the total variation",
            "tvd_sampled": "the total variation, by one token",
            "tvdpp": "the total variation over its spread",
            "tvdpp_sampled": "the same by one token",
        }.items()
    },
    "continuous": {
        "no": Value("tokens of a vocabulary"),
        "densities": Value("real numbers, verified by densities", "specsim.continuous.steps"),
    },
}


def flaw(axes: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the axes of a system; None if nothing is.

    Examples
    --------
    >>> flaw({axis: next(iter(values)) for axis, values in VALUES.items()})
    >>> flaw({axis: next(iter(values)) for axis, values in VALUES.items()} | {"order": "sideways: to the right"})
    "has AXES['order'] = 'sideways', which nobody defined; defined: left to right, raster, rows, given first, time"
    """
    needed = [axis for axis in VALUES if axis not in DEFAULTS]
    if not set(needed) <= set(axes) <= set(VALUES):
        more = f" (and perhaps {', '.join(DEFAULTS)})" if DEFAULTS else ""
        return f"needs AXES, a dict that says something of each of: {', '.join(needed)}{more}"
    for axis, text in axes.items():
        named = keys(text) if isinstance(text, str) else [repr(text)]
        for key in named:
            if key not in VALUES[axis]:
                known = ", ".join(VALUES[axis])
                return f"has AXES[{axis!r}] = {key!r}, which nobody defined; defined: {known}"
    return None


def keys(text: str) -> list[str]:
    """The keys in a system's text for an axis.

    >>> keys("n-grams + smaller model: whichever knows more")
    ['n-grams', 'smaller model']
    """
    return [key.strip() for key in text.partition(":")[0].split("+")]


def whole(axes: Mapping[str, str]) -> dict[str, str]:
    """Every axis in order, with the defaults filled in."""
    return {axis: axes.get(axis, DEFAULTS.get(axis, "")) for axis in VALUES}


def built(axes: Mapping[str, str]) -> dict[str, tuple[Any, ...]]:
    """The modules that implement a system's axes, by axis.

    Parameters
    ----------
    axes : mapping
        A system's AXES.

    Returns
    -------
    dict
        Axis -> modules, one for each key that has one.

    Raises
    ------
    ValueError
        A key that nobody defined.
    """
    problem = flaw(axes)
    if problem:
        raise ValueError(f"a system {problem}")
    modules = {}
    for axis, text in whole(axes).items():
        names = [VALUES[axis][key].module for key in keys(text)]
        modules[axis] = tuple(importlib.import_module(name) for name in names if name)
    return modules


def coverage(systems: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Axis -> key -> names of the systems (name -> AXES) that take it.

    [] for a key that none takes.
    """
    all_axes = {name: whole(axes) for name, axes in systems.items()}
    return {
        axis: {key: [name for name, axes in all_axes.items() if key in keys(axes[axis])] for key in values}
        for axis, values in VALUES.items()
    }
