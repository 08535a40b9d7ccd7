"""The contract of a rule, or of a module of another family: names, parameters, and a theorem that exists."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from specsim import discover
from specsim.types import (
    ChainOptions,
    ChainRule,
    Controller,
    ControllerOptions,
    CoupledOptions,
    CoupledRule,
    DraftOptions,
    DraftScheme,
    Objective,
    ObjectiveOptions,
    Process,
    ProcessOptions,
    StepOptions,
    StepRule,
    TreeOptions,
    TreeRule,
)

PROTOCOLS: dict[str, type] = {
    "step": StepRule,
    "chain": ChainRule,
    "tree": TreeRule,
    "coupled": CoupledRule,
    "draft": DraftScheme,
    "process": Process,
    "control": Controller,
    "objective": Objective,
}
OPTIONS: dict[str, type] = {
    "step": StepOptions,
    "chain": ChainOptions,
    "tree": TreeOptions,
    "coupled": CoupledOptions,
    "draft": DraftOptions,
    "process": ProcessOptions,
    "control": ControllerOptions,
    "objective": ObjectiveOptions,
}
# Families whose modules are not called rules.
OF_THEIR_OWN = ("process", "control", "objective")
# Notes on theorems in a checkout; an installed package has none.
NOTES = Path(__file__).parents[2] / "proofs"


def same_names(module: ModuleType, protocol: type) -> None:
    """Every constant and function of a Protocol is in the module, parameters included."""
    problem = missing(module, protocol)
    family = next((name for name, other in PROTOCOLS.items() if not missing(module, other)), None)
    if problem and family:
        what = discover.called(family) if family in OF_THEIR_OWN else f"{family} {discover.called(family)}"
        raise AssertionError(f"this looks like {'an' if what[0] == 'o' else 'a'} {what}; {problem}")
    assert not problem, f"{problem}{remedy(module, protocol)}"
    problem = misnamed(module)
    assert not problem, problem
    if "THEOREM" in constants(protocol):
        known = theorems()
        assert module.THEOREM in known, f"THEOREM is {module.THEOREM!r}; known: {', '.join(known)}"


def misnamed(module: ModuleType) -> str:
    """Return in words what is wrong with optional functions and with parameters; an empty text if all is well."""
    for name, function in inspect.getmembers(OPTIONS[discover.family_of(module)], inspect.isfunction):
        if name.startswith("_") or not hasattr(module, name):
            continue
        if problem := _other_parameters(module, name, function):
            return problem
    for name, parameter in discover.parameters(module).items():
        if parameter.default is parameter.empty or parameter.annotation is parameter.empty:
            return f"parameter {name} of {discover.taking_parameters(module)} needs a default and an annotation"
    return ""


def constants(protocol: type) -> list[str]:
    """Return the names of a Protocol's constants, those of the Protocols that it extends first."""
    return [name for base in reversed(protocol.__mro__) for name in inspect.get_annotations(base)]


def missing(module: ModuleType, protocol: type) -> str:
    """Return in words what the module lacks of a Protocol; an empty text if it has all."""
    for name in constants(protocol):
        if not hasattr(module, name):
            return f"constant {name} is missing"
    for name, function in inspect.getmembers(protocol, inspect.isfunction):
        if name.startswith("_"):
            continue
        if not callable(getattr(module, name, None)):
            return f"function {name} is missing"
        if problem := _other_parameters(module, name, function):
            return problem
    return ""


# What to write for a constant that is missing.
CONSTANTS = {
    "DRAFTS": 'DRAFTS = "iid", or how else its candidates are drawn',
    "CHILDREN": 'CHILDREN = ("iid",), or how else siblings are drawn',
    "EXACT": "EXACT = True, or False if it takes exp or log",
    "SAMPLED": "SAMPLED = True if it learns from drawn tokens, or False",
    "THEOREM": 'THEOREM = "open", or the name of a note in proofs/',
    "PAPER": 'PAPER = "arXiv:2211.17192", or "" without one',
}


def remedy(module: ModuleType, protocol: type) -> str:
    """Return in words what to write for the first name that a module lacks; an empty text if it lacks none."""
    for name in constants(protocol):
        if not hasattr(module, name):
            return f": write {CONSTANTS[name]}" if name in CONSTANTS else ""
    for name, function in inspect.getmembers(protocol, inspect.isfunction):
        if not name.startswith("_") and not callable(getattr(module, name, None)):
            return f": write def {name}({', '.join(list(inspect.signature(function).parameters)[1:])})"
    return ""


def _other_parameters(module: ModuleType, name: str, function: Callable[..., object]) -> str:
    """Return in words how a function's parameters differ from the Protocol's; an empty text if they do not."""
    wanted = list(inspect.signature(function).parameters)[1:]
    parameters = list(inspect.signature(getattr(module, name)).parameters)
    return "" if parameters[: len(wanted)] == wanted else f"{name}{parameters} should take {wanted}"


def theorems(notes: Path = NOTES) -> list[str]:
    """Return the values that THEOREM may have: "open", and the notes in proofs/.

    Without that folder, those that shipped rules name.
    """
    noted = {path.name[:3] for path in notes.glob("T[0-9][0-9]_*.md")}
    families = ("step", "chain", "tree", "coupled", *OF_THEIR_OWN)
    shipped = {rule.THEOREM for family in families for rule in discover.rules(family).values()}
    return sorted({"open"} | (noted or shipped))
