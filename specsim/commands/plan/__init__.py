"""The command `specsim plan`: what it is told (`read`), what it answers (`answer`), what engines are told (`emit`)."""
