"""From acceptance to tokens: laws of the kept drafts, hazards, requests."""
