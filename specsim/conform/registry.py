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

A user's own file is either: `specsim conform ./mine.py` reads its `subjects()` or its `subject()`,
whatever else it holds. Without them it is a rule if it has `prepare` and `verify`; a function
verify(p, q, drafts, u) alone is judged as `specsim.testing.sampler_law` calls it. Files whose names
begin with an underscore are helpers, and are not listed.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from specsim import discover
from specsim.base import recording
from specsim.base.modules import read
from specsim.conform import declared, rules
from specsim.conform.subject import Subject
from specsim.conform.verdict import Report, Verdict

ADAPTERS = "specsim.conform.adapters"
EXHIBITS = "specsim.conform.museum.exhibits"
EXONERATIONS = "specsim.conform.museum.exonerations"
# The call of a file that has nothing but a function, and what a report notes of it.
PLAIN = "verify(p, q, drafts, u)"
NOTE = "judged with one draft and two uniforms; a file with subject() says how else it may be called"
# What to write if such a function broke since it takes several drafts.
SEVERAL = (
    "it was called with one draft; if it takes several in a row, and returns (accepted drafts, next token) or the "
    "tokens emitted, add: from specsim.conform import Subject; "
    'def subject(): return Subject("mine", "chain", verify, randomness="coins", coins=lambda drafts: drafts + 1)'
)
# The lines that a file needs to be judged, for a user who has a function and nothing else.
LINES = (
    'add: from specsim.conform import Subject; def subject(): return Subject("mine", "step", my_function) '
    "(help(Subject) says what else it may be)"
)
# Families whose modules make tokens.
SUBJECTS = ("step", "chain", "tree", "draft", "process")


def names(folder: str) -> list[str]:
    """Return the names of the files of a folder, sorted.

    >>> "first_ratio_only" in names(EXHIBITS)
    True
    """
    package = importlib.import_module(folder)
    return sorted(file.name for file in pkgutil.iter_modules(package.__path__) if not file.name.startswith("_"))


def find(name: str) -> ModuleType:
    """Return the module of an adapter, exhibit, rule, scheme or process of that name, or of the file at that path."""
    recording.start()
    if name.endswith(".py"):
        return read(Path(name), "subject")
    # Folders of the judge, then specsim's own families.
    for folder in (ADAPTERS, EXHIBITS, EXONERATIONS):
        if name in names(folder):
            return importlib.import_module(f"{folder}.{name}")
    for family in SUBJECTS:
        if name in discover.names(family):
            return discover.find(family, name)

    # An unknown name: say the nearest of all, and list the adapters.
    of_specsim = {name for family in SUBJECTS for name in discover.names(family)}
    not_adapters = of_specsim | {*names(EXHIBITS), *names(EXONERATIONS)}
    near_names = get_close_matches(name, [*names(ADAPTERS), *sorted(not_adapters)], 1)
    hint = f"did you mean {near_names[0]!r}? " if near_names else ""
    adapters = ", ".join(names(ADAPTERS)) or "none"
    raise ValueError(f"subject {name!r} is unknown; {hint}adapters: {adapters}; or the path of a file that ends in .py")


def subjects_of(module: ModuleType) -> list[Subject]:
    """Return the subjects of a file; ValueError if it has none that can be judged, or raises on the way.

    An ImportError, which says what is missing to run it, is not changed.
    """
    # The file is the user's: whatever else it raises is the answer.
    try:
        returned = _handed_over(module)
    except (ImportError, ValueError):
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"file {module.__name__} raised {type(error).__name__}: {error}") from None

    # Each is a subject with possible fields, and the names differ.
    for value in returned:
        if not isinstance(value, Subject):
            raise ValueError(f"file {module.__name__} hands over {type(value).__name__}, not specsim.conform.Subject")
    if not returned:
        raise ValueError(f"file {module.__name__} hands over no subject: subjects() is empty")
    subjects = [declared.validate(subject) for subject in returned]
    names = [subject.name for subject in subjects]
    if several := [name for name in names if names.count(name) > 1]:
        raise ValueError(
            f"file {module.__name__} hands over {names.count(several[0])} subjects of the name {several[0]!r}"
        )
    return subjects


