"""The folder is the registry: rules and draft schemes are found by listing their package."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

FAMILIES = {
    "step": "specsim.verify.step",
    "chain": "specsim.verify.chain",
    "tree": "specsim.verify.tree",
    "draft": "specsim.draft",
    "process": "specsim.process",
}
Rule = str | Path | ModuleType  # a rule's name, the path of its file, or itself
_NO_PARAMETERS = ("p", "q", "num_drafts", "tree", "step", "draws", "length", "batch")  # what a whole family takes


def names(family: str) -> list[str]:
    """Names of the modules in a family's folder, sorted."""
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; known: {', '.join(FAMILIES)}")
    package = importlib.import_module(FAMILIES[family])
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def called(family: str, many: bool = False) -> str:
    """What a module of a family is called.

    >>> called("draft"), called("chain", many=True), called("process", many=True)
    ('scheme', 'chain rules', 'processes')
    """
    one = {"draft": "scheme", "process": "process"}.get(family, "rule")
    return one if not many else "processes" if family == "process" else f"{family} {one}s"


def find(family: str, name: Rule) -> ModuleType:
    """The module of one rule or scheme; ValueError listing the known names if there is none.

    A module, or the path of a file that ends in .py, is one's own rule.
    """
    module = own_rule(name)
    if module is not None and family_of(module) != family:
        found, wanted = (f if f == "process" else f"{f} rule" for f in (family_of(module), family))
        raise ValueError(f"rule {name_of(module)!r} is a {found}, not a {wanted}")
    if module is not None:
        return module
    loaded = sys.modules.get(f"{FAMILIES.get(family)}.{name}")  # listing a folder takes as long as some sorts
    if loaded is not None and not str(name).startswith("_"):
        return loaded
    known = names(family)
    if name not in known:
        raise ValueError(f"{called(family)} {name!r} is unknown; {called(family, many=True)}: {', '.join(known)}")
    return importlib.import_module(f"{FAMILIES[family]}.{name}")


def own_rule(rule: Any) -> ModuleType | None:
    """The rule that a module or the path of a Python file is; None for anything else, such as a rule's name."""
    if isinstance(rule, Path) or (isinstance(rule, str) and rule.endswith(".py")):
        path = Path(rule)
        if not path.is_file():
            raise ValueError(f"rule file {path} does not exist")
        return _loaded(path.resolve(), path.stat().st_mtime_ns)
    named = any(callable(_get(rule, name, None)) for name in ("draw", "ask"))  # a scheme, a process
    return rule if is_rule(rule) or named else None


@lru_cache
def _loaded(path: Path, modified: int) -> ModuleType:
    """The module in a file, imported once for as long as the file stays as it is."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"rule file {path} is not Python")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file is the user's: whatever it raises is the answer
        raise ValueError(f"rule file {path} cannot be imported: {type(error).__name__}: {error}") from None
    return module


def rules(family: str) -> dict[str, ModuleType]:
    """Every module of a family by name."""
    return {name: find(family, name) for name in names(family)}


class Algorithm(NamedTuple):
    """The facts of one rule, read once from its file: whoever wants to know what a rule is or has asks this record.

    `parameters` is what `prepare` takes beyond laws and drafts; flags say which optional names of specsim.types it has.

    >>> facts(find("step", "rejection")).counts, facts(find("step", "typical")).bias
    ((1,), True)
    """

    name: str
    family: str  # "step", "chain", "tree"
    drafts: str  # the draft schemes, in words
    theorem: str  # a note in proofs/, or "open"
    paper: str
    summary: str  # the first line of the docstring
    proved: dict[str, str]  # what a machine has checked: "lossless", "acceptance" -> its Coq theorem
    schemes: tuple[str, ...] = ("iid",)  # how drafts that it verifies may be drawn: its own choice first
    own: tuple[str, ...] = ("iid",)  # those of DRAFTS or CHILDREN, without what it says ALSO
    counts: tuple[int, ...] | None = None  # numbers of drafts that it verifies; None: any
    exact: bool = True  # it runs on Fractions
    bias: bool = False  # it is lossy, and says by how much
    survival: bool = False  # the target goes on as it is after a block
    continuation: bool = False  # the target is another one for some tokens after a block
    left_over: bool = False  # `keeps` and `left_over` say what `verify` does
    one_file: bool = False  # ... and all of these were written together, none was put in another's place
    by_id: bool = False  # which tokens they are matters to it, as neighbours do, beyond their probabilities
    chain: str | None = None  # the chain rule that a tree rule is on one path
    steps: Mapping[str, Rule] = MappingProxyType({})  # scheme -> the step rule that a tree rule is on one level
    parameters: Mapping[str, inspect.Parameter] = MappingProxyType({})


def facts(rule: ModuleType) -> Algorithm:
    """Everything that is known of a rule without running it; no other file asks a rule what it has."""
    family = family_of(rule)
    own = tuple({"tree": _get(rule, "CHILDREN", ()), "step": (_get(rule, "DRAFTS", "iid"),)}.get(family, ("iid",)))
    counts = _get(rule, "COUNTS", None)
    if counts is None and family == "step":
        counts = _counts_of(own[0])
    has = {name: callable(_get(rule, name, None)) for name in ("bias", "survival", "continuation", "left_over")}
    together = [_get(rule, name, None) for name in ("prepare", "verify", "keeps", "left_over")]
    return Algorithm(
        name_of(rule),
        family,
        ", ".join(own if family != "chain" else ("iid",)),
        _get(rule, "THEOREM", "open"),
        _get(rule, "PAPER", ""),
        next(iter((rule.__doc__ or "").strip().splitlines()), ""),
        dict(_get(rule, "PROVED", {})),
        (*own, *_get(rule, "ALSO", ())),
        own,
        counts,
        _get(rule, "EXACT", True),
        **has,
        one_file=has["left_over"] and len({_get(function, "__module__", None) for function in together}) == 1,
        by_id=_get(rule, "BY_ID", False),
        chain=_get(rule, "CHAIN", None),
        steps=dict(_get(rule, "STEPS", {})),
        parameters=parameters(rule),
    )


class DraftFacts(NamedTuple):
    """The facts of a draft scheme: the numbers of drafts it can draw, and what it draws them from."""

    counts: tuple[int, ...] | None  # None: any number
    per_draft: bool  # q has a row for each candidate
    random_number: bool  # the number of drafts is drawn, too: it has `draws`


def scheme_facts(scheme: ModuleType) -> DraftFacts:
    """The same of a draft scheme."""
    return DraftFacts(
        _get(scheme, "COUNTS", None), _get(scheme, "PER_DRAFT", False), callable(_get(scheme, "draws", None))
    )


def process_cases(process: ModuleType) -> tuple[Mapping[str, Any], ...]:
    """Parameters with which checks and verdicts run a process, one set after the other; if it names none, its own."""
    return tuple(_get(process, "CASES", ({},)))


def _counts_of(scheme: Any) -> tuple[int, ...] | None:
    try:
        return scheme_facts(find("draft", scheme)).counts
    except ValueError:  # no such scheme: the contract says so
        return None


def family_of(rule: ModuleType) -> str:
    """The family that a rule's names say it is of."""
    known = {"CHILDREN": "tree", "DRAFTS": "step", "draw": "draft", "ask": "process"}
    return next((family for name, family in known.items() if _get(rule, name, None) is not None), "chain")


