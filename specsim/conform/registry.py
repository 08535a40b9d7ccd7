"""The folders are the registries: adapters, exhibits and exonerations are found by listing them.

An adapter, `adapters/NAME.py`, has

    DISTRIBUTION = "economize"        # on the package index; "" for one's own file
    VERSIONS = "==0.3.2"              # those that it was written for, as a requirement says it
    KIND = "chain"                    # of its subjects, or the most telling of them
    def subjects() -> list[Subject]   # imports the package; ImportError (with a reason) where it cannot be had

An exhibit, `museum/exhibits/NAME.py`, and an exoneration, `museum/exonerations/NAME.py`, have

    WRONG = "..."                     # one sentence: the class of bug, or what the rule is wrongly accused of
    THREAD = "https://..."            # where it was found or discussed, public
    EXPECTED = "convicted"            # the verdict of the whole report; "lossless" for exonerations
    PROPERTY = "joint"                # the property that convicts an exhibit; "" for exonerations
    def subject() -> Subject          # `museum/_frames.py` makes it of what is wrong in a right rule

A user's own file is either: `specsim conform ./mine.py` reads its `subjects()` or its `subject()`, whatever else it
holds. Without them it is a rule if it has `prepare` and `verify`; a function verify(p, q, drafts, u) alone is judged as
`specsim.testing.sampler_law` calls it.
Files whose names begin with an underscore are helpers, and are not listed.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from specsim import discover
from specsim.base.modules import read
from specsim.conform import declared, rules
from specsim.conform.subject import Subject
from specsim.conform.verdict import Report, Verdict

ADAPTERS = "specsim.conform.adapters"
EXHIBITS = "specsim.conform.museum.exhibits"
EXONERATIONS = "specsim.conform.museum.exonerations"
PLAIN = "verify(p, q, drafts, u)"
NOTE = "judged with one draft and two uniforms; a file with subject() says how else it may be called"
# What a file needs to be judged, for whoever has a function and nothing else.
LINES = (
    'add: from specsim.conform import Subject; def subject(): return Subject("mine", "step", my_function) '
    "(help(Subject) says what else it may be)"
)
SUBJECTS = ("step", "chain", "tree", "draft", "process")  # families whose modules make tokens


def names(folder: str) -> list[str]:
    """Names of the files of a folder, sorted.

    >>> "first_ratio_only" in names(EXHIBITS)
    True
    """
    package = importlib.import_module(folder)
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def find(name: str) -> ModuleType:
    """The file of that name in a folder, one of specsim's rules, schemes and processes, or the file at that path."""
    if name.endswith(".py"):
        return read(Path(name), "subject")
    for folder in (ADAPTERS, EXHIBITS, EXONERATIONS):
        if name in names(folder):
            return importlib.import_module(f"{folder}.{name}")
    for family in SUBJECTS:
        if name in discover.names(family):
            return discover.find(family, name)
    others = {name for family in SUBJECTS for name in discover.names(family)} | {*names(EXHIBITS), *names(EXONERATIONS)}
    near = get_close_matches(name, [*names(ADAPTERS), *sorted(others)], 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = ", ".join(names(ADAPTERS)) or "none"
    raise ValueError(f"subject {name!r} is unknown; {hint}adapters: {known}; or the path of a file that ends in .py")


def subjects_of(module: ModuleType) -> list[Subject]:
    """Return the subjects of a file; ValueError if it has none that can be judged, or raises on the way.

    An ImportError is left as it is: what is missing to run it.
    """
    try:
        found = _handed_over(module)
    except (ImportError, ValueError):
        raise
    except (Exception, SystemExit) as error:  # the file is the user's: whatever it raises is the answer
        raise ValueError(f"file {module.__name__} raised {type(error).__name__}: {error}") from None
    for one in found:
        if not isinstance(one, Subject):
            raise ValueError(f"file {module.__name__} hands over {type(one).__name__}, not specsim.conform.Subject")
    if not found:
        raise ValueError(f"file {module.__name__} hands over no subject: subjects() is empty")
    subjects = [declared.validate(one) for one in found]
    names = [one.name for one in subjects]
    if several := [name for name in names if names.count(name) > 1]:
        raise ValueError(
            f"file {module.__name__} hands over {names.count(several[0])} subjects of the name {several[0]!r}"
        )
    return subjects


def _handed_over(module: ModuleType) -> list[Any]:
    held = vars(module)
    if callable(held.get("subjects")):
        found = held["subjects"]()
        return [found] if isinstance(found, Subject) else list(found)
    if callable(held.get("subject")):
        return [held["subject"]()]
    if is_ours(module):
        return [rules.subject(module)]
    if callable(held.get("verify")):
        return [plain(held["verify"], module.__name__)]
    raise ValueError(f"file {module.__name__} has neither subjects() nor subject(), nor {PLAIN}; {LINES}")


def plain(verify: Callable[..., Any], name: str) -> Subject:
    """A function verify(p, q, drafts, u) with one draft and two uniforms, as `sampler_law` has them by default."""
    try:
        inspect.signature(verify).bind(*"pqdu")
    except TypeError:
        taken = inspect.signature(verify)
        raise ValueError(f"file {name}: verify{taken} does not take (p, q, drafts, u); {LINES}") from None
    except ValueError:  # a builtin says nothing of what it takes
        pass
    return Subject(f"{name}.verify", "step", verify, randomness="coins", coins=lambda _: 2, sizes=(1,), note=NOTE)


def one_of(subjects: list[Subject], name: str) -> Subject:
    """The subject of that name, or the only one that has it in its name; ValueError with the names otherwise."""
    same = [one for one in subjects if one.name == name] or [one for one in subjects if name and name in one.name]
    if len(same) != 1:
        what = f"is in {len(same)} names" if same else "is in no name"
        raise ValueError(f"subject {name!r} {what}; known: {'; '.join(one.name for one in subjects)}")
    return same[0]


def is_ours(module: ModuleType) -> bool:
    """Whether the file is one of specsim's rules, schemes and processes, or a rule of one's own that is like them.

    A file that hands over subjects is not, whatever else it holds.
    """
    held = vars(module)
    if callable(held.get("subjects")) or callable(held.get("subject")):
        return False
    folders = tuple(f"{discover.FAMILIES[family]}." for family in ("draft", "process"))
    is_rule = discover.is_rule(module) and callable(held.get("prepare"))
    return is_rule or module.__name__.startswith(folders)


def subjects_or_reason(module: ModuleType) -> list[Subject] | str:
    """The subjects of a file, or why they cannot be had: what the ImportError says."""
    try:
        return subjects_of(module)
    except ImportError as error:
        return " ".join(str(error).split()) or type(error).__name__


def unavailable(module: ModuleType, reason: str) -> Report:
    """The report on what cannot be had."""
    name = module.__name__.rpartition(".")[2]
    return Report(name, (Verdict(name, "all", "not available", words=reason),))


def listed() -> list[tuple[str, str]]:
    """(name, what it is of, and what is missing to run it) of every adapter."""
    out = []
    for name in names(ADAPTERS):
        module = importlib.import_module(f"{ADAPTERS}.{name}")
        found = subjects_or_reason(module)
        state = f"not available: {found}" if isinstance(found, str) else f"ready: {', '.join(s.name for s in found)}"
        out.append((name, f"{module.DISTRIBUTION}{module.VERSIONS}, {module.KIND}; {state}"))
    return out
