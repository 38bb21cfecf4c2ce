"""Where a policy tree comes from, one file a kind, and what may become of it."""
