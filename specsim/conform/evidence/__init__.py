"""Kinds of evidence, one file each: how the law of a subject is found."""
