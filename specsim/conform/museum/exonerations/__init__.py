"""Rules that were accused, or look wrong, and are lossless; see `specsim.conform.registry`."""
