"""Read a configuration: JSON, the simple YAML of engines' files, or the arguments of a command line.

YAML is read as far as engines' files need it: mappings by indentation, scalars, and lists and
mappings in JSON's form on one line. Any other line is refused by its number. Comments decide
nothing, and a file that mixes two forms is refused, since what stands in the other form would be
passed over.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base.reading import parsed_json, read_text

MOST_BYTES = 1 << 20
Content = dict[str, Any]
# A key and what stands behind its colon; a key may be quoted.
_ENTRY = re.compile(
    r"""(?P<indent> *)(?P<key>"[^"]*"|'[^']*'|[^\s:#'"\[\]{},&*!|>%@`-][^:#]*?) *:(?: +(?P<value>.*))?"""
)
# A line by which YAML is told from a command line: a name with its colon, an item, a mark.
_YAML_LINE = re.compile(r"""\s*(?:[\w.-]+|"[^"]*"|'[^']*')\s*:(?:\s|$)|\s*- |---\s*$""")
# A variable that is set before a command, or in a file of its environment.
_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
# An option of a command line, or a variable, inside of a value of another form.
_IN_A_VALUE = re.compile(r"(?:^|\s)(--[A-Za-z][\w.-]*|-sc\b|(?:SGLANG|TLLM)_[A-Z0-9_]+(?==))")
MIXED = "{place} mixes {outer} with {inner}: one of them would not be read; give each in a file of its own"
# Stands for a hash inside of a word, which begins no comment.
_HASH = "\ue000"
# Words that YAML reads as something else than text.
_WORDS = {"true": True, "false": False, "null": None, "~": None, "none": None}


def read(path: Path) -> Content:
    """Return the fields of a file; names have underscores, as Python's options do."""
    try:
        text = read_text(path, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    return parsed(text, path.name)


def parsed(text: str, place: str) -> Content:
    """Return the fields of a text: JSON, YAML or arguments, by its first line that is no comment."""
    text = text.replace("\r\n", "\n")
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    first = lines[0] if lines else ""
    if first.lstrip().startswith(("{", "[")):
        content = parsed_json(text, place)
        if not isinstance(content, dict):
            raise ValueError(f"{place} must be a JSON object, got {type(content).__name__}")
        form = "JSON"
    elif _YAML_LINE.match(first) or not any(re.search(r"(^|\s)(--?[A-Za-z]|[A-Z][A-Z0-9_]*=)", s) for s in lines):
        content, form = _yaml(text, place), "YAML"
    else:
        return _arguments(text, place)
    _check_values_have_no_options(content, form, place)
    return _named(content, place)


def _check_values_have_no_options(value: Any, form: str, place: str) -> None:
    """Raise ValueError if a name or a text in JSON or YAML holds options of a command line: they are not read."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for inner in value:
            _check_values_have_no_options(inner, form, place)
    elif isinstance(value, str) and (option := _IN_A_VALUE.search(value)):
        raise ValueError(MIXED.format(place=place, outer=form, inner=f"an option of a command line ({option[1]})"))


def nested(value: Any, place: str) -> Content:
    """Return a field that holds fields: a mapping, or the JSON text of one."""
    if isinstance(value, str):
        value = parsed_json(value, place)
    if not isinstance(value, dict):
        raise ValueError(f"{place} must be an object, got {value!r:.60}")
    return _named(value, place)


def _named(content: Content, place: str) -> Content:
    """Return fields with underscores in their names; ValueError if two are then the same."""
    found: Content = {}
    for name, value in content.items():
        key = str(name).replace("-", "_")
        if key in found:
            raise ValueError(f"{place}: {key} stands twice")
        found[key] = value
    return found


def _arguments(text: str, place: str) -> Content:
    """Return the options of a command line, and variables set before it (NAME=value).

    Of options that are given more than once the last one counts, as for argparse. `--a.b` is field
    b of a; ValueError if a is given as a whole, too.
    """
    # A line goes on after a backslash, but a comment does not; a hash inside of a word begins none.
    text = re.sub(r"(?<=\S)#", _HASH, text.replace("\\\n", " \n"))
    try:
        words = [word.replace(_HASH, "#") for word in shlex.split(text, comments=True)]
    except ValueError as error:
        raise ValueError(f"{place} is no command line: {error}") from None
    found: Content = {}
    name = ""
    for word in words:
        _check_word(word, place)
        # A variable counts wherever it stands: behind `export`, `env` or `docker run -e`, too.
        if variable := _VARIABLE.fullmatch(re.sub(r"^--?[A-Za-z][\w.-]*=", "", word)):
            found[variable[1]] = _scalar(variable[2])
        if re.fullmatch(r"--?[A-Za-z][\w.-]*(=.*)?", word, re.DOTALL):
            option, _, value = word.partition("=")
            field = option.lstrip("-").replace("-", "_")
            _put(found, field, _scalar(value) if "=" in word else True, place)
            # Only an option without its value takes the next word.
            name = "" if "=" in word else field
        elif name:
            _put(found, name, _scalar(word), place)
            name = ""
    return found


def _check_word(word: str, place: str) -> None:
    """Raise ValueError for a word of a command line that holds a name of YAML, or options inside of a text."""
    if re.fullmatch(r"[A-Za-z_][\w.-]*:", word):
        raise ValueError(MIXED.format(place=place, outer="a command line", inner=f"a line of YAML ({word})"))
    if re.fullmatch(r"--?[A-Za-z][\w.-]*", word):
        return
    value = re.sub(r"^(--?[A-Za-z][\w.-]*=)?([A-Z][A-Z0-9_]*=)?", "", word)
    if inner := _IN_A_VALUE.search(value):
        raise ValueError(f"{place}: options inside of a text ({inner[1]}) are not read; write them outside of quotes")


def _put(found: Content, name: str, value: Any, place: str) -> None:
    """Set a field, or the field of a field whose name has a dot; ValueError if it is given in both ways."""
    outer, dot, inner = name.partition(".")
    held: Any = found.get(outer, {} if dot else None)
    if isinstance(held, dict) != bool(dot):
        raise ValueError(f"{place}: {outer} is given as a whole and by its fields ({outer}.x); give it in one way")
    if dot:
        found[outer] = {**held, inner: value}
    else:
        found[name] = value


class _Open(NamedTuple):
    """A mapping that lines still go into."""

    indent: int
    content: Content


def _yaml(text: str, place: str) -> Content:
    """Return the mappings of simple YAML."""
    found: Content = {}
    opened = [_Open(0, found)]
    # The field whose value is on the lines that follow, and the indentation of its name.
    waiting: tuple[Content, str, int] | None = None
    for count, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() in ("---", "..."):
            continue
        where, indent = f"{place}, line {count}", len(line) - len(line.lstrip(" "))
        # An item of a list; lists may stand as far left as the name of their field.
        if waiting is not None and indent >= waiting[2] and line.lstrip().startswith("- "):
            held, name, _ = waiting
            item = _value(_uncommented(line.lstrip()[2:].strip()), where)
            held[name] = [*(held[name] or ()), item]
            continue
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None:
            raise ValueError(f"{where}: {line.strip()!r:.60} is no `name: value`; give the file as JSON")
        # A deeper line opens a mapping; a shallower one closes those that are deeper.
        if waiting is not None and indent > waiting[2] and waiting[0][waiting[1]] is None:
            held, name, _ = waiting
            held[name] = {}
            opened.append(_Open(indent, held[name]))
        while len(opened) > 1 and indent < opened[-1].indent:
            opened.pop()
        if indent != opened[-1].indent:
            raise ValueError(f"{where}: its indentation of {indent} fits no line above")
        held, key = opened[-1].content, match["key"].strip("'\"")
        if key in held:
            raise ValueError(f"{where}: {key} stands twice")
        value = _uncommented(match["value"] or "")
        held[key] = _value(value, where) if value else None
        waiting = None if value else (held, key, indent)
    return found


def _uncommented(value: str) -> str:
    """Return what stands before a comment, which begins with a space and a hash outside of quotes."""
    quoted = re.match(r"""("[^"]*"|'[^']*')\s*(#.*)?$""", value)
    return quoted[1] if quoted else re.split(r"(?:^|\s)#", value, maxsplit=1)[0].strip()


def _value(value: str, place: str) -> Any:
    """Return a scalar, or a list or mapping in JSON's form; ValueError for YAML that is not read."""
    if value[0] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError(f"{place}: {value!r:.60} is not read; write it as JSON") from None
    if value[0] in "&*!|>%@`":
        raise ValueError(f"{place}: {value!r:.60} is YAML that is not read; give the file as JSON")
    if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1:
        return value[1:-1]
    return _scalar(value)


def _scalar(value: str) -> Any:
    """Return a number, true, false or null that a word stands for; else the word."""
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
