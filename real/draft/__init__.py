"""Proposers: each returns drafted tokens and the law each was drawn from."""
