"""The electroGP on long films in known order, in state-space form."""
