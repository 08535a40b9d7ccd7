"""One position: K candidates -> one token. Every file here is a rule (specsim.types.StepRule)."""
