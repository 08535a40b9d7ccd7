"""One tree: drafted tokens that share prefixes -> a kept path and one token. Every file is a specsim.types.TreeRule."""
