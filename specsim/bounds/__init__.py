"""Bounds that no lossless rule can beat."""
