"""The options of a command are one typed record: the fields are what the terminal takes and what the body reads."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from specsim.commands.errors import BAD, fail, one_line
from specsim.commands.streams import open_streams

Options = TypeVar("Options")


class Command(TyperCommand):
    """A command whose help groups options by panel, and whose usage errors are one line."""

    bad_input = BAD

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **extra)
        # Arguments are written in capitals, as in RULE, wherever they are named.
        for parameter in self.params:
            if parameter.param_type_name == "argument" and parameter.metavar is None:
                parameter.metavar = str(parameter.name).upper()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of a usage line: FILE for an argument, [FILE] if it may be left out, FILE... for several."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        pieces = ["[OPTIONS]"]
        for argument in arguments:
            piece = str(argument.metavar) if argument.required else f"[{argument.metavar}]"
            pieces.append(piece if argument.nargs == 1 else f"{piece}...")
        return pieces

    def make_context(self, info_name: str | None, *args: Any, **extra: Any) -> Any:
        """Return the context of a call, or end with one line for options that cannot be read."""
        try:
            return super().make_context(info_name, *args, **extra)
        except Exception as error:
            parent = extra.get("parent")
            program = f"{parent.command_path} {info_name}" if parent is not None else str(info_name)
            _fail_in_one_line(error, program, self.bad_input)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; `-` is standard input or output where a file is named."""
        try:
            is_written = open_streams(str(self.name), self.get_params(ctx), ctx.params)
        except ValueError as error:
            fail(str(error), self.bad_input)
        if not is_written:
            return super().invoke(ctx)
        with redirect_stdout(sys.stderr):
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options under the heading of their panel, in the order of the record."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            help_record = parameter.get_help_record(ctx)
            if help_record is None:
                continue
            name, help_text = help_record
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None)
            sections.setdefault(panel or "Options", []).append((kind_of_one(name), help_text))
        # Options without a panel, then where the output goes and in which form, and --help, come last.
        last = [(heading, sections.pop(heading, [])) for heading in ("Options", OUTPUT)]
        for heading, entries in [*sections.items(), *last]:
            if entries:
                with formatter.section(heading):
                    formatter.write_dl(entries)


def kind_of_one(name: str) -> str:
    """Return a parameter's help name with the kind of one value where it takes a list.

    >>> kind_of_one("--param <list[str]>"), kind_of_one("RECORDS <list[Path]>")
    ('--param <str>', 'RECORDS <path>')
    """
    return re.sub(r"<list\[(\w+)\]>", lambda kind: f"<{kind[1].lower()}>", name)


# The expected kind of value, by pydantic's name for the error.
EXPECTED = {
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "bool_parsing": "true or false",
}


class Group(TyperGroup):
    """A program whose usage errors are one line."""

    def make_context(self, info_name: str | None, *args: Any, **extra: Any) -> Any:
        """Return the context of a call, or end with one line for options that cannot be read."""
        try:
            return super().make_context(info_name, *args, **extra)
        except Exception as error:
            _fail_in_one_line(error, str(info_name), BAD)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named, or end with one line that names near ones."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            _fail_in_one_line(error, ctx.command_path, BAD)
            raise


# Former names of options: (command, former name) -> present name, which the error message gives.
FORMER = {
    ("log", "--hazards"): "--out",
    ("log", "--length"): "--gamma",
    ("diagnose", "--length"): "--gamma",
    ("plan", "--alpha"): "ALPHA alone, as in `specsim plan 0.8`",
    ("drafts", "--rows"): "--positions",
    ("train-drafters", "--record"): "--out",
    ("trees", "--budgets"): "--nodes",
}


def _fail_in_one_line(error: Exception, program: str, status: int) -> None:
    """End with one line if words of the command line cannot be read; return for any other exception."""
    message = getattr(error, "format_message", None)
    # A program without words prints its help, which is an error of this class.
    if message is None or type(error).__name__ == "NoArgsIsHelpError":
        return
    # What the library writes as sentences becomes one line.
    words = re.sub(r"\. Did you mean (.*\?)$", r"; did you mean \1", message().rstrip("."))
    # Of an unknown option: its present name if it was renamed, else names like it.
    name, similar = getattr(error, "option_name", ""), list(getattr(error, "possibilities", None) or ())
    command = program.split(" ")[-1]
    if (command, name) in FORMER:
        similar = [FORMER[command, name]]
    if similar:
        fail(f"no such option: {name}; did you mean {' or '.join(similar)}? `{program} -h` lists what there is", status)
    # pydantic converts values for typer, and describes its errors.
    details = getattr(error.__cause__, "errors", None)
    if details is not None:
        from specsim.base.values import shown

        (detail, *_) = details()
        expected = EXPECTED.get(detail["type"], str(detail["msg"]))
        words = f"{words.partition(': ')[0]}: got {shown(detail['input'])}, expected {expected}"
    joint = " " if words.endswith("?") else "; "
    fail(f"{words[0].lower()}{words[1:]}{joint}`{program} -h` lists what there is", status)


