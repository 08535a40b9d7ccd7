"""Chains of additions whose connectives say the same, the small models that write them, and a judge of their drafts."""
