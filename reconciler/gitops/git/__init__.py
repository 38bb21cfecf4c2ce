"""git as data: commands within bounds, revisions, trees, signatures, remotes."""
