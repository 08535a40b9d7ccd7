"""Rows of laws along texts of the target, for `specsim plan --rows`."""
