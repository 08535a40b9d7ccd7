"""Drafters and controllers by name: what drafts the blocks of a text, and when a block stops.

Names of drafters are those of the files of `real.draft`, or of the recipes whose weights are
shipped; names of controllers are those of the files of `specsim.control`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import torch

from real import draft as folder
from real.decode.proposer import Drafter, Proposer
from real.models.model import LanguageModel
from specsim import discover
from specsim.base import check
from specsim.base.unknown import unknown
from specsim.discover import Rule
from specsim.types import Controller

# Drafts of a block where no length is given, and the most of them where a controller ends blocks.
GAMMA, MOST = 4, 16
# Arguments that the function `drafter` of a file receives by name. A file that needs more cannot be
# made from a name alone.
_GIVEN = {"target", "model"}


class DraftOptions(NamedTuple):
    """Options on drafting: the arguments of these names of `real.Pair.generate`."""

    drafter: str | Drafter | None = None
    controller: Rule | Controller | None = None
    controller_params: Mapping[str, Any] | None = None
    gamma: int | None = None
    is_tree: bool = False


class Drafting(NamedTuple):
    """Arguments of the decode loop: a draft model or a drafter, a controller, the most drafts of a block.

    Model and drafter are None in plain decoding; gamma is None where a tree has its own depth.
    """

    model: LanguageModel | None
    drafter: Drafter | None
    controller: Controller | None
    gamma: int | None


def drafting_of(options: DraftOptions, target: LanguageModel, draft: LanguageModel | None) -> Drafting:
    """Return what drafts for a pair.

    Raises ValueError for unknown names, and for options that do not go together.
    """
    # A tree is drafted by the draft model, in one shape.
    if options.is_tree:
        for name in ("drafter", "controller"):
            if getattr(options, name) is not None:
                raise ValueError(f"{name} is for chains: the draft model drafts a tree (parents), in one shape")
        if draft is None:
            raise ValueError("parents needs a draft model, which drafts the tree: load it, by real.load(target, draft)")
    drafter = None if options.drafter is None else drafter_named(options.drafter, target, draft)
    controller = _controller(options.controller, options.controller_params)
    if options.is_tree:
        return Drafting(draft, None, None, options.gamma)

    # How many drafts a block has, at most.
    gamma = None if options.gamma is None else check.integer(options.gamma, "gamma", 0)
    if controller is not None:
        gamma = _most(controller, options, gamma)
    if gamma is None:
        gamma = GAMMA if controller is None else MOST
        if drafter is not None and drafter.longest is not None:
            gamma = min(gamma, drafter.longest)
    if gamma and draft is None and drafter is None:
        names = ", ".join(name for name in drafters_for(target) if name != "lm")
        raise ValueError(
            f"gamma={gamma} needs something that drafts, and this pair has no draft model: name a drafter "
            f"({names}), load one, by real.load(target, draft), or "
            "give gamma=0, which is plain decoding"
        )
    return Drafting(draft if gamma and drafter is None else None, drafter, controller, gamma)


def drafters() -> dict[str, ModuleType]:
    """Return the name of each drafter that can be made from its name alone, with the file that makes it.

    Recipes for other targets than the bundled one have its name in front, as `smollm2/feature`.

    >>> {"exit_1", "feature", "heads", "lm", "ngram", "trigram"} <= set(drafters())
    True
    """
    modules: dict[str, ModuleType] = {}
    for file in folder.names():
        module = folder.find(file)
        recipes = vars(module).get("RECIPES", {})
        if recipes or _GIVEN.issuperset(_needed(module)):
            modules |= dict.fromkeys(recipes or [file], module)
    return modules


def drafters_for(target: LanguageModel) -> dict[str, str]:
    """Return the short names of a target's drafters, each with its whole name.

    They were trained for the target, or need no training. A drafter was trained for a target if it
    reads states of that width: `feature` is `smollm2/feature` for SmolLM2.
    """
    width = None if target.weights is None else len(target.weights.norm)
    names: dict[str, str] = {}
    for name, module in drafters().items():
        recipe = vars(module).get("RECIPES", {}).get(name)
        if recipe is None or recipe["hidden"] == width:
            names[name.rpartition("/")[2]] = name
    return names


def drafter_named(drafter: str | Drafter, target: LanguageModel, draft: LanguageModel | None) -> Drafter:
    """Return the drafter of this name for a target; a `Drafter` is returned as it is.

    Raise ValueError for an unknown name, and for a drafter that does not fit the target.
    """
    if isinstance(drafter, Drafter):
        return drafter
    if not isinstance(drafter, str):
        raise TypeError(f"drafter must be a name or a real.decode.proposer.Drafter, got {check.shown(drafter)}")

    # Shipped weights; else what needs the text alone, or the draft model.
    name = _whole_name(drafter, target)
    module: Any = drafters()[name]
    try:
        if name in vars(module).get("RECIPES", {}):
            net = module.shipped(name)
            drafting: Drafter = module.drafting(net, target)
            return replace(drafting, start=partial(_start, drafter, drafting), longest=getattr(net, "steps", None))
        if "model" not in _needed(module):
            return module.drafter(target)  # type: ignore[no-any-return]
        if draft is not None:
            return module.drafter(draft)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ValueError(f"drafter {drafter!r}: {error}") from None
    raise ValueError(f"drafter {drafter!r} is the draft model, and this pair has none: real.load(target, draft)")


def _whole_name(drafter: str, target: LanguageModel) -> str:
    """Return the name in `drafters` of a target's drafter; raise ValueError for an unknown name.

    A drafter of another target is returned, too: making it fails with the reason why it does not
    fit.
    """
    # A drafter of this target, or of another.
    fitting, every = drafters_for(target), drafters()
    if drafter in fitting:
        return fitting[drafter]
    others = [name for name in every if drafter in (name, name.rpartition("/")[2])]
    if others:
        return others[0]

    # A file that needs more than its name, or an unknown name.
    if drafter in folder.names() and not vars(folder.find(drafter)).get("RECIPES"):
        needed = ", ".join(_needed(folder.find(drafter)))
        raise ValueError(
            f"drafter {drafter!r} cannot be made from its name: it needs {needed}; give the drafter that "
            f"real.draft.{drafter}.drafter({needed}) returns"
        )
    raise unknown("drafter", drafter, fitting, "drafters")


def _start(name: str, drafter: Drafter, *arguments: Any) -> Proposer:
    """Start a drafter; name it in errors of one that sees only now that it does not fit the target."""
    try:
        return drafter.start(*arguments)
    except ValueError as error:
        raise ValueError(f"drafter {name!r}: {error}") from None


def draft_model(name: str, target: LanguageModel) -> LanguageModel:
    """Return the language model of a shipped drafter that reads the text alone, for a target."""
    module: Any = drafters()[name]
    trained = module.shipped(name)
    parts = trained if isinstance(trained, tuple) else (trained,)
    with torch.no_grad():
        model: LanguageModel = module.model_of(target, *parts)
    return model


def _needed(module: ModuleType) -> list[str]:
    """Return the arguments that a file's function `drafter` cannot do without."""
    make: Callable[..., Drafter] = vars(module)["drafter"]
    return [
        name for name, parameter in inspect.signature(make).parameters.items() if parameter.default is parameter.empty
    ]


