"""What a log of vLLM says of its server: how it was started, what it switched off, and whether the end is cut off."""

from __future__ import annotations

import re

# How the arguments of a server name the way in which it drafts.
METHOD = re.compile(r"speculative[-_]config\W+(?!None)[^\n]{0,300}?\bmethod\W{1,4}(\w+)")
# The words of a server, when it starts, on whether and how it speculates.
_CONFIG = re.compile(r"\bspeculative_config=(None|SpeculativeConfig\([^)]*\))")

# The warning of a server that captures no whole pass as a CUDA graph once drafts are verified (vLLM 0.24).
_GRAPHS = re.compile(r"CUDAGraphMode\.\w+ is not supported with spec-decode for attention backend (\w+)")
_MODE = re.compile(r"setting cudagraph_mode=(\w+)")


def graph_notes(text: str) -> tuple[str, ...]:
    """Return a note where a server gave up CUDA graphs of whole passes because it speculates.

    On an A100 with a cache in 8 bits this made cycles of 8 clients up to 40 % longer (docs/results/loop.md).
    """
    warning = _GRAPHS.search(text)
    if warning is None:
        return ()
    mode = _MODE.search(text, warning.end())
    words = f" (cudagraph_mode={mode[1]})" if mode else ""
    return (
        f"with drafts the server captures no whole pass as a CUDA graph{words}, because attention backend {warning[1]} "
        "cannot: every cycle waits for the host; another backend or type of the cache may speed it up",
    )


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
