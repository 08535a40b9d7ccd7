"""Verification rules by family, their look-up by name, and the public samplers."""
