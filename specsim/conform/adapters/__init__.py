"""Public packages, one file each; see `specsim.conform.registry`."""
