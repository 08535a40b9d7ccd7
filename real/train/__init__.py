"""A small target and draft, trained from text."""
