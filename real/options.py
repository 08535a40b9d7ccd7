"""Readers of the commands' options; every error names the option."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from pathlib import Path

from real.prompts import SETS, SPLITS, TASKS, shipped_prompts
from specsim.base import limits
from specsim.base.lists import distinct_numbers
from specsim.base.unknown import unknown


def parse_numbers(text: str, name: str = "gamma", most: int = limits.MAX_GAMMA) -> tuple[int, ...]:
    """Return distinct whole numbers from 1 to `most`, from "4", "1-8", "1,2,4", "1-4,8" or "1k"."""
    return distinct_numbers(text, name, 1, most)


def parse_names(text: str) -> tuple[str, ...]:
    """Return names from "one" or "one,two"; who uses them refuses unknown ones."""
    return tuple(name.strip() for name in text.split(","))


def within(value: int, name: str, least: int, most: int = limits.MAX_COUNT) -> int:
    """Return the value of an option that counts something; raise ValueError outside `least` to `most`."""
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {_brief(value)}")
    if value > most:
        raise ValueError(f"{name} is {_brief(value)}; the largest that is sensible is {most}")
    return value


def positive(value: int, name: str, most: int = limits.MAX_COUNT) -> int:
    """Return the value of an option that counts something; raise ValueError below 1 or above `most`."""
    return within(value, name, 1, most)


def _brief(value: str | int) -> str:
    """Return a value as a message shows it: on one line, of at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_prompts(path: Path) -> list[str]:
    """Return prompts from a JSON file with a list `prompts`, or one a line from a text file."""
    # Read the file.
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        near = get_close_matches(str(path), SETS, 1, 0.75)
        hint = f"; did you mean the shipped prompts {near[0]}?" if near else ""
        raise ValueError(f"prompts {path} cannot be read: {error.strerror}{hint}") from None
    except UnicodeDecodeError:
        raise ValueError(f"prompts {path} is no text in UTF-8") from None

    # Take its prompts, and check them.
    if path.suffix != ".json":
        prompts = [line for line in text.splitlines() if line.strip()]
    else:
        try:
            prompts = json.loads(text)["prompts"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(f"prompts {path} must be JSON with a list `prompts`") from None
    if not isinstance(prompts, list) or not prompts or not all(isinstance(p, str) for p in prompts):
        raise ValueError(f"prompts {path} must hold at least one text, as a list of them")
    return prompts


def shipped_set(path: Path) -> str | None:
    """Return the name of the shipped prompts that an option asks for, as chat:test; None if it names a file.

    A name is TASK:SPLIT, with "chat" for all tasks of chat and "all" for all splits: one of
    `real.prompts.SETS`.
    """
    # Not TASK:SPLIT, or a file that is named so.
    name = str(path)
    if re.fullmatch(r"[\w-]*:[\w-]*", name) is None:
        return None
    if path.exists():
        if name in SETS:
            raise ValueError(f"prompts {name} is a file here, and the name of shipped prompts: rename the file")
        return None

    # Refuse an unknown task or split.
    task, _, split = name.partition(":")
    try:
        if task not in ("chat", *TASKS):
            raise unknown("task", task, ("chat", *TASKS))
        if split not in (*SPLITS, "all"):
            raise unknown("split", split, (*SPLITS, "all"))
    except ValueError as error:
        raise ValueError(f"prompts {name}: {error}") from None
    return name


def read_shipped(name: str) -> list[str]:
    """Return the texts of the shipped prompts of a name in `real.prompts.SETS`."""
    task, _, split = name.partition(":")
    return [prompt.text for prompt in shipped_prompts(task, None if split == "all" else split)]
