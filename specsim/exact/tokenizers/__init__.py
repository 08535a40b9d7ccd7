"""Drafts of another tokenizer: exact laws of tokens and of texts, on tokenizers small enough to enumerate.

A draft writes in its own tokens, the target verifies its own. `methods` has one file for each way between them.
"""
