"""How candidates are drawn from q. Every file here is a scheme (specsim.types.DraftScheme)."""
