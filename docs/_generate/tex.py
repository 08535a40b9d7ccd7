# ruff: noqa: RUF001
"""Texts with formulas as notes and docstrings write them, turned into Markdown with TeX for the site.

The sources stay readable without a renderer. At each word the longest formula is read; what cannot be read as a whole
stays as it is written, so that no formula is ever cut in two.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from _generate.formulas import Parser

ARTICLES = ("a", "A", "I")  # by themselves they are words
WORD = re.compile(r"[^\W\d_](?:[\w'’]|[-.](?=\w))*")


def read(text: str, at: int) -> tuple[str, int] | None:
    """Return the formula that begins here as TeX and its end, or None where there is none."""
    if at and (text[at - 1].isalnum() or text[at - 1] in "_'’\\$@/"):
        return None
    parser = Parser(text, at)
    tex = parser.attempt(parser.formula)
    end, source = parser.at, text[at : parser.at]
    if tex is None or re.match(r"[\w^{(\[]|-\w|['’](?!s\b)\w|\.\w|/\w|\*\w", text[end : end + 2]):
        return None
    if not re.search(r"[^\W\d]|[∅∞]", source) and not re.search(r"[<>=≤≥^−·×]|\d ?[/+] ?\d", source):
        return None  # a number alone, or numbers in brackets, are text
    if source in ARTICLES or re.match(r"a [A-Za-z](?![(_^])", source) or re.fullmatch(r"\([\w.]{1,5}\)", source):
        return None
    return tex.strip(), end


def prose(text: str, keep: Callable[[str], str] = str) -> str:
    """Return a text with its formulas between dollars; what is between backticks or a link stays; `keep` has the rest.

    >>> prose("x is kept with probability min(1, p(x)/q(x)), where `q(x) > 0` and a rule is lossless")
    '$x$ is kept with probability $\\\\min(1, p(x) / q(x))$, where `q(x) > 0` and a rule is lossless'
    """
    parts: list[str] = []
    plain, at = "", 0
    spared = re.compile(
        r"`[^`]*`|\[[^\]]*\]\([^)]*\)|https?://\S+|</?(?:span|br|wbr)\b[^>]*>|\$[^$]+\$|arXiv:\S+|T\d\d"
    )
    while at < len(text):
        if found := spared.match(text, at):
            parts += [keep(plain), found[0]]
            plain, at = "", found.end()
        elif (formula := read(text, at)) is not None:
            parts += [keep(plain), breakable(formula[0])]
            plain, at = "", formula[1]
        elif word := WORD.match(text, at):
            plain, at = plain + word[0], word.end()
        else:
            plain, at = plain + text[at], at + 1
    return "".join([*parts, keep(plain)])


def display(lines: list[str]) -> str | None:
    """Return lines of formulas as one display, or None if they hold what is no formula."""
    rows: list[str] = []
    for line in lines:
        pieces = re.split(r" {2,}", line.strip())
        shown = [prose(piece, _words).replace("$ $", " ") for piece in pieces]
        left = re.sub(r"\$[^$]*\$|\\text\{[^{}=<>≤≥_^|+−]*\}", "", "".join(shown))
        if not any("$" in piece for piece in shown) or re.search(r"[=<>≤≥Σ_^{}|`+−]", left):
            return None
        for piece in shown:  # a condition stays behind its formula
            if rows and (piece.startswith(r"\text{") or (len(line) <= 100 and piece is not shown[0])):
                rows[-1] += r" \qquad " + piece
            else:
                rows.append(piece)
    body = " \\\\\n".join(f"&{row}" for row in rows).replace("$", "")
    return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$" if len(rows) > 1 else f"$$\n{body[1:]}\n$$"


def _words(text: str) -> str:
    return rf"\text{{{text}}}" if text.strip() else text


def breakable(tex: str) -> str:
    """Return a formula between dollars; a long one in pieces, as a line can only be broken between formulas.

    >>> breakable("a = b")
    '$a = b$'
    >>> breakable("a" * 40 + " = " + "b" * 40).count("$")
    4
    """
    if len(tex) <= 60:
        return f"${tex}$"
    depth, cuts = 0, [0]
    for at, sign in enumerate(tex):
        depth += (sign in "([{") - (sign in ")]}") + tex.startswith(r"\lvert", at) - tex.startswith(r"\rvert", at)
        long = len(tex) - cuts[-1] > 60
        if not depth and long and at - cuts[-1] > 12 and re.match(r" (?:=|<|>|\\le|\\ge|\\in|\+|-|\\cdot) ", tex[at:]):
            cuts.append(at)
    return " ".join(f"${tex[a:b].strip()}$" for a, b in zip(cuts, [*cuts[1:], len(tex)], strict=True))
