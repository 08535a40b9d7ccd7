"""Language models: loading, caches, shapes, widening."""
