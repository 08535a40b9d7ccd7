"""One page of results that works offline: `records` become `rows`, `charts`, and the page."""
