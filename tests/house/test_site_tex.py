# ruff: noqa: RUF001
"""Formulas of notes and docstrings become TeX on the site; words, code and what cannot be read stay as they are."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tex(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/_generate/tex.py."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("_generate.tex")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("w_i = min(1, w_{i-1} p_i(x_i)/q_i(x_i))", r"$w_{i} = \min(1, w_{i - 1}\,p_{i}(x_{i}) / q_{i}(x_{i}))$"),
        ("y ~ (p - q)+ / sum (p - q)+.", r"$y \sim (p - q)_{+} / \sum\,(p - q)_{+}$."),
        ("Draw x_1, …, x_N from q; p's law", r"Draw $x_{1}, \dots, x_{N}$ from $q$; $p$'s law"),
        ("P(hit) is 1 − ℓ = α*", r"$P(\text{hit})$ is $1 - \ell = \alpha^{*}$"),
        ("sum_{T, |T| < K} c_T", r"$\sum_{T, \lvert T\rvert  < K}\,c_{T}$"),
        ("an excess D+ = q~(v | x^i)", r"an excess $D^{+} = \tilde{q}(v \mid x^{i})$"),
        ("u[K+k] of 2^-32, Σw = S'_i", r"$u[K + k]$ of $2^{-32}$, $\sum w = S'_{i}$"),
        ("by at most 2e-12 · V", r"by at most $2 \cdot 10^{-12} \cdot V$"),
    ],
)
def test_a_formula_is_read_whole(tex: ModuleType, text: str, shown: str) -> None:
    assert tex.prose(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a sum over tokens, with probability a emit one (if any); A rule, i.e. K-SEQ or the q-average",
        "`x_i = p/q` and [T03](T03_optimal_acceptance.md) of arXiv:2310.15141",
        "the first 3,000 pairs in 10 % of cases (2), up to [0, 1)",
        "a rule that is p_i = (unfinished",
    ],
)
def test_words_code_and_what_cannot_be_read_stay(tex: ModuleType, text: str) -> None:
    shown = tex.prose(text)
    assert "$" not in shown.replace("$p_{i}$", "")
    assert shown.replace("$p_{i}$", "p_i") == text


def test_a_long_formula_can_be_broken_and_no_bracket_is_cut(tex: ModuleType) -> None:
    shown = tex.prose("P(n >= i | y) = min(1, min_{j<=i} prod_{l<=j} q_l/p_l(y_l) + q_l/p_l(y_l) + |p − q|) = Σ_i w_i")
    pieces = shown.strip("$").split("$ $")
    assert len(pieces) > 1
    for piece in pieces:
        assert piece.count("(") == piece.count(")")
        assert piece.count(r"\lvert") == piece.count(r"\rvert")


def test_lines_of_formulas_are_displayed_and_tables_are_not(tex: ModuleType) -> None:
    assert tex.display(["    r = p   if p ≠ q,"]) == "$$\nr = p \\qquad \\text{if }p \\ne q\\text{,}\n$$"
    assert tex.display(["     2      3     0.30         0.5445"]) is None
    assert tex.display(["    for x in drafts: kept += x == y"]) is None


def test_notes_are_typeset(tex: ModuleType) -> None:
    """Sentences are joined, so that a formula may go over two lines; headings stay, ids lead to notes and papers."""
    proofs = importlib.import_module("_generate.proofs")
    note = "# T17. Of K drafts\n\nBy T03, 1 −\nℓ is it (arXiv:2403.10444).\n\n1. w is a law;\n2. `w_i`.\n"
    assert proofs.typeset(note) == (
        "# T17. Of K drafts\n\nBy [T03](T03_optimal_acceptance.md), $1 - \\ell$ is it "
        "([arXiv:2403.10444](https://arxiv.org/abs/2403.10444)).\n\n1. $w$ is a law;\n2. `w_i`.\n"
    )


def test_no_note_has_many_formulas_left(tex: ModuleType) -> None:
    """Of the words with a sign of a formula, outside of code, nearly all are TeX."""
    proofs = importlib.import_module("_generate.proofs")
    left, formulas = 0, 0
    for path in (ROOT / "proofs").glob("T*.md"):
        shown = re.sub(r"```.*?```|`[^`]*`|\([^()]*\.md\)|^    .*$", "", proofs.typeset(path.read_text("utf-8")),
                       flags=re.M | re.S)  # fmt: skip
        formulas += shown.count("$") // 2
        left += len(re.findall(r"[≤≥Σ−₊∈Π∖∝]", re.sub(r"\$[^$]*\$", "", shown)))
    assert formulas > 4000
    assert left < 60, left
