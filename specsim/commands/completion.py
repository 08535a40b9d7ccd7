"""Completions of the shell: names of rules, models, devices, types, engines and subjects, read when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def starting(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return the function that typer calls with what is typed so far.

    >>> starting(lambda: ["vllm", "sglang"])("v")
    ['vllm']
    """

    def complete(incomplete: str) -> list[str]:
        """Return the names that begin with the letters typed so far."""
        return sorted(name for name in names() if name.startswith(incomplete))

    return complete


def _rules(*families: str) -> Callable[[], list[str]]:
    """Return a function that lists the rules of some families."""

    def names() -> list[str]:
        """Return the names of the rules, imported only when they are asked for."""
        from specsim import discover

        return [name for family in families for name in discover.names(family)]

    return names


def _table(name: str) -> Callable[[], list[str]]:
    """Return a function that lists the names of a shipped table."""

    def names() -> list[str]:
        """Return the names of the table's rows, in small letters."""
        from specsim.latency import tables

        # Names with a space or a slash cannot be typed as one word.
        return [row.lower() for row in tables.rows(name) if not {" ", "/"} & set(row)]

    return names


def _dtypes() -> Iterable[str]:
    """Return the number types of products."""
    from specsim.latency.kernels import BYTES

    return BYTES


def _weights() -> Iterable[str]:
    """Return the types of stored weights."""
    from specsim.latency.weights import TYPES

    return TYPES


def _subjects() -> list[str]:
    """Return the subjects of `specsim conform`."""
    from specsim.conform import registry

    folders = (registry.ADAPTERS, registry.EXHIBITS, registry.EXONERATIONS)
    return [*(name for folder in folders for name in registry.names(folder)), *_rules(*registry.SUBJECTS)()]


def _properties() -> list[str]:
    """Return the properties of `specsim conform`."""
    from specsim.conform import registry

    return registry.names("specsim.conform.properties")


def _engines() -> tuple[str, ...]:
    """Return the engines of `specsim plan --emit`."""
    from specsim.commands.plan.emit import ENGINES

    return ENGINES


def _claims() -> list[str]:
    """Return the claims of `specsim claims`."""
    from specsim.claims import settled

    return [*settled.names(), "all"]


FAMILIES = ("step", "chain", "tree", "coupled", "draft", "process", "control", "objective")
complete_checked = starting(_rules(*FAMILIES))
complete_family = starting(lambda: FAMILIES)
complete_rule = starting(_rules("step", "chain", "tree", "coupled"))
complete_whole = starting(_rules("chain", "tree"))
complete_step = starting(_rules("step"))
complete_scheme = starting(_rules("draft"))
complete_model = starting(_table("models"))
complete_device = starting(_table("hardware"))
complete_dtype = starting(_dtypes)
complete_weights = starting(_weights)
complete_subject = starting(_subjects)
complete_property = starting(_properties)
complete_engine = starting(_engines)
complete_claim = starting(_claims)