def is_rule(rule: Any) -> bool:
    """Whether it looks like a rule at all."""
    return callable(_get(rule, "verify", None))


def name_of(rule: Any) -> str:
    """What a rule is called in tables and messages."""
    return str(_get(rule, "__name__", "")).rpartition(".")[2]


def parameters(rule: ModuleType) -> dict[str, inspect.Parameter]:
    """What `prepare` takes beyond the laws and the drafts; `step` and `draws` of a tree are arguments of their own.

    Of a process: what `start` takes beyond the length and the batch.
    """
    made = _get(rule, taking_parameters(rule), None)
    return _beyond(made) if callable(made) else {}


def taking_parameters(rule: ModuleType) -> str:
    """The function that takes a module's own parameters."""
    return "start" if family_of(rule) == "process" else "prepare"


@lru_cache
def _beyond(prepare: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    found = inspect.signature(prepare).parameters
    return {name: found[name] for name in found if name not in _NO_PARAMETERS}


def _get(module: Any, name: str, default: Any) -> Any:
    """The one place where a rule is asked for a name that it need not have."""
    return getattr(module, name, default)


def with_params(rule: ModuleType, params: Mapping[str, Any] | None, argument: str = "params") -> ModuleType:
    """The rule with some of its own parameters given, others as they are; ValueError for a name it does not have."""
    if params is None:
        return rule
    if not isinstance(params, Mapping):
        from specsim.base.values import shown  # here: a command's help loads no NumPy

        raise TypeError(f"{argument} must be a mapping from names to values, got {shown(params)}")
    known = parameters(rule)
    for name in params:
        if name not in known:
            what = f"{called(family_of(rule))} {name_of(rule)!r}"
            raise ValueError(f"{what} has no parameter {name!r}; known: {', '.join(known) or 'none'}")
    if not params:
        return rule
    made = taking_parameters(rule)
    own = ModuleType(rule.__name__, rule.__doc__)
    vars(own).update(vars(rule), **{made: partial(getattr(rule, made), **params)})
    if made == "start":
        own.CASES = tuple({**case, **params} for case in process_cases(rule))  # type: ignore[attr-defined]
    return own


def parsed_params(rule: ModuleType, words: Sequence[str], argument: str = "param") -> dict[str, Any]:
    """Parameters from words like epsilon=0.2, as the rule annotates them: int, float, or else an exact Fraction."""
    known, params = parameters(rule), {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{argument} {word!r} must be name=value")
        if name in params:
            raise ValueError(f"{argument} {name!r} is given twice")
        kind = str(known[name].annotation) if name in known else ""
        convert = str if kind.startswith(("Literal", "str")) else int if kind.startswith("int") else Fraction
        try:
            number = convert(value)
            params[name] = float(number) if kind.startswith("float") else number
        except (ValueError, ZeroDivisionError, OverflowError):
            what = "integer" if convert is int else "number"
            raise ValueError(f"{argument} {word!r}: {value!r} is no {what}") from None
    with_params(rule, params)  # refuses names that it does not have
    return params


def parsed_step_params(step: Rule | None, words: Sequence[str]) -> dict[str, Any] | None:
    """The same of the step rule that a tree rule is told; None for no words."""
    if not words:
        return None
    if step is None:
        raise ValueError(f"--step-param {words[0]} is a step rule's: name it, by --step")
    return parsed_params(find("step", step), words, "step_param")


def algorithms() -> list[Algorithm]:
    """List every verification rule in the installed package.

    Returns
    -------
    list of Algorithm
        name, family, drafts, theorem, paper, summary, proved, ...; the names are what `rule=` takes.

    Raises
    ------
    ImportError
        A file in a rule folder cannot be imported.

    References
    ----------
    Each record's `paper`.

    Examples
    --------
    >>> [a.name for a in algorithms() if a.family == "chain"]
    ['block', 'greedy_block', 'tokenwise']
    """
    return [facts(module) for family in ("step", "chain", "tree") for module in rules(family).values()]
