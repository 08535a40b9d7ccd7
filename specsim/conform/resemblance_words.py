"""Words for the exhibits of the museum that a convicted subject resembles."""

from __future__ import annotations

from specsim.conform.observation import Observation
from specsim.conform.registry import find
from specsim.conform.verdict import Resemblance

# Most exhibits that are named; symptoms that more of them have say nothing.
FEW = 4


def summary_of(
    by_likeness: dict[str, list[str]], probes: list[Observation], symptoms: tuple[str, ...] | None
) -> Resemblance:
    """Return the resemblance in words: exhibits of the same law, else a few of the same symptoms, else none.

    `by_likeness` has the names of exhibits by likeness: "law", "first" (of the first token) and "symptoms".
    """
    of_one_law, of_symptoms = by_likeness["law"] or by_likeness["first"], by_likeness["symptoms"]
    law = "the law" if by_likeness["law"] else "the first token's law"
    where = f"at all {len(probes)} inputs compared" if len(probes) > 1 else "at the input compared"
    details = f": {'; '.join(symptoms)}" if symptoms else ""

    # The law is the strongest likeness.
    if len(of_one_law) == 1:
        words = f"It has {law} of `{of_one_law[0]}` of the museum {where}: {find(of_one_law[0]).WRONG}"
        return Resemblance(tuple(of_one_law), "law", words)
    if of_one_law:
        words = f"It has {law} of {listed(of_one_law)} of the museum, which are alike {where}."
        return Resemblance(tuple(of_one_law), "law", words)

    # Symptoms tell something if few exhibits have them.
    if 0 < len(of_symptoms) <= FEW:
        words = f"It resembles {listed(of_symptoms)} of the museum in its symptoms, not in its law{details}."
        return Resemblance(tuple(of_symptoms), "symptoms", words)
    return Resemblance((), "nothing", f"It resembles no exhibit of the museum{details}.")


def listed(names: list[str]) -> str:
    """Return names of exhibits in words.

    >>> listed(["a", "b", "c"])
    '`a`, `b` or `c`'
    """
    quoted = [f"`{name}`" for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
