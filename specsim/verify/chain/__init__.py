"""One block: gamma drafted tokens -> accepted prefix and one token. Every file is a specsim.types.ChainRule."""
