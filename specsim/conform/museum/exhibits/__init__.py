"""One bug class a file, re-implemented from its description; see `specsim.conform.registry`."""
