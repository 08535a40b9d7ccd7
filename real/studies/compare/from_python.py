"""The main job from Python: what `specsim-real compare` runs, as a function."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

import torch

from real import TINY
from real.decode.warping import Warping, warping_of
from real.options import parse_numbers
from real.origin import Origin
from real.pair import Pair
from real.studies.compare.command import Usual, usual_of
from real.studies.compare.comparison import Comparison
from real.studies.compare.kinds import schema_of
from real.studies.compare.recorded import prepared
from real.studies.compare.settings import Settings
from real.studies.compare.subject import Subject, provenance_of
from real.studies.compare.tree_settings import TreeSettings
from real.studies.progress import begin_bar, progress_bar
from real.studies.prompting import Prompts, chosen_prompts
from real.studies.runner import Run
from real.studies.settings import default_prompts
from specsim.base import check, limits
from specsim.base.files import json_text


def compare(
    pair: Pair,
    prompts: Sequence[str] | None = None,
    *,
    chat: bool = False,
    gammas: Iterable[int] | None = None,
    calibrated: Iterable[int] | None = None,
    max_tokens: int = 64,
    timed: int | None = None,
    temperature: float | None = None,
    warping: Warping | None = None,
    rules: str | Sequence[str] = "tokenwise",
    params: Mapping[str, Any] | None = None,
    trees: str | Sequence[str] = (),
    scheme: str | None = None,
    step: str | None = None,
    draws: int | None = None,
    chains: Iterable[int] | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Predict tau and speedup for every length, or tree, then measure both.

    It runs what the command `specsim-real compare` runs.

    Parameters
    ----------
    pair : Pair
        With a draft model, such as `real.load("smollm2", "smollm2/lowrank")`.
    prompts : sequence of str, optional
        Texts to write after, the independent units of all intervals; by default those of the
        command: five of the bundled pair, for smollm2 16 shipped ones with its chat template.
    chat : bool
        Whether the target's chat template is written around each prompt that is given.
    gammas : iterable of int, optional
        Speculation lengths; by default 1 to 8, for smollm2 1 to 4.
    calibrated : iterable of int, optional
        Lengths whose cycles are timed; costs of others are extrapolated. All of them by default.
    max_tokens : int
        Tokens of a text.
    timed : int, optional
        Prompts that are decoded alone and timed; all are then decoded in one batch, too, for tau.
        By default all, for smollm2 with one rule 3.
    temperature, warping : float or Warping, optional
        As for `Pair.generate`.
    rules : str, or sequence of str
        Chain rules, step rules or coupled rules; with `trees` tree rules.
    params : mapping, optional
        Parameters by name, as {"epsilon": 0.2}, each for every rule that has it.
    trees : str, or sequence of str
        Trees to compare with chains: children by level as "2,1,1", or the best of 8 nodes,
        "sequoia:8".
    scheme, step : str, optional
        How siblings of trees are drawn, "iid" by default; the step rule of tree rules that run one.
    draws : int, optional
        Different siblings expected at a node, for scheme "distinct".
    chains : iterable of int, optional
        Lengths of the chains beside trees; by default 1 to 4, and the nodes of each tree.
    seed : int
        Of every random number.
    progress : bool
        Show a bar on standard error, where that is a terminal.

    Returns
    -------
    Comparison
        The record of the run, with `table`, `plot`, `to_pandas` and `to_json`.

    Raises
    ------
    ValueError
        As the command refuses: no prompt, one that does not fit, an unknown or lossy rule, options
        of trees beside chains or the other way round; a pair without a draft model.

    Examples
    --------
    >>> from real import TINY, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> comparison = compare(pair, ["def main():", "import os"], gammas=[1, 2], max_tokens=8)
    >>> [row["gamma"] for row in comparison.rows]
    [1, 2]
    """
    # The pair, and its defaults.
    check.record(pair, "pair", Pair)
    for name, flag in (("chat", chat), ("progress", progress)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, got {check.shown(flag)}")
    if pair.draft is None:
        raise ValueError("compare needs a draft model, and this pair has none: load one, by real.load(target, draft)")
    place = "" if pair.origin is None else pair.origin.target
    usual = usual_of(place)
    chosen = _prompts(prompts, chat, place, usual)

    # The settings, of chains or of trees.
    warping, names = warping_of(temperature, warping), _names(rules, "rules")
    settings: Settings | TreeSettings
    if not isinstance(trees, str) and isinstance(trees, Sequence) and not trees:
        of_trees = {"scheme": scheme, "step": step, "draws": draws, "chains": chains}
        _refuse(of_trees, "is for trees: give trees, too")
        lengths = parse_numbers(usual.gammas) if gammas is None else _lengths(gammas, "gammas")
        lengths_timed = None if calibrated is None else _lengths(calibrated, "calibrated")
        if timed is None and len(names) == 1:
            timed = usual.timed
        settings = Settings(lengths, lengths_timed, max_tokens, warping, names, seed, _words(params), timed)
    else:
        of_chains = {"gammas": gammas, "calibrated": calibrated, "params": params, "timed": timed}
        _refuse(of_chains, "is for chains alone: with trees give chains, and every pass is timed")
        chain_lengths = () if chains is None else _lengths(chains, "chains")
        settings = TreeSettings(
            trees=_names(trees, "trees"),
            scheme="iid" if scheme is None else scheme,
            rules=names,
            chains=chain_lengths,
            max_tokens=max_tokens,
            warping=warping,
            seed=seed,
            step=step,
            draws=draws,
        )

    # The run, into a record as the command writes it.
    provenance = provenance_of(_subject(pair), settings, chosen, "real.compare")
    measure = prepared(pair, settings, chosen, provenance, [])
    record: dict[str, Any] = {"schema": schema_of(settings), "complete": False, "provenance": provenance}
    with progress_bar() if progress else contextlib.nullcontext() as bar:
        stages = _unseen_stages if bar is None else partial(begin_bar, bar)
        measure(Run(record, lambda: None, stages))
    record["complete"] = True
    return Comparison(json.loads(json_text(record)))


def _unseen_stages(total: int | None) -> Callable[[str], None]:
    """Return the function that names the next stage where no bar is shown: it does nothing."""
    return lambda stage: None


def _subject(pair: Pair) -> Subject:
    """Return a pair as the subject of a provenance.

    The bundled pair and models in memory have names there.
    """
    origin = Origin("a model in memory", "a model in memory") if pair.origin is None else pair.origin
    places = (origin.target, origin.draft or "")
    if tuple(map(PurePath, places)) == (TINY / "target", TINY / "draft"):
        places = ("", "")
    model = pair.target
    millions = 0 if origin.widened_to is None else origin.widened_to / 1e6
    return Subject(
        *places,
        device=str(model.device),
        dtype=str(model.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        widen=int(millions) if millions == int(millions) else millions,
        weights=origin.weights or "",
    )


def _prompts(prompts: Sequence[str] | None, chat: bool, target: str, usual: Usual) -> Prompts:
    """Return the prompts to decode after: the texts, or the command's default for this target.

    usual: the command's defaults for this target. In `Prompts` the value None of `chat` leaves it to the
    tokenizer whether prompts become chats, True demands it.
    """
    if prompts is None:
        default = chosen_prompts(default_prompts(target), usual.prompts)
        return replace(default, chat=chat or None)
    is_list = isinstance(prompts, Sequence) and not isinstance(prompts, (str, bytes))
    if not is_list or not prompts or not all(isinstance(text, str) for text in prompts):
        raise ValueError(f"prompts must be a list of texts, at least one; got {check.shown(prompts)}")
    return Prompts(list(prompts), len(prompts), chat=chat or None)


def _lengths(values: Iterable[int], name: str) -> tuple[int, ...]:
    """Return speculation lengths as a tuple; refuse what is no list of them."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of whole numbers, got {check.shown(values)}")
    return tuple(check.integer(value, name, 1, limits.MAX_GAMMA) for value in values)


def _names(values: str | Sequence[str], name: str) -> tuple[str, ...]:
    """Return a name, or a list of names, as a tuple; refuse what is neither."""
    names = [values] if isinstance(values, str) else values
    is_list = isinstance(names, Sequence) and all(isinstance(word, str) for word in names)
    if not is_list or not names:
        raise TypeError(f"{name} must be a name or a list of names, at least one; got {check.shown(values)}")
    return tuple(names)


def _words(params: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return parameters as the words of the command, such as epsilon=0.2."""
    if params is None:
        return ()
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a mapping from names to values, got {check.shown(params)}")
    return tuple(f"{name}={value}" for name, value in params.items())


def _refuse(arguments: Mapping[str, Any], reason: str) -> None:
    """Refuse any of these arguments that is not None."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name}={check.shown(value)} {reason}")