def _handed_over(module: ModuleType) -> list[Any]:
    """Return what a file has to be judged: its subjects, its rule, or its function `verify`."""
    contents = vars(module)
    if callable(contents.get("subjects")):
        returned = contents["subjects"]()
        return [returned] if isinstance(returned, Subject) else list(returned)
    if callable(contents.get("subject")):
        return [contents["subject"]()]
    if is_ours(module):
        return [rules.subject(module)]
    if callable(contents.get("verify")):
        return [plain(contents["verify"], module.__name__)]
    raise ValueError(f"file {module.__name__} has neither subjects() nor subject(), nor {PLAIN}; {LINES}")


def plain(verify: Callable[..., Any], name: str) -> Subject:
    """Return the subject of a function verify(p, q, drafts, u): one draft and two uniforms, as in `sampler_law`."""
    try:
        inspect.signature(verify).bind(*"pqdu")
    except TypeError:
        signature = inspect.signature(verify)
        raise ValueError(f"file {name}: verify{signature} does not take (p, q, drafts, u); {LINES}") from None
    except ValueError:
        # A builtin has no signature.
        pass
    return Subject(f"{name}.verify", "step", verify, randomness="coins", coins=lambda _: 2, sizes=(1,), note=NOTE)


def one_of(subjects: list[Subject], name: str) -> Subject:
    """Return the subject of that name, or the only one that has it in its name; ValueError with the names otherwise."""
    equal = [subject for subject in subjects if subject.name == name]
    matching = equal or [subject for subject in subjects if name and name in subject.name]
    if len(matching) != 1:
        problem = f"is in {len(matching)} names" if matching else "is in no name"
        raise ValueError(f"subject {name!r} {problem}; known: {'; '.join(subject.name for subject in subjects)}")
    return matching[0]


def is_ours(module: ModuleType) -> bool:
    """Return whether a file is one of specsim's rules, schemes and processes, or a user's rule with their functions.

    A file that hands over subjects is not, whatever else it holds.
    """
    contents = vars(module)
    if callable(contents.get("subjects")) or callable(contents.get("subject")):
        return False
    folders = tuple(f"{discover.FAMILIES[family]}." for family in ("draft", "process"))
    is_rule = discover.is_rule(module) and callable(contents.get("prepare"))
    return is_rule or module.__name__.startswith(folders)


def subjects_or_reason(module: ModuleType) -> list[Subject] | str:
    """Return the subjects of a file, or the reason why they cannot be had, as the ImportError says it."""
    try:
        return subjects_of(module)
    except ImportError as error:
        return " ".join(str(error).split()) or type(error).__name__


def unavailable(module: ModuleType, reason: str) -> Report:
    """Return the report on a subject that cannot be had."""
    *_, name = module.__name__.split(".")
    return Report(name, (Verdict(name, "all", "not available", words=reason),))


class Listed(NamedTuple):
    """An adapter: its name, its distribution and whether it is ready, and its subjects, which `--subject` takes."""

    adapter: str
    state: str
    subjects: tuple[str, ...] = ()


def listed() -> list[Listed]:
    """Return every adapter."""
    adapters = []
    for name in names(ADAPTERS):
        module = importlib.import_module(f"{ADAPTERS}.{name}")
        subjects = subjects_or_reason(module)
        about = f"{module.DISTRIBUTION}{module.VERSIONS}, {module.KIND}"
        if isinstance(subjects, str):
            adapters.append(Listed(name, f"{about}; not available: {subjects}"))
        else:
            adapters.append(Listed(name, f"{about}; ready", tuple(subject.name for subject in subjects)))
    return adapters
