"""What a log of vLLM says of its server: how it was started, and whether the last line is cut off."""

from __future__ import annotations

import re

# How the arguments of a server name the way in which it drafts.
METHOD = re.compile(r"speculative[-_]config\W+(?!None)[^\n]{0,300}?\bmethod\W{1,4}(\w+)")
# The words of a server, when it starts, on whether and how it speculates.
_CONFIG = re.compile(r"\bspeculative_config=(None|SpeculativeConfig\([^)]*\))")


def check_one_server(text: str, source: str) -> None:
    """ValueError if a file holds servers that speculate in several ways, or some that do and some that do not."""
    ways = list(dict.fromkeys(_CONFIG.findall(text)))
    if len(ways) > 1:
        raise ValueError(
            f"{source} holds servers of several kinds (speculative_config={ways[0][:80]} and {ways[1][:80]}); "
            "split it: one server a file"
        )


def without_cut_line(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without a last line of counts that is cut off, and a note of that."""
    start = text.rfind("\n") + 1
    counts = "SpecDecoding metrics:"
    before = [line for line in text[:start].splitlines() if counts in line]
    if counts not in text[start:] or not before:
        return text, ()
    # All lines of a server have the same words.
    if len(re.findall("[A-Za-z]+", text[start:])) >= len(re.findall("[A-Za-z]+", before[-1])) and (
        text[start:].count(",") >= before[-1].count(",")
    ):
        return text, ()
    # Without its counts an interval would seem to be one without drafts.
    end = text.index("\n", text.rfind(counts, 0, start)) + 1
    return text[:end], ("the last line is cut off, and its interval left out",)
