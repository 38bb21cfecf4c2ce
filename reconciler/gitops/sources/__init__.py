"""Where a policy tree comes from, one file per kind, and whether it may be used."""