def takes(
    record: Callable[..., Options], bad_input: int = BAD
) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator: a body that takes a record becomes a command with its fields as options.

    Bad input ends it with one line and the status `bad_input`.
    """

    def decorate(body: Callable[[Options], None]) -> Callable[..., None]:
        """Return the command with this body."""

        def command(**values: Any) -> None:
            """Run the body with these values of the options."""
            body(record(**values))

        command.__name__, command.__doc__ = body.__name__, body.__doc__
        # typer reads annotations and signature to find the parameters.
        command.__annotations__ = hints = get_type_hints(record, include_extras=True)
        fields = inspect.signature(record).parameters.items()
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [field.replace(annotation=hints[name]) for name, field in fields]
        )
        return one_line(command, bad_input)

    return decorate


def alone(name: str, is_chosen: bool, **others: object) -> None:
    """Raise ValueError if `name` is chosen together with another option on the output's form or place.

    >>> alone("json", True, markdown=False)
    >>> alone("json", True, markdown=True)
    Traceback (most recent call last):
        ...
    ValueError: --json and --markdown are both given: the output has one form at a time
    """
    conflict = next((f"--{other}" for other, value in others.items() if value), None)
    if is_chosen and conflict is not None:
        raise ValueError(f"--{name} and {conflict} are both given: the output has one form at a time")


# The forms of a command with a table: fields `as_csv`, `as_latex`, `as_markdown` and `as_json` of its record.
OUTPUT = "Output"
AsCsv = Annotated[
    bool,
    typer.Option("--csv", help="Print the tables alone, as CSV, with every digit of numbers.", rich_help_panel=OUTPUT),
]
AsLatex = Annotated[
    bool, typer.Option("--latex", help="Print the tables as LaTeX (package booktabs).", rich_help_panel=OUTPUT)
]
# For the pages of the site alone, which hold what commands print.
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.", hidden=True)]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, with every digit of every number.", rich_help_panel=OUTPUT)
]
Form = Literal["text", "markdown", "csv", "latex", "json"]


def form_of(options: Any, **others: object) -> Form:
    """Return the form that a command's options choose; ValueError for two forms, or a form beside `others`."""
    return chosen_form(
        as_json=options.as_json,
        as_markdown=options.as_markdown,
        as_csv=options.as_csv,
        as_latex=options.as_latex,
        **others,
    )


def chosen_form(*, as_json: bool, as_markdown: bool, as_csv: bool, as_latex: bool, **others: object) -> Form:
    """Return the chosen form, "text" if none is; ValueError for two forms, or a form beside `others`.

    >>> chosen_form(as_json=False, as_markdown=False, as_csv=True, as_latex=False)
    'csv'
    >>> chosen_form(as_json=False, as_markdown=False, as_csv=True, as_latex=True)
    Traceback (most recent call last):
        ...
    ValueError: --csv and --latex are both given: the output has one form at a time
    """
    forms: dict[Form, bool] = {"json": as_json, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}
    chosen = [form for form, is_chosen in forms.items() if is_chosen]
    if chosen:
        alone(chosen[0], True, **dict.fromkeys(chosen[1:], True), **others)
    return chosen[0] if chosen else "text"


PARAM = "Parameter of the rule as name=value. Repeat for several parameters."
STEP_PARAM = "Parameter of the rule of --step as name=value. Repeat for several parameters."


def examples(*lines: str) -> str:
    """Return the end of a command's help: lines to paste, never wrapped."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def parse_budget(budget: str) -> float:
    """Return the seconds of a time such as 60, 60s or 2m; ValueError for any other text."""
    from specsim.conform.judgement import LONGEST

    number, unit = (budget[:-1], budget[-1]) if budget[-1:] in ("s", "m") else (budget, "s")
    try:
        seconds = float(number) * {"s": 1, "m": 60}[unit]
    except ValueError:
        raise ValueError(f"budget {budget!r} is no time: give seconds, as 60 or 60s, or minutes, as 2m") from None
    if not 0 < seconds < math.inf:
        raise ValueError(f"budget must be a positive, finite time, got {budget}")
    if seconds > LONGEST:
        raise ValueError(f"budget is {budget}; the longest is {LONGEST:,.0f} s, some days")
    return seconds
