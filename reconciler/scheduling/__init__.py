"""Would these pods run on those nodes: one file a predicate, placement, kernels. Pure."""
