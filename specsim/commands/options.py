"""The options of a command are one typed record: the fields are what the terminal takes and what the body reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from specsim.commands.errors import BAD, one_line

Options = TypeVar("Options")


def takes(
    record: Callable[..., Options], bad_input: int = BAD
) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """A command that takes the fields of a record (`Annotated` with typer's options), from a body that takes one.

    Bad input ends it with one line and the status `bad_input`.
    """

    def decorate(body: Callable[[Options], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            body(record(**given))

        command.__name__, command.__doc__ = body.__name__, body.__doc__
        # typer reads both to find the parameters
        command.__annotations__ = hints = get_type_hints(record, include_extras=True)
        fields = inspect.signature(record).parameters.items()
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [field.replace(annotation=hints[name]) for name, field in fields]
        )
        return one_line(command, bad_input)

    return decorate


def alone(name: str, given: bool, **others: object) -> None:
    """ValueError for two options that each say in which form, or where, the output goes.

    >>> alone("json", True, markdown=False)
    >>> alone("json", True, markdown=True)
    Traceback (most recent call last):
        ...
    ValueError: --json and --markdown are both given: the output has one form at a time
    """
    beside = next((f"--{other}" for other, value in others.items() if value), None)
    if given and beside is not None:
        raise ValueError(f"--{name} and {beside} are both given: the output has one form at a time")


PARAM = "name=value of one of the rule's own parameters; may be given several times."
STEP_PARAM = "The same of the rule given by --step."


def examples(*lines: str) -> str:
    """The end of a command's help: lines to paste, never wrapped."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
