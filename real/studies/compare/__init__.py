"""Predicted beside measured: tau and speedup of a pair of models."""
