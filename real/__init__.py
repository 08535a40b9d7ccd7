"""specsim on real language models: the same rule files, run, counted and timed (torch, transformers)."""
