# ruff: noqa: RUF001
"""The grammar of formulas as notes and docstrings write them, such as `min(1, p_i/q_i)`: a parser that returns TeX."""

from __future__ import annotations

import re
from collections.abc import Callable

SMALL = "alpha beta gamma delta varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau varphi chi psi omega"
LARGE = "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
LETTERS = dict(zip("αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", f"{SMALL} {LARGE}".split(" "), strict=True))
LETTERS |= {"ℤ": "mathbb{Z}", "ℓ": "ell", "∅": "emptyset", "∞": "infty", "∇": "nabla", "∂": "partial", "⊥": "bot"}
LETTERS |= {"…": "dots"}
GREEK = (*SMALL.split(" "), "epsilon", "phi")
NUMBERS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
FUNCTIONS = {"min": r"\min", "max": r"\max", "log": r"\log", "exp": r"\exp", "inf": r"\inf", "sup": r"\sup"}
NAMED = ("cos", "sin", "argmax", "argmin", "TV", "KL", "Var", "Pr", "softmax", "blocks")
FUNCTIONS |= {name: rf"\operatorname{{{name}}}" for name in NAMED}
SUMS = {"Σ": r"\sum", "Π": r"\prod", "∫": r"\int", "sum": r"\sum", "prod": r"\prod"}
OPERATORS = {
    "<=": r"\le", ">=": r"\ge", "->": r"\to", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "∈": r"\in", "∉": r"\notin",
    "∝": r"\propto", "~": r"\sim", "×": r"\times", "·": r"\cdot", "⊆": r"\subseteq", "⊂": r"\subset",
    "⊊": r"\subsetneq", "⊇": r"\supseteq", "∪": r"\cup", "∩": r"\cap", "∖": r"\setminus ", "→": r"\to",
    "↦": r"\mapsto", "−": "-",
    "=:": "=:", ":=": ":=", "=": "=", "<": "<", ">": ">", "+": "+", "-": "-", "/": "/",
}  # fmt: skip
RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
LOWERED = str.maketrans("₊₋₀₁₂₃₄₅₆₇₈₉", "+-0123456789")
ACCENTS = {"\u0303": "tilde", "\u0302": "hat", "\u0304": "bar"}
PAIRS = {"(": ")", "[": "])", "{": "}", "⌈": "⌉", "⌊": "⌋", "⟨": "⟩", "‖": "‖"}
BRACKETS = {"{": r"\{", "}": r"\}", "⌈": r"\lceil ", "⌉": r"\rceil ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
            "⟨": r"\langle ", "⟩": r"\rangle ", "‖": r"\Vert "}  # fmt: skip
# Letters without a space that are a product in the notes: anywhere, and in brackets.
PRODUCTS = re.compile(r"(?:[cdx](?:q|Q(?=_))|xv|xy|Kab?|ab|La|te|d[tTxy])(?![a-zA-Z-])")
PAIR = re.compile(r"(?!of|in|is|no|to|on|at|by|or|as|an|if|it|be|so|we|do)[a-z][a-zA-Z](?![a-zA-Z-])")
# What stands behind the name of a function or a sum; otherwise it is a word.
OPERAND = re.compile(r"[_^(\[|]| ?[(|\d]| [A-Za-z](?![A-Za-z])| (?:log|min|max|sum|prod|abs)\b")
SEPARATORS = {"|": r" \mid ", "‖": r" \Vert ", "=": " = ", ",": ", ", ";": "; ", ":": ": ", "…": r"\dots\ ",
              "...": r"\dots\ "}  # fmt: skip


class Unread(Exception):
    """No formula can be read here."""


