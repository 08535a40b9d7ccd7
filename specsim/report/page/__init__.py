"""One page of results that works offline: `records` are read, turned to `rows`, drawn by `charts`, put together."""
