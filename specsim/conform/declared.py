"""The validation of subjects: every field of one has a value that it can have, or one error names the first other."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, get_args, get_type_hints

from specsim import discover
from specsim.base import check, limits
from specsim.conform.subject import ORDER, Subject
from specsim.conform.toys import Toy
from specsim.trees import topology

# The scheme of trees that are several whole paths, which is no file of `specsim/draft`.
PATHS = "paths"
OPTIONAL_CALLS = ("coins", "paths", "batch")


def validate(value: Any) -> Subject:
    """Return the subject if every field has a value that it can have; else raise an error that names the first other.

    TypeError for a value of another type, ValueError for another value.
    """
    subject: Subject = check.record(value, "subject", Subject)
    # The name and what is called.
    _text(subject.name, "subject.name")
    if not subject.name.strip() or not subject.name.isprintable():
        raise ValueError(f"subject.name must be printable and not empty, got {check.shown(subject.name)}")
    field = f"of subject {subject.name!r}: "
    if not callable(subject.run):
        raise TypeError(f"{field}run must be callable, got {check.shown(subject.run)}")
    for name in OPTIONAL_CALLS:
        value = getattr(subject, name)
        if value is not None and not callable(value):
            raise TypeError(f"{field}{name} must be callable or None, got {check.shown(value)}")
    if inspect.iscoroutinefunction(subject.run):
        raise TypeError(f"{field}run must return tokens, got an async function: give one that calls asyncio.run of it")

    # Fields of few values: the types of the record say which.
    for name, hint in get_type_hints(Subject).items():
        value, known = getattr(subject, name), get_args(hint)
        if hint is bool and not isinstance(value, bool):
            raise TypeError(f"{field}{name} must be True or False, got {check.shown(value)}")
        if hint is str:
            _text(value, field + name)
        if known and all(isinstance(choice, str) for choice in known):
            _one_of(value, known, field + name)
    _one_of(subject.needs_device, ("", "cuda"), f"{field}needs_device")

    # Models of its own.
    if subject.models is not None:
        _models(subject, field)

    # Fields of several values.
    _one_of(subject.scheme, (*discover.names("draft"), PATHS, "deterministic"), f"{field}scheme")
    if sorted(_several(subject.order, f"{field}order")) != sorted(ORDER):
        raise ValueError(f"{field}order is {check.shown(subject.order)}; it must have each of {', '.join(ORDER)} once")
    for size in _several(subject.sizes, f"{field}sizes", least=1):
        check.integer(size, f"{field}sizes", int(subject.kind != "chain"), limits.MAX_DRAFTS)
    if not any(subject.sizes):
        raise ValueError(f"{field}sizes is {tuple(subject.sizes)}; give a number of drafts above 0, too")
    for dtype in (subject.dtype, *_several(subject.dtypes, f"{field}dtypes")):
        _dtype(dtype, subject.arrays, f"{field}dtype")
    for shape in _several(subject.shapes, f"{field}shapes", least=1):
        _shape(shape, f"{field}shapes")
    return subject


def _models(subject: Subject, field: str) -> None:
    """Refuse models of its own that are no two tables over the same tokens, or of another kind of subject."""
    if subject.kind != "decoder" or subject.warps:
        raise ValueError(f"{field}models is for a decoder that takes no sampling parameters (warps=False)")
    models = _several(subject.models, f"{field}models")
    if len(models) != 2 or not all(isinstance(model, Toy) for model in models):
        raise TypeError(
            f"{field}models must be two specsim.conform.toys.Toy, target and draft, got {check.shown(models)}"
        )
    if models[0].vocab != models[1].vocab:
        raise ValueError(f"{field}models have {models[0].vocab} and {models[1].vocab} tokens; both must have the same")


def _text(value: Any, name: str) -> None:
    """Refuse a value that is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {check.shown(value)}")


def _one_of(value: Any, known: Sequence[str], name: str) -> None:
    """Refuse a value that is not among the known ones."""
    _text(value, name)
    if value not in known:
        raise ValueError(f"{name} is {value!r}; known: {', '.join(choice or 'an empty text' for choice in known)}")


def _several(value: Any, name: str, least: int = 0) -> Sequence[Any]:
    """Return the value if it is a tuple or list of at least `least` entries."""
    if not isinstance(value, tuple | list):
        raise TypeError(f"{name} must be a tuple, got {check.shown(value)}")
    if len(value) < least:
        raise ValueError(f"{name} is empty; give at least one")
    return value


def _dtype(value: Any, arrays: str, name: str) -> None:
    """Refuse the name of a type of numbers that the library does not have."""
    known = ("float64", "float32", "float16", *(() if arrays == "numpy" else ("bfloat16",)))
    _one_of(value, known, name)


def _shape(value: Any, name: str) -> None:
    """Refuse parents of no tree: each node hangs below the root, -1, or a node before it."""
    for parent in _several(value, name, least=1):
        check.integer(parent, name, -1, limits.MAX_DRAFTS)
    topology.shape(list(value), name)