class Parser:
    """Reads one formula from a place of a text; `at` is how far it came."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.depth = text, at, 0

    def next(self, pattern: str) -> str:
        """Return and pass what matches here, or an empty string."""
        found = re.compile(pattern).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def attempt(self, read: Callable[[], str]) -> str | None:
        """What `read` returns; None, and back where it began, if it cannot read."""
        before, depth = self.at, self.depth
        try:
            return read()
        except Unread:
            self.at, self.depth = before, depth
            return None

    def formula(self) -> str:
        """Terms joined by operators, and by commas where a list has an ellipsis."""
        tex = self.side()
        while (more := self.attempt(self.listed)) is not None:
            tex += more
        return tex

    def listed(self) -> str:
        """`, ..., x_K`, or `, x_2, ..., x_K`: up to two items before the ellipsis."""
        tex = ""
        for _ in range(3):
            if not self.next(r", ?"):
                raise Unread
            if self.next(r"…|\.\.\.|\.\."):
                last = self.attempt(lambda: self.next(r", ?") and self.side())
                return tex + r", \dots" + (", " + last if last else "")
            tex += ", " + self.side()
        raise Unread

    def side(self) -> str:
        """Terms with binary operators between them."""
        sign = self.next(r"[-−](?=[\w(∞])|(?:≤|≥|∝|⊆|<=|>=) ?")
        tex = (f"{OPERATORS[sign.strip()]} " if sign else "") + self.term()
        while (more := self.attempt(self.operation)) is not None:
            tex += more
        return tex

    def operation(self) -> str:
        """An operator and the term behind it; a hyphen between letters is none."""
        before = self.next(r" *")
        pattern = r"<=|>=|->|=:|:=|[≤≥≠∈∉∝×·⊆⊂⊊⊇∪∩∖→↦−=<>+/~-]"
        sign = self.next(pattern) or (self.next(r"(?:in|mod)(?= )") if self.depth else "")
        after = self.next(r" *")
        if not sign or (sign in "-+~<>" and bool(before) != bool(after)) or (sign == "~" and not before):
            raise Unread
        known = {"in": r"\in", "mod": r"\bmod"}.get(sign) or OPERATORS[sign]
        minus = self.next(r"[-−](?=[\w(∞])") and "-"
        return f" {known} {minus}" + self.term()

    def term(self) -> str:
        """Factors side by side."""
        tex = self.factor()
        while (more := self.attempt(self.beside)) is not None:
            tex += f" {more}" if re.search(r"\\[A-Za-z]+$", tex) and more[:1].isalpha() else more
        return tex

    def beside(self) -> str:
        space = self.next(r" *")
        article = space and not self.depth and re.compile(r"[aAI](?= \w\w|[.,;:]| ?$)").match(self.text, self.at)
        if article or (self.depth and self.text[self.at : self.at + 1] == "|"):
            raise Unread
        return (r"\," if space else "") + self.factor()

    def factor(self) -> str:
        """An atom with its subscripts, powers and arguments."""
        tex, indexed = self.atom(), False
        while True:
            if self.next(r"_"):
                tex += "_{" + self.script() + "}"
            elif self.next(r"\^"):
                tex += "^{" + self.script() + "}"
            elif digits := self.next(r"[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"):
                tex += "^{" + digits.translate(RAISED) + "}"
            elif digits := self.next(r"[₊₋₀₁₂₃₄₅₆₇₈₉]+"):
                tex += "_{" + digits.translate(LOWERED) + "}"
            elif self.text[self.at - 1] == ")" and self.next(r"\+(?=[\s,.;:)(/\]]|$)"):
                tex += "_{+}"
            elif re.fullmatch(r"[A-Z]", tex) and (sign := self.next(r"[+-](?=[\s),.;/]|$)")):
                tex = f"{tex}^{{{sign}}}"
            elif self.next(r"'(?!s\b)(?![A-Za-z]{2})"):
                tex += "'"
            elif self.next(r"!"):
                tex += "!"
            elif (self.depth or tex[:1] == "\\") and tex[-1:].isalpha() and self.next(r"\*(?![A-Za-z0-9*])"):
                tex += "^{*}"
            elif not indexed and tex[-1:].isalpha() and self.text[self.at : self.at + 1] == "[":
                tex, indexed = tex + self.bracket(), True
            else:
                return tex

    def script(self) -> str:
        """What follows `_` or `^`: a group, a number with a sign, a name, or one symbol."""
        if self.next(r"\{"):
            return self.inside("}", True)
        if self.text[self.at : self.at + 1] == "(":
            return self.bracket()[1:-1]
        if number := self.next(r"[-−]?\d+(?:\.\d+)?|[-−][A-Za-z](?!\w)"):
            return number.replace("−", "-")
        if name := self.next(r"[A-Za-z]+"):
            return self.named(name)
        return self.symbol()

    def named(self, name: str) -> str:
        if name in GREEK:
            return rf"\{name}"
        return name if len(name) == 1 or PAIR.fullmatch(name) else rf"\text{{{name}}}"

    def symbol(self) -> str:
        """One sign that stands for something."""
        if sign := self.next(r"[" + "".join(LETTERS) + "]"):
            tex = rf"\{LETTERS[sign]} "
        elif number := self.next("[" + "".join(NUMBERS) + "]"):
            return r"\tfrac{" + NUMBERS[number].replace("/", "}{") + "}"
        elif self.next(r"(?:…|\.\.\.?)(?=[\w∖]| [+−·∖] )"):
            return r"\dots "
        else:
            raise Unread
        accent = self.next("[" + "".join(ACCENTS) + "]")
        return rf"\{ACCENTS[accent]}{{{tex.strip()}}}" if accent else tex.rstrip() if tex != r"\dots " else tex

    def atom(self) -> str:
        """A number, a letter, a function, a sum, or what stands in brackets."""
        if number := self.next(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?![A-Za-z]{2})"):
            return re.sub(r"e(-?\d+)", r" \\cdot 10^{\1}", number.replace(",", "{,}"))
        if product := self.next(PRODUCTS.pattern) or (self.depth and self.next(PAIR.pattern)):
            return product
        if name := self.next(r"(?:" + "|".join([*FUNCTIONS, "sum", "prod", *GREEK]) + r")(?![A-Za-z0-9]|-[A-Za-z])"):
            if name not in GREEK and not OPERAND.match(self.text, self.at):
                raise Unread  # the word, as in "a sum over tokens"
            return SUMS.get(name) or FUNCTIONS.get(name) or rf"\{name}"
        if sign := self.next(r"[ΣΠ∫]"):
            return SUMS[sign]
        if self.next(r"√"):
            return rf"\sqrt{{{self.atom()}}}"
        if self.text[self.at : self.at + 1] in PAIRS:
            return self.bracket()
        if self.next(r"\|"):
            self.depth += 1
            tex = self.side()
            self.depth -= 1
            if not self.next(r"\|"):
                raise Unread
            return rf"\lvert {tex}\rvert "
        letter = self.next(r"[A-Za-z](?![A-Za-z0-9’]|'[a-rt-z]|-[A-Za-z]{2}|\.[A-Za-z])")
        if letter:
            if accent := self.next("[" + "".join(ACCENTS) + "]"):
                return rf"\{ACCENTS[accent]}{{{letter}}}"
            return rf"\tilde{{{letter}}}" if self.next(r"~(?=[\s(,.;])") else letter
        if self.depth and self.next(r"[·.](?= ?[|)])"):
            return r"\cdot "
        return self.symbol()

    def bracket(self) -> str:
        """A pair of brackets and what it holds; `[0, 1)` is a pair, too."""
        named = self.at > 0 and self.text[self.at - 1].isalnum()  # P(kept): words may stand here
        opened = self.next(r".")
        tex = self.inside(PAIRS[opened], named)
        closed = self.text[self.at - 1]
        return BRACKETS.get(opened, opened) + tex + BRACKETS.get(closed, closed)

    def inside(self, closing: str, words: bool) -> str:
        """Formulas, and words where there may be any, up to the closing bracket."""
        self.depth += 1
        parts: list[str] = []
        self.next(" *")
        while not self.next(f" *[{re.escape(closing)}]"):
            starts = not parts or parts[-1].endswith((r"\ ", "d ", "t ", "= ", ", ", "; ", ": "))
            if starts and (tex := self.attempt(self.entry)) is not None:
                parts.append(tex)
            elif sign := self.next(r" *(?:[|‖,;:]|…|\.\.\.) *" + ("|(?: = )" if words else "")):
                parts.append(SEPARATORS[sign.strip()])
            elif self.next(r" +"):
                parts.append(r"\ ")
            elif starts and words and (word := self.next(r"[A-Za-z][a-z]+(?![\w])")):
                parts.append(rf"\text{{{word}}}")
            else:
                raise Unread
        self.depth -= 1
        return "".join(parts).removesuffix(r"\ ")

    def entry(self) -> str:
        """A formula that is no beginning of a word."""
        tex = self.side()
        if re.compile(r"[A-Za-z]").match(self.text, self.at):
            raise Unread
        return tex
