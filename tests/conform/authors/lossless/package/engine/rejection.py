"""The verifier."""

from .residual import residual


def verify(p, q, drafts, random):
    """Return kept drafts and the next token."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            return i, random.choice(p.shape[1], p=residual(p[i], q[i]))
    return len(drafts), random.choice(p.shape[1], p=p[-1])
