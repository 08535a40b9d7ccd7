"""What the commands read from their options; every error names the option."""

from __future__ import annotations

import json
from pathlib import Path


def parse_numbers(text: str, name: str = "gamma") -> tuple[int, ...]:
    """Whole numbers from "4", "1-8" or "1,2,4"."""
    try:
        first, _, last = text.partition("-")
        found = range(int(first), int(last) + 1) if last else [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} {text!r} is not a number, a range like 1-8 or a list like 1,2,4") from None
    if not found or len(set(found)) != len(found):
        raise ValueError(f"{name} {text!r} is an empty range or names a length twice")
    if min(found) < 1:
        raise ValueError(f"{name} must be at least 1, got {text!r}")
    return tuple(found)


def parse_names(text: str) -> tuple[str, ...]:
    """Names from "one" or "one,two"; whoever uses them says which are known."""
    return tuple(name.strip() for name in text.split(","))


def positive(value: int, name: str) -> int:
    """An option that counts something."""
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return value


def read_prompts(path: Path) -> list[str]:
    """Prompts from a JSON file with a list `prompts`, or one a line from a text file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"prompts {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"prompts {path} is no text in UTF-8") from None
    if path.suffix != ".json":
        found = [line for line in text.splitlines() if line.strip()]
    else:
        try:
            found = json.loads(text)["prompts"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(f"prompts {path} must be JSON with a list `prompts`") from None
    if not isinstance(found, list) or not found or not all(isinstance(p, str) for p in found):
        raise ValueError(f"prompts {path} must hold at least one text, as a list of them")
    return found