def _controller(controller: Rule | Controller | None, params: Mapping[str, Any] | None) -> Controller | None:
    """Return a controller with its parameters; raise ValueError for a bound, which is no controller."""
    # Parameters without a controller are a mistake.
    if controller is None:
        if params is not None:
            raise ValueError(f"controller_params={check.shown(params)} are a controller's: name it, by controller")
        return None

    # A name, a file, or an object with the functions of a controller.
    any_controller: Any = controller
    checked_controller: Any = discover.with_params(
        discover.find("control", any_controller), params, "controller_params"
    )
    if discover.controller_facts(checked_controller).bound:
        name = discover.name_of(checked_controller)
        raise ValueError(
            f"controller {name!r} is told what the blocks to come will keep: it is a bound on "
            "controllers, and decodes nothing"
        )

    # Refuse values of parameters now, before anything is computed.
    checked_controller.start(())
    return checked_controller  # type: ignore[no-any-return]


def _most(controller: Controller, options: DraftOptions, gamma: int | None) -> int | None:
    """Return the most drafts of a controlled block, None where only the drafter limits them.

    Raises ValueError for a gamma that contradicts the controller.
    """
    module: Any = controller
    name, gamma_parameter = discover.name_of(module), discover.parameters(module).get("gamma")
    if gamma == 0:
        raise ValueError(f"gamma=0 drafts nothing, and controller {name!r} decides when drafting stops: leave out one")
    if gamma_parameter is None:
        return gamma
    if gamma is not None:
        raise ValueError(
            f"gamma={gamma} and controller {name!r} are both given, which chooses gamma itself: leave gamma out, and "
            f"give controller_params={{'gamma': {gamma}}}"
        )
    return check.integer((options.controller_params or {}).get("gamma", gamma_parameter.default), "gamma", 1)
