"""Fields that may be about what is accepted, and stand where an engine does not read them."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from specsim.conform.configs.reading import Content
from specsim.conform.configs.record import Field

# Parts of names that tell so, in small letters and without what separates words.
TELLING = ("accept", "fly", "lenien", "posterior", "reject", "relaxed", "simulateacc", "specul", "synthetic", "typical")
# Options that name another file of options.
FILES = frozenset(["config", "extra_llm_api_options"])


def unread_fields(content: Content, read: AbstractSet[str], engine: str) -> list[Field]:
    """Return fields outside of those that are read, as unknown: names that tell of acceptance, and files of options.

    Fields of fields are named `outer.inner`.
    """
    reason = f"{engine} is not known to read it where it stands: move it to where it is read, or leave it out"
    found = []
    for name, value in content.items():
        if name in read:
            continue
        if name in FILES and isinstance(value, str):
            found.append(Field(name, value, "unknown", "that file is not read here: give it by itself"))
            continue
        letters = re.sub(r"[\W_]", "", name.lower())
        if any(part in letters for part in TELLING):
            found.append(Field(name, value, "unknown", reason))
        elif isinstance(value, dict):
            inner = unread_fields(value, frozenset(), engine)
            found += [field._replace(name=f"{name}.{field.name}") for field in inner]
    return found
