"""Helpers that several tests share. No test imports another test."""
