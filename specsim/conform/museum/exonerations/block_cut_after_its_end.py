"""A block is verified whole, and cut afterwards."""

from typing import Any

from specsim.conform.museum._frames import chain, tokenwise
from specsim.types import Array

WRONG = (
    "Positions behind an end token or a limit are verified and drawn for nothing; they are cut from the block, and "
    "what stays has its law."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any, *, end: int | None, limit: int | None) -> list[int]:
    """Test tokenwise; look for the end token and the limit in what came out."""
    num_accepted, y = tokenwise(p, q, drafts, random)
    out = [*map(int, drafts[:num_accepted]), y][:limit]
    return out[: out.index(end) + 1] if end in out else out


subject = chain(__name__, run, returns="tokens", stops=True)
