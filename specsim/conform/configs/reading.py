"""Read a configuration: JSON, the simple YAML of engines' files, or the arguments of a command line.

YAML is read as far as engines' files need it: mappings by indentation, scalars, and lists and
mappings in JSON's form on one line. Any other line is refused by its number.
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
    """Return the fields of a text: JSON if it begins with a brace, arguments if it has options, else YAML."""
    if text.lstrip().startswith(("{", "[")):
        content = parsed_json(text, place)
        if not isinstance(content, dict):
            raise ValueError(f"{place} must be a JSON object, got {type(content).__name__}")
        return _named(content, place)
    if re.search(r"(^|\s)--?[a-z]", text) and not re.match(r"\s*[\w-]+\s*:", text):
        return _arguments(text, place)
    return _named(_yaml(text, place), place)


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
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise ValueError(f"{place} is no command line: {error}") from None
    found: Content = {}
    name = ""
    for word in words:
        if re.fullmatch(r"--?[A-Za-z][\w.-]*(=.*)?", word, re.DOTALL):
            option, _, value = word.partition("=")
            name = option.lstrip("-").replace("-", "_")
            _put(found, name, _scalar(value) if "=" in word else True, place)
        elif name:
            _put(found, name, _scalar(word), place)
            name = ""
        elif variable := re.fullmatch(r"([A-Z][A-Z0-9_]*)=(.*)", word, re.DOTALL):
            found[variable[1]] = _scalar(variable[2])
    return found


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
